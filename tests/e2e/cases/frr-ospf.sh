# shellcheck shell=bash
# OSPF between FRR on the twin, as configs/frr/bng-ospf.conf has it, and the core router: a network is learned, the pool
# announced, and a subscriber reaches a host by it.
bngd '/to: 0.0.0.0\/0/d' 's/^routes:$/routes: []/'
ip -n "$NS_CORE" route delete 100.64.0.0/16
core=$LAB_FOLDER/core.conf
printf '%s\n' 'frr defaults traditional' 'hostname core' 'interface cor0' ' ip ospf network point-to-point' \
    ' ip ospf hello-interval 1' ' ip ospf dead-interval 4' exit 'router ospf' ' ospf router-id 198.51.100.2' \
    ' redistribute connected' ' network 198.51.100.0/30 area 0' exit > "$core"
frr_start "${NS_CORE}r" "$NS_CORE" "$core" ospfd || fail "the core's FRR does not start"
frr_start "${NS_BNGD}r" "$NS_BNGD" "$REPOSITORY/configs/frr/bng-ospf.conf" ospfd || fail "FRR does not start"
learned() {
    [ "$(bngctl --json show routes | jq -r '.routes[] | select(.prefix == "203.0.113.0/24") | "\(.source) \(.next_hop)"')" = "$1" ]
}
within 60 "the hosts' network" learned 'ospf 198.51.100.2'
announced() { ip -n "$NS_CORE" route show 100.64.0.0/16 | grep -q 'via 198.51.100.1 dev cor0 proto ospf'; }
within 60 "the pool at the core" announced
TARGETS=$HOST connect cli0 "$USER1" "$PASSWORD1"
hang_up cli0 "$LAB_CLIENT"
lab_stop "${FRR_PROCESS[${NS_CORE}r-ospfd]}"
within 60 "the network's end" learned ''
