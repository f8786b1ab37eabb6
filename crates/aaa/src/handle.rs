//! The control core's side: messages in, events out, no waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bng_radius::server::{ErrorCause, Ticket as ServerTicket};
use bng_session::SessionTotals;
use bng_subscriber::{AaaRequest, AaaVerdict, Change, EndCause, RequestId, SessionView, SubscriberKey};
use crossbeam_channel::{Sender, bounded};
use mio::Waker;

use crate::snapshot::Snapshot;

/// Names a request from outside, for the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket(pub(crate) ServerTicket);

/// What the control core hears. It may wait up to a millisecond for it.
#[derive(Debug)]
pub enum Event {
    /// The answer to a login.
    Verdict {
        /// Which.
        request: RequestId,
        /// The answer.
        verdict: AaaVerdict,
    },
    /// Read a session's counters and answer by [`AaaHandle::usage`].
    ReadUsage(SubscriberKey),
    /// End these sessions and answer by [`AaaHandle::done`].
    Disconnect {
        /// For the answer.
        ticket: Ticket,
        /// Which; at least one.
        sessions: Vec<SubscriberKey>,
    },
    /// Change these sessions and answer by [`AaaHandle::done`].
    Change {
        /// For the answer.
        ticket: Ticket,
        /// Which; at least one.
        sessions: Vec<SubscriberKey>,
        /// What to change.
        change: Change,
    },
}

/// What the thread is told.
#[derive(Debug)]
pub(crate) enum Message {
    Authenticate(Box<AaaRequest>),
    Up(Box<SessionView>, SessionTotals),
    Ended(SubscriberKey, EndCause),
    Final(SubscriberKey, SessionTotals),
    Usage(SubscriberKey, SessionTotals),
    Done(ServerTicket, Result<(), ErrorCause>),
    Show(Sender<Snapshot>),
    Stop { off: bool },
}

/// The thread does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the RADIUS thread did not answer in time")]
pub struct ShowError;

/// The way to the thread. Clones share it. No call of the control core waits.
#[derive(Debug, Clone)]
pub struct AaaHandle {
    pub(crate) messages: Sender<Message>,
    pub(crate) shared: Arc<Shared>,
}

/// What both sides see.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) waker: Waker,
    /// The thread sleeps, or is about to.
    pub(crate) asleep: AtomicBool,
    pub(crate) lost: AtomicU64,
    /// The thread has told all that it will tell.
    pub(crate) finished: AtomicBool,
}

impl AaaHandle {
    /// False: no room, and nobody will hear of it.
    fn send(&self, message: Message) -> bool {
        let sent = self.messages.try_send(message).is_ok();
        if !sent {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
        }
        // A system call only where somebody has to be woken.
        if self.shared.asleep.swap(false, Ordering::SeqCst) {
            let _ = self.shared.waker.wake();
        }
        sent
    }

    /// Has credentials checked; [`Event::Verdict`] follows. False: there is no room, and no verdict will come.
    #[must_use]
    pub fn authenticate(&self, request: Box<AaaRequest>) -> bool {
        self.send(Message::Authenticate(request))
    }

    /// A session has come up, or has another address now. `totals` is what it has carried so far.
    pub fn up(&self, view: SessionView, totals: SessionTotals) {
        self.send(Message::Up(Box::new(view), totals));
    }

    /// A session that has tried to log in has ended.
    pub fn ended(&self, key: SubscriberKey, cause: EndCause) {
        self.send(Message::Ended(key, cause));
    }

    /// Its last counters: the session is forgotten after this.
    pub fn final_counters(&self, key: SubscriberKey, totals: SessionTotals) {
        self.send(Message::Final(key, totals));
    }

    /// The answer to [`Event::ReadUsage`].
    pub fn usage(&self, key: SubscriberKey, totals: SessionTotals) {
        self.send(Message::Usage(key, totals));
    }

    /// The answer to [`Event::Disconnect`] and [`Event::Change`]: whether any session was still there.
    pub fn done(&self, ticket: Ticket, found: bool) {
        let result = if found { Ok(()) } else { Err(ErrorCause::SessionContextNotFound) };
        self.send(Message::Done(ticket.0, result));
    }

    /// The process stops: what there is to say is said now, and what nobody answers within a few seconds is kept on
    /// disk. Call it once the sessions' last counters have been handed over, and serve the network until
    /// [`AaaHandle::is_finished`]: the way to the servers may lead through this box. `off`: the box has no sessions any
    /// more (Accounting-Off).
    pub fn finish(&self, off: bool) {
        self.send(Message::Stop { off });
    }

    /// Whether the thread has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.shared.finished.load(Ordering::Acquire)
    }

    /// What an operator sees. Waits: not for the control core.
    ///
    /// # Errors
    /// [`ShowError`] where the thread does not answer within `timeout`.
    pub fn show(&self, timeout: Duration) -> Result<Snapshot, ShowError> {
        let (sender, answer) = bounded(1);
        if !self.send(Message::Show(sender)) {
            return Err(ShowError);
        }
        answer.recv_timeout(timeout).map_err(|_| ShowError)
    }
}
