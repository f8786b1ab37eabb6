//! Readers that look sessions up while the writer enters and removes them never see one session's place with another
//! session's contents, and no packet they count is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use bng_session::{SessionKey, SessionSpec, SessionTable, TableConfig, flags};
use bng_sync::{Placement, Qsbr};
use bng_wire::{MacAddr, PortIndex, SessionId, VlanStack};

const PORT: PortIndex = PortIndex(1);
const READERS: usize = 2;
const ROUNDS: u32 = 3_000;
/// Ids in use: few, so that places are taken again and again.
const IDS: u32 = 37;

fn spec(id: u16) -> SessionSpec {
    SessionSpec {
        port: PORT,
        peer_mac: MacAddr([2, 0, 0, 0, (id >> 8) as u8, id as u8]),
        session_id: SessionId(id),
        ipv4: Some(std::net::Ipv4Addr::from_bits(0x6440_0000 | u32::from(id))),
        ipv4_up: true,
        ..SessionSpec::default()
    }
}

#[test]
fn no_reader_meets_another_sessions_contents() {
    let grace = Qsbr::new(READERS);
    let config = TableConfig { sessions_max: 16, workers: READERS, placement: Placement::Ordinary };
    let (table, mut writer) = SessionTable::new(config, Arc::clone(&grace)).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let counted = Arc::new(AtomicU64::new(0));
    let readers: Vec<_> = (0..READERS)
        .map(|worker| {
            let (table, stop, counted) = (Arc::clone(&table), Arc::clone(&stop), Arc::clone(&counted));
            let mut reader = grace.reader(worker).unwrap();
            thread::spawn(move || {
                reader.online();
                let mut hits = 0u64;
                let mut id = worker as u32;
                while !stop.load(Ordering::Relaxed) {
                    for _ in 0..32 {
                        id = (id + 1) % IDS;
                        let session = SessionId(id as u16 + 1);
                        let Some(index) = table.find(PORT, 0, session) else { continue };
                        let entry = table.entry(index).unwrap();
                        // Open or just closed, it is this session until we pass a quiescent point.
                        let expected = spec(session.0);
                        assert_eq!(entry.key(), SessionKey::new(expected.peer_mac, VlanStack::default()));
                        assert_eq!(entry.header().bytes[16..18], session.0.to_be_bytes());
                        if entry.up_flags() & flags::IPV4_UP != 0 {
                            assert_eq!(entry.ipv4(), expected.ipv4.unwrap().to_bits());
                            table.counters(worker, index).unwrap().up_packets.add(1);
                            hits += 1;
                        }
                    }
                    reader.quiescent();
                }
                reader.offline();
                counted.fetch_add(hits, Ordering::Relaxed);
            })
        })
        .collect();
    let mut live = Vec::new();
    let mut reported = 0u64;
    let mut next = 0u32;
    let mut rounds = 0;
    // On a busy machine the readers may come late: without them there is no race.
    while rounds < ROUNDS || reported == 0 {
        rounds += 1;
        writer.poll(|removed| reported += removed.counters.up_packets);
        if live.len() < 12 {
            next = (next * 5 + 3) % IDS;
            if let Ok(index) = writer.insert(&spec(next as u16 + 1)) {
                live.push(index);
            }
        }
        if live.len() > 8 {
            assert!(writer.remove(live.remove(0)));
        }
        if next.is_multiple_of(7) {
            thread::yield_now();
        }
    }
    live.into_iter().for_each(|index| assert!(writer.remove(index)));
    stop.store(true, Ordering::Relaxed);
    readers.into_iter().for_each(|reader| reader.join().unwrap());
    writer.poll(|removed| reported += removed.counters.up_packets);
    assert_eq!((writer.waiting(), writer.len()), (0, 0));
    assert_eq!(reported, counted.load(Ordering::Relaxed), "each packet counted is in some session's final counters");
    assert!(reported > 0);
}
