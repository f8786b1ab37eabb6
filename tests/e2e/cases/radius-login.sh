# shellcheck shell=bash
# Logins by a real FreeRADIUS: PAP, CHAP and MS-CHAP-2, an address by Access-Accept, a refusal with a text, name servers
# and a rate, and a reply without Message-Authenticator thrown away with a line that names the fix.
. "$REPOSITORY/tests/e2e/radius.sh"
cat > "$LAB_FOLDER/users" << 'USERS'

user4@example.net Cleartext-Password := "secret4"
	MS-Primary-DNS-Server = 203.0.113.20,
	Bngd-Rate-Down = 8000000
USERS
radius_server "$HOST"
bngd_radius radius "$HOST" "" "" 's/auth: \[chap-md5, pap\]/auth: [ms-chap-v2, chap-md5, pap]/'
capture radius "$NS_INET" eth0 port 1812

for method in pap chap-md5 ms-chap-v2; do
    case $method in
        pap) refuse=(refuse-chap refuse-mschap-v2) ;;
        chap-md5) refuse=(refuse-pap refuse-mschap-v2) ;;
        ms-chap-v2) refuse=(refuse-pap refuse-chap) ;;
    esac
    TARGETS=$HOST connect cli0 "$USER1" "$PASSWORD1" "${refuse[@]}"
    equal "the session" "$(sessions '.sessions[0] | "\(.user) \(.auth) \(.state)"')" "$USER1 $method up"
    hang_up cli0 "$LAB_CLIENT"
    within 8 "the session's end" sessions_are 0
done
# The address that the server names.
TARGETS=$HOST connect cli0 "$USER2" "$PASSWORD2"
equal "the address" "$(sessions '.sessions[0].ipv4')" 100.64.0.77
hang_up cli0 "$LAB_CLIENT"
# Name servers in place of the profile's.
TARGETS=$HOST connect cli0 user4@example.net secret4
holds "$(client_log cli0)" 'dns=203\.0\.113\.20,' "the name server"
hang_up cli0 "$LAB_CLIENT"
# Refused, and told why.
for refuse in refuse-chap refuse-pap; do
    WAIT=10 lab_client cli0 user3@example.net secret3 "$refuse" refuse-mschap-v2
    ! wait "$LAB_CLIENT" || fail "a user who is refused came up"
    holds "$(client_log cli0)" 'account closed: please call us' "the reason in the client's log"
done
WAIT=10 lab_client cli0 "$USER1" wrong
! wait "$LAB_CLIENT" || fail "the client came up with a wrong password"
capture_end radius

requests='radius.code == 1'
equal "the DSCP of the requests" "$(fields radius "$requests" ip.dsfield.dscp | sort -u)" 48
equal "requests without Message-Authenticator in front" \
    "$(fields radius "$requests" radius.avp.type | grep -vc '^80,')" 0
equal "requests without what names the session and its place" \
    "$(frames radius "$requests && !(radius.Acct_Session_Id && radius.NAS_Port_Id && radius.Calling_Station_Id &&
        radius.NAS_Identifier == \"bng1\" && radius.NAS_IP_Address == $ROUTER && radius.NAS_Port_Type == 32)")" 0
equal "requests with no answer" "$(radius '.servers[0] | .requests - .replies')" 0
equal "accepts" "$(radius_metric bng_radius_replies_total 'kind="accept"')" 5
at_least "rejects" "$(radius_metric bng_radius_replies_total 'kind="reject"')" 3
note "mean round trip $(radius '.servers[0].round_trip_us') us"
# Secrets are nowhere to be seen.
bngctl --json show radius > "$LAB_FOLDER/shown"
bngctl_metrics >> "$LAB_FOLDER/shown"
cat "$LAB_FOLDER/bngd.log" >> "$LAB_FOLDER/shown"
lacks "$LAB_FOLDER/shown" "$RADIUS_SECRET|$PASSWORD1" "secrets in what is shown"

# A server that leaves Message-Authenticator out, as an unpatched FreeRADIUS 3.2.1 does.
radius_stop "$HOST"
sed -i '/Message-Authenticator := 0x00/d; s/update reply {/update reply { \&Reply-Message := "x"/' "$(radius_folder "$HOST")/radiusd.conf"
radius_server "$HOST"
WAIT=6 lab_client cli0 "$USER1" "$PASSWORD1"
! wait "$LAB_CLIENT" || fail "a reply without Message-Authenticator let a client in"
holds "$LAB_FOLDER/bngd.log" 'no Message-Authenticator: .*require_message_authenticator' "bngd's log"
at_least "discards" "$(radius_metric bng_radius_discards_total 'no_message_authenticator')" 1
