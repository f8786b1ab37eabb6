//! IPV6CP's only option, the interface identifier (RFC 5072 section 4.1).

use crate::events::Ipv6Offer;
use crate::negotiate::{Answer, Judgement, PACKET_OCTETS_MAX};
use crate::random::{Purpose, derive};
use bng_wire::ppp::ipv6cp::{INTERFACE_IDENTIFIER, Ipv6cpOption};
use bng_wire::ppp::{Options, Packet, PacketBuilder, code};

/// The universal/local bit of an interface identifier (RFC 5072 section 4.1): 0 says "not globally unique".
const UNIVERSAL_BIT: u64 = 0x0200_0000_0000_0000;

/// The state of the negotiation of options.
#[derive(Debug, Clone)]
pub(crate) struct Ipv6cp {
    offer: Ipv6Offer,
    seed: u64,
    peer_id: u64,
    ask_id: bool,
}

impl Ipv6cp {
    /// `None` where the offer's own identifier is 0, or the client's is 0 or equal to it.
    pub(crate) fn new(offer: Ipv6Offer, seed: u64) -> Option<Self> {
        let usable = offer.local_id != 0 && offer.peer_id.is_none_or(|id| id != 0 && id != offer.local_id);
        usable.then_some(Self { offer, seed, peer_id: 0, ask_id: true })
    }

    pub(crate) const fn local_id(&self) -> u64 {
        self.offer.local_id
    }

    /// The identifier of the client as acknowledged.
    pub(crate) const fn peer_id(&self) -> u64 {
        self.peer_id
    }

    pub(crate) fn reset(&mut self) {
        self.ask_id = true;
    }

    /// This side's Configure-Request.
    pub(crate) fn request(&self, id: u8) -> Vec<u8> {
        let mut builder = PacketBuilder::new(code::CONFIGURE_REQUEST, id, PACKET_OCTETS_MAX);
        if self.ask_id {
            // 10 octets always fit.
            let _ = Ipv6cpOption::InterfaceIdentifier(self.offer.local_id).emit(&mut builder);
        }
        builder.finish()
    }

    /// Judges the client's Configure-Request.
    pub(crate) fn judge(&self, request: Packet<'_>, options: Options<'_>, naks_exhausted: bool) -> Answer {
        let mut judgement = Judgement::new(request.id, naks_exhausted);
        for raw in options {
            if !judgement.first(raw.kind) {
                judgement.reject(raw);
                continue;
            }
            match Ipv6cpOption::parse(raw) {
                Ok(Ipv6cpOption::InterfaceIdentifier(id)) if self.is_allowed(id) => {}
                Ok(Ipv6cpOption::InterfaceIdentifier(_)) | Err(_) => {
                    judgement.nak(raw, &self.suggestion().to_be_bytes());
                }
                Ok(Ipv6cpOption::Other(_)) => judgement.reject(raw),
            }
        }
        // RFC 5072 section 4.1: without the option the other side cannot know that both identifiers differ.
        if !judgement.has(INTERFACE_IDENTIFIER) {
            judgement.append(INTERFACE_IDENTIFIER, &self.suggestion().to_be_bytes());
        }
        judgement.answer()
    }

    /// Not zero, not this side's own, and the one that policy fixes if it does (RFC 5072 section 4.1).
    fn is_allowed(&self, id: u64) -> bool {
        id != 0 && id != self.offer.local_id && self.offer.peer_id.is_none_or(|fixed| fixed == id)
    }

    /// The identifier that the client is told to take: always the same one, so that a repeated Nak says the same.
    fn suggestion(&self) -> u64 {
        if let Some(fixed) = self.offer.peer_id {
            return fixed;
        }
        let [a, b, c, d, e, f, g, h, ..] = derive(self.seed, Purpose::InterfaceId, 0);
        let id = u64::from_be_bytes([a, b, c, d, e, f, g, h]) & !UNIVERSAL_BIT;
        // One of three different values is neither zero nor this side's own.
        [id, id ^ 1, id ^ 2].into_iter().find(|id| self.is_allowed(*id)).unwrap_or(id)
    }

    /// Takes over the options of a request that is being acknowledged. A client that named no identifier to the last
    /// is taken to have the one that it was told.
    pub(crate) fn acknowledge(&mut self, options: Options<'_>) {
        self.peer_id = self.suggestion();
        for raw in options {
            if let Ok(Ipv6cpOption::InterfaceIdentifier(id)) = Ipv6cpOption::parse(raw) {
                self.peer_id = id;
            }
        }
    }

    /// The client wants this side to have another identifier; as for an IPv4 address, it does not get its way.
    pub(crate) fn nak(&mut self, insisted: bool) {
        if insisted {
            self.ask_id = false;
        }
    }

    /// The client does not negotiate these options. False: one of them was never asked for.
    pub(crate) fn reject(&mut self, options: Options<'_>) -> bool {
        let own = self.offer.local_id.to_be_bytes();
        let valid = self.ask_id
            && !options.octets().is_empty()
            && options.into_iter().all(|raw| raw.kind == INTERFACE_IDENTIFIER && raw.value == own);
        if valid {
            self.ask_id = false;
        }
        valid
    }
}
