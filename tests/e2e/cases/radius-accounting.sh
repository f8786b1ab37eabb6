# shellcheck shell=bash
# The rows in the accounting server's detail file equal what tshark counts on the wire and what bngd counts itself; Class
# and the name of the Access-Accept stand in each; each way to end a session has its own terminate cause.
. "$REPOSITORY/tests/e2e/radius.sh"
cat > "$LAB_FOLDER/users" << 'USERS'

alias@example.net Cleartext-Password := "secret4"
	User-Name = "user4-real@example.net",
	Acct-Interim-Interval = 60,
	Class = 0x410042ff,
	Class += 0x7365636f6e64
USERS
radius_server "$HOST"
bngd_radius radius "$HOST" "$HOST"
within 5 "Accounting-On" records_are "$HOST" '."Acct-Status-Type" == "Accounting-On"' 1

mac=02:55:00:00:00:01
capture wire "$NS_ACCESS" acc0
# shellcheck disable=SC2016
MAC=$mac TARGETS=$HOST ROUTES=203.0.113.0/24 POST='for size in 0 17 100 1464 2000; do
    ping -n -c 5 -i 0.2 -s $size '"$HOST"' > /run/ping || exit 1; done' connect cli0 alias@example.net secret4
ping_from "$NS_INET" 20 "$(sessions '.sessions[0].ipv4')" -s 700
address=$(sessions '.sessions[0].ipv4')
within 5 "the Start" records_are "$HOST" '."Acct-Status-Type" == "Start"' 1
# Within the interval, shortened by a tenth at most; nothing flows meanwhile, so that its counters are known.
counted=$(sessions '.sessions[0] | "\(.packets_up) \(.octets_up) \(.packets_down) \(.octets_down)"')
within 70 "an Interim" records_are "$HOST" '."Acct-Status-Type" == "Interim-Update"' 1
equal "the Interim's counters" "$(detail "$HOST" | jq -r 'select(."Acct-Status-Type" == "Interim-Update") |
    [."Acct-Input-Packets", ."Acct-Input-Octets", ."Acct-Output-Packets", ."Acct-Output-Octets"] | join(" ")')" "$counted"
hang_up cli0 "$LAB_CLIENT"
within 8 "the Stop" records_are "$HOST" '."Acct-Status-Type" == "Stop"' 1
capture_end wire
sum() { fields wire "ppp.protocol == 0x0021 && $1" ip.len | awk -F, '{ n += 1; octets += $1 } END { print n + 0, octets + 0 }'; }
wanted="$(sum "eth.src == $mac") $(sum "eth.dst == $mac")"
found=$(detail "$HOST" | jq -r 'select(."Acct-Status-Type" == "Stop") | [."Acct-Input-Packets", ."Acct-Input-Octets",
    ."Acct-Output-Packets", ."Acct-Output-Octets"] | join(" ")')
note "packets and octets in and out: the Stop says $found, tshark says $wanted"
equal "the Stop's counters" "$found" "$wanted"
at_least "packets in" "${found%% *}" 40
equal "gigawords" "$(records "$HOST" '."Acct-Status-Type" == "Stop" and ."Acct-Input-Gigawords" == "0" and ."Acct-Output-Gigawords" == "0"')" 1
equal "names, addresses and causes" "$(detail "$HOST" | jq -r 'select(."Acct-Session-Time" or ."Acct-Status-Type" == "Start")
    | select(."Acct-Status-Type" != "Interim-Update") | [."Acct-Status-Type", ."User-Name", ."Framed-IP-Address", ."Acct-Authentic", ."Acct-Terminate-Cause" // "-"] | join(" ")' | tr '\n' '|')" \
    "Start user4-real@example.net $address RADIUS -|Stop user4-real@example.net $address RADIUS User-Request|"
# A JSON object keeps one of the two of a name.
equal "Class, both, in each record" "$(grep -cE 'Class = 0x(410042ff|7365636f6e64)$' "$(radius_folder "$HOST")/log/detail")" 6
equal "different session ids in Start and Stop" "$(detail "$HOST" | jq -r 'select(."User-Name") | ."Acct-Session-Id"' | sort -u | wc -l)" 1

# Ended by the operator, and by a client that just dies.
TARGETS=$HOST connect cli0 "$USER1" "$PASSWORD1"
first=$(sessions '.sessions[0].id')
bngctl clear session "$first" > "$LAB_FOLDER/cleared"
within 8 "Admin-Reset" records_are "$HOST" '."Acct-Terminate-Cause" == "Admin-Reset"' 1
wait "$LAB_CLIENT"
TARGETS=$HOST connect cli0 "$USER1" "$PASSWORD1"
kill -STOP "$(cat "$LAB_FOLDER/cli0.pid")"
within 60 "Lost-Carrier" records_are "$HOST" '."Acct-Terminate-Cause" == "Lost-Carrier"' 1
kill -KILL "$(cat "$LAB_FOLDER/cli0.pid")"
wait "$LAB_CLIENT" 2> /dev/null
equal "Starts" "$(records "$HOST" '."Acct-Status-Type" == "Start"')" 3
equal "Stops" "$(records "$HOST" '."Acct-Status-Type" == "Stop"')" 3
equal "session ids" "$(detail "$HOST" | jq -r 'select(."User-Name") | ."Acct-Session-Id"' | sort -u | wc -l)" 3
# The box goes down in order.
lab_stop "$LAB_BNGD"
wait "$LAB_BNGD" 2> /dev/null
within 5 "Accounting-Off" records_are "$HOST" '."Acct-Status-Type" == "Accounting-Off"' 1
