//! The values that there is one of.

use crate::change::MetaChange;

/// A key for AC-Cookies and the time it was made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CookieKey {
    /// The key.
    pub key: [u8; 32],
    /// Milliseconds since 1970, UTC.
    pub made_ms: u64,
}

// A key has no place in a log.
impl std::fmt::Debug for CookieKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CookieKey").field("made_ms", &self.made_ms).finish_non_exhaustive()
    }
}

/// What belongs to the store as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// Drawn when the file was made; a part of `Acct-Session-Id`.
    pub instance: u32,
    /// Grows by one at each start; 24 bits of it are used.
    pub run: u32,
    /// `/proc/sys/kernel/random/boot_id` of the run before this one.
    pub boot_id: [u8; 16],
    /// Which file of counters is in use.
    pub counter_epoch: u64,
    /// The cookie key in force.
    pub cookie_key: CookieKey,
    /// The one before it.
    pub cookie_key_before: Option<CookieKey>,
    /// The DHCPv6 server's DUID; empty until there is one.
    pub server_duid: Box<[u8]>,
    /// Starts since the last that served for 30 s, this one among them.
    pub attempts: u32,
}

const FORM: u8 = 1;

impl Meta {
    pub(crate) fn apply(&mut self, change: &MetaChange) {
        match change {
            MetaChange::CookieKeys { current, before } => {
                self.cookie_key = *current;
                self.cookie_key_before = *before;
            }
            MetaChange::CounterEpoch(epoch) => self.counter_epoch = *epoch,
            MetaChange::ServerDuid(duid) => self.server_duid = duid.clone(),
            MetaChange::Served => self.attempts = 0,
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut octets = vec![FORM];
        octets.extend(self.instance.to_le_bytes());
        octets.extend(self.run.to_le_bytes());
        octets.extend(self.boot_id);
        octets.extend(self.counter_epoch.to_le_bytes());
        octets.extend(self.attempts.to_le_bytes());
        for key in [Some(self.cookie_key), self.cookie_key_before] {
            octets.push(u8::from(key.is_some()));
            let key = key.unwrap_or(CookieKey { key: [0; 32], made_ms: 0 });
            octets.extend(key.key);
            octets.extend(key.made_ms.to_le_bytes());
        }
        octets.extend(&self.server_duid);
        octets
    }

    pub(crate) fn decode(octets: &[u8]) -> Option<Self> {
        let mut rest = octets;
        let mut take = |len: usize| -> Option<&[u8]> {
            let (part, after) = rest.split_at_checked(len)?;
            rest = after;
            Some(part)
        };
        if take(1)? != [FORM] {
            return None;
        }
        let instance = u32::from_le_bytes(take(4)?.try_into().ok()?);
        let run = u32::from_le_bytes(take(4)?.try_into().ok()?);
        let boot_id = take(16)?.try_into().ok()?;
        let counter_epoch = u64::from_le_bytes(take(8)?.try_into().ok()?);
        let attempts = u32::from_le_bytes(take(4)?.try_into().ok()?);
        let mut key = || -> Option<(bool, CookieKey)> {
            let there = take(1)? == [1];
            let key = take(32)?.try_into().ok()?;
            Some((there, CookieKey { key, made_ms: u64::from_le_bytes(take(8)?.try_into().ok()?) }))
        };
        let (_, cookie_key) = key()?;
        let (has_before, before) = key()?;
        let server_duid = rest.into();
        Some(Self {
            instance,
            run,
            boot_id,
            counter_epoch,
            cookie_key,
            cookie_key_before: has_before.then_some(before),
            server_duid,
            attempts,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::change::Totals;

    proptest! {
        #[test]
        fn what_is_encoded_decodes_the_same(
            numbers in any::<(u32, u32, [u8; 16], u64, u32)>(),
            keys in any::<([u8; 32], u64, Option<([u8; 32], u64)>)>(),
            duid in prop::collection::vec(any::<u8>(), 0..130),
        ) {
            let (instance, run, boot_id, counter_epoch, attempts) = numbers;
            let meta = Meta {
                instance, run, boot_id, counter_epoch, attempts,
                cookie_key: CookieKey { key: keys.0, made_ms: keys.1 },
                cookie_key_before: keys.2.map(|(key, made_ms)| CookieKey { key, made_ms }),
                server_duid: duid.into(),
            };
            prop_assert_eq!(Meta::decode(&meta.encode()), Some(meta));
        }

        #[test]
        fn noise_is_no_panic(octets in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Meta::decode(&octets);
            let _ = Totals::decode(&octets);
        }

        #[test]
        fn totals_come_back(values in any::<[u64; 6]>(), boot_ms: u64, wall_ms: u64) {
            let totals = Totals { values, boot_ms, wall_ms };
            prop_assert_eq!(Totals::decode(&totals.encode()), Some(totals));
        }
    }

    #[test]
    fn a_key_is_not_in_the_debug_text() {
        let text = format!("{:?}", CookieKey { key: [0xab; 32], made_ms: 7 });
        assert!(!text.contains("171") && !text.contains("ab"), "{text}");
    }
}
