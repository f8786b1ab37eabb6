//! The documentation page of the reasons, made from their declaration.

use core::fmt::{self, Write};

use crate::reason::{Reason, Source, Verdict};

const INTRODUCTION: &str = "# Why a frame was dropped or punted

This page is made from the declaration of the reasons in `crates/dataplane/src/reason.rs`. Change it there, then run
`cargo run -p bng-dataplane --example reasons > docs/drop-reasons.md`; a test compares the two.

The reason is the label of the counter in `/metrics` and the row in `bngctl show drops`. A frame that is neither
transmitted nor punted is dropped with exactly one of them.
";

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
    writeln!(page, "\n## {title}\n\n| reason | meaning | source |\n| --- | --- | --- |")?;
    for reason in Reason::ALL.iter().filter(|reason| reason.verdict() == verdict && reason.source() == source) {
        writeln!(page, "| `{}` | {} | {} |", reason.label(), reason.describe(), reason.reference())?;
    }
    Ok(())
}
