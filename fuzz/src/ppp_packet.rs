//! PPP packets and options: what is read is written back the same.

use bng_wire::ppp::auth::{ChapValue, PapReply, PapRequest};
use bng_wire::ppp::ipcp::IpcpOption;
use bng_wire::ppp::ipv6cp::Ipv6cpOption;
use bng_wire::ppp::lcp::{Echo, LcpOption, ProtocolReject};
use bng_wire::ppp::{Options, Packet, PacketBuilder, RawOption, TooLong};

/// The octets behind the header of what `write` writes.
fn written(write: impl FnOnce(&mut PacketBuilder) -> Result<(), TooLong>) -> Vec<u8> {
    let mut builder = PacketBuilder::new(1, 1, usize::from(u16::MAX));
    write(&mut builder).expect("room for what was read");
    builder.finish().split_off(4)
}

fn option(raw: RawOption<'_>) {
    let expected = written(|builder| builder.option(raw.kind, raw.value).map(|_| ()));
    if let Ok(option) = LcpOption::parse(raw) {
        assert_eq!(written(|builder| option.emit(builder)), expected);
    }
    if let Ok(option) = IpcpOption::parse(raw) {
        assert_eq!(written(|builder| option.emit(builder)), expected);
    }
    if let Ok(option) = Ipv6cpOption::parse(raw) {
        assert_eq!(written(|builder| option.emit(builder)), expected);
    }
}

/// One PPP packet, from the code on.
pub fn run(data: &[u8]) {
    let Ok(packet) = Packet::parse(data) else { return };
    let mut builder = PacketBuilder::new(packet.code, packet.id, usize::from(u16::MAX));
    builder.bytes(packet.data).expect("room for what was read");
    assert_eq!(builder.finish(), data[..packet.data.len() + 4]);
    if let Ok(options) = Options::parse(packet.data) {
        let mut octets = 0;
        for raw in options {
            octets += raw.value.len() + 2;
            option(raw);
        }
        assert_eq!(octets, packet.data.len());
    }
    if let Ok(request) = PapRequest::parse(packet.data) {
        assert!(packet.data.starts_with(&written(|builder| request.emit(builder))));
    }
    if let Ok(reply) = PapReply::parse(packet.data) {
        let again = written(|builder| reply.emit(builder));
        assert!(packet.data.is_empty() || packet.data.starts_with(&again));
    }
    if let Ok(value) = ChapValue::parse(packet.data) {
        assert_eq!(written(|builder| value.emit(builder)), packet.data);
    }
    if let Some(echo) = Echo::parse(packet.data) {
        assert_eq!(echo.data, &packet.data[4..]);
    }
    if let Some(reject) = ProtocolReject::parse(packet.data) {
        assert_eq!(reject.information, &packet.data[2..]);
    }
}
