#!/bin/bash
# Writes docs/field-cases.md: each case from the field (tests/field-cases.tsv) with the tests whose names begin with its
# number (fn p11_... in Rust, pNN- or pNN_ in the name of an end-to-end case or in a line `# Field cases: PNN` of it).
#
#   scripts/field-cases.sh           writes the page
#   scripts/field-cases.sh --check   fails where the page is not what it would write, or a case that is built has no test
set -u
# shellcheck source=lib/common.sh
. "$(dirname "$(readlink -f "$0")")/lib/common.sh"
cd "$REPOSITORY" || exit 1
PAGE=docs/field-cases.md

# Lines `NUMBER<tab>PLACE`. A name may hold several numbers (p16_p71_...) and a letter for a part of a case (p42a_...).
# shellcheck disable=SC2016  # the backquotes are Markdown's
tests() {
    local file rest name prefix number numbers
    while IFS=: read -r file rest; do
        name=${rest##*fn }
        prefix=$(grep -oE '^(p[0-9]{2}[a-z]?_)+' <<< "$name")
        while read -r number; do printf 'P%s\t`%s`: `%s`\n' "$number" "$file" "$name"; done < <(grep -oE '[0-9]{2}' <<< "$prefix")
    done < <(grep -rnoE --include='*.rs' 'fn p[0-9]{2}[a-z]?_[a-z0-9_]+' crates src fuzz tests 2> /dev/null)
    while IFS=: read -r file _ numbers; do
        for number in ${numbers//,/ }; do printf '%s\t`%s`\n' "$number" "$file"; done
    done < <(grep -HoE '^# Field cases: .*' tests/e2e/cases/*.sh)
}

page() {
    cat << 'END'
# Cases from the field

What operators and odd clients have done to PPPoE servers. Each case stands for a kind, and each test is named after its
case: `pNN_...` in Rust, a line `# Field cases:` in an end-to-end case. This page is written by `scripts/field-cases.sh`;
`scripts/test.sh` fails where it is out of date.

| case | kind | what | tests |
| --- | --- | --- | --- |
END
    local all number kind what waits found
    all=$(tests | sort -u)
    while IFS=$'\t' read -r number kind what waits; do
        found=$(awk -F'\t' -v number="$number" '$1 == number { printf "%s%s", sep, $2; sep = "<br>" }' <<< "$all")
        [ -n "$found" ] || found=${waits:+waits for: $waits}
        printf '| %s | %s | %s | %s |\n' "$number" "$kind" "${what//|/\\|}" "${found:-**none yet**}"
    done < <(grep -v '^#' tests/field-cases.tsv)
    # A number that is no case is a mistake in a test's name.
    while IFS=$'\t' read -r number _; do
        grep -q "^$number	" tests/field-cases.tsv || printf '\nNo such case: %s\n' "$number"
    done < <(cut -f 1 <<< "$all" | sort -u)
}

case ${1:-} in
    '') page > $PAGE ;;
    --check)
        diff $PAGE <(page) || die "$PAGE is out of date: run scripts/field-cases.sh and commit it."
        ! grep -nE '^No such case|\*\*none yet\*\*' $PAGE || die "cases without a test, or tests without a case."
        ;;
    *) sed -n '2,7p' "$0"; exit 2 ;;
esac
