# shellcheck shell=bash
# A client that dies without a word is noticed by the echoes that it does not answer: its session ends, its address and
# its id go back.
bngd 's/echo_interval: 10s, echo_misses: 3/echo_interval: 1s, echo_misses: 3/'
MAC=02:55:00:00:00:01 TARGETS=$HOST connect cli0 "$USER1" "$PASSWORD1"
# Alive: it stays, well past the time after which a dead one goes.
sleep 6
equal "sessions while the client answers echoes" "$(sessions '.sessions | length')" 1
capture wire "$NS_ACCESS" acc0
kill -KILL -- "-$(cat "$LAB_FOLDER/cli0.pid")"
died=$SECONDS
wait "$LAB_CLIENT"
within 10 "the end of the dead client's session" sessions_are 0
note "noticed after $((SECONDS - died)) s"
equal "addresses in use" "$(addresses_used)" 0
holds "$LAB_FOLDER/bngd.log" 'session ended .*reason="(lost_carrier|echo|keepalive)[a-z_]*"' "the reason in bngd's log"
capture_end wire
at_least "echo requests without an answer" "$(frames wire 'ppp.protocol == 0xc021 && ppp.code == 9')" 3
equal "the PADT at the end" "$(frames wire 'pppoe.code == 0xa7 && eth.dst == 02:55:00:00:00:01')" 1
