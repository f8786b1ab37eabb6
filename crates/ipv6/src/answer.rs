//! The DHCPv6 server's answers (RFC 8415 section 18.3). The same question gets the same octets as long as the leases
//! are the same, so a client that repeats itself is answered alike.

use core::net::Ipv6Addr;

use bng_wire::dhcpv6::{
    Ia, IaAddress, IaPrefix, Options, kind, option, requests, status, write_header, write_option, write_status,
};
use bng_wire::ether::TooSmall;
use bng_wire::writer::Writer;

use crate::config::DhcpConfig;
use crate::dhcp::{Association, Query};
use crate::error::Discard;
use crate::events::{Action, LeaseKind, Prefix};
use crate::packet;
use crate::router::DOMAINS_MAX;
use crate::session::Ipv6Session;

/// The most DNS servers that are sent.
const DNS_MAX: usize = 8;
/// The most outdated leases of one association that the client is told to forget.
const STALE_MAX: usize = 4;

/// What one association gets.
#[derive(Debug, Clone, Copy)]
enum Outcome {
    /// This lease.
    Lease(Prefix),
    /// Nothing, for this reason.
    Status(u16, &'static str),
    /// Nothing, and what the client names is to be forgotten.
    Forget,
}

impl Ipv6Session {
    /// Answers Solicit, Request, Renew and Rebind.
    pub(crate) fn answer_leases(
        &mut self,
        now: u64,
        dhcp: &DhcpConfig,
        query: &Query<'_>,
        out: &mut Vec<Action>,
    ) -> Result<(), Discard> {
        let solicit = query.kind == kind::SOLICIT;
        let granted = query.associations().any(|ia| self.lease_mut(query, &ia).is_some());
        // Section 18.3.1: a Reply commits. Where there is nothing to commit the client is told by Advertise, and may
        // look for another server.
        let rapid = solicit && dhcp.rapid_commit && granted && query.options.first(option::RAPID_COMMIT).is_some();
        for ia in query.associations() {
            if solicit && !rapid {
                self.offer(now, query, &ia);
            } else {
                self.bind(now, dhcp, query, &ia, out);
            }
        }
        let outcomes: Vec<_> = query.associations().map(|ia| (ia, self.outcome(query, &ia))).collect();
        let kind = if solicit && !rapid { kind::ADVERTISE } else { kind::REPLY };
        self.reply(query, kind, out, |out| {
            if kind == kind::ADVERTISE && dhcp.preference != 0 {
                write_option(out, option::PREFERENCE, |out| out.u8(dhcp.preference))?;
            }
            if rapid {
                write_option(out, option::RAPID_COMMIT, |_| Ok(()))?;
            }
            for (ia, outcome) in &outcomes {
                write_association(out, dhcp, query, ia, *outcome)?;
            }
            write_temporary(out, query)?;
            self.write_settings(out, dhcp, query)
        })
    }

    fn outcome(&mut self, query: &Query<'_>, ia: &Association<'_>) -> Outcome {
        if let Some(lease) = self.lease_mut(query, ia) {
            return Outcome::Lease(lease.prefix);
        }
        let named = ia.held().next().is_some();
        match (query.kind, ia.kind) {
            // Section 18.3.4.
            (kind::RENEW, _) if named => Outcome::Status(status::NO_BINDING, "no such lease"),
            // Section 18.3.5: what does not suit the link has its lifetimes set to 0.
            (kind::REBIND, _) if named => Outcome::Forget,
            // Section 18.3.2.
            (kind::REQUEST, LeaseKind::Address) if named => Outcome::Status(status::NOT_ON_LINK, "not on this link"),
            (_, LeaseKind::Address) => Outcome::Status(status::NO_ADDRS_AVAIL, "no address available"),
            (_, LeaseKind::Prefix) => Outcome::Status(status::NO_PREFIX_AVAIL, "no prefix available"),
        }
    }

    /// Answers Confirm (section 18.3.3): whether all addresses suit the link.
    pub(crate) fn confirm(&mut self, query: &Query<'_>, out: &mut Vec<Action>) -> Result<(), Discard> {
        let mut addresses =
            query.associations().filter(|ia| ia.kind == LeaseKind::Address).flat_map(|ia| ia.held()).peekable();
        if addresses.peek().is_none() {
            // "... the server MUST NOT send a Reply".
            return Err(Discard::NoAnswer);
        }
        let suits = addresses.all(|address| {
            let on_link = self.link.prefix.is_some_and(|link| link.contains(address.address));
            on_link || self.leases.iter().any(|lease| lease.is_held() && lease.prefix == address)
        });
        let (code, text) =
            if suits { (status::SUCCESS, "on this link") } else { (status::NOT_ON_LINK, "not on this link") };
        self.reply(query, kind::REPLY, out, |out| write_status(out, code, text))
    }

    /// Answers Release and Decline (sections 18.3.7 and 18.3.8).
    pub(crate) fn give_back(
        &mut self,
        query: &Query<'_>,
        declined: bool,
        out: &mut Vec<Action>,
    ) -> Result<(), Discard> {
        let mut unknown = Vec::new();
        for ia in query.associations() {
            // Only addresses can be declined.
            if declined && ia.kind == LeaseKind::Prefix {
                continue;
            }
            if self.end_lease(query, &ia, declined, out).is_none() {
                unknown.push(ia);
            }
        }
        self.reply(query, kind::REPLY, out, |out| {
            write_status(out, status::SUCCESS, "taken back")?;
            unknown.iter().try_for_each(|ia| {
                write_ia(out, ia, (0, 0), |out| write_status(out, status::NO_BINDING, "no such lease"))
            })
        })
    }

    /// Answers Information-request (section 18.3.6).
    pub(crate) fn answer_information(
        &mut self,
        dhcp: &DhcpConfig,
        query: &Query<'_>,
        out: &mut Vec<Action>,
    ) -> Result<(), Discard> {
        self.reply(query, kind::REPLY, out, |out| {
            self.write_settings(out, dhcp, query)?;
            match dhcp.refresh_s {
                Some(refresh) if asks(query, option::REFRESH_TIME, false) => {
                    write_option(out, option::REFRESH_TIME, |out| out.u32(refresh.max(600)))
                }
                _ => Ok(()),
            }
        })
    }

    /// A message sent to the router's own address (section 18.4): this server never gave leave to that, so those
    /// that might have had it are told, and all others are thrown away.
    pub(crate) fn unicast(&mut self, query: &Query<'_>, out: &mut Vec<Action>) -> Result<(), Discard> {
        match query.kind {
            kind::REQUEST | kind::RENEW | kind::RELEASE | kind::DECLINE => {
                self.reply(query, kind::REPLY, out, |out| write_status(out, status::USE_MULTICAST, "use multicast"))
            }
            _ => Err(Discard::Unexpected),
        }
    }

    /// Sends a message that begins as all do: the two identifiers.
    fn reply(
        &self,
        query: &Query<'_>,
        kind: u8,
        out: &mut Vec<Action>,
        body: impl FnOnce(&mut Writer<'_>) -> Result<(), TooSmall>,
    ) -> Result<(), Discard> {
        let duid = self.config.dhcp.as_ref().map_or(&[][..], |dhcp| &dhcp.duid);
        let written = packet::dhcp(self.ends(query.to), |out| {
            write_header(out, kind, query.transaction)?;
            if let Some(client) = query.client {
                write_option(out, option::CLIENT_ID, |out| out.octets(client))?;
            }
            write_option(out, option::SERVER_ID, |out| out.octets(duid))?;
            body(out)
        });
        out.push(Action::Send(written.ok_or(Discard::NoAnswer)?));
        Ok(())
    }

    /// Writes the settings that the client asks for; DNS also where it does not say what it asks for.
    fn write_settings(&self, out: &mut Writer<'_>, dhcp: &DhcpConfig, query: &Query<'_>) -> Result<(), TooSmall> {
        let dns = self.config.dns.get(..DNS_MAX).unwrap_or(&self.config.dns);
        if !dns.is_empty() && asks(query, option::DNS_SERVERS, true) {
            write_option(out, option::DNS_SERVERS, |out| {
                dns.iter().try_for_each(|server: &Ipv6Addr| out.octets(&server.octets()))
            })?;
        }
        let domains = &self.config.domains;
        if !domains.is_empty() && domains.len() <= DOMAINS_MAX && asks(query, option::DOMAIN_LIST, true) {
            write_option(out, option::DOMAIN_LIST, |out| out.octets(domains))?;
        }
        if let Some(max_rt) = dhcp.max_rt_s {
            for code in [option::SOL_MAX_RT, option::INF_MAX_RT] {
                if asks(query, code, false) {
                    // Section 21.24: clients ignore values out of this range.
                    write_option(out, code, |out| out.u32(max_rt.clamp(60, 86_400)))?;
                }
            }
        }
        Ok(())
    }
}

/// Whether the client asks for an option; `unsaid` is the answer where it has no option request at all.
fn asks(query: &Query<'_>, code: u16, unsaid: bool) -> bool {
    query.options.first(option::REQUESTED).map_or(unsaid, |body| requests(body, code))
}

fn write_ia(
    out: &mut Writer<'_>,
    ia: &Association<'_>,
    (t1_s, t2_s): (u32, u32),
    body: impl FnOnce(&mut Writer<'_>) -> Result<(), TooSmall>,
) -> Result<(), TooSmall> {
    let code = match ia.kind {
        LeaseKind::Address => option::IA_NA,
        LeaseKind::Prefix => option::IA_PD,
    };
    write_option(out, code, |out| {
        Ia { iaid: ia.iaid, t1_s, t2_s, options: Options::default() }.write(out)?;
        body(out)
    })
}

fn write_lease(
    out: &mut Writer<'_>,
    kind: LeaseKind,
    prefix: Prefix,
    (preferred_s, valid_s): (u32, u32),
) -> Result<(), TooSmall> {
    let Prefix { address, length } = prefix;
    let options = Options::default();
    match kind {
        LeaseKind::Address => IaAddress { address, preferred_s, valid_s, options }.write(out),
        LeaseKind::Prefix => IaPrefix { preferred_s, valid_s, length, prefix: address, options }.write(out),
    }
}

fn write_association(
    out: &mut Writer<'_>,
    dhcp: &DhcpConfig,
    query: &Query<'_>,
    ia: &Association<'_>,
    outcome: Outcome,
) -> Result<(), TooSmall> {
    let (times, lease) = match outcome {
        Outcome::Status(code, text) => return write_ia(out, ia, (0, 0), |out| write_status(out, code, text)),
        Outcome::Lease(lease) => (dhcp.times(), Some(lease)),
        Outcome::Forget => ((0, 0), None),
    };
    write_ia(out, ia, times, |out| {
        if let Some(prefix) = lease {
            write_lease(out, ia.kind, prefix, (dhcp.preferred_s.min(dhcp.valid_s), dhcp.valid_s))?;
        }
        // Sections 18.3.4 and 18.3.5: what else the client believes to have, it has not.
        if matches!(query.kind, kind::RENEW | kind::REBIND) {
            for stale in ia.held().filter(|named| Some(*named) != lease).take(STALE_MAX) {
                write_lease(out, ia.kind, stale, (0, 0))?;
            }
        }
        Ok(())
    })
}

/// Temporary addresses are never leased (section 21.5).
fn write_temporary(out: &mut Writer<'_>, query: &Query<'_>) -> Result<(), TooSmall> {
    let temporary = query.options.iter().filter(|option| option.code == option::IA_TA).take(1);
    for iaid in temporary.filter_map(|option| option.body.first_chunk::<4>()) {
        write_option(out, option::IA_TA, |out| {
            out.octets(iaid)?;
            write_status(out, status::NO_ADDRS_AVAIL, "no temporary addresses")
        })?;
    }
    Ok(())
}
