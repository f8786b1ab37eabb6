//! A worker between two ports of rings, and the tables that its pipeline reads.

use crate::case::Case;
use crate::traffic::{
    ACCESS_MAC, CORE, CORE_MAC, POOL4, POOL4_LEN, POOL6, POOL6_LEN, ROUTER_MAC, address4, prefix6, session,
};
use anyhow::{Context as _, ensure};
use arrayvec::ArrayVec;
use bng_dataplane::{
    Pipeline, PipelineConfig, PortEntry, PortRole, PortTable, PuntClass, Tables, TpidSet, VidSet, WorkerCounters,
};
use bng_dpdk::{Eal, Mbuf, Mempool, Port, RingPort, RingPortConfig};
use bng_fib::{Fib, FibConfig, FibWriter, NextHop};
use bng_session::{PoolMap4, PoolMap6, PoolMaps, SessionIndex, SessionTable, SessionWriter, TableConfig};
use bng_sync::{FrameConsumer, FrameProducer, Placement, Qsbr, Reader, frame_ring};
use bng_wire::{PortIndex, VrfId};
use bng_worker::{IdleConfig, Peers, Stages, Stop, Transmit, Worker, WorkerParts, WorkerPort, WorkerStatus};
use std::net::Ipv4Addr;
use std::sync::Arc;

/// Frames of a burst.
pub(crate) const BURST: usize = 32;

/// A burst.
pub(crate) type Burst = ArrayVec<Mbuf, BURST>;

/// The tables of as many subscribers as a case has, and their writers.
pub(crate) struct Router {
    pub(crate) tables: Tables,
    /// The entry of each subscriber.
    pub(crate) indexes: Vec<SessionIndex>,
    pub(crate) grace: Arc<Qsbr>,
    _writers: (SessionWriter, FibWriter),
}

impl Router {
    /// Enters the subscribers of `case`, for so many workers.
    pub(crate) fn new(case: &Case, workers: usize, placement: Placement) -> anyhow::Result<Self> {
        let grace = Qsbr::new(workers);
        let config = TableConfig { sessions_max: case.sessions, workers, placement };
        let (sessions, mut writer) = SessionTable::new(config, Arc::clone(&grace))?;
        let (fib, mut routes) = Fib::new(&FibConfig { placement, ..FibConfig::default() }, &grace)?;
        let pools = Arc::new(PoolMaps::new());
        let map4 = PoolMap4::new(Ipv4Addr::from_bits(POOL4), 1 << 20, placement)?;
        let pool4 = pools.add4(map4).context("room for a pool")?;
        let map6 = PoolMap6::new(POOL6.into(), POOL6_LEN, 64, placement)?;
        let pool6 = pools.add6(map6).context("room for a pool")?;
        let mut indexes = Vec::with_capacity(case.sessions);
        for n in 0..case.sessions {
            let index = writer.insert(&session(case, n))?;
            let mapped = pools.v4(pool4).is_some_and(|map| map.set(address4(n), Some(index)))
                && pools.v6(pool6).is_some_and(|map| map.set(prefix6(n), Some(index)));
            ensure!(mapped, "subscriber {n} is outside the pools");
            indexes.push(index);
        }
        let router = routes.adjacency_create(CORE, 1500)?;
        routes.adjacency_resolve(router, &[&ROUTER_MAC.0[..], &CORE_MAC.0, &[0, 0]].concat())?;
        let vrf = VrfId(0);
        routes.insert4(vrf, Ipv4Addr::UNSPECIFIED, 0, NextHop::Neighbour(router))?;
        routes.insert4(vrf, Ipv4Addr::from_bits(POOL4), POOL4_LEN, NextHop::Pool(pool4))?;
        routes.insert6(vrf, 0.into(), 0, NextHop::Neighbour(router))?;
        routes.insert6(vrf, POOL6.into(), POOL6_LEN, NextHop::Pool(pool6))?;
        let entry = |role, mac| PortEntry { role, mac, mtu: 1508, tpids: TpidSet::ALL, vids: VidSet::of(&[0]) };
        let ports = PortTable::new(vec![entry(PortRole::Access, ACCESS_MAC), entry(PortRole::Core, CORE_MAC)]);
        let tables = Tables { sessions, fib, pools, ports: Arc::new(ports) };
        Ok(Self { tables, indexes, grace, _writers: (writer, routes) })
    }

    /// The pipeline of worker `worker`.
    pub(crate) fn pipeline(&self, worker: usize, counters: &Arc<WorkerCounters>) -> Pipeline {
        Pipeline::new(worker, self.tables.clone(), Arc::clone(counters), PipelineConfig::default())
    }
}

/// One worker with its two ports. The worker goes first when it is dropped, then what it is connected to.
pub(crate) struct Bed<S> {
    pub(crate) worker: Worker<S>,
    pub(crate) far: Vec<RingPort>,
    pub(crate) counters: Arc<WorkerCounters>,
    _ports: Vec<Port>,
    _punted: [FrameConsumer; PuntClass::COUNT],
    _inject: FrameProducer,
}

impl<S: Stages> Bed<S> {
    /// A worker on ports that no other bed of this name has.
    pub(crate) fn new(
        eal: &Eal,
        pool: &Mempool,
        name: &str,
        reader: Reader,
        stages: impl FnOnce(&Arc<WorkerCounters>) -> S,
    ) -> anyhow::Result<Self> {
        let (mut ports, mut far, mut held) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..2u8 {
            let config = RingPortConfig { name: format!("{name}{number}"), ..RingPortConfig::default() };
            let (port, end) = Port::from_rings(eal, &config, pool)?;
            let (rx, mut tx) = port.take_queues();
            ports.push(WorkerPort {
                port: PortIndex(number),
                rx,
                tx: Transmit::Own(tx.pop().context("a queue")?),
                steer: false,
            });
            far.push(end);
            held.push(port);
        }
        let counters: Arc<WorkerCounters> = Arc::default();
        let [keepalive, session, discovery, host] = PuntClass::ALL.map(|_| frame_ring(1 << 16, 256));
        let (inject, injected) = frame_ring(1 << 16, 256);
        let status: Arc<WorkerStatus> = Arc::default();
        let worker = Worker::new(WorkerParts {
            stages: stages(&counters),
            ports,
            pool: pool.clone(),
            reader,
            punt: [keepalive.0, session.0, discovery.0, host.0],
            inject: injected,
            peers: Peers::none(),
            counters: Arc::clone(&counters),
            status,
            idle: IdleConfig::default(),
            stop: Stop::new(),
        })?;
        let punted = [keepalive.1, session.1, discovery.1, host.1];
        Ok(Self { worker, far, counters, _ports: held, _punted: punted, _inject: inject })
    }

    /// Lets a port receive a burst.
    pub(crate) fn feed(&mut self, port: usize, burst: &mut Burst) -> anyhow::Result<()> {
        let end = self.far.get_mut(port).and_then(|end| end.feeds.first_mut()).context("a port")?;
        end.feed(burst);
        ensure!(burst.is_empty(), "the ring is full");
        Ok(())
    }

    /// What a port sent, into what is free in `burst`.
    pub(crate) fn drain(&mut self, port: usize, burst: &mut Burst) -> usize {
        self.far.get_mut(port).and_then(|end| end.drains.first_mut()).map_or(0, |end| end.drain(burst))
    }
}

/// A burst of these frames.
pub(crate) fn burst(pool: &Mempool, mut frame: impl FnMut() -> Vec<u8>) -> anyhow::Result<Burst> {
    let mut burst = Burst::new();
    pool.alloc_bulk(&mut burst);
    ensure!(burst.is_full(), "the pool is empty");
    for mbuf in &mut burst {
        ensure!(mbuf.fill(&frame()), "the frame is longer than a buffer");
    }
    Ok(burst)
}
