# shellcheck shell=bash
# No first packet is lost: not to hosts on a connected network that have never been seen, not to a next hop whose
# neighbour entry is gone.
bngd 's|198.51.100.1/30|198.51.100.1/24|'
ip -n "$NS_CORE" address add 198.51.100.2/24 dev cor0
for last in {20..29}; do ip -n "$NS_CORE" address add "198.51.100.$last/24" dev cor0; done
# The guest's tap driver sometimes leaves a frame lying until the next one comes (the captures show that it was sent): the
# pings of the gateway are that next one.
# shellcheck disable=SC2016
TARGETS=$HOST ROUTES='198.51.100.0/24 203.0.113.0/24' POST='ping -n -i 0.2 $PEER > /dev/null & for last in 20 21 22 23 24 25 26 27 28 29; do
    ping -n -c 1 -W 2 198.51.100.$last > /run/ping || { echo "CLIENT: PING LOST 198.51.100.$last"; exit 1; }; done' \
    connect cli0 "$USER1" "$PASSWORD1"
# The neighbours are known now; the FIB has a host route for each.
equal "neighbours" "$(bngctl --json show routes |
    jq '[.routes[] | select(.kind == "neighbour") | select(.prefix | test("^198.51.100.2[0-9]/32$"))] | length')" 10
# And the way back, to a subscriber that has been silent: nothing to resolve, the session itself leads there.
ip -n "$NS_BNGD" neighbour flush dev uplink
ping_from "$NS_INET" 5 "$(sessions '.sessions[0].ipv4')"
hang_up cli0 "$LAB_CLIENT"
