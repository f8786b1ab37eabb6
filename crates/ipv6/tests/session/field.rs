//! Cases from the field.

use std::time::Duration;

use bng_ipv6::{Action, LeaseKind};
use bng_wire::dhcpv6::{kind, option};
use bng_wire::ipv6::{HEADER_LEN, Header};

use crate::lab::*;

/// Advertisements at once, at most 16 s apart at first, and within half a second of a solicitation.
#[test]
fn p52_advertisements_come_in_time() {
    let mut lab = Lab::new(config());
    lab.pass(Duration::from_secs(1));
    assert_eq!(lab.sent.len(), 1);
    for wait in [0u64, 7, 60, 600, 86_400] {
        lab.pass(Duration::from_secs(wait));
        lab.sent.clear();
        assert_eq!(lab.receive(&solicitation(client_address())), Ok(()));
        lab.pass(Duration::from_millis(500));
        assert!(!lab.sent.is_empty(), "after {wait} s");
        for packet in &lab.sent {
            let header = Header::check(packet).unwrap();
            assert_eq!((header.hop_limit, header.src.get()), (255, router_address().to_bits()));
            assert_eq!(packet[HEADER_LEN + 5] & 0xc0, 0x40, "O without M, as configured");
        }
    }
}

/// A Solicit is answered at any age of the session, and always alike.
#[test]
fn p52_solicits_are_answered_at_any_time() {
    let mut lab = Lab::new(config());
    let solicit = Ask::new(kind::SOLICIT).na(1, &[]).pd(1, &[prefix("::/56")]).octets();
    for wait in [1, 59, 540, 86_400] {
        lab.pass(Duration::from_secs(wait));
        let answer = lab.ask(&solicit);
        assert_eq!(answer.kind, kind::ADVERTISE);
        assert_eq!(answer.leases(LeaseKind::Prefix), [prefix("2001:db8:1000:100::/56")]);
        assert_eq!(answer.leases(LeaseKind::Address), [prefix("2001:db8:2000::1/128")]);
    }
}

/// After each way of being granted the prefix is routed, before the answer leaves; after each way of ending it is not.
#[test]
fn p53_the_route_comes_and_goes_with_the_prefix() {
    let given = prefix("2001:db8:1000:100::/56");
    let rapid = Ask::new(kind::SOLICIT).with(option::RAPID_COMMIT, &[]).pd(1, &[]);
    let grants: [(&str, Ask); 4] = [
        ("request", Ask::new(kind::REQUEST).server().pd(1, &[])),
        ("rapid commit", rapid),
        ("renew after a restart of the server", Ask::new(kind::RENEW).server().pd(1, &[given])),
        ("rebind after a restart of the server", Ask::new(kind::REBIND).pd(1, &[given])),
    ];
    for (how, grant) in grants {
        for end in ["release", "expiry", "close"] {
            let mut lab = Lab::new(config());
            let answer = lab.ask(&grant.octets());
            assert_eq!((answer.kind, answer.leases(LeaseKind::Prefix)), (kind::REPLY, vec![given]), "{how}");
            assert!(lab.routes.contains(&given));
            let last = &lab.actions[lab.actions.len() - 2..];
            assert!(matches!(last, [Action::RouteAdd(prefix), Action::Send(_)] if *prefix == given), "{how}");
            match end {
                "release" => {
                    let answer = lab.ask(&Ask::new(kind::RELEASE).server().pd(1, &[given]).octets());
                    assert_eq!(answer.status(), Some(0));
                }
                "expiry" => {
                    lab.pass(Duration::from_secs(7199));
                    assert!(lab.routes.contains(&given));
                    lab.pass(Duration::from_secs(2));
                }
                _ => lab.close(),
            }
            assert!(lab.routes.is_empty() && lab.pools.held.is_empty(), "{how}, {end}");
        }
    }
}

/// Two clients claim one prefix: only its owner gets it.
#[test]
fn p53_only_the_owner_gets_a_prefix() {
    let theirs = prefix("2001:db8:1000:100::/56");
    let mut lab = Lab::new(config());
    lab.pools.held.insert(theirs);
    let renew = lab.ask(&Ask::new(kind::RENEW).server().pd(1, &[theirs]).octets());
    assert_eq!(renew.ia_status(LeaseKind::Prefix), [(1, 3)], "NoBinding");
    assert!(renew.leases(LeaseKind::Prefix).is_empty());
    let rebind = lab.ask(&Ask::new(kind::REBIND).pd(1, &[theirs]).octets());
    assert_eq!(rebind.lifetimes(LeaseKind::Prefix), [(theirs, 0, 0)], "to be forgotten");
    let request = lab.ask(&Ask::new(kind::REQUEST).server().pd(1, &[theirs]).octets());
    let own = request.leases(LeaseKind::Prefix);
    assert_eq!(own.len(), 1);
    assert_ne!(own[0], theirs);
    assert!(!lab.routes.contains(&theirs) && lab.routes.contains(&own[0]));
    let release = lab.ask(&Ask::new(kind::RELEASE).server().pd(1, &[theirs]).octets());
    assert_eq!(release.status(), Some(0));
    assert!(lab.routes.contains(&own[0]) && lab.pools.held.contains(&theirs));
}
