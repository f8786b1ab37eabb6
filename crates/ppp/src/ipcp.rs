//! IPCP's options (RFC 1332, RFC 1877).

use crate::events::Ipv4Offer;
use crate::negotiate::{Answer, Judgement, PACKET_OCTETS_MAX};
use bng_wire::ppp::ipcp::{IpcpOption, kind};
use bng_wire::ppp::{Options, Packet, PacketBuilder, code};
use core::net::Ipv4Addr;

/// The state of the negotiation of options.
#[derive(Debug, Clone)]
pub(crate) struct Ipcp {
    offer: Ipv4Offer,
    ask_address: bool,
}

impl Ipcp {
    /// `None` where the offer has an address 0.0.0.0, which must never be acknowledged.
    pub(crate) fn new(offer: Ipv4Offer) -> Option<Self> {
        let usable = !offer.local.is_unspecified() && !offer.peer.is_unspecified();
        usable.then_some(Self { offer, ask_address: true })
    }

    pub(crate) const fn offer(&self) -> &Ipv4Offer {
        &self.offer
    }

    pub(crate) fn reset(&mut self) {
        self.ask_address = true;
    }

    /// This side's Configure-Request.
    pub(crate) fn request(&self, id: u8) -> Vec<u8> {
        let mut builder = PacketBuilder::new(code::CONFIGURE_REQUEST, id, PACKET_OCTETS_MAX);
        if self.ask_address {
            // 6 octets always fit.
            let _ = IpcpOption::Address { kind: kind::IP_ADDRESS, address: self.offer.local }.emit(&mut builder);
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
            let asked = match IpcpOption::parse(raw) {
                Ok(IpcpOption::Address { address, .. }) => Some(address),
                // An address option of a wrong length: as one with a wrong address (RFC 1661 section 6).
                Err(_) => None,
                Ok(IpcpOption::Other(_)) => {
                    judgement.reject(raw);
                    continue;
                }
            };
            match self.value(raw.kind) {
                Some(right) if asked == Some(right) => {}
                Some(right) => judgement.nak(raw, &right.octets()),
                None => judgement.reject(raw),
            }
        }
        // RFC 1332 section 3.3: a client that names no address is told its own.
        if !judgement.has(kind::IP_ADDRESS) {
            judgement.append(kind::IP_ADDRESS, &self.offer.peer.octets());
        }
        judgement.answer()
    }

    /// The address that an option is to have; `None` where there is none to give.
    fn value(&self, option: u8) -> Option<Ipv4Addr> {
        let [primary_dns, secondary_dns] = self.offer.dns;
        let [primary_nbns, secondary_nbns] = self.offer.nbns;
        match option {
            kind::IP_ADDRESS => Some(self.offer.peer),
            kind::PRIMARY_DNS => primary_dns,
            kind::SECONDARY_DNS => secondary_dns,
            kind::PRIMARY_NBNS => primary_nbns,
            kind::SECONDARY_NBNS => secondary_nbns,
            _ => None,
        }
    }

    /// The client wants this side to have another address. It does not get its way; `insisted` says that it has
    /// asked too often, and this side then goes without the option.
    pub(crate) fn nak(&mut self, insisted: bool) {
        if insisted {
            self.ask_address = false;
        }
    }

    /// The client does not negotiate these options. False: one of them was never asked for.
    pub(crate) fn reject(&mut self, options: Options<'_>) -> bool {
        let own = self.offer.local.octets();
        let valid = self.ask_address
            && !options.octets().is_empty()
            && options.into_iter().all(|raw| raw.kind == kind::IP_ADDRESS && raw.value == own);
        if valid {
            self.ask_address = false;
        }
        valid
    }
}
