# shellcheck shell=bash
# A home router: dhcpcd in the guest asks for a prefix over the session (RFC 8415), puts an address of it on its LAN
# side, and from there reaches a host behind the core port, which reaches it. The prefix goes with the session.
bngd_ipv6
capture wire "$NS_ACCESS" acc0
# shellcheck disable=SC2016
router='mkdir -p /run/dhcpcd /run/dhcpcd-db && mount -t tmpfs tmpfs /var/lib && mkdir -p /var/lib/dhcpcd
ip link add lan0 type dummy 2> /dev/null || { . '"$LAB_UML"'/guest/lib.sh; load dummy; ip link add lan0 type dummy; }
ip link set lan0 up
cat > /run/dhcpcd.conf << END
duid
noipv4
nohook resolv.conf, hostname, timesyncd.conf, ntp-common.conf
allowinterfaces $IF lan0
interface $IF
ipv6only
ipv6rs
iaid 1
ia_pd 1 lan0/0/64
END
dhcpcd -f /run/dhcpcd.conf -B -d -6 $IF > /run/dhcpcd.log 2>&1 &
for turn in {1..200}; do
    address=$(ip -6 -o address show dev lan0 scope global -tentative | sed -n "s/.*inet6 \([0-9a-f:]*\)\/64 .*/\1/p")
    [ -z "$address" ] || break
    sleep 0.1
done
echo "CLIENT: PD address=$address"
[ -n "$address" ] || { cat /run/dhcpcd.log; exit 1; }
ip -6 route replace '"$HOST6"' dev $IF
ping -6 -n -c 5 -i 0.2 -W 3 -I $address '"$HOST6"' > /run/ping6 2>&1; grep -q " 0% packet loss" /run/ping6 || { cat /run/ping6 /run/dhcpcd.log; exit 1; }'
MAC=02:55:00:00:00:01 IPV6=1 TARGETS=$HOST POST="$router" LIMIT=180 connect cli0 "$USER1" "$PASSWORD1" +ipv6
address=$(sed -n 's/.*PD address=\([0-9a-f:]*\).*/\1/p' "$(client_log cli0)")
prefix=$(sessions '.sessions[0].delegated_prefix')
note "$prefix, and the LAN side has $address"
case $prefix in 2001:db8:[89ab]*::/56) ;; *) fail "the delegated prefix is $prefix" ;; esac
equal "the LAN's address in the prefix" "${address%%::*}" "${prefix%%::*}"
equal "prefixes used" "$(bngctl --json show pools | jq '.pools[] | select(.name == "pd6") | .used')" 1
ping_from "$NS_INET" 5 "$address"
hang_up cli0 "$LAB_CLIENT"
within 6 "the session's end" sessions_are 0
equal "prefixes used afterwards" "$(bngctl --json show pools | jq '.pools[] | select(.name == "pd6") | .used')" 0
[ -s "$LAB_FOLDER/state/duid" ] || fail "the DUID was not kept"
capture_end wire
equal "the DHCPv6 messages" "$(fields wire dhcpv6 dhcpv6.msgtype | head -n 4 | tr '\n' ' ')" "1 2 3 7 "
equal "frames that tshark finds malformed" "$(frames wire '_ws.malformed')" 0
