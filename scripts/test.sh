#!/bin/bash
# Everything that must pass: format, lints, unit and property tests, the documentation, the models of the concurrency
# floor, the stress tests under AddressSanitizer, the instructions that a packet costs, a bounded run of every fuzz
# target, the scripts' own lint, the page of field cases and the end-to-end cases. Run as root: tests make network
# namespaces and taps, and nothing is skipped where that is not possible; it fails.
#
#   scripts/test.sh             all of it
#   scripts/test.sh STEP...     only these: format lint unit golden doc models sanitize instructions fuzz scripts e2e
#
# Prints the result of each step; the last line is `N passed, N failed`, tests and checks together.
# FUZZ_SECONDS=N: how long each fuzz target runs (default 5).
set -u
# shellcheck source=lib/common.sh
. "$(dirname "$(readlink -f "$0")")/lib/common.sh"

ALL=(format lint unit golden doc models sanitize instructions fuzz scripts e2e)
for step; do
    case " ${ALL[*]} " in
        *" $step "*) ;;
        *)
            sed -n '2,11p' "$0"
            exit 2
            ;;
    esac
done
wanted=("$@")
[ $# -gt 0 ] || wanted=("${ALL[@]}")

need_linux_root_tun
need_cargo
need_packages "${PACKAGES_BUILD[@]}" "${PACKAGES_LAB[@]}" "${PACKAGES_TEST[@]}"
cd "$REPOSITORY" || die "cannot enter $REPOSITORY"

log=$(mktemp "${TMPDIR:-/tmp}/bng-test.XXXXXX")
trap 'rm -f "$log"' EXIT
passed=0
failed=0
failures=()

# check WHAT COMMAND...: one check; its output is shown where it fails
check() {
    local what=$1 started=$SECONDS
    shift
    if "$@" > "$log" 2>&1; then
        passed=$((passed + 1))
        echo "ok      $what ($((SECONDS - started)) s)"
    else
        failed=$((failed + 1))
        failures+=("$what")
        echo "FAILED  $what ($((SECONDS - started)) s): $*"
        tail -n 100 "$log" | sed 's/^/    | /'
    fi
}

# count WHAT PASSED FAILED CODE: the tests of a step that counts them itself
count() {
    local what=$1 good=${2:-0} bad=${3:-0} code=$4
    # A step that fails without a failed test (it did not compile) or that ran none is one failure.
    if [ "$bad" = 0 ] && { [ "$code" != 0 ] || [ "$good" = 0 ]; }; then bad=1; fi
    passed=$((passed + good))
    failed=$((failed + bad))
    if [ "$bad" = 0 ]; then
        echo "ok      $what: $good passed"
    else
        failures+=("$what")
        echo "FAILED  $what: $good passed, $bad failed"
    fi
}

# libtest WHAT COMMAND...: tests in the format of Rust's own harness
libtest() {
    local what=$1 code good bad
    shift
    "$@" 2>&1 | tee "$log" | grep -E '^(test .*FAILED|error|failures:)' | sed 's/^/    | /'
    code=${PIPESTATUS[0]}
    good=$(sed -n 's/^test result: .* \([0-9]*\) passed; .*/\1/p' "$log" | awk '{ sum += $1 } END { print sum + 0 }')
    bad=$(sed -n 's/^test result: .* \([0-9]*\) failed; .*/\1/p' "$log" | awk '{ sum += $1 } END { print sum + 0 }')
    [ "$code" = 0 ] || tail -n 100 "$log" | sed 's/^/    | /'
    count "$what" "$good" "$bad" "$code"
}

step_format() { check "format" cargo fmt --all --check; }

step_lint() { check "clippy, warnings denied" cargo clippy --workspace --all-targets --quiet -- -D warnings; }

step_unit() {
    if cargo nextest --version > /dev/null 2>&1; then
        local code summary
        cargo nextest run --workspace --no-fail-fast --color never > "$log" 2>&1
        code=$?
        [ "$code" = 0 ] || grep -vE '^ *(PASS|Compiling|Running)' "$log" | tail -n 200 | sed 's/^/    | /'
        summary=$(grep -E 'Summary .* tests? run:' "$log" | tail -n 1)
        count "unit and property tests" "$(sed -n 's/.* \([0-9]*\) passed.*/\1/p' <<< "$summary")" \
            "$(grep -oE '[0-9]+ (failed|timed out)' <<< "$summary" | awk '{ sum += $1 } END { print sum + 0 }')" "$code"
    else
        libtest "unit and property tests" cargo test --workspace --no-fail-fast --lib --bins --tests
    fi
}

# What the data plane does with the golden cases is a unit test; here others judge the cases themselves.
step_golden() {
    check "the golden cases are what scapy makes" crates/dataplane/tests/golden/make.py --check
    check "tshark on the golden cases' expected frames" crates/dataplane/tests/golden/judge.sh
}

step_doc() {
    check "documentation, warnings denied" env RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --quiet
    # There may be none: an example in the documentation is run where there is one.
    check "examples in the documentation" cargo test --workspace --doc --quiet
}

step_models() { check "models of the concurrency floor, and their mutants" crates/sync/loom.sh; }

step_sanitize() {
    local code
    scripts/sanitize.sh > "$log" 2>&1
    code=$?
    [ "$code" = 0 ] || tail -n 100 "$log" | sed 's/^/    | /'
    count "stress tests under AddressSanitizer" "$(sed -n 's/^sanitize: \([0-9]*\) passed$/\1/p' "$log")" 0 "$code"
}

step_instructions() {
    need_packages valgrind
    check "build of the benchmark" cargo build --quiet --release -p bng-bench
    check "instructions a packet, within 3% of the file" cargo run --quiet --release -p bng-bench -- --gate
}

step_fuzz() {
    if ! command -v cargo-fuzz > /dev/null; then
        cargo install cargo-fuzz --locked --quiet || die "cannot install cargo-fuzz."
    fi
    check "fuzz targets, ${FUZZ_SECONDS:-5} s each, more than no execution of each" fuzz/run.sh "${FUZZ_SECONDS:-5}"
    grep -E '^fuzz .* executions' "$log" | sed 's/^/        /'
}

step_scripts() {
    need_packages shellcheck
    check "shellcheck" shellcheck .ci/run scripts/*.sh scripts/lib/*.sh tests/uml/*.sh tests/uml/guest/*.sh \
        tests/e2e/*.sh tests/e2e/cases/*.sh crates/dataplane/tests/golden/*.sh
    check "the page of field cases is up to date, and each case that is built has a test" scripts/field-cases.sh --check
}

step_e2e() {
    local code
    check "build of bngd and bngctl" cargo build --quiet --bin bngd --bin bngctl
    tests/e2e/run.sh --profile debug 2>&1 | tee "$log"
    code=${PIPESTATUS[0]}
    # `end-to-end: A of B listed cases run, P passed, F failed`
    count "end-to-end cases, $(sed -n 's/^end-to-end: \(.* run\),.*/\1/p' "$log")" \
        "$(sed -n 's/^end-to-end:.* \([0-9]*\) passed,.*/\1/p' "$log")" \
        "$(sed -n 's/^end-to-end:.* \([0-9]*\) failed.*/\1/p' "$log")" "$code"
}

for step in "${wanted[@]}"; do "step_$step"; done

[ "$failed" = 0 ] || echo "failed: ${failures[*]}"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
