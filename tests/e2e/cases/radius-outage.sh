# shellcheck shell=bash
# A server dies: logins go to the second one, and the metrics say who is dead. Both die: the local list decides. Stops
# wait, over a restart of bngd too, and arrive once each.
. "$REPOSITORY/tests/e2e/radius.sh"
second=203.0.113.10
radius_server "$HOST"
radius_server "$second"
bngd_radius '[radius, local]' "$HOST $second" "$HOST"
alive() { [ "$(radius "[.servers[] | select(.purpose == \"$1\") | .alive] | map(tostring) | join(\" \")")" = "$2" ]; }
test_queue_empty() { [ "$(radius '.accounting.queued')" = 0 ]; }

TARGETS=$HOST connect cli0 "$USER1" "$PASSWORD1"
within 5 "the Start" records_are "$HOST" '."Acct-Status-Type" == "Start"' 1
radius_stop "$HOST"
# A session ends with nobody to tell, and another begins at the second server.
hang_up cli0 "$LAB_CLIENT"
within 8 "the session's end" sessions_are 0
TARGETS=$HOST connect cli0 "$USER1" "$PASSWORD1"
at_least "accepts of the second server" "$(radius_metric bng_radius_replies_total "server=\"$second:1812\",purpose=\"authentication\",kind=\"accept\"")" 1
hang_up cli0 "$LAB_CLIENT"
within 15 "the first servers dead" alive accounting false
TARGETS=$HOST connect cli0 "$USER2" "$PASSWORD2"
hang_up cli0 "$LAB_CLIENT"
within 15 "the first server dead" alive authentication "false true"
equal "the metric" "$(radius_metric bng_radius_server_up "server=\"$HOST:1812\"")" 0
at_least "deaths" "$(radius_metric bng_radius_server_deaths_total "server=\"$HOST:1812\"")" 1

# Nobody is left: who is in the local list comes in, who is not does not.
radius_stop "$second"
TARGETS=$HOST WAIT=30 connect cli0 "$USER1" "$PASSWORD1"
within 8 "the session" sessions_are 1
hang_up cli0 "$LAB_CLIENT"
within 8 "the session's end" sessions_are 0
at_least "records that wait" "$(radius '.accounting.queued')" 4
waiting=$(radius '.accounting.queued')
# bngd is killed: the records are on disk.
sleep 0.5
kill -KILL "$LAB_BNGD"
wait "$LAB_BNGD" 2> /dev/null
lab_bngd "$E2E_BNGD" "$CONFIG" 30 || fail "bngd does not come up"
at_least "records that wait after the restart" "$(radius '.accounting.queued')" 4
note "$waiting records waited"
radius_server "$HOST"
within 60 "an empty queue" test_queue_empty
equal "Starts" "$(records "$HOST" '."Acct-Status-Type" == "Start"')" 4
equal "Stops" "$(records "$HOST" '."Acct-Status-Type" == "Stop"')" 4
equal "sessions with a Stop" "$(detail "$HOST" | jq -r 'select(."Acct-Status-Type" == "Stop") | ."Acct-Session-Id"' | sort -u | wc -l)" 4
at_least "the longest delay" "$(detail "$HOST" | jq -r '."Acct-Delay-Time" // 0' | sort -n | tail -n 1)" 5
within 15 "the accounting server alive" alive accounting true
