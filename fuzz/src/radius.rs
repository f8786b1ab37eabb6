//! RADIUS from a server's or a CoA client's side: an octet that says which engine takes the rest.

use std::time::Instant;

use bng_radius::build::AttributeList;
use bng_radius::client::{Action, Purpose, Request};
use bng_radius::mapping::DEFAULT_RULES;
use bng_radius::server::{self, Answer, DynamicClient};
use bng_radius::{Authorization, Client, ClientConfig, DynamicConfig, DynamicServer, Now, Packet, Secret, ServerConfig};

/// One datagram.
pub fn run(data: &[u8]) {
    let Some((what, datagram)) = data.split_first() else { return };
    if let Ok(packet) = Packet::parse(datagram) {
        assert!(packet.octets().len() <= datagram.len());
        assert!(packet.flat().count() <= datagram.len());
        let valid = packet.validate().is_ok();
        assert!(valid || Authorization::from_reply(&packet, DEFAULT_RULES).is_err());
        for base in 241..=246 {
            let _ = packet.extended(base, *what);
        }
        let list = AttributeList::from_octets(&packet.octets()[20..]);
        assert!(list.is_none_or(|list| list.octets() == &packet.octets()[20..]));
    }
    let address = "192.0.2.1:1812".parse().expect("an address");
    let secret = Secret::new(b"secret");
    let now = Now { at: Instant::now(), unix_s: 1_700_000_000 };
    if what & 1 == 0 {
        let servers = vec![ServerConfig::new(address, secret)];
        let mut client = Client::new(ClientConfig::new(Purpose::Authentication, servers), [7; 32]).expect("settings");
        let mut out = Vec::new();
        let request = Request { attributes: AttributeList::new(), password: None, delay_since: None };
        client.request(now.at, 1, request, &mut out).expect("room for one");
        let [Action::Send { socket, to, .. }] = out[..] else { panic!("one datagram goes out") };
        // No fuzzer guesses the digest: nothing may come of it.
        assert!(client.handle(now.at, socket, to, datagram, &mut out).is_err());
        assert_eq!((out.len(), client.outstanding()), (1, 1));
    } else {
        // Signed here, so that what is behind the digest is reached.
        let mut datagram = datagram.to_vec();
        if let Ok(packet) = Packet::parse(&datagram) {
            let digest = bng_radius::authenticator::accounting_authenticator(packet.octets(), &secret);
            datagram[4..20].copy_from_slice(&digest);
        }
        let client = DynamicClient { address: address.ip(), secret, require_message_authenticator: false };
        let mut server = DynamicServer::new(DynamicConfig { clients: vec![client], ..DynamicConfig::default() });
        let mut out = Vec::new();
        if server.handle(now, address, &datagram, &mut out).is_ok()
            && let [server::Action::Disconnect { ticket, .. } | server::Action::Change { ticket, .. }] = out[..]
        {
            server.answer(now.at, ticket, Answer::Done, &mut out);
            assert_eq!(out.len(), 2);
        }
    }
}
