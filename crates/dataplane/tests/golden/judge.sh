#!/bin/bash
# What tshark says of the golden cases' expected frames: a bad checksum or a malformed packet in any is a failure.
# All files are judged as one, since tshark takes a second to start; on a failure, each alone, to name it.
set -eu
cd "$(dirname "$0")/cases"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Reassembly is off: fragments of one case would be joined with another's.
judge() {
    tshark -r "$1" -o ip.check_checksum:TRUE -o tcp.check_checksum:TRUE -o udp.check_checksum:TRUE \
        -o ip.defragment:FALSE -o ipv6.defragment:FALSE -o tcp.desegment_tcp_streams:FALSE \
        -o tcp.analyze_sequence_numbers:FALSE -Y '_ws.malformed || ip.checksum.status == "Bad" ||
            tcp.checksum.status == "Bad" || udp.checksum.status == "Bad" || icmp.checksum.status == "Bad" ||
            icmpv6.checksum.status == "Bad"' 2> "$folder/errors"
}

mergecap -F pcap -a -w "$folder/all.pcap" ./*/out-*.pcap
frames=$(capinfos -Mc "$folder/all.pcap" | sed -n 's/^Number of packets: *//p')
found=$(judge "$folder/all.pcap") || { cat "$folder/errors" >&2; exit 1; }
if [ -n "$found" ]; then
    for file in */out-*.pcap; do
        [ -z "$(judge "$file")" ] || { echo "$file:"; judge "$file"; }
    done
    exit 1
fi
echo "$frames frames, none malformed, no bad checksum"
