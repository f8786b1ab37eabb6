# shellcheck shell=bash
# The client's LCP Echo-Requests are answered by the workers: the reason's counter rises, the control core sees none of
# them, and they keep the session alive although nothing else is sent.
bngd
# metric START: the sum of the samples that begin so
metric() {
    curl -s --unix-socket "$LAB_SOCKET" http://bngd/metrics | awk -v start="$1" 'index($0, start) == 1 { n += $2 } END { print n + 0 }'
}
keepalive_punts() { metric 'bng_control_punts_total{class="keepalive"}'; }
answered() { metric bng_echoes_answered_total; }
MAC=02:55:00:00:00:01 TARGETS=$HOST connect cli0 "$USER1" "$PASSWORD1" lcp-echo-interval 1 lcp-echo-failure 3
before=$(keepalive_punts)
answers=$(answered)
sleep 12
after=$(keepalive_punts)
now=$(answered)
note "in 12 s: $((now - answers)) echoes answered by the workers, $((after - before)) frames of the class punted"
at_least "echoes answered by the workers" "$((now - answers))" 10
# Ours go out every 10 s on a silent line: the client's echoes are signs of life, so there should be none.
at_most "keepalive frames for the control core" "$((after - before))" 1
equal "the session" "$(sessions '.sessions[0].state')" up
hang_up cli0 "$LAB_CLIENT"
log=$(client_log cli0)
sent=$(sed -n 's/.*echo-requests=\([0-9]*\).*/\1/p' "$log")
received=$(sed -n 's/.*echo-replies=\([0-9]*\).*/\1/p' "$log")
at_most "echoes that the client missed" "$((sent - received))" 1
