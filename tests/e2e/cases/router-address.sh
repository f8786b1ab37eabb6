# shellcheck shell=bash
# The router's own address answers ARP and ping by the kernel's twin, and `ip route` shows what the workers use.
bngd
capture wire "$NS_CORE" cor0
ping_from "$NS_INET" 10 "$ROUTER"
ping_from "$NS_INET" 3 "$ROUTER" -s 1472 -M 'do'
capture_end wire
at_least "ARP answers of the router" "$(frames wire "arp.opcode == 2 && arp.src.proto_ipv4 == $ROUTER")" 1
holds <(ip -n "$NS_BNGD" route) '^default via 198.51.100.2 dev uplink proto static' "the static route"
holds <(ip -n "$NS_BNGD" route) '^blackhole 100.64.0.0/16 proto 210' "the pool's route for routing daemons"
holds <(bngctl --json show routes | jq -r '.routes[] | "\(.prefix) \(.kind) \(.next_hop) \(.interface)"') \
    '^0.0.0.0/0 neighbour 198.51.100.2 uplink' "the routes of bngd"
# A route that an operator adds is used, and one that he takes away is not.
ip -n "$NS_BNGD" route add 192.0.2.0/24 via 198.51.100.2
has_route() { bngctl --json show routes | jq -e '.routes[] | select(.prefix == "192.0.2.0/24")' > /dev/null; }
within 5 "the operator's route" has_route
ip -n "$NS_BNGD" route delete 192.0.2.0/24
lost_route() { ! has_route; }
within 5 "the operator's route's end" lost_route
