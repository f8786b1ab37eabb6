//! The local user list.

use crate::action::{AuthFailure, Authorization};
use crate::config::{ConfigError, LocalUser};
use bng_ppp::{Credentials, verify_chap_md5, verify_ms_chap_v2};
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
        let mut message = Vec::new();
        let right = match credentials {
            Credentials::Pap { password: given, .. } => bool::from(password.ct_eq(given.expose())),
            Credentials::ChapMd5 { id, challenge, response, .. } => verify_chap_md5(*id, password, challenge, response),
            Credentials::MsChapV2 { name, challenge, peer_challenge, nt_response, .. } => {
                match verify_ms_chap_v2(name, password, challenge, peer_challenge, nt_response) {
                    Some(proof) => {
                        // RFC 2759 section 5: this side proves that it knows the password too.
                        message = proof.into_bytes();
                        true
                    }
                    None => false,
                }
            }
            _ => false,
        };
        let user = user.ok_or(AuthFailure::UnknownUser)?;
        if !right {
            return Err(AuthFailure::BadPassword);
        }
        if user.disabled {
            return Err(AuthFailure::Disabled);
        }
        Ok(Authorization {
            ipv4: user.ipv4,
            session_timeout: user.session_timeout,
            message,
            ..Authorization::default()
        })
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

    /// The example of RFC 2759 section 9.2.
    #[test]
    fn ms_chap_v2_proves_both_sides() {
        let users = Users::new(&[LocalUser::new("User", "clientPass")]).unwrap();
        let octets = |text: &'static str| {
            (0..text.len() / 2).map(move |n| u8::from_str_radix(&text[2 * n..2 * n + 2], 16).unwrap())
        };
        let mut credentials = Credentials::MsChapV2 {
            name: b"User".to_vec(),
            id: 1,
            challenge: octets("5B5D7C7D7B3F2F3E3C2C602132262628").collect::<Vec<_>>().try_into().unwrap(),
            peer_challenge: octets("21402324255E262A28295F2B3A337C7E").collect::<Vec<_>>().try_into().unwrap(),
            nt_response: octets("82309ECD8D708B5EA08FAA3981CD83544233114A3D85D6DF")
                .collect::<Vec<_>>()
                .try_into()
                .unwrap(),
            flags: 0,
        };
        let message = users.check(&credentials).unwrap().message;
        assert_eq!(message, b"S=407A5589115FD0D6209F510FE9C04566932CDA56");
        if let Credentials::MsChapV2 { nt_response, .. } = &mut credentials {
            nt_response[0] ^= 1;
        }
        assert_eq!(users.check(&credentials), Err(AuthFailure::BadPassword));
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
