"""What golden cases are made of: a box with its neighbours, frames in, frames out, counts.

Every octet comes from scapy or is written out by hand; nothing here asks bngd."""

import json
import os
import shutil

from scapy.all import ICMP, IP, TCP, UDP, Dot1Q, Ether, ICMPv6DestUnreach, ICMPv6PacketTooBig
from scapy.all import ICMPv6TimeExceeded, IPv6, PPPoE, RawPcapWriter, Raw, conf

conf.verb = 0

AC = "02:00:00:00:00:fe"
CLIENT = "02:00:00:00:00:01"
CLIENT_2 = "02:00:00:00:00:02"
CORE_MAC = "02:00:00:00:01:fe"
ROUTER = "02:00:00:00:01:01"
BROADCAST = "ff:ff:ff:ff:ff:ff"

ALICE, BOB = "192.0.2.10", "192.0.2.11"
GATEWAY = "192.0.2.1"
SERVER = "203.0.113.9"
ALICE6, BOB6 = "2001:db8:100:1::10", "2001:db8:100:2::10"
ALICE6_DELEGATED = "2001:db8:8000:1ff::1"
SERVER6 = "2001:db8:ffff::9"
ROUTER_IP, ROUTER_IP6 = "198.51.100.1", "2001:db8::1"

IPV4, IPV6, LCP, IPCP, IPV6CP, PAP, CHAP = 0x0021, 0x0057, 0xC021, 0x8021, 0x8057, 0xC023, 0xC223
SHORTEST = 60
# Rises by a millisecond with each frame unless a case says otherwise.
START_US = 1_000_000_000

TAGS = {
    "untagged": [],
    "priority": [(0x8100, 0)],
    "dot1q": [(0x8100, 100)],
    "dot1ad": [(0x88A8, 100)],
    "9100": [(0x9100, 100)],
    "qinq-88a8": [(0x88A8, 100), (0x8100, 200)],
    "qinq-8100": [(0x8100, 100), (0x8100, 200)],
    "qinq-9100": [(0x9100, 100), (0x8100, 200)],
    "qinq-88a8-88a8": [(0x88A8, 100), (0x88A8, 200)],
}


def session(name, number, mac, **change):
    """A session as the box has it, IPv4 and IPv6 up; `change` names what is different."""
    it = {
        "name": name,
        "port": "access0",
        "id": number,
        "mac": mac,
        "vlans": [],
        "mtu": 1492,
        "gateway": GATEWAY,
        "mss_clamp": True,
        "source_check": True,
        "ipv4_up": True,
        "ipv6_up": True,
    }
    it.update(change)
    return it


def alice(**change):
    it = session("alice", 1, CLIENT, ipv4=ALICE, prefix="2001:db8:100:1::/64", delegated="2001:db8:8000:100::/56")
    it.update(change)
    return it


def bob(**change):
    it = session("bob", 2, CLIENT_2, ipv4=BOB, prefix="2001:db8:100:2::/64")
    it.update(change)
    return it


def raw(packet):
    return packet if isinstance(packet, bytes) else bytes(packet)


def pad(frame, octet):
    return frame + bytes([octet]) * max(0, SHORTEST - len(frame))


def ether(dst, src, vlans, ethertype, payload, pcp=0, dei=0):
    """An Ethernet frame with these tags, each (TPID, VID), not padded."""
    kinds = [tpid for tpid, _ in vlans] + [ethertype]
    frame = Ether(dst=dst, src=src, type=kinds[0])
    for (_, vid), inner in zip(vlans, kinds[1:]):
        frame /= Dot1Q(vlan=vid, prio=pcp, id=dei, type=inner)
    return raw(frame) + raw(payload)


def pppoe(number, protocol, payload, **header):
    """A PPPoE session packet. Scapy's PPP would compress the protocol field, which RFC 2516 section 7 advises against."""
    payload = raw(payload)
    return raw(PPPoE(sessionid=number, len=len(payload) + 2, **header)) + protocol.to_bytes(2, "big") + payload


def protocol_of(packet):
    return IPV6 if raw(packet)[:1] and raw(packet)[0] >> 4 == 6 else IPV4


def hop(packet, **change):
    """The packet after one hop, all checksums made anew."""
    packet = packet.copy()
    if IPv6 in packet and packet.firstlayer().name == "IPv6":
        packet.hlim -= 1
    else:
        packet.ttl -= 1
        del packet.chksum
    return packet


def sealed(packet):
    """An IPv4 packet's octets with all checksums and lengths filled in."""
    return raw(packet)


def udp4(src, dst, data=b"some octets to fill the frame", ttl=64, sport=40000, dport=40001, **header):
    return IP(src=src, dst=dst, ttl=ttl, id=header.pop("id", 0x1234), **header) / UDP(sport=sport, dport=dport) / Raw(data)


def udp6(src, dst, data=b"some octets to fill the frame", hlim=64, sport=40000, dport=40001, **header):
    return IPv6(src=src, dst=dst, hlim=hlim, **header) / UDP(sport=sport, dport=dport) / Raw(data)


def sized4(src, dst, octets, **header):
    return udp4(src, dst, bytes(n // 8 & 0xFF for n in range(octets - 28)), **header)


def sized6(src, dst, octets, **header):
    return udp6(src, dst, bytes(n // 8 & 0xFF for n in range(octets - 48)), **header)


def tcp4(src, dst, flags="A", options=(), data=b"", **header):
    return IP(src=src, dst=dst, ttl=64, id=0x1234, **header) / segment(flags, options, data)


def tcp6(src, dst, flags="A", options=(), data=b"", **header):
    return IPv6(src=src, dst=dst, hlim=64, **header) / segment(flags, options, data)


def segment(flags, options, data):
    it = TCP(sport=40000, dport=443, seq=1, ack=2, flags=flags, window=64240, options=list(options))
    return it / Raw(data) if data else it


def about4(packet):
    """What an ICMP error quotes: no more than makes 576 octets of it (RFC 1812 section 4.3.2.3)."""
    return Raw(raw(packet)[: 576 - 28])


def about6(packet):
    """What an ICMPv6 error quotes: no more than the least MTU takes (RFC 4443 section 2.4 c)."""
    return Raw(raw(packet)[: 1280 - 48])


def error4(src, dst, kind, code, packet, mtu=0, tos=0xC0):
    """An ICMP error of the box: precedence 6 (RFC 1812 section 4.3.2.5), and atomic (RFC 6864 section 4.1)."""
    # Written out: scapy's own quoted layers would be made anew from what they mean.
    it = ICMP(type=kind, code=code)
    if mtu:
        it.nexthopmtu = mtu
    return IP(src=src, dst=dst, ttl=64, tos=tos, id=0, flags="DF") / it / about4(packet)


def error6(src, dst, it, packet, tc=0xC0):
    return IPv6(src=src, dst=dst, hlim=64, tc=tc) / it / about6(packet)


def exceeded6():
    return ICMPv6TimeExceeded(code=0)


def unreachable6(code):
    return ICMPv6DestUnreach(code=code)


def too_big6(mtu):
    return ICMPv6PacketTooBig(mtu=mtu)


def lcp_echo(code, magic, data=b"", number=7):
    return bytes([code, number]) + (8 + len(data)).to_bytes(2, "big") + magic.to_bytes(4, "big") + data


class Case:
    """One case: what the box is, what comes in, what must come out and be counted."""

    all = {}

    def __init__(self, name, shows, sessions=None, **change):
        assert name not in Case.all, name
        Case.all[name] = self
        self.name = name
        self.sessions = {it["name"]: it for it in (sessions if sessions is not None else [alice(), bob()])}
        self.routes = [
            {"to": "0.0.0.0/0", "via": "neighbour router"},
            {"to": "192.0.2.0/24", "via": "pool pool4"},
            {"to": GATEWAY + "/32", "via": "local"},
            {"to": "::/0", "via": "neighbour router"},
            {"to": "2001:db8:100::/48", "via": "pool pool6"},
        ]
        for it in self.sessions.values():
            if "delegated" in it:
                self.routes.append({"to": it["delegated"], "via": "session " + it["name"]})
        access = {"role": "access", "mac": AC, "mtu": 1508, "tpids": ["8100", "88a8", "9100"], "vids": []}
        core = {"role": "core", "mac": CORE_MAC, "mtu": 1500, "tpids": ["8100"], "vids": [0, 10]}
        self.config = {
            "shows": shows,
            "limits": {"unknown_sessions_per_second": 100, "errors_per_second": 1000},
            "router": {"ipv4": ROUTER_IP, "ipv6": ROUTER_IP6},
            "ports": [
                {"name": "access0", **access},
                {"name": "access1", **access},
                {"name": "core0", **core},
            ],
            "pools": [
                {"name": "pool4", "prefix": "192.0.2.0/24"},
                {"name": "pool6", "prefix": "2001:db8:100::/48", "unit": 64},
            ],
            "neighbours": [{"name": "router", "port": "core0", "mac": ROUTER, "mtu": 1500, "resolved": True}],
        }
        self.config.update(change)
        self.frames = {"in": {}, "out": {}}
        self.counters = {}
        self.now_us = START_US
        self.burst = False

    # The box.

    def route(self, to, via):
        self.routes = [it for it in self.routes if it["to"] != to] + [{"to": to, "via": via}]
        return self

    def neighbour(self, name="router", **change):
        for it in self.config["neighbours"]:
            if it["name"] == name:
                it.update(change)
                return self
        fresh = {"name": name, "port": "core0", "mac": ROUTER, "mtu": 1500, "resolved": True}
        self.config["neighbours"].append({**fresh, **change})
        return self

    def port(self, name, **change):
        next(it for it in self.config["ports"] if it["name"] == name).update(change)
        return self

    # Time.

    def wait_ms(self, milliseconds):
        self.now_us += milliseconds * 1000

    # Frames.

    def give(self, port, frame):
        """The frame comes in on the port, a millisecond after the last or in one burst with it."""
        if not self.burst:
            self.now_us += 1000
        self.frames["in"].setdefault(port, []).append((self.now_us, raw(frame)))

    def expect(self, port, frame):
        self.frames["out"].setdefault(port, []).append((self.now_us, raw(frame)))

    def count(self, name, number=1):
        self.counters[name] = self.counters.get(name, 0) + number

    def count_session(self, name, direction, packet):
        self.count(f"session.{name}.{direction}_packets")
        self.count(f"session.{name}.{direction}_octets", len(raw(packet)))

    def frame_up(self, name, packet, protocol=None, vlans=None, pcp=0, dei=0, **header):
        """The frame of a session's client, padded with aa."""
        it = self.sessions[name]
        packet = raw(packet)
        payload = pppoe(it["id"], protocol if protocol is not None else protocol_of(packet), packet, **header)
        vlans = it["vlans"] if vlans is None else vlans
        return pad(ether(AC, it["mac"], vlans, 0x8864, payload, pcp, dei), 0xAA)

    def frame_down(self, packet, vlans=(), dst=CORE_MAC):
        """The frame of the next router, padded with aa."""
        kind = 0x86DD if raw(packet)[0] >> 4 == 6 else 0x0800
        return pad(ether(dst, ROUTER, list(vlans), kind, packet), 0xAA)

    def to_session(self, name, packet, pcp=0, protocol=None):
        """The frame that a session's client must get."""
        it = self.sessions[name]
        # A client that sends a lone priority tag gets none.
        vlans = [] if it["vlans"] == [(0x8100, 0)] else it["vlans"]
        payload = pppoe(it["id"], protocol or protocol_of(packet), packet)
        return pad(ether(it["mac"], AC, vlans, 0x8864, payload, pcp), 0)

    def to_router(self, packet, vlans=(), mac=ROUTER):
        kind = 0x86DD if raw(packet)[0] >> 4 == 6 else 0x0800
        return pad(ether(mac, CORE_MAC, list(vlans), kind, packet), 0)

    # What happens.

    def up(self, name, packet, out=None, **frame):
        """A packet of a session's client goes to the next router; `out` where it is more than a hop older."""
        self.give(self.sessions[name]["port"], self.frame_up(name, packet, **frame))
        self.expect("core0", self.to_router(hop(packet) if out is None else out))
        self.count_session(name, "up", packet)

    def down(self, name, packet, out=None, pcp=0, **frame):
        """A packet from the next router goes to a session's client."""
        self.give("core0", self.frame_down(packet, **frame))
        self.reaches(name, hop(packet) if out is None else out, pcp)

    def reaches(self, name, packet, pcp=0):
        self.expect(self.sessions[name]["port"], self.to_session(name, packet, pcp))
        self.count_session(name, "down", packet)

    def across(self, name, packet, to, out=None):
        """A packet from one client to another."""
        self.give(self.sessions[name]["port"], self.frame_up(name, packet))
        self.count_session(name, "up", packet)
        self.reaches(to, hop(packet) if out is None else out)

    def drop(self, port, frame, reason, session=None, direction="up"):
        self.give(port, frame)
        self.count("reason." + reason)
        if session:
            self.count(f"session.{session}.{direction}_drops")

    def drop_up(self, name, packet, reason, **frame):
        self.drop(self.sessions[name]["port"], self.frame_up(name, packet, **frame), reason, name)

    def drop_down(self, packet, reason, session=None, **frame):
        self.drop("core0", self.frame_down(packet, **frame), reason, session, "down")

    def punt(self, port, frame, reason, session=None):
        """The frame goes to control as it is."""
        self.give(port, frame)
        self.count("reason." + reason)
        self.punted = reason

    def punt_up(self, name, packet, reason, **frame):
        self.punt(self.sessions[name]["port"], self.frame_up(name, packet, **frame), reason)

    def told(self, name, packet):
        """A session's client gets an ICMP error of the box."""
        self.reaches(name, packet)
        self.count("worker.errors_sent")

    def router_told(self, packet):
        """A host behind the next router gets an ICMP error of the box."""
        self.expect("core0", self.to_router(packet))
        self.count("worker.errors_sent")

    # To disk.

    def totals(self):
        counters = dict(self.counters)
        for way, direction in (("in", "rx"), ("out", "tx")):
            for port, frames in self.frames[way].items():
                if all(it["name"] != port or it["role"] != "absent" for it in self.config["ports"]):
                    counters[f"port.{port}.{direction}_frames"] = len(frames)
                    counters[f"port.{port}.{direction}_octets"] = sum(len(frame) for _, frame in frames)
        # What is counted under no port of the table is not counted by port.
        return dict(sorted(counters.items()))

    def write(self, root):
        folder = os.path.join(root, self.name)
        os.makedirs(folder)
        config = dict(self.config, sessions=[], routes=self.routes)
        for it in self.sessions.values():
            vlans = [[f"{tpid:04x}", vid] for tpid, vid in it["vlans"]]
            config["sessions"].append(dict(it, vlans=vlans))
        for name, value in (("config", config), ("counters", self.totals())):
            with open(os.path.join(folder, name + ".json"), "w", encoding="ascii") as file:
                json.dump(value, file, indent=2)
                file.write("\n")
        for way, ports in self.frames.items():
            for port, frames in ports.items():
                path = os.path.join(folder, f"{way}-{port}.pcap")
                with RawPcapWriter(path, linktype=1, endianness="<", snaplen=65535) as file:
                    file.write_header(None)
                    for at_us, frame in frames:
                        file.write_packet(frame, sec=at_us // 1_000_000, usec=at_us % 1_000_000)


def write_all(root):
    shutil.rmtree(root, ignore_errors=True)
    for case in Case.all.values():
        case.write(root)
