"""Ethernet, tags, PPPoE and PPP: which frame is whose, and what control gets."""

from box import *

PADI = bytes.fromhex("1109000000040101 0000".replace(" ", ""))
REQUEST = bytes.fromhex("0101000401")[:4]


def with_tags(vlans, **change):
    return [alice(vlans=vlans, **change), bob(vlans=vlans)]


# Every kind of tag, both ways, both families.
for kind, vlans in TAGS.items():
    answer = "without any" if kind in ("untagged", "priority") else "with the same ones"
    case = Case(f"tags-{kind}-ipv4-up", f"IPv4 from a client with tags {kind}: forwarded without them.", with_tags(vlans))
    case.up("alice", udp4(ALICE, SERVER))
    case = Case(f"tags-{kind}-ipv4-down", f"IPv4 to a client with tags {kind}: sent {answer}.", with_tags(vlans))
    case.down("alice", udp4(SERVER, ALICE))
    case = Case(f"tags-{kind}-ipv6-up", f"IPv6 from a client with tags {kind}: forwarded without them.", with_tags(vlans))
    case.up("alice", udp6(ALICE6, SERVER6))
    case = Case(f"tags-{kind}-ipv6-down", f"IPv6 to a client with tags {kind}: sent {answer}.", with_tags(vlans))
    case.down("alice", udp6(SERVER6, ALICE6))

QINQ = TAGS["qinq-88a8"]

case = Case("tags-priority-and-dei-of-the-client", "The client's PCP and DEI do not name its session, and are not copied.",
            with_tags(QINQ))
case.up("alice", udp4(ALICE, SERVER), pcp=5, dei=1)
case.up("alice", udp4(ALICE, SERVER), pcp=7)
case.down("alice", udp4(SERVER, ALICE))

case = Case("p17-priority-tagged-frame-of-an-untagged-session",
            "P17: a priority-tagged frame belongs to the untagged service, whose session gets no tag.")
case.up("alice", udp4(ALICE, SERVER), vlans=TAGS["priority"], pcp=5)
case.down("alice", udp4(SERVER, ALICE))

case = Case("p18-an-extra-tag-is-another-line", "P18: a second tag makes it another line's frame; nothing is answered.",
            with_tags([(0x8100, 123)]))
case.up("alice", udp4(ALICE, SERVER))
case.drop("access0", case.frame_up("alice", udp4(ALICE, SERVER), vlans=[(0x8100, 123), (0x8100, 321)]), "session_vlan")

case = Case("p18-a-missing-inner-tag-is-another-line", "P18: without its inner tag a frame is not the session's.",
            with_tags(QINQ))
case.drop("access0", case.frame_up("alice", udp4(ALICE, SERVER), vlans=QINQ[:1]), "session_vlan")

case = Case("session_vlan", "Another inner VLAN than the session's.", with_tags(QINQ))
case.drop("access0", case.frame_up("alice", udp4(ALICE, SERVER), vlans=[(0x88A8, 100), (0x8100, 201)]), "session_vlan")

case = Case("p19-another-outer-identifier", "P19: 8100/8100 and 9100/8100 do not reach the 88a8 service.", with_tags(QINQ))
for tpid in (0x8100, 0x9100):
    vlans = [(tpid, 100), (0x8100, 200)]
    case.drop("access0", case.frame_up("alice", udp4(ALICE, SERVER), vlans=vlans), "session_vlan")
case.up("alice", udp4(ALICE, SERVER))

case = Case("p19-a-port-takes-only-its-own-identifiers",
            "P19: 88a8 is no tag on a port set to dot1q.", with_tags(QINQ)).port("access0", tpids=["8100"])
case.drop("access0", case.frame_up("alice", udp4(ALICE, SERVER)), "ethertype")

case = Case("too_many_tags", "Three tags are one too many, whatever is behind them.")
for tpids in ([0x8100] * 3, [0x88A8, 0x8100, 0x8100], [0x9100, 0x9100, 0x9100]):
    vlans = [(tpid, 100 + n) for n, tpid in enumerate(tpids)]
    case.drop("access0", case.frame_up("alice", udp4(ALICE, SERVER), vlans=vlans), "too_many_tags")

case = Case("tags-cut-within", "A frame that ends within its tags.", with_tags(QINQ))
whole = case.frame_up("alice", udp4(ALICE, SERVER))
for octets in (14, 15, 17, 18, 21):
    case.drop("access0", whole[:octets], "runt")

# Priorities by DSCP.
for kind in ("untagged", "dot1q", "qinq-88a8"):
    where = {"untagged": "have nowhere to go", "dot1q": "go into the tag"}.get(kind, "go into both tags")
    case = Case(f"priority-by-dscp-{kind}", f"Priorities by DSCP, IPv4 and IPv6, {where}.",
                with_tags(TAGS[kind], priority_map=2),
                priorities=[{"map": 1, "dscp": 46, "pcp": 5}, {"map": 1, "dscp": 34, "pcp": 4}])
    for dscp, pcp in ((46, 5), (34, 4), (0, 0), (48, 0)):
        # The two low bits are ECN, and say nothing about the priority (RFC 3168 section 5).
        case.down("alice", udp4(SERVER, ALICE, tos=dscp << 2 | 3), pcp=pcp)
        case.down("alice", udp6(SERVER6, ALICE6, tc=dscp << 2 | 1), pcp=pcp)

# The same MAC address and id on several lines.
case = Case("p54-equal-clients-on-several-lines", "P54: equal MAC addresses and ids on two VLANs and two ports are apart.", [
    session("one", 1, CLIENT, ipv4="192.0.2.50", vlans=[(0x8100, 100)]),
    session("two", 1, CLIENT, ipv4="192.0.2.51", vlans=[(0x8100, 200)]),
    session("three", 1, CLIENT, ipv4="192.0.2.52", port="access1"),
    session("four", 2, CLIENT_2, ipv4="192.0.2.53", port="access1"),
])
for name, address in (("one", "192.0.2.50"), ("two", "192.0.2.51"), ("three", "192.0.2.52"), ("four", "192.0.2.53")):
    case.up(name, udp4(address, SERVER))
    case.down(name, udp4(SERVER, address))
case.drop_up("two", udp4("192.0.2.50", SERVER), "ipv4_spoofed")
case.drop("access1", case.frame_up("one", udp4("192.0.2.50", SERVER), vlans=[]), "ipv4_spoofed", "three")
case.drop("access0", ether(AC, CLIENT_2, [(0x8100, 100)], 0x8864, pppoe(1, IPV4, udp4("192.0.2.50", SERVER))), "session_mac")

# Ethernet.
case = Case("runt", "Frames that end within their Ethernet header, on both sides.")
for octets in (0, 1, 6, 13):
    case.drop("access0", case.frame_up("alice", udp4(ALICE, SERVER))[:octets], "runt")
    case.drop("core0", case.frame_down(udp4(SERVER, ALICE))[:octets], "runt")

case = Case("not_our_mac", "Frames to another station, on both sides.")
for kind in (0x8863, 0x8864):
    case.drop("access0", ether("02:00:00:00:00:aa", CLIENT, [], kind, pppoe(1, IPV4, udp4(ALICE, SERVER))), "not_our_mac")
case.drop("core0", case.frame_down(udp4(SERVER, ALICE), dst=CLIENT), "not_our_mac")

case = Case("bad_source_mac", "Source addresses that no station has, on both sides.")
for source in ("03:00:00:00:00:01", "00:00:00:00:00:00", BROADCAST):
    for kind, payload in ((0x8863, PADI), (0x8864, pppoe(1, IPV4, udp4(ALICE, SERVER))), (0x8864, pppoe(9, IPV4, b""))):
        case.drop("access0", ether(AC, source, [], kind, payload), "bad_source_mac")
    case.drop("core0", ether(CORE_MAC, source, [], 0x0800, udp4(SERVER, ALICE)), "bad_source_mac")

case = Case("ethertype", "EtherTypes that a port does not carry: IP and ARP without PPPoE on an access port, LLDP and PPPoE on a core port.")
for kind in (0x0800, 0x0806, 0x86DD, 0x88CC, 0x0027):
    case.drop("access0", ether(AC, CLIENT, [], kind, udp4(ALICE, SERVER)), "ethertype")
for kind in (0x88CC, 0x8863, 0x8864, 0x88A8):
    case.drop("core0", ether(CORE_MAC, ROUTER, [], kind, udp4(SERVER, ALICE)), "ethertype")

case = Case("unknown_port", "A frame of a port that the data plane does not know.")
case.config["ports"].append({"name": "absent", "role": "absent"})
case.drop("absent", case.frame_up("alice", udp4(ALICE, SERVER)), "unknown_port")

case = Case("unknown_vlan", "VLANs without an interface on a core port, and two tags, which no interface has.")
case.drop_down(udp4(SERVER, ALICE), "unknown_vlan", vlans=[(0x8100, 11)])
case.drop_down(udp6(SERVER6, ALICE6), "unknown_vlan", vlans=[(0x8100, 4095)])
case.drop_down(udp4(SERVER, ALICE), "unknown_vlan", vlans=[(0x8100, 10), (0x8100, 10)])

case = Case("core-vlan-in", "A tagged core interface takes its VLAN, whatever the priority.")
case.down("alice", udp4(SERVER, ALICE), vlans=[(0x8100, 10)])
case.down("alice", udp6(SERVER6, ALICE6), vlans=[(0x8100, 10)])

case = Case("core-priority-tag-in", "A priority tag on a core port is no VLAN.")
case.down("alice", udp4(SERVER, ALICE), vlans=[(0x8100, 0)])

case = Case("core-vlan-out", "A neighbour on a tagged core interface gets the tag.")
case.neighbour("tagged", vlan=10, mac="02:00:00:00:01:02").route("203.0.113.0/24", "neighbour tagged")
case.route("2001:db8:ffff::/48", "neighbour tagged")
for packet in (udp4(ALICE, SERVER), udp6(ALICE6, SERVER6), udp4(ALICE, SERVER, b"")):
    case.give("access0", case.frame_up("alice", packet))
    case.expect("core0", case.to_router(hop(packet), vlans=[(0x8100, 10)], mac="02:00:00:00:01:02"))
    case.count_session("alice", "up", packet)

# PPPoE.
case = Case("discovery", "Discovery goes to control with every kind of tag, to us or to all, and nowhere else.")
for vlans in TAGS.values():
    for dst in (BROADCAST, AC):
        case.punt("access0", pad(ether(dst, CLIENT, vlans, 0x8863, PADI), 0), "discovery")
    for dst in (CLIENT_2, "01:00:5e:00:00:01"):
        case.drop("access0", pad(ether(dst, CLIENT, vlans, 0x8863, PADI), 0), "not_our_mac")

case = Case("p12-malformed-discovery-is-controls", "P12: discovery is not judged here, however malformed.")
for hexes in ("1109000000060101000001 03", "110900000008010100000103 0040", "110900000100 01010000", "2109000000040101 0000",
              "110900000000", "", "11"):
    case.punt("access0", ether(BROADCAST, CLIENT, [], 0x8863, bytes.fromhex(hexes.replace(" ", ""))), "discovery")

case = Case("pppoe_truncated", "A frame that ends within its PPPoE header or PPP protocol, or whose LENGTH leaves no room for one.")
for octets in range(8):
    case.drop("access0", ether(AC, CLIENT, [], 0x8864, pppoe(1, IPV4, b"")[:octets]), "pppoe_truncated")
for length in (0, 1):
    case.drop("access0", pad(ether(AC, CLIENT, [], 0x8864, raw(PPPoE(sessionid=1, len=length))), 0), "pppoe_truncated")

case = Case("pppoe_version", "VER and TYPE other than 1.")
for version, kind in ((2, 1), (1, 2), (0, 1), (1, 0), (15, 15)):
    case.drop("access0", case.frame_up("alice", udp4(ALICE, SERVER), version=version, type=kind), "pppoe_version")

case = Case("pppoe_code", "Codes other than 0 in the session stage.")
for code in (0x09, 0x07, 0x19, 0x65, 0xA7, 0x01, 0xFF):
    case.drop("access0", case.frame_up("alice", udp4(ALICE, SERVER), code=code), "pppoe_code")

case = Case("pppoe_length", "LENGTH beyond the frame's end, by one and by much.")
packet = raw(udp4(ALICE, SERVER))
for length in (len(packet) + 3, 1502, 0xFFFF):
    payload = raw(PPPoE(sessionid=1, len=length)) + IPV4.to_bytes(2, "big") + packet
    case.drop("access0", ether(AC, CLIENT, [], 0x8864, payload), "pppoe_length")

case = Case("pppoe_broadcast", "The session stage is unicast.")
for dst in (BROADCAST, "01:00:5e:00:00:01", "33:33:00:00:00:01"):
    case.drop("access0", ether(dst, CLIENT, [], 0x8864, pppoe(1, IPV4, udp4(ALICE, SERVER))), "pppoe_broadcast")

case = Case("unknown_session", "Ids that no session has, the reserved ones among them; and a known one on another VLAN.")
for number in (0, 3, 0x0FFF, 0xFFFF):
    case.punt("access0", ether(AC, CLIENT, [], 0x8864, pppoe(number, IPV4, udp4(ALICE, SERVER))), "unknown_session")
case.punt("access0", ether(AC, CLIENT, [(0x8100, 5)], 0x8864, pppoe(1, LCP, REQUEST)), "unknown_session")

case = Case("unknown_session_limited", "Of a client's frames of unknown sessions control is told of eight each second; others' are another matter.")
stranger = ether(AC, CLIENT, [], 0x8864, pppoe(9, IPV4, udp4(ALICE, SERVER)))
for n in range(12):
    if n < 8:
        case.punt("access0", stranger, "unknown_session")
    else:
        case.drop("access0", stranger, "unknown_session_limited")
case.punt("access0", ether(AC, CLIENT_2, [], 0x8864, pppoe(9, IPV4, udp4(BOB, SERVER))), "unknown_session")
case.wait_ms(1024)
case.punt("access0", stranger, "unknown_session")

case = Case("unknown_session_limited-by-line", "Whoever floods a line under many addresses takes half; other lines are heard.",
            limits={"unknown_sessions_per_second": 10, "errors_per_second": 1000})
for n in range(9):
    mac = "02:00:00:00:99:%02x" % n
    frame = ether(AC, mac, [(0x8100, 5)], 0x8864, pppoe(9, IPV4, udp4(ALICE, SERVER)))
    if n < 5:
        case.punt("access0", frame, "unknown_session")
    else:
        case.drop("access0", frame, "unknown_session_limited")
for tags in ([(0x8100, 6)], [(0x88A8, 5), (0x8100, 7)]):
    case.punt("access0", ether(AC, CLIENT, tags, 0x8864, pppoe(9, IPV4, udp4(ALICE, SERVER))), "unknown_session")

case = Case("session_mac", "A known id with another client's MAC address.")
case.drop("access0", ether(AC, CLIENT_2, [], 0x8864, pppoe(1, IPV4, udp4(BOB, SERVER))), "session_mac")
case.drop("access0", ether(AC, CLIENT_2, [], 0x8864, pppoe(1, LCP, b"\x05\x01\x00\x04")), "session_mac")

case = Case("p20-what-is-not-this-clients", "P20: a Terminate-Request that is not the client's never reaches its session.")
terminate = b"\x05\x01\x00\x04"
case.drop("access0", ether(AC, CLIENT_2, [], 0x8864, pppoe(1, LCP, terminate)), "session_mac")
case.drop("access0", ether("02:00:00:00:00:aa", CLIENT, [], 0x8864, pppoe(1, LCP, terminate)), "not_our_mac")
case.punt("access0", ether(AC, CLIENT, [], 0x8864, pppoe(0, LCP, terminate)), "unknown_session")
case.punt("access0", ether(AC, CLIENT, [], 0x8864, pppoe(0x0FFF, LCP, terminate)), "unknown_session")
case.punt("access0", ether(AC, CLIENT, [(0x8100, 5)], 0x8864, pppoe(1, LCP, terminate)), "unknown_session")
case.drop("access0", ether(BROADCAST, CLIENT, [], 0x8864, pppoe(1, LCP, terminate)), "pppoe_broadcast")
case.punt_up("alice", terminate, "ppp_keepalive", protocol=LCP)
case.punt("access0", ether(AC, CLIENT_2, [], 0x8863, bytes.fromhex("11a700010000")), "discovery")

# PPP.
case = Case("ppp_keepalive", "LCP echoes and terminations go to control in a class of their own.")
for code in (9, 10, 5, 6):
    case.punt_up("alice", bytes([code, 1, 0, 8, 1, 2, 3, 4]), "ppp_keepalive", protocol=LCP)

case = Case("ppp_control", "Other control frames go to control, unknown and compressed protocols too.")
for protocol in (LCP, PAP, CHAP, IPCP, IPV6CP, 0x80FD, 0x0000, 0x00FD, 0x003D, 0x2145, 0xFFFF):
    case.punt_up("alice", bytes([1, 1, 0, 8, 1, 2, 3, 4]), "ppp_control", protocol=protocol)
    case.punt_up("alice", b"", "ppp_control", protocol=protocol)

case = Case("control_limited", "Control frames of one session are handed over within a limit, which is its own; its packets flow.")
for n in range(66):
    packet, reason = [(bytes([1, n, 0, 4]), "ppp_control"), (bytes([5, n, 0, 4]), "ppp_keepalive")][n % 2]
    if n < 64:
        case.punt_up("alice", packet, reason, protocol=LCP)
    else:
        case.drop_up("alice", packet, "control_limited", protocol=LCP)
case.up("alice", udp4(ALICE, SERVER))
case.punt_up("bob", bytes([1, 1, 0, 4]), "ppp_control", protocol=LCP)
case.wait_ms(1100)
case.punt_up("alice", bytes([1, 1, 0, 4]), "ppp_control", protocol=LCP)

case = Case("ipv4_not_up", "IPv4 in and for a session without IPCP; its IPv6 flows.", [alice(ipv4_up=False), bob()])
case.drop_up("alice", udp4(ALICE, SERVER), "ipv4_not_up")
case.drop_down(udp4(SERVER, ALICE), "ipv4_not_up", "alice")
case.up("alice", udp6(ALICE6, SERVER6))
case.down("alice", udp6(SERVER6, ALICE6))

case = Case("ipv6_not_up", "IPv6 in and for a session without IPV6CP; its IPv4 flows.", [alice(ipv6_up=False), bob()])
case.drop_up("alice", udp6(ALICE6, SERVER6), "ipv6_not_up")
case.drop_down(udp6(SERVER6, ALICE6), "ipv6_not_up", "alice")
case.up("alice", udp4(ALICE, SERVER))
case.down("alice", udp4(SERVER, ALICE))

case = Case("ipv4-only-session", "A session with IPv4 alone is whole.", [
    session("four", 1, CLIENT, ipv4=ALICE, ipv6_up=False)])
case.up("four", udp4(ALICE, SERVER))
case.down("four", udp4(SERVER, ALICE))
case.drop_down(udp6(SERVER6, ALICE6), "no_subscriber")
case.router_told(error6(ROUTER_IP6, SERVER6, unreachable6(3), udp6(SERVER6, ALICE6)))

case = Case("ipv6-only-session", "A session with IPv6 alone is whole.", [
    session("six", 1, CLIENT, prefix="2001:db8:100:1::/64", delegated="2001:db8:8000:100::/56", ipv4_up=False)])
case.up("six", udp6(ALICE6, SERVER6))
case.up("six", udp6(ALICE6_DELEGATED, SERVER6))
case.down("six", udp6(SERVER6, ALICE6))
case.down("six", udp6(SERVER6, ALICE6_DELEGATED))
case.drop_down(udp4(SERVER, ALICE), "no_subscriber")
case.router_told(error4(ROUTER_IP, SERVER, 3, 1, udp4(SERVER, ALICE)))

# Padding.
case = Case("p23-link-padding-down", "P23: link padding of a short frame does not travel down, and LENGTH is the packet's.")
packet = tcp4(SERVER, ALICE)
assert len(raw(packet)) == 40 and len(case.frame_down(packet)) == 60
case.down("alice", packet)

case = Case("p23-link-padding-up", "P23: link padding of a short frame does not travel up; the frame is padded anew.")
packet = udp4(ALICE, SERVER, b"")
assert len(raw(packet)) == 28 and len(case.frame_up("alice", packet)) == 60
case.up("alice", packet)

case = Case("p23-link-padding-across", "P23: from client to client a short frame is padded anew.")
case.across("alice", udp4(ALICE, BOB, b""), "bob")

case = Case("p23-padding-within-the-ppp-packet", "What follows the packet within LENGTH is cut by its total length.")
for packet in (udp4(ALICE, SERVER), udp6(ALICE6, SERVER6)):
    case.give("access0", case.frame_up("alice", raw(packet) + b"\xaa" * 9))
    case.expect("core0", case.to_router(hop(packet)))
    case.count_session("alice", "up", packet)

case = Case("p23-trailing-octets-of-a-long-frame", "Octets behind LENGTH of a frame that needs no padding.")
packet = udp4(ALICE, SERVER, b"x" * 100)
case.give("access0", case.frame_up("alice", packet) + b"\xaa" * 40)
case.expect("core0", case.to_router(hop(packet)))
case.count_session("alice", "up", packet)

case = Case("p55-counters-of-a-dead-line", "P55: ten packets of 100 octets up, twenty down: the counters are exact.")
for _ in range(10):
    case.up("alice", sized4(ALICE, SERVER, 100))
for _ in range(20):
    case.down("alice", sized4(SERVER, ALICE, 100))

case = Case("burst-keeps-order", "A burst of all kinds: what is sent keeps its order, and each frame ends once.")
case.burst = True
for n in range(32):
    if n % 4 == 0:
        case.up("alice", udp4(ALICE, SERVER, b"n" * n))
    elif n % 4 == 1:
        case.punt_up("alice", lcp_echo(9, 0x01020304, number=n), "ppp_keepalive", protocol=LCP)
    elif n % 4 == 2:
        case.drop("access0", ether(AC, CLIENT_2, [], 0x8864, pppoe(1, IPV4, udp4(ALICE, SERVER))), "session_mac")
    else:
        case.across("alice", udp4(ALICE, BOB, b"n" * n), "bob")

case = Case("burst-of-two-families-down", "A burst of both families for two sessions.")
case.burst = True
for n in range(8):
    case.down("alice", udp4(SERVER, ALICE, b"n" * n))
    case.down("bob", udp6(SERVER6, BOB6, b"n" * n))
    case.down("alice", udp6(SERVER6, ALICE6_DELEGATED, b"n" * n))
    case.down("bob", udp4(SERVER, BOB, b"n" * n))
