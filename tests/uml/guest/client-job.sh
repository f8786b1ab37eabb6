# shellcheck shell=bash
# Runs in the guest after lib.sh: a PPPoE client on vec0. The variables C_... are client.sh's; the arguments are further
# options of pppd.
load pppoe
device=vec0
ip link set vec0 up || { echo "CLIENT: FAIL no vec0"; exit 3; }
if [ -n "$C_VLAN" ]; then
    load 8021q
    read -ra tags <<< "${C_VLAN//./ }"
    for number in "${!tags[@]}"; do
        protocol=802.1Q
        [ $((number + 1)) = ${#tags[@]} ] || protocol=$C_VPROTO
        if ! ip link add link "$device" name "tag$number" type vlan proto "$protocol" id "${tags[number]}" ||
            ! ip link set "tag$number" up; then
            echo "CLIENT: FAIL no VLAN ${tags[number]}"
            exit 3
        fi
        device=tag$number
    done
fi
if [ -n "$C_PRIORITY" ]; then
    # The way home routers do it: a priority tag on what is sent, and whatever comes is taken.
    load sch_ingress cls_matchall act_vlan
    if ! tc qdisc add dev vec0 clsact ||
        ! tc filter add dev vec0 egress matchall action vlan push id 0 protocol 802.1Q priority "$C_PRIORITY"; then
        echo "CLIENT: FAIL no priority tag"
        exit 3
    fi
fi
if [ "$(cat /sys/class/net/"$device"/mtu)" != "$C_MTU" ] && ! ip link set "$device" mtu "$C_MTU"; then
    echo "CLIENT: FAIL no MTU of $C_MTU"
    exit 3
fi
: > /etc/ppp/options
cat > /etc/ppp/ip-up << 'END'
#!/bin/bash
echo "IF=$1 LOCAL=$4 PEER=$5 DNS1=$DNS1 DNS2=$DNS2" > /run/ip-up.part
mv /run/ip-up.part /run/ip-up
END
chmod 755 /etc/ppp/ip-up
if [ -n "$C_IPV6" ]; then
    load ipv6
    cat > /etc/ppp/ipv6-up << 'END'
#!/bin/bash
echo "IF=$1 LOCAL6=$4 PEER6=$5" > /run/ipv6-up.part
mv /run/ipv6-up.part /run/ipv6-up
END
    chmod 755 /etc/ppp/ipv6-up
fi
# True when everything is up that is waited for.
is_up() {
    [ "$C_IPV6" = only ] || [ -e /run/ip-up ] || return 1
    [ -z "$C_IPV6" ] || [ -e /run/ipv6-up ]
}
plugin=$(find /usr/lib/pppd -name pppoe.so -o -name rp-pppoe.so | sort | head -n 1)
now_ms
started=$NOW_MS
pppd plugin "$plugin" "nic-$device" user "$C_USER" password "$C_PASSWORD" noauth noipdefault nodetach debug debug \
    nodefaultroute usepeerdns maxfail 1 "$@" > /run/pppd.log 2>&1 &
pppd=$!

finish() { # CODE: ends pppd, shows its log, ends the job
    local code=$1 alive=1 ended sent received
    kill -0 $pppd 2> /dev/null || alive=0
    kill -TERM $pppd 2> /dev/null
    wait $pppd
    ended=$?
    echo "----- pppd"
    cat /run/pppd.log
    echo "-----"
    sent=$(grep -c 'sent \[LCP EchoReq' /run/pppd.log)
    received=$(grep -c 'rcvd \[LCP EchoRep' /run/pppd.log)
    echo "CLIENT: pppd alive=$alive exit=$ended echo-requests=$sent echo-replies=$received"
    [ $alive = 1 ] || code=1
    [ "$code" = 0 ] && echo "CLIENT: PASS" || echo "CLIENT: FAIL"
    exit "$code"
}

for ((turn = 0; turn < C_WAIT * 20; turn++)); do
    is_up && break
    kill -0 $pppd 2> /dev/null || break
    nap 0.05
done
now_ms
took=$((NOW_MS - started))
is_up || { echo "CLIENT: FAIL no IPCP or IPV6CP after $took ms"; finish 1; }
LOCAL='' PEER='' DNS1='' DNS2='' LOCAL6='' PEER6=''
# shellcheck disable=SC1091
[ ! -e /run/ip-up ] || . /run/ip-up
# shellcheck disable=SC1091
[ ! -e /run/ipv6-up ] || . /run/ipv6-up
mtu=$(cat "/sys/class/net/$IF/mtu")
echo "CLIENT: UP in $took ms if=$IF local=$LOCAL peer=$PEER dns=$DNS1,$DNS2 mtu=$mtu"
[ -z "$C_IPV6" ] || echo "CLIENT: IPV6CP local=$LOCAL6 peer=$PEER6"
cat /run/ip-up /run/ipv6-up > /run/out/up 2> /dev/null

# Replaced routes are quick; a ping takes a process each.
for network in $C_ROUTES; do ip route replace "$network" dev "$IF"; done
code=0
all_answered() { # WHAT, then the ping's arguments
    local what=$1
    shift
    if ping -n -W 3 "$@" > /run/ping 2>&1 && grep -q ' 0% packet loss' /run/ping; then
        echo "CLIENT: PING OK $what $(grep -h 'packets transmitted' /run/ping)"
    else
        echo "CLIENT: PING LOST $what"
        cat /run/ping
        code=1
    fi
}
for target in ${C_TARGETS:-$PEER}; do
    [ "$target" = "$PEER" ] || ip route replace "$target" dev "$IF"
    all_answered "$target" -c "$C_COUNT" -i 0.2 "$target"
    [ -z "$C_DF_PING" ] || all_answered "$target size=$mtu DF" -M "do" -s $((mtu - 28)) -c 2 "$target"
done
if [ -n "$C_POST" ]; then
    export IF LOCAL PEER LOCAL6 PEER6
    bash -c "$C_POST" || { echo "CLIENT: POST FAILED"; code=1; }
fi
echo "$code" > /run/out/done
if [ -n "$C_HOLD" ]; then
    until [ -e /run/out/stop ]; do
        kill -0 $pppd 2> /dev/null || { echo "CLIENT: pppd has ended by itself"; break; }
        nap 0.2
    done
fi
finish $code
