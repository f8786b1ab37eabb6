//! Workers on their lcores, and everything that they are connected to.

use arrayvec::ArrayVec;
use bng_dataplane::{BURST_FRAMES_MAX, FrameBuf, PuntClass, PuntMeta, Reason, Sink, WorkerCounters};
use bng_dpdk::{
    Eal, EalConfig, HugePages, Mbuf, Mempool, MempoolConfig, Port, RingPort, RingPortConfig, RxQueue, TxQueue, Workers,
};
use bng_sync::{FrameConsumer, FrameMeta, FrameProducer, Qsbr, frame_ring};
use bng_wire::PortIndex;
use bng_worker::{
    Frame, IdleConfig, Outlet, Peers, Stages, Stop, Transmit, Worker, WorkerParts, WorkerPort, WorkerStatus,
};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

pub(crate) type Burst = ArrayVec<Mbuf, 32>;

/// Worker lcores of the one EAL.
pub(crate) const WORKERS_MAX: usize = 2;

/// One test at a time has the lcores.
pub(crate) fn eal() -> (Eal, MutexGuard<'static, ()>) {
    static EAL: OnceLock<Eal> = OnceLock::new();
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let eal = EAL.get_or_init(|| {
        let cpus = bng_dpdk::affinity::current().expect("a mask");
        let cpu = |at: usize| cpus[at % cpus.len()];
        let config = EalConfig {
            file_prefix: "bngtest-worker".to_owned(),
            huge_pages: HugePages::None,
            memory_mb: 128,
            main_cpu: cpu(0),
            worker_cpus: (0..WORKERS_MAX).map(|at| cpu(at + 1)).collect(),
            ..EalConfig::default()
        };
        Eal::init(config).expect("the EAL comes up without huge pages")
    });
    bng_dpdk::affinity::restore().expect("the EAL is up");
    (eal.clone(), turn)
}

/// What differs between tests.
pub(crate) struct Setup {
    pub(crate) name: &'static str,
    pub(crate) workers: usize,
    pub(crate) ports: u8,
    pub(crate) mbufs: u32,
    pub(crate) ring_frames_max: u32,
    pub(crate) punt_records_max: usize,
    pub(crate) idle: IdleConfig,
    /// One queue a port, which the first worker polls: the load is shared in software.
    pub(crate) one_queue: bool,
}

impl Setup {
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            workers: 1,
            ports: 2,
            mbufs: 2047,
            ring_frames_max: 1024,
            punt_records_max: 256,
            idle: IdleConfig::default(),
            one_queue: false,
        }
    }
}

/// Control's ends of one worker.
pub(crate) struct Ends {
    pub(crate) punt: [FrameConsumer; PuntClass::COUNT],
    pub(crate) inject: FrameProducer,
    pub(crate) counters: Arc<WorkerCounters>,
    pub(crate) status: Arc<WorkerStatus>,
}

pub(crate) struct Bed<S> {
    pub(crate) pool: Mempool,
    pub(crate) far: Vec<RingPort>,
    pub(crate) ends: Vec<Ends>,
    pub(crate) qsbr: Arc<Qsbr>,
    pub(crate) stop: Stop,
    ports: Vec<Port>,
    workers: Option<Workers<Worker<S>>>,
    _turn: MutexGuard<'static, ()>,
}

/// The queues of several ports, dealt to workers: each has its own on every port.
pub(crate) fn deal(ports: &[Port], workers: usize) -> Vec<Vec<WorkerPort>> {
    let mut hands: Vec<Vec<WorkerPort>> = (0..workers).map(|_| Vec::new()).collect();
    for (port, index) in ports.iter().zip(0u8..) {
        let (rx, tx): (Vec<RxQueue>, Vec<TxQueue>) = port.take_queues();
        for ((rx, tx), hand) in rx.into_iter().zip(tx).zip(&mut hands) {
            hand.push(WorkerPort { port: PortIndex(index), rx: vec![rx], tx: Transmit::Own(tx), steer: false });
        }
    }
    hands
}

/// The one queue of each port for the first worker; the others send by it.
pub(crate) fn deal_one_queue(ports: &[Port], workers: usize) -> Vec<Vec<WorkerPort>> {
    let mut hands: Vec<Vec<WorkerPort>> = (0..workers).map(|_| Vec::new()).collect();
    for (port, index) in ports.iter().zip(0u8..) {
        let (rx, mut tx) = port.take_queues();
        let (mut rx, mut tx) = (Some(rx), tx.pop());
        for hand in &mut hands {
            let through = Transmit::Through { worker: 0, frame_octets_max: port.frame_octets_max() };
            hand.push(WorkerPort {
                port: PortIndex(index),
                rx: rx.take().unwrap_or_default(),
                tx: tx.take().map_or(through, Transmit::Own),
                steer: true,
            });
        }
    }
    hands
}

impl<S: Stages + Send + 'static> Bed<S> {
    pub(crate) fn start(setup: &Setup, stages: impl Fn(usize, &Arc<WorkerCounters>, &Arc<Qsbr>) -> S) -> Self {
        let (eal, turn) = eal();
        let config =
            MempoolConfig { name: setup.name.to_owned(), mbufs: setup.mbufs, cache: 32, ..MempoolConfig::default() };
        let pool = Mempool::new(&eal, &config).expect("a pool");
        let queues = if setup.one_queue { 1 } else { u16::try_from(setup.workers).expect("few") };
        let (mut ports, mut far) = (Vec::new(), Vec::new());
        for number in 0..setup.ports {
            let config = RingPortConfig {
                name: format!("{}{number}", setup.name),
                rx_queues: queues,
                tx_queues: queues,
                frames_max: setup.ring_frames_max,
                mtu: 1508,
            };
            let (port, end) = Port::from_rings(&eal, &config, &pool).expect("a port of rings");
            ports.push(port);
            far.push(end);
        }
        let (hands, peers) = if setup.one_queue {
            let peers = Peers::mesh(&eal, &pool, setup.name, setup.workers, 0x5eed).expect("rings");
            (deal_one_queue(&ports, setup.workers), peers)
        } else {
            (deal(&ports, setup.workers), (0..setup.workers).map(|_| Peers::none()).collect())
        };
        Self::run(setup, &eal, turn, pool, ports, far, hands, peers, stages)
    }

    #[expect(clippy::too_many_arguments, reason = "a helper of tests")]
    pub(crate) fn run(
        setup: &Setup,
        eal: &Eal,
        turn: MutexGuard<'static, ()>,
        pool: Mempool,
        ports: Vec<Port>,
        far: Vec<RingPort>,
        hands: Vec<Vec<WorkerPort>>,
        peers: Vec<Peers>,
        stages: impl Fn(usize, &Arc<WorkerCounters>, &Arc<Qsbr>) -> S,
    ) -> Self {
        let (qsbr, stop) = (Qsbr::new(setup.workers), Stop::new());
        let (mut ends, mut loops) = (Vec::new(), Vec::new());
        for (number, (hand, peers)) in hands.into_iter().zip(peers).enumerate() {
            let (counters, status) = (Arc::new(WorkerCounters::default()), Arc::new(WorkerStatus::default()));
            let rings: Vec<_> = (0..PuntClass::COUNT).map(|_| frame_ring(1 << 20, setup.punt_records_max)).collect();
            let (producers, consumers): (Vec<_>, Vec<_>) = rings.into_iter().unzip();
            let (inject, injected) = frame_ring(1 << 20, 4096);
            let worker = Worker::new(WorkerParts {
                stages: stages(number, &counters, &qsbr),
                ports: hand,
                pool: pool.clone(),
                reader: qsbr.reader(number).expect("a place"),
                punt: producers.try_into().expect("four rings"),
                inject: injected,
                peers,
                counters: Arc::clone(&counters),
                status: Arc::clone(&status),
                idle: setup.idle,
                stop: stop.clone(),
            })
            .expect("parts that fit");
            loops.push(move |_: bng_dpdk::WorkerContext| worker.run());
            let punt = consumers.try_into().expect("four rings");
            ends.push(Ends { punt, inject, counters, status });
        }
        let workers = Some(eal.launch_workers(loops).expect("free lcores"));
        Self { pool, far, ends, qsbr, stop, ports, workers, _turn: turn }
    }

    pub(crate) fn frame(&self, bytes: &[u8]) -> Mbuf {
        let mut mbuf = self.pool.alloc().expect("a buffer");
        assert!(mbuf.fill(bytes));
        mbuf
    }

    /// Lets a port receive frames on a queue.
    pub(crate) fn feed(&mut self, port: usize, queue: usize, frames: impl IntoIterator<Item = Mbuf>) {
        let mut burst: Burst = frames.into_iter().collect();
        self.far[port].feeds[queue].feed(&mut burst);
        assert!(burst.is_empty(), "the ring is full");
    }

    /// What a port sends on a queue, once there are `count` frames of it.
    pub(crate) fn sent(&mut self, port: usize, queue: usize, count: usize) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        let drain = &mut self.far[port].drains[queue];
        wait_until("frames are sent", || {
            let mut burst = Burst::new();
            drain.drain(&mut burst);
            frames.extend(burst.iter().map(|mbuf| mbuf.bytes().to_vec()));
            frames.len() >= count
        });
        assert_eq!(frames.len(), count);
        frames
    }

    /// What a port has sent on a queue by now.
    pub(crate) fn sent_by_then(&mut self, port: usize, queue: usize) -> Vec<Vec<u8>> {
        let (mut frames, mut burst) = (Vec::new(), Burst::new());
        while self.far[port].drains[queue].drain(&mut burst) > 0 {
            frames.extend(burst.drain(..).map(|mbuf| mbuf.bytes().to_vec()));
        }
        frames
    }

    /// What a worker punts in a class, once there are `count` frames of it.
    pub(crate) fn punted(&mut self, worker: usize, class: PuntClass, count: usize) -> Vec<(FrameMeta, Vec<u8>)> {
        let mut frames = Vec::new();
        let ring = &mut self.ends[worker].punt[class as usize];
        wait_until("frames are punted", || {
            while ring.pop_with(|meta, bytes| frames.push((meta, bytes.to_vec()))) {}
            frames.len() >= count
        });
        assert_eq!(frames.len(), count);
        frames
    }

    pub(crate) fn inject(&mut self, worker: usize, kind: u8, port: u8, bytes: &[u8]) {
        let meta = FrameMeta { port, kind, reason: 0, session: 0 };
        self.ends[worker].inject.push(meta, bytes).expect("room in the ring");
    }

    pub(crate) fn count(&self, reason: Reason) -> u64 {
        self.ends.iter().map(|ends| ends.counters.reason(reason).get()).sum()
    }

    /// Waits until so many frames have ended for a reason.
    pub(crate) fn await_count(&self, reason: Reason, count: u64) {
        wait_until(reason.label(), || self.count(reason) >= count);
        assert_eq!(self.count(reason), count);
    }

    /// Stops the workers, closes everything, and finds every buffer at home.
    pub(crate) fn finish(mut self) -> Vec<Ends> {
        self.join();
        let Self { pool, far, ends, ports, qsbr, .. } = self;
        assert!(ends.iter().all(|ends| ends.status.running.get() == 0 && ends.status.sleeping.get() == 0));
        assert_eq!(qsbr.readers_online(), 0);
        for port in ports {
            port.close().expect("the queues came back");
        }
        drop(far);
        assert_eq!(pool.in_use(), 0, "every buffer is at home");
        ends
    }

    /// Stops the workers; queues and rings that they had are gone.
    pub(crate) fn join(&mut self) {
        self.stop.stop();
        for outcome in self.workers.take().expect("joined once").join() {
            outcome.expect("a worker that ends by itself");
        }
    }
}

/// Waits for what other threads do; fails after ten seconds, long for a loaded machine.
pub(crate) fn wait_until(what: &str, mut there: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !there() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// A frame whose first octet says what [`Script`] does with it.
pub(crate) fn scripted(verdict: u8, rest: &[u8]) -> Vec<u8> {
    let mut frame = vec![verdict];
    frame.extend(rest);
    frame.resize(frame.len().max(60), 0);
    frame
}

pub(crate) const SEND: u8 = 0;
pub(crate) const PUNT: u8 = 1;
pub(crate) const DROP: u8 = 2;
pub(crate) const COPY: u8 = 3;

/// Stages that do what the frame says: send it on the port of its second octet, punt it in the class of its second
/// octet, drop it, or send it and twice a copy of it.
pub(crate) struct Script;

impl Stages for Script {
    fn process(
        &mut self,
        port: PortIndex,
        frames: &mut ArrayVec<Frame, BURST_FRAMES_MAX>,
        _now_ms: u64,
        outlet: &mut Outlet,
    ) {
        for frame in frames.drain(..) {
            let second = frame.bytes()[1];
            match frame.bytes()[0] {
                SEND => outlet.transmit(PortIndex(second), frame),
                PUNT => {
                    let class = PuntClass::from_u8(second).expect("a class");
                    outlet.punt(class, PuntMeta { port, reason: Reason::Host, session: None }, frame);
                }
                DROP => outlet.discard(Reason::NoRoute, frame),
                COPY => {
                    for _ in 0..2 {
                        let mut copy = outlet.allocate().expect("a buffer");
                        assert!(copy.set_len(frame.bytes().len()));
                        copy.bytes_mut().copy_from_slice(frame.bytes());
                        outlet.transmit(PortIndex(second), copy);
                    }
                    outlet.transmit(PortIndex(second), frame);
                }
                other => panic!("no verdict: {other}"),
            }
        }
    }
}
