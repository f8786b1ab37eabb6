# shellcheck shell=bash
# A wrong password is refused with the reason in the client's log, and leaves nothing behind.
bngd
WAIT=10 lab_client cli0 "$USER1" wrong
! wait "$LAB_CLIENT" || fail "the client came up with a wrong password"
log=$(client_log cli0)
holds "$log" 'CHAP authentication failed: .+' "the reason in the client's log (CHAP)"
note "$(grep -m 1 'CHAP authentication failed' "$log")"
WAIT=10 lab_client cli0 nobody@example.net "$PASSWORD1" refuse-chap
! wait "$LAB_CLIENT" || fail "an unknown user came up"
holds "$log" 'rcvd \[PAP AuthNak id=.* ".+"\]' "the reason in the client's log (PAP)"
holds "$log" 'PAP authentication failed' "the client's log"
within 5 "the sessions' end" sessions_are 0
equal "addresses in use" "$(addresses_used)" 0
# Refused in time, not at the end of a timer, and the right one is served.
TARGETS=$HOST connect cli0 "$USER1" "$PASSWORD1"
hang_up cli0 "$LAB_CLIENT"
