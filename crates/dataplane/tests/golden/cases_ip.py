"""IPv4 and IPv6: sanity, addresses, hops, routes, policers."""

from scapy.all import ARP, DHCP6_Advertise, DHCP6_Solicit, ICMPv6EchoRequest, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6ND_RA
from scapy.all import ICMPv6ND_Redirect, ICMPv6ND_RS, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop
from scapy.all import IPv6ExtHdrRouting, IPOption_NOP, IPOption_Router_Alert, IPOption_RR, PadN

from box import *


def changed(packet, **header):
    """The packet with header fields that are wrong, its checksum right nevertheless."""
    it = packet.copy()
    for name, value in header.items():
        setattr(it, name, value)
    return raw(it)


# What is wrong with a header, both ways.
good = udp4(ALICE, SERVER)
back = udp4(SERVER, ALICE)


def both(case, reason, make):
    case.drop_up("alice", make(good), reason)
    # The router's link has no PPP protocol that says which version it is.
    case.drop("core0", pad(ether(CORE_MAC, ROUTER, [], 0x0800, make(back)), 0xAA), reason)


case = Case("ipv4_version", "P24: IPv4 with another version in it, 6 among them.")
for version in (0, 3, 5, 6, 15):
    case.drop_up("alice", changed(good, version=version), "ipv4_version", protocol=IPV4)
    case.drop("core0", ether(CORE_MAC, ROUTER, [], 0x0800, changed(back, version=version)), "ipv4_version")

case = Case("ipv4_header_length", "P24: header lengths below five words, and beyond the packet.")
for ihl in range(5):
    both(case, "ipv4_header_length", lambda packet: changed(packet, ihl=ihl))
case.drop("access0", case.frame_up("alice", changed(udp4(ALICE, SERVER, b""), ihl=15)), "ipv4_header_length", "alice")

case = Case("ipv4_truncated", "P24: a packet that ends within its IPv4 header, in a frame that does too or is padded.")
for octets in (1, 10, 19):
    case.drop_up("alice", raw(good)[:octets], "ipv4_truncated", protocol=IPV4)
    case.drop("core0", ether(CORE_MAC, ROUTER, [], 0x0800, raw(back)[:octets]), "ipv4_truncated")
case.drop_up("alice", b"", "ipv4_truncated", protocol=IPV4)

case = Case("ipv4_length", "P24: a total length beyond what came, and below the header's.")
for length in (len(raw(good)) + 1, 0xFFFF, 19, 0):
    case.drop_up("alice", changed(good, len=length), "ipv4_length")
    case.drop("core0", ether(CORE_MAC, ROUTER, [], 0x0800, changed(back, len=length)), "ipv4_length")
case.drop_up("alice", changed(IP(src=ALICE, dst=SERVER, options=[IPOption_NOP()] * 4) / UDP(), len=23), "ipv4_length")

case = Case("ipv4_checksum", "P24: a wrong header checksum is dropped, and its sender not told.")
for wrong in (0, 0xFFFF, raw(good)[10] << 8 ^ 0x4000):
    both(case, "ipv4_checksum", lambda packet: changed(packet, chksum=wrong))
case.drop_up("alice", changed(udp4(ALICE, SERVER, ttl=1), chksum=1), "ipv4_checksum")
case.drop_up("alice", changed(IP(src=ALICE, dst=SERVER, options=[IPOption_Router_Alert()]) / UDP(), chksum=1), "ipv4_checksum")

case = Case("p24-a-good-packet-behind-bad-ones", "P24: in one burst, what is bad does not touch what is good.")
case.burst = True
for header in ({"version": 5}, {"ihl": 3}, {"len": 9}, {"chksum": 7}):
    reason = {"version": "version", "ihl": "header_length", "len": "length", "chksum": "checksum"}[next(iter(header))]
    case.drop_up("alice", changed(good, **header), "ipv4_" + reason, protocol=IPV4)
    case.up("alice", good)

good6 = udp6(ALICE6, SERVER6)
back6 = udp6(SERVER6, ALICE6)

case = Case("ipv6_version", "P24: IPv6 with another version in it, 4 among them.")
for version in (0, 4, 5, 7, 15):
    case.drop_up("alice", changed(good6, version=version), "ipv6_version", protocol=IPV6)
    case.drop("core0", ether(CORE_MAC, ROUTER, [], 0x86DD, changed(back6, version=version)), "ipv6_version")

case = Case("ipv6_truncated", "P24: a packet that ends within its IPv6 header.")
for octets in (1, 20, 39):
    case.drop_up("alice", raw(good6)[:octets], "ipv6_truncated", protocol=IPV6)
    case.drop("core0", ether(CORE_MAC, ROUTER, [], 0x86DD, raw(back6)[:octets]), "ipv6_truncated")

case = Case("ipv6_length", "P24: a payload length beyond what came.")
for length in (len(raw(good6)) - 39, 0xFFFF):
    case.drop_up("alice", changed(good6, plen=length), "ipv6_length")
    case.drop("core0", ether(CORE_MAC, ROUTER, [], 0x86DD, changed(back6, plen=length)), "ipv6_length")

# Addresses.
MARTIANS = ("0.0.0.0", "0.1.2.3", "127.0.0.1", "169.254.1.1", "240.0.0.1", "255.255.255.254")

case = Case("ipv4_source", "Sources that no host sends from, both ways.")
for source in MARTIANS + ("224.0.0.1", "239.255.255.255", "255.255.255.255"):
    case.drop_up("alice", udp4(source, SERVER), "ipv4_source")
    case.drop_down(udp4(source, ALICE), "ipv4_source")

case = Case("ipv4_source-unchecked", "With the check off a foreign source passes, but no martian.",
            [alice(source_check=False), bob()])
case.up("alice", udp4("198.51.100.7", SERVER))
case.up("alice", udp4(BOB, SERVER))
case.up("alice", udp6("2001:db8:eeee::1", SERVER6))
for source in MARTIANS:
    case.drop_up("alice", udp4(source, SERVER), "ipv4_source")
case.drop_up("alice", udp6("::1", SERVER6), "ipv6_source")

case = Case("ipv4_destination", "Destinations that are not forwarded, both ways.")
for to in MARTIANS:
    case.drop_up("alice", udp4(ALICE, to), "ipv4_destination")
    case.drop_down(udp4(SERVER, to), "ipv4_destination")

case = Case("ipv4_broadcast", "The limited broadcast, and what came to a group on the link.")
case.drop_up("alice", udp4(ALICE, "255.255.255.255"), "ipv4_broadcast")
case.drop_down(udp4(SERVER, "255.255.255.255"), "ipv4_broadcast", dst=BROADCAST)
case.drop_down(udp4(SERVER, ALICE), "ipv4_broadcast", dst=BROADCAST)
case.drop_down(udp4(SERVER, ALICE, ttl=1), "ipv4_broadcast", dst="01:00:5e:00:00:01")

case = Case("ipv4_multicast", "Multicast is not forwarded: none of a subscriber's, and from the core only what is the link's own.")
for to in ("224.0.0.5", "224.0.1.1", "232.1.2.3", "239.255.255.250"):
    case.drop_up("alice", udp4(ALICE, to), "ipv4_multicast")
for to in ("224.0.1.1", "239.1.2.3"):
    case.drop_down(udp4(SERVER, to), "ipv4_multicast", dst="01:00:5e:01:02:03")

case = Case("ipv4_spoofed", "Another's address, the gateway's, a stranger's: not this session's to send from.")
for source in (BOB, GATEWAY, "198.51.100.7", SERVER):
    case.drop_up("alice", udp4(source, SERVER), "ipv4_spoofed")

case = Case("ipv6_source", "IPv6 sources that are not forwarded.")
for source in ("::", "::1", "fe80::1", "::ffff:192.0.2.1", "::192.0.2.1", "ff02::1"):
    case.drop_up("alice", udp6(source, SERVER6), "ipv6_source")
    case.drop_down(udp6(source, ALICE6), "ipv6_source")
case.drop_up("alice", udp6("ff02::1", "ff02::2"), "ipv6_source")

case = Case("ipv6_destination", "IPv6 destinations that are not forwarded.")
for to in ("::", "::1", "::ffff:192.0.2.1", "::192.0.2.1"):
    case.drop_up("alice", udp6(ALICE6, to), "ipv6_destination")
    case.drop_down(udp6(SERVER6, to), "ipv6_destination")

case = Case("ipv6_multicast", "IPv6 multicast wider than the link is not forwarded; nor is unicast in a group frame.")
for to in ("ff05::2", "ff0e::1"):
    case.drop_up("alice", udp6(ALICE6, to), "ipv6_multicast")
    case.drop_down(udp6(SERVER6, to), "ipv6_multicast", dst="33:33:00:00:00:01")
case.drop_down(udp6(SERVER6, ALICE6), "ipv6_multicast", dst="33:33:00:00:00:01")

case = Case("ipv6_spoofed", "Outside the session's prefixes: another's /64, next to the delegated prefix, a stranger's.")
for source in (BOB6, "2001:db8:8000:200::1", "2001:db8:8000:ff::1", SERVER6):
    case.drop_up("alice", udp6(source, SERVER6), "ipv6_spoofed")

case = Case("ipv6-own-prefixes", "Everything in the /64 and in the delegated /56 is the session's, both ways.")
for address in ("2001:db8:100:1::1", "2001:db8:100:1:ffff:ffff:ffff:ffff", "2001:db8:8000:100::1", ALICE6_DELEGATED):
    case.up("alice", udp6(address, SERVER6))
    case.down("alice", udp6(SERVER6, address))

case = Case("ipv6-host-address", "A /128 of its own, by a route to the session.",
            [session("host", 1, CLIENT, prefix="2001:db8:7777::5/128"), bob()])
case.route("2001:db8:7777::5/128", "session host")
case.up("host", udp6("2001:db8:7777::5", SERVER6))
case.down("host", udp6(SERVER6, "2001:db8:7777::5"))
case.drop_up("host", udp6("2001:db8:7777::6", SERVER6), "ipv6_spoofed")

case = Case("p53-delegated-prefix-without-an-entry", "P53: a second delegated prefix is a lawful source by its route alone.")
case.route("2001:db8:9000:100::/56", "session alice")
case.up("alice", udp6("2001:db8:9000:1ff::1", SERVER6))
case.down("alice", udp6(SERVER6, "2001:db8:9000:1ff::1"))
case.drop_up("bob", udp6("2001:db8:9000:1ff::1", SERVER6), "ipv6_spoofed")

case = Case("framed-route-ipv4", "A framed route makes its addresses lawful sources and leads back; nobody else gains by it.")
case.route("198.51.100.64/26", "session alice")
case.up("alice", udp4("198.51.100.77", SERVER))
case.down("alice", udp4(SERVER, "198.51.100.77"))
case.drop_up("bob", udp4("198.51.100.77", SERVER), "ipv4_spoofed")

# Time to live.
for direction in ("up", "down"):
    case = Case(f"p25-ttl-{direction}", f"P25, {direction}: the time to live falls by one, and the checksum is what a new one would be.")
    for ttl in (255, 64, 2):
        for wanted in (0xFF00, 0x00FF, 0xFFFE, 0x0001, 0x0000, 0x1234, 0xFEFF):
            src, dst = (ALICE, SERVER) if direction == "up" else (SERVER, ALICE)
            # The identification that makes the checksum the wanted one.
            blank = raw(udp4(src, dst, ttl=ttl, id=0))[:20]
            total = sum(int.from_bytes(blank[n:n + 2], "big") for n in range(0, 20, 2) if n != 10) + wanted
            while total > 0xFFFF:
                total = (total & 0xFFFF) + (total >> 16)
            packet = udp4(src, dst, ttl=ttl, id=0xFFFF - total)
            if wanted:
                assert raw(packet)[10:12] == wanted.to_bytes(2, "big"), (ttl, wanted)
            getattr(case, direction)("alice", packet)

case = Case("p25-hop-limit", "P25: the hop limit falls by one, both ways.")
for hlim in (255, 64, 2):
    case.up("alice", udp6(ALICE6, SERVER6, hlim=hlim))
    case.down("alice", udp6(SERVER6, ALICE6, hlim=hlim))

# What routers leave alone.
case = Case("p72-udp-checksum-zero", "P72: a UDP checksum of 0 stays 0 on IPv4, both ways.")
up, down = udp4(ALICE, SERVER), udp4(SERVER, ALICE)
up[UDP].chksum = down[UDP].chksum = 0
case.up("alice", up)
case.down("alice", down)

case = Case("p72-ip-options", "P72: IP options pass, router alert and record route too, and the checksum covers them.")
for options in ([IPOption_Router_Alert()], [IPOption_NOP()] * 4, [IPOption_RR(length=11, routers=["0.0.0.0"] * 2), IPOption_NOP()]):
    case.up("alice", IP(src=ALICE, dst=SERVER, ttl=64, options=options) / UDP(sport=40000, dport=40001) / Raw(b"data"))
    case.down("alice", IP(src=SERVER, dst=ALICE, ttl=64, options=options) / UDP(sport=40000, dport=40001) / Raw(b"data"))

case = Case("p72-other-protocols", "Protocols without ports pass: GRE, ESP, OSPF's number, the last one.")
for number in (47, 50, 253, 255):
    case.up("alice", IP(src=ALICE, dst=SERVER, ttl=64, proto=number) / Raw(bytes(40)))
    case.down("alice", IP(src=SERVER, dst=ALICE, ttl=64, proto=number) / Raw(bytes(40)))

case = Case("dscp-and-ecn-pass", "DSCP and ECN, traffic class and flow label of a packet are its own.")
for tos in (0x01, 0xB8, 0xC3, 0xFF):
    case.up("alice", udp4(ALICE, SERVER, tos=tos))
    case.down("alice", udp4(SERVER, ALICE, tos=tos))
    case.up("alice", udp6(ALICE6, SERVER6, tc=tos, fl=0x12345))
    case.down("alice", udp6(SERVER6, ALICE6, tc=tos, fl=0xFFFFF))


def extension(kind):
    option = PadN(optdata=b"\0\0\0\0")
    return {
        "hop-by-hop": IPv6ExtHdrHopByHop(options=[option]),
        "destination": IPv6ExtHdrDestOpt(options=[option]),
        "routing": IPv6ExtHdrRouting(type=2, segleft=1, addresses=["2001:db8:5::5"]),
        "fragment": IPv6ExtHdrFragment(id=0x01020304, m=1, offset=0),
    }[kind]


for kind in ("hop-by-hop", "destination", "routing", "fragment"):
    case = Case(f"ipv6-extension-{kind}", f"An IPv6 extension header ({kind}) passes both ways, and is not trusted.")
    tail = UDP(sport=40000, dport=40001) / Raw(b"behind an extension")
    if kind == "fragment":
        tail = Raw(bytes(range(48)))
        case.up("alice", IPv6(src=ALICE6, dst=SERVER6) / IPv6ExtHdrFragment(nh=17, id=1, offset=6) / tail)
    head = extension(kind)
    if kind == "fragment":
        head.nh = 17
    case.up("alice", IPv6(src=ALICE6, dst=SERVER6, hlim=64) / head / tail)
    case.down("alice", IPv6(src=SERVER6, dst=ALICE6, hlim=64) / head / tail)
    case.drop_up("alice", IPv6(src=BOB6, dst=SERVER6, hlim=64) / head / tail, "ipv6_spoofed")

case = Case("ipv6-extension-chain", "Several extension headers in a row pass.")
chain = IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\0" * 4)]) / IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 12)])
case.up("alice", IPv6(src=ALICE6, dst=SERVER6, hlim=64) / chain / UDP(sport=40000, dport=40001) / Raw(b"data"))

case = Case("ipv6-no-next-header", "IPv6 without a payload passes.")
case.up("alice", IPv6(src=ALICE6, dst=SERVER6, hlim=64, nh=59))
case.down("alice", IPv6(src=SERVER6, dst=ALICE6, hlim=64, nh=59))

# P70: fragments pass as they are.
for direction in ("up", "down"):
    case = Case(f"p70-fragments-{direction}", f"P70, {direction}: fragments pass in any order, unread; a last one of four octets too.")
    src, dst = (ALICE, SERVER) if direction == "up" else (SERVER, ALICE)
    pieces = [
        IP(src=src, dst=dst, ttl=64, id=9, proto=17, flags="MF", frag=0) / Raw(raw(UDP(sport=1, dport=2, len=2948, chksum=0)) + bytes(1464)),
        IP(src=src, dst=dst, ttl=64, id=9, proto=17, flags="MF", frag=184) / Raw(b"\x02" * 1472),
        IP(src=src, dst=dst, ttl=64, id=9, proto=17, frag=368) / Raw(b"last"),
    ]
    for piece in pieces + pieces[::-1]:
        getattr(case, direction)("alice", piece)
    getattr(case, direction)("alice", udp4(src, dst, flags="DF"))

# Control on a subscriber's link.
case = Case("ipv6_control", "Neighbour and router discovery and DHCPv6 of a client go to control.")
solicit = IPv6(src="fe80::1", dst="ff02::1:2", hlim=1) / UDP(sport=546, dport=547) / DHCP6_Solicit(trid=1)
for packet in (
    solicit,
    IPv6(src="fe80::1", dst="ff02::2", hlim=255) / ICMPv6ND_RS(),
    IPv6(src="::", dst="ff02::1:ff00:1", hlim=255) / ICMPv6ND_NS(tgt="fe80::1"),
    IPv6(src="fe80::1", dst="fe80::fe", hlim=255) / ICMPv6ND_NA(tgt="fe80::1"),
    IPv6(src="fe80::1", dst="fe80::fe", hlim=64) / ICMPv6EchoRequest(),
    IPv6(src=ALICE6, dst="ff02::2", hlim=255) / ICMPv6ND_RS(),
):
    case.punt_up("alice", packet, "ipv6_control")

case = Case("ipv6_server_message", "Router advertisements, redirects and DHCPv6 server messages of a subscriber, hidden ones too.")
advertise = UDP(sport=547, dport=546) / DHCP6_Advertise(trid=1)
for packet in (
    IPv6(src="fe80::1", dst="ff02::1", hlim=255) / ICMPv6ND_RA(),
    IPv6(src="fe80::1", dst="fe80::2", hlim=255) / ICMPv6ND_Redirect(tgt="fe80::9", dst=SERVER6),
    IPv6(src="fe80::1", dst="fe80::2", hlim=64) / advertise,
    IPv6(src="fe80::1", dst="fe80::2", hlim=64) / IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 4)]) / advertise,
    IPv6(src="fe80::1", dst="ff02::1", hlim=255) / IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\0" * 4)]) / ICMPv6ND_RA(),
    # A later fragment, and a first one too short to say what it is (RFC 6980).
    IPv6(src="fe80::1", dst="ff02::1", hlim=255) / IPv6ExtHdrFragment(nh=58, offset=1, id=7) / Raw(b"\x86\0\0\0"),
    IPv6(src="fe80::1", dst="ff02::1", hlim=255, nh=58) / Raw(b"\x86"),
):
    case.drop_up("alice", packet, "ipv6_server_message")

# The core side's own affairs.
case = Case("host", "What is for the router itself goes to the kernel, tagged or not, whatever its time to live.")
case.route(ROUTER_IP + "/32", "local").route(ROUTER_IP6 + "/128", "local")
for packet, dst in (
    (IP(src=SERVER, dst=ROUTER_IP, ttl=64) / ICMP(), CORE_MAC),
    (tcp4(SERVER, ROUTER_IP, "S"), CORE_MAC),
    (udp4(SERVER, ROUTER_IP, ttl=1), CORE_MAC),
    (IP(src="198.51.100.2", dst="224.0.0.5", ttl=1, proto=89) / Raw(bytes(44)), "01:00:5e:00:00:05"),
    (udp6(SERVER6, ROUTER_IP6, hlim=1), CORE_MAC),
    (IPv6(src="fe80::1", dst="ff02::1", hlim=255) / ICMPv6ND_RA(), "33:33:00:00:00:01"),
    (IPv6(src="::", dst="ff02::1:ff00:1", hlim=255) / ICMPv6ND_NS(tgt="fe80::2"), "33:33:ff:00:00:01"),
    (IPv6(src="fe80::1", dst="fe80::2", hlim=255) / ICMPv6ND_NS(tgt="fe80::2"), CORE_MAC),
):
    for vlans in ((), [(0x8100, 10)]):
        case.punt("core0", case.frame_down(packet, vlans=vlans, dst=dst), "host")

case = Case("host_refused", "The router offers subscribers no service: port or protocol unreachable of the gateway, prohibited elsewhere.")
case.route(ROUTER_IP + "/32", "local").route(ROUTER_IP6 + "/128", "local")
for packet, code in (
    (udp4(ALICE, GATEWAY), 3),
    # For the router itself, whatever its time to live (RFC 1812 section 5.3.1).
    (udp4(ALICE, GATEWAY, ttl=1), 3),
    (tcp4(ALICE, GATEWAY, "S"), 3),
    (IP(src=ALICE, dst=GATEWAY, proto=47) / Raw(bytes(20)), 2),
    (udp4(ALICE, ROUTER_IP), 13),
    (IP(src=ALICE, dst=ROUTER_IP) / ICMP(type=8) / Raw(b"a ping"), 13),
):
    case.drop_up("alice", packet, "host_refused")
    case.told("alice", error4(GATEWAY, ALICE, 3, code, packet))
packet = udp6(ALICE6, ROUTER_IP6)
case.drop_up("alice", packet, "host_refused")
case.told("alice", error6(ROUTER_IP6, ALICE6, unreachable6(1), packet))

case = Case("host_refused-without-a-route", "The gateway's address may be one that no session of the pool has, or of a blackhole.")
case.routes = [it for it in case.routes if it["to"] != GATEWAY + "/32"]
packet = udp4(ALICE, GATEWAY, ttl=1)
case.drop_up("alice", packet, "host_refused")
case.told("alice", error4(GATEWAY, ALICE, 3, 3, packet))

case = Case("arp", "ARP on a core port goes to the kernel, tagged or not, of a VLAN that has an interface.")
request = ARP(op=1, hwsrc=ROUTER, psrc="198.51.100.2", hwdst="00:00:00:00:00:00", pdst=ROUTER_IP)
for vlans in ([], [(0x8100, 10)], [(0x8100, 0)]):
    for dst in (BROADCAST, CORE_MAC):
        case.punt("core0", pad(ether(dst, ROUTER, vlans, 0x0806, request), 0), "arp")
case.drop("core0", pad(ether(BROADCAST, ROUTER, [(0x8100, 11)], 0x0806, request), 0), "unknown_vlan")

# Routes.
case = Case("neighbour_unresolved", "A next hop without a MAC address yet: held by control, and no packet of the session's so far.")
case.neighbour("router", resolved=False)
case.punt_up("alice", udp4(ALICE, SERVER), "neighbour_unresolved")
case.punt_up("alice", udp6(ALICE6, SERVER6), "neighbour_unresolved")

case = Case("held_limited", "A session that scans a connected network is handed over within a limit, which is its own.")
case.route("198.51.100.0/24", "glean")
for n in range(36):
    packet = udp4(ALICE, "198.51.100.%d" % (10 + n))
    if n < 32:
        case.punt_up("alice", packet, "neighbour_unresolved")
    else:
        case.drop_up("alice", packet, "held_limited")
case.punt_up("bob", udp4(BOB, "198.51.100.9"), "neighbour_unresolved")
case.punt("core0", case.frame_down(udp4(SERVER, "198.51.100.8")), "neighbour_unresolved")
case.punt_up("alice", b"\x05\x01\x00\x04", "ppp_keepalive", protocol=LCP)
case.wait_ms(1100)
case.punt_up("alice", udp4(ALICE, "198.51.100.99"), "neighbour_unresolved")

case = Case("held_limited-one-target", "Of what many send to one unresolved neighbour control gets eight packets a second; another neighbour's are not fewer.")
case.neighbour("router", resolved=False)
case.route("198.51.100.0/24", "glean")
for n in range(10):
    name, own = (("alice", ALICE), ("bob", BOB))[n % 2]
    if n < 8:
        case.punt_up(name, udp4(own, SERVER), "neighbour_unresolved")
    else:
        case.drop_up(name, udp4(own, SERVER), "held_limited")
case.punt_up("bob", udp4(BOB, "198.51.100.9"), "neighbour_unresolved")

case = Case("held_limited-internet", "Who scans a connected network from outside takes half of the limit; others have the rest.",
            limits={"unknown_sessions_per_second": 100, "errors_per_second": 1000, "held_per_second": 10})
case.route("198.51.100.0/24", "glean")
for n in range(9):
    frame = case.frame_down(udp4(SERVER, "198.51.100.%d" % (10 + n)))
    if n < 5:
        case.punt("core0", frame, "neighbour_unresolved")
    else:
        case.drop("core0", frame, "held_limited")
case.punt("core0", case.frame_down(udp4("203.0.112.1", "198.51.100.8")), "neighbour_unresolved")
case.punt_up("bob", udp4(BOB, "198.51.100.9"), "neighbour_unresolved")

case = Case("neighbour_unresolved-glean", "A destination on a connected network: held by control.")
case.route("198.51.100.0/24", "glean")
case.punt_up("alice", udp4(ALICE, "198.51.100.9"), "neighbour_unresolved")
case.punt("core0", case.frame_down(udp4(SERVER, "198.51.100.9")), "neighbour_unresolved")

case = Case("blackhole", "A route that says to discard does so silently, both families.")
case.route("203.0.113.0/24", "blackhole").route("2001:db8:ffff::/48", "blackhole")
case.drop_up("alice", udp4(ALICE, SERVER), "blackhole")
case.drop_up("alice", udp6(ALICE6, SERVER6), "blackhole")
case.drop_down(udp4("198.51.100.7", SERVER), "blackhole")

case = Case("longest-prefix-wins", "The longest prefix decides, up and down, both families.")
case.neighbour("other", mac="02:00:00:00:01:03").route("203.0.113.8/29", "neighbour other")
case.route("203.0.113.9/32", "neighbour router").route("2001:db8:ffff::8/125", "neighbour other")
case.up("alice", udp4(ALICE, SERVER))
for packet in (udp4(ALICE, "203.0.113.10"), udp6(ALICE6, SERVER6)):
    case.give("access0", case.frame_up("alice", packet))
    case.expect("core0", case.to_router(hop(packet), mac="02:00:00:00:01:03"))
    case.count_session("alice", "up", packet)
case.up("alice", udp6(ALICE6, "2001:db8:ffff::10"))

case = Case("transit", "Between core networks packets are routed, from one VLAN to another too.")
for packet in (udp4("198.51.100.9", SERVER), udp6("2001:db8:1::9", SERVER6)):
    for vlans in ((), [(0x8100, 10)]):
        case.give("core0", case.frame_down(packet, vlans=vlans))
        case.expect("core0", case.to_router(hop(packet)))

case = Case("across-subscribers", "From one subscriber to another, both families: up of one, down of the other.")
case.across("alice", udp4(ALICE, BOB), "bob")
case.across("bob", udp4(BOB, ALICE), "alice")
case.across("alice", udp6(ALICE6, BOB6), "bob")
case.across("bob", udp6(BOB6, ALICE6_DELEGATED), "alice")

case = Case("across-to-oneself", "A client's packet to its own address comes back to it.")
case.across("alice", udp4(ALICE, ALICE), "alice")

case = Case("across-ports-and-tags", "From a client on QinQ to one on another port with one tag.", [
    alice(vlans=[(0x88A8, 100), (0x8100, 200)]), bob(port="access1", vlans=[(0x8100, 300)])])
case.across("alice", udp4(ALICE, BOB), "bob")
case.across("bob", udp4(BOB, ALICE, b""), "alice")

case = Case("no_headroom", "A buffer without room for the header in front.", headroom=7)
case.drop_down(udp4(SERVER, ALICE), "no_headroom", "alice")
# With two tags fewer octets go in front than came.
case.up("alice", udp4(ALICE, SERVER))

# Policers: octets of the packet count, a burst of 3,036 octets is the least (RFC 2697's committed burst, one rate).
for direction, reason in (("up", "policed_up"), ("down", "policed_down")):
    case = Case(reason, f"Three packets of 1,000 octets {direction} pass at once, the fourth exceeds the burst; a second later another passes.",
                [alice(**{"police_" + direction: {"bits_per_second": 8000, "burst_octets": 3036}}), bob()])
    packet = sized4(ALICE, SERVER, 1000) if direction == "up" else sized4(SERVER, ALICE, 1000)
    case.burst = True
    case.now_us += 1000
    for n in range(4):
        if n < 3:
            getattr(case, direction)("alice", packet)
        elif direction == "up":
            case.drop_up("alice", packet, reason)
        else:
            case.drop_down(packet, reason, "alice")
    case.wait_ms(1100)
    getattr(case, direction)("alice", packet)
    # The other direction is not touched.
    case.wait_ms(1)
    for _ in range(4):
        if direction == "up":
            case.down("alice", sized4(SERVER, ALICE, 1000))
        else:
            case.up("alice", sized4(ALICE, SERVER, 1000))
