//! What the pipeline knows of each port.

use core::net::{Ipv4Addr, Ipv6Addr};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use bng_wire::{MacAddr, PortIndex};

use crate::priority::PriorityMaps;

pub use bng_wire::ether::TpidSet;

/// Which side of the router a port is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PortRole {
    /// Towards subscribers: PPPoE only.
    Access,
    /// Towards the network: IP.
    Core,
}

/// A set of VIDs, changed by the control side while workers read. 0 stands for untagged.
#[derive(Debug)]
pub struct VidSet([AtomicU64; 64]);

impl Default for VidSet {
    /// The empty set.
    fn default() -> Self {
        Self(core::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl VidSet {
    /// The set of the VIDs given; those above 4095 are left out.
    #[must_use]
    pub fn of(vids: &[u16]) -> Self {
        let set = Self::default();
        for vid in vids {
            set.insert(*vid);
        }
        set
    }

    /// True where `vid` is in the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, vid: u16) -> bool {
        self.0.get(usize::from(vid >> 6)).is_some_and(|word| word.load(Ordering::Relaxed) & (1 << (vid & 63)) != 0)
    }

    /// Adds `vid`.
    pub fn insert(&self, vid: u16) {
        if let Some(word) = self.0.get(usize::from(vid >> 6)) {
            word.fetch_or(1 << (vid & 63), Ordering::Relaxed);
        }
    }

    /// Takes `vid` out.
    pub fn remove(&self, vid: u16) {
        if let Some(word) = self.0.get(usize::from(vid >> 6)) {
            word.fetch_and(!(1 << (vid & 63)), Ordering::Relaxed);
        }
    }
}

/// One port.
#[derive(Debug)]
pub struct PortEntry {
    /// Its side.
    pub role: PortRole,
    /// Our MAC address on it. On an access port, every session's `local_mac`.
    pub mac: MacAddr,
    /// The longest frame payload it sends, in octets after the Ethernet header (tags count): its MTU.
    pub mtu: u16,
    /// The tag protocol identifiers taken for tags. Another EtherType in their place is not one.
    pub tpids: TpidSet,
    /// Core ports: the VIDs that interfaces exist for, 0 for untagged. Frames with another are dropped. Access ports
    /// do not read it: which lines are served is discovery's decision.
    pub vids: VidSet,
}

/// The addresses that the router itself speaks from in ICMP errors, where a session has no gateway address of its own:
/// usually those of its first core interface. The control side sets them; without one, no error is sent.
#[derive(Debug, Default)]
pub struct RouterAddresses {
    ipv4: AtomicU32,
    ipv6: Published6,
}

/// 128 bits in two words. An address is set once or twice in a process's life; a reader that meets the change takes it
/// for not set yet.
#[derive(Debug, Default)]
struct Published6 {
    set: AtomicU32,
    high: AtomicU64,
    low: AtomicU64,
}

impl RouterAddresses {
    /// The IPv4 address; `None` where none is set.
    #[must_use]
    pub fn ipv4(&self) -> Option<Ipv4Addr> {
        Some(self.ipv4.load(Ordering::Relaxed)).filter(|bits| *bits != 0).map(Ipv4Addr::from_bits)
    }

    /// The IPv6 address; `None` where none is set.
    #[must_use]
    pub fn ipv6(&self) -> Option<Ipv6Addr> {
        let before = self.ipv6.set.load(Ordering::Acquire);
        let high = self.ipv6.high.load(Ordering::Relaxed);
        let low = self.ipv6.low.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        let whole = before & 1 == 0 && before != 0 && self.ipv6.set.load(Ordering::Relaxed) == before;
        let bits = u128::from(high) << 64 | u128::from(low);
        (whole && bits != 0).then(|| Ipv6Addr::from_bits(bits))
    }

    /// Sets the IPv4 address.
    pub fn set_ipv4(&self, address: Option<Ipv4Addr>) {
        self.ipv4.store(address.map_or(0, Ipv4Addr::to_bits), Ordering::Relaxed);
    }

    /// Sets the IPv6 address. One thread only may set.
    pub fn set_ipv6(&self, address: Option<Ipv6Addr>) {
        let bits = address.map_or(0, Ipv6Addr::to_bits);
        let turn = self.ipv6.set.load(Ordering::Relaxed);
        // Odd while it changes.
        self.ipv6.set.store(turn.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        self.ipv6.high.store((bits >> 64) as u64, Ordering::Relaxed);
        self.ipv6.low.store(bits as u64, Ordering::Relaxed);
        self.ipv6.set.store(turn.wrapping_add(2), Ordering::Release);
    }
}

/// All ports, by [`PortIndex`], with the router's own addresses and the priorities of what ports send.
#[derive(Debug, Default)]
pub struct PortTable {
    ports: Box<[PortEntry]>,
    router: RouterAddresses,
    priorities: PriorityMaps,
}

impl PortTable {
    /// The ports in the order of their indexes; the router has no addresses yet.
    #[must_use]
    pub fn new(ports: Vec<PortEntry>) -> Self {
        Self {
            ports: ports.into_boxed_slice(),
            router: RouterAddresses::default(),
            priorities: PriorityMaps::default(),
        }
    }

    /// The router's own addresses.
    #[must_use]
    pub fn router(&self) -> &RouterAddresses {
        &self.router
    }

    /// The DSCP to PCP maps of frames to subscribers.
    #[must_use]
    pub fn priorities(&self) -> &PriorityMaps {
        &self.priorities
    }

    /// The port's entry; `None` for an index beyond the last port.
    #[inline]
    #[must_use]
    pub fn get(&self, port: PortIndex) -> Option<&PortEntry> {
        self.ports.get(usize::from(port.0))
    }

    /// Every port with its index.
    pub fn iter(&self) -> impl Iterator<Item = (PortIndex, &PortEntry)> {
        self.ports.iter().zip(0u8..).map(|(entry, index)| (PortIndex(index), entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_vids_are_set_and_unset() {
        let router = RouterAddresses::default();
        assert_eq!((router.ipv4(), router.ipv6()), (None, None));
        let (four, six) = ("192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap());
        router.set_ipv4(Some(four));
        router.set_ipv6(Some(six));
        assert_eq!((router.ipv4(), router.ipv6()), (Some(four), Some(six)));
        router.set_ipv4(None);
        router.set_ipv6(None);
        assert_eq!((router.ipv4(), router.ipv6()), (None, None));
        let vids = VidSet::of(&[0, 63, 64, 4095, 4096]);
        assert!([0, 63, 64, 4095].into_iter().all(|vid| vids.contains(vid)));
        vids.remove(64);
        assert!(!vids.contains(64) && !vids.contains(1) && !vids.contains(4096));
    }
}
