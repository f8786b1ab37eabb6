//! From the first call to the clean-up, in one process: hence one test.

mod common;

use arrayvec::ArrayVec;
use bng_dpdk::{
    Eal, EalConfig, EalError, HugePages, LogLevel, Mbuf, Port, PortConfig, PortError, RingPortConfig, WorkerFailure,
    affinity, rdtsc, tsc_hz,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

#[test]
fn the_eal_comes_up_once_works_and_goes() {
    let before = affinity::current().unwrap();
    assert_eq!(affinity::restore(), Err(affinity::AffinityError::NotSaved));
    mistakes_that_can_be_mended();

    let lines = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&lines);
    let log = Box::new(move |level: LogLevel, line: &str| kept.lock().unwrap().push((level, line.to_owned())));
    let file_prefix = "bngtest-life".to_owned();
    let eal = Eal::init(EalConfig { log: Some(log), file_prefix, ..common::config() }).unwrap();
    assert!(bng_dpdk::version().starts_with("DPDK 22.11"), "{}", bng_dpdk::version());
    assert!(!eal.uses_huge_pages());
    assert_eq!(eal.workers(), 2);
    assert!(tsc_hz() > 1_000_000);
    assert!(lines.lock().unwrap().iter().any(|(_, line)| line.starts_with("EAL: ")), "{lines:?}");
    assert_eq!(Eal::init(common::config()).err(), Some(EalError::AlreadyInitialised));

    affinity_is_given_back(&before);
    devices_say_why_they_cannot_be_opened(&eal);
    workers_forward_between_rings(&eal);
    workers_that_fail_are_named(&eal);

    drop(eal);
    assert!(!std::path::Path::new("/var/run/dpdk/bngtest-life").exists(), "nothing is left behind");
    assert_eq!(Eal::init(common::config()).err(), Some(EalError::AlreadyInitialised));
}

/// What is found before DPDK is asked leaves the way open for another try.
fn mistakes_that_can_be_mended() {
    let refuse = |config: EalConfig| Eal::init(config).err().expect("a mistake in the configuration");
    let error = refuse(EalConfig { worker_cpus: vec![4096], ..common::config() });
    assert!(matches!(error, EalError::NoSuchCpu { cpu: 4096, .. }), "{error}");
    assert!(error.to_string().contains("may use 0"), "{error}");
    let error = refuse(EalConfig { worker_cpus: Vec::new(), ..common::config() });
    assert_eq!(error, EalError::WorkerCount { workers: 0 });
    let error = refuse(EalConfig { worker_cpus: vec![0; 128], ..common::config() });
    assert_eq!(error, EalError::WorkerCount { workers: 128 });
    let error = refuse(EalConfig { file_prefix: "../x".to_owned(), ..common::config() });
    assert!(matches!(error, EalError::BadValue { what: "a file prefix", .. }), "{error}");
    let error = refuse(EalConfig { pci_addresses: vec!["eth0".to_owned()], ..common::config() });
    assert!(matches!(error, EalError::BadValue { what: "a PCI address", .. }), "{error}");
    let error = refuse(EalConfig { memory_mb: u32::MAX, ..common::config() });
    assert!(matches!(error, EalError::NotEnoughMemory { .. }), "{error}");
    let error = refuse(EalConfig { huge_pages: HugePages::Required, memory_mb: u32::MAX, ..common::config() });
    assert!(matches!(error, EalError::NoHugePages | EalError::TooFewHugePages { .. }), "{error}");
    assert!(error.to_string().contains("vm.nr_hugepages"), "{error}");
}

fn affinity_is_given_back(before: &[usize]) {
    assert_eq!(affinity::current().unwrap(), [0], "the EAL pins its caller");
    let inherited = std::thread::spawn(|| {
        let inherited = affinity::current().unwrap();
        affinity::restore().unwrap();
        (inherited, affinity::current().unwrap())
    });
    assert_eq!(inherited.join().unwrap(), (vec![0], before.to_vec()));
    assert!(affinity::pin(100_000).is_err());
}

fn devices_say_why_they_cannot_be_opened(eal: &Eal) {
    let pool = common::pool(eal, "devices");
    let open =
        |device: &str| Port::open(eal, &PortConfig { device: device.to_owned(), ..PortConfig::default() }, &pool);
    let error = open("net_nonsense0").err().unwrap();
    assert!(matches!(error, PortError::UnknownDriver { .. }), "{error}");
    let error = open("0000:3b:00.0").err().unwrap();
    assert!(matches!(error, PortError::PciDisabled { .. }), "{error}");
    let error = open("eth0").err().unwrap();
    assert!(matches!(error, PortError::Device(_)), "{error}");
    let error = open("net_pcap0,rx_pcap=/nonexistent/file.pcap").err().unwrap();
    assert!(matches!(error, PortError::Probe { .. } | PortError::Refused { .. }), "{error}");

    let first = open("net_null0").unwrap();
    let error = open("net_null0").err().unwrap();
    assert!(matches!(error, PortError::AlreadyOpen { .. }), "{error}");
    let (mut rx, mut tx) = first.take_queues();
    let mut burst = ArrayVec::<Mbuf, 32>::new();
    assert_eq!(rx[0].rx_burst(&mut burst), 32, "net_null always has frames");
    assert_eq!(tx[0].tx_burst(&mut burst), 32);
    drop((rx, tx));
    first.close().unwrap();
    open("net_null0").expect("closed and opened again").close().unwrap();

    let wide = PortConfig { device: "net_null1".to_owned(), mtu: 2040, ..PortConfig::default() };
    assert!(matches!(Port::open(eal, &wide, &pool), Err(PortError::BuffersTooSmall { .. })));
    let none = PortConfig { device: "net_null2".to_owned(), rx_queues: 0, ..PortConfig::default() };
    assert!(matches!(Port::open(eal, &none, &pool), Err(PortError::QueueCount { .. })));
    assert_eq!(pool.in_use(), 0);
}

fn workers_forward_between_rings(eal: &Eal) {
    const FRAMES: usize = 10_000;
    let pool = common::pool(eal, "forward");
    let config = RingPortConfig { name: "fwd".to_owned(), rx_queues: 2, tx_queues: 2, ..RingPortConfig::default() };
    let (port, mut far) = Port::from_rings(eal, &config, &pool).unwrap();
    let (rx, tx) = port.take_queues();
    let stop = Arc::new(AtomicBool::new(false));
    let loops: Vec<_> = rx
        .into_iter()
        .zip(tx)
        .map(|(mut rx, mut tx)| {
            let stop = Arc::clone(&stop);
            move |context: bng_dpdk::WorkerContext| {
                let (mut burst, mut frames) = (ArrayVec::<Mbuf, 32>::new(), 0);
                while !stop.load(Ordering::Relaxed) {
                    let started = rdtsc();
                    if rx.rx_burst(&mut burst) == 0 {
                        std::thread::yield_now();
                    }
                    frames += tx.tx_burst(&mut burst);
                    assert!(rdtsc() >= started);
                }
                (context.worker, frames, rx, tx)
            }
        })
        .collect();
    let mut workers = eal.launch_workers(loops).unwrap();
    assert!(!workers.any_finished());
    let busy = eal.launch_workers(vec![|_: bng_dpdk::WorkerContext| ()]).err().unwrap();
    assert!(matches!(busy, WorkerFailure::NotStarted { worker: 0, .. }), "{busy}");

    let (mut sent, mut received) = (0, 0);
    let (mut out, mut back) = (ArrayVec::<Mbuf, 32>::new(), ArrayVec::<Mbuf, 32>::new());
    while received < FRAMES {
        for queue in 0..2 {
            if sent < FRAMES && sent - received < 512 && pool.alloc_bulk(&mut out) > 0 {
                sent += far.feeds[queue].feed(&mut out);
                out.clear();
            }
            received += far.drains[queue].drain(&mut back);
            back.clear();
        }
        std::thread::yield_now();
    }
    stop.store(true, Ordering::Relaxed);
    let results: Vec<_> = workers.join().into_iter().map(Result::unwrap).collect();
    assert_eq!(results.iter().map(|result| result.0).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(results.iter().map(|result| result.1).sum::<usize>(), sent);
    assert!(results.iter().all(|result| result.1 > 0));
    drop(results);
    port.close().unwrap();
    drop(far);
    assert_eq!(pool.in_use(), 0, "whole again");
}

fn workers_that_fail_are_named(eal: &Eal) {
    let closure = |context: bng_dpdk::WorkerContext| {
        assert!(context.worker == 0, "on purpose");
        context.lcore
    };
    let results = eal.launch_workers(vec![closure, closure]).unwrap().join();
    assert_eq!(results[0], Ok(1));
    let failure = results[1].clone().unwrap_err();
    assert_eq!(failure.to_string(), "worker 1 panicked: on purpose");
    let blocked = eal.launch_workers(vec![|_: bng_dpdk::WorkerContext| blocked_signals()]).unwrap().join();
    let blocked = blocked[0].clone().unwrap();
    assert_ne!(blocked >> (libc::SIGTERM - 1) & 1, 0, "SIGTERM is for other threads");
    assert_eq!(blocked >> (libc::SIGRTMIN() - 1), 0, "the real-time signals are not blocked");
    assert_eq!(blocked_signals() >> (libc::SIGTERM - 1) & 1, 0);
    let results = eal.launch_workers(vec![|_: bng_dpdk::WorkerContext| 7; 2]).unwrap().join();
    assert_eq!(results, [Ok(7), Ok(7)], "an lcore whose closure panicked takes the next");
    let failure = eal.launch_workers(vec![|_: bng_dpdk::WorkerContext| (); 3]).err().unwrap();
    assert_eq!(failure, WorkerFailure::TooMany { wanted: 3, have: 2 });
}

/// The signals that the calling thread blocks, bit 0 for signal 1.
fn blocked_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap()
}
