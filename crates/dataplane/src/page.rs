//! The documentation page of the reasons, made from their declaration.

use core::fmt::{self, Write};

use crate::reason::{Reason, Source, Verdict};

const INTRODUCTION: &str = "# Why a frame was dropped or punted

This page is made from the declaration of the reasons in `crates/dataplane/src/reason.rs`. Change it there, then run
`cargo run -p bng-dataplane --example reasons > docs/drop-reasons.md`; a test compares the two.

The reason is the label of the counter in `/metrics` and the row in `bngctl show drops`. A frame that is neither
transmitted nor punted is dropped with exactly one of them.

Each has a case that provokes it: for those of the data plane a golden case of the reason's name in
`crates/dataplane/tests/golden/cases` (the frames as pcap files, the box in `config.json`), for those of the worker the
test named.
";

/// Tests of the worker's crate, in its folder `tests/worker`: reason, file, test.
pub const WORKER_CASES: &[(Reason, &str, &str)] = &[
    (Reason::TxFull, "drops.rs", "a_full_transmit_queue_costs_the_frames_beyond_it_only"),
    (Reason::SteerFull, "sharing.rs", "a_full_ring_to_a_worker_drops_and_never_overtakes"),
    (Reason::PuntFull, "control.rs", "a_full_ring_to_control_is_a_drop_of_its_class_only"),
    (Reason::NotLinear, "drops.rs", "segments_are_joined_where_they_fit_and_dropped_where_not"),
    (Reason::NoBuffer, "control.rs", "without_a_buffer_an_injected_frame_is_dropped_with_a_reason"),
];

/// The page, in Markdown.
#[must_use]
pub fn reasons_page() -> String {
    let mut page = String::from(INTRODUCTION);
    let sections = [
        ("Dropped by the data plane", Verdict::Drop, Source::Pipeline),
        ("Dropped by a worker for want of room", Verdict::Drop, Source::Worker),
        ("Punted: handed to the control core, not dropped", Verdict::Punt, Source::Pipeline),
    ];
    for (title, verdict, source) in sections {
        // Writing to a string does not fail.
        let _ = section(&mut page, title, verdict, source);
    }
    page
}

fn section(page: &mut String, title: &str, verdict: Verdict, source: Source) -> fmt::Result {
    writeln!(page, "\n## {title}\n\n| reason | meaning | source | case |\n| --- | --- | --- | --- |")?;
    for reason in Reason::ALL.iter().filter(|reason| reason.verdict() == verdict && reason.source() == source) {
        let case = case(*reason);
        writeln!(page, "| `{}` | {} | {} | {case} |", reason.label(), reason.describe(), reason.reference())?;
    }
    Ok(())
}

/// Where the case that provokes the reason is.
fn case(reason: Reason) -> String {
    match WORKER_CASES.iter().find(|(other, ..)| *other == reason) {
        Some((_, file, test)) => format!("`crates/worker/tests/worker/{file}`: `{test}`"),
        None => format!("[{0}](../crates/dataplane/tests/golden/cases/{0}/config.json)", reason.label()),
    }
}
