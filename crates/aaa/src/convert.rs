//! From what a server allows to what a session gets.

use std::time::Duration;

use bng_radius::authorization::{Authorization as Reply, FramedIp};
use bng_subscriber::{Authorization, Change, PolicerRate};

use crate::config::Names;

/// The lowest rate that is kept: below it a policer lets nothing useful through.
const RATE_MIN_BPS: u64 = 1000;

/// Why an Access-Accept is not good for a session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unfit {
    #[error("there is no IPv4 pool `{0}`")]
    Pool(String),
}

/// A rate with its burst; without one given, what comes in a tenth of a second.
fn rate(bits_per_second: Option<u64>, burst: Option<u64>) -> Option<PolicerRate> {
    let bits_per_second = bits_per_second?.max(RATE_MIN_BPS);
    let burst = burst.unwrap_or(bits_per_second / 80);
    Some(PolicerRate { bits_per_second, burst_octets: u32::try_from(burst).unwrap_or(u32::MAX) })
}

fn pair<T: Copy>(list: &[T]) -> Option<[Option<T>; 2]> {
    (!list.is_empty()).then(|| [list.first().copied(), list.get(1).copied()])
}

fn seconds(seconds: Option<u32>) -> Option<Duration> {
    seconds.map(|seconds| Duration::from_secs(seconds.into()))
}

/// What an accepted client gets. `message` is the text for it.
pub(crate) fn authorization(reply: &Reply, message: Vec<u8>, names: &Names) -> Result<Authorization, Unfit> {
    let ipv4_pool = match &reply.ipv4_pool {
        None => None,
        Some(name) => match names.ipv4_pools.get(name) {
            Some(pool) => Some(*pool),
            // Addresses decide where a client may go: another pool than the one meant is worse than none.
            None => return Err(Unfit::Pool(String::from_utf8_lossy(name).into_owned())),
        },
    };
    Ok(Authorization {
        ipv4: match reply.framed_ip {
            Some(FramedIp::Address(address)) => Some(address),
            Some(FramedIp::FromPool | FramedIp::ClientChoice) | None => None,
        },
        ipv4_pool,
        ipv4_dns: pair(&reply.ipv4_dns),
        ipv4_nbns: pair(&reply.ipv4_nbns),
        session_timeout: seconds(reply.session_timeout_s),
        idle_timeout: seconds(reply.idle_timeout_s),
        rate_up: rate(reply.rate_up_bps, reply.burst_up_octets),
        rate_down: rate(reply.rate_down_bps, reply.burst_down_octets),
        message,
    })
}

/// What a CoA-Request changes, and the interim interval that it sets. `None`: it names something that cannot be
/// changed while a session is up.
pub(crate) fn change(request: &Reply) -> Option<(Change, Option<u32>)> {
    let known = Reply {
        session_timeout_s: request.session_timeout_s,
        idle_timeout_s: request.idle_timeout_s,
        interim_interval_s: request.interim_interval_s,
        rate_up_bps: request.rate_up_bps,
        rate_down_bps: request.rate_down_bps,
        burst_up_octets: request.burst_up_octets,
        burst_down_octets: request.burst_down_octets,
        // State is given back by some servers and means nothing here.
        state: request.state.clone(),
        ..Reply::default()
    };
    // A burst without its rate would be dropped in silence.
    let lone_burst = request.burst_up_octets.is_some() && request.rate_up_bps.is_none()
        || request.burst_down_octets.is_some() && request.rate_down_bps.is_none();
    if known != *request || lone_burst {
        return None;
    }
    let change = Change {
        session_timeout: seconds(request.session_timeout_s),
        idle_timeout: seconds(request.idle_timeout_s),
        rate_up: rate(request.rate_up_bps, request.burst_up_octets),
        rate_down: rate(request.rate_down_bps, request.burst_down_octets),
    };
    Some((change, request.interim_interval_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bng_subscriber::PoolIndex;
    use std::net::Ipv4Addr;

    #[test]
    fn p36_rates_keep_their_unit_and_width() {
        for bps in [1_000, 4_294_967_295, 4_294_967_296, 5_000_000_000, 10_000_000_000] {
            let reply = Reply { rate_up_bps: Some(bps), ..Reply::default() };
            let given = authorization(&reply, Vec::new(), &Names::default()).unwrap();
            assert_eq!(given.rate_up.unwrap().bits_per_second, bps);
            assert_eq!(given.rate_down, None);
        }
        assert_eq!(rate(Some(10_000_000_000), None).unwrap().burst_octets, 125_000_000);
        assert_eq!(rate(Some(u64::MAX), None).unwrap().burst_octets, u32::MAX);
        assert_eq!(rate(Some(8_000_000), Some(20_000)).unwrap().burst_octets, 20_000);
    }

    #[test]
    fn the_magic_addresses_are_no_addresses() {
        let names = Names { ipv4_pools: [(b"gold".to_vec(), PoolIndex(1))].into(), ..Names::default() };
        let of = |framed_ip| {
            let reply = Reply { framed_ip: Some(framed_ip), ipv4_pool: Some(b"gold".to_vec()), ..Reply::default() };
            let given = authorization(&reply, Vec::new(), &names).unwrap();
            (given.ipv4, given.ipv4_pool)
        };
        let address = Ipv4Addr::new(198, 51, 100, 7);
        assert_eq!(of(FramedIp::Address(address)), (Some(address), Some(PoolIndex(1))));
        assert_eq!(of(FramedIp::FromPool), (None, Some(PoolIndex(1))));
        assert_eq!(of(FramedIp::ClientChoice), (None, Some(PoolIndex(1))));
        let reply = Reply { ipv4_pool: Some(b"gone".to_vec()), ..Reply::default() };
        assert_eq!(authorization(&reply, Vec::new(), &names), Err(Unfit::Pool("gone".into())));
    }

    #[test]
    fn a_change_is_understood_whole_or_not_at_all() {
        let request = Reply { rate_up_bps: Some(5_000_000), session_timeout_s: Some(120), ..Reply::default() };
        let (given, interim) = change(&request).unwrap();
        assert_eq!(given.session_timeout, Some(Duration::from_secs(120)));
        assert_eq!((given.rate_up.unwrap().bits_per_second, given.rate_down, interim), (5_000_000, None, None));
        let more = Reply { ipv4_pool: Some(b"gold".to_vec()), ..request.clone() };
        assert_eq!(change(&more), None);
        assert_eq!(change(&Reply { burst_up_octets: Some(9), ..Reply::default() }), None);
    }
}
