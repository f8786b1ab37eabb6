//! What is measured: lists in a YAML file, of which every combination is a case.

use anyhow::{Context as _, bail, ensure};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Session ids of one space that are given out before the next outer VLAN is taken.
const SESSIONS_PER_SPACE: usize = 65_000;
/// As many as the pool of the benchmark has addresses.
const SESSIONS_MAX: usize = 1 << 20;

/// A file of cases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    /// Polls that are timed for each case, a burst of 32 frames each.
    pub(crate) polls: usize,
    /// The cases.
    groups: Vec<Group>,
}

/// Every combination of these is a case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    sessions: Vec<usize>,
    #[serde(default = "untagged")]
    tags: Vec<Tags>,
    #[serde(default = "ipv4")]
    family: Vec<Family>,
    direction: Vec<Direction>,
    /// Octets of the IP packets; IPv6 packets of UDP are at least 48 long.
    octets: Vec<usize>,
    #[serde(default = "udp")]
    transport: Vec<Transport>,
    /// Bits per second of a policer each way, which the traffic stays below; 0 for none.
    #[serde(default = "unlimited")]
    police: Vec<u64>,
}

fn untagged() -> Vec<Tags> {
    vec![Tags::None]
}

fn ipv4() -> Vec<Family> {
    vec![Family::Ipv4]
}

fn udp() -> Vec<Transport> {
    vec![Transport::Udp]
}

fn unlimited() -> Vec<u64> {
    vec![0]
}

/// Tags of the subscribers' frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Tags {
    /// None: one space of session ids.
    None,
    /// One, 0x8100.
    Vlan,
    /// Two, 0x88a8 and 0x8100.
    Qinq,
}

/// The version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Family {
    /// Version 4.
    Ipv4,
    /// Version 6.
    Ipv6,
}

/// Which way packets go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Direction {
    /// From the subscribers.
    Up,
    /// To the subscribers.
    Down,
    /// A burst each way in every poll.
    Both,
}

impl Direction {
    /// The ports that a poll finds frames on: 0 is the access port, 1 the core port.
    pub(crate) const fn ports(self) -> &'static [usize] {
        match self {
            Self::Up => &[0],
            Self::Down => &[1],
            Self::Both => &[0, 1],
        }
    }
}

/// What is in the packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Transport {
    /// A datagram.
    Udp,
    /// A segment without SYN.
    Tcp,
}

/// One case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Case {
    pub(crate) sessions: usize,
    /// Outer VLANs that the sessions are spread over.
    pub(crate) spaces: usize,
    pub(crate) tags: Tags,
    pub(crate) family: Family,
    pub(crate) direction: Direction,
    pub(crate) octets: usize,
    pub(crate) transport: Transport,
    pub(crate) police: u64,
}

impl Case {
    /// A name that is stable, for files and people.
    pub(crate) fn name(&self) -> String {
        let word = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let [tags, family, direction, transport] = [
            serde_json::to_value(self.tags),
            serde_json::to_value(self.family),
            serde_json::to_value(self.direction),
            serde_json::to_value(self.transport),
        ]
        .map(|value| value.map(word).unwrap_or_default());
        let police = if self.police > 0 { "-police" } else { "" };
        format!("{direction}-{family}-{transport}{}-{}-tags={tags}{police}", self.octets, self.sessions)
    }

    fn check(&self) -> anyhow::Result<()> {
        ensure!((1..=SESSIONS_MAX).contains(&self.sessions), "sessions: 1 to {SESSIONS_MAX}");
        ensure!(self.spaces == 1 || self.tags != Tags::None, "{} sessions do not fit untagged", self.sessions);
        let least = match (self.family, self.transport) {
            (Family::Ipv4, Transport::Udp) => 28,
            (Family::Ipv4, Transport::Tcp) => 40,
            (Family::Ipv6, Transport::Udp) => 48,
            (Family::Ipv6, Transport::Tcp) => 60,
        };
        ensure!((least..=1492).contains(&self.octets), "octets: {least} to 1492 here");
        Ok(())
    }
}

/// Reads a file: its cases in the order that reuses tables most, and how many polls to time.
///
/// # Errors
/// What is wrong with the file.
pub(crate) fn load(path: &Path) -> anyhow::Result<(usize, Vec<Case>)> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    parse(&text).with_context(|| path.display().to_string())
}

fn parse(text: &str) -> anyhow::Result<(usize, Vec<Case>)> {
    let file: File = serde_json::from_value(crate::yaml::read(text)?)?;
    let mut cases = Vec::new();
    for group in &file.groups {
        let Group { sessions, tags, family, direction, octets, transport, police } = group;
        for (sessions, tags, police) in product3(sessions, tags, police) {
            for (family, direction, transport) in product3(family, direction, transport) {
                for octets in octets {
                    let spaces = sessions.div_ceil(SESSIONS_PER_SPACE);
                    let octets = if family == Family::Ipv6 && *octets == 46 { 48 } else { *octets };
                    let case = Case { sessions, spaces, tags, family, direction, octets, transport, police };
                    case.check().with_context(|| case.name())?;
                    cases.push(case);
                }
            }
        }
    }
    if cases.is_empty() || file.polls == 0 {
        bail!("the file has no case, or no poll");
    }
    Ok((file.polls, cases))
}

fn product3<A: Copy, B: Copy, C: Copy>(a: &[A], b: &[B], c: &[C]) -> Vec<(A, B, C)> {
    let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (*a, *b)));
    pairs.flat_map(|(a, b)| c.iter().map(move |c| (a, b, *c))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_is_a_case() {
        let text = "polls: 10\ngroups:\n  - {sessions: [1, 1000], direction: [up, down, both], octets: [46, 512]}\n";
        let (polls, cases) = parse(text).expect("cases");
        assert_eq!((polls, cases.len()), (10, 12));
        assert_eq!(cases[0].name(), "up-ipv4-udp46-1-tags=none");
        let names: std::collections::BTreeSet<String> = cases.iter().map(Case::name).collect();
        assert_eq!(names.len(), 12);
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        for group in [
            "{sessions: [65536], direction: [up], octets: [46]}",
            "{sessions: [0], direction: [up], octets: [46]}",
            "{sessions: [1], direction: [up], octets: [1500]}",
            "{sessions: [1], direction: [up], octets: [46], transport: [tcp], family: [ipv6]}",
            "{sessions: [1], direction: [sideways], octets: [46]}",
            "{sessions: [1], direction: [up], octets: [46], colour: [red]}",
            "{sessions: [1], direction: [up], octets: []}",
        ] {
            assert!(parse(&format!("polls: 1\ngroups:\n  - {group}\n")).is_err(), "{group}");
        }
    }

    #[test]
    fn the_files_of_this_crate_are_good() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
        let files: Vec<_> =
            std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path()).collect();
        assert!(files.len() >= 3, "{files:?}");
        for file in files {
            load(&file).expect("cases");
        }
    }
}
