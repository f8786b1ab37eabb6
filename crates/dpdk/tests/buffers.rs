//! Buffers, pools and ports of rings.

mod common;

use arrayvec::ArrayVec;
use bng_dpdk::{HEADROOM_OCTETS, Mbuf, Mempool, MempoolConfig, MempoolError, Port, PortError, RingPortConfig};

type Burst = ArrayVec<Mbuf, 32>;

#[test]
fn a_frame_grows_and_shrinks_within_its_buffer() {
    let pool = common::pool(&common::eal(), "grow");
    let mut mbuf = pool.alloc().unwrap();
    assert!(mbuf.is_empty());
    assert_eq!(mbuf.headroom(), usize::from(HEADROOM_OCTETS));
    assert_eq!(mbuf.tailroom(), 2048);
    assert!(mbuf.fill(b"abcdef"));
    assert_eq!(mbuf.bytes(), b"abcdef");

    assert!(mbuf.pull_front(2));
    assert_eq!(mbuf.bytes(), b"cdef");
    assert!(mbuf.push_front(3));
    mbuf.bytes_mut()[..3].copy_from_slice(b"xyz");
    assert_eq!(mbuf.bytes(), b"xyzcdef");
    assert_eq!((mbuf.len(), mbuf.total_len()), (7, 7));
    assert!(mbuf.set_len(4));
    assert_eq!(mbuf.bytes(), b"xyzc");
    assert_eq!((mbuf.stripped_tag(), mbuf.stripped_outer_tag()), (None, None));
}

#[test]
fn what_does_not_fit_changes_nothing() {
    let pool = common::pool(&common::eal(), "limits");
    let mut mbuf = pool.alloc().unwrap();
    assert!(mbuf.fill(b"abc"));
    for length in [129, 65_535, 65_536, usize::MAX] {
        assert!(!mbuf.push_front(length), "{length}");
    }
    for length in [4, 65_536, usize::MAX] {
        assert!(!mbuf.pull_front(length), "{length}");
    }
    for length in [2049, 65_535, 65_536, usize::MAX] {
        assert!(!mbuf.set_len(length), "{length}");
    }
    assert!(!mbuf.fill(&[0; 2049]));
    assert_eq!((mbuf.bytes(), mbuf.headroom()), (&b"abc"[..], 128));

    assert!(mbuf.push_front(128));
    assert_eq!(mbuf.headroom(), 0);
    assert!(mbuf.set_len(128 + 2048));
    assert_eq!(mbuf.tailroom(), 0);
    assert!(mbuf.pull_front(128 + 2048));
    assert!(mbuf.is_empty() && mbuf.set_len(0));
}

#[test]
fn segments_are_joined_where_they_fit() {
    let pool = common::pool(&common::eal(), "segments");
    let part = |bytes: &[u8]| {
        let mut mbuf = pool.alloc().unwrap();
        assert!(mbuf.fill(bytes));
        mbuf
    };
    let mut frame = part(b"head ");
    frame.chain(part(b"middle ")).unwrap();
    frame.chain(part(b"tail")).unwrap();
    assert_eq!((frame.segments(), frame.len(), frame.total_len()), (3, 5, 16));
    assert!(!frame.set_len(4), "the length of a frame in segments is not that of one of them");
    assert!(frame.linearise());
    assert_eq!((frame.segments(), frame.bytes()), (1, &b"head middle tail"[..]));
    assert!(frame.linearise(), "nothing to do is no failure");

    let mut long = part(&[1; 1500]);
    long.chain(part(&[2; 1500])).unwrap();
    assert!(!long.linearise());
    assert_eq!((long.segments(), long.total_len()), (2, 3000));

    let mut huge = part(&[0; 2000]);
    let mut refused = None;
    for _ in 0..40 {
        if let Err(tail) = huge.chain(part(&[0; 2000])) {
            refused = Some(tail);
            break;
        }
    }
    assert_eq!(refused.map(|tail| tail.len()), Some(2000), "beyond 65,535 octets the tail comes back");
    drop((frame, long, huge));
    assert_eq!(pool.in_use(), 0, "a chain goes home whole");
}

#[test]
fn a_pool_gives_all_it_has_and_gets_it_back() {
    let pool = common::pool(&common::eal(), "whole");
    let mut held = Vec::new();
    while let Some(mbuf) = pool.alloc() {
        held.push(mbuf);
    }
    assert_eq!(held.len(), 1023);
    assert_eq!((pool.available(), pool.in_use()), (0, 1023));
    let mut burst = Burst::new();
    assert_eq!(pool.alloc_bulk(&mut burst), 0);
    held.truncate(1000);
    assert_eq!(pool.alloc_bulk(&mut burst), 0, "all or nothing");
    held.clear();
    burst.push(pool.alloc().unwrap());
    assert_eq!(pool.alloc_bulk(&mut burst), 31);
    Mbuf::free_burst(&mut burst);
    assert!(burst.is_empty());
    Mbuf::free_burst(&mut burst);
    assert_eq!((pool.available(), pool.in_use()), (1023, 0));
}

#[test]
fn pools_say_why_they_cannot_be_made() {
    let eal = common::eal();
    let first = common::pool(&eal, "twice");
    let again = Mempool::new(&eal, &MempoolConfig { name: "twice".to_owned(), ..MempoolConfig::default() });
    assert!(matches!(again, Err(MempoolError::NameInUse { .. })), "{:?}", again.err());
    drop(first);
    drop(common::pool(&eal, "twice"));

    let vast = MempoolConfig { name: "vast".to_owned(), mbufs: (1 << 20) - 1, ..MempoolConfig::default() };
    let error = Mempool::new(&eal, &vast).err().unwrap();
    assert!(matches!(error, MempoolError::NotEnoughMemory { .. }), "{error}");
    assert!(error.to_string().contains("dpdk.memory_mb"), "{error}");

    for name in ["", "a name", "abcdefghijklmnopqrstuvwxyz", "nul\0"] {
        let bad = MempoolConfig { name: name.to_owned(), ..MempoolConfig::default() };
        assert!(matches!(Mempool::new(&eal, &bad), Err(MempoolError::BadName { .. })), "{name}");
    }
}

#[test]
fn frames_pass_through_a_port_of_rings_in_order() {
    let eal = common::eal();
    let pool = common::pool(&eal, "rings");
    let config = RingPortConfig { name: "two".to_owned(), rx_queues: 2, tx_queues: 2, ..RingPortConfig::default() };
    let (port, mut far) = Port::from_rings(&eal, &config, &pool).unwrap();
    let (mut rx, mut tx) = port.take_queues();
    assert_eq!((rx.len(), tx.len()), (2, 2));
    assert!(port.take_queues().0.is_empty(), "queues are given once");

    let mut burst = Burst::new();
    for number in 0..20u8 {
        let mut mbuf = pool.alloc().unwrap();
        assert!(mbuf.fill(&[number; 60]));
        burst.push(mbuf);
    }
    assert_eq!(far.feeds[1].feed(&mut burst), 20);
    assert_eq!(far.feeds[1].waiting(), 20);
    assert_eq!(rx[0].rx_burst(&mut burst), 0, "a queue gets what was fed into it");
    let mut few = ArrayVec::<Mbuf, 12>::new();
    assert_eq!(rx[1].rx_burst(&mut few), 12);
    assert_eq!(rx[1].rx_burst(&mut few), 0, "no room, no frames");
    assert_eq!(tx[0].tx_burst(&mut few), 12);
    assert_eq!(rx[1].rx_burst(&mut burst), 8);
    assert_eq!(tx[0].tx_burst(&mut burst), 8);

    assert_eq!((far.drains[0].waiting(), far.drains[1].waiting()), (20, 0));
    assert_eq!(far.drains[0].drain(&mut burst), 20);
    let order: Vec<u8> = burst.iter().map(|mbuf| mbuf.bytes()[0]).collect();
    assert_eq!(order, (0..20).collect::<Vec<u8>>());

    let stats = port.stats().unwrap();
    assert_eq!((stats.rx_packets, stats.tx_packets), (20, 20));
    assert!(port.link().unwrap().up);
    assert_eq!(port.frame_octets_max(), 1508 + 22);
    assert!(!port.hashes() && !port.hashes_inside_pppoe());
    drop((rx, tx));
    port.close().unwrap();
    drop(far);
    burst.clear();
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn what_a_full_ring_does_not_take_stays_with_the_sender_in_order() {
    let eal = common::eal();
    let pool = common::pool(&eal, "full");
    let config = RingPortConfig { name: "full".to_owned(), frames_max: 16, ..RingPortConfig::default() };
    let (port, mut far) = Port::from_rings(&eal, &config, &pool).unwrap();
    let (_, mut tx) = port.take_queues();
    let mut burst = Burst::new();
    assert_eq!(pool.alloc_bulk(&mut burst), 32);
    for (number, mbuf) in (0u8..).zip(&mut burst) {
        assert!(mbuf.fill(&[number; 60]));
    }
    assert_eq!(tx[0].tx_burst(&mut burst), 15, "a ring of 16 places holds 15");
    assert_eq!(burst.len(), 17);
    assert_eq!(burst.first().map(|mbuf| mbuf.bytes()[0]), Some(15));
    assert_eq!(tx[0].tx_burst(&mut burst), 0);
    let mut sent = Burst::new();
    assert_eq!(far.drains[0].drain(&mut sent), 15);
    assert_eq!(tx[0].tx_burst(&mut burst), 15);
    assert_eq!(burst.len(), 2);
}

#[test]
fn frames_left_in_rings_go_home_when_the_port_goes() {
    let eal = common::eal();
    let pool = common::pool(&eal, "left");
    let config = RingPortConfig { name: "left".to_owned(), ..RingPortConfig::default() };
    let (port, mut far) = Port::from_rings(&eal, &config, &pool).unwrap();
    let (_, mut tx) = port.take_queues();
    let mut burst = Burst::new();
    pool.alloc_bulk(&mut burst);
    far.feeds[0].feed(&mut burst);
    pool.alloc_bulk(&mut burst);
    tx[0].tx_burst(&mut burst);
    assert_eq!(pool.in_use(), 64);

    assert!(matches!(port.close(), Err(PortError::QueuesInUse { .. })));
    assert!(matches!(
        Port::from_rings(&eal, &config, &pool),
        Err(PortError::Refused { .. } | PortError::AlreadyOpen { .. })
    ));
    drop(tx);
    drop(far);
    assert_eq!(pool.in_use(), 0);
    let again = Port::from_rings(&eal, &config, &pool);
    assert!(again.is_ok(), "the name is free again: {:?}", again.err());
}

#[test]
fn a_port_refuses_what_it_cannot_do() {
    let eal = common::eal();
    let pool = common::pool(&eal, "refuse");
    let make = |config: RingPortConfig| Port::from_rings(&eal, &config, &pool).err().unwrap();
    for name in ["", "with space", "seventeen_letters"] {
        let error = make(RingPortConfig { name: name.to_owned(), ..RingPortConfig::default() });
        assert!(matches!(error, PortError::BadRingName { .. }), "{error}");
    }
    let error = make(RingPortConfig { name: "wide".to_owned(), mtu: 9000, ..RingPortConfig::default() });
    assert!(matches!(error, PortError::BuffersTooSmall { room: 2048, .. }), "{error}");
    let error = make(RingPortConfig { name: "odd".to_owned(), frames_max: 1000, ..RingPortConfig::default() });
    assert!(matches!(error, PortError::Refused { step: "make a ring", .. }), "{error}");
    assert_eq!(pool.in_use(), 0);
}
