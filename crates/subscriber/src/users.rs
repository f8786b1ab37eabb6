//! The local user list.

use crate::action::{AuthFailure, Authorization};
use crate::config::{ConfigError, LocalUser};
use bng_ppp::{Credentials, verify_chap_md5};
use core::net::Ipv4Addr;
use hashbrown::HashMap;
use subtle::ConstantTimeEq as _;

/// The local users by name.
#[derive(Debug, Default)]
pub(crate) struct Users {
    by_name: HashMap<Box<[u8]>, LocalUser>,
}

impl Users {
    pub(crate) fn new(users: &[LocalUser]) -> Result<Self, ConfigError> {
        let mut by_name = HashMap::with_capacity(users.len());
        let mut addresses: HashMap<Ipv4Addr, &str> = HashMap::new();
        for user in users {
            if user.name.is_empty() || user.name.len() > 255 {
                return Err(ConfigError::UserName(user.name.clone()));
            }
            if let Some(other) = user.ipv4.and_then(|address| addresses.insert(address, &user.name)) {
                return Err(ConfigError::SharedAddress(other.to_owned(), user.name.clone()));
            }
            if by_name.insert(Box::from(user.name.as_bytes()), user.clone()).is_some() {
                return Err(ConfigError::User(user.name.clone()));
            }
        }
        Ok(Self { by_name })
    }

    /// Checks credentials. A profile without authentication lets everybody in.
    pub(crate) fn check(&self, credentials: &Credentials) -> Result<Authorization, AuthFailure> {
        if matches!(credentials, Credentials::None) {
            return Ok(Authorization::default());
        }
        let user = self.by_name.get(credentials.name());
        // The work is the same for a name that nobody has, so that the time it takes does not tell which names exist.
        let password = user.map_or(&b"\0no such user"[..], |user| user.password.as_bytes());
        let right = match credentials {
            Credentials::Pap { password: given, .. } => bool::from(password.ct_eq(given.expose())),
            Credentials::ChapMd5 { id, challenge, response, .. } => verify_chap_md5(*id, password, challenge, response),
            _ => false,
        };
        let user = user.ok_or(AuthFailure::UnknownUser)?;
        if !right {
            return Err(AuthFailure::BadPassword);
        }
        if user.disabled {
            return Err(AuthFailure::Disabled);
        }
        Ok(Authorization { ipv4: user.ipv4, session_timeout: user.session_timeout, message: Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bng_ppp::Secret;

    fn pap(name: &str, password: &str) -> Credentials {
        Credentials::Pap { name: name.as_bytes().to_vec(), password: Secret::new(password.as_bytes()) }
    }

    #[test]
    fn who_may_come_in() {
        let mut disabled = LocalUser::new("user2@example.net", "two");
        disabled.disabled = true;
        let users = Users::new(&[LocalUser::new("user1@example.net", "one"), disabled]).unwrap();
        assert!(users.check(&pap("user1@example.net", "one")).is_ok());
        assert_eq!(users.check(&pap("user1@example.net", "two")), Err(AuthFailure::BadPassword));
        assert_eq!(users.check(&pap("user1@example.net", "")), Err(AuthFailure::BadPassword));
        assert_eq!(users.check(&pap("user1@example.net", "one\0")), Err(AuthFailure::BadPassword));
        assert_eq!(users.check(&pap("USER1@example.net", "one")), Err(AuthFailure::UnknownUser));
        assert_eq!(users.check(&pap("", "\0no such user")), Err(AuthFailure::UnknownUser));
        assert_eq!(users.check(&pap("user2@example.net", "two")), Err(AuthFailure::Disabled));
        assert_eq!(users.check(&pap("user2@example.net", "one")), Err(AuthFailure::BadPassword));
    }

    #[test]
    fn a_list_that_contradicts_itself_is_refused() {
        let user = LocalUser::new("user1@example.net", "one");
        assert_eq!(
            Users::new(&[user.clone(), user.clone()]).err(),
            Some(ConfigError::User("user1@example.net".into()))
        );
        let fixed = |name: &str| LocalUser { ipv4: Some([192, 0, 2, 9].into()), ..LocalUser::new(name, "x") };
        assert!(matches!(Users::new(&[fixed("a"), fixed("b")]), Err(ConfigError::SharedAddress(..))));
        assert!(matches!(Users::new(&[fixed("")]), Err(ConfigError::UserName(_))));
        assert!(matches!(Users::new(&[fixed(&"x".repeat(256))]), Err(ConfigError::UserName(_))));
    }
}
