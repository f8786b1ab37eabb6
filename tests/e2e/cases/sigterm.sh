# shellcheck shell=bash
# Other signals end nothing. SIGTERM: every client hears a PADT, bngd ends with code 0 and leaves nothing behind.
# Field cases: P68
bngd
# At the client's end of the wire: a capture on bngd's own interface ends with it, and may lose the last frames.
lab_tap cli0
capture wire "$NS_ACCESS" cli0
TARGETS=$HOST connect cli0 "$USER1" "$PASSWORD1"
id=$(sessions '.sessions[0].session_id')
# Signals with no meaning for it end nothing: habits of operators and of tools that rotate logs.
for signal in HUP USR1 USR2 ALRM PIPE; do kill -s "$signal" "$LAB_BNGD"; done
within 5 "a line about SIGUSR2" grep -q 'SIGUSR2 means nothing' "$LAB_FOLDER/bngd.log"
ping_from "$NS_INET" 3 "$(sessions '.sessions[0].ipv4')"
kill -TERM "$LAB_BNGD"
started=$SECONDS
wait "$LAB_BNGD"
equal "bngd's exit code" "$?" 0
at_most "the seconds it took" $((SECONDS - started)) 10
within 10 "the client's end" test ! -e "/proc/$LAB_CLIENT"
log=$(client_log cli0)
holds "$log" 'pppd has ended by itself' "the client's log"
capture_end wire
equal "PADTs to the client on the wire" "$(frames wire "pppoe.code == 0xa7 && pppoe.session_id == $id")" 1
for place in "$NS_ACCESS acc0" "$NS_CORE cor0" "$NS_BNGD uplink"; do
    read -r namespace interface <<< "$place"
    ! ip -n "$namespace" link show "$interface" > /dev/null 2>&1 || fail "$interface is still there"
done
[ ! -e "$LAB_SOCKET" ] || fail "the socket $LAB_SOCKET is still there"
equal "pool routes left in the kernel" "$(ip -n "$NS_BNGD" route show proto 210 | wc -l)" 0
