//! How a session ends.

use crate::action::{Action, SubscriberKey};
use crate::dial::line_of;
use crate::event::{EventKind, SessionEvent};
use crate::session::{Entry, HeldAddress, Leaving, Session};
use crate::subscribers::{PoolOf, Subscribers};
use bng_ppp::EndCause;
use bng_session::SessionTotals;
use std::time::Instant;

impl Subscribers {
    /// A session has ended: the client is told unless it was the one who said so, the forwarding plane lets go of it,
    /// and what it held waits for [`crate::Input::Removed`]. `installed` is false where the forwarding plane never had
    /// it. The session has been taken out of the slab by the caller.
    pub(crate) fn finish(
        &mut self,
        now: Instant,
        mut session: Box<Session>,
        cause: EndCause,
        installed: bool,
        out: &mut Vec<Action>,
    ) {
        let key = session.key;
        let line = session.line;
        let outer_vid = line.vlans.outer_vid();
        if session.mapped
            && let Some(held) = session.address
        {
            out.push(match held.pool {
                Some((pool, offset)) => Action::UnmapAddress { pool, offset },
                None => Action::RemoveRoute { vrf: held.vrf, address: held.address },
            });
        }
        Self::unmap_prefixes(&mut session, out);
        if installed {
            out.push(Action::Remove { key });
        }
        // RFC 2516 section 5.5: after a PADT nothing more is sent, not even a PADT.
        if cause != EndCause::PadtReceived {
            let frame = self.ac.padt(session.local_mac, &line, session.session_id);
            out.push(Action::Transmit { port: line.port, frame });
            self.statistics.padt_out = self.statistics.padt_out.saturating_add(1);
        }
        self.timers.set(key.slot, None);
        self.by_line.remove(line.key(), key.slot);
        if session.indexed_user
            && let Some(user) = session.user.as_deref()
        {
            self.by_user.remove(user, key.slot);
        }
        self.live = self.live.saturating_sub(1);
        if session.ipv4_up || session.ipv6_up {
            self.up = self.up.saturating_sub(1);
        }
        if !session.authenticated
            && let Some(count) = self.half_open.get_mut(usize::from(line.port.0))
        {
            *count = count.saturating_sub(1);
        }
        if let Some(count) = self.per_vlan.get_mut(&(line.port, outer_vid)) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.per_vlan.remove(&(line.port, outer_vid));
            }
        }
        if self.counts_line(&line)
            && let Some(count) = self.per_line.get_mut(&line_of(&line))
        {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.per_line.remove(&line_of(&line));
            }
        }
        if let Some(counter) = self.statistics.ended.get_mut(cause as usize) {
            *counter = counter.saturating_add(1);
        }
        self.ac.set_sessions(self.live);
        if session.up_since.is_none() && blames_the_client(cause) {
            let wait = self.ac.session_failed(now, &line.key(), session.circuit_id());
            if wait.is_some() {
                self.statistics.locked_out = self.statistics.locked_out.saturating_add(1);
            }
        }
        let lasted = now.saturating_duration_since(session.created);
        let was_up = session.up_since.is_some();
        self.event(now, &mut session, EventKind::Ended { cause, lasted, was_up }, out);
        if session.address.is_some() {
            self.leaving_addresses = self.leaving_addresses.saturating_add(1);
        }
        let leaving = Leaving {
            key,
            line,
            session_id: session.session_id,
            profile: session.profile,
            index: session.index,
            user: session.user.take(),
            address: session.address,
            prefixes: session.line_prefix.iter().chain(&session.delegated).copied().collect(),
            created: session.created,
            was_up,
        };
        self.entries.put(key.slot, Entry::Leaving(leaving));
        if !installed {
            self.removed(now, key, SessionTotals::default(), out);
        }
    }

    /// No worker can still be using the session: its id rests, its address is free, its slot too.
    pub(crate) fn removed(&mut self, now: Instant, key: SubscriberKey, totals: SessionTotals, out: &mut Vec<Action>) {
        if !matches!(self.entries.get(key), Some(Entry::Leaving(_))) {
            return;
        }
        let Some(Entry::Leaving(leaving)) = self.entries.remove(key) else { return };
        let line = leaving.line;
        let outer_vid = line.vlans.outer_vid();
        self.by_id.remove((line.port, outer_vid, leaving.session_id), key.slot);
        let released = self.ids.release(now, line.port, outer_vid, leaving.session_id);
        debug_assert!(released, "a session's id was not live");
        out.push(Action::Event(SessionEvent {
            key,
            session_id: leaving.session_id,
            line,
            user: leaving.user,
            what: EventKind::Final { totals, was_up: leaving.was_up },
        }));
        if let Some(held) = leaving.address {
            self.leaving_addresses = self.leaving_addresses.saturating_sub(1);
            self.release(&held, key.slot);
        }
        self.release_prefixes(&leaving.prefixes);
        if !self.waiters.is_empty() {
            self.serve_waiters(now, out);
        }
    }

    fn release(&mut self, held: &HeldAddress, slot: u32) {
        if held.fixed && self.fixed.get(&(held.vrf, held.address)) == Some(&slot) {
            self.fixed.remove(&(held.vrf, held.address));
        }
        if let Some((index, _)) = held.pool
            && let Some(PoolOf::Ipv4(pool)) = self.pools.get_mut(usize::from(index.0)).map(|state| &mut state.kind)
        {
            let released = pool.release(held.address);
            debug_assert!(released.is_ok(), "a session's address was not held");
        }
    }
}

/// Whether a session that never came up says something about its client: these count towards its lock-out.
const fn blames_the_client(cause: EndCause) -> bool {
    matches!(
        cause,
        EndCause::AuthFailed
            | EndCause::AuthTimeout
            | EndCause::AuthRefused
            | EndCause::NoAnswer
            | EndCause::NotConverging
            | EndCause::LoopedBack
            | EndCause::NoNetworkProtocol
            | EndCause::ProtocolError
    )
}
