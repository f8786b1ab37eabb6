//! Writes the seeds: `cargo run --no-default-features --example write_seeds`, in the folder `fuzz`.
//!
//! Those of the receive path are what a client of the test kit says to the box, which answers the same each time.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use bng_fuzz::input::Output;
use bng_fuzz::ipv6;
use bng_fuzz::receive_path::{ACCESS_FRAME, CORE_FRAME, TIME};
use bng_fuzz::world::{CORE_MAC, ROUTER, World};
use bng_testkit::{Client, ClientConfig, ClientState, Login};

const SERVER: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 9);

/// A box, a client, and the input that does the same.
struct Recording {
    world: World,
    client: Client,
    out: Output,
    access_frames: Vec<Vec<u8>>,
}

impl Recording {
    fn new(config: ClientConfig) -> Self {
        Self { world: World::new(), client: Client::new(config), out: Output::default(), access_frames: Vec::new() }
    }

    /// Brings the client's frames to the box and the box's to the client until both are silent.
    fn talk(&mut self, mut frames: Vec<Vec<u8>>) {
        while !frames.is_empty() {
            for frame in frames.drain(..) {
                self.out.octet(ACCESS_FRAME);
                self.out.octets(&frame);
                self.world.receive(bng_fuzz::world::ACCESS, &[&frame]);
                self.access_frames.push(frame);
            }
            let now = self.world.now();
            for (_, frame) in std::mem::take(&mut self.world.sent) {
                self.client.handle(now, &frame, &mut frames);
            }
        }
    }

    fn pass(&mut self, time: Duration) {
        self.out.octet(TIME);
        self.out.time(time);
        self.world.pass(time);
        let mut frames = Vec::new();
        let now = self.world.now();
        for (_, frame) in std::mem::take(&mut self.world.sent) {
            self.client.handle(now, &frame, &mut frames);
        }
        self.client.handle_timeout(now, &mut frames);
        self.talk(frames);
    }

    fn dial(&mut self) {
        let mut frames = Vec::new();
        self.client.dial(self.world.now(), &mut frames);
        self.talk(frames);
        for _ in 0..5 {
            if self.client.state() != ClientState::Open {
                self.pass(Duration::from_secs(1));
            }
        }
    }

    /// Data both ways.
    fn data(&mut self) {
        let mut frames = Vec::new();
        self.client.send_data(SERVER, b"ping", &mut frames);
        self.talk(frames);
        if let Some(address) = self.client.address() {
            let frame = datagram_down(address);
            self.out.octet(CORE_FRAME);
            self.out.octets(&frame);
            self.world.receive(bng_fuzz::world::CORE, &[&frame]);
            self.world.sent.clear();
        }
    }

    fn hang_up(&mut self) {
        let mut frames = Vec::new();
        self.client.hang_up(&mut frames);
        self.talk(frames);
        self.pass(Duration::from_secs(4));
    }
}

/// A UDP datagram from the core to a client, its UDP checksum left out.
fn datagram_down(to: Ipv4Addr) -> Vec<u8> {
    let header = bng_wire::ipv4::Header::new(SERVER.to_bits(), to.to_bits(), 17, 64, 12);
    let mut packet = vec![0; 20];
    header.write(&mut packet).expect("room");
    packet.extend_from_slice(&[0, 7, 0, 9, 0, 12, 0, 0, b'p', b'o', b'n', b'g']);
    [&CORE_MAC.0[..], &ROUTER.0, &[8, 0], &packet].concat()
}

/// The name, the input, and the frames in it that came from the client.
type Seed = (&'static str, Vec<u8>, Vec<Vec<u8>>);

fn receive_path() -> Vec<Seed> {
    let number = ClientConfig::numbered;
    let configs = [
        ("chap_untagged", number(1)),
        ("pap_one_tag", ClientConfig { login: Login::PapOnly, vlans: vec![(0x8100, 100)], ..number(2) }),
        (
            "chap_two_tags_jumbo",
            ClientConfig {
                vlans: vec![(0x88a8, 100), (0x8100, 7)],
                max_payload: Some(1500),
                mru: Some(1496),
                circuit_id: Some(b"eth 1/1/1:10".to_vec()),
                ..number(3)
            },
        ),
        ("wrong_password", ClientConfig { password: "wrong".into(), ..number(4) }),
    ];
    configs
        .into_iter()
        .map(|(name, config)| {
            let mut recording = Recording::new(config);
            recording.dial();
            recording.data();
            recording.pass(Duration::from_secs(31));
            recording.data();
            recording.hang_up();
            println!("{name}: {:?}", recording.world.reached);
            (name, recording.out.0, recording.access_frames)
        })
        .collect()
}

fn write(target: &str, name: &str, octets: &[u8]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target);
    fs::create_dir_all(&folder).expect("the folder of the seeds");
    fs::write(folder.join(name), octets).expect("a seed");
}

fn main() {
    let hex = |text: &str| -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
        let pairs = digits.chunks(2).map(|pair| std::str::from_utf8(pair).expect("ASCII"));
        pairs.map(|pair| u8::from_str_radix(pair, 16).expect("digits")).collect()
    };
    for (name, input, frames) in receive_path() {
        write("receive_path", name, &input);
        // The same frames are seeds of the parsers under them; two clients have every kind.
        if !matches!(name, "pap_one_tag" | "chap_two_tags_jumbo") {
            continue;
        }
        let mut ppp = Output::default();
        ppp.octet(0);
        for (number, frame) in frames.iter().enumerate().take(12) {
            write("network", &format!("{name}_{number}"), frame);
            let at =
                12 + frame[12..].windows(2).position(|pair| pair == [0x88, 0x63] || pair == [0x88, 0x64]).unwrap_or(0);
            write("pppoe", &format!("{name}_{number}"), &frame[at + 2..]);
            if frame[at + 1] == 0x64 {
                let packet = &frame[at + 10..];
                write("ppp_packet", &format!("{name}_{number}"), packet);
                let protocols = [0xc021u16, 0xc023, 0xc223, 0x8021, 0x8057, 0x80fd];
                let protocol = u16::from_be_bytes([frame[at + 8], frame[at + 9]]);
                if let Some(index) = protocols.iter().position(|known| *known == protocol) {
                    ppp.octet(index as u8);
                    ppp.octets(packet);
                    ppp.octet(8);
                    ppp.octet(2);
                    ppp.octet(12);
                }
            }
        }
        write("ppp_session", name, &ppp.0);
    }
    write("network", "datagram_down", &datagram_down(Ipv4Addr::new(192, 0, 2, 2)));
    let mut out = Output::default();
    for (what, tags) in [
        (0x01, "0101 0000"),
        (0x11, "0101 0000 0103 0004 deadbeef"),
        (0x21, "0101 0005 6973702d61"),
        (0x31, "0101 0000 0120 0002 05dc 0110 0002 abcd"),
        (0x05, "0101 0000 0103 0002 0102"),
        (0x25, "0101 0005 6973702d61"),
        (0x35, "0101 0000 0105 001b 00000de9 010c 65746820312f312f313a3130 0207 7375622d303031"),
        (0x02, "0101 0000 0104 0000"),
    ] {
        out.octet(what);
        out.octets(&hex(tags));
    }
    out.octet(0x03);
    out.0.extend_from_slice(&[1, 0]);
    out.octets(&[]);
    out.octet(0x06);
    out.octet(0x07);
    out.time(Duration::from_secs(61));
    write("discovery", "all_kinds", &out.0);
    let mut out = Output::default();
    out.octet(2);
    // One client's life: solicitations, an address and a prefix, all that may be done with them, each with the pools'
    // answers and a while behind it.
    let (client, server) = ("0001 000a 00030001 02005e100001", "0002 0008 0002 00007dd0 0102");
    let empty = "0003 000c 00000001 00000000 00000000 0019 000c 00000002 00000000 00000000";
    let held = "0003 0028 00000001 00000000 00000000 0005 0018 20010db8000000000000000000000000 00000000 00000000
        0019 0029 00000002 00000000 00000000 001a 0019 00000000 00000000 38 20010db8000002000000000000000000";
    for (what, octets) in [
        (ipv6::ICMP, "85 00 0000 00000000".to_owned()),
        (ipv6::ICMP | 0xa0, "87 00 0000 00000000 fe800000000000000000000000000001".to_owned()),
        (ipv6::ICMP | 0x40, "80 00 0000 00010002 70696e67".to_owned()),
        (ipv6::DHCP, format!("01 000001 {client} {empty} 0006 0004 0017 0018")),
        (ipv6::DHCP, format!("03 000002 {client} {server} {empty}")),
        (ipv6::DHCP, format!("05 000003 {client} {server} {held}")),
        (ipv6::DHCP, format!("06 000004 {client} {held}")),
        (ipv6::DHCP, format!("04 000005 {client} {held}")),
        (ipv6::DHCP, format!("0b 000006 {client} 0006 0006 0017 0018 0020")),
        (ipv6::DHCP | 0x10, format!("03 000007 {client} {server} {empty}")),
        (ipv6::DHCP, format!("09 000008 {client} {server} {held}")),
        (ipv6::DHCP, format!("08 000009 {client} {server} {held}")),
        (ipv6::DHCP, format!("01 00000a {client} 000e 0000 {empty}")),
    ] {
        out.octet(what);
        out.octets(&hex(&octets));
        out.octet(ipv6::POOLS);
        out.octet(ipv6::POOLS);
        out.octet(ipv6::TIME);
        out.time(Duration::from_secs(1));
    }
    write("ipv6", "one_life", &out.0);
}
