#!/bin/bash
# From a fresh Debian 12 with cargo to a subscriber that pings a host through bngd: installs what is missing, builds,
# makes a lab of network namespaces, starts bngd on two net_tap ports, boots a User-Mode Linux guest with Debian's pppd
# as the subscriber, pings, shows the session table and the counters, and takes everything away again. Run as root.
#
#   scripts/quickstart.sh           exit code 0 only if every ping came back
#   scripts/quickstart.sh --stay    leaves the lab running and says how to look around
#   scripts/quickstart.sh --stop    ends what --stay left
#
# The host's own interfaces, addresses and routes are compared before and after.
set -u
# shellcheck source=lib/common.sh
. "$(dirname "$(readlink -f "$0")")/lib/common.sh"
# shellcheck source=lib/lab.sh
. "$REPOSITORY/scripts/lib/lab.sh"

CONFIG=$REPOSITORY/configs/quickstart.yaml
STATE=/run/bngd-quickstart
USER_NAME=user1@example.net
PASSWORD=secret1
# Several hosts make several flows, which the port spreads over the workers.
HOST=203.0.113.9
MORE_HOSTS=$(echo 203.0.113.{10..24})

mode=run
case ${1:-} in
    '') ;;
    --stay) mode=stay ;;
    --stop) mode=stop ;;
    *)
        sed -n '2,11p' "$0"
        exit 2
        ;;
esac

need_linux_root_tun

if [ "$mode" = stop ]; then
    [ -r "$STATE/lab" ] || die "nothing is left running by --stay."
    # What lab_begin and lab_bngd had noted.
    # shellcheck source=/dev/null
    . "$STATE/lab"
    # The numbers may have been given to other processes since.
    for index in "${!LAB_STARTED[@]}"; do
        tr '\0' ' ' < "/proc/${LAB_STARTED[index]}/cmdline" 2> /dev/null |
            grep -q -e bngd -e client.sh -e boot.sh || unset "LAB_STARTED[index]"
    done
    LAB_STARTED=(${LAB_STARTED[@]+"${LAB_STARTED[@]}"})
    lab_end
    rm -rf "$STATE"
    say "stopped"
    exit 0
fi
[ ! -e "$STATE/lab" ] || die "a lab is running already: scripts/quickstart.sh --stop ends it."

need_cargo
need_packages "${PACKAGES_BUILD[@]}" "${PACKAGES_LAB[@]}"

say "building bngd in release"
(cd "$REPOSITORY" && cargo build --release --bin bngd --bin bngctl) || die "the build failed."
PROGRAM=$(target_folder)/release/bngd

before=$(host_state)
finished=''
# Called by the trap.
# shellcheck disable=SC2317
finish() {
    local code=$?
    trap - EXIT INT TERM
    [ -z "$finished" ] || exit "$code"
    say "cleaning up"
    lab_end
    local after
    after=$(host_state)
    if [ "$before" != "$after" ]; then
        echo "the host's own interfaces, addresses or routes have changed:" >&2
        diff <(echo "$before") <(echo "$after") >&2
        code=1
    else
        echo "the host's own interfaces, addresses and routes are as they were"
    fi
    exit "$code"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say "making the lab: namespaces access, core, inet and bngd"
lab_begin ''

say "starting bngd in the namespace bngd: $PROGRAM --config configs/quickstart.yaml"
if ! "$PROGRAM" check "$CONFIG"; then die "the configuration is not accepted."; fi
lab_bngd "$PROGRAM" "$CONFIG" 30 || die "bngd did not come up."
"${LAB_BNGCTL[@]}" show version

say "dialling in: pppd in a User-Mode Linux guest, user $USER_NAME"
# shellcheck disable=SC2016  # the guest's shell expands IF
TARGETS=$HOST COUNT=10 ROUTES=203.0.113.0/24 DF_PING=1 HOLD=1 LIMIT=$([ $mode = stay ] && echo 0 || echo 120) \
    POST='for host in '"$MORE_HOSTS"'; do
        ping -n -c 3 -i 0.2 -W 3 $host > /run/ping 2>&1 && grep -q " 0% packet loss" /run/ping ||
            { echo "CLIENT: PING LOST $host"; exit 1; }
    done
    echo "CLIENT: PING OK '"$(echo "$MORE_HOSTS" | wc -w)"' more hosts, 3 times each"' \
    lab_client cli0 "$USER_NAME" "$PASSWORD" lcp-echo-interval 10 lcp-echo-failure 3
lab_client_wait cli0 "done" 100
grep '^CLIENT:' "$LAB_FOLDER/cli0.log"
[ -e "$LAB_FOLDER/cli0/done" ] || { cat "$LAB_FOLDER/cli0.log"; die "the subscriber did not come up."; }
result=$(cat "$LAB_FOLDER/cli0/done")

say "what the box says"
for what in sessions workers ports drops; do
    echo "--- bngctl show $what"
    "${LAB_BNGCTL[@]}" show $what || result=1
done

if [ "$mode" = stay ]; then
    mkdir -p "$STATE"
    declare -p LAB_STARTED LAB_NAMESPACES LAB_FOLDER > "$STATE/lab"
    finished=yes
    say "the lab stays, with the session up. To look around:"
    cat << END
  ${LAB_BNGCTL[0]} --socket $LAB_SOCKET show sessions      (workers, drops, ports, pools, routes; --json)
  ip netns exec $NS_BNGD curl -s http://127.0.0.1:9464/metrics
  ip netns exec $NS_BNGD ip route            the routes that bngd has learned, by its kernel twin
  ip netns exec $NS_ACCESS tcpdump -eni acc0   the wire of the access port
  ip netns exec $NS_INET ping 100.64.0.2       the subscriber, from the Internet (its address: show sessions)
  tail -f $LAB_FOLDER/bngd.log
To end it: scripts/quickstart.sh --stop
END
    exit "$result"
fi

say "hanging up"
lab_client_release cli0
wait "$LAB_CLIENT"
ended=$?
grep '^CLIENT: P' "$LAB_FOLDER/cli0.log" | tail -n 1
[ "$ended" = 0 ] || result=1
if [ "$result" = 0 ]; then say "every ping came back"; else say "something was lost: see above"; fi
exit "$result"
