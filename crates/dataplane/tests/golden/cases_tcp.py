"""The maximum segment size."""

from scapy.all import IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, PadN, in4_chksum

from box import *

SOME = [("Timestamp", (1, 0))]


def mss(value):
    return [("MSS", value)]


# Name, what it shows, flags, MSS sent, MSS of what comes out by family (None: as it was), options in front.
PLAIN = [
    ("syn", "a SYN's MSS is lowered to what fits", "S", 1460, (1452, 1432), []),
    ("syn-ack", "so is a SYN-ACK's", "SA", 1460, (1452, 1432), []),
    ("fits", "an MSS that fits is left alone", "S", 1432, (None, None), []),
    ("between", "1440 fits IPv4 and is lowered for IPv6", "S", 1440, (None, 1432), []),
    ("small", "536 is never raised", "S", 536, (None, None), []),
    ("one", "an MSS of 1 is left alone", "S", 1, (None, None), []),
    ("largest", "an MSS of 65535 is lowered", "S", 65535, (1452, 1432), []),
    ("nops", "behind two NOPs", "S", 1460, (1452, 1432), [("NOP", None)] * 2),
    ("odd", "at an odd offset", "S", 1460, (1452, 1432), [("NOP", None)]),
    ("behind-scale", "behind a window scale, an odd offset too", "S", 1460, (1452, 1432), [("WScale", 7)]),
    ("behind-timestamp", "behind a timestamp and SACK", "S", 1460, (1452, 1432), [("SAckOK", b"")] + SOME),
    ("no-syn", "a segment without SYN is left alone", "A", 1460, (None, None), []),
    ("rst", "a reset is left alone", "R", 1460, (None, None), []),
]

for name, shows, flags, sent, (four, six), front in PLAIN:
    for family, make, near, far, lowered in (("ipv4", tcp4, ALICE, SERVER, four), ("ipv6", tcp6, ALICE6, SERVER6, six)):
        case = Case(f"p22-mss-{name}-{family}", f"P22: {shows}, {family.upper().replace('IPV', 'IPv')}, both ways.")
        options = front + mss(sent)
        after = front + mss(lowered or sent)
        case.up("alice", make(near, far, flags, options), hop(make(near, far, flags, after)))
        case.down("alice", make(far, near, flags, options), hop(make(far, near, flags, after)))

case = Case("p22-mss-none", "P22: no MSS is inserted where there is none.")
for options in ([], [("NOP", None)] * 4, SOME):
    case.up("alice", tcp4(ALICE, SERVER, "S", options))
    case.down("alice", tcp4(SERVER, ALICE, "SA", options))
    case.up("alice", tcp6(ALICE6, SERVER6, "S", options))

case = Case("p22-mss-mru-1500", "P22: with an MRU of 1500, 1460 and 1440 pass.", [alice(mtu=1500), bob()])
case.up("alice", tcp4(ALICE, SERVER, "S", mss(1460)))
case.down("alice", tcp4(SERVER, ALICE, "SA", mss(1460)))
case.up("alice", tcp6(ALICE6, SERVER6, "S", mss(1440)))
case.down("alice", tcp6(SERVER6, ALICE6, "SA", mss(1440)))

case = Case("p22-mss-mru-1442", "P22: the MRU in force decides.", [alice(mtu=1442), bob()])
case.up("alice", tcp4(ALICE, SERVER, "S", mss(1460)), hop(tcp4(ALICE, SERVER, "S", mss(1402))))
case.down("alice", tcp6(SERVER6, ALICE6, "SA", mss(1440)), hop(tcp6(SERVER6, ALICE6, "SA", mss(1382))))

case = Case("p22-mss-off", "P22: with the clamp off nothing is changed.", [alice(mss_clamp=False), bob()])
case.up("alice", tcp4(ALICE, SERVER, "S", mss(1460)))
case.down("alice", tcp6(SERVER6, ALICE6, "SA", mss(1440)))

case = Case("p22-mss-across", "P22: between subscribers the narrower one decides.", [alice(mtu=1400), bob()])
case.across("bob", tcp4(BOB, ALICE, "S", mss(1460)), "alice", hop(tcp4(BOB, ALICE, "S", mss(1360))))
case.across("alice", tcp4(ALICE, BOB, "SA", mss(1460)), "bob", hop(tcp4(ALICE, BOB, "SA", mss(1360))))

case = Case("p22-mss-with-data", "P22: a SYN with data (RFC 7413): the data are covered by the checksum, an odd count of them too.")
for data in (b"fast open", b"fast opens"):
    case.up("alice", tcp4(ALICE, SERVER, "S", mss(1460), data), hop(tcp4(ALICE, SERVER, "S", mss(1452), data)))
    case.down("alice", tcp6(SERVER6, ALICE6, "S", mss(1440), data), hop(tcp6(SERVER6, ALICE6, "S", mss(1432), data)))

case = Case("p22-mss-later-fragment", "P22: what looks like a SYN in a later fragment is data.")
later = raw(segment("S", mss(1460), b""))
case.up("alice", IP(src=ALICE, dst=SERVER, ttl=64, id=7, proto=6, frag=64) / Raw(later))
case.down("alice", IPv6(src=SERVER6, dst=ALICE6, hlim=64) / IPv6ExtHdrFragment(nh=6, offset=64, id=7) / Raw(later))

case = Case("p22-mss-first-fragment", "P22: the first fragment of a SYN is lowered; its checksum is that of the whole segment.")
# 1,200 octets of data, of which the first fragment has 800.
data = bytes(1200)
for value, way in ((1460, "in"), (1452, "out")):
    whole = raw(tcp4(ALICE, SERVER, "S", mss(value), data))[20:]
    piece = IP(src=ALICE, dst=SERVER, ttl=64, id=7, proto=6, flags="MF") / Raw(whole[:824])
    if way == "in":
        before = piece
    else:
        case.up("alice", before, hop(piece))

case = Case("p22-mss-behind-ipv6-extensions", "P22: a SYN behind extension headers, and in a first fragment, is lowered.")
options = IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 4)])
case.up("alice", IPv6(src=ALICE6, dst=SERVER6, hlim=64) / options / segment("S", mss(1440), b""),
        hop(IPv6(src=ALICE6, dst=SERVER6, hlim=64) / options / segment("S", mss(1432), b"")))
# The checksum of a first fragment is that of the whole segment.
made = {}
for value in (1440, 1432):
    whole = raw(tcp6(SERVER6, ALICE6, "S", mss(value), bytes(1200)))[40:]
    made[value] = IPv6(src=SERVER6, dst=ALICE6, hlim=64) / IPv6ExtHdrFragment(nh=6, m=1, id=7) / Raw(whole[:824])
case.down("alice", made[1440], hop(made[1432]))

case = Case("p22-mss-with-ip-options", "P22: a SYN behind IP options is lowered.")
nops = b"\x01\x01\x01\x01"
case.up("alice", IP(src=ALICE, dst=SERVER, ttl=64, options=nops) / segment("S", mss(1460), b""),
        hop(IP(src=ALICE, dst=SERVER, ttl=64, options=nops) / segment("S", mss(1452), b"")))

# Options that are malformed are not touched, nor is what is behind them.
case = Case("p22-mss-malformed", "P22: malformed options, and an MSS behind the end of the list, are left alone.")
for octets in ("0002 0405 b400 0000", "0500 0204 05b4 0000", "0528 0204 05b4 0000", "0203 0500 0000 0000"):
    head = raw(TCP(sport=40000, dport=443, seq=1, flags="S", window=64240, dataofs=7))[:20]
    body = head[:16] + b"\0\0" + head[18:] + bytes.fromhex(octets)
    total = in4_chksum(6, IP(src=ALICE, dst=SERVER), body)
    case.up("alice", IP(src=ALICE, dst=SERVER, ttl=64, proto=6) / Raw(body[:16] + total.to_bytes(2, "big") + body[18:]))

case = Case("tcp-cut-within-its-header", "A first fragment that ends within the TCP header or its options passes as it is.")
for octets in (16, 24):
    data = raw(segment("S", [("NOP", None)] * 4 + mss(1460), b""))[:octets]
    case.up("alice", IP(src=ALICE, dst=SERVER, ttl=64, id=7, proto=6, flags="MF") / Raw(data))
    case.down("alice", IP(src=SERVER, dst=ALICE, ttl=64, id=7, proto=6, flags="MF") / Raw(data))
