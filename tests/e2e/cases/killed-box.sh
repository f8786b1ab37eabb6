# shellcheck shell=bash
# bngd is killed and started again: it comes up in spite of what the dead one left, and a client that still believes in
# its old session is told by a PADT that there is none, so that it dials again at once.
fixed='s/net_tap0,iface=acc0/net_tap0,iface=acc0,mac=fixed/' # as a NIC's is; net_tap's is another at each start
bngd "$fixed"
capture wire "$NS_ACCESS" br0
# It asks by an echo every two seconds, and would be patient for two minutes.
TARGETS=$HOST connect cli0 "$USER1" "$PASSWORD1" lcp-echo-interval 2 lcp-echo-failure 60
id=$(sessions '.sessions[0].session_id')
kill -KILL "$LAB_BNGD"
wait "$LAB_BNGD" 2> /dev/null
restarted=$SECONDS
bngd "$fixed"
within 20 "the old client's end" test ! -e "/proc/$LAB_CLIENT"
note "the client knew after $((SECONDS - restarted)) s"
holds "$(client_log cli0)" 'pppd has ended by itself' "the client's log"
equal "sessions" "$(sessions '.sessions | length')" 0
TARGETS=$HOST connect cli0 "$USER1" "$PASSWORD1"
equal "sessions" "$(sessions '.sessions | length')" 1
hang_up cli0 "$LAB_CLIENT"
capture_end wire
at_least "PADTs for the lost session" "$(frames wire "pppoe.code == 0xa7 && pppoe.session_id == $id")" 1
