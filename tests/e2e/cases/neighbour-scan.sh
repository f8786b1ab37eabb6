# shellcheck shell=bash
# A client that scans a connected network takes nothing from another one whose hosts there are real and not yet known:
# none of its first packets is lost. Nor does the scan fill the kernel's neighbour table.
bngd 's|198.51.100.1/30|198.51.100.1/16|'
ip -n "$NS_CORE" address add 198.51.100.2/16 dev cor0
for last in {20..29}; do ip -n "$NS_CORE" address add "198.51.100.$last/16" dev cor0; done
# shellcheck disable=SC2016
MAC=02:55:00:00:00:01 TARGETS=$HOST ROUTES='198.51.0.0/16' POST='(while :; do for third in $(seq 110 250); do
    for last in $(seq 1 250); do echo scan > /dev/udp/198.51.$third.$last/9; done; done; done) 2> /dev/null &' \
    connect cli0 "$USER1" "$PASSWORD1"
scanner=$LAB_CLIENT
limited() { [ "$(reason held_limited)" -ge 200 ]; }
within 20 "the scan at its limit" limited
# shellcheck disable=SC2016  # the pings of the gateway: see first-packet.sh
MAC=02:55:00:00:00:02 TARGETS=$HOST ROUTES='198.51.0.0/16' POST='ping -n -i 0.2 $PEER > /dev/null & for last in 20 21 22 23 24 25 26 27 28 29; do
    ping -n -c 1 -W 2 198.51.100.$last > /run/ping || { echo "CLIENT: PING LOST 198.51.100.$last"; exit 1; }; done' \
    connect cli1 "$USER2" "$PASSWORD2"
before=$(reason held_limited)
sleep 1
at_least "packets of the scan beyond the limit, while the other client asked" "$(($(reason held_limited) - before))" 20
entries=$(ip -n "$NS_BNGD" neighbour show dev uplink | wc -l)
unanswered=$(ip -n "$NS_BNGD" neighbour show dev uplink nud incomplete | wc -l)
note "neighbours in the kernel's table: $entries, of them without an answer yet: $unanswered"
at_least "neighbours without an answer" "$unanswered" 20
at_most "neighbours without an answer" "$unanswered" 256
hang_up cli1 "$LAB_CLIENT"
hang_up cli0 "$scanner"
