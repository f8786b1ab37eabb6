//! What an idle worker costs, and what it does not hold up.

use crate::bed::{Bed, SEND, Script, Setup, deal, eal, scripted, wait_until};
use bng_dpdk::{Mempool, MempoolConfig, Netns, Port, PortConfig};
use bng_worker::{Forward, IdleConfig, Peers};
use std::process::Command;
use std::time::{Duration, Instant};

#[test]
fn a_sleeping_worker_holds_up_no_writer_and_wakes_for_a_frame() {
    let idle = IdleConfig { spin_us: 10, sleep_min_us: 1_000_000, sleep_max_us: 1_000_000 };
    let mut bed = Bed::start(&Setup { idle, ..Setup::new("asleep") }, |_, _, _| Script);
    let status = std::sync::Arc::clone(&bed.ends[0].status);
    wait_until("the worker sleeps", || status.sleeping.get() == 1);
    let asked = Instant::now();
    let epoch = bed.qsbr.advance();
    wait_until("the grace period ends", || bed.qsbr.passed(epoch));
    assert!(asked.elapsed() < Duration::from_millis(700), "it waited for the sleeper: {:?}", asked.elapsed());
    let frame = bed.frame(&scripted(SEND, &[1]));
    bed.feed(0, 0, [frame]);
    bed.sent(1, 0, 1);
    let ends = bed.finish();
    assert!(ends[0].status.sleeps.get() >= 1 && ends[0].status.sleep_cycles.get() > 0);
}

#[test]
fn a_worker_that_must_not_sleep_does_not() {
    let idle = IdleConfig { spin_us: 0, sleep_min_us: 0, sleep_max_us: 0 };
    let bed = Bed::start(&Setup { idle, ..Setup::new("awake") }, |_, _, _| Script);
    let status = std::sync::Arc::clone(&bed.ends[0].status);
    wait_until("many turns", || status.turns_empty.get() > 10_000);
    let ends = bed.finish();
    assert_eq!(ends[0].status.sleeps.get(), 0);
}

/// Two workers, two taps of two queues each: an idle box takes less than 10% of one CPU. Needs root and /dev/net/tun.
#[test]
fn an_idle_box_takes_less_than_a_tenth_of_a_cpu() {
    let setup = Setup { workers: 2, ..Setup::new("idle") };
    let (eal, turn) = eal();
    let namespace = Namespace::new();
    let config = MempoolConfig { name: "idle".to_owned(), mbufs: 2047, cache: 32, ..MempoolConfig::default() };
    let pool = Mempool::new(&eal, &config).unwrap();
    let open = |device: &str| {
        let config = PortConfig {
            device: device.to_owned(),
            netns: Some(Netns::new(&namespace.0)),
            rx_queues: 2,
            tx_queues: 2,
            ..PortConfig::default()
        };
        Port::open(&eal, &config, &pool).unwrap()
    };
    let ports = vec![open("net_tap0,iface=bngw0"), open("net_tap1,iface=bngw1")];
    let hands = deal(&ports, 2);
    let bed =
        Bed::run(&setup, &eal, turn, pool, ports, Vec::new(), hands, vec![Peers::none(), Peers::none()], |_, _, _| {
            Forward
        });
    let settled = || bed.ends.iter().all(|ends| ends.status.sleeps.get() > 20);
    wait_until("both workers have come to rest", settled);

    let (cpu_before, began) = (cpu_time(), Instant::now());
    std::thread::sleep(Duration::from_secs(2));
    let share = (cpu_time() - cpu_before).as_secs_f64() / began.elapsed().as_secs_f64();
    eprintln!("idle: {:.1}% of a CPU", share * 100.0);
    assert!(share < 0.10, "{:.1}% of a CPU", share * 100.0);
    bed.finish();
}

/// CPU time of this process, all threads.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    // Linux counts user and system time in hundredths of a second on every architecture (USER_HZ).
    Duration::from_millis(ticks * 10)
}

/// A namespace that is gone when the test is.
struct Namespace(String);

impl Namespace {
    fn new() -> Self {
        let name = format!("bngtest-worker-{}", std::process::id());
        let made = Command::new("ip").args(["netns", "add", &name]).status();
        assert!(
            made.is_ok_and(|status| status.success()) && std::path::Path::new("/dev/net/tun").exists(),
            "this test needs root, the ip command and /dev/net/tun"
        );
        Self(name)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}
