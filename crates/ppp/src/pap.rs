//! PAP packets that the authenticator sends (RFC 1334 section 2.2.2).

use crate::events::Action;
use crate::negotiate::PACKET_OCTETS_MAX;
use bng_wire::ppp::auth::PapReply;
use bng_wire::ppp::{PacketBuilder, protocol};

/// An Authenticate-Ack or Authenticate-Nak; the message is cut to the 255 octets that its length octet can say.
pub(crate) fn reply(code: u8, id: u8, message: &[u8]) -> Action {
    let mut builder = PacketBuilder::new(code, id, PACKET_OCTETS_MAX);
    // 256 octets always fit.
    let _ = PapReply { message }.emit(&mut builder);
    Action::Send { protocol: protocol::PAP, payload: builder.finish() }
}
