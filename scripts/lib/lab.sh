# shellcheck shell=bash
# A lab of network namespaces around one bngd, for scripts/quickstart.sh and the end-to-end tests. Sourced after
# common.sh. Everything that is made here is noted and taken away by lab_end; processes are ended by their own ids.
#
#     UML guest(s)                                                     198.51.100.0/30        203.0.113.0/24
#     pppd -- cliN --+-- br0 -- acc0 ==[ bngd ]== cor0 .2 ---------- core router .1 ---- .9 ... host
#            namespace ACCESS         namespace BNGD      namespace CORE                 namespace INET
#
# acc0 and cor0 are the kernel's sides of bngd's two net_tap ports; bngd itself makes them in the namespaces that its
# configuration names. bngd's own namespace holds its kernel twins.

LAB_UML=$REPOSITORY/tests/uml
LAB_STARTED=()    # process ids, oldest first
LAB_NAMESPACES=() # names that were made here
LAB_FRR=()        # pathspaces of FRR that were made here
LAB_FOLDER=''

# lab_begin PREFIX: names the namespaces PREFIXaccess, PREFIXcore, PREFIXinet, PREFIXbngd and makes them.
lab_begin() {
    local prefix=$1 name
    NS_ACCESS=${prefix}access NS_CORE=${prefix}core NS_INET=${prefix}inet NS_BNGD=${prefix}bngd
    LAB_FOLDER=$(mktemp -d "${TMPDIR:-/tmp}/bng-lab.XXXXXX")
    for name in "$NS_ACCESS" "$NS_CORE" "$NS_INET" "$NS_BNGD"; do
        [ ! -e "/run/netns/$name" ] || die "there is a network namespace $name already, of an earlier run or of yours; \
end what uses it and remove it (ip netns delete $name), then try again."
    done
    for name in "$NS_ACCESS" "$NS_CORE" "$NS_INET" "$NS_BNGD"; do
        ip netns add "$name" || die "cannot make the network namespace $name."
        LAB_NAMESPACES+=("$name")
        ip -n "$name" link set lo up
    done
    # The host in the Internet, and the router in front of it. Its side of cor0 begins with the port's own MAC address, and
    # so with the link-local address of bngd's twin: no IPv6 there until lab_ipv6.
    ip netns exec "$NS_CORE" sh -c 'echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6'
    ip -n "$NS_CORE" link add inet0 type veth peer name eth0 netns "$NS_INET"
    ip -n "$NS_CORE" address add 203.0.113.1/24 dev inet0
    ip -n "$NS_CORE" link set inet0 up
    ip -n "$NS_INET" address add 203.0.113.9/24 dev eth0
    for last in {10..24} 53 54; do ip -n "$NS_INET" address add "203.0.113.$last/24" dev eth0; done
    ip -n "$NS_INET" link set eth0 up
    ip -n "$NS_INET" route add default via 203.0.113.1
    ip netns exec "$NS_CORE" sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
    # The subscribers' side: a bridge, as an access node is one.
    ip -n "$NS_ACCESS" link add br0 type bridge stp_state 0 mcast_snooping 0
    ip netns exec "$NS_ACCESS" sh -c 'echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
        echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6'
    ip -n "$NS_ACCESS" link set br0 mtu 1600 up
}

# lab_bngd PROGRAM CONFIG SECONDS: starts bngd with a configuration whose ports are acc0 and cor0, waits until it
# answers on SOCKET, and joins its ports to the lab. Its log is $LAB_FOLDER/bngd.log, its process id LAB_BNGD.
lab_bngd() {
    local program=$1 config=$2 seconds=$3 bngctl
    bngctl=$(dirname "$program")/bngctl
    LAB_SOCKET=$(sed -n 's/^ *socket: *//p' "$config" | tail -n 1)
    LAB_SOCKET=${LAB_SOCKET:-/run/bngd/api.sock}
    LAB_BNGCTL=("$bngctl" --socket "$LAB_SOCKET")
    mkdir -p "$(dirname "$LAB_SOCKET")"
    setsid ip netns exec "$NS_BNGD" "$program" --config "$config" > "$LAB_FOLDER/bngd.log" 2>&1 < /dev/null &
    LAB_BNGD=$!
    LAB_STARTED+=("$LAB_BNGD")
    local turn
    for ((turn = 0; turn < seconds * 10; turn++)); do
        if ! kill -0 "$LAB_BNGD" 2> /dev/null; then
            tail -n 20 "$LAB_FOLDER/bngd.log" >&2
            return 1
        fi
        "${LAB_BNGCTL[@]}" show version > /dev/null 2>&1 && break
        sleep 0.1
    done
    if [ "$turn" -ge $((seconds * 10)) ]; then
        echo "bngd does not answer on $LAB_SOCKET after $seconds s" >&2
        tail -n 20 "$LAB_FOLDER/bngd.log" >&2
        return 1
    fi
    # The kernel's side of a tap has the port's own MAC address; here it is another station, and a bridge would keep to
    # itself what is for the address of one of its members.
    ip -n "$NS_ACCESS" link set acc0 address 02:00:00:00:ac:00 || return 1
    ip -n "$NS_CORE" link set cor0 address 02:00:00:00:c0:00 || return 1
    ip -n "$NS_ACCESS" link set acc0 master br0 || return 1
    ip -n "$NS_ACCESS" link set acc0 up
    ip -n "$NS_CORE" address add 198.51.100.2/30 dev cor0 || return 1
    ip -n "$NS_CORE" link set cor0 up
    ip -n "$NS_CORE" route add 100.64.0.0/16 via 198.51.100.1
}

# lab_core_ipv6 INTERFACE...: the core router speaks IPv6 there; elsewhere it does not.
lab_core_ipv6() {
    local interface
    for interface; do
        ip netns exec "$NS_CORE" sysctl -q -w "net.ipv6.conf.$interface.disable_ipv6=0" || return 1
    done
}

# lab_ipv6: IPv6 between bngd's core port and the host, after lab_bngd: bngd has 2001:db8:1::1, the core router ::2, the
# host 2001:db8:2::9, and the router leads 2001:db8:100::/40 and 2001:db8:8000::/34 to bngd.
lab_ipv6() {
    lab_core_ipv6 cor0 inet0 || return 1
    ip -n "$NS_CORE" address add 2001:db8:1::2/64 dev cor0 nodad || return 1
    ip -n "$NS_CORE" address add 2001:db8:2::1/64 dev inet0 nodad || return 1
    ip -n "$NS_INET" address add 2001:db8:2::9/64 dev eth0 nodad || return 1
    ip -n "$NS_INET" route add default via 2001:db8:2::1 || return 1
    ip netns exec "$NS_CORE" sh -c 'echo 1 > /proc/sys/net/ipv6/conf/all/forwarding'
    ip -n "$NS_CORE" route add 2001:db8:100::/40 via 2001:db8:1::1 || return 1
    ip -n "$NS_CORE" route add 2001:db8:8000::/34 via 2001:db8:1::1
}

# lab_tap NAME: makes the tap that the guest of client NAME takes, where it is not there yet.
lab_tap() {
    [ ! -e "$LAB_FOLDER/$1.tap" ] || return 0
    ip -n "$NS_ACCESS" tuntap add dev "$1" mode tap vnet_hdr || return 1
    ip -n "$NS_ACCESS" link set "$1" master br0
    ip -n "$NS_ACCESS" link set "$1" mtu 1600 up
    : > "$LAB_FOLDER/$1.tap"
}

# lab_client NAME USER PASSWORD [pppd option...]: starts a subscriber, with tests/uml/client.sh's variables from the
# environment. Its output goes to $LAB_FOLDER/NAME.log, its process id is in LAB_CLIENT, its folder is
# $LAB_FOLDER/NAME (lab_client_release NAME lets a held one go).
lab_client() {
    local name=$1
    shift
    mkdir -p "$LAB_FOLDER/$name"
    rm -f "$LAB_FOLDER/$name"/*
    lab_tap "$name" || return 1
    OUT=$LAB_FOLDER/$name UML_PIDFILE=$LAB_FOLDER/$name.pid setsid ip netns exec "$NS_ACCESS" \
        "$LAB_UML/client.sh" "$name" "$@" > "$LAB_FOLDER/$name.log" 2>&1 < /dev/null &
    LAB_CLIENT=$!
    LAB_STARTED+=("$LAB_CLIENT")
}

lab_client_release() { : > "$LAB_FOLDER/$1/stop"; }

# lab_client_wait NAME WHAT SECONDS: waits until the guest has written its file WHAT (`up`, `done`). Fails when the
# client ends before.
lab_client_wait() {
    local name=$1 what=$2 seconds=$3 process turn
    process=$LAB_CLIENT
    for ((turn = 0; turn < seconds * 10; turn++)); do
        [ ! -e "$LAB_FOLDER/$name/$what" ] || return 0
        kill -0 "$process" 2> /dev/null || return 1
        sleep 0.1
    done
    return 1
}

# lab_stop PROCESS [SECONDS]: ends one process that the lab started, by SIGTERM and after a while by SIGKILL.
lab_stop() {
    local process=$1 seconds=${2:-10} turn
    kill -TERM "$process" 2> /dev/null || return 0
    for ((turn = 0; turn < seconds * 10; turn++)); do
        kill -0 "$process" 2> /dev/null || return 0
        sleep 0.1
    done
    kill -KILL "$process" 2> /dev/null
    return 1
}

# Takes everything away again, the youngest first.
lab_end() {
    local index name
    for ((index = ${#LAB_STARTED[@]} - 1; index >= 0; index--)); do
        lab_stop "${LAB_STARTED[index]}"
        wait "${LAB_STARTED[index]}" 2> /dev/null
    done
    LAB_STARTED=()
    for name in ${LAB_NAMESPACES[@]+"${LAB_NAMESPACES[@]}"}; do ip netns delete "$name"; done
    LAB_NAMESPACES=()
    for name in ${LAB_FRR[@]+"${LAB_FRR[@]}"}; do rm -rf "/var/run/frr/$name"; done
    LAB_FRR=()
    [ -z "$LAB_FOLDER" ] || rm -rf "$LAB_FOLDER"
    LAB_FOLDER=''
}
