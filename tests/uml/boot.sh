#!/bin/bash
# Boots a throw-away User-Mode Linux guest on the host's own files (hostfs, read-only), runs one script in it and hands
# back the script's exit code.
#
#   boot.sh [-m MEMORY] [-t SECONDS] [-n NIC]... [-e KEY=VALUE]... [-o FOLDER] SCRIPT [ARGUMENT...]
#
#   -n NIC         one for each network interface of the guest (vec0, vec1, ...), as UML takes it behind "vecN:"
#   -e KEY=VALUE   exported to SCRIPT
#   -o FOLDER      a folder that the guest may write to; the guest sees it as /run/out
#   -t SECONDS     the guest is ended after this time (exit code 124); 0: no limit
#
# Needs root and the packages user-mode-linux, busybox-static and gcc. Environment: UML_CPU=N pins the guest to a CPU,
# UML_PIDFILE=FILE gets the guest's process id, which is also its process group, UML_KEEP=1 keeps the run's folder.
# Ended by SIGTERM or SIGINT, it ends its guest.
set -u
memory=192M limit=120 out='' nics=() exports=()
usage() { sed -n '2,16p' "$0" >&2; exit 2; }
while getopts m:t:n:e:o: option; do
    case $option in
        m) memory=$OPTARG ;;
        t) limit=$OPTARG ;;
        n) nics+=("$OPTARG") ;;
        e) exports+=("$OPTARG") ;;
        o) out=$OPTARG ;;
        *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || usage
die() { echo "boot.sh: $*" >&2; exit 2; }
[ "$(id -u)" = 0 ] || die "must be root"
kernel=${UML_BIN:-/usr/bin/linux.uml}
modules=${UML_MODULES:-$(find /usr/lib/uml/modules -mindepth 1 -maxdepth 1 -type d 2>/dev/null | sort | tail -n 1)}
if [ ! -x "$kernel" ] || [ ! -d "$modules" ]; then die "User-Mode Linux is missing: apt-get install user-mode-linux"; fi
busybox=$(command -v busybox) || die "busybox is missing: apt-get install busybox-static"
here=$(dirname "$(readlink -f "$0")")

run=$(mktemp -d "${TMPDIR:-/tmp}/bng-uml.XXXXXX")
mkdir "$run/out" "$run/console"
[ -n "$out" ] || out=$run/out
script=$(readlink -f "$1")
shift
{
    echo '#!/bin/bash'
    for export in ${exports[@]+"${exports[@]}"}; do printf 'export %q\n' "$export"; done
    printf '. %q\n' "$here/guest/lib.sh"
    printf 'set --'
    [ $# = 0 ] || printf ' %q' "$@"
    echo
    cat "$script"
} > "$run/job.sh"
# The guest's first process. What is written here with a backslash is for the guest's shell.
cat > "$run/init" << END
#!$busybox sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C
export BB=$busybox MODULES=$modules
\$BB mount -t proc proc /proc
\$BB mount -t sysfs sys /sys
\$BB mount -t tmpfs -o mode=755 tmpfs /run
\$BB mkdir -p /run/job /run/out /run/lock /run/netns /run/tmp
\$BB mount -t hostfs -o $run none /run/job
\$BB mount -t hostfs -o $out none /run/out
\$BB mount -t tmpfs tmpfs /var/log
export TMPDIR=/run/tmp
\$BB mkdir -p /dev/pts /dev/net
\$BB mount -t devpts devpts /dev/pts 2> /dev/null
[ -d /etc/ppp ] && \$BB mount -t tmpfs -o mode=755 tmpfs /etc/ppp
\$BB ip link set lo up 2> /dev/null
/bin/bash /run/job/job.sh
echo \$? > /run/job/code
\$BB sync
\$BB poweroff -f
END
chmod 755 "$run/init"
arguments=("mem=$memory" root=/dev/root rootfstype=hostfs rootflags=/ ro "init=$run/init" "uml_dir=$run/console"
    umid=vm con=null "con0=null,fd:1" ssl=null quiet "loglevel=${UML_LOGLEVEL:-3}" panic=-1)
number=0
for nic in ${nics[@]+"${nics[@]}"}; do
    arguments+=("vec$number:$nic")
    number=$((number + 1))
done
# See xstate.c.
preload=()
if grep -qm 1 '^flags.* amx_tile' /proc/cpuinfo; then
    gcc -O2 -shared -fPIC -o "$run/xstate.so" "$here/xstate.c" ||
        die "this processor has AMX, for which User-Mode Linux needs a shim that gcc compiles: apt-get install gcc"
    preload=("LD_PRELOAD=$run/xstate.so")
fi
pin=()
[ -z "${UML_CPU:-}" ] || pin=(taskset -c "$UML_CPU")
setsid ${pin[@]+"${pin[@]}"} env ${preload[@]+"${preload[@]}"} "$kernel" "${arguments[@]}" < /dev/null 2>> "$run/errors" &
guest=$!
[ -z "${UML_PIDFILE:-}" ] || echo "$guest" > "$UML_PIDFILE"
end_guest() {
    kill -TERM "$guest" 2> /dev/null
    sleep 0.3
    kill -KILL -- "-$guest" 2> /dev/null
}
finish() { if [ -n "${UML_KEEP:-}" ]; then echo "boot.sh: kept $run" >&2; else rm -rf "$run"; fi; }
trap 'end_guest; finish; exit 143' INT TERM
end=$((SECONDS + limit))
code=''
while kill -0 "$guest" 2> /dev/null; do
    if [ "$limit" != 0 ] && [ $SECONDS -ge $end ]; then
        echo "boot.sh: the limit of $limit seconds is reached" >&2
        code=124
        end_guest
        break
    fi
    sleep 0.1
done
wait "$guest" 2> /dev/null
if [ -z "$code" ] && ! code=$(cat "$run/code" 2> /dev/null); then
    echo "boot.sh: the guest died:" >&2
    tail -n 5 "$run/errors" >&2
    code=125
fi
kill -KILL -- "-$guest" 2> /dev/null
finish
exit "$code"
