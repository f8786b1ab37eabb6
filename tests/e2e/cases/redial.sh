# shellcheck shell=bash
# A client that dies without a PADT and dials again: the new session replaces the old one at once.
bngd
capture wire "$NS_ACCESS" acc0
export MAC=02:55:00:00:00:01
TARGETS=$HOST connect cli0 "$USER1" "$PASSWORD1"
old=$(sessions '.sessions[0].session_id')
guest=$(cat "$LAB_FOLDER/cli0.pid")
kill -KILL -- "-$guest"
wait "$LAB_CLIENT"
TARGETS=$HOST connect cli0 "$USER1" "$PASSWORD1"
within 5 "one session" sessions_are 1
new=$(sessions '.sessions[0].session_id')
[ "$old" != "$new" ] || fail "the session id was used again at once"
equal "addresses in use" "$(addresses_used)" 1
hang_up cli0 "$LAB_CLIENT"
capture_end wire
# The client sent none before its death; bngd may tell the old session's end.
equal "PADTs of the client" "$(frames wire "pppoe.code == 0xa7 && eth.src == $MAC && pppoe.session_id == $old")" 0
took=$(sed -n 's/.*UP in \([0-9]*\) ms.*/\1/p' "$(client_log cli0)")
at_most "the time to IPCP" "$took" 2500
