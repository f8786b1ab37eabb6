//! The way between the core ports and the kernel: frames for the router itself go to the twin of their interface,
//! frames from a twin go to its port, and frames for a neighbour that is not resolved yet wait here.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bng_dataplane::{Reason, flow};
use bng_fib::{Fib, NextHop};
use bng_routing::{Asker, Event, HeldPackets, Hold, RESOLVE_TIMEOUT, ResolveTarget, RoutingHandle, Twin};
use bng_session::SessionIndex;
use bng_wire::ether::{Ether, TpidSet, ethertype};
use bng_wire::{PortIndex, VlanStack, VlanTag, VrfId, pppoe};
use crossbeam_channel::Receiver;

use crate::counters::ControlCounters;
use crate::inject::Injector;

/// How many frames a twin may send in one turn of the loop, so that a busy kernel does not keep the loop from its
/// subscribers.
const TWIN_FRAMES_PER_TURN_MAX: usize = 64;
/// The longest frame that a twin sends: the largest MTU that a port may have, and a header.
const TWIN_FRAME_OCTETS_MAX: usize = 9216 + 18;
/// Held packets outlive the routing thread's own limit by this much, so that its word decides.
const HOLD_MARGIN: Duration = Duration::from_millis(500);

/// One core interface: its twin, and where its frames leave.
#[derive(Debug)]
pub struct CoreInterface {
    /// The kernel's side.
    pub twin: Twin,
    /// The port.
    pub port: PortIndex,
    /// The VLAN on that port, `None` for untagged.
    pub vlan: Option<u16>,
}

/// A frame that a worker punted in the class of the router itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Punted<'a> {
    pub(crate) worker: usize,
    /// The port that it came in on.
    pub(crate) port: PortIndex,
    /// The session that it came from.
    pub(crate) session: Option<SessionIndex>,
    pub(crate) reason: Reason,
    pub(crate) frame: &'a [u8],
}

#[derive(Debug)]
struct Held {
    worker: usize,
    port: PortIndex,
    frame: Box<[u8]>,
}

/// The core side of the control core.
#[derive(Debug)]
pub(crate) struct Host {
    interfaces: Vec<CoreInterface>,
    fib: Arc<Fib>,
    vrf: VrfId,
    routing: Arc<RoutingHandle>,
    events: Receiver<Event>,
    held: HeldPackets<Held>,
    buffer: Box<[u8]>,
}

impl Host {
    pub(crate) fn new(
        interfaces: Vec<CoreInterface>,
        fib: Arc<Fib>,
        routing: Arc<RoutingHandle>,
        events: Receiver<Event>,
    ) -> Self {
        Self {
            interfaces,
            fib,
            vrf: VrfId(0),
            routing,
            events,
            held: HeldPackets::new(RESOLVE_TIMEOUT + HOLD_MARGIN),
            buffer: vec![0; TWIN_FRAME_OCTETS_MAX].into_boxed_slice(),
        }
    }

    pub(crate) fn interfaces(&self) -> &[CoreInterface] {
        &self.interfaces
    }

    pub(crate) fn routing(&self) -> &Arc<RoutingHandle> {
        &self.routing
    }

    /// Takes a frame that a worker punted.
    pub(crate) fn punted(&mut self, now: Instant, punted: Punted<'_>, counters: &ControlCounters) {
        let Punted { port, reason, frame, .. } = punted;
        if reason == Reason::NeighbourUnresolved {
            self.hold(now, punted, counters);
            return;
        }
        // What a subscriber sends to the router's own addresses carries PPPoE and finds no interface on its port: the
        // management plane cannot be reached from the access side.
        if self.hand_to_twin(port, frame) {
            counters.host_in.add(1);
        } else {
            counters.host_refused.add(1);
        }
    }

    fn hand_to_twin(&mut self, port: PortIndex, frame: &[u8]) -> bool {
        let Ok(ether) = Ether::parse(frame, TpidSet::ALL) else { return false };
        let vid = ether.vlans.outer_vid();
        let vlan = (vid != 0).then_some(vid);
        let found = self.interfaces.iter().find(|interface| interface.port == port && interface.vlan == vlan);
        let (Some(interface), true) = (found, ether.vlans.inner.is_none()) else { return false };
        if ether.vlans.is_empty() {
            return interface.twin.write(frame).is_ok();
        }
        // A twin has no VLAN device: the tag is taken off.
        let header = Ether { vlans: VlanStack::default(), ..ether };
        let (Some(payload), Ok(length)) = (frame.get(ether.payload_offset..), header.write(&mut self.buffer)) else {
            return false;
        };
        let end = length.saturating_add(payload.len());
        let Some(room) = self.buffer.get_mut(length..end) else { return false };
        room.copy_from_slice(payload);
        self.buffer.get(..end).is_some_and(|untagged| interface.twin.write(untagged).is_ok())
    }

    fn hold(&mut self, now: Instant, punted: Punted<'_>, counters: &ControlCounters) {
        let Punted { worker, port, session, frame, .. } = punted;
        let asker = match session {
            Some(index) => Some(Asker::Session(index.0)),
            None => inner_packet(frame).and_then(source).map(Asker::network),
        };
        let (Some(target), Some(asker)) = (self.target(frame), asker) else {
            // Resolved in the meantime, or gone: the pipeline decides anew. It comes back here only if the neighbour
            // is lost again, so this cannot go in circles faster than neighbours come and go.
            counters.held_dropped.add(1);
            return;
        };
        let dropped = self.held.dropped();
        let outcome = self.held.hold(now, target, asker, Held { worker, port, frame: frame.into() });
        if outcome != Hold::Full {
            counters.held.add(1);
        }
        if outcome == Hold::First && !self.routing.resolve(target) {
            self.held.give_up(target);
        }
        counters.held_dropped.add(self.held.dropped().wrapping_sub(dropped));
    }

    /// Who has to be found before `frame` can be forwarded.
    fn target(&self, frame: &[u8]) -> Option<ResolveTarget> {
        let packet = inner_packet(frame)?;
        let destination = destination(packet)?;
        let id = match destination {
            IpAddr::V4(address) => self.fib.lookup4(self.vrf, address.to_bits()),
            IpAddr::V6(address) => self.fib.lookup6(self.vrf, address.to_bits()),
        };
        let next_hop = match self.fib.next_hop(id) {
            // The member that the worker chose for the packet's flow.
            NextHop::Group(group) => self.fib.group_member(group, flow::hash(packet, self.fib.flow_seed())),
            next_hop => next_hop,
        };
        match next_hop {
            NextHop::Glean { interface } => Some(ResolveTarget::Destination { interface, address: destination }),
            NextHop::Neighbour(adjacency) => Some(ResolveTarget::Adjacency(adjacency)),
            _ => None,
        }
    }

    /// Hears the routing thread and lets go of what waited. Returns how much there was to do.
    pub(crate) fn routing_events(
        &mut self,
        now: Instant,
        injector: &mut Injector,
        counters: &ControlCounters,
    ) -> usize {
        let mut done = 0;
        let dropped = self.held.dropped();
        while let Ok(event) = self.events.try_recv() {
            done += 1;
            match event {
                Event::Resolved(target) => {
                    for held in self.held.release(target) {
                        if !injector.receive(held.worker, held.port, &held.frame) {
                            counters.inject_full.add(1);
                        }
                    }
                }
                Event::Unreachable(target) => {
                    self.held.give_up(target);
                }
            }
        }
        self.held.expire(now);
        counters.held_dropped.add(self.held.dropped().wrapping_sub(dropped));
        done
    }

    /// Sends what the kernel has to send. Returns how many frames that were.
    pub(crate) fn take_from_twins(&mut self, injector: &mut Injector, counters: &ControlCounters) -> usize {
        let mut done = 0;
        for interface in &self.interfaces {
            // Room for a tag in front.
            let Some(room) = self.buffer.get_mut(TAG_OCTETS..) else { return done };
            for _ in 0..TWIN_FRAMES_PER_TURN_MAX {
                let length = match interface.twin.read(room) {
                    Ok(length) => length,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(_) => break,
                };
                done += 1;
                counters.host_out.add(1);
                let sent = match interface.vlan {
                    None => room.get(..length).is_some_and(|frame| injector.transmit(interface.port, frame)),
                    Some(vid) => room
                        .get(..length)
                        .and_then(|frame| tagged(frame, vid))
                        .is_some_and(|frame| injector.transmit(interface.port, &frame)),
                };
                if !sent {
                    counters.inject_full.add(1);
                }
            }
        }
        done
    }

    /// When [`Host::routing_events`] wants to be called at the latest.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.held.poll_timeout()
    }
}

const TAG_OCTETS: usize = bng_wire::ether::TAG_LEN;

/// `frame` with a tag of 0x8100 and `vid`; `None` where it has no header.
fn tagged(frame: &[u8], vid: u16) -> Option<Vec<u8>> {
    let ether = Ether::parse(frame, TpidSet::NONE).ok()?;
    let outer = Some(VlanTag { tpid: ethertype::DOT1Q, tci: vid });
    let header = Ether { vlans: VlanStack { outer, inner: None }, ..ether };
    let payload = frame.get(ether.payload_offset..)?;
    let mut out = vec![0; Ether::len(header.vlans)];
    header.write(&mut out).ok()?;
    out.extend_from_slice(payload);
    Some(out)
}

/// The IP packet in a frame of either side, with what follows it: plain on a core port, in PPPoE on an access port.
fn inner_packet(frame: &[u8]) -> Option<&[u8]> {
    let ether = Ether::parse(frame, TpidSet::ALL).ok()?;
    let packet = frame.get(ether.payload_offset..)?;
    if ether.ethertype == ethertype::PPPOE_SESSION {
        return pppoe::Packet::parse(packet).ok()?.payload.get(2..);
    }
    Some(packet)
}

/// Where an IP packet is to go.
fn destination(packet: &[u8]) -> Option<IpAddr> {
    address(packet, 16, 24)
}

/// Where an IP packet comes from.
fn source(packet: &[u8]) -> Option<IpAddr> {
    address(packet, 12, 8)
}

/// The address at one of these places, by the packet's version.
fn address(packet: &[u8], at4: usize, at6: usize) -> Option<IpAddr> {
    match packet.first()? >> 4 {
        4 => packet.get(at4..)?.first_chunk::<4>().map(|octets| Ipv4Addr::from(*octets).into()),
        6 => packet.get(at6..)?.first_chunk::<16>().map(|octets| Ipv6Addr::from(*octets).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACS: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

    fn ipv4() -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0];
        packet.extend([100, 64, 0, 2, 198, 51, 100, 2]);
        packet
    }

    fn inner_destination(frame: &[u8]) -> Option<IpAddr> {
        destination(inner_packet(frame)?)
    }

    #[test]
    fn the_destination_is_found_on_both_sides() {
        let expected = Some(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 2)));
        let core: Vec<u8> = [&MACS[..], &[0x08, 0x00], &ipv4()].concat();
        assert_eq!(inner_destination(&core), expected);
        let access: Vec<u8> =
            [&MACS[..], &[0x81, 0, 0, 100, 0x88, 0x64, 0x11, 0, 0, 1, 0, 22, 0, 0x21], &ipv4()].concat();
        assert_eq!(inner_destination(&access), expected);
        for length in 0..core.len() {
            let cut = &core[..length];
            assert!(inner_destination(cut).is_none() || length >= 34, "{length}");
        }
    }

    #[test]
    fn a_tag_goes_behind_the_addresses() {
        let frame: Vec<u8> = [&MACS[..], &[0x08, 0x06, 1, 2, 3]].concat();
        let expected: Vec<u8> = [&MACS[..], &[0x81, 0, 0, 7, 0x08, 0x06, 1, 2, 3]].concat();
        assert_eq!(tagged(&frame, 7), Some(expected));
        assert_eq!(tagged(&frame[..13], 7), None);
    }
}
