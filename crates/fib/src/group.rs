//! Several next hops of one route: each flow goes by one of them.

use crate::NextHopId;
use core::sync::atomic::{AtomicU32, Ordering};
use zerocopy::FromZeros;

/// The shares that a group is cut into; each goes to one member. With `n` members of the same weight, no member gets
/// more than one share more than another.
pub const GROUP_BUCKETS: usize = 256;

/// The most members of a group.
pub const GROUP_MEMBERS_MAX: usize = 64;

/// Names a group of next hops, see [`crate::Fib::group_member`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupId(pub u32);

/// One group as readers see it: each share names a next hop. Its writer is the [`crate::FibWriter`], which changes one
/// share at a time: a flow goes where it went before or where it goes afterwards.
#[derive(FromZeros)]
#[repr(C, align(64))]
pub(crate) struct Group([AtomicU32; GROUP_BUCKETS]);

impl Group {
    /// The next hop of a flow with this hash.
    #[inline]
    pub(crate) fn member(&self, hash: u32) -> NextHopId {
        let bucket = self.0.get(hash as usize % GROUP_BUCKETS);
        bucket.map_or(NextHopId::UNREACHABLE, |bucket| NextHopId(bucket.load(Ordering::Acquire)))
    }

    /// The writer's: what each share leads to.
    pub(crate) fn buckets(&self) -> Vec<NextHopId> {
        self.0.iter().map(|bucket| NextHopId(bucket.load(Ordering::Relaxed))).collect()
    }

    /// The writer's: stores the shares that have changed.
    pub(crate) fn store(&self, buckets: &[NextHopId]) {
        for (bucket, new) in self.0.iter().zip(buckets) {
            if bucket.load(Ordering::Relaxed) != new.0 {
                bucket.store(new.0, Ordering::Release);
            }
        }
    }
}

/// Deals the shares out to `members` (a next hop each, and its weight, 1 or more; at most [`GROUP_MEMBERS_MAX`]), by
/// weight and at least one to each. A share stays where it is in `before` unless its member is gone or has too many:
/// so a member that goes moves its own flows only, and one that comes takes no more than what is its due.
pub(crate) fn deal(members: &[(NextHopId, u32)], before: &[NextHopId]) -> Vec<NextHopId> {
    let mut due = quotas(members);
    let mut buckets: Vec<Option<NextHopId>> = (0..GROUP_BUCKETS)
        .map(|number| {
            let old = *before.get(number)?;
            let place = members.iter().position(|(member, _)| *member == old)?;
            let due = due.get_mut(place).filter(|due| **due > 0)?;
            *due = due.saturating_sub(1);
            Some(old)
        })
        .collect();
    let mut to_deal = members.iter().zip(due).flat_map(|((member, _), due)| core::iter::repeat_n(*member, due));
    for bucket in &mut buckets {
        if bucket.is_none() {
            *bucket = to_deal.next();
        }
    }
    buckets.into_iter().map(Option::unwrap_or_default).collect()
}

/// How many shares each member is due: all together [`GROUP_BUCKETS`].
fn quotas(members: &[(NextHopId, u32)]) -> Vec<usize> {
    let total = members.iter().fold(0u64, |sum, (_, weight)| sum.saturating_add(u64::from(*weight))).max(1);
    // Each has one for a start, what is left goes by weight.
    let shared = (GROUP_BUCKETS as u64).saturating_sub(members.len() as u64);
    let mut up_to = 0u64;
    let mut given = 0u64;
    members
        .iter()
        .map(|(_, weight)| {
            // By running sums, so that what rounding leaves over is spread and nothing is lost.
            up_to = up_to.saturating_add(u64::from(*weight));
            let target = shared.saturating_mul(up_to).checked_div(total).unwrap_or(0);
            let share = target.saturating_sub(given);
            given = target;
            share.saturating_add(1) as usize
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn count(buckets: &[NextHopId], member: NextHopId) -> usize {
        buckets.iter().filter(|bucket| **bucket == member).count()
    }

    fn members() -> impl Strategy<Value = Vec<(NextHopId, u32)>> {
        prop::collection::btree_map(1u32..200, 1u32..256, 1..=GROUP_MEMBERS_MAX)
            .prop_map(|members| members.into_iter().map(|(id, weight)| (NextHopId(id), weight)).collect())
    }

    proptest! {
        #[test]
        fn every_share_is_dealt_by_weight(members in members()) {
            let buckets = deal(&members, &[]);
            let total: u32 = members.iter().map(|(_, weight)| weight).sum();
            let dealt: usize = members.iter().map(|(id, _)| count(&buckets, *id)).sum();
            prop_assert_eq!(dealt, GROUP_BUCKETS);
            for (id, weight) in &members {
                let due = (GROUP_BUCKETS - members.len()) as f64 * f64::from(*weight) / f64::from(total) + 1.0;
                prop_assert!((count(&buckets, *id) as f64 - due).abs() < 1.0);
            }
        }

        #[test]
        fn only_the_flows_of_one_that_goes_move(members in members(), gone in any::<prop::sample::Index>()) {
            prop_assume!(members.len() > 1);
            let equal: Vec<(NextHopId, u32)> = members.iter().map(|(id, _)| (*id, 1)).collect();
            let before = deal(&equal, &[]);
            let mut left = equal.clone();
            let (gone, _) = left.remove(gone.index(equal.len()));
            let after = deal(&left, &before);
            prop_assert_eq!(count(&after, gone), 0);
            // Rounding may move a share here and there of the others: at most one each.
            let moved = before.iter().zip(&after).filter(|(old, new)| **old != gone && old != new).count();
            prop_assert!(moved <= left.len(), "{moved} of the others moved");
            // One that comes back takes from the others no more than it is due.
            let again = deal(&equal, &after);
            let moved = after.iter().zip(&again).filter(|(old, new)| old != new).count();
            prop_assert!(moved <= count(&again, gone) + equal.len());
        }
    }

    #[test]
    fn two_of_the_same_weight_have_half_each_and_a_third_one_takes_a_third() {
        let [a, b, c] = [1, 2, 3].map(NextHopId);
        let two = deal(&[(a, 1), (b, 1)], &[]);
        assert_eq!((count(&two, a), count(&two, b)), (128, 128));
        let three = deal(&[(a, 1), (b, 1), (c, 1)], &two);
        assert_eq!((count(&three, a), count(&three, b), count(&three, c)), (85, 85, 86));
        assert!(two.iter().zip(&three).all(|(old, new)| old == new || *new == c));
        let back = deal(&[(a, 1), (b, 1)], &three);
        assert!(three.iter().zip(&back).all(|(old, new)| old == new || *old == c));
    }
}
