//! What is done with a burst.

use crate::frame::Frame;
use crate::outlet::Outlet;
use arrayvec::ArrayVec;
use bng_dataplane::{BURST_FRAMES_MAX, Pipeline, Sink};
use bng_wire::PortIndex;

/// What a worker does with the frames it received.
pub trait Stages {
    /// Takes each frame received on `port` to its end, and leaves `frames` empty. `now_ms` is monotonic. Nothing that
    /// was looked up in a shared table may be kept beyond the call.
    fn process(
        &mut self,
        port: PortIndex,
        frames: &mut ArrayVec<Frame, BURST_FRAMES_MAX>,
        now_ms: u64,
        outlet: &mut Outlet,
    );

    /// Control sends `frame` on `port`: for stages that want to know.
    #[inline]
    fn injected(&mut self, _port: PortIndex, _frame: &[u8], _now_ms: u64) {}
}

impl Stages for Pipeline {
    #[inline]
    fn injected(&mut self, port: PortIndex, frame: &[u8], now_ms: u64) {
        Pipeline::injected(self, port, frame, now_ms);
    }

    #[inline]
    fn process(
        &mut self,
        port: PortIndex,
        frames: &mut ArrayVec<Frame, BURST_FRAMES_MAX>,
        now_ms: u64,
        outlet: &mut Outlet,
    ) {
        Pipeline::process(self, port, frames, now_ms, outlet);
    }
}

/// Sends every frame as it is on the port beside the one it came from: 0 to 1, 1 to 0, 2 to 3 and so on. What the
/// pipeline costs is measured against this, in the same loop.
#[derive(Debug, Clone, Copy, Default)]
pub struct Forward;

impl Stages for Forward {
    #[inline]
    fn process(
        &mut self,
        port: PortIndex,
        frames: &mut ArrayVec<Frame, BURST_FRAMES_MAX>,
        _now_ms: u64,
        outlet: &mut Outlet,
    ) {
        let other = PortIndex(port.0 ^ 1);
        for frame in frames.drain(..) {
            outlet.transmit(other, frame);
        }
    }
}
