//! What LCP and the network control protocols share when they judge a Configure-Request (RFC 1661 sections 5.2-5.4).

use bng_wire::ppp::{PacketBuilder, RawOption, code};

/// No packet that is sent grows over this, whatever the peer's MRU: Configure packets are always sent as if nothing
/// had been negotiated (RFC 1661 section 5), and PPPoE carries at most this much (RFC 2516 section 7).
pub(crate) const PACKET_OCTETS_MAX: usize = 1492;

/// The answer to a Configure-Request: nothing but an Ack of the request itself, or a packet.
#[derive(Debug)]
pub(crate) enum Answer {
    /// All options are as they should be.
    Ack,
    /// A whole Configure-Nak.
    Nak(Vec<u8>),
    /// A whole Configure-Reject.
    Reject(Vec<u8>),
}

/// Collects what is wrong with a request, option by option in the order received.
#[derive(Debug)]
pub(crate) struct Judgement {
    id: u8,
    naks_exhausted: bool,
    naks: Option<PacketBuilder>,
    rejects: Option<PacketBuilder>,
    seen: [u64; 4],
}

impl Judgement {
    /// Starts with the request's identifier. With `naks_exhausted`, Max-Failure Naks have been sent: what would be
    /// Nak'd is rejected, and nothing is asked for that the peer has not named (RFC 1661 section 4.6).
    pub(crate) const fn new(id: u8, naks_exhausted: bool) -> Self {
        Self { id, naks_exhausted, naks: None, rejects: None, seen: [0; 4] }
    }

    /// Notes that an option is there; false if one of its type was there before.
    pub(crate) fn first(&mut self, kind: u8) -> bool {
        let bit = 1u64 << (kind & 63);
        let Some(word) = self.seen.get_mut(usize::from(kind >> 6)) else { return true };
        let first = *word & bit == 0;
        *word |= bit;
        first
    }

    /// True where an option of this type has been noted.
    pub(crate) fn has(&self, kind: u8) -> bool {
        self.seen.get(usize::from(kind >> 6)).is_some_and(|word| word & (1u64 << (kind & 63)) != 0)
    }

    /// The option is not negotiable: it goes back as it came.
    pub(crate) fn reject(&mut self, option: RawOption<'_>) {
        let builder =
            self.rejects.get_or_insert_with(|| PacketBuilder::new(code::CONFIGURE_REJECT, self.id, PACKET_OCTETS_MAX));
        // An option for which there is no room is left out: the peer drops the others and asks again.
        let _ = builder.option(option.kind, option.value);
    }

    /// The option is negotiable, but with another value.
    pub(crate) fn nak(&mut self, option: RawOption<'_>, value: &[u8]) {
        if self.naks_exhausted {
            self.reject(option);
        } else {
            self.want(option.kind, value);
        }
    }

    /// The peer did not name an option that it should.
    pub(crate) fn append(&mut self, kind: u8, value: &[u8]) {
        if !self.naks_exhausted {
            self.want(kind, value);
        }
    }

    fn want(&mut self, kind: u8, value: &[u8]) {
        let builder =
            self.naks.get_or_insert_with(|| PacketBuilder::new(code::CONFIGURE_NAK, self.id, PACKET_OCTETS_MAX));
        // As above: what does not fit comes up again in the next round.
        let _ = builder.option(kind, value);
    }

    /// A Reject goes before a Nak: only when every option is recognizable may a Nak be sent (RFC 1661 section 5.3).
    pub(crate) fn answer(self) -> Answer {
        match (self.rejects, self.naks) {
            (Some(rejects), _) => Answer::Reject(rejects.finish()),
            (None, Some(naks)) => Answer::Nak(naks.finish()),
            (None, None) => Answer::Ack,
        }
    }
}

/// A digest by which a repetition of a Configure-Request is known (FNV-1a). Who forges one only gets the Ack again
/// that the same peer has had before.
pub(crate) fn digest(octets: &[u8]) -> u32 {
    octets.iter().fold(0x811c_9dc5, |sum: u32, octet| (sum ^ u32::from(*octet)).wrapping_mul(0x0100_0193))
}
