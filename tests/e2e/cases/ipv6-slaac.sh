# shellcheck shell=bash
# IPv6 to the home: pppd with +ipv6, the kernel makes itself an address from the router advertisement (RFC 4862) and
# reaches a host behind the core port; beside IPv4, and without it.
bngd_ipv6
capture wire "$NS_ACCESS" acc0
# The kernel of the guest takes the prefix and the default route by itself.
# shellcheck disable=SC2016
slaac='for turn in {1..100}; do
    address=$(ip -6 -o address show dev $IF scope global -tentative | sed -n "s/.*inet6 \([0-9a-f:]*\)\/64 .*/\1/p")
    [ -z "$address" ] || break
    sleep 0.1
done
echo "CLIENT: SLAAC address=$address"
ip -6 route show default | sed "s/^/CLIENT: ROUTE /"
cat /proc/sys/net/ipv6/conf/$IF/mtu | sed "s/^/CLIENT: IPV6 MTU /"
ping -6 -n -c 5 -i 0.2 -W 3 '"$HOST6"' > /run/ping6 2>&1; grep -q " 0% packet loss" /run/ping6 || { cat /run/ping6; exit 1; }
ping -6 -n -c 3 -i 0.2 -W 3 -s 1400 '"$HOST6"' > /run/ping6 2>&1; grep -q " 0% packet loss" /run/ping6 || { cat /run/ping6; exit 1; }
ping -6 -n -c 3 -i 0.2 -W 3 $PEER6%$IF > /run/ping6 2>&1; grep -q " 0% packet loss" /run/ping6 || { cat /run/ping6; exit 1; }'
MAC=02:55:00:00:00:01 IPV6=1 TARGETS=$HOST POST=$slaac connect cli0 "$USER1" "$PASSWORD1" +ipv6
address=$(sed -n 's/.*SLAAC address=\([0-9a-f:]*\).*/\1/p' "$(client_log cli0)")
prefix=$(sessions '.sessions[0].ipv6_prefix')
note "$prefix, and the client took $address"
[ "${address%:*:*:*:*}::/64" = "$prefix" ] || fail "$address is not of $prefix"
holds "$(client_log cli0)" 'ROUTE default via fe80::.* proto ra' "the client's routes"
holds "$(client_log cli0)" 'IPV6 MTU 1492' "the client's link MTU"
ping_from "$NS_INET" 5 "$address"
bngctl show session "$(sessions '.sessions[0].id')" > "$LAB_FOLDER/shown"
holds "$LAB_FOLDER/shown" "${prefix%%/*}" "bngctl show session"
equal "prefixes used" "$(bngctl --json show pools | jq '.pools[] | select(.name == "slaac6") | .used')" 1
# A neighbour's address as the source: nobody may speak for somebody else.
before=$(reason ipv6_spoofed)
hang_up cli0 "$LAB_CLIENT"
within 6 "the session's end" sessions_are 0
equal "prefixes used afterwards" "$(bngctl --json show pools | jq '.pools[] | select(.name == "slaac6") | .used')" 0
# Without IPv4 the session is whole, too: up, listed, pinging.
MAC=02:55:00:00:00:01 IPV6=only TARGETS='' POST=$slaac connect cli0 "$USER1" "$PASSWORD1" noip +ipv6
equal "the state" "$(sessions '.sessions[0].state')" up
equal "the same prefix for the same user" "$(sessions '.sessions[0].ipv6_prefix')" "$prefix"
hang_up cli0 "$LAB_CLIENT"
capture_end wire
at_least "advertisements" "$(frames wire 'icmpv6.type == 134 && eth.dst == 02:55:00:00:00:01')" 2
equal "their traffic class" "$(fields wire 'icmpv6.type == 134' ipv6.tclass.dscp | sort -u)" 48
equal "advertised prefixes" "$(fields wire 'icmpv6.type == 134' icmpv6.opt.prefix | sort -u)" "${prefix%/64}"
equal "advertised name servers" "$(fields wire 'icmpv6.type == 134' icmpv6.opt.rdnss | sort -u)" "2001:db8:2::53"
equal "packets dropped as spoofed" "$(reason ipv6_spoofed)" "$before"
equal "frames that tshark finds malformed" "$(frames wire '_ws.malformed')" 0
