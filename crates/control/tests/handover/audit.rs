//! The three accounts compared: what the senders sent, what left the workers, what the control core says.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use bng_control::ControlCounters;
use bng_dataplane::Reason;
use bng_session::{SessionIndex, SessionTable};

use crate::journal::{Entries, Final};
use crate::ledger::{Delivered, FlowKind, FlowName, Track};
use crate::sender::Record;
use crate::worker::Worker;

pub struct Evidence<'a> {
    pub senders: &'a [Record],
    pub workers: &'a [Worker],
    pub journal: &'a Entries,
    pub table: &'a SessionTable,
    pub control: &'a ControlCounters,
    pub rounds: u64,
    pub lasted: Duration,
}

#[derive(Default)]
struct Left {
    flows: HashMap<FlowName, Track>,
    delivered: HashMap<(u16, u16), Vec<Delivered>>,
    faults: Vec<String>,
}

fn left(workers: &[Worker]) -> Left {
    let mut left = Left::default();
    for worker in workers {
        left.faults.extend(worker.outlet.ledger.faults.iter().cloned());
        for (name, track) in &worker.outlet.ledger.flows {
            if left.flows.insert(*name, *track).is_some() {
                left.faults.push(format!("{name:?} left through two workers"));
            }
        }
        for (session, delivered) in &worker.outlet.ledger.delivered {
            left.delivered.entry(*session).or_default().push(*delivered);
        }
    }
    left
}

pub fn audit(evidence: &Evidence<'_>) {
    let Left { flows, mut delivered, mut faults } = left(evidence.workers);
    let journal = evidence.journal;
    faults.extend(journal.faults.iter().cloned());
    let mut finals = journal.finals.clone();
    let mut up = 0u64;
    let mut owed_sum = 0u64;
    let mut handed_on = 0u64;
    let mut owners = HashMap::new();
    for account in evidence.senders.iter().flat_map(|sender| &sender.accounts) {
        let who = format!("client {}, its session {}, {:?}", account.client, account.serial, account.session);
        let Some(last) = finals.remove(&account.session) else {
            faults.push(format!("{who}: no final counters, or two sessions with one id"));
            continue;
        };
        let granted = journal.up.get(&account.session).copied();
        if account.address.is_some() {
            up += 1;
            if granted != account.address {
                faults.push(format!("{who}: has {:?}, was granted {granted:?}", account.address));
            }
        }
        if let Some(address) = granted {
            handed_on +=
                u64::from(owners.insert(address, account.client).is_some_and(|before| before != account.client));
        }
        for (flow, owed) in &account.owed {
            owed_sum += u64::from(*owed);
            let complete_to = flows.get(flow).map_or(0, |track| track.complete_to);
            if complete_to < *owed {
                faults.push(format!("{who}: {flow:?} is complete to {complete_to} of {owed}"));
            }
        }
        let mut seen = Final::default();
        for kind in [FlowKind::Up, FlowKind::UpBeside] {
            let name = FlowName { client: account.client, serial: account.serial, kind };
            let Some(track) = flows.get(&name) else { continue };
            seen.packets_up += track.packets;
            seen.octets_up += track.octets;
            if track.source != granted {
                faults.push(format!("{who}: left with source {:?}, was granted {granted:?}", track.source));
            }
        }
        for part in delivered.remove(&account.session).unwrap_or_default() {
            seen.packets_down += part.packets;
            seen.octets_down += part.octets;
            if part.mac != account.mac || Some(part.address) != granted {
                faults.push(format!("{who}: got {part:?}, was granted {granted:?}"));
            }
        }
        if seen != last {
            faults.push(format!("{who}: the final counters are {last:?}, what left is {seen:?}"));
        }
    }
    // Sessions that no client learned of: replaced before their PADS came.
    faults.extend(finals.iter().filter(|(_, last)| **last != Final::default()).map(|unknown| format!("{unknown:?}")));
    faults.extend(delivered.iter().map(|unknown| format!("delivered to nobody: {unknown:?}")));

    let sum = |of: fn(&Worker) -> u64| evidence.workers.iter().map(of).sum::<u64>();
    let received = sum(|worker| worker.received);
    let (ended, allocated) = (sum(|worker| worker.outlet.ended), sum(|worker| worker.outlet.allocated));
    let forwarded: u64 = flows.values().map(|track| track.packets).sum();
    let dropped = |reason: Reason| evidence.workers.iter().map(|w| w.outlet.dropped[reason as usize]).sum::<u64>();
    let generations: Vec<u64> = (0..evidence.table.capacity() as u32)
        .filter_map(|index| evidence.table.entry(SessionIndex(index)))
        .map(|entry| u64::from(entry.generation()))
        .collect();
    let entries_used = generations.iter().filter(|generation| **generation > 0).count() as u64;
    let sessions: u64 = generations.iter().sum();
    let setup_max = evidence.senders.iter().map(|sender| sender.setup_max).max().unwrap_or_default();
    println!(
        "{up} rounds and {} sessions given up early in {:.1} s: {received} frames, {forwarded} forwarded, {owed_sum} \
         of them owed; {sessions} sessions in {entries_used} entries, {handed_on} addresses handed on; slowest set-up \
         {setup_max:?}",
        journal.finals.len() as u64 - up,
        evidence.lasted.as_secs_f64(),
    );
    let reasons = Reason::ALL.iter().map(|reason| (reason.label(), dropped(*reason))).filter(|(_, count)| *count > 0);
    println!("dropped: {:?}", reasons.collect::<Vec<_>>());

    let total = faults.len();
    let first: BTreeSet<_> = faults.into_iter().take(20).collect();
    assert!(first.is_empty(), "{total} faults, among them: {first:#?}");
    assert_eq!(ended, received + allocated, "each frame ends once");
    assert_eq!(sum(|worker| worker.outlet.punt_full), 0, "a punt ring was full");
    assert_eq!(evidence.control.inject_full.get(), 0, "an inject ring was full");
    // The races were run, not only written down.
    assert!(up >= evidence.rounds, "{up} rounds");
    assert!(owed_sum > 20 * up, "hardly any frames were owed");
    assert!(entries_used * 10 <= sessions.max(1000), "{sessions} sessions in {entries_used} entries: hardly any reuse");
    assert!(handed_on * 2 > up || up < 1000, "hardly any address went from one client to another");
    assert!(dropped(Reason::Ipv4Spoofed) > 0, "no foreign source was tried");
}
