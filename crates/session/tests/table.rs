//! The table, its grace periods, its size, and the ids that key it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bng_session::ids::{IDS_PER_SPACE, IdSpaces, REUSE_AFTER, WINDOW_FACTOR, WINDOW_MIN};
use bng_session::{
    Entry, PoolMap4, PoolMap6, PoolMaps, SessionCounters, SessionIndex, SessionKey, SessionSpec, SessionTable,
    SessionWriter, TableConfig, TableFull, flags,
};
use bng_sync::{Placement, Qsbr};
use bng_wire::{MacAddr, PortIndex, SessionId, VlanStack, VlanTag};
use proptest::prelude::*;

const PORT: PortIndex = PortIndex(3);

fn table(sessions_max: usize, readers: usize) -> (Arc<Qsbr>, Arc<SessionTable>, SessionWriter) {
    let grace = Qsbr::new(readers);
    let config = TableConfig { sessions_max, workers: 2, placement: Placement::Ordinary };
    let (table, writer) = SessionTable::new(config, Arc::clone(&grace)).unwrap();
    (grace, table, writer)
}

fn vlan(vid: u16) -> VlanStack {
    VlanStack { outer: (vid != 0).then_some(VlanTag { tpid: 0x8100, tci: vid }), inner: None }
}

fn spec(vid: u16, id: u16) -> SessionSpec {
    SessionSpec {
        port: PORT,
        vlans: vlan(vid),
        peer_mac: MacAddr::from_u64(0x0200_0000_0000 | u64::from(vid) << 16 | u64::from(id)),
        local_mac: MacAddr([2, 0, 0, 0, 0, 0xfe]),
        session_id: SessionId(id),
        ..SessionSpec::default()
    }
}

#[test]
fn one_port_holds_more_sessions_than_a_session_id_can_count() {
    let (_, table, mut writer) = table(100_000, 1);
    let mut ids = IdSpaces::new();
    let now = Instant::now();
    let mut entered = Vec::new();
    for n in 0..100_000u32 {
        let vid = (n % 3) as u16 * 100;
        let id = ids.allocate(now, PORT, vid).unwrap();
        let spec = spec(vid, id.0);
        entered.push((vid, id, spec.peer_mac, writer.insert(&spec).unwrap()));
    }
    assert_eq!(writer.len(), 100_000);
    assert_eq!(writer.insert(&spec(7, 7)), Err(TableFull::Entries));
    for (vid, id, mac, index) in entered {
        assert_eq!(table.find(PORT, vid, id), Some(index));
        assert_eq!(table.entry(index).unwrap().key(), SessionKey::new(mac, vlan(vid)));
        assert_eq!(table.find(PortIndex(4), vid, id), None);
        assert_eq!(table.find(PORT, vid + 1, id), None);
    }
}

#[test]
fn a_whole_space_can_be_filled() {
    let (_, table, mut writer) = table(70_000, 1);
    for id in 1..=65_534 {
        writer.insert(&spec(0, id)).unwrap();
    }
    assert_eq!(writer.insert(&spec(0, 65_534)), Err(TableFull::Index));
    for (vid, id) in [(0, 0), (0, 0xffff)] {
        assert_eq!(writer.insert(&spec(vid, id)), Err(TableFull::OutOfRange));
    }
    assert_eq!(writer.insert(&SessionSpec { port: PortIndex(32), ..spec(0, 1) }), Err(TableFull::OutOfRange));
    assert_eq!(writer.len(), 65_534);
    assert_eq!((table.find(PORT, 0, SessionId(0)), table.find(PORT, 0, SessionId(0xffff))), (None, None));
    assert_eq!(writer.pages_busy(), 256);
    // A refused insertion has taken no entry.
    for id in 1..=(70_000u32 - 65_534) as u16 {
        writer.insert(&spec(1, id)).unwrap();
    }
    assert_eq!(writer.insert(&spec(2, 1)), Err(TableFull::Entries));
}

#[test]
fn memory_of_a_session_is_what_it_was_planned_to_be() {
    assert_eq!((size_of::<Entry>(), align_of::<Entry>()), (128, 64));
    assert_eq!((size_of::<SessionCounters>(), align_of::<SessionCounters>()), (64, 64));
    // Index cells: 4 octets a session where ids lie close, which they do within a window.
    let (_, _, mut writer) = table(10_000, 1);
    let mut ids = IdSpaces::new();
    let now = Instant::now();
    for _ in 0..10_000 {
        let id = ids.allocate(now, PORT, 0).unwrap();
        writer.insert(&spec(0, id.0)).unwrap();
    }
    assert_eq!(writer.pages_busy(), 40); // of 1 KiB: 4.1 octets a session
}

#[test]
fn nothing_is_used_again_before_every_reader_has_passed() {
    let (grace, table, mut writer) = table(1, 2);
    let (mut worker, sleeper) = (grace.reader(0).unwrap(), grace.reader(1).unwrap());
    worker.online();
    let index = writer.insert(&spec(5, 9)).unwrap();
    let first = writer.generation(index);
    assert!(writer.remove(index) && !writer.remove(index));
    assert_eq!(table.find(PORT, 5, SessionId(9)), None);
    assert_eq!(table.entry(index).unwrap().up_flags(), 0);
    // The worker is still within its burst, and counts.
    table.counters(1, index).unwrap().up_packets.add(7);
    table.counters(0, index).unwrap().up_octets.add(700);
    writer.poll(|_| panic!("too early"));
    assert_eq!(writer.insert(&spec(5, 10)), Err(TableFull::Entries));
    assert!(!writer.update(index, &spec(5, 9)));
    assert_eq!(writer.waiting(), 2); // the entry, and the page that is empty now
    worker.quiescent();
    let mut gone = Vec::new();
    writer.poll(|removed| gone.push(removed));
    assert_eq!(gone.len(), 1);
    assert_eq!((gone[0].index, gone[0].generation), (index, first));
    assert_eq!((gone[0].counters.up_packets, gone[0].counters.up_octets), (7, 700));
    assert_eq!((writer.waiting(), writer.pages_busy()), (0, 0));
    let again = writer.insert(&spec(5, 10)).unwrap();
    assert_eq!(again, index);
    assert_ne!(writer.generation(again), first);
    assert_eq!(table.totals(again), Default::default());
    drop(sleeper);
}

#[test]
fn an_update_changes_what_may_change_and_nothing_else() {
    let (_, table, mut writer) = table(4, 1);
    let mut spec = SessionSpec { mtu: 1400, ..spec(5, 9) };
    let index = writer.insert(&spec).unwrap();
    let entry = table.entry(index).unwrap();
    assert_eq!(entry.up_flags(), flags::LIVE | flags::MSS_CLAMP | flags::SOURCE_CHECK);
    assert_eq!((entry.ipv4(), entry.mtu_up(), entry.mtu_down()), (0, 1400, 1400));
    assert!(!entry.owns_ipv6(0) && !entry.owns_ipv6(u128::MAX));
    spec.ipv4 = Some("192.0.2.10".parse().unwrap());
    spec.ipv6_prefix = Some(("2001:db8:1:2::".parse().unwrap(), 64));
    spec.delegated_prefix = Some(("2001:db8:ff00::".parse().unwrap(), 56));
    (spec.ipv4_up, spec.ipv6_up, spec.trace, spec.mtu) = (true, true, true, 60);
    assert!(writer.update(index, &spec));
    let up = flags::LIVE | flags::MSS_CLAMP | flags::SOURCE_CHECK | flags::IPV4_UP | flags::IPV6_UP | flags::TRACE;
    assert_eq!((entry.up_flags(), entry.down_flags()), (up, up));
    assert_eq!((entry.ipv4(), entry.ipv4_down()), (0xc000_020a, 0xc000_020a));
    assert_eq!(entry.mtu_down(), 68, "never below what IPv4 needs");
    let owns = |text: &str| entry.owns_ipv6(text.parse::<std::net::Ipv6Addr>().unwrap().to_bits());
    assert!(owns("2001:db8:1:2::1") && owns("2001:db8:1:2:ffff:ffff:ffff:ffff"));
    assert!(owns("2001:db8:ff00::1") && owns("2001:db8:ff00:ff::1"));
    assert!(!owns("2001:db8:1:3::1") && !owns("2001:db8:ff00:100::1") && !owns("fe80::1"));
    // A /128, and a delegated prefix too long for the entry.
    spec.ipv6_prefix = Some(("2001:db8:1:2::7".parse().unwrap(), 128));
    spec.delegated_prefix = Some(("2001:db8:ff00::".parse().unwrap(), 80));
    assert!(writer.update(index, &spec));
    assert!(owns("2001:db8:1:2::7") && !owns("2001:db8:1:2::8") && !owns("2001:db8:ff00::1"));
    for other in [
        SessionSpec { peer_mac: MacAddr([2; 6]), ..spec },
        SessionSpec { session_id: SessionId(10), ..spec },
        SessionSpec { vlans: vlan(6), ..spec },
        SessionSpec { port: PortIndex(0), ..spec },
    ] {
        assert!(!writer.update(index, &other));
    }
}

#[test]
fn the_prebuilt_header_is_what_the_client_expects() {
    let (_, table, mut writer) = table(8, 1);
    let tag = |tpid, tci| Some(VlanTag { tpid, tci });
    for (n, (vlans, tags)) in [
        (VlanStack::default(), &[][..]),
        (VlanStack { outer: tag(0x8100, 0xa000), inner: None }, &[]),
        (VlanStack { outer: tag(0x8100, 0xa064), inner: None }, &[0x81, 0, 0, 100]),
        (VlanStack { outer: tag(0x88a8, 100), inner: tag(0x8100, 0x60c8) }, &[0x88, 0xa8, 0, 100, 0x81, 0, 0, 200]),
    ]
    .into_iter()
    .enumerate()
    {
        let id = 0x0102 + n as u16;
        let spec = SessionSpec { vlans, peer_mac: MacAddr([2, 0, 0, 0, 0, 1]), ..spec(0, id) };
        let header = table.entry(writer.insert(&spec).unwrap()).unwrap().header();
        let mut expected = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0xfe];
        expected.extend_from_slice(tags);
        expected.extend([0x88, 0x64, 0x11, 0, 1, id as u8, 0, 0, 0, 0x21]);
        assert_eq!(header.bytes[..usize::from(header.len)], expected);
        assert_eq!(header.length_offset(), expected.len() - 4);
        assert_eq!(header.l2_len(), expected.len() - 8);
    }
}

#[test]
fn a_pool_map_leads_from_each_address_to_its_session() {
    let maps = PoolMaps::new();
    let map = PoolMap4::new("192.0.2.2".parse().unwrap(), 253, Placement::Ordinary).unwrap();
    let number = maps.add4(map).unwrap();
    let map = maps.v4(number).unwrap();
    let address = |last: u8| std::net::Ipv4Addr::new(192, 0, 2, last);
    assert!(map.set(address(2), Some(SessionIndex(0))) && map.set(address(254), Some(SessionIndex(9))));
    assert!(!map.set(address(1), Some(SessionIndex(1))) && !map.set(address(255), Some(SessionIndex(1))));
    assert_eq!(map.get(address(2).to_bits()), Some(SessionIndex(0)));
    assert_eq!(map.get(address(254).to_bits()), Some(SessionIndex(9)));
    for none in [0, u32::MAX, address(1).to_bits(), address(3).to_bits(), address(255).to_bits()] {
        assert_eq!(map.get(none), None);
    }
    assert!(map.set(address(2), None) && map.get(address(2).to_bits()).is_none());
    assert!(map.contains(address(254)) && !map.contains(address(255)));

    let base = "2001:db8:8000::".parse().unwrap();
    let number = maps.add6(PoolMap6::new(base, 40, 56, Placement::Ordinary).unwrap()).unwrap();
    let map = maps.v6(number).unwrap();
    let inside: std::net::Ipv6Addr = "2001:db8:80ff:ff00::".parse().unwrap();
    assert!(map.set(inside, Some(SessionIndex(5))));
    assert_eq!(map.get(inside.to_bits() | 0xff << 64 | 1), Some(SessionIndex(5)));
    assert_eq!(map.get(inside.to_bits() - (1 << 72)), None);
    assert!(!map.set("2001:db8:8100::".parse().unwrap(), None));
    assert!(!map.contains("2001:db8:7fff::".parse().unwrap()));
    assert!(maps.v4(7).is_none() && maps.v6(999).is_none());

    assert!(PoolMap4::new("255.255.255.255".parse().unwrap(), 2, Placement::Ordinary).is_err());
    assert!(PoolMap4::new("192.0.2.0".parse().unwrap(), 0, Placement::Ordinary).is_err());
    assert!(PoolMap4::new("10.0.0.0".parse().unwrap(), (1 << 24) + 1, Placement::Ordinary).is_err());
    for (base, pool, unit) in [("2001:db8::", 32, 64), ("2001:db8::1", 40, 56), ("2001:db8::", 56, 40), ("::", 0, 0)] {
        assert!(PoolMap6::new(base.parse().unwrap(), pool, unit, Placement::Ordinary).is_err());
    }
}

#[test]
fn an_id_rests_for_a_minute_and_comes_from_a_wide_window() {
    let mut ids = IdSpaces::new();
    let start = Instant::now();
    // One session comes and goes for an hour, ten times a second: no id returns within its rest.
    let mut released: HashMap<SessionId, Instant> = HashMap::new();
    for step in 0..36_000u32 {
        let now = start + Duration::from_millis(100) * step;
        let id = ids.allocate(now, PORT, 0).unwrap();
        assert!(id.is_usable() && u32::from(id.0) <= WINDOW_MIN);
        if let Some(since) = released.insert(id, now) {
            assert!(now - since >= REUSE_AFTER);
        }
        assert!(ids.release(now, PORT, 0, id) && !ids.release(now, PORT, 0, id));
    }
    assert_eq!(ids.live(PORT, 0), 0);
}

#[test]
fn a_space_gives_out_every_id_and_then_none_until_one_has_rested() {
    let mut ids = IdSpaces::new();
    let now = Instant::now();
    let mut seen = vec![false; 65_536];
    for _ in 0..IDS_PER_SPACE {
        let id = ids.allocate(now, PORT, 0).unwrap();
        assert!(id.is_usable() && !std::mem::replace(&mut seen[usize::from(id.0)], true));
    }
    assert_eq!(ids.allocate(now, PORT, 0), None);
    // Another space has its own.
    assert!(ids.allocate(now, PORT, 1).is_some());
    assert!(ids.release(now, PORT, 0, SessionId(77)));
    assert_eq!(ids.allocate(now + REUSE_AFTER - Duration::from_millis(1), PORT, 0), None);
    assert_eq!(ids.allocate(now + REUSE_AFTER, PORT, 0), Some(SessionId(77)));
    assert!(!ids.release(now, PORT, 9, SessionId(1)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ids_are_never_live_twice_nor_reused_early(steps in proptest::collection::vec((any::<bool>(), any::<prop::sample::Index>(), 0u64..20_000), 1..2000)) {
        let mut ids = IdSpaces::new();
        let mut now = Instant::now();
        let mut live: Vec<SessionId> = Vec::new();
        let mut rested: HashMap<SessionId, Instant> = HashMap::new();
        for (allocate, which, pause_ms) in steps {
            now += Duration::from_millis(pause_ms);
            if allocate || live.is_empty() {
                let id = ids.allocate(now, PORT, 0).unwrap();
                prop_assert!(!live.contains(&id));
                if let Some(since) = rested.remove(&id) { prop_assert!(now - since >= REUSE_AFTER); }
                live.push(id);
                let window = (live.len() as u32 * WINDOW_FACTOR).max(WINDOW_MIN);
                prop_assert!(u32::from(id.0) <= window.max(2000));
            } else {
                let id = live.swap_remove(which.index(live.len()));
                prop_assert!(ids.release(now, PORT, 0, id));
                rested.insert(id, now);
            }
            prop_assert_eq!(ids.live(PORT, 0) as usize, live.len());
        }
    }

    #[test]
    fn the_table_equals_a_map(steps in proptest::collection::vec((0u16..3, 1u16..600, any::<bool>()), 1..400)) {
        let (_, table, mut writer) = table(256, 1);
        let mut map: HashMap<(u16, u16), SessionIndex> = HashMap::new();
        for (vid, id, insert) in steps {
            let key = (vid, id);
            if insert {
                match writer.insert(&spec(vid, id)) {
                    Ok(index) => { prop_assert!(map.insert(key, index).is_none()); }
                    Err(TableFull::Index) => prop_assert!(map.contains_key(&key)),
                    Err(error) => prop_assert!(error == TableFull::Entries && map.len() == 256),
                }
            } else if let Some(index) = map.remove(&key) {
                prop_assert!(writer.remove(index));
                // No reader is online: the grace period is over at once.
                let mut gone = 0;
                writer.poll(|_| gone += 1);
                prop_assert_eq!(gone, 1);
            }
            prop_assert_eq!(writer.len(), map.len());
        }
        for vid in 0..3 {
            for id in 1..600 {
                prop_assert_eq!(table.find(PORT, vid, SessionId(id)), map.get(&(vid, id)).copied());
            }
        }
        let pages: std::collections::HashSet<_> = map.keys().map(|(vid, id)| (*vid, id >> 8)).collect();
        prop_assert_eq!(writer.pages_busy(), pages.len());
    }
}
