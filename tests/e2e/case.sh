#!/bin/bash
# Runs one end-to-end case in a lab of its own: case.sh NAME. run.sh calls it and says what it needs.
set -u
. "$(dirname "$(readlink -f "$0")")/lib.sh"
case=$1
# shellcheck disable=SC2317  # the trap calls it
finish() {
    local code=$?
    trap - EXIT INT TERM
    if [ "$code" != 0 ] && [ -s "$LAB_FOLDER/bngd.log" ]; then
        echo "    the last words of bngd:"
        tail -n 40 "$LAB_FOLDER/bngd.log"
        echo "    what it dropped and punted:"
        "${LAB_BNGCTL[@]}" --json show drops | jq -c '.drops[] | select(.packets > 0) | [.reason, .packets]'
    fi
    [ -z "${E2E_KEEP:-}" ] || cp -r "$LAB_FOLDER" "$E2E_KEEP"
    lab_end
    exit "$code"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
# Namespaces are named after the process, so that several runs do not meet.
lab_begin "bng$$-"
# shellcheck source=/dev/null
. "$REPOSITORY/tests/e2e/cases/$case.sh"
exit 0
