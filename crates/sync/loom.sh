#!/bin/sh
# Model-checks bng-sync: the models must pass, and with any one memory ordering weakened (a mutant of
# src/ordering.rs) they must fail. Takes two to three minutes on two cores, most of it compiling once.
#
# Use: crates/sync/loom.sh [mutant ...]     without arguments: the real orderings, then every mutant
set -eu
cd "$(dirname "$0")"

CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-../../target}/loom"
RUSTFLAGS="--cfg loom"
# Each mutant is compiled anew and runs for a second: cheap to compile is what counts.
CARGO_PROFILE_RELEASE_LTO=off
CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
CARGO_PROFILE_RELEASE_DEBUG=0
export CARGO_TARGET_DIR RUSTFLAGS CARGO_PROFILE_RELEASE_LTO CARGO_PROFILE_RELEASE_CODEGEN_UNITS CARGO_PROFILE_RELEASE_DEBUG
seconds_max=240
log="$(mktemp)"
trap 'rm -f "$log"' EXIT

models() {
    BNG_SYNC_MUTANT="$1" timeout "$seconds_max" cargo test --quiet --release --package bng-sync --test loom >"$log" 2>&1
}

if [ $# -eq 0 ]; then
    if ! models ""; then
        cat "$log"
        echo "loom: the models FAIL with the real orderings" >&2
        exit 1
    fi
    echo "loom: the models pass"
    # The names in quotes at the left of a colon, and those of the barriers.
    set -- $(sed -n 's/.*"\([a-z_]*\)": Relaxed;.*/\1/p; s/.*mutate = "\([a-z_]*\)".*/\1/p' src/ordering.rs)
fi

survivors=0
for mutant in "$@"; do
    if models "$mutant"; then
        echo "loom: mutant $mutant SURVIVES: no model looks at this ordering" >&2
        survivors=$((survivors + 1))
    elif grep -q "^error" "$log" && ! grep -q "test result: FAILED" "$log" && ! grep -q "signal" "$log"; then
        cat "$log"
        echo "loom: mutant $mutant did not run" >&2
        exit 1
    else
        echo "loom: mutant $mutant fails in $(sed -n 's/.*test result: FAILED.* \([0-9]*\) failed;.*/\1/p' "$log") of the models, as it must"
    fi
done
exit "$survivors"
