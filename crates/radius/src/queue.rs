//! Accounting requests that wait for their answer: in order for each session, bounded, the oldest dropped first.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use crate::Now;
use crate::build::AttributeList;

/// What an entry tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A session has begun.
    Start = 1,
    /// It goes on.
    Interim = 3,
    /// It has ended.
    Stop = 2,
    /// The box has started.
    On = 7,
    /// The box is being stopped.
    Off = 8,
}

impl Kind {
    /// All kinds, for counters.
    pub const ALL: [Self; 5] = [Self::Start, Self::Interim, Self::Stop, Self::On, Self::Off];

    /// The word for metrics.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Interim => "interim",
            Self::Stop => "stop",
            Self::On => "on",
            Self::Off => "off",
        }
    }

    /// About the box, not about one session.
    pub(crate) const fn is_whole_box(self) -> bool {
        matches!(self, Self::On | Self::Off)
    }

    fn from_octet(octet: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == octet)
    }
}

/// Acct-Status-Type's value (RFC 2866 section 5.1) is the discriminant.
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) session: u64,
    pub(crate) attributes: AttributeList,
    pub(crate) event: Now,
    /// Seconds that had passed since the event when this process took it over.
    pub(crate) age_s: u32,
    pub(crate) in_flight: bool,
    pub(crate) persisted: bool,
    pub(crate) attempts: u32,
}

/// Octets that an entry costs beside its attributes: the structures around it, roughly.
const OVERHEAD_OCTETS: usize = 200;
const VERSION: u8 = 1;

impl Entry {
    fn cost(&self) -> usize {
        self.attributes.octets().len().saturating_add(OVERHEAD_OCTETS)
    }

    /// The octets for the disk: version, kind, session, calendar time of the event, attributes.
    pub(crate) fn to_octets(&self) -> Vec<u8> {
        let event_unix_s = self.event.unix_s.saturating_sub(u64::from(self.age_s));
        let mut octets = vec![VERSION, self.kind as u8];
        octets.extend_from_slice(&self.session.to_be_bytes());
        octets.extend_from_slice(&event_unix_s.to_be_bytes());
        octets.extend_from_slice(self.attributes.octets());
        octets
    }

    pub(crate) fn from_octets(now: Now, octets: &[u8]) -> Option<Self> {
        let (&[version, kind], rest) = octets.split_first_chunk::<2>()?;
        let (session, rest) = rest.split_first_chunk::<8>()?;
        let (unix_s, rest) = rest.split_first_chunk::<8>()?;
        if version != VERSION {
            return None;
        }
        let age_s = now.unix_s.saturating_sub(u64::from_be_bytes(*unix_s));
        Some(Self {
            kind: Kind::from_octet(kind)?,
            session: u64::from_be_bytes(*session),
            attributes: AttributeList::from_octets(rest)?,
            event: now,
            age_s: u32::try_from(age_s).unwrap_or(u32::MAX),
            in_flight: false,
            persisted: true,
            attempts: 0,
        })
    }
}

/// The entries by number; a number is given once and grows.
pub(crate) struct Queue {
    entries: BTreeMap<u64, Entry>,
    lanes: HashMap<u64, VecDeque<u64>>,
    /// The first of each lane, unless it is in flight.
    ready: BTreeSet<u64>,
    octets: usize,
    in_flight: usize,
    next: u64,
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self {
            entries: BTreeMap::new(),
            lanes: HashMap::new(),
            ready: BTreeSet::new(),
            octets: 0,
            in_flight: 0,
            next: 1,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) const fn octets(&self) -> usize {
        self.octets
    }

    pub(crate) const fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut Entry> {
        self.entries.get_mut(&number)
    }

    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.entries.keys().copied()
    }

    /// Adds an entry behind all others, or with a number from before a restart.
    pub(crate) fn push(&mut self, number: Option<u64>, entry: Entry) -> Option<u64> {
        let number = number.unwrap_or(self.next);
        if self.entries.contains_key(&number) {
            return None;
        }
        self.next = self.next.max(number.saturating_add(1));
        self.octets = self.octets.saturating_add(entry.cost());
        let lane = self.lanes.entry(entry.session).or_default();
        lane.push_back(number);
        if lane.len() == 1 {
            self.ready.insert(number);
        }
        self.entries.insert(number, entry);
        Some(number)
    }

    /// Puts other attributes into an entry that is not in flight.
    pub(crate) fn replace(&mut self, number: u64, attributes: AttributeList, event: Now) {
        if let Some(entry) = self.entries.get_mut(&number) {
            self.octets = self.octets.saturating_sub(entry.cost());
            entry.attributes = attributes;
            entry.event = event;
            entry.age_s = 0;
            self.octets = self.octets.saturating_add(entry.cost());
        }
    }

    /// A session's last entry, if it is an interim that has not been sent yet.
    pub(crate) fn waiting_interim(&self, session: u64) -> Option<u64> {
        let number = *self.lanes.get(&session)?.back()?;
        let entry = self.entries.get(&number)?;
        (entry.kind == Kind::Interim && !entry.in_flight).then_some(number)
    }

    /// The next entry to send, marked as sent; one about the whole box goes alone.
    pub(crate) fn send_next(&mut self) -> Option<(u64, &mut Entry)> {
        let number = *self.ready.first()?;
        let entry = self.entries.get_mut(&number)?;
        if entry.kind.is_whole_box() && self.in_flight > 0 {
            return None;
        }
        self.ready.remove(&number);
        self.in_flight = self.in_flight.saturating_add(1);
        entry.in_flight = true;
        Some((number, entry))
    }

    /// Whether what is in flight is about the whole box.
    pub(crate) fn whole_box_in_flight(&self) -> bool {
        self.in_flight == 1
            && self
                .lanes
                .get(&WHOLE_BOX)
                .and_then(VecDeque::front)
                .and_then(|number| self.entries.get(number))
                .is_some_and(|entry| entry.in_flight)
    }

    /// No answer came: it will be sent again.
    pub(crate) fn send_again(&mut self, number: u64) {
        if let Some(entry) = self.entries.get_mut(&number)
            && entry.in_flight
        {
            entry.in_flight = false;
            self.in_flight = self.in_flight.saturating_sub(1);
            self.ready.insert(number);
        }
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<Entry> {
        let entry = self.entries.remove(&number)?;
        self.octets = self.octets.saturating_sub(entry.cost());
        self.ready.remove(&number);
        if entry.in_flight {
            self.in_flight = self.in_flight.saturating_sub(1);
        }
        if let Some(lane) = self.lanes.get_mut(&entry.session) {
            lane.retain(|other| *other != number);
            match lane.front() {
                None => {
                    self.lanes.remove(&entry.session);
                }
                Some(first) => {
                    if self.entries.get(first).is_some_and(|entry| !entry.in_flight) {
                        self.ready.insert(*first);
                    }
                }
            }
        }
        Some(entry)
    }

    /// The oldest entry that is not in flight.
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.entries.iter().find(|(_, entry)| !entry.in_flight).map(|(number, _)| *number)
    }
}

/// The lane of entries about the whole box; no session has this key.
pub(crate) const WHOLE_BOX: u64 = u64::MAX;
