//! Copies of watched clients' frames.

use bng_dataplane::memory::MemoryFrame;
use bng_dataplane::{
    Pipeline, PipelineConfig, PuntClass, Reason, Stage, WATCH_IDLE_MS_MAX, WatchKey, WatchReader, WatchRoute,
    WatchStep, watches,
};
use bng_session::SessionIndex;
use bng_wire::{MacAddr, PortIndex};

use crate::bed::*;

/// A record without what every case has.
type Noted = (WatchStep, PortIndex, Option<Reason>, Vec<u8>);

fn bed() -> (Bed, WatchReader) {
    let mut bed = Bed::new();
    let (mut workers, mut readers) = watches(1);
    let tables = bed.pipeline.tables().clone();
    let counters = std::sync::Arc::clone(bed.pipeline.counters());
    let watch = workers.pop().expect("one worker");
    bed.pipeline = Pipeline::new(0, tables, counters, PipelineConfig::default()).with_watch(watch);
    (bed, readers.swap_remove(0))
}

fn session(bed: &Bed, index: SessionIndex) -> WatchKey {
    WatchKey::Session { index, generation: bed.sessions.generation(index) }
}

fn read(reader: &mut WatchReader) -> Vec<Noted> {
    let mut noted = Vec::new();
    reader.read(1000, |record| noted.push((record.step, record.port, record.reason, record.frame.to_vec())));
    noted
}

#[test]
fn a_watched_session_shows_what_came_and_what_went_both_ways() {
    let (mut bed, mut reader) = bed();
    // Nothing is noted before.
    bed.forward(ACCESS, &up(&ordinary()), CORE);
    assert!(read(&mut reader).is_empty());
    let keys = [session(&bed, bed.client)];
    reader.begin(&keys);
    let (up, down) = (up(&ordinary()), down(&answer()));
    let up_out = bed.forward(ACCESS, &up, CORE);
    let down_out = bed.forward(CORE, &down, ACCESS);
    // The other client is nobody's business.
    bed.forward(ACCESS, &pppoe(AC, CLIENT_2, untagged(), 2, 0x21, &ip4(IP_2, SERVER, 17, 64, &[0; 40])), CORE);
    let mut records = Vec::new();
    let count = reader.read(1000, |record| {
        assert_eq!((record.worker, record.now_ms, record.frame_octets as usize), (0, 1_000_000, record.frame.len()));
        records.push((record.number, record.step, record.port, record.source, record.route, record.target));
        assert_eq!(record.frame, [&up[..], &up_out, &down, &down_out][records.len() - 1]);
    });
    let (client, router) = (bed.client, bed.router.0);
    assert_eq!(count, 4);
    assert_eq!(
        records,
        [
            (1, WatchStep::Received, ACCESS, Some(client), WatchRoute::Neighbour, router),
            (1, WatchStep::Sent, CORE, Some(client), WatchRoute::Neighbour, router),
            (2, WatchStep::Received, CORE, None, WatchRoute::Session, client.0),
            (2, WatchStep::Sent, ACCESS, None, WatchRoute::Session, client.0),
        ]
    );
    // Between two clients: either one's watch sees it.
    bed.forward(ACCESS, &pppoe(AC, CLIENT_2, untagged(), 2, 0x21, &ip4(IP_2, IP, 17, 64, &[0; 40])), ACCESS);
    assert_eq!(read(&mut reader).len(), 2);
    reader.end();
    bed.forward(ACCESS, &up, CORE);
    assert!(read(&mut reader).is_empty() && reader.lost() == 0);
}

#[test]
fn drops_punts_answers_errors_and_pieces_are_noted_with_their_frame() {
    let (mut bed, mut reader) = bed();
    bed.change(|spec| spec.mtu = 600);
    bed.pipeline.tables().ports.router().set_ipv4(Some("198.51.100.1".parse().unwrap()));
    let keys = [session(&bed, bed.client)];
    reader.begin(&keys);
    let steps = |reader: &mut WatchReader| -> Vec<_> {
        read(reader).into_iter().map(|(step, port, reason, _)| (step, port, reason)).collect()
    };
    use WatchStep::{Dropped, Punted, Received, Sent};
    bed.drops(ACCESS, &up(&ip4(IP_2, SERVER, 17, 64, &[0; 8])), Reason::Ipv4Spoofed);
    let spoofed = Some(Reason::Ipv4Spoofed);
    assert_eq!(steps(&mut reader), [(Received, ACCESS, None), (Dropped, ACCESS, spoofed)]);
    bed.punts(ACCESS, &pppoe(AC, CLIENT, untagged(), 1, 0xc021, &[1, 1, 0, 4]), PuntClass::Session, Reason::PppControl);
    let control = Some(Reason::PppControl);
    assert_eq!(steps(&mut reader), [(Received, ACCESS, None), (Punted, ACCESS, control)]);
    // An error precedes the end of what it is about.
    bed.drops(ACCESS, &up(&ip4(IP, SERVER, 17, 1, &[0; 8])), Reason::Ipv4TtlExceeded);
    let exceeded = Some(Reason::Ipv4TtlExceeded);
    assert_eq!(steps(&mut reader), [(Received, ACCESS, None), (Sent, ACCESS, None), (Dropped, ACCESS, exceeded)]);
    let long = ip4(SERVER, IP, 17, 64, &[7; 1000]);
    bed.burst(CORE, [MemoryFrame::of(&down(&long))]);
    assert_eq!(steps(&mut reader), [(Received, CORE, None), (Sent, ACCESS, None), (Sent, ACCESS, None)]);
}

#[test]
fn a_mac_address_is_watched_with_and_without_a_session() {
    let (mut bed, mut reader) = bed();
    let stranger = MacAddr([2, 0, 0, 0, 0, 0x77]);
    reader.begin(&[WatchKey::Mac(stranger), WatchKey::Mac(CLIENT_2)]);
    let padi = ether(MacAddr::BROADCAST, stranger, untagged(), 0x8863, &[0x11, 9, 0, 0, 0, 4, 1, 1, 0, 0]);
    bed.punts(ACCESS, &padi, PuntClass::Discovery, Reason::Discovery);
    bed.pipeline.injected(ACCESS, &ether(stranger, AC, untagged(), 0x8863, &[0x11, 7]), bed.now_ms);
    bed.pipeline.injected(ACCESS, &ether(CLIENT, AC, untagged(), 0x8863, &[0x11, 7]), bed.now_ms);
    bed.forward(CORE, &down(&ip4(SERVER, IP_2, 17, 64, &[0; 40])), ACCESS);
    let steps: Vec<_> = read(&mut reader).into_iter().map(|(step, port, ..)| (step, port)).collect();
    use WatchStep::{Injected, Punted, Received, Sent};
    assert_eq!(steps, [(Received, ACCESS), (Punted, ACCESS), (Injected, ACCESS), (Received, CORE), (Sent, ACCESS)]);
}

#[test]
fn controls_frames_of_a_session_are_noted() {
    let (mut bed, mut reader) = bed();
    let keys = [session(&bed, bed.client)];
    reader.begin(&keys);
    let echo = pppoe(CLIENT, AC, untagged(), 1, 0xc021, &[9, 1, 0, 8, 0, 0, 0, 0]);
    bed.pipeline.injected(ACCESS, &echo, bed.now_ms);
    bed.pipeline.injected(ACCESS, &pppoe(CLIENT_2, AC, untagged(), 2, 0xc021, &[9, 1, 0, 8, 0, 0, 0, 0]), bed.now_ms);
    // Whatever control may send, the watch is not hurt by it.
    for octets in [&[][..], &[0; 13], &echo[..17]] {
        bed.pipeline.injected(ACCESS, octets, bed.now_ms);
    }
    assert_eq!(read(&mut reader), [(WatchStep::Injected, ACCESS, None, echo)]);
}

#[test]
fn the_next_session_in_the_same_place_is_another_one() {
    let (mut bed, mut reader) = bed();
    let keys = [session(&bed, bed.client)];
    reader.begin(&keys);
    assert!(bed.sessions.remove(bed.client));
    bed.sessions.poll(|_| ());
    let spec = bed.spec;
    assert_eq!(bed.sessions.insert(&spec), Ok(bed.client));
    bed.forward(ACCESS, &up(&ordinary()), CORE);
    assert!(read(&mut reader).is_empty());
}

#[test]
fn what_finds_no_room_is_lost_and_counted_and_nothing_waits() {
    let (mut bed, mut reader) = bed();
    let keys = [session(&bed, bed.client)];
    reader.begin(&keys);
    let packet = up(&ip4(IP, SERVER, 17, 64, &[7; 1400]));
    for _ in 0..300 {
        bed.forward(ACCESS, &packet, CORE);
    }
    let noted = reader.read(10_000, |_| ()) as u64;
    assert!(noted > 100 && noted + reader.lost() == 600, "{noted} {}", reader.lost());
    // A new watch begins with nothing lost, and nothing of the earlier one.
    bed.forward(ACCESS, &packet, CORE);
    reader.begin(&keys);
    assert_eq!((reader.lost(), read(&mut reader).len()), (0, 0));
    bed.forward(ACCESS, &packet, CORE);
    assert_eq!(read(&mut reader).len(), 2);
}

#[test]
fn a_watch_that_nobody_reads_ends() {
    let (mut bed, mut reader) = bed();
    let keys = [session(&bed, bed.client)];
    reader.begin(&keys);
    let frame = up(&ordinary());
    for _ in 0..3 {
        bed.forward(ACCESS, &frame, CORE);
        bed.now_ms += WATCH_IDLE_MS_MAX;
        assert!(!read(&mut reader).is_empty());
    }
    bed.forward(ACCESS, &frame, CORE);
    bed.now_ms += WATCH_IDLE_MS_MAX + 1;
    assert!(reader.is_active());
    bed.forward(ACCESS, &frame, CORE);
    assert!(!reader.is_active());
}

#[test]
fn two_watches_do_not_see_each_others() {
    let mut bed = Bed::new();
    let (mut workers, mut readers) = watches(1);
    let (tables, counters) = (bed.pipeline.tables().clone(), std::sync::Arc::clone(bed.pipeline.counters()));
    bed.pipeline =
        Pipeline::new(0, tables, counters, PipelineConfig::default()).with_watch(workers.pop().expect("one worker"));
    let keys = [session(&bed, bed.client), session(&bed, bed.client_2)];
    readers[0].begin(&keys[..1]);
    readers[3].begin(&keys);
    let second = pppoe(AC, CLIENT_2, untagged(), 2, 0x21, &ip4(IP_2, SERVER, 17, 64, &[0; 40]));
    bed.burst(ACCESS, [MemoryFrame::of(&up(&ordinary())), MemoryFrame::of(&second)]);
    assert_eq!((read(&mut readers[0]).len(), read(&mut readers[3]).len()), (2, 4));
    assert_eq!(read(&mut readers[1]).len(), 0);
}

#[test]
fn every_reason_has_its_stage_and_labels_are_unique() {
    let labels: std::collections::BTreeSet<_> = Stage::ALL.iter().map(|stage| stage.label()).collect();
    assert_eq!(labels.len(), Stage::ALL.len());
    assert!(Stage::ALL.is_sorted());
    assert_eq!(Stage::of(Reason::SessionMac), Stage::Session);
}
