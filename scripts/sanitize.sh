#!/bin/bash
# Runs what shares memory between threads under AddressSanitizer: the hand-over test of the control core (sessions set
# up and torn down under fire), the stress tests of the concurrency floor, the session table and the FIB, and the data
# plane's tests. None of them needs DPDK. Run as root: the hand-over test makes a network namespace.
#
#   scripts/sanitize.sh
#
# Takes three to five minutes on two cores where nothing is built yet, most of it compiling, and about one afterwards.
# The last line is `sanitize: N passed`; it fails where a test fails, the sanitizer reports, or a set ran no test.
# ROUNDS=N: how many rounds the hand-over test plays. PROPTEST_CASES=N: how many cases a property gets (default 32).
set -u
cd "$(dirname "$(readlink -f "$0")")/.." || exit 1

# The sanitizer's runtime comes with the stable compiler; only the switch for it is not stable yet. With --target the
# build scripts and macros stay without it.
export RUSTC_BOOTSTRAP=1
export RUSTFLAGS="-Zsanitizer=address"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/sanitize"
export CARGO_PROFILE_TEST_DEBUG=line-tables-only CARGO_PROFILE_DEV_DEBUG=line-tables-only
export PROPTEST_CASES="${PROPTEST_CASES:-32}"
export ASAN_OPTIONS="detect_stack_use_after_return=1:strict_string_checks=1"
target=x86_64-unknown-linux-gnu
seconds_max=900

log=$(mktemp "${TMPDIR:-/tmp}/bng-sanitize.XXXXXX")
trap 'rm -f "$log"' EXIT
passed=0

# set_of_tests ARGUMENTS...: runs them, and adds up what passed
set_of_tests() {
    local started=$SECONDS good
    if ! timeout "$seconds_max" cargo test --target "$target" "$@" > "$log" 2>&1; then
        tail -n 100 "$log"
        echo "sanitize: FAILED: $*" >&2
        exit 1
    fi
    good=$(sed -n 's/^test result: ok\. \([0-9]*\) passed;.*/\1/p' "$log" | awk '{ sum += $1 } END { print sum + 0 }')
    if [ "$good" = 0 ]; then
        echo "sanitize: FAILED: no test ran: $*" >&2
        exit 1
    fi
    sed -n 's/^\([0-9]* rounds .*\)/    \1/p' "$log"
    echo "ok      $* ($good passed, $((SECONDS - started)) s)"
    passed=$((passed + good))
}

set_of_tests -p bng-control --test handover -- --nocapture
set_of_tests -p bng-sync --lib --test reclaim --test ring
set_of_tests -p bng-session --lib --test race --test table
set_of_tests -p bng-fib --lib --test churn
set_of_tests -p bng-dataplane --lib --tests
echo "sanitize: $passed passed"
