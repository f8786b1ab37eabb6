#!/bin/bash
# Runs the end-to-end cases: bngd between a real PPPoE client (pppd in a User-Mode Linux guest) and a host, with tshark
# as the judge of what is on the wire. Needs root and the packages of scripts/lib/common.sh (scripts/test.sh installs
# them). Fails, and says so, where something it needs is missing; no case is skipped.
#
#   tests/e2e/run.sh [--profile debug|release] [CASE...]      without a case: all of the file `list`
#
# Prints a line for each case, and at the end how many of how many passed. The log of a case that failed follows it.
set -u
. "$(dirname "$(readlink -f "$0")")/lib.sh"
here=$REPOSITORY/tests/e2e
profile=release
if [ "${1:-}" = --profile ]; then
    profile=$2
    shift 2
fi
need_linux_root_tun
need_cargo
for tool in ip tcpdump tshark iperf3 jq curl freeradius radclient linux.uml busybox pppd pppoe-discovery vtysh dhcpcd; do
    command -v $tool > /dev/null || die "$tool is missing: scripts/test.sh installs what the tests need."
done
export E2E_BNGD
E2E_BNGD=$(target_folder)/$profile/bngd
[ -x "$E2E_BNGD" ] || die "$E2E_BNGD is not built: cargo build --$profile"

mapfile -t listed < <(grep -v '^#' "$here/list" | grep .)
mapfile -t there < <(cd "$here/cases" && printf '%s\n' *.sh | sed 's/\.sh$//')
if [ "${listed[*]}" != "${there[*]}" ]; then
    diff <(printf '%s\n' "${listed[@]}") <(printf '%s\n' "${there[@]}") >&2
    die "tests/e2e/list does not name the files of tests/e2e/cases."
fi
cases=("$@")
[ $# -gt 0 ] || cases=("${listed[@]}")

before=$(host_state)
log=$(mktemp -d "${TMPDIR:-/tmp}/bng-e2e.XXXXXX")
trap 'rm -rf "$log"' EXIT
trap '[ -z "${running:-}" ] || { kill -TERM "$running"; wait "$running"; }; exit 143' INT TERM
passed=0 failed=()
for case in "${cases[@]}"; do
    [ -r "$here/cases/$case.sh" ] || die "there is no case $case"
    started=$SECONDS
    "$here/case.sh" "$case" > "$log/$case" 2>&1 &
    running=$!
    if wait "$running"; then
        passed=$((passed + 1))
        echo "ok      $case ($((SECONDS - started)) s)"
    else
        failed+=("$case")
        echo "FAILED  $case ($((SECONDS - started)) s)"
        sed 's/^/    | /' "$log/$case"
    fi
    running=''
done
after=$(host_state)
if [ "$before" != "$after" ]; then
    echo "FAILED  the host's own interfaces, addresses and routes are not as they were:"
    diff <(echo "$before") <(echo "$after")
    failed+=(host-state)
fi
echo "end-to-end: ${#cases[@]} of ${#listed[@]} listed cases run, $passed passed, ${#failed[@]} failed ${failed[*]:-}"
[ ${#failed[@]} = 0 ]
