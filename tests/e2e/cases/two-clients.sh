# shellcheck shell=bash
# Two clients at once: each has its session, its address and its traffic.
bngd
MAC=02:55:00:00:00:01 TARGETS=$HOST HOLD=1 lab_client cli0 "$USER1" "$PASSWORD1"
first=$LAB_CLIENT
MAC=02:55:00:00:00:02 TARGETS=$HOST HOLD=1 lab_client cli1 "$USER2" "$PASSWORD2"
second=$LAB_CLIENT
connected cli1
LAB_CLIENT=$first connected cli0
equal "the users" "$(sessions '[.sessions[].user] | sort | join(" ")')" "$USER1 $USER2"
equal "different addresses" "$(sessions '[.sessions[].ipv4] | unique | length')" 2
equal "different session ids" "$(sessions '[.sessions[].session_id] | unique | length')" 2
for address in $(sessions '.sessions[].ipv4'); do ping_from "$NS_INET" 5 "$address"; done
hang_up cli0 "$first"
within 6 "the end of the first session" sessions_are 1
equal "the user left" "$(sessions '.sessions[].user')" "$USER2"
ping_from "$NS_INET" 5 "$(sessions '.sessions[0].ipv4')"
hang_up cli1 "$second"
