//! The access list.

use std::collections::HashMap;

use super::refer;
use crate::decode::Here;
use crate::received::{AccessSection, Root};
use crate::source::Sources;
use crate::{AccessMatch, TagMatch, Tpid, VlanSet};

/// VLAN ids, 0 to 4095.
const VIDS: usize = 4096;

/// What earlier matches of one port and one TPID take already.
struct Taken {
    single: VlanSet,
    /// By outer id: the inner ids.
    double: Vec<VlanSet>,
}

impl Default for Taken {
    fn default() -> Self {
        Self { single: VlanSet::empty(), double: vec![VlanSet::empty(); VIDS] }
    }
}

/// The matches that have no error.
pub(crate) fn access(root: &Root, out: &mut Sources) -> Vec<AccessMatch> {
    let here = &root.access.here;
    if root.access.0.is_empty() && here.at.start.line > 0 {
        out.hint(here.at, &here.path, "the access list is empty: no subscriber gets any service", None);
    }
    let mut untagged: HashMap<String, usize> = HashMap::new();
    let mut taken: HashMap<(String, Tpid), Taken> = HashMap::new();
    let mut matches = Vec::new();
    for (index, section) in root.access.0.iter().enumerate() {
        let tags = tags(section, &section.here, out);
        let port = refer("port", &section.port.value.0, &section.port.here, &root.ports, out);
        let profile = refer("profile", &section.profile.value.0, &section.profile.here, &root.profiles, out);
        let Some(tags) = tags else { continue };
        let name = &section.port.value.0;
        let never = match &tags {
            TagMatch::Untagged => untagged.insert(name.clone(), index).is_some(),
            TagMatch::Single { tpid, outer } => {
                let taken = taken.entry((name.clone(), *tpid)).or_default();
                let never = outer.minus(&taken.single).is_empty();
                taken.single = taken.single.union(outer);
                never
            }
            TagMatch::Double { tpid, outer, inner } => {
                let taken = taken.entry((name.clone(), *tpid)).or_default();
                let mut never = true;
                for (vid, known) in taken.double.iter_mut().enumerate() {
                    if u16::try_from(vid).is_ok_and(|vid| outer.contains(vid)) {
                        never &= inner.minus(known).is_empty();
                        *known = known.union(inner);
                    }
                }
                never
            }
        };
        if never {
            let reason = format!("`{}` can never match: earlier matches take all of its frames", section.here.path);
            out.error(
                section.here.at,
                &section.here.path,
                reason,
                Some("the first match wins: move it up, or remove it".into()),
            );
        }
        if let (Some(port), Some(profile)) = (port, profile) {
            matches.push(AccessMatch { port, tags, profile });
        }
    }
    matches
}

fn tags(section: &AccessSection, here: &Here, out: &mut Sources) -> Option<TagMatch> {
    let tagged = [
        section.outer_vlan.as_ref().map(|vlan| ("outer_vlan", &vlan.here)),
        section.inner_vlan.as_ref().map(|vlan| ("inner_vlan", &vlan.here)),
        section.tpid.as_ref().map(|tpid| ("tpid", &tpid.here)),
    ];
    if section.untagged.value {
        for (key, here) in tagged.into_iter().flatten() {
            out.error(here.at, &here.path, format!("`{key}` makes no sense beside `untagged: true`"), None);
        }
        return Some(TagMatch::Untagged);
    }
    match (&section.outer_vlan, &section.inner_vlan) {
        (None, _) if out.is_broken(&format!("{}.outer_vlan", here.path)) => None,
        (None, None) if out.is_broken(&here.path) => None,
        (None, None) => {
            let help = Some("add `untagged: true`, or `outer_vlan:`".into());
            out.error(here.at, &here.path, "this match does not say which frames it is for", help);
            None
        }
        (None, Some(inner)) => {
            let help = Some("a single tag is the outer one: write `outer_vlan:`".into());
            out.error(inner.here.at, &inner.here.path, "`inner_vlan` needs `outer_vlan` beside it", help);
            None
        }
        (Some(outer), None) => {
            let tpid = section.tpid.as_ref().map_or(Tpid::Dot1q, |tpid| tpid.value);
            Some(TagMatch::Single { tpid, outer: outer.value.clone() })
        }
        (Some(outer), Some(inner)) => {
            let tpid = section.tpid.as_ref().map_or(Tpid::Dot1ad, |tpid| tpid.value);
            Some(TagMatch::Double { tpid, outer: outer.value.clone(), inner: inner.value.clone() })
        }
    }
}
