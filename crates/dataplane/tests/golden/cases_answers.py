"""What the data plane answers by itself: LCP echoes, and pings of the gateway."""

from scapy.all import ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6ND_NS, fragment

from box import *

MAGIC = 0x0A0B0C0D
THEIRS = 0x01020304
GATEWAY6 = "fe80::a1b2:c3d4"


def echoing(**change):
    return [alice(echo_magic=MAGIC, **change), bob(echo_magic=0)]


def echo_answered(case, name, request, reply, rest=b"", **frame):
    case.give(case.sessions[name]["port"], case.frame_up(name, request + rest, protocol=LCP, **frame))
    case.expect(case.sessions[name]["port"], case.echo_reply(name, reply, **frame))
    case.count(f"session.{name}.echoes")
    case.count("worker.echoes_answered")


def echo_reply(self, name, packet, **_):
    """The answer has the session's tags, with the priority of control frames."""
    it = self.sessions[name]
    vlans = [] if it["vlans"] == [(0x8100, 0)] else it["vlans"]
    return pad(ether(it["mac"], AC, vlans, 0x8864, pppoe(it["id"], LCP, packet), self.config.get("control_pcp", 6)), 0)


Case.echo_reply = echo_reply

case = Case("echo", "An LCP Echo-Request is answered with our magic number, same identifier.", echoing())
echo_answered(case, "alice", lcp_echo(9, THEIRS), lcp_echo(10, MAGIC))
echo_answered(case, "alice", lcp_echo(9, 0, number=255), lcp_echo(10, MAGIC, number=255))

case = Case("echo-data", "The data of an Echo-Request come back.", echoing())
for octets in (1, 3, 30, 100, 1484):
    data = bytes(n & 0xFF for n in range(octets))
    echo_answered(case, "alice", lcp_echo(9, THEIRS, data), lcp_echo(10, MAGIC, data))
    case.wait_ms(1100)

case = Case("echo-padding", "What follows the LCP packet within LENGTH is padding and does not come back.", echoing())
echo_answered(case, "alice", lcp_echo(9, THEIRS, b"abc"), lcp_echo(10, MAGIC, b"abc"), rest=b"\xee" * 5)
echo_answered(case, "alice", lcp_echo(9, THEIRS, b"abc"), lcp_echo(10, MAGIC, b"abc"), rest=b"\xee" * 500)

case = Case("echo-no-magic", "Where no magic number was agreed on, the answer's is 0 (P43).", echoing())
echo_answered(case, "bob", lcp_echo(9, 0), lcp_echo(10, 0))
echo_answered(case, "bob", lcp_echo(9, THEIRS), lcp_echo(10, 0))

for kind in ("priority", "dot1q", "qinq-88a8", "qinq-8100", "qinq-9100"):
    case = Case(f"echo-tags-{kind}", f"An Echo-Reply to a client with tags {kind}: with the priority of control frames.",
                [alice(echo_magic=MAGIC, vlans=TAGS[kind])])
    echo_answered(case, "alice", lcp_echo(9, THEIRS, b"tagged"), lcp_echo(10, MAGIC, b"tagged"))
    echo_answered(case, "alice", lcp_echo(9, THEIRS, b"tagged"), lcp_echo(10, MAGIC, b"tagged"), pcp=3)

case = Case("echo-control-priority-configured", "The priority of control frames is what the configuration says.",
            [alice(echo_magic=MAGIC, vlans=TAGS["qinq-88a8"])], control_pcp=3)
echo_answered(case, "alice", lcp_echo(9, THEIRS), lcp_echo(10, MAGIC))

case = Case("echo-for-control", "What is odd about an Echo-Request is for control: our own magic number, a bad length, a reply.", echoing())
for packet in (lcp_echo(9, MAGIC), bytes.fromhex("0901000700000000"), bytes.fromhex("0901000900000000"),
               bytes.fromhex("09010008000000"), b"\x09", lcp_echo(10, THEIRS), lcp_echo(5, THEIRS), lcp_echo(9, THEIRS, bytes(1485))):
    case.punt_up("alice", packet, "ppp_keepalive", protocol=LCP)

case = Case("echo_limited", "Four Echo-Requests a second are answered, apart from pings, and by session.", echoing())
for n in range(6):
    if n < 4:
        echo_answered(case, "alice", lcp_echo(9, THEIRS), lcp_echo(10, MAGIC))
    else:
        case.drop_up("alice", lcp_echo(9, THEIRS), "echo_limited", protocol=LCP)
echo_answered(case, "bob", lcp_echo(9, THEIRS), lcp_echo(10, 0))
case.wait_ms(1100)
echo_answered(case, "alice", lcp_echo(9, THEIRS), lcp_echo(10, MAGIC))


def ping4(src, dst, data=b"data of a ping", ttl=64, **header):
    return IP(src=src, dst=dst, ttl=ttl, id=0x4321, **header) / ICMP(type=8, id=0x1234, seq=1) / Raw(data)


def pong4(request):
    """The reply: identification and everything else of the request, time to live anew."""
    it = request.copy()
    it.src, it.dst, it.ttl = request.dst, request.src, 64
    it[ICMP].type = 0
    return it


def ping_answered(case, name, request, reply):
    case.give("access0", case.frame_up(name, request))
    case.count_session(name, "up", request)
    case.reaches(name, reply)
    case.count("worker.pings_answered")


case = Case("ping-gateway-ipv4", "A ping of the gateway is answered, whatever its time to live and length.")
for request in (ping4(ALICE, GATEWAY), ping4(ALICE, GATEWAY, ttl=1), ping4(ALICE, GATEWAY, b"odd"), ping4(ALICE, GATEWAY, b""),
                ping4(ALICE, GATEWAY, bytes(1464)), ping4(ALICE, GATEWAY, tos=0xB8), ping4(ALICE, GATEWAY, flags="DF")):
    ping_answered(case, "alice", request, pong4(request))

case = Case("ping-gateway-without-a-route", "The gateway's address may be one that no session of the pool has.")
case.routes = [it for it in case.routes if it["to"] != GATEWAY + "/32"]
ping_answered(case, "alice", ping4(ALICE, GATEWAY), pong4(ping4(ALICE, GATEWAY)))
ping_answered(case, "alice", ping4(ALICE, GATEWAY, ttl=1), pong4(ping4(ALICE, GATEWAY)))

case = Case("ping-odd", "No plain ping of the gateway's client: dropped, and nothing said.")
odd = ping4(ALICE, GATEWAY)
odd[ICMP].chksum = 1
for packet in (odd, pong4(ping4(GATEWAY, ALICE)), ping4(ALICE, GATEWAY, flags="MF"),
               IP(src=ALICE, dst=GATEWAY, options=b"\x01\x01\x01\x01") / ICMP(type=8) / Raw(b"data"),
               IP(src=ALICE, dst=GATEWAY) / ICMP(type=13, ts_ori=0, ts_rx=0, ts_tx=0)):
    case.drop_up("alice", packet, "host_refused")

case = Case("ping-spoofed", "A ping of the gateway from another's address is dropped before.")
case.drop_up("alice", ping4(BOB, GATEWAY), "ipv4_spoofed")

case = Case("ping_limited", "Twenty pings a second are answered, IPv4 and IPv6 together.", [alice(gateway_interface_id="00000000a1b2c3d4"), bob()])


def ping6(src, dst, data=b"data of a ping", hlim=64, **header):
    return IPv6(src=src, dst=dst, hlim=hlim, **header) / ICMPv6EchoRequest(id=0x1234, seq=1, data=data)


def pong6(request):
    echo = request[ICMPv6EchoRequest]
    it = IPv6(src=request.dst, dst=request.src, hlim=64, tc=request.tc, fl=request.fl)
    return it / ICMPv6EchoReply(id=echo.id, seq=echo.seq, data=echo.data)


for n in range(10):
    ping_answered(case, "alice", ping4(ALICE, GATEWAY), pong4(ping4(ALICE, GATEWAY)))
    ping_answered(case, "alice", ping6("fe80::1", GATEWAY6), pong6(ping6("fe80::1", GATEWAY6)))
case.drop_up("alice", ping4(ALICE, GATEWAY), "ping_limited")
case.drop_up("alice", ping6("fe80::1", GATEWAY6), "ping_limited")
case.wait_ms(1100)
ping_answered(case, "alice", ping4(ALICE, GATEWAY), pong4(ping4(ALICE, GATEWAY)))

case = Case("ping-gateway-ipv6", "A ping of the link-local gateway is answered, from the client's addresses.",
            [alice(gateway_interface_id="00000000a1b2c3d4"), bob()])
for request in (ping6("fe80::1", GATEWAY6), ping6(ALICE6, GATEWAY6), ping6("fe80::1", GATEWAY6, b"odd"),
                ping6("fe80::1", GATEWAY6, hlim=1), ping6("fe80::1", GATEWAY6, b""), ping6(ALICE6_DELEGATED, GATEWAY6, bytes(1444))):
    ping_answered(case, "alice", request, pong6(request))

case = Case("ping-ipv6-for-control", "No plain ping of the link-local gateway: control judges it.",
            [alice(gateway_interface_id="00000000a1b2c3d4"), bob()])
odd = ping6("fe80::1", GATEWAY6)
odd[ICMPv6EchoRequest].cksum = 1
for packet in (odd, ping6(SERVER6, GATEWAY6), ping6("fe80::1", "fe80::2"), pong6(ping6(GATEWAY6, "fe80::1")),
               IPv6(src="fe80::1", dst=GATEWAY6, hlim=255) / ICMPv6ND_NS(tgt=GATEWAY6)):
    case.punt_up("alice", packet, "ipv6_control")

case = Case("ping-priority", "The priority of an answered ping follows its DSCP like any packet's.",
            [alice(vlans=TAGS["qinq-88a8"], priority_map=1), bob()], priorities=[{"map": 0, "dscp": 46, "pcp": 5}])
request = ping4(ALICE, GATEWAY, tos=0xB8)
case.give("access0", case.frame_up("alice", request))
case.count_session("alice", "up", request)
case.reaches("alice", pong4(request), 5)
case.count("worker.pings_answered")
