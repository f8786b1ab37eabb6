//! The access list: which lines may dial in, and what they are offered.

use bng_wire::{PortIndex, VlanStack, VlanTag};

use crate::config::{AccessRule, ProfileIndex, VlanMatch};

/// The TPID of an inner tag (IEEE 802.1Q): only outer ones differ between networks.
const INNER_TPID: u16 = 0x8100;

/// The first rule that matches decides.
pub(crate) fn profile_of(rules: &[AccessRule], port: PortIndex, vlans: VlanStack) -> Option<ProfileIndex> {
    rules.iter().find(|rule| rule.port == port && matches(rule.vlans, vlans)).map(|rule| rule.profile)
}

fn matches(wanted: VlanMatch, vlans: VlanStack) -> bool {
    // A priority tag (VID 0) is no VLAN, but only alone: inside or around another tag it is a frame that no customer's
    // equipment is set up to send, and what its answer should carry is not defined.
    match (wanted, vlans.outer, vlans.inner) {
        (VlanMatch::Untagged, None, None) => true,
        (VlanMatch::Untagged, Some(tag), None) => tag.vid() == 0,
        (VlanMatch::Single { tpid, vids }, Some(tag), None) => tag.tpid == tpid && vids.contains(tag.vid()),
        (VlanMatch::Double { tpid, outer, inner }, Some(outer_tag), Some(inner_tag)) => {
            let VlanTag { tpid: inner_tpid, .. } = inner_tag;
            outer_tag.tpid == tpid
                && inner_tpid == INNER_TPID
                && outer.contains(outer_tag.vid())
                && inner.contains(inner_tag.vid())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::VidRange;

    const fn tag(tpid: u16, tci: u16) -> Option<VlanTag> {
        Some(VlanTag { tpid, tci })
    }

    fn rule(port: u8, vlans: VlanMatch, profile: u16) -> AccessRule {
        AccessRule { port: PortIndex(port), vlans, profile: ProfileIndex(profile) }
    }

    #[test]
    fn the_first_match_wins_and_no_match_is_no_service() {
        let rules = [
            rule(0, VlanMatch::Double { tpid: 0x88a8, outer: VidRange::one(100), inner: VidRange::one(7) }, 1),
            rule(
                0,
                VlanMatch::Double { tpid: 0x88a8, outer: VidRange { first: 100, last: 199 }, inner: VidRange::ANY },
                2,
            ),
            rule(0, VlanMatch::Single { tpid: 0x8100, vids: VidRange::ANY }, 3),
            rule(0, VlanMatch::Untagged, 4),
            rule(1, VlanMatch::Untagged, 5),
        ];
        let find = |port, outer, inner| {
            profile_of(&rules, PortIndex(port), VlanStack { outer, inner }).map(|profile| profile.0)
        };
        assert_eq!(find(0, tag(0x88a8, 100), tag(0x8100, 7)), Some(1));
        assert_eq!(find(0, tag(0x88a8, 100), tag(0x8100, 8)), Some(2));
        assert_eq!(find(0, tag(0x88a8, 0xe000 | 199), tag(0x8100, 0x2000 | 4094)), Some(2));
        assert_eq!(find(0, tag(0x88a8, 200), tag(0x8100, 7)), None);
        assert_eq!(find(0, tag(0x8100, 100), tag(0x8100, 7)), None);
        assert_eq!(find(0, tag(0x88a8, 100), tag(0x88a8, 7)), None);
        assert_eq!(find(0, tag(0x8100, 9), None), Some(3));
        assert_eq!(find(0, tag(0x88a8, 9), None), None);
        assert_eq!(find(0, tag(0x8100, 0xa000), None), Some(4), "a priority tag is untagged");
        assert_eq!(find(0, tag(0x8100, 4095), None), None);
        assert_eq!(find(0, tag(0x88a8, 100), tag(0x8100, 0)), None);
        assert_eq!(find(0, None, None), Some(4));
        assert_eq!(find(1, None, None), Some(5));
        assert_eq!(find(2, None, None), None);
    }
}
