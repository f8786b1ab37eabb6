# shellcheck shell=bash
# CHAP with MD5 (RFC 1994), the whole way from PADI to PADT, and none of the client's 3-second timers runs out.
bngd
capture wire "$NS_ACCESS" acc0
MAC=02:55:00:00:00:01 TARGETS=$HOST DF_PING=1 connect cli0 "$USER1" "$PASSWORD1"
equal "the sessions' JSON" "$(sessions '.sessions[] | "\(.user) \(.mac) \(.port) \(.outer_vlan) \(.state) \(.auth)"')" \
    "$USER1 02:55:00:00:00:01 access0 null up chap-md5"
equal "the address" "$(sessions '.sessions[0].ipv4')" \
    "$(sed -n 's/.*UP in .* local=\([0-9.]*\).*/\1/p' "$(client_log cli0)")"
at_least "the uptime" "$(sessions '.sessions[0].uptime_s')" 1
at_least "the session id" "$(sessions '.sessions[0].session_id')" 1
id=$(sessions '.sessions[0].session_id')
hang_up cli0 "$LAB_CLIENT"
# pppd says goodbye by LCP alone; bngd ends PPPoE behind it.
within 6 "the session's end" sessions_are 0
capture_end wire
log=$(client_log cli0)
holds "$log" 'CHAP authentication succeeded' "the client's log"
took=$(sed -n 's/.*UP in \([0-9]*\) ms.*/\1/p' "$log")
note "from dialling to IPCP in $took ms"
at_most "the time to IPCP (a lost first request would cost 3 s)" "$took" 2500
equal "discovery on the wire" "$(fields wire pppoed pppoe.code | tr '\n' ' ')" "0x09 0x07 0x19 0x65 0xa7 "
equal "the PADT's sender" "$(frames wire 'pppoe.code == 0xa7 && eth.dst == 02:55:00:00:00:01')" 1
equal "cookies on the wire" "$(frames wire 'pppoed.tags.ac_cookie')" 2
equal "the id of PADS" "$(fields wire 'pppoe.code == 0x65' pppoe.session_id)" "$(printf '0x%04x' "$id")"
equal "LCP Configure-Requests of the client" \
    "$(frames wire 'ppp.protocol == 0xc021 && ppp.code == 1 && eth.src == 02:55:00:00:00:01')" 1
equal "frames that tshark finds malformed" "$(frames wire '_ws.malformed')" 0
