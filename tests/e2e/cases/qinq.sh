# shellcheck shell=bash
# Two tags, the outer one 0x88a8 or 0x8100: the client's answers carry its tags, and the session lists them. On net_tap a
# 1500-octet payload under two tags does not fit, and PPP-Max-Payload is granted up to 1496. Both tags of control frames
# have priority 6 whatever the client's have, those of data what the profile's map says.
# Field cases: P19, P71
bngd 's/^  - {port: access0, untagged: true, .*/  - {port: access0, outer_vlan: 100-199, inner_vlan: any, tpid: dot1ad, profile: residential}\
  - {port: access0, outer_vlan: 200-299, inner_vlan: any, tpid: dot1q, profile: residential}/' \
    's/^  residential:/&\
    priority_map: home/' 's/^pools:/priority_maps: {home: [{dscp: 0-7, pcp: 1}, {dscp: 46, pcp: 5}]}\
&/'
capture wire "$NS_ACCESS" acc0 -Q in
check() { # OUTER INNER PROTOCOL TPID MTU
    VLAN=$1.$2 VPROTO=$3 MTU=$5 TARGETS=$HOST DF_PING=1 connect cli0 "$USER1" "$PASSWORD1"
    equal "the VLANs listed" "$(sessions '.sessions[0] | "\(.outer_vlan) \(.inner_vlan)"')" "$1 $2"
    hang_up cli0 "$LAB_CLIENT"
    within 6 "the session's end" sessions_are 0
}
check 100 1001 802.1ad 0x88a8 1500
check 200 7 802.1Q 0x8100 1500
check 101 4094 802.1ad 0x88a8 1508
grep -E 'UP in' "$(client_log cli0)" | while read -r line; do note "$line"; done
at_most "the client's MTU" "$(sed -n 's/.*UP in .* mtu=\([0-9]*\).*/\1/p' "$(client_log cli0)")" 1496
capture_end wire
# What bngd sent: each frame has both tags of its client.
equal "frames without two tags" "$(frames wire '(pppoed || pppoes) && !(eth.type == 0x88a8 || eth.type == 0x8100)')" 0
kinds=$(tshark -r "$LAB_FOLDER/wire.pcap" -Y 'pppoed || pppoes' -T fields -e eth.type -e frame.protocols 2> /dev/null |
    awk '{ split($2, names, ":pppoe"); print $1, names[1] }' | sort | uniq -c)
note "count, outer type, headers: $(tr -s ' \n' ' ' <<< "$kinds")"
holds <(echo "$kinds") '0x88a8 .*ieee8021ad.*' "outer tags 802.1ad"
holds <(echo "$kinds") '0x8100 eth:ethertype:vlan:ethertype:vlan' "two tags 802.1Q"
# Behind two tags: EtherType at 20, PPP protocol at 28. The two priorities are the upper bits of octets 14 and 18.
on_wire() { tcpdump -r "$LAB_FOLDER/wire.pcap" "$1" 2> /dev/null | wc -l; }
control='(ether[20:2] = 0x8863 or (ether[20:2] = 0x8864 and ether[28] >= 0x80))'
priority() { echo "ether[14] & 0xe0 = $(($1 << 5)) and ether[18] & 0xe0 = $(($1 << 5))"; }
at_least "control frames" "$(on_wire "$control")" 30
equal "control frames of another priority than 6" "$(on_wire "$control and not ($(priority 6))")" 0
data='ether[20:2] = 0x8864 and ether[28:2] = 0x0021'
at_least "data of priority 1" "$(on_wire "$data and $(priority 1)")" 15
equal "data of another priority" "$(on_wire "$data and not ($(priority 1))")" 0
# A client on a VLAN that no match names gets no service, and that is counted.
VLAN=300.1 WAIT=6 lab_client cli1 "$USER1" "$PASSWORD1"
! wait "$LAB_CLIENT" || fail "a client without a match in the access list came up"
