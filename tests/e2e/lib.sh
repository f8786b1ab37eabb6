# shellcheck shell=bash
# What the end-to-end cases share. A case is a file cases/NAME.sh, run by run.sh in a shell of its own after this file:
# it starts what it needs, asserts, and ends by itself; the lab is taken away behind it in any case.

. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../../scripts/lib/common.sh"
. "$REPOSITORY/scripts/lib/lab.sh"
. "$REPOSITORY/scripts/lib/frr.sh"

# What cases use.
# shellcheck disable=SC2034
USER1=user1@example.net PASSWORD1=secret1
# shellcheck disable=SC2034
USER2=user2@example.net PASSWORD2=secret2
# shellcheck disable=SC2034
HOST=203.0.113.9 GATEWAY=100.64.0.1 ROUTER=198.51.100.1
# shellcheck disable=SC2034
HOST6=2001:db8:2::9 ROUTER6=2001:db8:1::1

note() { printf '    %s\n' "$*"; }
fail() {
    printf '    FAILED: %s\n' "$*"
    exit 1
}
# equal WHAT FOUND WANTED
equal() { [ "$2" = "$3" ] || fail "$1 is '$2', wanted '$3'"; }
# at_least WHAT FOUND LEAST, at_most WHAT FOUND MOST: whole numbers
at_least() { [ "$2" -ge "$3" ] || fail "$1 is $2, wanted at least $3"; }
at_most() { [ "$2" -le "$3" ] || fail "$1 is $2, wanted at most $3"; }
# holds FILE PATTERN WHAT
holds() { grep -qE -- "$2" "$1" || fail "$3: '$2' is not in $(basename "$1")"; }
lacks() { ! grep -qE -- "$2" "$1" || fail "$3: '$2' is in $(basename "$1")"; }
# within SECONDS WHAT COMMAND...: until the command succeeds
within() {
    local turns=$(($1 * 10)) what=$2 turn
    shift 2
    for ((turn = 0; turn < turns; turn++)); do
        "$@" && return 0
        sleep 0.1
    done
    fail "$what: not within $((turns / 10)) s"
}

# config [SED-EXPRESSION...]: configs/quickstart.yaml, or what CONFIG_FROM names, for this lab's namespaces, changed by
# the expressions, as $CONFIG.
config() {
    local expression arguments=()
    for expression; do arguments+=(-e "$expression"); done
    CONFIG=$LAB_FOLDER/bngd.yaml
    sed -e "s/netns: access\>/netns: $NS_ACCESS/" -e "s/netns: core\>/netns: $NS_CORE/" \
        -e "s|socket: .*|socket: $LAB_FOLDER/api/api.sock|" ${arguments[@]+"${arguments[@]}"} \
        "$REPOSITORY/configs/${CONFIG_FROM:-quickstart.yaml}" > "$CONFIG"
}
# bngd [SED-EXPRESSION...]: starts it with such a configuration.
bngd() {
    config "$@"
    lab_bngd "$E2E_BNGD" "$CONFIG" 30 || fail "bngd does not come up"
}
# bngd_ipv6 [SED-EXPRESSION...]: the same with IPv6 for subscribers: a /64 for the line, a /56 for delegation. Expressions
# for one of both families follow.
bngd_ipv6() {
    bngd "s|^node: .*|node: {name: bng1, state_folder: $LAB_FOLDER/state}|" \
        's|addresses: \[198.51.100.1/30\]|addresses: [198.51.100.1/30, "2001:db8:1::1/64"]|' \
        's|^  - {to: 0.0.0.0/0.*|&\n  - {to: "::/0", via: "2001:db8:1::2"}|' \
        's|^    aaa: local|    ipv6: {prefix_pool: slaac6, delegated_pool: pd6, dns: ["2001:db8:2::53"], domains: [example.net]}\n&|' \
        's|^  pool4: .*|&\n  slaac6: {prefix: "2001:db8:100::/40", length: 64}\n  pd6: {prefix: "2001:db8:8000::/34", length: 56}|' "$@"
    lab_ipv6 || fail "the lab has no IPv6"
    # The kernel asked for the next hop before the lab's router was there, and asks again every 5 s.
    within 15 "the next hop of ::/0" next_hop6_known
}
next_hop6_known() { bngctl --json show routes | jq -e '.routes[] | select(.prefix == "::/0") | .mac' > /dev/null; }
bngctl() { "${LAB_BNGCTL[@]}" "$@"; }
# sessions FILTER: of jq, over the sessions
sessions() { bngctl --json show sessions | jq -r "$1"; }
sessions_are() { [ "$(sessions '.sessions | length')" = "$1" ]; }
addresses_used() { bngctl --json show pools | jq '.pools[0].used'; }
# reason WORD: how many packets had this reason
reason() { bngctl --json show drops | jq -r ".drops[] | select(.reason == \"$1\") | .packets"; }

# connect NAME USER PASSWORD [pppd option...]: a subscriber that stays until hang_up NAME, with client.sh's variables;
# fails where it does not come up or loses a ping.
connect() {
    local name=$1
    HOLD=1 lab_client "$@"
    connected "$name"
}
# connected NAME: waits for the last client started.
connected() {
    if ! lab_client_wait "$1" "done" 60; then
        cat "$LAB_FOLDER/$1.log"
        fail "the client $1 did not come up"
    fi
    if [ "$(cat "$LAB_FOLDER/$1/done")" != 0 ]; then
        cat "$LAB_FOLDER/$1.log"
        fail "the client $1 lost something"
    fi
}
# hang_up NAME PROCESS: ends it and waits for its last words.
hang_up() {
    lab_client_release "$1"
    wait "$2" || { cat "$LAB_FOLDER/$1.log"; fail "the client $1 did not end well"; }
}
client_log() { echo "$LAB_FOLDER/$1.log"; }

# capture NAME NAMESPACE INTERFACE [tcpdump option...]: writes $LAB_FOLDER/NAME.pcap until capture_end NAME. In immediate
# mode: otherwise the kernel holds frames back for up to a second, and a capture's end throws those away.
declare -A CAPTURES=()
capture() {
    local name=$1 namespace=$2 interface=$3
    shift 3
    setsid ip netns exec "$namespace" tcpdump -Z root -n -i "$interface" --immediate-mode -s 4096 -U -B 32768 -w "$LAB_FOLDER/$name.pcap" "$@" \
        2> "$LAB_FOLDER/$name.tcpdump" < /dev/null &
    CAPTURES[$name]=$!
    LAB_STARTED+=("$!")
    within 10 "the capture $name" grep -q 'listening on' "$LAB_FOLDER/$name.tcpdump"
}
capture_end() {
    sleep 0.5
    lab_stop "${CAPTURES[$1]}"
    wait "${CAPTURES[$1]}" 2> /dev/null
    grep -q '^0 packets dropped by kernel' "$LAB_FOLDER/$1.tcpdump" || fail "the capture $1 has holes"
}
# frames NAME FILTER: how many frames of a capture pass a display filter of tshark
frames() { tshark -r "$LAB_FOLDER/$1.pcap" -Y "$2" -T fields -e frame.number 2> /dev/null | wc -l; }
# fields NAME FILTER FIELD...: these fields of such frames
fields() {
    local name=$1 filter=$2 field arguments=()
    shift 2
    for field; do arguments+=(-e "$field"); done
    tshark -r "$LAB_FOLDER/$name.pcap" -Y "$filter" -T fields "${arguments[@]}" 2> /dev/null
}
# ping_from NAMESPACE COUNT ADDRESS [option...]: every ping answered
ping_from() {
    local namespace=$1 count=$2 address=$3
    shift 3
    ip netns exec "$namespace" ping -n -c "$count" -i 0.2 -W 3 "$@" "$address" > "$LAB_FOLDER/ping" 2>&1
    grep -q ' 0% packet loss' "$LAB_FOLDER/ping" || { cat "$LAB_FOLDER/ping"; fail "pings to $address were lost"; }
}
# The CPU time that a process has had so far, in hundredths of a second.
cpu_time() {
    local words
    read -ra words <<< "$(sed 's/.*) //' "/proc/$1/stat")"
    echo $((words[11] + words[12]))
}
