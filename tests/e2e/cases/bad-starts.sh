# shellcheck shell=bash
# Whatever keeps bngd from starting is one clear sentence and an exit code that is not 0, and nothing is left behind.
# Field cases: P71
refused() { # WHAT PATTERN [SED-EXPRESSION...]
    local what=$1 pattern=$2 code
    shift 2
    config "$@"
    timeout 30 ip netns exec "$NS_BNGD" "$E2E_BNGD" --config "$CONFIG" > "$LAB_FOLDER/refused" 2>&1
    code=$?
    if [ $code = 0 ] || [ $code = 124 ]; then fail "$what: bngd ended with code $code"; fi
    grep -qiE -- "$pattern" "$LAB_FOLDER/refused" || { cat "$LAB_FOLDER/refused"; fail "$what: '$pattern' is not said"; }
    ! grep -q 'panicked' "$LAB_FOLDER/refused" || fail "$what: a panic"
    note "$what: $(grep -iE -m 1 -- "$pattern" "$LAB_FOLDER/refused")"
    for place in "$NS_ACCESS acc0" "$NS_CORE cor0" "$NS_BNGD uplink"; do
        # shellcheck disable=SC2086
        set -- $place
        ! ip -n "$1" link show "$2" > /dev/null 2>&1 || fail "$what: $2 is still there"
    done
}
refused "more than 4 queues on net_tap" 'queues' 's/mtu: 1504, queues: 2/mtu: 1504, queues: 5/'
refused "unequal queue counts" 'queues' 's/mtu: 1504, queues: 2/mtu: 1504, queues: {rx: 2, tx: 3}/'
refused "a driver that does not exist" 'net_none0' 's/net_tap0,iface=acc0/net_none0/;s/netns: [^,]*access, //;s/mtu: 1504, //'
refused "a PCI device that does not exist" '0000:ff:1f.7' 's/"net_tap0,iface=acc0"/"0000:ff:1f.7"/;s/netns: [^,]*access, //;s/mtu: 1504, //'
refused "a namespace that does not exist" 'bng-nowhere' 's/netns: [^,]*core/netns: bng-nowhere/'
refused "huge pages that are not there" 'huge' 's/hugepages: auto/hugepages: required/;s/memory_mb: 512/memory_mb: 1000000/'
refused "an address of telemetry that is not the machine's" 'bngd: .*198\.51\.100\.77' 's/listen: 127.0.0.1:9464/listen: 198.51.100.77:9464/'
refused "a port that the configuration does not have" 'bngd\.yaml:[0-9]+:.*core9|core9' 's/{port: core0,/{port: core9,/'
refused "two errors at once, the first" 'uplinkk|unknown' 's/^routes:/routess:/;s/pool: pool4/pool: pool9/'
holds "$LAB_FOLDER/refused" 'pool9' "the second error"
mkdir "$LAB_FOLDER/folder.sock"
refused "a folder in the place of the socket" 'bngd: .*folder\.sock' "s|socket: .*|socket: $LAB_FOLDER/folder.sock|"
# As another user.
config
chmod 755 "$LAB_FOLDER"
program=$LAB_FOLDER/bngd-for-nobody
cp "$E2E_BNGD" "$program"
if setpriv --reuid 65534 --regid 65534 --clear-groups timeout 30 "$program" --config "$CONFIG" > "$LAB_FOLDER/refused" 2>&1; then
    fail "bngd runs as nobody"
fi
holds "$LAB_FOLDER/refused" 'root' "what it says as nobody"
# A second instance is told so, and the first lives on.
bngd
if timeout 30 ip netns exec "$NS_BNGD" "$E2E_BNGD" --config "$CONFIG" > "$LAB_FOLDER/refused" 2>&1; then
    fail "a second instance runs"
fi
holds "$LAB_FOLDER/refused" 'another bngd' "what the second instance says"
ping_from "$NS_INET" 3 "$ROUTER"
