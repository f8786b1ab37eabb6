# shellcheck shell=bash
# A priority tag (VID 0) is untagged: it matches `untagged`, and the session is listed without a VLAN.
# Field cases: P17
bngd
capture wire "$NS_ACCESS" acc0
PRIORITY=5 TARGETS=$HOST DF_PING=1 connect cli0 "$USER1" "$PASSWORD1"
equal "the VLANs listed" "$(sessions '.sessions[0] | "\(.outer_vlan) \(.inner_vlan)"')" "null null"
ping_from "$NS_INET" 5 "$(sessions '.sessions[0].ipv4')"
hang_up cli0 "$LAB_CLIENT"
capture_end wire
at_least "frames of the client with its tag" "$(frames wire 'vlan.id == 0 && vlan.priority == 5 && pppoes')" 10
equal "frames of the client without it" "$(frames wire 'eth.dst != ff:ff:ff:ff:ff:ff && eth.type == 0x8864 && eth.src[0:2] == 02:55')" 0
equal "frames with another VID" "$(frames wire 'vlan.id != 0')" 0
