//! The examples of RFC 2865 section 7, octet by octet.

use bng_radius::authenticator::{hide_password, reveal_password, verify_response};
use bng_radius::build::{AttributeList, encode_reply};
use bng_radius::dictionary::number;
use bng_radius::{Authorization, Code, Packet, Secret, authorization::FramedIp, mapping::DEFAULT_RULES};

pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn secret() -> Secret {
    Secret::new(b"xyzzy5461")
}

const TELNET_REQUEST: &str = "01 00 00 38 0f 40 3f 94 73 97 80 57 bd 83 d5 cb 98 f4 22 7a 01 06 6e 65 6d 6f 02 12 0d be \
    70 8d 93 d4 13 ce 31 96 e4 3f 78 2a 0a ee 04 06 c0 a8 01 10 05 06 00 00 00 03";
const TELNET_ACCEPT: &str = "02 00 00 26 86 fe 22 0e 76 24 ba 2a 10 05 f6 bf 9b 55 e0 b2 06 06 00 00 00 01 0f 06 00 00 \
    00 00 0e 06 c0 a8 01 03";
const CHAP_REQUEST: &str = "01 01 00 47 2a ee 86 f0 8d 0d 55 96 9c a5 97 8e 0d 33 67 a2 01 08 66 6c 6f 70 73 79 03 13 \
    16 e9 75 57 c3 16 18 58 95 f2 93 ff 63 44 07 72 75 04 06 c0 a8 01 10 05 06 00 00 00 14 06 06 00 00 00 02 07 06 00 \
    00 00 01";
const CHAP_ACCEPT: &str = "02 01 00 38 15 ef bc 7d ab 26 cf a3 dc 34 d9 c0 3c 86 01 a4 06 06 00 00 00 02 07 06 00 00 \
    00 01 08 06 ff ff ff fe 0a 06 00 00 00 02 0d 06 00 00 00 01 0c 06 00 00 05 dc";
const CARD_REQUEST: &str = "01 02 00 39 f3 a4 7a 1f 6a 6d 76 71 0b 94 7a b9 30 41 a0 39 01 07 6d 6f 70 73 79 02 12 33 \
    65 75 73 77 82 89 b5 70 88 5e 15 08 48 25 c5 04 06 c0 a8 01 10 05 06 00 00 00 07";
const CARD_CHALLENGE: &str = "0b 02 00 4e 36 f3 c8 76 4a e8 c7 11 57 40 3c 0c 71 ff 9c 45 12 30 43 68 61 6c 6c 65 6e \
    67 65 20 33 32 37 36 39 34 33 30 2e 20 20 45 6e 74 65 72 20 72 65 73 70 6f 6e 73 65 20 61 74 20 70 72 6f 6d 70 74 \
    2e 18 0a 33 32 37 36 39 34 33 30";
const CARD_ANSWER: &str = "01 03 00 43 b1 22 55 6d 42 8a 13 d0 d6 25 38 07 c4 57 ec f0 01 07 6d 6f 70 73 79 02 12 69 \
    2c 1f 20 5f c0 81 b9 19 b9 51 95 f5 61 a5 81 04 06 c0 a8 01 10 05 06 00 00 00 07 18 10 33 32 37 36 39 34 33 30";
const CARD_REJECT: &str = "03 03 00 14 a4 2f 4f ca 45 91 6c 4e 09 c8 34 0f 9e 74 6a a0";

#[test]
fn user_passwords_are_hidden_as_in_the_examples() {
    for (request, password) in [(TELNET_REQUEST, &b"arctangent"[..]), (CARD_REQUEST, b"challenge")] {
        let octets = hex(request);
        let packet = Packet::parse(&octets).unwrap();
        let hidden = packet.first(number::USER_PASSWORD).unwrap();
        let password = Secret::new(password);
        assert_eq!(hide_password(&password, packet.authenticator(), &secret()).unwrap(), hidden);
        assert_eq!(reveal_password(hidden, packet.authenticator(), &secret()), Some(password));
    }
}

#[test]
fn replies_of_the_examples_verify_and_are_built_again() {
    for (request, reply) in
        [(TELNET_REQUEST, TELNET_ACCEPT), (CHAP_REQUEST, CHAP_ACCEPT), (CARD_REQUEST, CARD_CHALLENGE)]
    {
        let (request, reply) = (hex(request), hex(reply));
        let request = Packet::parse(&request).unwrap();
        let packet = Packet::parse(&reply).unwrap();
        packet.validate().unwrap();
        assert!(verify_response(&packet, request.authenticator(), &secret()), "{:?}", packet.code());
        assert!(!verify_response(&packet, request.authenticator(), &Secret::new(b"other")));
        assert!(!verify_response(&packet, packet.authenticator(), &secret()));
        let list = AttributeList::from_octets(&reply[20..]).unwrap();
        let built = encode_reply(packet.code(), packet.id(), request.authenticator(), false, &list, &secret());
        assert_eq!(built.unwrap(), reply);
    }
}

/// The last request of section 7.3 says Length 67 and State length 16 but prints 8 octets of State: it is cut short by
/// its own figures. As printed it must be refused, and its reject verifies all the same.
#[test]
fn the_last_example_is_cut_short_as_printed() {
    let (request, reply) = (hex(CARD_ANSWER), hex(CARD_REJECT));
    assert!(Packet::parse(&request).is_err());
    let authenticator: [u8; 16] = request[4..20].try_into().unwrap();
    assert!(verify_response(&Packet::parse(&reply).unwrap(), &authenticator, &secret()));
}

#[test]
fn the_chap_accept_is_read() {
    let octets = hex(CHAP_ACCEPT);
    let packet = Packet::parse(&octets).unwrap();
    assert_eq!(packet.code(), Code::ACCESS_ACCEPT);
    let authorization = Authorization::from_reply(&packet, DEFAULT_RULES).unwrap();
    assert_eq!(authorization.framed_ip, Some(FramedIp::FromPool));
    assert_eq!(authorization.mtu, Some(1500));
    // Login is no service of ours (RFC 2865 section 5.6).
    let octets = hex(TELNET_ACCEPT);
    assert!(Authorization::from_reply(&Packet::parse(&octets).unwrap(), DEFAULT_RULES).is_err());
}
