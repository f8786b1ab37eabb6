# shellcheck shell=bash
# Disconnect and CoA by radclient: sessions named by id, by user and by address; a rate that changes while packets flow;
# the right Error-Cause where nothing is done.
. "$REPOSITORY/tests/e2e/radius.sh"
radius_server "$HOST"
lines="    dynamic: {listen: ['$ROUTER:3799'], clients: [{address: $HOST, secret_file: radius.secret}]}"
bngd_radius radius "$HOST" "$HOST" "$lines"
# ask KIND ATTRIBUTES...: what radclient gets for an answer: its code, and Error-Cause
ask() {
    local kind=$1 attribute
    shift
    for attribute; do printf '%s\n' "$attribute"; done > "$LAB_FOLDER/ask"
    ip netns exec "$NS_INET" radclient -D "$(radius_folder "$HOST")" -r 2 -t 2 -x -f "$LAB_FOLDER/ask" "$ROUTER:3799" "$kind" \
        "${SECRET:-$RADIUS_SECRET}" > "$LAB_FOLDER/asked" 2>&1
    sed -n 's/^Received \([A-Za-z-]*\) .*/\1/p; s/^\tError-Cause = \(.*\)/\1/p' "$LAB_FOLDER/asked" | tr '\n' ' '
}
up() {
    TARGETS=$HOST connect cli0 "$USER1" "$PASSWORD1"
    within 5 "the Start of session $1" records_are "$HOST" '."Acct-Status-Type" == "Start"' "$1"
}
gone() {
    within 8 "the end of session $1" sessions_are 0
    wait "$LAB_CLIENT" 2> /dev/null
}

up 1
id=$(detail "$HOST" | jq -r 'select(."Acct-Status-Type" == "Start") | ."Acct-Session-Id"' | tail -n 1)
address=$(sessions '.sessions[0].ipv4')
equal "a CoA with a rate" "$(ask coa "Acct-Session-Id = $id" "Bngd-Rate-Down = 2000000" "Bngd-Rate-Up = 10000000000")" "CoA-ACK "
# 2 Mbit/s down, measured by what arrives of more.
before=$(sessions '.sessions[0].octets_down')
ip netns exec "$NS_INET" ping -n -f -w 4 -s 1400 "$address" > "$LAB_FOLDER/flood" 2>&1
octets=$(($(sessions '.sessions[0].octets_down') - before))
note "2 Mbit/s let $((octets * 8 / 4000)) kbit/s through for 4 s"
at_most "octets through the policer" "$octets" 1150000
at_least "octets through the policer" "$octets" 700000
equal "the rate away" "$(ask coa "User-Name = $USER1" "Bngd-Rate-Down = 10000000000")" "CoA-ACK "
equal "a timeout" "$(ask coa "Framed-IP-Address = $address" "Session-Timeout = 86400")" "CoA-ACK "
ping_from "$NS_INET" 10 "$address" -s 1400

# Nothing is done, and why.
equal "no such session" "$(ask coa "Acct-Session-Id = nobody" "Bngd-Rate-Down = 1000000")" "CoA-NAK Session-Context-Not-Found "
equal "no key" "$(ask disconnect "Event-Timestamp = $(date +%s)")" "Disconnect-NAK Missing-Attribute "
equal "another box" "$(ask disconnect "User-Name = $USER1" "NAS-IP-Address = 192.0.2.99")" \
    "Disconnect-NAK NAS-Identification-Mismatch "
equal "what cannot be changed" "$(ask coa "User-Name = $USER1" "Bngd-Rate-Down = 1000000" "Framed-Route = '192.0.2.0/24 0.0.0.0 1'")" \
    "CoA-NAK Unsupported-Attribute "
equal "a wrong secret" "$(SECRET=wrong ask disconnect "User-Name = $USER1")" ""
equal "an old timestamp" "$(ask disconnect "User-Name = $USER1" "Event-Timestamp = $(($(date +%s) - 1000))")" ""
equal "a stranger" "$(ip netns exec "$NS_CORE" radclient -r 1 -t 1 -f "$LAB_FOLDER/ask" "$ROUTER:3799" disconnect \
    "$RADIUS_SECRET" 2>&1 | grep -c Received)" 0
for reason in bad_authenticator stale_timestamp wrong_source; do
    at_least "discards for $reason" "$(radius_metric bng_radius_dynamic_discards_total "reason=\"$reason\"")" 1
done
equal "sessions" "$(sessions '.sessions | length')" 1

equal "a disconnect by id" "$(ask disconnect "Acct-Session-Id = $id")" "Disconnect-ACK "
gone 1
up 2
equal "a disconnect by user" "$(ask disconnect "User-Name = $USER1")" "Disconnect-ACK "
gone 2
up 3
equal "a disconnect by address" "$(ask disconnect "Framed-IP-Address = $(sessions '.sessions[0].ipv4')" "Event-Timestamp = $(date +%s)")" \
    "Disconnect-ACK "
gone 3
equal "a disconnect of nobody" "$(ask disconnect "User-Name = $USER1")" "Disconnect-NAK Session-Context-Not-Found "
within 5 "three Stops" records_are "$HOST" '."Acct-Terminate-Cause" == "Admin-Reset"' 3
