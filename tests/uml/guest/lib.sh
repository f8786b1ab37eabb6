# shellcheck shell=bash
# Sourced in the guest before every job.

# load NAME...: loads kernel modules with what they depend on. modules.dep lists the dependencies of each module with
# the last needed first, so they are loaded from the right-hand end.
load() {
    local module line file parts index path name
    for module; do
        line=$(grep -E "/$module\.ko:" "$MODULES/modules.dep" | head -n 1)
        [ -n "$line" ] || { echo "guest: there is no module $module" >&2; continue; }
        file=${line%%:*}
        read -ra parts <<< "${line#*:}"
        for ((index = ${#parts[@]} - 1; index >= -1; index--)); do
            path=$file
            [ $index -lt 0 ] || path=${parts[index]}
            name=$(basename "$path" .ko)
            [ -d "/sys/module/${name//-/_}" ] || $BB insmod "$MODULES/$path" || echo "guest: cannot load $path" >&2
        done
    done
}

# Starting a process takes tens of milliseconds in the guest: time and short sleeps do without.
# shellcheck disable=SC2034
now_ms() { # the time in milliseconds, in NOW_MS
    local micro=${EPOCHREALTIME/./}
    NOW_MS=$((micro / 1000))
}
[ -p /run/nap ] || mkfifo /run/nap
exec 9<> /run/nap
nap() { read -r -t "$1" -u 9 _ || :; }
