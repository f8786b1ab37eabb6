# shellcheck shell=bash
# A client's frames can be looked at while they pass: `trace` says each one's way, `capture` writes what is on its line.
bngd
mac=02:55:00:00:00:01
MAC=$mac TARGETS=$HOST connect cli0 "$USER1" "$PASSWORD1"
address=$(sessions '.sessions[0].ipv4')
id=$(sessions '.sessions[0].id')

# The whole of the client's line: what tshark sees on the wire is what is captured.
capture wire "$NS_ACCESS" acc0
bngctl capture "$id" -w "$LAB_FOLDER/line.pcap" --seconds 6 2> "$LAB_FOLDER/capture.err" &
pid=$!
sleep 1
ping_from "$NS_INET" 10 "$address" -s 400
wait "$pid"
capture_end wire
holds "$LAB_FOLDER/capture.err" 'none lost' "the capture's end"
equal "malformed frames of the capture" "$(frames line '_ws.malformed || ip.checksum.status == "Bad"')" 0
equal "echo requests to the client" "$(frames line "icmp.type == 8 && eth.dst == $mac && ip.len == 428")" 10
equal "its replies" "$(frames line "icmp.type == 0 && eth.src == $mac && ip.len == 428")" 10
fields wire "icmp && ip.len == 428" eth.src eth.dst icmp.seq icmp.checksum > "$LAB_FOLDER/on-the-wire"
fields line "icmp && ip.len == 428" eth.src eth.dst icmp.seq icmp.checksum > "$LAB_FOLDER/captured"
cmp "$LAB_FOLDER/on-the-wire" "$LAB_FOLDER/captured" || fail "the capture is not what is on the wire"

# Each frame's way, by the user's name: down to the client, and its answers up.
bngctl trace --user "$USER1" --count 4 --seconds 20 > "$LAB_FOLDER/trace" 2> "$LAB_FOLDER/trace.err" &
pid=$!
sleep 1
ping_from "$NS_INET" 3 "$address"
wait "$pid"
equal "the trace's end" "$(cat "$LAB_FOLDER/trace.err")" "4 frames, none lost"
holds "$LAB_FOLDER/trace" "route +to session $id" "the way down"
holds "$LAB_FOLDER/trace" "session +session $id" "the way up"
holds "$LAB_FOLDER/trace" "packet +$address > " "the packet up"
holds "$LAB_FOLDER/trace" "route +to neighbour .* on core0" "the route up"

# A drop, with its reason and what its sender is told, by the MAC address: a packet that the client cannot take whole.
bngctl --json trace --mac "$mac" --seconds 4 > "$LAB_FOLDER/drops.json" 2> /dev/null &
pid=$!
sleep 1
ip netns exec "$NS_INET" ping -n -c 1 -W 1 -M 'do' -s 1472 "$address" > /dev/null
wait "$pid"
equal "the dropped frame" "$(jq -r 'select(.verdict == "dropped") | "\(.reason) \(.stages[-1].stage) \(.sent[0].port)"' "$LAB_FOLDER/drops.json")" \
    "too_big out core0"

# Whoever names nobody, or a client that is not there, is told.
! bngctl trace --user nobody@example.net 2> "$LAB_FOLDER/nobody" || fail "a trace of nobody"
holds "$LAB_FOLDER/nobody" 'no session matches' "a trace of nobody"
hang_up cli0 "$LAB_CLIENT"
