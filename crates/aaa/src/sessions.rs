//! The sessions that the thread knows, and how requests from outside find them.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use bng_radius::request::Subscriber;
use bng_radius::server::SessionKeys;
use bng_subscriber::{EndCause, RequestId, SubscriberKey};
use hashbrown::HashMap;

/// A session from its first login to its last counters.
#[derive(Debug)]
pub(crate) struct Session {
    /// Its number for accounting: never used before, over restarts too.
    pub(crate) serial: u64,
    /// Who and where; the name is the one that the client gave.
    pub(crate) subscriber: Subscriber,
    /// The login that is outstanding: the client's key for it, and what to answer.
    pub(crate) login: Option<(u64, RequestId)>,
    /// What the server said when it let the client in.
    pub(crate) granted: Option<Granted>,
    pub(crate) ipv4: Option<Ipv4Addr>,
    /// Accounting has begun.
    pub(crate) started: bool,
    pub(crate) ended: Option<EndCause>,
}

/// What is kept of an Access-Accept for accounting.
#[derive(Debug, Default)]
pub(crate) struct Granted {
    pub(crate) user_name: Option<Vec<u8>>,
    pub(crate) classes: Vec<Vec<u8>>,
    pub(crate) interim_interval_s: Option<u32>,
}

impl Session {
    pub(crate) fn name(&self) -> &[u8] {
        self.granted.as_ref().and_then(|granted| granted.user_name.as_deref()).unwrap_or(&self.subscriber.user_name)
    }

    fn fits(&self, keys: &SessionKeys) -> bool {
        fn is<T: PartialEq + ?Sized>(wanted: Option<&T>, found: Option<&T>) -> bool {
            wanted.is_none_or(|wanted| found == Some(wanted))
        }
        let it = &self.subscriber;
        let line = |number: u8| it.line.iter().find(|(kind, _)| *kind == number).map(|(_, value)| value.as_slice());
        let user = keys.user_name.as_deref();
        (user.is_none_or(|user| user == self.name() || user == it.user_name))
            && is(keys.acct_session_id.as_deref(), Some(&it.acct_session_id[..]))
            && is(keys.ipv4.as_ref(), self.ipv4.as_ref())
            && is(keys.nas_port.as_ref(), it.nas_port.as_ref())
            && is(keys.nas_port_id.as_deref(), Some(&it.nas_port_id[..]))
            && is(keys.calling_station_id.as_deref(), Some(&it.calling_station_id[..]))
            && is(keys.called_station_id.as_deref(), Some(&it.called_station_id[..]))
            && is(keys.circuit_id.as_deref(), line(1))
            && is(keys.remote_id.as_deref(), line(2))
            // No session has these yet.
            && keys.acct_multi_session_id.is_none()
            && keys.ipv6_address.is_none()
            && keys.ipv6_prefix.is_none()
            && keys.delegated_prefix.is_none()
            && keys.interface_id.is_none()
    }
}

/// The sessions, by the names that are asked for.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    by_key: HashMap<SubscriberKey, Session>,
    by_serial: HashMap<u64, SubscriberKey>,
    by_acct_session_id: HashMap<Vec<u8>, SubscriberKey>,
    by_ipv4: HashMap<Ipv4Addr, SubscriberKey>,
    by_user: HashMap<Vec<u8>, BTreeSet<SubscriberKey>>,
    /// Whose login a key of the client is.
    by_login: HashMap<u64, SubscriberKey>,
}

impl Sessions {
    pub(crate) fn len(&self) -> usize {
        self.by_key.len()
    }

    pub(crate) fn get_mut(&mut self, key: SubscriberKey) -> Option<&mut Session> {
        self.by_key.get_mut(&key)
    }

    pub(crate) fn get(&self, key: SubscriberKey) -> Option<&Session> {
        self.by_key.get(&key)
    }

    pub(crate) fn of_serial(&self, serial: u64) -> Option<SubscriberKey> {
        self.by_serial.get(&serial).copied()
    }

    pub(crate) fn insert(&mut self, key: SubscriberKey, session: Session) {
        self.by_serial.insert(session.serial, key);
        self.by_acct_session_id.insert(session.subscriber.acct_session_id.clone(), key);
        self.by_user.entry(session.subscriber.user_name.clone()).or_default().insert(key);
        self.by_key.insert(key, session);
    }

    /// What the server said, and the name that it gave.
    pub(crate) fn grant(&mut self, key: SubscriberKey, granted: Granted) {
        let Some(session) = self.by_key.get_mut(&key) else { return };
        let name = granted.user_name.clone();
        session.granted = Some(granted);
        if let Some(name) = name {
            self.by_user.entry(name).or_default().insert(key);
        }
    }

    pub(crate) fn set_ipv4(&mut self, key: SubscriberKey, ipv4: Option<Ipv4Addr>) {
        let Some(session) = self.by_key.get_mut(&key) else { return };
        let before = std::mem::replace(&mut session.ipv4, ipv4);
        if let Some(before) = before
            && self.by_ipv4.get(&before) == Some(&key)
        {
            self.by_ipv4.remove(&before);
        }
        if let Some(address) = ipv4 {
            self.by_ipv4.insert(address, key);
        }
    }

    /// A login is under way under this key of the client's.
    pub(crate) fn begin_login(&mut self, key: SubscriberKey, client_key: u64, request: RequestId) {
        if let Some(session) = self.by_key.get_mut(&key) {
            session.login = Some((client_key, request));
            self.by_login.insert(client_key, key);
        }
    }

    /// The login of a session that has been overtaken by a later one: its key, to be cancelled.
    pub(crate) fn overtake_login(&mut self, key: SubscriberKey) -> Option<u64> {
        let (client_key, _) = self.by_key.get_mut(&key)?.login.take()?;
        self.by_login.remove(&client_key);
        Some(client_key)
    }

    /// A login has its answer.
    pub(crate) fn end_login(&mut self, client_key: u64) -> Option<(SubscriberKey, RequestId)> {
        let key = self.by_login.remove(&client_key)?;
        let (_, request) = self.by_key.get_mut(&key)?.login.take()?;
        Some((key, request))
    }

    pub(crate) fn remove(&mut self, key: SubscriberKey) -> Option<Session> {
        let session = self.by_key.remove(&key)?;
        self.by_serial.remove(&session.serial);
        self.by_acct_session_id.remove(&session.subscriber.acct_session_id);
        if let Some((client_key, _)) = session.login {
            self.by_login.remove(&client_key);
        }
        if let Some(address) = session.ipv4
            && self.by_ipv4.get(&address) == Some(&key)
        {
            self.by_ipv4.remove(&address);
        }
        for name in [session.name(), &session.subscriber.user_name] {
            if let Some(keys) = self.by_user.get_mut(name) {
                keys.remove(&key);
                if keys.is_empty() {
                    self.by_user.remove(name);
                }
            }
        }
        Some(session)
    }

    /// The sessions that are in and that all keys fit.
    pub(crate) fn find(&self, keys: &SessionKeys) -> Vec<SubscriberKey> {
        let all;
        let one;
        let candidates: &mut dyn Iterator<Item = SubscriberKey> = if let Some(id) = &keys.acct_session_id {
            one = self.by_acct_session_id.get(id).copied();
            &mut one.into_iter()
        } else if let Some(address) = &keys.ipv4 {
            one = self.by_ipv4.get(address).copied();
            &mut one.into_iter()
        } else if let Some(user) = &keys.user_name {
            all = self.by_user.get(user);
            &mut all.into_iter().flatten().copied()
        } else {
            &mut self.by_key.keys().copied()
        };
        let fitting = |key: &SubscriberKey| {
            self.get(*key).is_some_and(|session| session.started && session.ended.is_none() && session.fits(keys))
        };
        candidates.filter(fitting).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(serial: u64, user: &str) -> Session {
        Session {
            serial,
            subscriber: Subscriber {
                user_name: user.into(),
                acct_session_id: format!("id{serial}").into(),
                nas_port_id: format!("access0:{serial}").into(),
                line: vec![(1, b"eth 1/1".to_vec())],
                ..Subscriber::default()
            },
            login: None,
            granted: None,
            ipv4: None,
            started: true,
            ended: None,
        }
    }

    #[test]
    fn sessions_are_found_by_one_key_or_several_and_leave_nothing() {
        let key = |slot| SubscriberKey { slot, generation: 1 };
        let mut sessions = Sessions::default();
        sessions.insert(key(1), session(1, "user1"));
        sessions.insert(key(2), session(2, "user1"));
        let address = Ipv4Addr::new(100, 64, 0, 2);
        sessions.set_ipv4(key(2), Some(address));
        sessions.grant(key(2), Granted { user_name: Some(b"real2".to_vec()), ..Granted::default() });
        let find = |sessions: &Sessions, keys: SessionKeys| {
            let mut found: Vec<u32> = sessions.find(&keys).into_iter().map(|key| key.slot).collect();
            found.sort_unstable();
            found
        };
        let user = |name: &str| SessionKeys { user_name: Some(name.into()), ..SessionKeys::default() };
        assert_eq!(find(&sessions, user("user1")), [1, 2]);
        assert_eq!(find(&sessions, user("real2")), [2]);
        assert_eq!(find(&sessions, user("nobody")), [0; 0]);
        assert_eq!(find(&sessions, SessionKeys { ipv4: Some(address), ..user("user1") }), [2]);
        assert_eq!(find(&sessions, SessionKeys { acct_session_id: Some(b"id1".to_vec()), ..user("user1") }), [1]);
        assert_eq!(find(&sessions, SessionKeys { acct_session_id: Some(b"id1".to_vec()), ..user("real2") }), [0; 0]);
        let by_place = SessionKeys { nas_port_id: Some(b"access0:1".to_vec()), ..SessionKeys::default() };
        assert_eq!(find(&sessions, by_place), [1]);
        let by_line = SessionKeys { circuit_id: Some(b"eth 1/1".to_vec()), ..SessionKeys::default() };
        assert_eq!(find(&sessions, by_line), [1, 2]);
        sessions.get_mut(key(2)).unwrap().ended = Some(EndCause::UserRequest);
        assert_eq!(find(&sessions, user("user1")), [1]);
        sessions.remove(key(1));
        sessions.remove(key(2));
        assert_eq!(sessions.len(), 0);
        assert!(sessions.by_user.is_empty() && sessions.by_ipv4.is_empty() && sessions.by_serial.is_empty());
    }
}
