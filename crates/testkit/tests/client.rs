//! The client against frames written by hand: it must say what a real client says, octet by octet.

use bng_testkit::{Client, ClientConfig, ClientEvent, ClientState, Datagram, parse_datagram};
use bng_wire::MacAddr;
use std::time::{Duration, Instant};

const AC: [u8; 6] = [2, 0, 0, 0, 0, 0xfe];
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

fn client() -> Client {
    let mut config = ClientConfig::numbered(1);
    config.mac = MacAddr(MAC);
    config.host_uniq = vec![0xde, 0xad, 0xbe, 0xef];
    config.fresh_host_uniq = false;
    config.magic = 0xa1b2_c3d4;
    config.user = "u".into();
    config.password = "p".into();
    Client::new(config)
}

fn from_ac(ethertype: [u8; 2], code: u8, id: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = [&MAC[..], &AC[..], &ethertype[..], &[0x11, code]].concat();
    frame.extend(id.to_be_bytes());
    frame.extend((payload.len() as u16).to_be_bytes());
    frame.extend(payload);
    frame.resize(frame.len().max(60), 0);
    frame
}

fn ppp(payload: &[u8]) -> Vec<u8> {
    from_ac([0x88, 0x64], 0, 7, payload)
}

/// What stands behind the Ethernet addresses, up to LENGTH.
fn body(frame: &[u8]) -> &[u8] {
    let length = usize::from(u16::from_be_bytes([frame[18], frame[19]]));
    &frame[12..20 + length]
}

#[test]
fn from_padi_to_data_octet_by_octet() {
    let now = Instant::now();
    let mut client = client();
    let mut out = Vec::new();
    client.dial(now, &mut out);
    let padi = out.pop().unwrap();
    assert_eq!(padi[..12], [&[0xff; 6][..], &MAC[..]].concat());
    assert_eq!(body(&padi), [0x88, 0x63, 0x11, 9, 0, 0, 0, 12, 1, 1, 0, 0, 1, 3, 0, 4, 0xde, 0xad, 0xbe, 0xef]);
    assert_eq!(padi.len(), 60);

    let uniq = [1, 3, 0, 4, 0xde, 0xad, 0xbe, 0xef];
    let pado = [&[1, 1, 0, 0, 1, 2, 0, 1, b'a', 1, 4, 0, 2, 0xc0, 0x0c][..], &uniq[..]].concat();
    // Somebody else's offer is not taken.
    let mut other = pado.clone();
    *other.last_mut().unwrap() = 0;
    client.handle(now, &from_ac([0x88, 0x63], 7, 0, &other), &mut out);
    assert!(out.is_empty());
    client.handle(now, &from_ac([0x88, 0x63], 7, 0, &pado), &mut out);
    let padr = out.pop().unwrap();
    assert_eq!(padr[..6], AC);
    assert_eq!(
        body(&padr),
        [&[0x88, 0x63, 0x11, 0x19, 0, 0, 0, 18, 1, 1, 0, 0][..], &uniq[..], &[1, 4, 0, 2, 0xc0, 0x0c][..]].concat()
    );

    client.handle(now, &from_ac([0x88, 0x63], 0x65, 7, &[&[1, 1, 0, 0][..], &uniq[..]].concat()), &mut out);
    assert_eq!(client.session_id(), 7);
    let request = out.pop().unwrap();
    assert_eq!(
        body(&request),
        [0x88, 0x64, 0x11, 0, 0, 7, 0, 16, 0xc0, 0x21, 1, 1, 0, 14, 1, 4, 5, 0xd4, 5, 6, 0xa1, 0xb2, 0xc3, 0xd4]
    );

    // The concentrator asks for PAP, and acknowledges.
    client.handle(now, &ppp(&[0xc0, 0x21, 1, 9, 0, 12, 1, 4, 5, 0xd4, 3, 4, 0xc0, 0x23]), &mut out);
    assert_eq!(body(&out.pop().unwrap())[8..], [0xc0, 0x21, 2, 9, 0, 12, 1, 4, 5, 0xd4, 3, 4, 0xc0, 0x23]);
    client.handle(now, &ppp(&[0xc0, 0x21, 2, 1, 0, 14, 1, 4, 5, 0xd4, 5, 6, 0xa1, 0xb2, 0xc3, 0xd4]), &mut out);
    assert_eq!(body(&out.pop().unwrap())[8..], [0xc0, 0x23, 1, 1, 0, 8, 1, b'u', 1, b'p']);
    assert_eq!(client.state(), ClientState::Authenticating);

    client.handle(now, &ppp(&[0xc0, 0x23, 2, 1, 0, 7, 2, b'o', b'k']), &mut out);
    let request = out.pop().unwrap();
    assert_eq!(
        body(&request)[8..],
        [0x80, 0x21, 1, 1, 0, 22, 3, 6, 0, 0, 0, 0, 129, 6, 0, 0, 0, 0, 131, 6, 0, 0, 0, 0]
    );
    client.handle(now, &ppp(&[0x80, 0x21, 1, 1, 0, 10, 3, 6, 192, 0, 2, 1]), &mut out);
    assert_eq!(body(&out.pop().unwrap())[8..], [0x80, 0x21, 2, 1, 0, 10, 3, 6, 192, 0, 2, 1]);
    client.handle(now, &ppp(&[0x80, 0x21, 3, 1, 0, 16, 3, 6, 192, 0, 2, 10, 129, 6, 203, 0, 113, 53]), &mut out);
    let request = out.pop().unwrap();
    assert_eq!(body(&request)[10..12], [1, 2]);
    client.handle(now, &ppp(&[0x80, 0x21, 4, 2, 0, 10, 131, 6, 0, 0, 0, 0]), &mut out);
    let request = out.pop().unwrap();
    let ack = [0x80, 0x21, 2, 3, 0, 16, 3, 6, 192, 0, 2, 10, 129, 6, 203, 0, 113, 53];
    assert_eq!(body(&request)[12..], ack[4..]);
    client.handle(now, &ppp(&ack), &mut out);
    assert_eq!(client.address(), Some([192, 0, 2, 10].into()));
    assert_eq!(client.dns(), [Some([203, 0, 113, 53].into()), None]);

    assert!(client.send_data([198, 51, 100, 9].into(), b"hello", &mut out));
    let frame = out.pop().unwrap();
    let datagram = parse_datagram(&body(&frame)[10..]).unwrap();
    assert_eq!(
        datagram,
        Datagram {
            source: [192, 0, 2, 10].into(),
            destination: [198, 51, 100, 9].into(),
            ttl: 64,
            payload: b"hello".to_vec()
        }
    );
    // An echo is answered with the client's own magic number.
    client.handle(now, &ppp(&[0xc0, 0x21, 9, 4, 0, 9, 1, 2, 3, 4, 0x55]), &mut out);
    assert_eq!(body(&out.pop().unwrap())[8..], [0xc0, 0x21, 10, 4, 0, 9, 0xa1, 0xb2, 0xc3, 0xd4, 0x55]);
    client.handle(now, &from_ac([0x88, 0x63], 0xa7, 7, &[]), &mut out);
    assert!(client.take_events().contains(&ClientEvent::Padt));
    assert_eq!((client.state(), client.session_id()), (ClientState::Idle, 0));
}

#[test]
fn chap_answers_as_rfc_1994_says() {
    let now = Instant::now();
    let mut client = client();
    let mut out = Vec::new();
    client.dial(now, &mut out);
    let uniq = [1, 3, 0, 4, 0xde, 0xad, 0xbe, 0xef];
    client.handle(now, &from_ac([0x88, 0x63], 7, 0, &uniq), &mut out);
    client.handle(now, &from_ac([0x88, 0x63], 0x65, 7, &uniq), &mut out);
    client.handle(now, &ppp(&[0xc0, 0x21, 1, 9, 0, 9, 3, 5, 0xc2, 0x23, 5]), &mut out);
    client.handle(now, &ppp(&[0xc0, 0x21, 2, 1, 0, 14, 1, 4, 5, 0xd4, 5, 6, 0xa1, 0xb2, 0xc3, 0xd4]), &mut out);
    out.clear();
    client.handle(now, &ppp(&[0xc2, 0x23, 1, 0x2a, 0, 10, 4, 1, 2, 3, 4, b'a']), &mut out);
    // MD5 of 2a 70 01 02 03 04.
    let expected = [
        0xc2, 0x23, 2, 0x2a, 0, 22, 16, 0x61, 0x54, 0xa8, 0xc3, 0x12, 0x43, 0x4f, 0x01, 0x64, 0xc1, 0x0a, 0x9b, 0x7e,
        0xf3, 0x52, 0xf9, b'u',
    ];
    let answer = out.pop().unwrap();
    assert_eq!(body(&answer)[8..15], expected[..7]);
    assert_eq!(body(&answer).last(), Some(&b'u'));
    assert_eq!(body(&answer)[8..], expected);
}

#[test]
fn it_asks_again_until_its_patience_ends() {
    let now = Instant::now();
    let mut client = client();
    let mut out = Vec::new();
    client.dial(now, &mut out);
    let mut at = now;
    for _ in 0..5 {
        at = client.poll_timeout().unwrap();
        client.handle_timeout(at, &mut out);
    }
    assert_eq!(out.len(), 6);
    assert_eq!(at - now, Duration::from_secs(25));
    assert!(out.iter().all(|frame| frame == &out[0]));
}

#[test]
fn noise_does_not_stop_it() {
    let mut chance = bng_testkit::sim::Chance::new(1);
    let now = Instant::now();
    let mut client = client();
    let mut out = Vec::new();
    client.dial(now, &mut out);
    let uniq = [1, 3, 0, 4, 0xde, 0xad, 0xbe, 0xef];
    client.handle(now, &from_ac([0x88, 0x63], 7, 0, &uniq), &mut out);
    client.handle(now, &from_ac([0x88, 0x63], 0x65, 7, &uniq), &mut out);
    for _ in 0..20_000 {
        let mut payload = vec![0; chance.below(30) as usize];
        chance.fill(&mut payload);
        if payload.len() > 2 {
            let protocol = [[0xc0, 0x21], [0xc0, 0x23], [0xc2, 0x23], [0x80, 0x21], [0, 0x21]];
            payload[..2].copy_from_slice(&protocol[chance.below(5) as usize]);
            if let Some(code) = payload.get_mut(2) {
                *code &= 15;
            }
        }
        client.handle(now, &ppp(&payload), &mut out);
        out.clear();
    }
}
