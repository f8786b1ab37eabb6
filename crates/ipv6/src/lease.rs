//! The leases of one session. Times are milliseconds since the session's start.

use crate::events::{Action, LeaseKind, Prefix, Ticket};

/// How far a lease has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// The pools are being asked; nothing but the prefix asked for will do where `exact` is set.
    Asked { exact: bool },
    /// The pools have nothing; kept until the message that asked has been answered.
    Refused,
    /// Allocated and offered, not yet taken by the client.
    Offered,
    /// In use, and routed.
    Bound,
}

/// One address or prefix.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lease {
    pub(crate) kind: LeaseKind,
    pub(crate) state: State,
    /// Whether it came from a pool and has a route of its own.
    pub(crate) pooled: bool,
    pub(crate) iaid: u32,
    pub(crate) ticket: Ticket,
    /// Digest of the DUID of the client that it is for.
    pub(crate) owner: u64,
    pub(crate) prefix: Prefix,
    /// When this state ends by itself.
    pub(crate) until: u64,
}

impl Lease {
    /// Whether there is something to give.
    pub(crate) const fn is_held(&self) -> bool {
        matches!(self.state, State::Offered | State::Bound)
    }

    /// The client has it from now on.
    pub(crate) fn bind(&mut self, owner: u64, until: u64, out: &mut Vec<Action>) {
        if self.state == State::Offered && self.pooled {
            out.push(Action::RouteAdd(self.prefix));
        }
        (self.state, self.owner, self.until) = (State::Bound, owner, until);
    }

    /// Undoes all that was done for it.
    pub(crate) fn end(&self, declined: bool, out: &mut Vec<Action>) {
        if !self.pooled {
            return;
        }
        if self.state == State::Bound {
            out.push(Action::RouteRemove(self.prefix));
        }
        if self.is_held() {
            out.push(Action::Free { kind: self.kind, prefix: self.prefix, declined });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Lease;

    #[test]
    fn a_lease_is_small() {
        assert_eq!(size_of::<Lease>(), 48);
    }
}
