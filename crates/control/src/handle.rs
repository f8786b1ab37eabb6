//! How other threads ask the control core: a question is a closure that runs on its thread, between two turns.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bng_subscriber::{Action, Subscribers};
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use mio::Waker;

/// How many questions may wait.
const QUESTIONS_MAX: usize = 64;

/// What a question may look at and do.
pub(crate) type Question = Box<dyn FnOnce(&mut Subscribers, Instant, &mut Vec<Action>) + Send>;

/// Why a question has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Too many questions wait already.
    #[error("{QUESTIONS_MAX} questions to the control core wait already")]
    Queue,
    /// No answer in time.
    #[error("the control core did not answer in time")]
    Timeout,
    /// The control core has ended.
    #[error("the control core has ended")]
    Gone,
}

/// The way to the control core. Clones share it.
#[derive(Debug, Clone)]
pub struct ControlHandle {
    questions: Sender<Question>,
    waker: Arc<Waker>,
}

impl std::fmt::Debug for QuestionQueue {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("QuestionQueue").field("waiting", &self.0.len()).finish()
    }
}

/// The control core's end.
pub struct QuestionQueue(pub(crate) Receiver<Question>);

/// Makes both ends. `waker` wakes the control core's loop.
#[must_use]
pub fn control_channel(waker: Arc<Waker>) -> (ControlHandle, QuestionQueue) {
    let (sender, receiver) = bounded(QUESTIONS_MAX);
    (ControlHandle { questions: sender, waker }, QuestionQueue(receiver))
}

impl ControlHandle {
    /// Runs `question` on the control core and returns its answer. Actions that it adds are carried out afterwards,
    /// in order. The question delays every subscriber while it runs: it collects, and leaves formatting to the
    /// caller.
    ///
    /// # Errors
    /// [`CallError`]; on a time-out the question may still run later.
    pub fn call<R: Send + 'static>(
        &self,
        timeout: Duration,
        question: impl FnOnce(&mut Subscribers, Instant, &mut Vec<Action>) -> R + Send + 'static,
    ) -> Result<R, CallError> {
        let (sender, answer) = bounded(1);
        let question: Question = Box::new(move |subscribers, now, actions| {
            // The caller may have given up: then nobody wants the answer.
            let _ = sender.send(question(subscribers, now, actions));
        });
        self.questions.try_send(question).map_err(|error| match error {
            TrySendError::Full(_) => CallError::Queue,
            TrySendError::Disconnected(_) => CallError::Gone,
        })?;
        // Where waking fails the loop still comes round within a millisecond or so.
        let _ = self.waker.wake();
        answer.recv_timeout(timeout).map_err(|error| match error {
            crossbeam_channel::RecvTimeoutError::Timeout => CallError::Timeout,
            crossbeam_channel::RecvTimeoutError::Disconnected => CallError::Gone,
        })
    }

    /// Makes the loop look at its stop flag now.
    pub fn wake(&self) {
        let _ = self.waker.wake();
    }
}
