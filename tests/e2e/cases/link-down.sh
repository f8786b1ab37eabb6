# shellcheck shell=bash
# A core port whose link goes down takes the carrier of its twin along, and so the routes; up again, they are back.
bngd
ping_from "$NS_INET" 3 "$ROUTER"
twin_carrier() { [ "$(ip netns exec "$NS_BNGD" cat /sys/class/net/uplink/carrier)" = "$1" ]; }
route_leads() { [ "$(bngctl --json show routes | jq -r '.routes[] | select(.prefix == "0.0.0.0/0") | .next_hop')" = "$1" ]; }
within 5 "the twin's carrier" twin_carrier 1
within 5 "the default route" route_leads 198.51.100.2
for turn in 1 2; do
    ip -n "$NS_CORE" link set cor0 down
    within 5 "the end of the twin's carrier" twin_carrier 0
    within 5 "the end of the default route" route_leads ''
    holds <(ip -n "$NS_BNGD" route) '^default .* linkdown' "the kernel's own route"
    ip -n "$NS_CORE" link set cor0 up
    ip -n "$NS_CORE" route replace 100.64.0.0/16 via "$ROUTER"
    within 5 "the twin's carrier, turn $turn" twin_carrier 1
    within 5 "the default route, turn $turn" route_leads 198.51.100.2
    ping_from "$NS_INET" 3 "$ROUTER"
done
TARGETS=$HOST connect cli0 "$USER1" "$PASSWORD1"
hang_up cli0 "$LAB_CLIENT"
