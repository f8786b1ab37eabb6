# shellcheck shell=bash
# FRR on the twins, as configs/frr/bng.conf has it, and on the other side: eBGP over two uplinks for IPv4 and IPv6, a
# default route and 1,000 prefixes each, pools announced, flows over both uplinks, and what is lost when one goes.
PREFIXES=1000
CONFIG_FROM=frr/two-uplinks.yaml bngd
ip -n "$NS_CORE" address add 198.51.101.2/30 dev cor1
lab_core_ipv6 cor0 cor1
ip netns exec "$NS_CORE" sh -c 'echo 1 > /proc/sys/net/ipv4/fib_multipath_hash_policy'
# Both ends of a net_tap port begin with the same MAC address and so with the same link-local address, which BGP needs.
# Each end gets its own, and each twin another one, or the core would take them for one router.
for port in 0 1; do
    ip -n "$NS_CORE" link set "cor$port" down
    ip -n "$NS_CORE" link set "cor$port" address "02:00:00:00:c$port:00"
    ip -n "$NS_CORE" link set "cor$port" up
    ip -n "$NS_CORE" address add "2001:db8:0:$((port + 1))::2/64" dev "cor$port" nodad
done
for twin in uplink uplink2; do
    ip -n "$NS_BNGD" -6 address flush dev $twin scope link
    ip -n "$NS_BNGD" address add "fe80::${#twin}/64" dev $twin nodad
done
# The way back is learned, too.
ip -n "$NS_CORE" route flush 100.64.0.0/16

core=$LAB_FOLDER/core.conf
{
    printf '%s\n' 'frr defaults traditional' 'hostname core' 'route-map ALL permit 10' exit \
        bfd ' profile CORE' '  receive-interval 300' '  transmit-interval 300' '  detect-multiplier 3' ' exit' exit \
        'router bgp 65001' ' bgp router-id 198.51.100.2' ' no bgp default ipv4-unicast' ' no bgp network import-check' \
        ' timers bgp 10 30'
    for neighbour in 198.51.100.1 198.51.101.1 2001:db8:0:1::1 2001:db8:0:2::1; do
        printf ' neighbor %s %s\n' $neighbour 'remote-as 65000' $neighbour 'timers connect 2' $neighbour 'bfd profile CORE'
    done
    echo ' address-family ipv4 unicast'
    for ((n = 0; n < PREFIXES; n++)); do echo "  network 10.$((n / 250)).$((n % 250)).0/24"; done
    for neighbour in 198.51.100.1 198.51.101.1; do
        printf '  neighbor %s %s\n' $neighbour activate $neighbour default-originate $neighbour 'route-map ALL in' \
            $neighbour 'route-map ALL out'
    done
    printf '%s\n' '  maximum-paths 4' ' exit-address-family' ' address-family ipv6 unicast'
    for ((n = 0; n < PREFIXES; n++)); do printf '  network 2001:db9:%x::/48\n' "$n"; done
    for neighbour in 2001:db8:0:1::1 2001:db8:0:2::1; do
        printf '  neighbor %s %s\n' $neighbour activate $neighbour default-originate $neighbour 'route-map ALL in' \
            $neighbour 'route-map ALL out'
    done
    printf '%s\n' '  maximum-paths 4' ' exit-address-family' exit
} > "$core"
started=$SECONDS
frr_start "${NS_CORE}r" "$NS_CORE" "$core" bgpd bfdd || fail "the core's FRR does not start"
frr_start "${NS_BNGD}r" "$NS_BNGD" "$REPOSITORY/configs/frr/bng.conf" bgpd bfdd || fail "FRR does not start"

learned() { bngctl --json show routes | jq -e "[.routes[] | select(.source == \"bgp\" and .kind == \"$1\")] | length == $2" > /dev/null; }
within 90 "$PREFIXES prefixes and a default route of both families by both uplinks" learned several $((2 * PREFIXES + 2))
note "learned $((2 * PREFIXES + 2)) routes in $((SECONDS - started)) s from FRR's start"
pools_there() {
    [ "$(ip -n "$NS_CORE" route show 100.64.0.0/16 | grep -c 'via 198.51.10[01].1')" = 2 ] &&
        [ "$(ip -n "$NS_CORE" -6 route show 2001:db8:8000::/34 | grep -c 'dev cor[01]')" -ge 2 ]
}
within 60 "the pools at the core" pools_there

TARGETS=$HOST ROUTES=203.0.113.0/24 HOLD=1 lab_client cli0 "$USER1" "$PASSWORD1"
connected cli0
client=$LAB_CLIENT
address=$(sessions '.sessions[0].ipv4')

# Flows by both uplinks: what the subscriber answers goes to 16 different hosts.
capture one "$NS_CORE" cor0 "icmp[0] == 0"
capture two "$NS_CORE" cor1 "icmp[0] == 0"
hosts=(203.0.113.{9..24})
pings=()
# ping_all COUNT INTERVAL: from every host at once, in the background
ping_all() {
    local from
    pings=()
    for from in "${hosts[@]}"; do
        ip netns exec "$NS_INET" ping -n -q -c "$1" -i "$2" -W 2 -I "$from" "$address" > "$LAB_FOLDER/ping-$from" 2>&1 &
        pings+=("$!")
    done
}
# all_answered: waits for them; how many were lost of how many is in lost and sent.
all_answered() {
    wait "${pings[@]}"
    read -r lost sent < <(awk '/packets transmitted/ { lost += $1 - $4; sent += $1 } END { print lost + 0, sent + 0 }' \
        "$LAB_FOLDER"/ping-203.*)
    at_least "pings sent" "$sent" 80
}
ping_all 5 0.2
all_answered
equal "pings lost of $sent with both uplinks" "$lost" 0
capture_end one
capture_end two
by_one=$(fields one icmp ip.dst | sort -u | wc -l) by_two=$(fields two icmp ip.dst | sort -u | wc -l)
note "of 16 flows, $by_one went by the first uplink and $by_two by the second"
equal "flows by one uplink or the other, none by both" "$((by_one + by_two))" 16
at_least "flows by the first uplink" "$by_one" 2
at_least "flows by the second uplink" "$by_two" 2

# The link goes: both sides see it.
ping_all 60 0.1
sleep 1
before=$(date +%s%N)
ip -n "$NS_CORE" link set cor1 down
within 20 "one way for every prefix" learned neighbour $((2 * PREFIXES + 2))
note "the link down: all routes on the other uplink after $((($(date +%s%N) - before) / 1000000)) ms"
all_answered
note "the link down: $lost of $sent pings lost (16 hosts, each every 100 ms)"
at_most "pings lost" "$lost" $((sent / 4))
ip -n "$NS_CORE" link set cor1 up
ip -n "$NS_CORE" address replace 2001:db8:0:2::2/64 dev cor1 nodad
within 60 "both ways again" learned several $((2 * PREFIXES + 2))

# The peer goes silent and its link stays: BFD tells (3 x 300 ms), BGP's hold time would be 30 s.
ping_all 60 0.1
sleep 1
before=$(date +%s%N)
ip -n "$NS_CORE" address delete 198.51.101.2/30 dev cor1
one_way() {
    bngctl --json show routes |
        jq -e '[.routes[] | select(.source == "bgp" and .kind == "several" and (.prefix | contains(":") | not))] | length == 0' > /dev/null
}
within 20 "the silent peer's routes' end" one_way
took=$((($(date +%s%N) - before) / 1000000))
note "a silent peer: its routes gone after $took ms"
at_most "milliseconds until then" "$took" 15000
all_answered
note "a silent peer: $lost of $sent pings lost"
at_most "pings lost" "$lost" $((sent / 2))
ip -n "$NS_CORE" address add 198.51.101.2/30 dev cor1
within 60 "both ways again" learned several $((2 * PREFIXES + 2))

# The peer's daemon ends: its routes go, and come back with it.
lab_stop "${FRR_PROCESS[${NS_CORE}r-bgpd]}"
no_bgp() { bngctl --json show routes | jq -e '[.routes[] | select(.source == "bgp")] | length == 0' > /dev/null; }
within 60 "the end of all that was learned" no_bgp
hang_up cli0 "$client"
