//! The PPPoE header, the discovery tags, the access line: what is read is written back the same.

use bng_wire::pppoe::{AccessLine, HEADER_LEN, Packet, TagWriter};

/// One PPPoE packet, from VER/TYPE on.
pub fn run(data: &[u8]) {
    let Ok(packet) = Packet::parse(data) else { return };
    assert_eq!(packet.header.to_bytes(), data[..HEADER_LEN]);
    assert_eq!(packet.payload, &data[HEADER_LEN..packet.len()]);
    let mut again = vec![0; packet.payload.len()];
    let mut writer = TagWriter::new(&mut again);
    for tag in packet.tags().flatten() {
        writer.push(tag.kind, tag.value).expect("room for what was read");
        if let Some(read) = AccessLine::from_vendor_tag(tag.value) {
            access_line(&read.line, tag.value);
        }
    }
    let length = writer.finish();
    assert_eq!(again[..length], packet.payload[..length]);
}

fn access_line(line: &AccessLine, value: &[u8]) {
    assert!(line.as_octets().len() + 4 <= value.len());
    for identity in [line.circuit_id(), line.remote_id()].into_iter().flatten() {
        assert!((1..=63).contains(&identity.len()));
    }
    assert!(line.sub_options().count() * 2 <= value.len());
    let again = [&value[..4], line.as_octets()].concat();
    let again = AccessLine::from_vendor_tag(&again).expect("the same vendor");
    assert_eq!((&again.line, again.left_out), (line, 0));
}
