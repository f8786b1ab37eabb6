# shellcheck shell=bash
# RFC 4638: a client that asks for PPP-Max-Payload 1500 gets it, and 1500-octet packets with DF pass both ways; one that
# does not ask is held to 1492.
# Field cases: P01, P16, P26
bngd
capture wire "$NS_ACCESS" acc0
MTU=1508 TARGETS=$HOST DF_PING=1 connect cli0 "$USER1" "$PASSWORD1"
holds "$(client_log cli0)" 'UP in .* mtu=1500' "the client's MTU"
equal "the MRU listed" "$(sessions '.sessions[0].mru')" 1500
ping_from "$NS_INET" 5 "$(sessions '.sessions[0].ipv4')" -s 1472 -M 'do'
hang_up cli0 "$LAB_CLIENT"
within 6 "the session's end" sessions_are 0
TARGETS=$HOST connect cli0 "$USER1" "$PASSWORD1"
holds "$(client_log cli0)" 'UP in .* mtu=1492' "the client's MTU"
equal "the MRU listed" "$(sessions '.sessions[0].mru')" 1492
# The sender of a packet that is too long for this one is told.
address=$(sessions '.sessions[0].ipv4')
ip netns exec "$NS_INET" ping -n -c 2 -i 0.3 -W 1 -s 1472 -M 'do' "$address" > "$LAB_FOLDER/toolong" 2>&1
holds "$LAB_FOLDER/toolong" 'mtu ?= ?1492' "the ICMP error for a packet that is too long"
hang_up cli0 "$LAB_CLIENT"
capture_end wire
equal "PPP-Max-Payload in PADO and PADS" "$(fields wire 'pppoe.code == 0x07 || pppoe.code == 0x65' pppoed.tags.max_payload | grep -c .)" 2
