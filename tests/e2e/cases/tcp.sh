# shellcheck shell=bash
# TCP both ways by iperf3: every checksum of what bngd sends is right, tshark being the judge, MSS is clamped, and both
# workers receive.
bngd
setsid ip netns exec "$NS_INET" iperf3 -s -B "$HOST" > "$LAB_FOLDER/iperf3" 2>&1 < /dev/null &
LAB_STARTED+=("$!")
# What comes out of bngd alone: what goes in has checksums that the kernel completes only after the capture's place.
capture down "$NS_ACCESS" acc0 -Q in
capture up "$NS_CORE" cor0 -Q in
# shellcheck disable=SC2016
TARGETS=$HOST LIMIT=180 POST='iperf3 -c '"$HOST"' -n 12M -P 4 > /run/up.txt 2>&1 &&
    iperf3 -c '"$HOST"' -n 12M -P 4 -R > /run/down.txt 2>&1; code=$?
    grep -h -E "sender|receiver|error" /run/*.txt | grep -E "SUM|error"; exit $code' \
    connect cli0 "$USER1" "$PASSWORD1"
grep -E 'SUM.*receiver' "$(client_log cli0)" | while read -r line; do note "$line"; done
hang_up cli0 "$LAB_CLIENT"
for side in down up; do
    capture_end $side
    checks=(-o ip.check_checksum:TRUE -o tcp.check_checksum:TRUE -o udp.check_checksum:TRUE)
    counts=$(tshark -r "$LAB_FOLDER/$side.pcap" "${checks[@]}" -Y tcp -T fields -e ip.checksum.status \
        -e tcp.checksum.status 2> /dev/null | sort | uniq -c | tr -s ' \t' ' ')
    note "$side: count, IPv4 status, TCP status (1 = good): $counts"
    equal "the kinds of checksums, $side" "$(wc -l <<< "$counts")" 1
    [[ $counts =~ ' 1 1'$ ]] || fail "checksums are bad or unchecked, $side: $counts"
    at_least "TCP segments, $side" "$(awk '{ print $1 }' <<< "$counts")" 1000
    at_most "the greatest MSS in a SYN, $side" "$(fields $side tcp.flags.syn==1 tcp.options.mss_val | sort -n | tail -n 1)" 1452
done
for worker in 0 1; do
    at_least "frames received by worker $worker" \
        "$(bngctl --json show workers | jq ".workers[$worker].rx_packets")" 100
done
