"""ICMP and ICMPv6 errors, and fragments."""

from scapy.all import ICMPv6EchoRequest, ICMPv6ND_NS, IPOption_NOP, IPOption_Router_Alert, IPOption_RR, IPv6ExtHdrDestOpt
from scapy.all import IPv6ExtHdrFragment, PadN
from scapy.all import fragment as scapy_fragment

from box import *

# Time exceeded.
case = Case("ipv4_ttl_exceeded", "P25: time to live 1 and 0 up: type 11 code 0 from the gateway's address, with what it is about.")
for ttl in (1, 0):
    packet = udp4(ALICE, SERVER, ttl=ttl)
    case.drop_up("alice", packet, "ipv4_ttl_exceeded")
    case.told("alice", error4(GATEWAY, ALICE, 11, 0, packet))

case = Case("ipv4_ttl_exceeded-down", "P25: time to live 1 and 0 down: type 11 code 0 from the router's address.")
for ttl in (1, 0):
    packet = udp4(SERVER, ALICE, ttl=ttl)
    case.drop_down(packet, "ipv4_ttl_exceeded")
    case.router_told(error4(ROUTER_IP, SERVER, 11, 0, packet))

case = Case("ipv6_hop_limit_exceeded", "P25: hop limit 1 and 0 up: type 3 code 0 from the router's address.")
for hlim in (1, 0):
    packet = udp6(ALICE6, SERVER6, hlim=hlim)
    case.drop_up("alice", packet, "ipv6_hop_limit_exceeded")
    case.told("alice", error6(ROUTER_IP6, ALICE6, exceeded6(), packet))

case = Case("ipv6_hop_limit_exceeded-down", "P25: hop limit 1 and 0 down: type 3 code 0.")
for hlim in (1, 0):
    packet = udp6(SERVER6, ALICE6, hlim=hlim)
    case.drop_down(packet, "ipv6_hop_limit_exceeded")
    case.router_told(error6(ROUTER_IP6, SERVER6, exceeded6(), packet))

case = Case("ttl-exceeded-between-subscribers", "A packet between subscribers whose time is up: its sender is told.")
packet = udp4(ALICE, BOB, ttl=1)
case.drop_up("alice", packet, "ipv4_ttl_exceeded")
case.told("alice", error4(GATEWAY, ALICE, 11, 0, packet))

case = Case("errors-dscp-configured", "The DSCP of the box's own packets is what the configuration says; ECN stays off.", control_dscp=16)
packet = udp4(ALICE, SERVER, ttl=1)
case.drop_up("alice", packet, "ipv4_ttl_exceeded")
case.told("alice", error4(GATEWAY, ALICE, 11, 0, packet, tos=0x40))
packet = udp6(ALICE6, SERVER6, hlim=1)
case.drop_up("alice", packet, "ipv6_hop_limit_exceeded")
case.told("alice", error6(ROUTER_IP6, ALICE6, exceeded6(), packet, tc=0x40))

case = Case("error-to-a-tagged-session", "An error to a client on QinQ has its tags, and the priority that CS6 has by its map.",
            [alice(vlans=TAGS["qinq-88a8"], priority_map=1), bob()], priorities=[{"map": 0, "dscp": 48, "pcp": 6}])
packet = udp4(ALICE, SERVER, ttl=1)
case.drop_up("alice", packet, "ipv4_ttl_exceeded")
case.reaches("alice", error4(GATEWAY, ALICE, 11, 0, packet), 6)
packet = udp6(ALICE6, SERVER6, hlim=1)
case.drop_up("alice", packet, "ipv6_hop_limit_exceeded")
case.reaches("alice", error6(ROUTER_IP6, ALICE6, exceeded6(), packet), 6)
case.count("worker.errors_sent", 2)

case = Case("error-to-a-tagged-neighbour", "An error to a host behind a tagged core interface has its tag.")
case.neighbour("tagged", vlan=10).route("203.0.113.0/24", "neighbour tagged")
packet = udp4(SERVER, ALICE, ttl=1)
case.drop_down(packet, "ipv4_ttl_exceeded", vlans=[(0x8100, 10)])
case.expect("core0", case.to_router(error4(ROUTER_IP, SERVER, 11, 0, packet), vlans=[(0x8100, 10)]))
case.count("worker.errors_sent")

case = Case("error-about-a-long-packet", "An IPv4 error is 576 octets at most, an IPv6 error 1280.")
packet = sized4(ALICE, SERVER, 1492, ttl=1)
case.drop_up("alice", packet, "ipv4_ttl_exceeded")
case.told("alice", error4(GATEWAY, ALICE, 11, 0, packet))
packet = sized6(ALICE6, SERVER6, 1492, hlim=1)
case.drop_up("alice", packet, "ipv6_hop_limit_exceeded")
case.told("alice", error6(ROUTER_IP6, ALICE6, exceeded6(), packet))

case = Case("error-about-a-padded-packet", "An error quotes the packet, not the link's padding.")
packet = udp4(ALICE, SERVER, b"", ttl=1)
case.drop_up("alice", packet, "ipv4_ttl_exceeded")
case.told("alice", error4(GATEWAY, ALICE, 11, 0, packet))

case = Case("error-about-options", "An error about a packet with options quotes them too.")
packet = IP(src=ALICE, dst=SERVER, ttl=1, options=[IPOption_Router_Alert()]) / UDP(sport=40000, dport=40001) / Raw(b"data")
case.drop_up("alice", packet, "ipv4_ttl_exceeded")
case.told("alice", error4(GATEWAY, ALICE, 11, 0, packet))

case = Case("error-about-a-ping", "A ping may be told about: it is no error.")
packet = IP(src=ALICE, dst=SERVER, ttl=1, id=7) / ICMP(type=8, id=1, seq=1) / Raw(b"data")
case.drop_up("alice", packet, "ipv4_ttl_exceeded")
case.told("alice", error4(GATEWAY, ALICE, 11, 0, packet))
packet = IPv6(src=ALICE6, dst=SERVER6, hlim=1) / ICMPv6EchoRequest(data=b"data")
case.drop_up("alice", packet, "ipv6_hop_limit_exceeded")
case.told("alice", error6(ROUTER_IP6, ALICE6, exceeded6(), packet))

case = Case("error-about-a-first-fragment", "A first fragment may be told about, a later one not, both families.")
packet = IP(src=ALICE, dst=SERVER, ttl=1, id=7, proto=17, flags="MF") / Raw(raw(UDP(sport=1, dport=2, len=200)) + bytes(64))
case.drop_up("alice", packet, "ipv4_ttl_exceeded")
case.told("alice", error4(GATEWAY, ALICE, 11, 0, packet))
case.drop_up("alice", IP(src=ALICE, dst=SERVER, ttl=1, id=7, proto=17, frag=9) / Raw(bytes(64)), "ipv4_ttl_exceeded")
packet = IPv6(src=ALICE6, dst=SERVER6, hlim=1) / IPv6ExtHdrFragment(nh=17, m=1, id=7) / Raw(raw(UDP(sport=1, dport=2, len=200)) + bytes(64))
case.drop_up("alice", packet, "ipv6_hop_limit_exceeded")
case.told("alice", error6(ROUTER_IP6, ALICE6, exceeded6(), packet))

case = Case("no-error-about-errors", "No error about an error, both families, hidden behind options too.")
for kind in (3, 4, 5, 11, 12):
    case.drop_up("alice", IP(src=ALICE, dst=SERVER, ttl=1) / ICMP(type=kind) / Raw(bytes(28)), "ipv4_ttl_exceeded")
    case.drop_down(IP(src=SERVER, dst=ALICE, ttl=1) / ICMP(type=kind) / Raw(bytes(28)), "ipv4_ttl_exceeded")
case.drop_up("alice", IP(src=ALICE, dst=SERVER, ttl=1, options=[IPOption_NOP()] * 4) / ICMP(type=3), "ipv4_ttl_exceeded")
case.drop_up("alice", IP(src=ALICE, dst=SERVER, ttl=1, proto=1), "ipv4_ttl_exceeded")
for kind in (1, 2, 3, 4, 127, 137):
    case.drop_up("alice", IPv6(src=ALICE6, dst=SERVER6, hlim=1, nh=58) / Raw(bytes([kind]) + bytes(7)), "ipv6_hop_limit_exceeded")
hidden = IPv6ExtHdrDestOpt(nh=58, options=[PadN(optdata=b"\0" * 4)]) / Raw(b"\x01" + bytes(7))
case.drop_up("alice", IPv6(src=ALICE6, dst=SERVER6, hlim=1) / hidden, "ipv6_hop_limit_exceeded")

case = Case("no-error-about-broadcasts", "No error about what went to a group, on the link or by its address, nor about a bad source.")
case.drop_down(udp4(SERVER, ALICE, ttl=1), "ipv4_broadcast", dst=BROADCAST)
case.drop_down(udp4(SERVER, "224.0.1.1", ttl=1), "ipv4_multicast", dst="01:00:5e:00:01:01")
case.drop_up("alice", udp4(ALICE, "255.255.255.255", ttl=1), "ipv4_broadcast")
case.drop_up("alice", udp4("127.0.0.1", SERVER, ttl=1), "ipv4_source")
case.drop_up("alice", udp4(BOB, SERVER, ttl=1), "ipv4_spoofed")
case.drop_down(udp6(SERVER6, ALICE6, hlim=1), "ipv6_multicast", dst="33:33:00:00:00:01")

case = Case("errors-limited", "A session's errors have a limit of their own: who uses it up still hears which length fits, and others hear all.")
packet = udp4(ALICE, SERVER, ttl=1)
for n in range(52):
    case.drop_up("alice", packet, "ipv4_ttl_exceeded")
    if n < 50:
        case.told("alice", error4(GATEWAY, ALICE, 11, 0, packet))
    else:
        case.count("worker.errors_unsent")
case.drop_up("bob", udp4(BOB, SERVER, ttl=1), "ipv4_ttl_exceeded")
case.told("bob", error4(GATEWAY, BOB, 11, 0, udp4(BOB, SERVER, ttl=1)))
case.wait_ms(1024)
case.drop_up("alice", packet, "ipv4_ttl_exceeded")
case.told("alice", error4(GATEWAY, ALICE, 11, 0, packet))

case = Case("errors-without-an-address", "A router without addresses of its own sends no errors.",
            [alice(), bob()], router={})
case.sessions["alice"].pop("gateway")
case.drop_up("alice", udp4(ALICE, SERVER, ttl=1), "ipv4_ttl_exceeded")
case.drop_up("alice", udp6(ALICE6, SERVER6, hlim=1), "ipv6_hop_limit_exceeded")

case = Case("error-from-the-routers-address", "A session without a gateway is told from the router's address.", [alice(), bob()])
case.sessions["alice"].pop("gateway")
packet = udp4(ALICE, SERVER, ttl=1)
case.drop_up("alice", packet, "ipv4_ttl_exceeded")
case.told("alice", error4(ROUTER_IP, ALICE, 11, 0, packet))

# Unreachable.
case = Case("no_subscriber", "An address of a pool that no session has: host unreachable, address unreachable.")
packet = udp4(SERVER, "192.0.2.99")
case.drop_down(packet, "no_subscriber")
case.router_told(error4(ROUTER_IP, SERVER, 3, 1, packet))
packet = udp6(SERVER6, "2001:db8:100:99::1")
case.drop_down(packet, "no_subscriber")
case.router_told(error6(ROUTER_IP6, SERVER6, unreachable6(3), packet))
packet = udp4(ALICE, "192.0.2.99")
case.drop_up("alice", packet, "no_subscriber")
case.told("alice", error4(GATEWAY, ALICE, 3, 1, packet))
packet = udp6(ALICE6, "2001:db8:100:99::1")
case.drop_up("alice", packet, "no_subscriber")
case.told("alice", error6(ROUTER_IP6, ALICE6, unreachable6(3), packet))

case = Case("no_route", "Without a route: net unreachable, no route, to clients and to hosts.")
case.route("203.0.113.0/24", "unreachable").route("2001:db8:ffff::/48", "unreachable")
packet = udp4(ALICE, SERVER)
case.drop_up("alice", packet, "no_route")
case.told("alice", error4(GATEWAY, ALICE, 3, 0, packet))
packet = udp6(ALICE6, SERVER6)
case.drop_up("alice", packet, "no_route")
case.told("alice", error6(ROUTER_IP6, ALICE6, unreachable6(0), packet))
packet = udp4("198.51.100.9", SERVER)
case.drop_down(packet, "no_route")
case.router_told(error4(ROUTER_IP, "198.51.100.9", 3, 0, packet))

case = Case("no_route-and-no-way-back", "No error where its own way back has no route.")
case.route("0.0.0.0/0", "unreachable")
case.drop_down(udp4("198.51.100.9", "203.0.113.77"), "no_route")

# Too big.
for mtu in (1480, 1492, 1500):
    case = Case(f"p26-mru-{mtu}", f"P26: {mtu} octets pass whole; one more does not, and its sender is told {mtu}.",
                [alice(mtu=mtu), bob(mtu=mtu)])
    case.neighbour("router", mtu=9000)
    case.down("alice", sized4(SERVER, ALICE, mtu))
    case.down("alice", sized4(SERVER, ALICE, mtu, flags="DF"))
    case.down("alice", sized6(SERVER6, ALICE6, mtu))
    packet = sized4(SERVER, ALICE, mtu + 1, flags="DF")
    case.drop_down(packet, "too_big", "alice")
    case.router_told(error4(ROUTER_IP, SERVER, 3, 4, packet, mtu))
    packet = sized6(SERVER6, ALICE6, mtu + 1)
    case.drop_down(packet, "too_big", "alice")
    case.router_told(error6(ROUTER_IP6, SERVER6, too_big6(mtu), packet))

case = Case("too_big", "A narrower link upstream, and a narrower subscriber: the sender is told the length that fits.",
            [alice(mtu=1400), bob()])
case.neighbour("router", mtu=1300)
packet = sized4(ALICE, SERVER, 1301, flags="DF")
case.drop_up("alice", packet, "too_big")
case.told("alice", error4(GATEWAY, ALICE, 3, 4, packet, 1300))
packet = sized6(ALICE6, SERVER6, 1301)
case.drop_up("alice", packet, "too_big")
case.told("alice", error6(ROUTER_IP6, ALICE6, too_big6(1300), packet))
packet = sized4(BOB, ALICE, 1401, flags="DF")
case.drop_up("bob", packet, "too_big")
case.count("session.alice.down_drops")
case.told("bob", error4(GATEWAY, BOB, 3, 4, packet, 1400))
packet = sized6(BOB6, ALICE6, 1401)
case.drop_up("bob", packet, "too_big")
case.count("session.alice.down_drops")
case.told("bob", error6(ROUTER_IP6, BOB6, too_big6(1400), packet))

case = Case("too_big-and-no-error-about-errors", "An ICMP error that is too long is dropped, and nobody told.")
case.drop_down(IP(src=SERVER, dst=ALICE, flags="DF") / ICMP(type=3) / Raw(bytes(1465)), "too_big", "alice")
case.drop_down(IP(src=SERVER, dst=ALICE, flags="DF", proto=17, frag=9) / Raw(bytes(1473)), "too_big", "alice")

case = Case("error-narrower-than-an-error", "An error to a client whose MRU is less than an error's length quotes less.",
            [alice(mtu=500), bob()])
packet = sized4(ALICE, SERVER, 1400, ttl=1)
case.drop_up("alice", packet, "ipv4_ttl_exceeded")
it = error4(GATEWAY, ALICE, 11, 0, packet)
it[Raw].load = raw(packet)[: 500 - 28]
case.told("alice", it)


# Fragments.
def pieces(packet, mtu):
    """The fragments of a packet as they leave: cut by scapy to what fits, a hop older."""
    header = packet.ihl * 4 if packet.ihl else 20 + len(b"".join(raw(it) for it in packet.options))
    return [hop(piece) for piece in scapy_fragment(packet, (mtu - header) // 8 * 8)]


def cut_down(case, packet, mtu):
    case.give("core0", case.frame_down(packet))
    made = pieces(packet, mtu)
    for piece in made:
        case.reaches("alice", piece)
    case.count("worker.fragments_sent", len(made))
    return made


for mtu in (1480, 1492, 1500):
    case = Case(f"p26-fragments-mru-{mtu}", f"P26: {mtu + 1} octets without DF leave in two pieces.", [alice(mtu=mtu), bob()])
    made = cut_down(case, sized4(SERVER, ALICE, mtu + 1), mtu)
    assert [len(raw(piece)) for piece in made] == [(mtu - 20) // 8 * 8 + 20, mtu + 1 - (mtu - 20) // 8 * 8]

case = Case("fragments-three", "Three pieces, the last of one octet.", [alice(mtu=700), bob()])
made = cut_down(case, sized4(SERVER, ALICE, 20 + 680 * 2 + 1), 700)
assert len(made) == 3 and len(raw(made[2])) == 21

case = Case("fragments-least-mtu", "An MTU of 68 octets: every router must cut for it (RFC 791 section 3.2).", [alice(mtu=68), bob()])
made = cut_down(case, sized4(SERVER, ALICE, 500), 68)
assert len(made) == 10

case = Case("fragments-of-a-first-fragment", "A first fragment is cut again: every piece has more to come.", [alice(mtu=700), bob()])
first = IP(src=SERVER, dst=ALICE, ttl=64, id=9, proto=17, flags="MF") / Raw(raw(UDP(sport=1, dport=2, len=2000, chksum=0)) + bytes(992))
case.give("core0", case.frame_down(first))
data = raw(first)[20:]
for offset in range(0, len(data), 680):
    case.reaches("alice", IP(src=SERVER, dst=ALICE, ttl=63, id=9, proto=17, flags="MF", frag=offset // 8) / Raw(data[offset:offset + 680]))
case.count("worker.fragments_sent", 2)

case = Case("fragments-of-a-last-fragment", "A last fragment is cut again: offsets add up, the last piece is the last.", [alice(mtu=700), bob()])
last = IP(src=SERVER, dst=ALICE, ttl=64, id=9, proto=17, frag=125) / Raw(bytes(n & 0xFF for n in range(1001)))
case.give("core0", case.frame_down(last))
data = raw(last)[20:]
for offset in range(0, len(data), 680):
    more = "MF" if offset + 680 < len(data) else 0
    case.reaches("alice", IP(src=SERVER, dst=ALICE, ttl=63, id=9, proto=17, flags=more, frag=125 + offset // 8) / Raw(data[offset:offset + 680]))
case.count("worker.fragments_sent", 2)

case = Case("fragments-with-options", "Options marked to be copied are in every piece, the others in the first alone (RFC 791 section 3.1).",
            [alice(mtu=700), bob()])
# No operation, record route (not copied), router alert (copied).
options = bytes.fromhex("01 07 07 04 00 00 00 00 94 04 00 00".replace(" ", ""))
packet = IP(src=SERVER, dst=ALICE, ttl=64, id=9, options=options) / UDP(sport=40000, dport=40001) / Raw(bytes(900))
data = raw(packet)[32:]
case.give("core0", case.frame_down(packet))
case.reaches("alice", IP(src=SERVER, dst=ALICE, ttl=63, id=9, proto=17, flags="MF", options=options) / Raw(data[:664]))
case.reaches("alice", IP(src=SERVER, dst=ALICE, ttl=63, id=9, proto=17, frag=83, options=options[8:]) / Raw(data[664:]))
case.count("worker.fragments_sent", 2)

case = Case("fragments-up", "Upstream into a narrower link: the client sent one packet, however many leave.")
case.neighbour("router", mtu=600)
packet = sized4(ALICE, SERVER, 1492)
case.give("access0", case.frame_up("alice", packet))
made = pieces(packet, 600)
for piece in made:
    case.expect("core0", case.to_router(piece))
case.count("worker.fragments_sent", len(made))
case.count_session("alice", "up", packet)

case = Case("fragments-across", "From one subscriber to a narrower one.", [alice(mtu=1000), bob()])
packet = sized4(BOB, ALICE, 1400)
case.give("access0", case.frame_up("bob", packet))
case.count_session("bob", "up", packet)
made = pieces(packet, 1000)
for piece in made:
    case.reaches("alice", piece)
case.count("worker.fragments_sent", len(made))

case = Case("fragments-with-tags", "Each piece has the session's tags; a short one is padded.", [alice(vlans=TAGS["qinq-88a8"]), bob()])
cut_down(case, sized4(SERVER, ALICE, 1493), 1492)

case = Case("fragments-of-a-syn", "A SYN that is cut: its MSS is lowered in the first piece, the checksum is right for the whole.",
            [alice(mtu=600), bob()])
packet = tcp4(SERVER, ALICE, "S", [("MSS", 1460)], bytes(700))
case.give("core0", case.frame_down(packet))
for piece in pieces(tcp4(SERVER, ALICE, "S", [("MSS", 560)], bytes(700)), 600):
    case.reaches("alice", piece)
case.count("worker.fragments_sent", 2)

case = Case("no_fragment_buffer", "More pieces than may be, or no buffer for one: dropped whole.", buffers=False)
case.drop_down(sized4(SERVER, ALICE, 1493), "no_fragment_buffer", "alice")

case = Case("no_fragment_buffer-too-many", "A packet that would make more pieces than may be is dropped.")
case.neighbour("router", mtu=60)
case.drop_up("alice", sized4(ALICE, SERVER, 1492), "no_fragment_buffer")

case = Case("errors-without-buffers", "Without a buffer no error is sent, and that is counted.", buffers=False)
case.drop_down(sized4(SERVER, ALICE, 1493, flags="DF"), "too_big", "alice")
case.drop_up("alice", udp4(ALICE, SERVER, ttl=1), "ipv4_ttl_exceeded")
case.count("worker.errors_unsent", 2)
