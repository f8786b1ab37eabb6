# shellcheck shell=bash
# The session's counters equal what tshark counts on the wire: inner IP packets and octets, each way.
bngd
mac=02:55:00:00:00:01
capture wire "$NS_ACCESS" acc0
# Sizes that need Ethernet padding, that do not, and that fragment.
# shellcheck disable=SC2016
MAC=$mac TARGETS=$HOST ROUTES=203.0.113.0/24 POST='for size in 0 1 17 18 100 1464 2000; do
    ping -n -c 5 -i 0.2 -s $size '"$HOST"' > /run/ping || exit 1; done' connect cli0 "$USER1" "$PASSWORD1"
ping_from "$NS_INET" 20 "$(sessions '.sessions[0].ipv4')" -s 700
sleep 1.5
counted=$(sessions '.sessions[0] | "\(.packets_up) \(.octets_up) \(.packets_down) \(.octets_down)"')
capture_end wire
sum() { fields wire "ppp.protocol == 0x0021 && $1" ip.len | awk -F, '{ n += 1; octets += $1 } END { print n + 0, octets + 0 }'; }
up=$(sum "eth.src == $mac")
down=$(sum "eth.dst == $mac")
note "up and down, packets and octets: bngctl says $counted, tshark says $up $down"
equal "the counters" "$counted" "$up $down"
at_least "packets up" "${up%% *}" 50
hang_up cli0 "$LAB_CLIENT"
