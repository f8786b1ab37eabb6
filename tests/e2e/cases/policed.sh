# shellcheck shell=bash
# A profile's rates: paced UDP at twice the rate, each way, arrives at the rate within 5 %, and what was over is counted
# as dropped by the policer.
bngd 's|^    aaa: local|    rate: {up: 4Mbit/s, down: 8Mbit/s}\n&|'
ip netns exec "$NS_INET" iperf3 -s -p 5201 > "$LAB_FOLDER/iperf-server" 2>&1 &
LAB_STARTED+=("$!")
# The client sends, then takes; the sums are those of the receiver, in octets of UDP payload.
# shellcheck disable=SC2016
measure='ip route replace '"$HOST"' dev $IF
iperf3 -c '"$HOST"' -p 5201 -u -b 8M -l 1172 -t 10 -J > /run/out/up.json || exit 1
iperf3 -c '"$HOST"' -p 5201 -u -b 16M -l 1172 -t 10 -R -J > /run/out/down.json || exit 1'
MAC=02:55:00:00:00:01 TARGETS=$HOST POST=$measure LIMIT=180 connect cli0 "$USER1" "$PASSWORD1"
# near WHAT MEASURED RATE: 1172 octets are 1200 of IP, so the payload's share is 1172/1200; 50 ms of burst come on top.
near() {
    local rate
    rate=$(jq '[.end.sum.bits_per_second * (100 - .end.sum.lost_percent) / 100 * 1200 / 1172] | .[0] | floor' "$2")
    note "$1: $rate bit/s of IP"
    at_least "$1" "$rate" $(($3 * 95 / 100))
    at_most "$1" "$rate" $(($3 * 105 / 100))
}
near up "$LAB_FOLDER/cli0/up.json" 4000000
near down "$LAB_FOLDER/cli0/down.json" 8000000
at_least "packets over the rate, up" "$(reason policed_up)" 3000
at_least "packets over the rate, down" "$(reason policed_down)" 6000
hang_up cli0 "$LAB_CLIENT"
