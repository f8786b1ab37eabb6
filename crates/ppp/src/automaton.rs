//! The option negotiation automaton of RFC 1661 section 4: its table as data, its counters and its restart timer.
//!
//! The table is written in the RFC's own notation and turned into values by the compiler; a cell that does not parse
//! is a compile error. What the actions do is not here but in one place, `Ppp::run` in `session.rs`.

use std::time::Instant;

/// States, with the RFC's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum State {
    /// Lower layer down, not opened.
    Initial = 0,
    /// Lower layer down, opened.
    Starting = 1,
    /// Lower layer up, not opened.
    Closed = 2,
    /// Opened, but nothing is tried: waits for the peer or for Down.
    Stopped = 3,
    /// A Terminate-Request has been sent after Close.
    Closing = 4,
    /// A Terminate-Request or its Ack has been sent while still opened.
    Stopping = 5,
    /// A Configure-Request has been sent.
    ReqSent = 6,
    /// A Configure-Request has been sent and acknowledged.
    AckRcvd = 7,
    /// A Configure-Request has been sent, and the peer's has been acknowledged.
    AckSent = 8,
    /// Both requests are acknowledged.
    Opened = 9,
}

impl State {
    /// All states, in the RFC's order.
    pub const ALL: [Self; 10] = [
        Self::Initial,
        Self::Starting,
        Self::Closed,
        Self::Stopped,
        Self::Closing,
        Self::Stopping,
        Self::ReqSent,
        Self::AckRcvd,
        Self::AckSent,
        Self::Opened,
    ];

    /// True where the restart timer runs: the states whose columns have TO events (section 4.1).
    #[must_use]
    pub const fn has_restart_timer(self) -> bool {
        matches!(self, Self::Closing | Self::Stopping | Self::ReqSent | Self::AckRcvd | Self::AckSent)
    }
}

/// Events, in the order of the table's rows (section 4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Event {
    /// Up: the lower layer is ready.
    Up = 0,
    /// Down: it is no longer.
    Down = 1,
    /// Open: the administrator wants the link.
    Open = 2,
    /// Close: the administrator does not want it any more.
    Close = 3,
    /// TO+: the restart timer expired, and the counter has not run out.
    TimeoutRetry = 4,
    /// TO-: the restart timer expired, and the counter has run out.
    TimeoutLast = 5,
    /// RCR+: an acceptable Configure-Request.
    ConfigureRequestGood = 6,
    /// RCR-: a Configure-Request that is not acceptable.
    ConfigureRequestBad = 7,
    /// RCA: a valid Configure-Ack.
    ConfigureAck = 8,
    /// RCN: a valid Configure-Nak or Configure-Reject.
    ConfigureNak = 9,
    /// RTR: a Terminate-Request.
    TerminateRequest = 10,
    /// RTA: a Terminate-Ack.
    TerminateAck = 11,
    /// RUC: a packet with an unknown code.
    UnknownCode = 12,
    /// RXJ+: a Code-Reject or Protocol-Reject that can be lived with.
    RejectTolerable = 13,
    /// RXJ-: a Code-Reject or Protocol-Reject that cannot.
    RejectFatal = 14,
    /// RXR: an Echo-Request, Echo-Reply or Discard-Request.
    Echo = 15,
}

impl Event {
    /// All events, in the RFC's order.
    pub const ALL: [Self; 16] = [
        Self::Up,
        Self::Down,
        Self::Open,
        Self::Close,
        Self::TimeoutRetry,
        Self::TimeoutLast,
        Self::ConfigureRequestGood,
        Self::ConfigureRequestBad,
        Self::ConfigureAck,
        Self::ConfigureNak,
        Self::TerminateRequest,
        Self::TerminateAck,
        Self::UnknownCode,
        Self::RejectTolerable,
        Self::RejectFatal,
        Self::Echo,
    ];
}

/// Actions, by their names in the RFC (section 4.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Act {
    /// This-Layer-Up.
    Tlu,
    /// This-Layer-Down.
    Tld,
    /// This-Layer-Started.
    Tls,
    /// This-Layer-Finished.
    Tlf,
    /// Initialize-Restart-Count.
    Irc,
    /// Zero-Restart-Count.
    Zrc,
    /// Send-Configure-Request.
    Scr,
    /// Send-Configure-Ack.
    Sca,
    /// Send-Configure-Nak or Send-Configure-Reject.
    Scn,
    /// Send-Terminate-Request.
    Str,
    /// Send-Terminate-Ack.
    Sta,
    /// Send-Code-Reject.
    Scj,
    /// Send-Echo-Reply.
    Ser,
}

/// One cell of the table: actions, in the RFC's order, then the new state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// At most three actions; empty slots come last.
    pub acts: [Option<Act>; 3],
    /// The new state.
    pub next: State,
}

impl Transition {
    /// True where the cell has this action.
    #[must_use]
    pub fn has(&self, act: Act) -> bool {
        self.acts.contains(&Some(act))
    }
}

/// The state transition table of section 4.1: a row per event, a column per state. `-` is an event that cannot
/// happen there. Footnotes: `p` no passive option is used, so This-Layer-Finished stands; `r` no restart option is
/// used, so Open changes nothing; `x` a crossed connection, which `Ppp` discards before it gets here, since an answer
/// to a request that has already been answered is an invalid one (section 4.3, RCA).
const NOTATION: [[&str; 10]; 16] = [
    // 0 Initial, 1 Starting, 2 Closed, 3 Stopped, 4 Closing, 5 Stopping, 6 Req-Sent, 7 Ack-Rcvd, 8 Ack-Sent, 9 Opened
    ["2", "irc,scr/6", "-", "-", "-", "-", "-", "-", "-", "-"], // Up
    ["-", "-", "0", "tls/1", "0", "1", "1", "1", "1", "tld/1"], // Down
    ["tls/1", "1", "irc,scr/6", "3r", "5r", "5r", "6", "7", "8", "9r"], // Open
    ["0", "tlf/0", "2", "2", "4", "4", "irc,str/4", "irc,str/4", "irc,str/4", "tld,irc,str/4"], // Close
    ["-", "-", "-", "-", "str/4", "str/5", "scr/6", "scr/6", "scr/8", "-"], // TO+
    ["-", "-", "-", "-", "tlf/2", "tlf/3", "tlf/3p", "tlf/3p", "tlf/3p", "-"], // TO-
    ["-", "-", "sta/2", "irc,scr,sca/8", "4", "5", "sca/8", "sca,tlu/9", "sca/8", "tld,scr,sca/8"], // RCR+
    ["-", "-", "sta/2", "irc,scr,scn/6", "4", "5", "scn/6", "scn/7", "scn/6", "tld,scr,scn/6"], // RCR-
    ["-", "-", "sta/2", "sta/3", "4", "5", "irc/7", "scr/6x", "irc,tlu/9", "tld,scr/6x"], // RCA
    ["-", "-", "sta/2", "sta/3", "4", "5", "irc,scr/6", "scr/6x", "irc,scr/8", "tld,scr/6x"], // RCN
    ["-", "-", "sta/2", "sta/3", "sta/4", "sta/5", "sta/6", "sta/6", "sta/6", "tld,zrc,sta/5"], // RTR
    ["-", "-", "2", "3", "tlf/2", "tlf/3", "6", "6", "8", "tld,scr/6"], // RTA
    ["-", "-", "scj/2", "scj/3", "scj/4", "scj/5", "scj/6", "scj/7", "scj/8", "scj/9"], // RUC
    ["-", "-", "2", "3", "4", "5", "6", "6", "8", "9"],         // RXJ+
    ["-", "-", "tlf/2", "tlf/3", "tlf/2", "tlf/3", "tlf/3", "tlf/3", "tlf/3", "tld,irc,str/5"], // RXJ-
    ["-", "-", "2", "3", "4", "5", "6", "7", "8", "ser/9"],     // RXR
];

/// The table as values.
static TABLE: [[Option<Transition>; 10]; 16] = compile(&NOTATION);

/// What the RFC says about an event in a state; `None` where the event cannot happen.
#[must_use]
pub fn transition(state: State, event: Event) -> Option<Transition> {
    TABLE.get(event as usize).and_then(|row| row.get(state as usize)).copied().flatten()
}

#[allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::panic,
    reason = "evaluated by the compiler only: what is wrong does not build"
)]
const fn compile(notation: &[[&str; 10]; 16]) -> [[Option<Transition>; 10]; 16] {
    let mut table = [[None; 10]; 16];
    let mut row = 0;
    while row < 16 {
        let mut column = 0;
        while column < 10 {
            table[row][column] = cell(notation[row][column].as_bytes());
            column += 1;
        }
        row += 1;
    }
    table
}

/// Parses `[act,act,.../]state[footnote]` or `-`.
#[allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::panic,
    reason = "evaluated by the compiler only: what is wrong does not build"
)]
const fn cell(text: &[u8]) -> Option<Transition> {
    if text.len() == 1 && text[0] == b'-' {
        return None;
    }
    let mut acts = [None; 3];
    let mut count = 0;
    let mut at = 0;
    while at + 3 < text.len() && (text[at + 3] == b',' || text[at + 3] == b'/') {
        acts[count] = Some(act([text[at], text[at + 1], text[at + 2]]));
        count += 1;
        at += 4;
    }
    let next = State::ALL[(text[at] - b'0') as usize];
    let footnote = at + 1 < text.len();
    assert!(!footnote || (at + 2 == text.len() && matches!(text[at + 1], b'p' | b'r' | b'x')));
    Some(Transition { acts, next })
}

#[allow(clippy::panic, reason = "evaluated by the compiler only: what is wrong does not build")]
const fn act(name: [u8; 3]) -> Act {
    match &name {
        b"tlu" => Act::Tlu,
        b"tld" => Act::Tld,
        b"tls" => Act::Tls,
        b"tlf" => Act::Tlf,
        b"irc" => Act::Irc,
        b"zrc" => Act::Zrc,
        b"scr" => Act::Scr,
        b"sca" => Act::Sca,
        b"scn" => Act::Scn,
        b"str" => Act::Str,
        b"sta" => Act::Sta,
        b"scj" => Act::Scj,
        b"ser" => Act::Ser,
        _ => panic!("unknown action"),
    }
}

/// One automaton: the state and the counters that go with it. LCP and each network control protocol has its own.
#[derive(Debug, Clone)]
pub(crate) struct Automaton {
    pub(crate) state: State,
    /// Restart counter: how many transmissions are left.
    pub(crate) restarts_left: u8,
    /// Configure-Naks sent since the last Configure-Ack (Max-Failure, section 4.6), those aside that answer a
    /// repetition: a request with an identifier that has been Nak'd before only says that the Nak was lost, not that
    /// the client disagrees (section 5.1).
    pub(crate) naks_sent: u8,
    /// Configure-Naks sent in a row for one identifier.
    nak_repeats: u8,
    nak_id: u8,
    /// Configure-Naks and Rejects received since the last Configure-Ack.
    pub(crate) naks_received: u8,
    /// Identifier of the Configure-Request sent last.
    pub(crate) request_id: u8,
    /// Whether that request still waits for its answer. Once it has one, any further answer is invalid.
    pub(crate) outstanding: bool,
    /// Whether the next Configure-Request needs a new identifier: its options have changed, or the last one has been
    /// answered (section 5.1). A plain retransmission keeps the identifier, so that an answer that takes longer than
    /// the restart timer still counts.
    pub(crate) new_id: bool,
    last_id: u8,
    /// When the restart timer expires.
    pub(crate) restart_at: Option<Instant>,
    /// The Configure-Request that was acknowledged last, and until when a copy of it counts as a repetition.
    pub(crate) acked: Option<Acked>,
}

/// What is remembered of a Configure-Request that was acknowledged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Acked {
    pub(crate) id: u8,
    pub(crate) digest: u32,
    pub(crate) until: Instant,
}

impl Automaton {
    /// An automaton in Initial whose first identifier follows `last_id`.
    pub(crate) const fn new(last_id: u8) -> Self {
        Self {
            state: State::Initial,
            restarts_left: 0,
            naks_sent: 0,
            nak_repeats: 0,
            nak_id: 0,
            naks_received: 0,
            request_id: last_id,
            outstanding: false,
            new_id: true,
            last_id,
            restart_at: None,
            acked: None,
        }
    }

    /// A Configure-Nak for this identifier goes out.
    pub(crate) fn count_nak(&mut self, id: u8) {
        if self.nak_repeats > 0 && self.nak_id == id {
            self.nak_repeats = self.nak_repeats.saturating_add(1);
        } else {
            self.nak_id = id;
            self.nak_repeats = 1;
            self.naks_sent = self.naks_sent.saturating_add(1);
        }
    }

    /// The client has got what it asked for, or a negotiation begins.
    pub(crate) const fn forget_naks(&mut self) {
        self.naks_sent = 0;
        self.nak_repeats = 0;
    }

    /// Whether enough has been Nak'd for a request with this identifier to be rejected instead (section 4.6). A
    /// repetition gets the answer that it got before, up to Max-Configure times, where a client that repeats for want
    /// of an answer stops: one that never changes its identifier, against section 5.1, is rejected as well.
    pub(crate) const fn naks_exhausted(&self, id: u8, max_failure: u8, max_configure: u8) -> bool {
        if self.nak_repeats > 0 && self.nak_id == id {
            self.nak_repeats >= max_configure
        } else {
            self.naks_sent >= max_failure
        }
    }

    /// The next identifier for a packet of this protocol.
    pub(crate) const fn take_id(&mut self) -> u8 {
        self.last_id = self.last_id.wrapping_add(1);
        self.last_id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two halves of the table as RFC 1661 section 4.1 prints them.
    const RFC_STATES_0_TO_5: &str = "
 Up   |    2     irc,scr/6     -         -         -         -
 Down |    -         -         0       tls/1       0         1
 Open |  tls/1       1     irc,scr/6     3r        5r        5r
 Close|    0       tlf/0       2         2         4         4
  TO+ |    -         -         -         -       str/4     str/5
  TO- |    -         -         -         -       tlf/2     tlf/3
 RCR+ |    -         -       sta/2 irc,scr,sca/8   4         5
 RCR- |    -         -       sta/2 irc,scr,scn/6   4         5
 RCA  |    -         -       sta/2     sta/3       4         5
 RCN  |    -         -       sta/2     sta/3       4         5
 RTR  |    -         -       sta/2     sta/3     sta/4     sta/5
 RTA  |    -         -         2         3       tlf/2     tlf/3
 RUC  |    -         -       scj/2     scj/3     scj/4     scj/5
 RXJ+ |    -         -         2         3         4         5
 RXJ- |    -         -       tlf/2     tlf/3     tlf/2     tlf/3
 RXR  |    -         -         2         3         4         5
";
    const RFC_STATES_6_TO_9: &str = "
 Up   |    -         -         -           -
 Down |    1         1         1         tld/1
 Open |    6         7         8           9r
 Close|irc,str/4 irc,str/4 irc,str/4 tld,irc,str/4
  TO+ |  scr/6     scr/6     scr/8         -
  TO- |  tlf/3p    tlf/3p    tlf/3p        -
 RCR+ |  sca/8   sca,tlu/9   sca/8   tld,scr,sca/8
 RCR- |  scn/6     scn/7     scn/6   tld,scr,scn/6
 RCA  |  irc/7     scr/6x  irc,tlu/9   tld,scr/6x
 RCN  |irc,scr/6   scr/6x  irc,scr/8   tld,scr/6x
 RTR  |  sta/6     sta/6     sta/6   tld,zrc,sta/5
 RTA  |    6         6         8       tld,scr/6
 RUC  |  scj/6     scj/7     scj/8       scj/9
 RXJ+ |    6         6         8           9
 RXJ- |  tlf/3     tlf/3     tlf/3   tld,irc,str/5
 RXR  |    6         7         8         ser/9
";

    /// The names of the rows, in the order of [`Event::ALL`].
    const ROWS: [&str; 16] = [
        "Up", "Down", "Open", "Close", "TO+", "TO-", "RCR+", "RCR-", "RCA", "RCN", "RTR", "RTA", "RUC", "RXJ+", "RXJ-",
        "RXR",
    ];

    fn show(transition: Option<Transition>) -> String {
        let Some(Transition { acts, next }) = transition else { return String::from("-") };
        let acts: Vec<String> = acts.iter().flatten().map(|act| format!("{act:?}").to_lowercase()).collect();
        let slash = if acts.is_empty() { "" } else { "/" };
        format!("{}{slash}{}", acts.join(","), next as u8)
    }

    #[test]
    fn all_160_cells_are_those_of_the_rfc() {
        let mut compared = 0;
        for (text, first) in [(RFC_STATES_0_TO_5, 0), (RFC_STATES_6_TO_9, 6)] {
            let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
            assert_eq!(lines.len(), 16);
            for (line, (event, name)) in lines.iter().zip(Event::ALL.iter().zip(ROWS)) {
                let (row, cells) = line.split_once('|').unwrap();
                assert_eq!(row.trim(), name);
                for (column, cell) in cells.split_whitespace().enumerate() {
                    let state = State::ALL[first + column];
                    let wanted = cell.trim_end_matches(['p', 'r', 'x']);
                    assert_eq!(show(transition(state, *event)), wanted, "{event:?} in {state:?}");
                    compared += 1;
                }
            }
        }
        assert_eq!(compared, 160);
    }

    #[test]
    fn the_restart_timer_runs_where_timeouts_can_happen() {
        for state in State::ALL {
            for event in [Event::TimeoutRetry, Event::TimeoutLast] {
                assert_eq!(transition(state, event).is_some(), state.has_restart_timer(), "{state:?}");
            }
        }
    }

    #[test]
    fn numbers_of_states_and_events_are_their_places() {
        for (place, state) in State::ALL.iter().enumerate() {
            assert_eq!(*state as usize, place);
        }
        for (place, event) in Event::ALL.iter().enumerate() {
            assert_eq!(*event as usize, place);
        }
    }

    #[test]
    fn actions_that_send_come_in_an_order_that_keeps_the_layers_right() {
        // `Ppp::run` executes in the RFC's order and relies on this: a layer goes down before anything is sent, and
        // comes up after the packet that brings it up.
        for row in &TABLE {
            for Transition { acts, .. } in row.iter().flatten() {
                let place = |act| acts.iter().position(|a| *a == Some(act));
                assert!(place(Act::Tld).is_none_or(|at| at == 0));
                if let Some(at) = place(Act::Tlu) {
                    assert!(acts[at + 1..].iter().all(Option::is_none));
                }
            }
        }
    }
}
