//! A port on the kernel's tap, in a network namespace made for the test. Needs root and /dev/net/tun, and says so
//! where they are missing: a test that is skipped in silence proves nothing.

mod common;

use arrayvec::ArrayVec;
use bng_dpdk::{Mbuf, Mempool, Netns, Port, PortConfig, PortError, RxQueue};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A namespace that is gone when the test is.
struct Namespace(String);

impl Namespace {
    fn new(what: &str) -> Self {
        let name = format!("bngtest-{what}-{}", std::process::id());
        let made = Command::new("ip").args(["netns", "add", &name]).status();
        assert!(
            made.is_ok_and(|status| status.success()) && std::path::Path::new("/dev/net/tun").exists(),
            "this test needs root, the ip command and /dev/net/tun"
        );
        Self(name)
    }

    fn ip(&self, arguments: &str) -> String {
        let output = Command::new("ip").arg("-n").arg(&self.0).args(arguments.split(' ')).output().unwrap();
        assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

fn tap(namespace: &Namespace, device: &str) -> PortConfig {
    PortConfig {
        device: device.to_owned(),
        netns: Some(Netns::new(&namespace.0)),
        rx_queues: 2,
        tx_queues: 2,
        mtu: 1504,
        ..PortConfig::default()
    }
}

/// One test at a time: a child that one starts while another opens a tap could inherit it, and keep it alive.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn a_tap_in_another_namespace_carries_frames_both_ways() {
    let _turn = turn();
    let eal = common::eal();
    let pool = common::pool(&eal, "tap");
    let namespace = Namespace::new("frames");
    let mac = [2, 0, 0, 0, 0, 9];
    let config = PortConfig { mac: Some(mac), ..tap(&namespace, "net_tap0,iface=bngt0") };
    let port = Port::open(&eal, &config, &pool).unwrap();
    assert!(is_ignored(libc::SIGRTMIN() + 1) && is_ignored(libc::SIGRTMAX()), "the tap would signal each frame");
    assert!(Command::new("ip").args(["link", "show", "bngt0"]).output().is_ok_and(|output| !output.status.success()));
    let shown = namespace.ip("link show bngt0");
    assert!(shown.contains("mtu 1504") && shown.contains("02:00:00:00:00:09"), "{shown}");
    assert_eq!(port.mac().unwrap(), mac);
    assert_eq!((port.mtu(), port.frame_octets_max()), (1504, 1526));
    assert!(!port.hashes(), "the tap's driver only pretends to");

    link_state_follows_the_kernel(&namespace, &port);

    let (mut rx, mut tx) = port.take_queues();
    namespace.ip("addr add 198.51.100.1/24 dev bngt0");
    namespace.ip("neigh add 198.51.100.2 lladdr 02:00:00:00:00:09 dev bngt0 nud permanent");
    let mut echo = receive_echo(&namespace, &mut rx);
    turn_round(echo.bytes_mut());
    let mut burst = ArrayVec::<Mbuf, 32>::from_iter([echo]);
    assert_eq!(tx[1].tx_burst(&mut burst), 1);
    let deadline = Instant::now() + Duration::from_secs(2);
    let received = || namespace.ip("-s link show bngt0");
    while !received().lines().any(|line| line.trim_start().starts_with("98 ")) {
        assert!(Instant::now() < deadline, "the kernel did not get the frame: {}", received());
        std::thread::sleep(Duration::from_millis(10));
    }
    let stats = port.stats().unwrap();
    assert!(stats.rx_packets >= 1 && stats.tx_packets == 1, "{stats:?}");
    longest_frames_leave(&mut tx[0], &pool);

    drop((rx, tx));
    port.close().unwrap();
    assert!(!namespace.ip("link show").contains("bngt0"), "the kernel's side goes with the port");
    assert_eq!(pool.in_use(), 0);
}

fn link_state_follows_the_kernel(namespace: &Namespace, port: &Port) {
    assert!(port.link().unwrap().up);
    namespace.ip("link set bngt0 down");
    assert!(!port.link().unwrap().up);
    namespace.ip("link set bngt0 up");
    assert!(port.link().unwrap().up);
}

/// Sends an echo request from the kernel and takes it off whichever queue it comes on.
fn receive_echo(namespace: &Namespace, rx: &mut [RxQueue]) -> Mbuf {
    let mut ping = Command::new("ip")
        .args(["netns", "exec", &namespace.0, "ping", "-c1", "-W1", "198.51.100.2"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(2);
    let mut burst = ArrayVec::<Mbuf, 32>::new();
    let mut echo = None;
    while echo.is_none() && Instant::now() < deadline {
        for queue in rx.iter_mut() {
            queue.rx_burst(&mut burst);
        }
        let is_echo = |mbuf: &Mbuf| mbuf.len() == 98 && mbuf.bytes()[12..14] == [8, 0] && mbuf.bytes()[23] == 1;
        echo = burst.iter().position(is_echo).map(|found| burst.remove(found));
        burst.clear();
    }
    let _ = ping.kill();
    let _ = ping.wait();
    echo.expect("the kernel's echo request arrives")
}

/// Swaps the MAC and the IPv4 addresses, which keeps every checksum right.
fn turn_round(frame: &mut [u8]) {
    let (front, back) = frame[..12].split_at_mut(6);
    front.swap_with_slice(back);
    let (source, destination) = frame[26..34].split_at_mut(4);
    source.swap_with_slice(destination);
}

fn longest_frames_leave(tx: &mut bng_dpdk::TxQueue, pool: &Mempool) {
    let mut burst = ArrayVec::<Mbuf, 32>::new();
    for _ in 0..4 {
        let mut mbuf = pool.alloc().unwrap();
        assert!(mbuf.fill(&vec![0x42; tx.frame_octets_max()]));
        burst.push(mbuf);
    }
    assert_eq!(tx.tx_burst(&mut burst), 4);
}

fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal - 1) & 1 == 1
}

#[test]
fn what_would_break_the_driver_is_refused_before_it_is_made() {
    let _turn = turn();
    let eal = common::eal();
    let pool = common::pool(&eal, "refused");
    let namespace = Namespace::new("refused");
    let open = |config: PortConfig| Port::open(&eal, &config, &pool).err().unwrap();
    let base = |device: &str| tap(&namespace, device);

    let error = open(PortConfig { rx_queues: 5, tx_queues: 5, ..base("net_tap1,iface=bngt1") });
    assert!(matches!(error, PortError::QueueCount { wanted: 5, max: 4, .. }), "{error}");
    let error = open(PortConfig { rx_queues: 2, tx_queues: 3, ..base("net_tap1,iface=bngt1") });
    assert!(matches!(error, PortError::UnequalQueues { rx: 2, tx: 3, .. }), "{error}");
    let error = open(PortConfig { mtu: 1508, ..base("net_tap1,iface=bngt1") });
    assert!(matches!(error, PortError::Mtu { wanted: 1508, max: 1504, .. }), "{error}");
    let error = open(base("net_tap1,ifname=bngt1"));
    assert!(matches!(error, PortError::UnknownArgument { .. }), "{error}");
    let error = open(base("net_tap1,iface=a-name-of-sixteen"));
    assert!(matches!(error, PortError::InterfaceName { .. }), "{error}");
    let error = open(PortConfig { netns: Some(Netns::new("bngtest-none")), ..base("net_tap1,iface=bngt1") });
    assert!(matches!(error, PortError::Netns { .. }), "{error}");
    assert!(!namespace.ip("link show").contains("bngt1"));
}

#[test]
fn one_interface_is_one_port() {
    let _turn = turn();
    let eal = common::eal();
    let pool = common::pool(&eal, "one");
    let namespace = Namespace::new("one");
    let path = format!("/var/run/netns/{}", namespace.0);
    let config = PortConfig { netns: Some(Netns::new(&path)), ..tap(&namespace, "net_tap2,iface=bngt2") };
    let port = Port::open(&eal, &config, &pool).unwrap();
    assert!(matches!(Port::open(&eal, &config, &pool), Err(PortError::AlreadyOpen { .. })));
    let stolen = Port::open(&eal, &tap(&namespace, "net_tap3,iface=bngt2"), &pool).err().unwrap();
    assert!(matches!(stolen, PortError::InterfaceInUse { .. }), "{stolen}");
    assert!(port.link().unwrap().up, "the first is none the worse");
    let mut child = Command::new("sleep").arg("5").spawn().unwrap();
    port.close().unwrap();
    assert!(!namespace.ip("link show").contains("bngt2"), "no child keeps it alive");
    let _ = child.kill();
    let _ = child.wait();
    let again = Port::open(&eal, &config, &pool).expect("closed and opened again");
    assert!(again.link().unwrap().up);
}
