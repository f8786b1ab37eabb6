//! The other workers: what is received for them, and what they send for this one.
//!
//! Between each two workers lies a ring of mbufs for each way. A frame that is handed over carries a mark: the port, and
//! whether it was received there or is to be sent there. Nothing that was looked up goes with it: the receiver looks up
//! anew. Frames of a flow stay in order, as they take the same ring; where it is full they are dropped, never handled
//! by the worker at hand, which would overtake those before.

use arrayvec::ArrayVec;
use bng_dataplane::FlowHash;
use bng_dpdk::{Eal, Mbuf, Mempool, PortError, RingDrain, RingFeed, mbuf_ring};
use bng_wire::PortIndex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Frames that a ring between two workers holds, less one.
pub const PEER_RING_FRAMES: u32 = 1024;

/// Frames that wait for a peer until the end of the burst.
pub(crate) const HAND_FRAMES_MAX: usize = 64;

/// One worker's ends of the rings.
pub struct Peers {
    pub(crate) own: usize,
    /// By worker; none for this one.
    pub(crate) hands: Vec<Option<Hand>>,
    /// From the others.
    pub(crate) from: Vec<RingDrain>,
    pub(crate) hash: FlowHash,
    pub(crate) farewells: Farewells,
}

/// What waits for one peer, and the way there.
pub(crate) struct Hand {
    pub(crate) ring: RingFeed,
    pub(crate) waiting: ArrayVec<Mbuf, HAND_FRAMES_MAX>,
}

impl Peers {
    /// A worker alone.
    #[must_use]
    pub fn none() -> Self {
        Self { own: 0, hands: Vec::new(), from: Vec::new(), hash: FlowHash::new(0), farewells: Farewells::new(1) }
    }

    /// The ends of each of `workers`, whose rings are named after `name` (1 to 12 letters and digits). `seed` is not to
    /// be known by who sends.
    ///
    /// # Errors
    /// There is no memory for the rings, or the name is taken.
    pub fn mesh(eal: &Eal, pool: &Mempool, name: &str, workers: usize, seed: u64) -> Result<Vec<Self>, PortError> {
        let farewells = Farewells::new(workers);
        let hash = FlowHash::new(seed);
        let mut all: Vec<Self> = (0..workers)
            .map(|own| {
                let hands = (0..workers).map(|_| None).collect();
                Self { own, hands, from: Vec::new(), hash, farewells: farewells.clone() }
            })
            .collect();
        for from in 0..workers {
            for to in (0..workers).filter(|to| *to != from) {
                let (feed, drain) = mbuf_ring(eal, &format!("{name}-{from}-{to}"), PEER_RING_FRAMES, pool)?;
                if let Some(hand) = all.get_mut(from).and_then(|peers| peers.hands.get_mut(to)) {
                    *hand = Some(Hand { ring: feed, waiting: ArrayVec::new() });
                }
                if let Some(peers) = all.get_mut(to) {
                    peers.from.push(drain);
                }
            }
        }
        Ok(all)
    }
}

/// Workers that have sent their last words: those whose queues others send by go after them.
#[derive(Debug, Clone)]
pub(crate) struct Farewells {
    said: Arc<AtomicUsize>,
    workers: usize,
}

impl Farewells {
    fn new(workers: usize) -> Self {
        Self { said: Arc::default(), workers }
    }

    pub(crate) fn say(&self) {
        // What was handed over before must be found by whoever sees this.
        self.said.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn all_said(&self) -> bool {
        self.said.load(Ordering::Acquire) >= self.workers
    }
}

/// What a handed-over frame is for, in 32 bits of the mbuf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Errand {
    /// It was received on this port.
    Received(PortIndex),
    /// It is to be sent on this port.
    Send(PortIndex),
}

impl Errand {
    const SEND: u32 = 0x100;

    pub(crate) fn mark(self) -> u32 {
        match self {
            Self::Received(port) => port.0.into(),
            Self::Send(port) => u32::from(port.0) | Self::SEND,
        }
    }

    pub(crate) fn of(mark: u32) -> Self {
        let port = PortIndex(mark as u8);
        if mark & Self::SEND == 0 { Self::Received(port) } else { Self::Send(port) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_errand_survives_the_mbuf() {
        for port in [0, 1, 255].map(PortIndex) {
            for errand in [Errand::Received(port), Errand::Send(port)] {
                assert_eq!(Errand::of(errand.mark()), errand);
            }
        }
    }
}
