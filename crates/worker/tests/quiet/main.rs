//! A worker's loop allocates nothing and calls nothing of the system. One EAL, hence a test binary of its own, and one
//! test in it: the allocator and the kernel watch a thread.

#[allow(dead_code, reason = "the golden cases' own test uses all of it")]
#[path = "../../../dataplane/tests/golden/pcap.rs"]
mod pcap;
#[allow(dead_code, reason = "the golden cases' own test uses all of it")]
#[path = "../../../dataplane/tests/golden/world.rs"]
mod world;

use arrayvec::ArrayVec;
use bng_dataplane::{BURST_FRAMES_MAX, PuntClass, Reason};
use bng_dpdk::{Eal, EalConfig, HugePages, Mbuf, Mempool, MempoolConfig, Port, RingPort, RingPortConfig};
use bng_sync::proof::{WatchedAllocator, allocations_in, forbid_system_calls};
use bng_sync::{FrameConsumer, FrameProducer, Qsbr, frame_ring};
use bng_wire::PortIndex;
use bng_worker::{IdleConfig, Peers, Stop, Transmit, Worker, WorkerParts, WorkerPort};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use world::World;

#[global_allocator]
static ALLOCATOR: WatchedAllocator = WatchedAllocator;

/// A worker with the pipeline of one case, on ports of rings.
struct Bed {
    worker: Worker<bng_dataplane::Pipeline>,
    far: Vec<RingPort>,
    counters: Arc<bng_dataplane::WorkerCounters>,
    _punted: [FrameConsumer; PuntClass::COUNT],
    _inject: FrameProducer,
    _ports: Vec<Port>,
}

impl Bed {
    fn new(eal: &Eal, pool: &Mempool, case: &str, world: World) -> Self {
        let World { pipeline, port_names, .. } = world;
        let (mut hands, mut far, mut ports) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..port_names.len() {
            let config = RingPortConfig { name: format!("quiet{number}"), ..RingPortConfig::default() };
            let (port, end) = Port::from_rings(eal, &config, pool).unwrap_or_else(|error| panic!("{case}: {error}"));
            let (rx, mut tx) = port.take_queues();
            let tx = Transmit::Own(tx.pop().expect("a queue"));
            hands.push(WorkerPort { port: PortIndex(number as u8), rx, tx, steer: false });
            far.push(end);
            ports.push(port);
        }
        let counters = Arc::clone(pipeline.counters());
        let [keepalive, session, discovery, host] = PuntClass::ALL.map(|_| frame_ring(1 << 18, 256));
        let (inject, injected) = frame_ring(1 << 16, 256);
        let worker = Worker::new(WorkerParts {
            stages: pipeline,
            ports: hands,
            pool: pool.clone(),
            reader: Qsbr::new(1).reader(0).expect("a place"),
            punt: [keepalive.0, session.0, discovery.0, host.0],
            inject: injected,
            peers: Peers::none(),
            counters: Arc::clone(&counters),
            status: Arc::default(),
            idle: IdleConfig::default(),
            stop: Stop::new(),
        })
        .expect("parts that fit");
        let punted = [keepalive.1, session.1, discovery.1, host.1];
        Self { worker, far, counters, _punted: punted, _inject: inject, _ports: ports }
    }

    fn feed(&mut self, pool: &Mempool, port: usize, frame: &[u8]) {
        let mut mbuf = pool.alloc().expect("a buffer");
        if mbuf.fill(frame) {
            self.far[port].feeds[0].feed(&mut ArrayVec::<Mbuf, 1>::from([mbuf]));
        }
    }

    /// Frames sent, by all ports.
    fn drain(&mut self) -> usize {
        let mut burst = ArrayVec::<Mbuf, BURST_FRAMES_MAX>::new();
        let mut sent = 0;
        for end in &mut self.far {
            while end.drains[0].drain(&mut burst) > 0 {
                sent += burst.len();
                Mbuf::free_burst(&mut burst);
            }
        }
        sent
    }
}

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dataplane/tests/golden/cases");
    let mut cases: Vec<_> =
        std::fs::read_dir(folder).expect("the golden cases").map(|case| case.expect("one").path()).collect();
    cases.sort();
    cases
}

fn open(eal: &Eal, pool: &Mempool, case: &Path) -> (Bed, Vec<(usize, Vec<u8>)>) {
    let name = case.file_name().expect("a name").to_string_lossy().into_owned();
    let config = std::fs::read_to_string(case.join("config.json")).expect("a configuration");
    let world = World::new(&serde_json::from_str(&config).expect("JSON"));
    let names = world.port_names.clone();
    let received = names.iter().enumerate().flat_map(|(port, name)| {
        pcap::read(&case.join(format!("in-{name}.pcap"))).into_iter().map(move |record| (port, record.octets))
    });
    let frames = received.collect();
    (Bed::new(eal, pool, &name, world), frames)
}

#[test]
fn a_worker_allocates_nothing_and_calls_nothing() {
    assert!(allocations_in(|| drop(std::hint::black_box(vec![1u8; 100]))) >= 2, "the allocator does not watch");
    let cpus = bng_dpdk::affinity::current().expect("a mask");
    let eal = Eal::init(EalConfig {
        file_prefix: "bngtest-quiet".to_owned(),
        huge_pages: HugePages::None,
        memory_mb: 64,
        main_cpu: cpus[0],
        worker_cpus: vec![cpus[0]],
        ..EalConfig::default()
    })
    .expect("the EAL comes up without huge pages");
    let config = MempoolConfig { name: "quiet".to_owned(), mbufs: 2047, cache: 32, ..MempoolConfig::default() };
    let pool = Mempool::new(&eal, &config).expect("a pool");

    let cases = cases();
    assert!(cases.len() >= 150, "only {} golden cases", cases.len());
    let (mut frames, mut sent, mut reasons) = (0, 0, [false; Reason::COUNT]);
    for case in &cases {
        let (mut bed, received) = open(&eal, &pool, case);
        for (port, frame) in &received {
            bed.feed(&pool, *port, frame);
            let count = allocations_in(|| while bed.worker.step() {});
            assert_eq!(count, 0, "{}: the worker allocates", case.display());
            sent += bed.drain();
            frames += 1;
        }
        for reason in Reason::ALL {
            reasons[*reason as usize] |= bed.counters.reason(*reason).get() > 0;
        }
        drop(bed);
        assert_eq!(pool.in_use(), 0, "{}: every buffer is at home", case.display());
    }
    let provoked = reasons.iter().filter(|seen| **seen).count();
    assert!(frames > 300 && sent > 100 && provoked > 50, "{frames} frames, {sent} sent, {provoked} reasons");

    calls_nothing(&eal, &pool, &cases);
}

/// Bursts of every frame of a case with traffic each way, and empty polls, on a thread that the kernel ends at its first
/// system call.
fn calls_nothing(eal: &Eal, pool: &Mempool, cases: &[PathBuf]) {
    const TURNS: u64 = 100_000;
    let frames_of = |case: &PathBuf| {
        let files = std::fs::read_dir(case).expect("a folder").map(|file| file.expect("a file").file_name());
        files.filter(|file| file.to_string_lossy().starts_with("out-")).count()
    };
    let case = cases.iter().max_by_key(|case| frames_of(case)).expect("a case");
    let (mut bed, frames) = open(eal, pool, case);
    let turns: &'static AtomicU64 = Box::leak(Box::default());
    let sent: &'static AtomicU64 = Box::leak(Box::default());
    let pool = pool.clone();
    // Never joined: it ends by the kernel's hand, within the call that shows that the watch is on.
    std::thread::spawn(move || {
        // What a thread does once, such as setting up the clock's mapping, comes before.
        bed.worker.step();
        if let Err(errno) = forbid_system_calls() {
            turns.store(u64::MAX - u64::from(errno.unsigned_abs()), Ordering::Release);
            return;
        }
        for turn in 0..TURNS {
            if let Some((port, frame)) = frames.get(turn as usize % (frames.len() + 1)) {
                bed.feed(&pool, *port, frame);
            }
            bed.worker.step();
            sent.fetch_add(bed.drain() as u64, Ordering::Relaxed);
            turns.store(turn + 1, Ordering::Release);
        }
        std::thread::sleep(Duration::from_millis(1));
        turns.store(TURNS + 1, Ordering::Release);
        std::mem::forget((bed, pool, frames));
    });
    let deadline = Instant::now() + Duration::from_secs(60);
    while turns.load(Ordering::Acquire) < TURNS {
        assert!(Instant::now() < deadline, "the thread was ended in turn {}", turns.load(Ordering::Acquire));
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(
        turns.load(Ordering::Acquire) <= TURNS + 1,
        "the kernel refuses: {}",
        u64::MAX - turns.load(Ordering::Acquire)
    );
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(turns.load(Ordering::Acquire), TURNS, "a sleep went unpunished: the kernel does not watch");
    assert!(sent.load(Ordering::Relaxed) > 0, "nothing was sent");
}
