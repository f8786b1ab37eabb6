//! The clients' side: each sender is a thread that plays several clients, one session after the other, and fires data
//! from the instant in which a session is up, through its tear-down, and after it.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bng_testkit::sim::Chance;
use bng_testkit::{Client, ClientConfig, ClientState, Datagram};
use bng_wire::{MacAddr, PortIndex};
use crossbeam_channel::{Receiver, Sender as Channel};

use crate::ledger::{FlowKind, FlowName, LABEL_LEN, label};
use crate::worker::Arrival;
use crate::{ACCESS, CORE, CORE_MAC, Flags, GATEWAY, ROUTER, SERVER};

/// On a lossless line a session that is not up after this long has lost a frame: nothing is repeated before a minute
/// has passed.
const SETUP_MAX: Duration = Duration::from_secs(20);
const LATER: Duration = Duration::from_secs(3600);

/// The way to one worker.
#[derive(Debug)]
pub struct Trunk {
    pub to: Channel<Arrival>,
    pub sent: u64,
    pub done: Arc<AtomicU64>,
}

impl Trunk {
    /// Waits for room: for frames that may not be lost.
    fn push(&mut self, port: PortIndex, frame: Vec<u8>) {
        self.to.send_timeout((port, frame), SETUP_MAX).expect("the worker takes its frames");
        self.sent += 1;
    }

    fn done(&self) -> u64 {
        self.done.load(Ordering::Acquire)
    }
}

/// One stream of data frames.
#[derive(Debug)]
struct Flow {
    name: FlowName,
    worker: usize,
    port: PortIndex,
    /// The frame, but for its label.
    template: Vec<u8>,
    label_at: usize,
    sent: u32,
    /// Where in the trunk those frames stand that may not have been dealt with yet.
    waiting: VecDeque<u64>,
}

impl Flow {
    fn new(name: FlowName, worker: usize, port: PortIndex, template: Vec<u8>) -> Self {
        let mark = [0xee; LABEL_LEN];
        let label_at = template.windows(LABEL_LEN).position(|window| window == mark).expect("room for a label");
        Self { name, worker, port, template, label_at, sent: 0, waiting: VecDeque::new() }
    }

    fn fire(&mut self, trunks: &mut [Trunk], count: u64) {
        let trunk = &mut trunks[self.worker];
        for _ in 0..count {
            self.sent += 1;
            let mut frame = self.template.clone();
            frame[self.label_at..self.label_at + LABEL_LEN].copy_from_slice(&label(self.name, self.sent));
            trunk.push(self.port, frame);
            self.waiting.push_back(trunk.sent);
        }
    }

    /// How many have been dealt with by now: a tear-down that begins now has no part in their fate.
    fn settled(&mut self, trunks: &[Trunk]) -> u32 {
        let done = trunks[self.worker].done();
        while self.waiting.front().is_some_and(|position| *position <= done) {
            self.waiting.pop_front();
        }
        self.sent - self.waiting.len() as u32
    }
}

/// A payload with a place for the label, of a length between this and 100 octets more.
fn payload(chance: &mut Chance) -> Vec<u8> {
    let mut payload = vec![0xee; LABEL_LEN];
    payload.resize(LABEL_LEN + chance.below(100) as usize, 0x11);
    payload
}

/// What a session was, for the audit.
#[derive(Debug, Clone)]
pub struct Account {
    pub client: u16,
    pub serial: u32,
    pub mac: MacAddr,
    /// (outer VID, session id).
    pub session: (u16, u16),
    /// The client's address; none where it gave up before it had one.
    pub address: Option<Ipv4Addr>,
    /// The frames that were dealt with before the tear-down began, all of which must have been forwarded.
    pub owed: Vec<(FlowName, u32)>,
}

#[derive(Debug)]
enum Stage {
    /// No session. Dials after so many turns.
    Resting { turns: u64 },
    /// Setting up; gives up by itself once it has come as far as `until`.
    Dialling { since: Instant, until: Option<ClientState> },
    /// Up. Tears down after so many turns.
    Firing { turns: u64 },
    /// The operator has been asked to end the session.
    Clearing { since: Instant },
    /// Takes no more part.
    Retired,
}

/// One client and what it does.
#[derive(Debug)]
struct Seat {
    number: u16,
    vid: u16,
    client: Client,
    serial: u32,
    stage: Stage,
    /// Of the session that is up, or else of the last one.
    flows: Vec<Flow>,
    address: Option<Ipv4Addr>,
}

/// A sender.
#[derive(Debug)]
pub struct Sender {
    seats: Vec<Seat>,
    trunks: Vec<Trunk>,
    wire: Receiver<Vec<u8>>,
    /// Asks the operator to clear the session with this (outer VID, session id).
    operator: Channel<(u16, u16)>,
    chance: Chance,
    accounts: Vec<Account>,
    setup_max: Duration,
}

/// What a sender has to say in the end.
#[derive(Debug)]
pub struct Record {
    pub accounts: Vec<Account>,
    /// The longest time from PADI to IPCP's end.
    pub setup_max: Duration,
}

impl Sender {
    /// Sender `number` with clients of its own.
    pub fn new(
        number: u8,
        clients: u8,
        trunks: Vec<Trunk>,
        wire: Receiver<Vec<u8>>,
        operator: Channel<(u16, u16)>,
    ) -> Self {
        let seats =
            (0..clients).map(|seat| Seat::new(u16::from(number) * u16::from(clients) + u16::from(seat), number, seat));
        Self {
            seats: seats.collect(),
            trunks,
            wire,
            operator,
            chance: Chance::new(0x5eed + u64::from(number)),
            accounts: Vec::new(),
            setup_max: Duration::ZERO,
        }
    }

    /// Plays until enough rounds have been played by all senders together and each session has been torn down.
    pub fn run(mut self, flags: &Flags) -> Self {
        while !self.seats.iter().all(|seat| matches!(seat.stage, Stage::Retired)) && !flags.failed() {
            while let Ok(frame) = self.wire.try_recv() {
                let seat = usize::from(frame[5]);
                self.with(seat, |seat, table| seat.receive(&frame, table));
            }
            for seat in 0..self.seats.len() {
                self.with(seat, |seat, table| seat.turn(flags, table));
            }
            std::thread::yield_now();
        }
        self
    }

    /// What is left of it.
    pub fn finish(self) -> Record {
        Record { accounts: self.accounts, setup_max: self.setup_max }
    }

    fn with(&mut self, seat: usize, act: impl FnOnce(&mut Seat, &mut Table<'_>)) {
        let Self { seats, trunks, operator, chance, accounts, setup_max, .. } = self;
        act(&mut seats[seat], &mut Table { trunks, operator, chance, accounts, setup_max });
    }
}

/// What the seats of a sender share.
struct Table<'a> {
    trunks: &'a mut Vec<Trunk>,
    operator: &'a Channel<(u16, u16)>,
    chance: &'a mut Chance,
    accounts: &'a mut Vec<Account>,
    setup_max: &'a mut Duration,
}

impl Seat {
    fn new(number: u16, sender: u8, seat: u8) -> Self {
        let mut config = ClientConfig::numbered(u32::from(number));
        config.mac = MacAddr([2, 0x10, 0, 0, sender, seat]);
        // A VLAN for each, and one client without: so no session id comes again within the test.
        let vid = if number == 0 { 0 } else { 100 + number };
        config.vlans = if vid == 0 { Vec::new() } else { vec![(0x8100, vid)] };
        config.behaviour.redials = false;
        config.patience.discovery = LATER;
        config.patience.resend = LATER;
        Self {
            number,
            vid,
            client: Client::new(config),
            serial: 0,
            stage: Stage::Resting { turns: u64::from(seat) },
            flows: Vec::new(),
            address: None,
        }
    }

    /// The worker that has the client's control frames, and the one beside it.
    fn workers(&self, table: &Table<'_>) -> (usize, usize) {
        let home = usize::from(self.number) % table.trunks.len();
        (home, (home + 1) % table.trunks.len())
    }

    fn send(&mut self, frames: Vec<Vec<u8>>, table: &mut Table<'_>) {
        let (home, _) = self.workers(table);
        frames.into_iter().for_each(|frame| table.trunks[home].push(ACCESS, frame));
    }

    fn fire(&mut self, table: &mut Table<'_>, count_max: u64) {
        for flow in &mut self.flows {
            let count = table.chance.below(count_max) + 1;
            flow.fire(table.trunks, count);
        }
    }

    fn receive(&mut self, frame: &[u8], table: &mut Table<'_>) {
        let mut out = Vec::new();
        self.client.handle(Instant::now(), frame, &mut out);
        self.client.take_events();
        let opened = matches!(self.stage, Stage::Dialling { .. }) && self.client.state() == ClientState::Open;
        self.send(out, table);
        if opened {
            self.open(table);
            // Right behind the last Ack, before anything else is done: through this worker and the one beside it.
            self.fire(table, 16);
        } else if let Stage::Dialling { until: Some(until), .. } = self.stage
            && self.client.state() == until
        {
            self.give_up(table);
        }
    }

    /// The session is up: its flows begin.
    fn open(&mut self, table: &mut Table<'_>) {
        if let Stage::Dialling { since, .. } = self.stage {
            *table.setup_max = since.elapsed().max(*table.setup_max);
        }
        let address = self.client.address().expect("IPCP is open");
        let (home, beside) = self.workers(table);
        let name = |kind| FlowName { client: self.number, serial: self.serial, kind };
        let mut out = Vec::new();
        for _ in 0..2 {
            self.client.send_data(SERVER, &payload(table.chance), &mut out);
        }
        let before = self.address.filter(|before| *before != address).unwrap_or(GATEWAY);
        let foreign = Datagram { source: before, destination: SERVER, ttl: 64, payload: payload(table.chance) };
        self.client.send_ppp(0x0021, &foreign.to_bytes(), &mut out);
        let down = Datagram { source: SERVER, destination: address, ttl: 64, payload: payload(table.chance) };
        let mut frame = Vec::new();
        frame.extend_from_slice(&CORE_MAC.0);
        frame.extend_from_slice(&ROUTER.0);
        frame.extend_from_slice(&[0x08, 0x00]);
        frame.extend_from_slice(&down.to_bytes());
        let [up, up_beside, foreign] = out.try_into().expect("three frames");
        self.flows = vec![
            Flow::new(name(FlowKind::Up), home, ACCESS, up),
            Flow::new(name(FlowKind::UpBeside), beside, ACCESS, up_beside),
            Flow::new(name(FlowKind::Down), beside, CORE, frame),
            Flow::new(name(FlowKind::Foreign), beside, ACCESS, foreign),
        ];
        self.address = Some(address);
        self.stage = Stage::Firing { turns: table.chance.below(6) };
    }

    fn turn(&mut self, flags: &Flags, table: &mut Table<'_>) {
        match &mut self.stage {
            Stage::Resting { turns: 0 } if flags.enough() => self.stage = Stage::Retired,
            Stage::Resting { turns: 0 } => self.dial(table),
            Stage::Resting { turns } => {
                *turns -= 1;
                self.fire(table, 3);
            }
            Stage::Dialling { since, .. } => {
                let since = *since;
                assert!(since.elapsed() < SETUP_MAX, "client {}: a frame was lost: {:?}", self.number, self.client);
                if table.chance.below(8) == 0 {
                    self.fire(table, 2);
                }
            }
            Stage::Firing { turns: 0 } => self.tear_down(flags, table),
            Stage::Firing { turns } => {
                *turns -= 1;
                self.fire(table, 12);
            }
            Stage::Clearing { since } => {
                assert!(since.elapsed() < SETUP_MAX, "client {}: not cleared: {:?}", self.number, self.client);
                if self.client.session_id() == 0 {
                    self.stage = Stage::Resting { turns: table.chance.below(4) };
                } else if table.chance.below(4) == 0 {
                    self.fire(table, 8);
                }
            }
            Stage::Retired => {}
        }
    }

    fn dial(&mut self, table: &mut Table<'_>) {
        self.serial += 1;
        let stages = [ClientState::Establishing, ClientState::Authenticating, ClientState::Configuring];
        let until = stages.get(table.chance.below(24) as usize).copied();
        self.stage = Stage::Dialling { since: Instant::now(), until };
        let mut out = Vec::new();
        self.client.dial(Instant::now(), &mut out);
        self.send(out, table);
    }

    /// Ends a session that is being set up.
    fn give_up(&mut self, table: &mut Table<'_>) {
        self.account(None, Vec::new(), table);
        if table.chance.below(2) == 0 {
            self.dial(table);
        } else {
            let mut out = Vec::new();
            self.client.padt(&mut out);
            self.send(out, table);
            self.stage = Stage::Resting { turns: table.chance.below(4) };
        }
    }

    /// Ends the session in one of four ways, with data right before and right behind.
    fn tear_down(&mut self, flags: &Flags, table: &mut Table<'_>) {
        self.fire(table, 8);
        flags.rounds.fetch_add(1, Ordering::Relaxed);
        let way = if flags.enough() { 0 } else { table.chance.below(4) };
        let (home, _) = self.workers(table);
        let owed = self.flows.iter_mut().filter(|flow| flow.name.kind != FlowKind::Foreign).map(|flow| {
            // What stands before the client's last word in the same queue is dealt with before it.
            let before = way != 3 && flow.worker == home && flow.port == ACCESS;
            (flow.name, if before { flow.sent } else { flow.settled(table.trunks) })
        });
        let owed = owed.collect();
        self.account(self.address, owed, table);
        let mut out = Vec::new();
        match way {
            0 => self.client.padt(&mut out),
            1 => self.client.hang_up(&mut out),
            2 => {}
            _ => {
                table.operator.send((self.vid, self.client.session_id())).expect("the operator is there");
                self.stage = Stage::Clearing { since: Instant::now() };
                return self.fire(table, 8);
            }
        }
        self.send(out, table);
        self.fire(table, 8);
        if way == 2 {
            // Redials without a word: the new session replaces the old one.
            self.dial(table);
        } else {
            self.stage = Stage::Resting { turns: table.chance.below(4) };
        }
    }

    fn account(&self, address: Option<Ipv4Addr>, owed: Vec<(FlowName, u32)>, table: &mut Table<'_>) {
        table.accounts.push(Account {
            client: self.number,
            serial: self.serial,
            mac: self.client.config().mac,
            session: (self.vid, self.client.session_id()),
            address,
            owed,
        });
    }
}
