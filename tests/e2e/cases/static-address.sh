# shellcheck shell=bash
# A user with an address of his own outside all pools: it is a route to his session, in the FIB and, for routing daemons,
# in the kernel's table; withdrawn with the session.
address=192.0.2.200
bngd "s|{name: $USER2, password: $PASSWORD2}|{name: $USER2, password: $PASSWORD2, ipv4: $address}|"
ip -n "$NS_CORE" route add "$address" via "$ROUTER"
kernel_route() { ip -n "$NS_BNGD" route show type blackhole proto 210 | grep -c "^blackhole $address"; }
kernel_routes_are() { [ "$(kernel_route)" = "$1" ]; }
equal "routes in the kernel's table before" "$(kernel_route)" 0
TARGETS=$HOST connect cli0 "$USER2" "$PASSWORD2"
equal "the address" "$(sessions '.sessions[0].ipv4')" "$address"
equal "routes in the kernel's table" "$(kernel_route)" 1
equal "the route" "$(bngctl --json show routes | jq -r ".routes[] | select(.prefix == \"$address/32\") | \"\(.kind) \(.source)\"")" \
    "session subscriber"
ping_from "$NS_INET" 5 "$address"
hang_up cli0 "$LAB_CLIENT"
within 6 "the session's end" sessions_are 0
within 2 "the route's end" kernel_routes_are 0
