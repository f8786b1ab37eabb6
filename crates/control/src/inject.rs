//! The rings between the control core and the workers.

use bng_dataplane::{InjectKind, PuntClass};
use bng_sync::{FrameConsumer, FrameMeta, FrameProducer};
use bng_wire::PortIndex;

/// One worker's punt rings, in the order of [`PuntClass`].
pub type PuntRings = [FrameConsumer; PuntClass::COUNT];

/// The control core's ends of one worker's rings.
#[derive(Debug)]
pub struct WorkerRings {
    /// What the worker punts.
    pub punt: PuntRings,
    /// What the worker is to send or to take through its pipeline.
    pub inject: FrameProducer,
}

/// The inject rings of all workers.
#[derive(Debug)]
pub(crate) struct Injector {
    rings: Vec<FrameProducer>,
}

impl Injector {
    pub(crate) fn new(rings: Vec<FrameProducer>) -> Self {
        Self { rings }
    }

    /// Gives a frame to a worker for transmission. All frames for one station go through one worker, so that they
    /// leave in the order in which they were given. False where the ring is full; the frame is lost then, as on a
    /// wire, and the protocols' own repetition makes up for it.
    pub(crate) fn transmit(&mut self, port: PortIndex, frame: &[u8]) -> bool {
        let worker = station_hash(frame) as usize % self.rings.len().max(1);
        self.push(worker, InjectKind::Transmit, port, frame)
    }

    /// Has a worker take a frame through its pipeline as though just received on `port`.
    pub(crate) fn receive(&mut self, worker: usize, port: PortIndex, frame: &[u8]) -> bool {
        self.push(worker, InjectKind::Receive, port, frame)
    }

    fn push(&mut self, worker: usize, kind: InjectKind, port: PortIndex, frame: &[u8]) -> bool {
        let Some(ring) = self.rings.get_mut(worker) else { return false };
        let meta = FrameMeta { port: port.0, kind: kind as u8, reason: 0, session: u32::MAX };
        ring.push(meta, frame).is_ok()
    }
}

/// A number from the destination MAC address that spreads over a few workers.
fn station_hash(frame: &[u8]) -> u32 {
    frame.iter().take(6).fold(0u32, |hash, octet| hash.wrapping_mul(31).wrapping_add(u32::from(*octet)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bng_sync::frame_ring;

    #[test]
    fn frames_of_one_station_stay_in_order_on_one_worker() {
        let (producers, mut consumers): (Vec<_>, Vec<_>) = (0..2).map(|_| frame_ring(1 << 14, 64)).unzip();
        let mut injector = Injector::new(producers);
        for number in 0..10u8 {
            assert!(injector.transmit(PortIndex(3), &[2, 0, 0, 0, 0, 1, number]));
        }
        let mut seen = Vec::new();
        for consumer in &mut consumers {
            let mut of_one = Vec::new();
            while consumer.pop_with(|meta, frame| {
                assert_eq!((meta.port, meta.kind), (3, InjectKind::Transmit as u8));
                of_one.push(frame[6]);
            }) {}
            if !of_one.is_empty() {
                seen.push(of_one);
            }
        }
        assert_eq!(seen, vec![(0..10).collect::<Vec<u8>>()]);
    }

    #[test]
    fn a_full_ring_is_said_and_loses_only_that_frame() {
        let (producer, mut consumer) = frame_ring(1 << 14, 2);
        let mut injector = Injector::new(vec![producer]);
        assert!(injector.transmit(PortIndex(0), b"one"));
        assert!(injector.transmit(PortIndex(0), b"two"));
        assert!(!injector.transmit(PortIndex(0), b"three"));
        assert!(consumer.pop_with(|_, frame| assert_eq!(frame, b"one")));
        assert!(injector.receive(0, PortIndex(1), b"four"));
        assert!(consumer.pop_with(|_, frame| assert_eq!(frame, b"two")));
        assert!(consumer.pop_with(|meta, _| assert_eq!(meta.kind, InjectKind::Receive as u8)));
    }
}
