#!/bin/sh
# Runs every fuzz target for a while and prints how many inputs it tried: run.sh [SECONDS_EACH] [TARGET...]
# Needs cargo-fuzz (cargo install cargo-fuzz --locked). Works with a stable compiler: RUSTC_BOOTSTRAP lets it instrument.
set -eu
cd "$(dirname "$0")"
seconds=${1:-10}
[ $# -gt 0 ] && shift
command -v cargo-fuzz >/dev/null || { echo "cargo-fuzz is missing: cargo install cargo-fuzz --locked" >&2; exit 1; }
export RUSTC_BOOTSTRAP=1
[ $# -gt 0 ] || set -- pppoe discovery ppp_packet ppp_session ipv6 network radius receive_path
failed=0
for target in "$@"; do
    mkdir -p "corpus/$target" "found/$target"
    log=$(mktemp)
    status=0
    # 4096 octets: room for a long exchange in the engines' inputs. 1500 MB: a leak shows.
    cargo fuzz run --fuzz-dir . "$target" "corpus/$target" "seeds/$target" "found/$target" -- \
        -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=1500 -timeout=10 -print_final_stats=1 >"$log" 2>&1 || status=$?
    rmdir "found/$target" 2>/dev/null || true
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -1)
    echo "fuzz $target: ${executions:-0} executions in ${seconds} s, exit $status"
    if [ "$status" -ne 0 ] || [ "${executions:-0}" -eq 0 ]; then
        tail -40 "$log" >&2
        failed=1
    fi
    rm -f "$log"
done
exit "$failed"
