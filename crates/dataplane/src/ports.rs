//! What the pipeline knows of each port.

use core::sync::atomic::{AtomicU64, Ordering};

use bng_wire::{MacAddr, PortIndex};

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

/// All ports, by [`PortIndex`].
#[derive(Debug, Default)]
pub struct PortTable(Box<[PortEntry]>);

impl PortTable {
    /// The ports in the order of their indexes.
    #[must_use]
    pub fn new(ports: Vec<PortEntry>) -> Self {
        Self(ports.into_boxed_slice())
    }

    /// The port's entry; `None` for an index beyond the last port.
    #[inline]
    #[must_use]
    pub fn get(&self, port: PortIndex) -> Option<&PortEntry> {
        self.0.get(usize::from(port.0))
    }

    /// Every port with its index.
    pub fn iter(&self) -> impl Iterator<Item = (PortIndex, &PortEntry)> {
        self.0.iter().zip(0u8..).map(|(entry, index)| (PortIndex(index), entry))
    }
}
