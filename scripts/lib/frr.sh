# shellcheck shell=bash
# FRR in the lab's namespaces, for the end-to-end tests. Sourced after lab.sh. Each FRR has a pathspace of its own (-N),
# so that it meets neither another one nor the host's; its daemons are ended by their own ids with the lab.

FRR_DAEMONS=/usr/lib/frr

# frr_start NAME NAMESPACE CONFIG DAEMON...: zebra, the daemons, and the configuration, given to all of them by vtysh.
frr_start() {
    local name=$1 namespace=$2 config=$3 daemon
    shift 3
    # The daemons give up root's rights: what they write is in their own folder.
    install -d -o frr -g frr "/var/run/frr/$name" || return 1
    mkdir -p "$LAB_FOLDER/frr-$name"
    LAB_FRR+=("$name")
    for daemon in zebra "$@"; do
        setsid ip netns exec "$namespace" "$FRR_DAEMONS/$daemon" -N "$name" -f /dev/null --log stdout \
            > "$LAB_FOLDER/frr-$name/$daemon.out" 2>&1 < /dev/null &
        LAB_STARTED+=("$!")
        FRR_PROCESS["$name-$daemon"]=$!
        within 20 "$daemon of $name" test -S "/var/run/frr/$name/$daemon.vty"
    done
    frr_vtysh "$name" -f "$config" > "$LAB_FOLDER/frr-$name/vtysh.out" 2>&1 ||
        { cat "$LAB_FOLDER/frr-$name/vtysh.out"; return 1; }
}
# shellcheck disable=SC2034 # the cases end a daemon by it
declare -A FRR_PROCESS=()

frr_vtysh() {
    local name=$1
    shift
    vtysh -N "$name" "$@"
}
