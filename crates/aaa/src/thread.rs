//! The thread's loop.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bng_radius::accounting::{Action as AccountingAction, Counts, SessionRecord, Usage};
use bng_radius::client::{Action as ClientAction, Client, Purpose, Request, SocketId};
use bng_radius::request::access_request;
use bng_radius::server::{Action as ServerAction, Answer, DynamicServer, ErrorCause};
use bng_radius::{Accounting, Authorization, ClientConfig, Code, Discard, Now, Packet};
use bng_session::SessionTotals;
use bng_subscriber::{AaaRequest, AaaVerdict, AuthFailure, EndCause, RequestId, SessionView, SubscriberKey};
use bng_wire::Line;
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use hashbrown::HashMap;
use mio::{Events, Poll, Token, Waker};
use tracing::{debug, error, info, warn};

use crate::config::AaaConfig;
use crate::convert;
use crate::handle::{AaaHandle, Event, Message, Shared, Ticket};
use crate::identity::{Place, proof, subscriber};
use crate::sessions::{Granted, Session, Sessions};
use crate::snapshot::{AccountingSnapshot, DynamicSnapshot, ServerSnapshot, Snapshot};
use crate::sockets::{Owner, Sockets};
use crate::spool::{Found, Spool, SpoolError};

const WAKE: Token = Token(usize::MAX);
/// Messages and datagrams taken before timers are looked at again.
const BATCH_MAX: usize = 512;
/// Events for the control core that may wait in the channel; further ones wait here.
const EVENTS_MAX: usize = 65_536;
/// Octets of the longest UDP datagram: an oversized one must be seen as such.
const DATAGRAM_OCTETS_MAX: usize = 65_536;
/// How long the last records may take to be answered when the process stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);
/// How often the same reason for throwing datagrams of a server away is logged.
const DISCARD_LOG_INTERVAL: Duration = Duration::from_secs(60);
/// No deadline: look round this often all the same.
const SLEEP_MAX: Duration = Duration::from_secs(1);

/// Why the thread cannot start.
#[derive(Debug, thiserror::Error)]
pub enum AaaError {
    /// The client's settings.
    #[error(transparent)]
    Client(#[from] bng_radius::client::ConfigError),
    /// The folder of accounting.
    #[error("the folder of accounting records cannot be used: {0}")]
    Spool(#[from] SpoolError),
    /// The system says no.
    #[error("the RADIUS thread cannot {what}: {source}")]
    Io {
        /// What it wanted.
        what: String,
        /// Why.
        source: io::Error,
    },
}

/// The running thread.
#[derive(Debug)]
pub struct AaaThread {
    messages: Sender<Message>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl AaaThread {
    /// Waits for the thread's end, which [`AaaHandle::finish`] has asked for, or asks for it itself.
    pub fn join(mut self) {
        // Where the thread has ended nobody hears it.
        let _ = self.messages.send(Message::Stop { off: false });
        let _ = self.shared.waker.wake();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            error!("the RADIUS thread has panicked");
        }
    }
}

/// Starts the thread. `seeds` are random and secret: authenticators and the spread of interims come from them.
///
/// # Errors
/// [`AaaError`].
pub fn spawn(config: AaaConfig, seeds: [[u8; 32]; 3]) -> Result<(AaaThread, AaaHandle, Receiver<Event>), AaaError> {
    let fail = |what: &str| {
        let what = what.to_owned();
        move |source| AaaError::Io { what, source }
    };
    let poll = Poll::new().map_err(fail("make an epoll instance"))?;
    let waker = Waker::new(poll.registry(), WAKE).map_err(fail("make its waker"))?;
    let shared = Arc::new(Shared {
        waker,
        asleep: AtomicBool::new(false),
        lost: AtomicU64::new(0),
        finished: AtomicBool::new(false),
    });
    let (messages, incoming) = bounded(config.messages_max);
    let (outgoing, events) = bounded(EVENTS_MAX);
    let mut thread = Aaa::new(config, seeds, poll, incoming, outgoing, Arc::clone(&shared))?;
    let handle = AaaHandle { messages: messages.clone(), shared: Arc::clone(&shared) };
    let running = std::thread::Builder::new()
        .name("bng-radius".into())
        .spawn(move || {
            // Also where it panics: nobody must wait for it.
            let _finished = Finished(Arc::clone(&thread.shared));
            thread.run();
        })
        .map_err(fail("be started"))?;
    Ok((AaaThread { messages, shared, thread: Some(running) }, handle, events))
}

struct Finished(Arc<Shared>);

impl Drop for Finished {
    fn drop(&mut self) {
        self.0.finished.store(true, Ordering::Release);
    }
}

struct Told {
    client: Client,
    accounting: Accounting,
    spool: Spool,
    on_off: bool,
}

struct Aaa {
    config: AaaConfig,
    poll: Poll,
    sockets: Sockets,
    buffer: Vec<u8>,
    /// Sockets that may hold more datagrams.
    readable: VecDeque<Token>,
    incoming: Receiver<Message>,
    outgoing: Sender<Event>,
    /// Events that found no room in the channel.
    backlog: VecDeque<Event>,
    shared: Arc<Shared>,
    sessions: Sessions,
    logins: Option<Client>,
    next_login: u64,
    told: Option<Told>,
    dynamic: Option<DynamicServer>,
    /// The socket that each request came to that the control core is working on: its answer leaves from there.
    asked_at: HashMap<bng_radius::server::Ticket, usize>,
    /// For Acct-Session-Id.
    instance: u32,
    next_serial: u64,
    unusable_accepts: u64,
    send_errors: u64,
    said: Vec<(Owner, Discard, Instant)>,
}

impl Aaa {
    fn new(
        mut config: AaaConfig,
        [of_logins, of_client, of_accounting]: [[u8; 32]; 3],
        poll: Poll,
        incoming: Receiver<Message>,
        outgoing: Sender<Event>,
        shared: Arc<Shared>,
    ) -> Result<Self, AaaError> {
        let with_nas = |client: &ClientConfig| ClientConfig { nas: config.nas.clone(), ..client.clone() };
        let logins =
            config.authentication.as_ref().map(|client| Client::new(with_nas(client), of_logins)).transpose()?;
        let now = now();
        let random = u32::from_be_bytes([of_accounting[0], of_accounting[1], of_accounting[2], of_accounting[3]]);
        // Without a folder the start's time stands for the number of the run.
        let (mut instance, mut run) = (random, u32::try_from(now.unix_s).unwrap_or(u32::MAX) & 0xff_ffff);
        let mut told = None;
        if let Some(settings) = &config.accounting {
            let (spool, found) = Spool::open(&settings.folder, random)?;
            let Found { instance: named, run: number, records } = found;
            (instance, run) = (named, number);
            let mut accounting = settings.accounting.clone();
            accounting.nas = config.nas.clone();
            accounting.box_session_id = format!("{instance:08x}{run:08x}").into_bytes();
            let mut accounting = Accounting::new(accounting, of_accounting);
            if !records.is_empty() {
                info!(records = records.len(), "accounting records of an earlier run are sent now");
            }
            for (id, octets) in records {
                accounting.restore(now, id, &octets);
            }
            let client = Client::new(with_nas(&settings.client), of_client)?;
            told = Some(Told { client, accounting, spool, on_off: settings.on_off });
        }
        let mut sockets = Sockets::new(config.dscp);
        let mut dynamic = None;
        if let Some(settings) = &mut config.dynamic {
            settings.dynamic.nas = config.nas.clone();
            settings.dynamic.rules = config.rules.clone();
            for (place, address) in settings.listen.iter().enumerate() {
                sockets
                    .open(poll.registry(), Owner::Dynamic(place), *address)
                    .map_err(|source| AaaError::Io { what: format!("listen at {address}"), source })?;
            }
            dynamic = Some(DynamicServer::new(settings.dynamic.clone()));
        }
        Ok(Self {
            config,
            poll,
            sockets,
            buffer: vec![0; DATAGRAM_OCTETS_MAX],
            readable: VecDeque::new(),
            incoming,
            outgoing,
            backlog: VecDeque::new(),
            shared,
            sessions: Sessions::default(),
            logins,
            next_login: 0,
            told,
            dynamic,
            asked_at: HashMap::new(),
            instance,
            next_serial: u64::from(run) << 40,
            unusable_accepts: 0,
            send_errors: 0,
            said: Vec::new(),
        })
    }

    fn run(&mut self) {
        let mut events = Events::with_capacity(256);
        let mut out = Vec::new();
        if let Some(told) = &mut self.told {
            if told.on_off {
                told.accounting.on(now(), &mut out);
            } else {
                // What is left of an earlier run goes out all the same.
                told.accounting.handle_timeout(now(), &mut out);
            }
        }
        self.account(out);
        let mut stopping: Option<Instant> = None;
        loop {
            let mut done = 0;
            for _ in 0..BATCH_MAX {
                let Ok(message) = self.incoming.try_recv() else { break };
                done += 1;
                if let Message::Stop { off } = message {
                    self.begin_stop(off);
                    stopping.get_or_insert_with(Instant::now);
                } else {
                    self.message(message);
                }
            }
            done += self.receive();
            self.timers();
            self.flush();
            if let Some(since) = stopping
                && (since.elapsed() > STOP_TIMEOUT || self.nothing_in_flight())
            {
                return self.end();
            }
            if done == 0 {
                self.sleep(&mut events);
            }
        }
    }

    /// Waits for datagrams, messages or a timer.
    fn sleep(&mut self, events: &mut Events) {
        let now = Instant::now();
        let told = self.told.as_ref();
        let deadlines = [
            self.logins.as_ref().and_then(Client::poll_timeout),
            told.and_then(|told| told.client.poll_timeout()),
            told.and_then(|told| told.accounting.poll_timeout()),
        ];
        let mut timeout = deadlines
            .into_iter()
            .flatten()
            .min()
            .map_or(SLEEP_MAX, |at| at.saturating_duration_since(now).min(SLEEP_MAX));
        if !self.backlog.is_empty() {
            timeout = timeout.min(Duration::from_millis(1));
        }
        self.shared.asleep.store(true, Ordering::SeqCst);
        // What was sent before the flag was up woke nobody.
        if !self.incoming.is_empty() || !self.readable.is_empty() {
            timeout = Duration::ZERO;
        }
        if let Err(error) = self.poll.poll(events, Some(timeout))
            && error.kind() != io::ErrorKind::Interrupted
        {
            error!(%error, "the RADIUS thread cannot wait for events");
            std::thread::sleep(Duration::from_millis(10));
        }
        self.shared.asleep.store(false, Ordering::SeqCst);
        for event in events.iter().filter(|event| event.token() != WAKE) {
            if !self.readable.contains(&event.token()) {
                self.readable.push_back(event.token());
            }
        }
    }

    fn message(&mut self, message: Message) {
        match message {
            Message::Authenticate(request) => self.login(*request),
            Message::Up(view, totals) => self.up(&view, totals),
            Message::Ended(key, cause) => {
                if let Some(client_key) = self.sessions.overtake_login(key)
                    && let Some(logins) = &mut self.logins
                {
                    logins.cancel(Instant::now(), client_key);
                }
                if let Some(session) = self.sessions.get_mut(key) {
                    session.ended = Some(cause);
                }
            }
            Message::Final(key, totals) => self.last_counters(key, totals),
            Message::Usage(key, totals) => {
                let serial = self.sessions.get(key).filter(|session| session.started).map(|session| session.serial);
                if let (Some(serial), Some(told)) = (serial, &mut self.told) {
                    let mut out = Vec::new();
                    told.accounting.interim(now(), serial, usage(totals), &mut out);
                    self.account(out);
                }
            }
            Message::Done(ticket, result) => {
                let answer = match result {
                    Ok(()) => Answer::Done,
                    Err(cause) => Answer::Refused(cause),
                };
                let mut out = Vec::new();
                if let Some(dynamic) = &mut self.dynamic {
                    dynamic.answer(Instant::now(), ticket, answer, &mut out);
                }
                let place = self.asked_at.remove(&ticket).unwrap_or(0);
                self.answer(place, out);
            }
            // Whoever asked may have given up.
            Message::Show(sender) => drop(sender.send(self.snapshot())),
            Message::Stop { .. } => {}
        }
    }

    fn serial(&mut self) -> (u64, Vec<u8>) {
        self.next_serial += 1;
        (self.next_serial, format!("{:08x}{:016x}", self.instance, self.next_serial).into_bytes())
    }

    fn verdict(&mut self, request: RequestId, verdict: impl Into<AaaVerdict>) {
        self.event(Event::Verdict { request, verdict: verdict.into() });
    }

    fn event(&mut self, event: Event) {
        self.backlog.push_back(event);
    }

    fn flush(&mut self) {
        while let Some(event) = self.backlog.pop_front() {
            match self.outgoing.try_send(event) {
                Ok(()) => {}
                Err(TrySendError::Full(event)) => {
                    self.backlog.push_front(event);
                    break;
                }
                // The control core has ended.
                Err(TrySendError::Disconnected(_)) => {}
            }
        }
        if let Some(told) = &mut self.told {
            told.spool.flush();
        }
    }

    fn login(&mut self, request: AaaRequest) {
        let id = request.request;
        let key = id.session;
        let Some(proof) = proof(&request.credentials.credentials) else {
            return self.verdict(id, AuthFailure::Rejected);
        };
        if let Some(overtaken) = self.sessions.overtake_login(key)
            && let Some(logins) = &mut self.logins
        {
            logins.cancel(Instant::now(), overtaken);
        }
        if self.sessions.get(key).is_none() {
            let (serial, acct_session_id) = self.serial();
            let name = request.credentials.credentials.name();
            let place = Place::of_request(&request);
            let subscriber = subscriber(&place, name, acct_session_id, &self.config.formats, &self.config.names);
            let session =
                Session { serial, subscriber, login: None, granted: None, ipv4: None, started: false, ended: None };
            self.sessions.insert(key, session);
        }
        let Some(session) = self.sessions.get(key) else { return };
        let now = now();
        let built = access_request(&self.config.nas, &session.subscriber, &proof, now.unix_s);
        let Ok((attributes, password)) = built else {
            warn!(user = %String::from_utf8_lossy(&session.subscriber.user_name).escape_debug(),
                "a login does not fit in a RADIUS packet");
            self.forget_unless_in(key);
            return self.verdict(id, AuthFailure::Rejected);
        };
        let client_key = self.next_login;
        self.next_login += 1;
        let mut out = Vec::new();
        let asked = self.logins.as_mut().is_some_and(|logins| {
            let request = Request { attributes, password, delay_since: None };
            logins.request(now.at, client_key, request, &mut out).is_ok()
        });
        if asked {
            self.sessions.begin_login(key, client_key, id);
        } else {
            self.forget_unless_in(key);
            self.verdict(id, AuthFailure::Unreachable);
        }
        self.logins_do(out);
    }

    /// A session that was not let in needs no memory here.
    fn forget_unless_in(&mut self, key: SubscriberKey) {
        if self.sessions.get(key).is_some_and(|session| !session.started && session.granted.is_none()) {
            self.sessions.remove(key);
        }
    }

    /// Carries out what the client of logins asks for.
    fn logins_do(&mut self, actions: Vec<ClientAction>) {
        for action in actions {
            match action {
                ClientAction::Send { socket, to, datagram } => {
                    let source = self.source(Purpose::Authentication, socket);
                    self.send(Owner::Authentication(socket), source, to, &datagram);
                }
                ClientAction::Answered { key, code, reply, server, .. } => self.answered(key, server, code, &reply),
                ClientAction::Unreachable { key } => {
                    if let Some((session, request)) = self.sessions.end_login(key) {
                        self.forget_unless_in(session);
                        self.verdict(request, AuthFailure::Unreachable);
                    }
                }
                ClientAction::ServerState { server, alive } => {
                    log_server(self.config.authentication.as_ref(), server, alive, "authentication");
                }
            }
        }
    }

    /// A server's answer to a login.
    fn answered(&mut self, client_key: u64, server: u8, code: Code, reply: &[u8]) {
        let Some((key, request)) = self.sessions.end_login(client_key) else { return };
        let Ok(packet) = Packet::parse(reply) else { return };
        let user = || String::from_utf8_lossy(self.sessions.get(key).map_or(&[][..], Session::name)).into_owned();
        let given = match Authorization::from_reply(&packet, &self.config.rules) {
            Ok(given) => given,
            Err(reason) => {
                self.unusable_accepts += 1;
                warn!(user = %user().escape_debug(), server, %reason, "a reply cannot be used: the login is refused");
                self.forget_unless_in(key);
                return self.verdict(request, AuthFailure::Rejected);
            }
        };
        if code != Code::ACCESS_ACCEPT {
            if code == Code::ACCESS_CHALLENGE {
                warn!(user = %user().escape_debug(), server, "a server sent a challenge, which PPP has no way to answer");
            }
            self.forget_unless_in(key);
            let message = given.ms_chap_error.unwrap_or(given.reply_message);
            return self.verdict(request, AaaVerdict::Reject { failure: AuthFailure::Rejected, message });
        }
        // MS-CHAP-2: identifier, then what proves the server to the client (RFC 2548 section 2.3.3).
        let message = match given.ms_chap2_success {
            Some([_, proof @ ..]) => proof.to_vec(),
            None => given.reply_message.clone(),
        };
        match convert::authorization(&given, message, &self.config.names) {
            Ok(authorization) => {
                let granted = Granted {
                    user_name: given.user_name,
                    classes: given.classes,
                    interim_interval_s: given.interim_interval_s,
                };
                self.sessions.grant(key, granted);
                self.verdict(request, AaaVerdict::Accept(Box::new(authorization)));
            }
            Err(reason) => {
                self.unusable_accepts += 1;
                warn!(user = %user().escape_debug(), server, %reason, "an Access-Accept cannot be used: the login is refused");
                self.forget_unless_in(key);
                self.verdict(request, AuthFailure::Rejected);
            }
        }
    }

    /// A session has come up, or has another address.
    fn up(&mut self, view: &SessionView, totals: SessionTotals) {
        let key = view.key;
        if self.sessions.get(key).is_none() {
            // The local list let it in.
            let (serial, acct_session_id) = self.serial();
            let line = Line { port: view.port, vlans: view.vlans, peer_mac: view.peer_mac };
            let place = Place::of_view(view, &line);
            let user = view.user.as_deref().unwrap_or_default();
            let subscriber = subscriber(&place, user, acct_session_id, &self.config.formats, &self.config.names);
            let session =
                Session { serial, subscriber, login: None, granted: None, ipv4: None, started: false, ended: None };
            self.sessions.insert(key, session);
        }
        self.sessions.set_ipv4(key, view.ipv4);
        let Some(session) = self.sessions.get_mut(key) else { return };
        let mut record = SessionRecord {
            subscriber: session.subscriber.clone(),
            ipv4: view.ipv4,
            // RADIUS or local (RFC 2866 section 5.6).
            authentic: if session.granted.is_some() { 1 } else { 2 },
            ..SessionRecord::default()
        };
        let mut interval = None;
        if let Some(granted) = &session.granted {
            record.classes.clone_from(&granted.classes);
            interval = granted.interim_interval_s;
            if let Some(name) = &granted.user_name {
                record.subscriber.user_name.clone_from(name);
            }
        }
        let (serial, before) = (session.serial, std::mem::replace(&mut session.started, true));
        let Some(told) = &mut self.told else { return };
        let mut out = Vec::new();
        if before {
            told.accounting.changed(now(), serial, &record, usage(totals), &mut out);
        } else {
            told.accounting.start(now(), serial, &record, interval, &mut out);
        }
        self.account(out);
    }

    fn last_counters(&mut self, key: SubscriberKey, totals: SessionTotals) {
        let Some(session) = self.sessions.remove(key) else { return };
        if let (true, Some(told)) = (session.started, &mut self.told) {
            let cause = session.ended.unwrap_or(EndCause::NasError).acct_terminate_cause();
            let mut out = Vec::new();
            told.accounting.stop(now(), session.serial, usage(totals), cause, &mut out);
            self.account(out);
        }
    }

    /// Carries out what accounting asks for, and what follows from it.
    fn account(&mut self, actions: Vec<AccountingAction>) {
        let mut actions = VecDeque::from(actions);
        while let Some(action) = actions.pop_front() {
            let Some(told) = &mut self.told else { return };
            match action {
                AccountingAction::Submit { id, request } => {
                    let mut out = Vec::new();
                    let mut more = Vec::new();
                    let now = now();
                    if told.client.request(now.at, id, request, &mut out).is_err() {
                        told.accounting.unanswered(now, id, &mut more);
                    }
                    actions.extend(more);
                    actions.extend(self.told_do(out));
                }
                AccountingAction::ReadUsage { session } => {
                    if let Some(key) = self.sessions.of_serial(session) {
                        self.event(Event::ReadUsage(key));
                    }
                }
                AccountingAction::Persist { id, octets } => told.spool.keep(id, octets),
                AccountingAction::Forget { id } => told.spool.forget(id),
            }
        }
    }

    /// Carries out what the client of accounting asks for; what accounting says to it comes back.
    fn told_do(&mut self, actions: Vec<ClientAction>) -> Vec<AccountingAction> {
        let mut more = Vec::new();
        for action in actions {
            match action {
                ClientAction::Send { socket, to, datagram } => {
                    let source = self.source(Purpose::Accounting, socket);
                    self.send(Owner::Accounting(socket), source, to, &datagram);
                }
                ClientAction::Answered { key, .. } => {
                    if let Some(told) = &mut self.told {
                        told.accounting.answered(now(), key, &mut more);
                    }
                }
                ClientAction::Unreachable { key } => {
                    if let Some(told) = &mut self.told {
                        told.accounting.unanswered(now(), key, &mut more);
                    }
                }
                ClientAction::ServerState { server, alive } => {
                    let client = self.config.accounting.as_ref().map(|settings| &settings.client);
                    log_server(client, server, alive, "accounting");
                }
            }
        }
        more
    }

    fn source(&self, purpose: Purpose, socket: SocketId) -> Option<IpAddr> {
        let client = match purpose {
            Purpose::Authentication => self.config.authentication.as_ref(),
            Purpose::Accounting => self.config.accounting.as_ref().map(|settings| &settings.client),
        };
        client?.servers.get(usize::from(socket.server))?.source
    }

    fn send(&mut self, owner: Owner, source: Option<IpAddr>, to: SocketAddr, datagram: &[u8]) {
        if let Err(error) = self.sockets.send(self.poll.registry(), owner, source, to, datagram) {
            self.send_errors += 1;
            if self.send_errors.is_power_of_two() {
                warn!(%to, %error, errors = self.send_errors, "a RADIUS datagram cannot be sent");
            }
        }
    }

    /// Takes a bounded number of datagrams; how many.
    fn receive(&mut self) -> usize {
        let mut done = 0;
        for _ in 0..self.readable.len() {
            let Some(token) = self.readable.pop_front() else { break };
            let mut buffer = std::mem::take(&mut self.buffer);
            let mut taken = 0;
            while taken < BATCH_MAX
                && let Some((owner, length, from)) = self.sockets.receive(token, &mut buffer)
            {
                taken += 1;
                self.datagram(owner, from, buffer.get(..length).unwrap_or_default());
            }
            self.buffer = buffer;
            done += taken;
            if taken == BATCH_MAX {
                self.readable.push_back(token);
            }
        }
        done
    }

    fn datagram(&mut self, owner: Owner, from: SocketAddr, octets: &[u8]) {
        let result = match owner {
            Owner::Authentication(socket) => {
                let mut out = Vec::new();
                let result = self
                    .logins
                    .as_mut()
                    .map_or(Ok(()), |logins| logins.handle(Instant::now(), socket, from, octets, &mut out));
                self.logins_do(out);
                result
            }
            Owner::Accounting(socket) => {
                let mut out = Vec::new();
                let result = self
                    .told
                    .as_mut()
                    .map_or(Ok(()), |told| told.client.handle(Instant::now(), socket, from, octets, &mut out));
                let more = self.told_do(out);
                self.account(more);
                result
            }
            Owner::Dynamic(place) => {
                let mut out = Vec::new();
                let result =
                    self.dynamic.as_mut().map_or(Ok(()), |dynamic| dynamic.handle(now(), from, octets, &mut out));
                self.answer(place, out);
                result
            }
        };
        if let Err(reason) = result {
            self.log_discard(owner, from, reason);
        }
    }

    /// Carries out what the listener asks for. `place` is the socket that the request came to.
    fn answer(&mut self, place: usize, actions: Vec<ServerAction>) {
        let mut actions = VecDeque::from(actions);
        while let Some(action) = actions.pop_front() {
            let mut more = Vec::new();
            match action {
                ServerAction::Send { to, datagram } => self.send(Owner::Dynamic(place), None, to, &datagram),
                ServerAction::Disconnect { ticket, keys } => {
                    let sessions = self.sessions.find(&keys);
                    if sessions.is_empty() {
                        self.refuse(ticket, ErrorCause::SessionContextNotFound, &mut more);
                    } else {
                        self.asked_at.insert(ticket, place);
                        self.event(Event::Disconnect { ticket: Ticket(ticket), sessions });
                    }
                }
                ServerAction::Change { ticket, keys, change } => {
                    let sessions = self.sessions.find(&keys);
                    match convert::change(&change) {
                        _ if sessions.is_empty() => {
                            self.refuse(ticket, ErrorCause::SessionContextNotFound, &mut more);
                        }
                        None => self.refuse(ticket, ErrorCause::UnsupportedAttribute, &mut more),
                        Some((change, interim)) => {
                            if let (Some(interim), Some(told)) = (interim, &mut self.told) {
                                for key in &sessions {
                                    if let Some(session) = self.sessions.get(*key) {
                                        told.accounting.set_interval(now(), session.serial, Some(interim));
                                    }
                                }
                            }
                            self.asked_at.insert(ticket, place);
                            self.event(Event::Change { ticket: Ticket(ticket), sessions, change });
                        }
                    }
                }
            }
            actions.extend(more);
        }
    }

    fn refuse(&mut self, ticket: bng_radius::server::Ticket, cause: ErrorCause, out: &mut Vec<ServerAction>) {
        if let Some(dynamic) = &mut self.dynamic {
            dynamic.answer(Instant::now(), ticket, Answer::Refused(cause), out);
        }
    }

    fn timers(&mut self) {
        let now = now();
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now.at);
        if let Some(logins) = &mut self.logins
            && due(logins.poll_timeout())
        {
            let mut out = Vec::new();
            logins.handle_timeout(now.at, &mut out);
            self.logins_do(out);
        }
        if let Some(told) = &mut self.told
            && due(told.client.poll_timeout())
        {
            let mut out = Vec::new();
            told.client.handle_timeout(now.at, &mut out);
            let more = self.told_do(out);
            self.account(more);
        }
        if let Some(told) = &mut self.told
            && due(told.accounting.poll_timeout())
        {
            let mut out = Vec::new();
            told.accounting.handle_timeout(now, &mut out);
            self.account(out);
        }
    }

    /// At most once a minute for each reason: whoever sends rubbish must not fill the log.
    fn log_discard(&mut self, owner: Owner, from: SocketAddr, reason: Discard) {
        let now = Instant::now();
        let of_server = match owner {
            Owner::Authentication(socket) => Owner::Authentication(SocketId { number: 0, ..socket }),
            Owner::Accounting(socket) => Owner::Accounting(SocketId { number: 0, ..socket }),
            Owner::Dynamic(_) => owner,
        };
        self.said.retain(|(_, _, at)| now.saturating_duration_since(*at) < DISCARD_LOG_INTERVAL);
        if self.said.iter().any(|(owner, said, _)| *owner == of_server && *said == reason) {
            return debug!(%from, %reason, "a RADIUS datagram was thrown away");
        }
        self.said.push((of_server, reason, now));
        warn!(%from, %reason, "a RADIUS datagram was thrown away");
    }

    fn snapshot(&self) -> Snapshot {
        let of = |purpose: Purpose, client: &Client, config: &ClientConfig| -> Vec<ServerSnapshot> {
            let server = |(server, index): (&bng_radius::ServerConfig, u8)| ServerSnapshot {
                purpose,
                address: server.address,
                priority: server.priority,
                alive: client.is_alive(index),
                sockets: client.sockets(index),
                outstanding: client.outstanding_at(index),
                counters: client.counters(index).cloned().unwrap_or_default(),
            };
            config.servers.iter().zip(0u8..).map(server).collect()
        };
        let mut servers = Vec::new();
        if let (Some(client), Some(config)) = (&self.logins, &self.config.authentication) {
            servers.extend(of(Purpose::Authentication, client, config));
        }
        if let (Some(told), Some(settings)) = (&self.told, &self.config.accounting) {
            servers.extend(of(Purpose::Accounting, &told.client, &settings.client));
        }
        Snapshot {
            servers,
            logins_waiting: self.logins.as_ref().map_or(0, Client::outstanding),
            sessions: self.sessions.len(),
            unusable_accepts: self.unusable_accepts,
            send_errors: self.send_errors,
            messages_lost: self.shared.lost.load(Ordering::Relaxed),
            accounting: self.told.as_ref().map(|told| AccountingSnapshot {
                queued: told.accounting.queued(),
                queued_octets: told.accounting.queued_octets(),
                sessions: told.accounting.sessions(),
                counters: *told.accounting.counters(),
                disk_errors: told.spool.errors(),
            }),
            dynamic: self.dynamic.as_ref().map(|dynamic| DynamicSnapshot { counters: dynamic.counters().clone() }),
        }
    }

    fn begin_stop(&mut self, off: bool) {
        let mut out = Vec::new();
        if let Some(told) = &mut self.told
            && told.on_off
            && off
        {
            told.accounting.off(now(), &mut out);
        }
        self.account(out);
    }

    /// Nothing is told that a server may still answer: all told, or nobody there.
    fn nothing_in_flight(&self) -> bool {
        self.told.as_ref().is_none_or(|told| told.accounting.queued() == 0 || !told.client.any_alive())
    }

    fn end(&mut self) {
        let mut out = Vec::new();
        if let Some(told) = &mut self.told {
            told.accounting.persist_all(&mut out);
            let waiting = told.accounting.queued();
            if waiting > 0 {
                warn!(records = waiting, "accounting records wait on disk for the next start");
            }
        }
        self.account(out);
        // The spool writes what it has before it goes.
        self.told = None;
    }
}

fn now() -> Now {
    let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Now { at: Instant::now(), unix_s }
}

/// Inner IP packets and octets; input is from the client.
fn usage(totals: SessionTotals) -> Usage {
    Usage::sum(Counts {
        input_octets: totals.up_octets,
        output_octets: totals.down_octets,
        input_packets: totals.up_packets,
        output_packets: totals.down_packets,
    })
}

fn log_server(client: Option<&ClientConfig>, server: u8, alive: bool, purpose: &str) {
    let Some(server) = client.and_then(|client| client.servers.get(usize::from(server))) else { return };
    let address = server.address;
    if alive {
        info!(%address, purpose, "a RADIUS server is alive again");
    } else {
        warn!(%address, purpose, "a RADIUS server does not answer and counts as dead");
    }
}
