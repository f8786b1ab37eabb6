# shellcheck shell=bash
# PAP (RFC 1334): a subscriber logs in, gets an address and name servers and reaches a host.
bngd 's/auth: \[.*\]/auth: [pap]/'
capture wire "$NS_ACCESS" acc0
TARGETS="$GATEWAY $HOST" DF_PING=1 connect cli0 "$USER1" "$PASSWORD1"
equal "the number of sessions" "$(sessions '.sessions | length')" 1
equal "the user" "$(sessions '.sessions[0].user')" "$USER1"
equal "the protocol" "$(sessions '.sessions[0].auth')" pap
hang_up cli0 "$LAB_CLIENT"
capture_end wire
log=$(client_log cli0)
holds "$log" 'PAP authentication succeeded' "the client's log"
holds "$log" 'rcvd \[PAP AuthAck' "the client's log"
holds "$log" 'UP in .* dns=203.0.113.53,203.0.113.54' "the client's name servers"
equal "PAP on the wire, requests" "$(frames wire 'pap.code == 1')" 1
equal "PAP on the wire, acks" "$(frames wire 'pap.code == 2')" 1
# The client has hung up: the address goes back.
within 6 "the session's end" sessions_are 0
equal "addresses in use" "$(addresses_used)" 0
