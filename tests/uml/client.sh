#!/bin/bash
# A real PPPoE client, Debian's pppd with the kernel's PPPoE, in a User-Mode Linux guest on the tap device TAP of the
# current network namespace. Exit code 0: IPCP came up, every ping of every target was answered, and pppd lived until
# it was told to end.
#
#   client.sh TAP USER PASSWORD [pppd option...]
#
# Environment:
#   TARGETS='a b'    whom to ping (default: the PPP peer), COUNT=5 times each
#   ROUTES='a/b c'   networks to reach by the session, beside the targets
#   DF_PING=1        ping with a full-sized packet and DF as well
#   VLAN=100         a tag; VLAN=100.200: outer and inner; VPROTO=802.1Q or 802.1ad: the outer one's protocol
#   PRIORITY=N       a priority tag (VID 0) with this PCP on everything that is sent
#   MTU=1500         of the guest's Ethernet interface; 1508 makes pppd ask for PPP-Max-Payload 1500 (RFC 4638)
#   IPV6=1           IPv6 as well: the guest waits for IPV6CP too, and takes router advertisements on the session;
#                    IPV6=only: no IPv4 (options noip +ipv6 are the caller's)
#   MAC=02:...       the guest's MAC address (default: random)
#   WAIT=20          seconds to wait for IPCP
#   POST='command'   run in the guest afterwards, with IF, LOCAL and PEER set
#   OUT=FOLDER       shared with the guest: it writes `up` when the session is up and `done` after the pings; with
#                    HOLD=1 the session then stays until there is a file `stop` in it, or pppd ends
#   LIMIT=120        seconds for all of it
set -u
[ $# -ge 3 ] || { sed -n '2,25p' "$0" >&2; exit 2; }
here=$(dirname "$(readlink -f "$0")")
tap=$1 user=$2 password=$3
shift 3
random_mac() { printf '02:55:%02x:%02x:%02x:%02x' $((RANDOM % 256)) $((RANDOM % 256)) $((RANDOM % 256)) $((RANDOM % 256)); }
# The guest's driver takes its MTU from here and allows no more than 1500 to be set later. Under tags there is room.
mtu=1600
if [ -z "${VLAN:-}" ] && [ "${MTU:-1500}" -gt 1500 ]; then mtu=$MTU; fi
exec "$here/boot.sh" -m 128M -t "${LIMIT:-120}" ${OUT:+-o "$OUT"} \
    -n "transport=tap,ifname=$tap,depth=128,gro=0,mtu=$mtu,mac=${MAC:-$(random_mac)}" \
    -e C_USER="$user" -e C_PASSWORD="$password" -e C_TARGETS="${TARGETS:-}" -e C_COUNT="${COUNT:-5}" \
    -e C_ROUTES="${ROUTES:-}" -e C_DF_PING="${DF_PING:-}" -e C_MTU="${MTU:-1500}" -e C_VLAN="${VLAN:-}" \
    -e C_VPROTO="${VPROTO:-802.1Q}" -e C_PRIORITY="${PRIORITY:-}" -e C_WAIT="${WAIT:-20}" -e C_HOLD="${HOLD:-}" \
    -e C_POST="${POST:-}" -e C_IPV6="${IPV6:-}" \
    "$here/guest/client-job.sh" "$@"
