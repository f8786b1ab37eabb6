//! Clients on a bad line, that start anew now and then, under a virtual clock.

use std::time::Duration;

use bng_ipv6::{LeaseKind, Prefix};
use bng_wire::dhcpv6::{SERVERS, kind};

use crate::lab::*;

/// Numbers from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A client that asks for a prefix, keeps it and loses its memory.
#[derive(Default)]
struct Client {
    offered: Option<Prefix>,
    held: Option<Prefix>,
    renewals: u32,
}

impl Client {
    fn ask(&self) -> Vec<u8> {
        match (self.held, self.offered) {
            (Some(held), _) if self.renewals % 4 == 3 => Ask::new(kind::REBIND).pd(1, &[held]),
            (Some(held), _) => Ask::new(kind::RENEW).server().pd(1, &[held]),
            (None, Some(offered)) => Ask::new(kind::REQUEST).server().pd(1, &[offered]),
            (None, None) => Ask::new(kind::SOLICIT).pd(1, &[]),
        }
        .octets()
    }

    fn hear(&mut self, answer: &Answer) {
        let lease = answer.leases(LeaseKind::Prefix).first().copied();
        match answer.kind {
            kind::ADVERTISE => self.offered = lease,
            _ => (self.held, self.offered) = (lease, None),
        }
    }
}

#[test]
fn leases_outlive_loss_and_nothing_leaks() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let mut lab = Lab::new(config());
        let mut client = Client::default();
        let mut first = None;
        for _ in 0..200 {
            let message = client.ask();
            lab.sent.clear();
            let packet = dhcp_packet(client_address(), SERVERS, &message);
            // A third of all packets is lost each way, some come twice.
            for _ in 0..[0, 1, 1, 1, 2, 0][random.below(6) as usize] {
                let _ = lab.receive(&packet);
            }
            for sent in lab.sent.iter().filter(|packet| packet[6] == 17) {
                if random.below(3) > 0 {
                    client.hear(&Answer::parse(sent));
                }
            }
            if let Some(held) = client.held {
                assert!(lab.routes.contains(&held), "seed {seed}: {held} is not routed");
                assert_eq!(*first.get_or_insert(held), held, "seed {seed}: another prefix");
                client.renewals += 1;
            }
            assert!(lab.routes.len() <= 1 && lab.pools.held.len() <= 1, "seed {seed}");
            match random.below(40) {
                // The client starts anew, and with it sometimes the link.
                0 => client = Client::default(),
                1 => {
                    client = Client::default();
                    lab.close();
                    lab.start();
                }
                // The box starts anew; the client goes on.
                2 => {
                    lab.close();
                    lab.start();
                    lab.ask_again(&mut client);
                }
                _ => {}
            }
            lab.pass(Duration::from_millis(1000 + random.below(20_000)));
        }
        lab.close();
    }
}

impl Lab {
    /// A client that has a prefix extends it at a session that knows nothing of it.
    fn ask_again(&mut self, client: &mut Client) {
        if let Some(held) = client.held {
            self.pass(Duration::from_secs(5));
            let answer = self.ask(&Ask::new(kind::RENEW).server().pd(1, &[held]).octets());
            assert_eq!(answer.leases(LeaseKind::Prefix), [held]);
        }
    }
}
