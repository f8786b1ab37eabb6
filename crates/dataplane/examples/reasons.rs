//! Prints the documentation page of the reasons:
//! `cargo run -p bng-dataplane --example reasons > docs/drop-reasons.md`.

use bng_dataplane::{Reason, Source, Verdict};

fn rows(verdict: Verdict, source: Source) {
    println!("| reason | meaning | source |\n| --- | --- | --- |");
    for reason in Reason::ALL.iter().filter(|reason| reason.verdict() == verdict && reason.source() == source) {
        println!("| `{}` | {} | {} |", reason.label(), reason.describe(), reason.reference());
    }
    println!();
}

fn main() {
    println!("# Why a frame was dropped or punted\n");
    println!(
        "This page is made from the declaration of the reasons in `crates/dataplane/src/reason.rs`; change it there.\n\
         The reason is the label of the counter in `/metrics`, the word in a packet trace and the row in\n\
         `bngctl show drops`. A frame that is neither transmitted nor punted is dropped with exactly one of them.\n"
    );
    println!("## Dropped by the data plane\n");
    rows(Verdict::Drop, Source::Pipeline);
    println!("## Dropped by a worker for want of room\n");
    rows(Verdict::Drop, Source::Worker);
    println!("## Punted: handed to the control core, not dropped\n");
    rows(Verdict::Punt, Source::Pipeline);
}
