//! LCP's options: what this side asks for, and what it lets the client ask for (RFC 1661 section 6, RFC 2516
//! section 7, RFC 4638).

use crate::config::{AuthMethod, PppConfig};
use crate::negotiate::{Answer, Judgement, PACKET_OCTETS_MAX};
use crate::random::{Purpose, derive_u32};
use bng_wire::ppp::auth::chap_algorithm;
use bng_wire::ppp::lcp::{LcpOption, kind};
use bng_wire::ppp::{Options, Packet, PacketBuilder, RawOption, code, protocol};

/// The MRU where RFC 4638 has not raised it (RFC 2516 section 7).
pub(crate) const MRU_PPPOE: u16 = 1492;

/// The MRU of a client that names none (RFC 1661 section 6.1), where the cap is not lower: it is 1492 unless both sides
/// have agreed on PPP-Max-Payload (RFC 2516 section 7, RFC 4638).
const MRU_DEFAULT: u16 = 1500;

/// The smallest MRU that is agreed to, in octets. RFC 1661 names none; below this the control protocols' own packets
/// would have to be cut.
pub(crate) const MRU_MIN: u16 = 128;

/// How many methods of a profile are looked at: the width of the mask of refused ones.
const METHODS_MAX: usize = 8;

/// The state of the negotiation of options.
#[derive(Debug, Clone)]
pub(crate) struct Lcp {
    seed: u64,
    /// Cap on either side's MRU in octets.
    mru_max: u16,
    /// MRU that is asked for.
    mru: u16,
    /// The client's MRU as acknowledged.
    peer_mru: u16,
    ask_mru: bool,
    ask_magic: bool,
    magic: u32,
    /// How many magic numbers have been drawn.
    magics: u16,
    /// How often in a row the client's magic number was this side's.
    collisions: u8,
    /// The method asked for; `None` where the profile wants none.
    auth: Option<AuthMethod>,
    /// A bit for each method of the profile that the client has refused.
    auth_refused: u8,
}

/// What a Configure-Nak or Configure-Reject leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Ask again with the options as they are now.
    AskAgain,
    /// The client refuses every allowed method, so that no link can be.
    AuthRefused,
}

impl Lcp {
    pub(crate) fn new(mru_max: u16, seed: u64) -> Self {
        let mru_max = mru_max.max(MRU_MIN);
        Self {
            seed,
            mru_max,
            mru: mru_max.min(MRU_PPPOE),
            peer_mru: mru_max.min(MRU_DEFAULT),
            ask_mru: true,
            ask_magic: true,
            magic: 0,
            magics: 0,
            collisions: 0,
            auth: None,
            auth_refused: 0,
        }
    }

    /// Starts a negotiation from the profile's settings.
    pub(crate) fn reset(&mut self, config: &PppConfig) {
        // Where PPP-Max-Payload raised the cap, the client wants the large frames that it asked for (RFC 4638
        // section 3); otherwise the profile decides.
        self.mru = if self.mru_max > MRU_PPPOE { self.mru_max } else { config.mru.clamp(MRU_MIN, self.mru_max) };
        self.ask_mru = true;
        self.ask_magic = true;
        self.auth_refused = 0;
        self.auth = config.auth.first().copied();
        self.new_magic();
    }

    fn new_magic(&mut self) {
        self.magics = self.magics.wrapping_add(1);
        self.magic = derive_u32(self.seed, Purpose::Magic, u32::from(self.magics));
    }

    /// The client's MRU; where it named none the default, 1492 or what PPP-Max-Payload allows up to 1500.
    pub(crate) const fn peer_mru(&self) -> u16 {
        self.peer_mru
    }

    /// The MRU that this side asked for, or would have.
    pub(crate) const fn local_mru(&self) -> u16 {
        self.mru
    }

    /// The method that has been agreed, once LCP is Opened.
    pub(crate) const fn auth(&self) -> Option<AuthMethod> {
        self.auth
    }

    /// The magic number for echoes: 0 where the client refused the option (RFC 1661 section 5.8).
    pub(crate) const fn magic(&self) -> u32 {
        if self.ask_magic { self.magic } else { 0 }
    }

    /// This side's Configure-Request.
    pub(crate) fn request(&self, id: u8) -> Vec<u8> {
        let mut builder = PacketBuilder::new(code::CONFIGURE_REQUEST, id, PACKET_OCTETS_MAX);
        let mru = self.ask_mru.then_some(LcpOption::Mru(self.mru));
        let auth = self.auth.map(auth_option);
        let magic = self.ask_magic.then_some(LcpOption::MagicNumber(self.magic));
        for option in [mru, auth, magic].into_iter().flatten() {
            // 4 + 5 + 6 octets always fit.
            let _ = option.emit(&mut builder);
        }
        builder.finish()
    }

    /// Judges the client's Configure-Request.
    pub(crate) fn judge(&mut self, request: Packet<'_>, options: Options<'_>, naks_exhausted: bool) -> Answer {
        let mut judgement = Judgement::new(request.id, naks_exhausted);
        if let Some(raw) = options.into_iter().find(|raw| self.is_own_magic(*raw)) {
            // RFC 1661 section 6.4: maybe this side's own request, come back over a loop. Only the Nak that finds
            // out is sent: on a loop, a Reject of the other options would be taken for the client's.
            self.collisions = self.collisions.saturating_add(1);
            judgement.nak(raw, &self.suggested_magic(request.id).to_be_bytes());
            return judgement.answer();
        }
        self.collisions = 0;
        for raw in options {
            // None of LCP's options may be listed twice (RFC 1661 section 6).
            if !judgement.first(raw.kind) {
                judgement.reject(raw);
                continue;
            }
            match LcpOption::parse(raw) {
                // RFC 2516 section 7: not over 1492, unless RFC 4638 raised the cap.
                Ok(LcpOption::Mru(mru)) if mru > self.mru_max => judgement.nak(raw, &self.mru_max.to_be_bytes()),
                Ok(LcpOption::Mru(mru)) if mru < MRU_MIN => judgement.nak(raw, &MRU_MIN.to_be_bytes()),
                Ok(LcpOption::Mru(_)) => {}
                // RFC 1661 section 6.4: zero is illegal.
                Ok(LcpOption::MagicNumber(0)) => {
                    judgement.nak(raw, &self.suggested_magic(request.id).to_be_bytes());
                }
                Ok(LcpOption::MagicNumber(_)) => {}
                Err(wrong) if wrong.kind == kind::MRU => judgement.nak(raw, &self.mru_max.to_be_bytes()),
                Err(wrong) if wrong.kind == kind::MAGIC_NUMBER => {
                    judgement.nak(raw, &self.suggested_magic(request.id).to_be_bytes());
                }
                // An access concentrator does not authenticate itself to clients. ACCM, ACFC and FCS-Alternatives
                // must be refused (RFC 2516 section 7), and nothing else has a meaning over PPPoE.
                Ok(LcpOption::AuthProtocol { .. } | LcpOption::Other(_)) | Err(_) => judgement.reject(raw),
            }
        }
        judgement.answer()
    }

    fn is_own_magic(&self, raw: RawOption<'_>) -> bool {
        self.ask_magic && LcpOption::parse(raw) == Ok(LcpOption::MagicNumber(self.magic))
    }

    /// True where this side's own magic number has come back too often to be chance.
    pub(crate) const fn is_looped_back(&self, collisions_max: u8) -> bool {
        self.collisions >= collisions_max
    }

    fn suggested_magic(&self, id: u8) -> u32 {
        let suggested = derive_u32(self.seed, Purpose::SuggestedMagic, u32::from(id));
        if suggested == self.magic { suggested ^ 0x8000_0000 } else { suggested }
    }

    /// Takes over the options of a request that is being acknowledged.
    pub(crate) fn acknowledge(&mut self, options: Options<'_>) {
        self.peer_mru = self.mru_max.min(MRU_DEFAULT);
        for raw in options {
            if let Ok(LcpOption::Mru(mru)) = LcpOption::parse(raw) {
                self.peer_mru = mru;
            }
        }
    }

    /// The client wants other values. `insisted` says that it has done so too often.
    pub(crate) fn nak(&mut self, config: &PppConfig, options: Options<'_>, insisted: bool) -> Effect {
        let mut effect = Effect::AskAgain;
        for raw in options {
            match LcpOption::parse(raw) {
                Ok(LcpOption::Mru(mru)) if (MRU_MIN..=self.mru_max).contains(&mru) => self.mru = mru,
                Ok(LcpOption::MagicNumber(_)) => self.new_magic(),
                Ok(LcpOption::AuthProtocol { protocol, data }) if self.auth.is_some() => {
                    effect = self.next_auth(config, auth_method(protocol, data));
                }
                // A Nak with a broken Authentication-Protocol still says that the one offered is not wanted.
                Err(wrong) if wrong.kind == kind::AUTH_PROTOCOL && self.auth.is_some() => {
                    effect = self.next_auth(config, None);
                }
                // Values out of range, and options that were not asked for, change nothing.
                _ => {}
            }
        }
        if insisted {
            self.ask_mru = false;
            self.ask_magic = false;
        }
        effect
    }

    /// The client does not take the method on offer; it may have named another one.
    fn next_auth(&mut self, config: &PppConfig, named: Option<AuthMethod>) -> Effect {
        if named.is_some() && named == self.auth {
            return Effect::AskAgain;
        }
        let place = |method| config.auth.iter().take(METHODS_MAX).position(|m| Some(*m) == method);
        if let Some(place) = place(self.auth) {
            self.auth_refused |= bit(place);
        }
        let open = |place: usize| self.auth_refused & bit(place) == 0;
        let named = place(named).filter(|place| open(*place));
        let choice = named.or_else(|| (0..config.auth.len().min(METHODS_MAX)).find(|place| open(*place)));
        match choice.and_then(|place| config.auth.get(place)) {
            Some(method) => {
                self.auth = Some(*method);
                Effect::AskAgain
            }
            None => Effect::AuthRefused,
        }
    }

    /// The client does not negotiate these options at all. `None`: one of them was never asked for, so that the
    /// packet is invalid (RFC 1661 section 5.4).
    pub(crate) fn reject(&mut self, options: Options<'_>) -> Option<Effect> {
        let request = self.request(0);
        let asked = Options::parse(request.get(4..)?).ok()?;
        if options.octets().is_empty() || !options.into_iter().all(|raw| asked.into_iter().any(|own| own == raw)) {
            return None;
        }
        let mut effect = Effect::AskAgain;
        for RawOption { kind, .. } in options {
            match kind {
                kind::MRU => self.ask_mru = false,
                kind::MAGIC_NUMBER => self.ask_magic = false,
                // The option must not be sent again, and without it the client would come in unchecked.
                kind::AUTH_PROTOCOL => effect = Effect::AuthRefused,
                _ => {}
            }
        }
        Some(effect)
    }
}

/// The mask of the method at this place; 0 behind the last one that is looked at.
const fn bit(place: usize) -> u8 {
    if place < METHODS_MAX { 1u8 << place } else { 0 }
}

const fn auth_option(method: AuthMethod) -> LcpOption<'static> {
    match method {
        AuthMethod::ChapMd5 => LcpOption::AuthProtocol { protocol: protocol::CHAP, data: &[chap_algorithm::MD5] },
        AuthMethod::MsChapV2 => {
            LcpOption::AuthProtocol { protocol: protocol::CHAP, data: &[chap_algorithm::MS_CHAP_V2] }
        }
        AuthMethod::Pap => LcpOption::AuthProtocol { protocol: protocol::PAP, data: &[] },
    }
}

const fn auth_method(protocol: u16, data: &[u8]) -> Option<AuthMethod> {
    match (protocol, data) {
        (protocol::CHAP, [chap_algorithm::MD5, ..]) => Some(AuthMethod::ChapMd5),
        (protocol::CHAP, [chap_algorithm::MS_CHAP_V2, ..]) => Some(AuthMethod::MsChapV2),
        (protocol::PAP, _) => Some(AuthMethod::Pap),
        _ => None,
    }
}
