//! Access-Accept into types.

use std::net::{IpAddr, Ipv4Addr};

use bng_radius::authorization::{FramedIp, Unusable};
use bng_radius::build::{AttributeList, encode_reply};
use bng_radius::dictionary::{
    VENDOR_BNGD, VENDOR_CISCO, VENDOR_ERX, VENDOR_MICROSOFT, VENDOR_MIKROTIK, VENDOR_WISPR, number,
};
use bng_radius::mapping::DEFAULT_RULES;
use bng_radius::{Authorization, Code, Packet, Secret};

fn read(list: &AttributeList) -> Result<Authorization, Unusable> {
    let octets = encode_reply(Code::ACCESS_ACCEPT, 1, &[0; 16], true, list, &Secret::new(b"s")).unwrap();
    Authorization::from_reply(&Packet::parse(&octets).unwrap(), DEFAULT_RULES)
}

fn of(number: u8, value: &[u8]) -> AttributeList {
    let mut list = AttributeList::new();
    list.push(number, value).unwrap();
    list
}

fn vendor(vendor: u32, number: u8, value: &[u8]) -> AttributeList {
    let mut list = AttributeList::new();
    list.push_vendor(vendor, number, value).unwrap();
    list
}

#[test]
fn p33_the_magic_addresses_are_no_addresses() {
    let ip = |bits: u32| read(&of(number::FRAMED_IP_ADDRESS, &bits.to_be_bytes())).map(|a| a.framed_ip);
    assert_eq!(ip(0xffff_fffe), Ok(Some(FramedIp::FromPool)));
    assert_eq!(ip(0xffff_ffff), Ok(Some(FramedIp::ClientChoice)));
    assert_eq!(ip(0xc633_6407), Ok(Some(FramedIp::Address(Ipv4Addr::new(198, 51, 100, 7)))));
    for never in [0, 1, 0x7f00_0001, 0xe000_0001, 0xffff_fffd] {
        assert!(ip(never).is_err(), "{never:x}");
    }
}

#[test]
fn p36_rates_keep_64_bits() {
    for rate in [1_000_u64, 4_294_967_295, 4_294_967_296, 5_000_000_000, 10_000_000_000] {
        let both = |a: Authorization| (a.rate_up_bps, a.rate_down_bps);
        let mut list = vendor(VENDOR_BNGD, number::BNGD_RATE_UP, &rate.to_be_bytes());
        list.push_vendor(VENDOR_BNGD, number::BNGD_RATE_DOWN, &(rate * 2).to_be_bytes()).unwrap();
        assert_eq!(both(read(&list).unwrap()), (Some(rate), Some(rate * 2)));
        let text = format!("{rate}/{}k 1M/1M 0/0", rate / 1000);
        let list = vendor(VENDOR_MIKROTIK, number::MIKROTIK_RATE_LIMIT, text.as_bytes());
        assert_eq!(both(read(&list).unwrap()), (Some(rate), Some(rate / 1000 * 1000)));
        let list = vendor(VENDOR_CISCO, number::CISCO_AVPAIR, format!("subscriber:rate-down={rate}").as_bytes());
        assert_eq!(both(read(&list).unwrap()), (None, Some(rate)));
        if let Ok(narrow) = u32::try_from(rate) {
            let list = vendor(VENDOR_WISPR, number::WISPR_BANDWIDTH_MAX_DOWN, &narrow.to_be_bytes());
            assert_eq!(both(read(&list).unwrap()), (None, Some(rate)));
        }
        let list = vendor(VENDOR_WISPR, number::WISPR_BANDWIDTH_MAX_UP, &rate.to_be_bytes());
        assert_eq!(both(read(&list).unwrap()), (Some(rate), None));
    }
    // Zero is the default, not "drop all".
    let list = vendor(VENDOR_BNGD, number::BNGD_RATE_UP, &0_u64.to_be_bytes());
    assert_eq!(read(&list).unwrap().rate_up_bps, None);
    for text in ["10G", "10G/10G"] {
        let list = vendor(VENDOR_MIKROTIK, number::MIKROTIK_RATE_LIMIT, text.as_bytes());
        assert_eq!(read(&list).unwrap().rate_down_bps, Some(10_000_000_000));
    }
    for text in ["", "x", "10M/", "/10M", "1/2/3", "-1", "99999999999999999999", "18446744073709551615k"] {
        let mut list = AttributeList::new();
        if list.push_vendor(VENDOR_MIKROTIK, number::MIKROTIK_RATE_LIMIT, text.as_bytes()).is_ok() {
            assert!(read(&list).is_err(), "{text}");
        }
    }
}

#[test]
fn the_upper_row_of_the_table_wins_in_any_order() {
    let own = (VENDOR_BNGD, number::BNGD_RATE_UP, 5_000_000_u64.to_be_bytes().to_vec());
    let wispr = (VENDOR_WISPR, number::WISPR_BANDWIDTH_MAX_UP, 1_000_u32.to_be_bytes().to_vec());
    for order in [[&own, &wispr], [&wispr, &own]] {
        let mut list = AttributeList::new();
        for (vendor, number, value) in order {
            list.push_vendor(*vendor, *number, value).unwrap();
        }
        assert_eq!(read(&list).unwrap().rate_up_bps, Some(5_000_000));
    }
}

#[test]
fn everything_that_is_taken_is_read() {
    let mut list = AttributeList::new();
    list.push(number::USER_NAME, b"user1-real@example.net").unwrap();
    list.push_integer(number::SERVICE_TYPE, 2).unwrap();
    list.push_integer(number::FRAMED_PROTOCOL, 1).unwrap();
    list.push(number::FRAMED_IP_NETMASK, &[255, 255, 255, 248]).unwrap();
    list.push(number::FRAMED_POOL, b"pool-a").unwrap();
    list.push(number::FRAMED_ROUTE, b"192.0.2.0/24 0.0.0.0 7").unwrap();
    list.push(number::FRAMED_ROUTE, b"198.51.100.9").unwrap();
    list.push(number::FRAMED_ROUTE, b"203.0.113.0 192.0.2.1").unwrap();
    list.push_ipv6_prefix(number::FRAMED_IPV6_PREFIX, "2001:db8:1::".parse().unwrap(), 64).unwrap();
    list.push_ipv6(number::FRAMED_IPV6_ADDRESS, "2001:db8::5".parse().unwrap()).unwrap();
    list.push(number::FRAMED_IPV6_POOL, b"p6").unwrap();
    list.push(number::STATEFUL_IPV6_ADDRESS_POOL, b"a6").unwrap();
    list.push_ipv6_prefix(number::DELEGATED_IPV6_PREFIX, "2001:db8:100::".parse().unwrap(), 56).unwrap();
    list.push(number::DELEGATED_IPV6_PREFIX_POOL, b"d6").unwrap();
    list.push(number::FRAMED_IPV6_ROUTE, b"2001:db8:2::/48 ::").unwrap();
    list.push(number::FRAMED_INTERFACE_ID, &[0, 0, 0, 0, 0, 0, 0, 9]).unwrap();
    list.push_vendor(VENDOR_MICROSOFT, number::MS_PRIMARY_DNS_SERVER, &[203, 0, 113, 53]).unwrap();
    list.push_vendor(VENDOR_MICROSOFT, number::MS_SECONDARY_DNS_SERVER, &[203, 0, 113, 54]).unwrap();
    list.push_ipv6(number::DNS_SERVER_IPV6_ADDRESS, "2001:db8::53".parse().unwrap()).unwrap();
    list.push_integer(number::SESSION_TIMEOUT, 3600).unwrap();
    list.push_integer(number::IDLE_TIMEOUT, 0).unwrap();
    list.push_integer(number::ACCT_INTERIM_INTERVAL, 600).unwrap();
    list.push(number::CLASS, &[0x41, 0, 0x42, 0xff]).unwrap();
    list.push(number::CLASS, &[7; 253]).unwrap();
    list.push(number::STATE, b"st").unwrap();
    list.push(number::REPLY_MESSAGE, b"hello ").unwrap();
    list.push(number::REPLY_MESSAGE, b"there").unwrap();
    list.push(number::FILTER_ID, b"gold").unwrap();
    list.push_vendor(VENDOR_CISCO, number::CISCO_AVPAIR, b"ip:sub-qos-policy-in=up10").unwrap();
    list.push_vendor(VENDOR_CISCO, number::CISCO_AVPAIR, b"something:else=1").unwrap();
    list.push_vendor(VENDOR_ERX, number::ERX_EGRESS_POLICY_NAME, b"down50").unwrap();
    list.push_vendor(4242, 1, b"unknown").unwrap();
    list.push(222, b"unknown").unwrap();
    let it = read(&list).unwrap();
    assert_eq!(it.user_name.as_deref(), Some(&b"user1-real@example.net"[..]));
    assert_eq!(it.framed_netmask, Some(29));
    assert_eq!(it.ipv4_pool.as_deref(), Some(&b"pool-a"[..]));
    let routes: Vec<_> = it.ipv4_routes.iter().map(|r| (r.prefix.to_string(), r.length, r.gateway, r.metric)).collect();
    let gateway = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    assert_eq!(
        routes,
        [
            ("192.0.2.0".into(), 24, None, 7),
            ("198.51.100.9".into(), 32, None, 0),
            ("203.0.113.0".into(), 24, Some(gateway), 0),
        ]
    );
    assert_eq!(it.ipv6_prefixes, [("2001:db8:1::".parse().unwrap(), 64)]);
    assert_eq!(it.ipv6_addresses, ["2001:db8::5".parse::<std::net::Ipv6Addr>().unwrap()]);
    assert_eq!((it.ipv6_pool, it.ipv6_address_pool), (Some(b"p6".to_vec()), Some(b"a6".to_vec())));
    assert_eq!(it.delegated_prefixes, [("2001:db8:100::".parse().unwrap(), 56)]);
    assert_eq!(it.delegated_pool, Some(b"d6".to_vec()));
    assert_eq!((it.ipv6_routes[0].length, it.ipv6_routes[0].gateway), (48, None));
    assert_eq!(it.interface_id, Some(9));
    assert_eq!(it.ipv4_dns, [Ipv4Addr::new(203, 0, 113, 53), Ipv4Addr::new(203, 0, 113, 54)]);
    assert_eq!(it.ipv6_dns.len(), 1);
    assert_eq!((it.session_timeout_s, it.idle_timeout_s, it.interim_interval_s), (Some(3600), None, Some(600)));
    assert_eq!(it.classes, [vec![0x41, 0, 0x42, 0xff], vec![7; 253]]);
    assert_eq!(it.state, Some(b"st".to_vec()));
    assert_eq!(it.reply_message, b"hello there");
    assert_eq!(it.filter_ids, [b"gold"]);
    assert_eq!((it.policy_up, it.policy_down), (Some(b"up10".to_vec()), Some(b"down50".to_vec())));
}

#[test]
fn values_that_cannot_be_refuse_the_whole() {
    for (number, value) in [
        (number::FRAMED_IP_NETMASK, &[255, 0, 255, 0][..]),
        (number::FRAMED_MTU, &[0, 1, 0, 0]),
        (number::FRAMED_ROUTE, b"192.0.2.0/33"),
        (number::FRAMED_ROUTE, b"nonsense"),
        (number::FRAMED_ROUTE, b" "),
        (number::FRAMED_IPV6_ROUTE, b"2001:db8::"),
        (number::FRAMED_IPV6_ROUTE, b"2001:db8::/129"),
        (number::FRAMED_INTERFACE_ID, &[0; 8]),
        (number::FRAMED_IPV6_PREFIX, &[0, 0]),
        (number::FRAMED_IPV6_ADDRESS, &[0; 16]),
    ] {
        assert!(read(&of(number, value)).is_err(), "{number} {value:?}");
    }
    for service in [1, 3, 99] {
        assert_eq!(read(&of(number::SERVICE_TYPE, &[0, 0, 0, service])), Err(Unusable::ServiceType(service.into())));
    }
}
