//! `bngctl trace` and `bngctl capture`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;

use super::{Failure, FilterArgs, Terminal};
use crate::cli::show;
use crate::{Client, ClientError, SessionFilter, WatchReading, WatchView, WatchedFrame};

/// How often what was seen is fetched. What comes meanwhile must fit into the workers' rings.
const READ_INTERVAL: Duration = Duration::from_millis(50);
/// Octets of a frame that are copied at most.
const SNAP_OCTETS: u32 = 2048;

#[derive(Debug, Args)]
pub(super) struct TraceArgs {
    /// The session's id, as `show sessions` lists it: PORT.OUTER_VLAN.SESSION_ID.
    id: Option<String>,
    #[command(flatten)]
    filter: FilterArgs,
    /// End after so many frames.
    #[arg(long, env = "BNGCTL_COUNT", value_name = "N", default_value_t = 20)]
    count: u64,
    /// End after so many seconds.
    #[arg(long, env = "BNGCTL_SECONDS", value_name = "N", default_value_t = 60)]
    seconds: u64,
}

#[derive(Debug, Args)]
pub(super) struct CaptureArgs {
    /// The session's id, as `show sessions` lists it: PORT.OUTER_VLAN.SESSION_ID.
    id: Option<String>,
    #[command(flatten)]
    filter: FilterArgs,
    /// The pcap file; one that is there is overwritten. `-` is standard output.
    #[arg(short, long = "write", env = "BNGCTL_WRITE", value_name = "FILE")]
    write: PathBuf,
    /// End after so many frames.
    #[arg(long, env = "BNGCTL_COUNT", value_name = "N", default_value_t = 100_000)]
    count: u64,
    /// End after so many seconds.
    #[arg(long, env = "BNGCTL_SECONDS", value_name = "N", default_value_t = 60)]
    seconds: u64,
}

/// A watch that is ended whatever happens.
struct Watch<'a> {
    client: &'a Client,
    view: WatchView,
    until: Instant,
    interrupted: Arc<AtomicBool>,
}

impl<'a> Watch<'a> {
    fn begin(
        client: &'a Client,
        id: Option<String>,
        filter: FilterArgs,
        seconds: u64,
        interrupted: Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        let filter = SessionFilter { id, ..filter.filter() };
        if filter.is_empty() {
            return Err(Failure::Refused("name a session, or a filter such as --user or --mac".into()));
        }
        let until = Instant::now() + Duration::from_secs(seconds.min(86_400));
        Ok(Self { client, view: client.watch(&filter)?, until, interrupted })
    }

    /// What was seen since the last call; `None` once the time is over.
    fn next(&self) -> Result<Option<WatchReading>, ClientError> {
        // The last reading is after the end, so that nothing that was seen is left behind.
        let over = Instant::now() >= self.until || self.interrupted.load(Ordering::Relaxed);
        if over {
            return Ok(None);
        }
        std::thread::sleep(READ_INTERVAL);
        self.client.watch_read(&self.view.id).map(Some)
    }

    /// Ends it; what was seen to the last.
    fn end(&self) -> Result<WatchReading, ClientError> {
        self.client.watch_end(&self.view.id)
    }
}

/// Ctrl-C ends the watch and not the program, so that it can say what was lost.
fn interrupted() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let raise = Arc::clone(&flag);
    // Without the thread Ctrl-C ends the program at once, and the watch a little later by itself.
    let _ = std::thread::Builder::new().name("interrupt".into()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        if let Ok(runtime) = runtime
            && runtime.block_on(tokio::signal::ctrl_c()).is_ok()
        {
            raise.store(true, Ordering::Relaxed);
        }
    });
    flag
}

/// Takes readings until enough is seen, the time is over or the watch has ended; how many copies were lost.
fn follow(
    watch: &Watch<'_>,
    mut take: impl FnMut(WatchedFrame) -> Result<bool, Failure>,
    mut settle: impl FnMut() -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let mut enough = false;
    while !enough && let Some(reading) = watch.next()? {
        for frame in reading.frames {
            enough = enough || !take(frame)?;
        }
        settle()?;
        enough = enough || !reading.active;
    }
    let last = watch.end()?;
    for frame in last.frames {
        enough = enough || !take(frame)?;
    }
    settle()?;
    Ok(last.lost)
}

pub(super) fn trace(client: &Client, args: TraceArgs, json: bool, terminal: &mut Terminal<'_>) -> Result<(), Failure> {
    let watch = Watch::begin(client, args.id, args.filter, args.seconds, interrupted())?;
    let mut seen = 0u64;
    let out = &mut *terminal.out;
    let lost = follow(
        &watch,
        |frame| {
            if seen < args.count {
                seen += 1;
                if json {
                    let line = serde_json::to_string(&frame).map_err(|error| ClientError::Broken(error.to_string()))?;
                    writeln!(out, "{line}")?;
                } else {
                    out.write_all(text(&frame).as_bytes())?;
                }
            }
            Ok(seen < args.count)
        },
        || Ok(()),
    )?;
    terminal.out.flush()?;
    say_end(terminal, seen, lost);
    Ok(())
}

fn say_end(terminal: &mut Terminal<'_>, seen: u64, lost: u64) {
    let lost = if lost == 0 { "none lost".to_owned() } else { format!("{} lost", show::count(lost, "record")) };
    let _ = writeln!(terminal.err, "{}, {lost}", show::count(seen, "frame"));
}

/// A frame's way through the box.
fn text(frame: &WatchedFrame) -> String {
    let seconds = frame.time_unix_ms / 1000 % 86_400;
    let mut text = format!(
        "{:02}:{:02}:{:02}.{:03} UTC  {} octets {} {} (worker {}, number {})\n",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        frame.time_unix_ms % 1000,
        frame.octets,
        if frame.verdict == "injected" { "of control, sent on" } else { "received on" },
        frame.port,
        frame.worker,
        frame.number,
    );
    for stage in &frame.stages {
        text.push_str(&format!("  {:<9} {}\n", stage.stage, stage.what));
    }
    for sent in &frame.sent {
        text.push_str(&format!("  {:<9} {} octets on {}\n", "sent", sent.octets, sent.port));
    }
    match &frame.reason {
        Some(reason) => text.push_str(&format!("  {:<9} {reason}\n", frame.verdict)),
        None if frame.verdict == "sent" && !frame.sent.is_empty() => {}
        None => text.push_str(&format!("  {}\n", frame.verdict)),
    }
    text
}

pub(super) fn capture(client: &Client, args: CaptureArgs, terminal: &mut Terminal<'_>) -> Result<(), Failure> {
    let refused = |error: std::io::Error| Failure::Refused(format!("{}: {error}", args.write.display()));
    let watch = Watch::begin(client, args.id, args.filter, args.seconds, interrupted())?;
    let sink: Box<dyn Write + '_> = if args.write == Path::new("-") {
        Box::new(&mut *terminal.out)
    } else {
        match File::create(&args.write) {
            Ok(file) => Box::new(BufWriter::new(file)),
            Err(error) => {
                watch.end()?;
                return Err(refused(error));
            }
        }
    };
    let file = std::cell::RefCell::new(sink);
    file.borrow_mut().write_all(&pcap_header()).map_err(refused)?;
    let clients: Vec<Vec<u8>> = watch.view.macs.iter().filter_map(|mac| octets(&mac.replace(':', ""))).collect();
    let mut written = 0u64;
    let lost = follow(
        &watch,
        |frame| {
            for octets in clients_own(&frame, &clients) {
                if written < args.count {
                    written += 1;
                    file.borrow_mut().write_all(&pcap_record(&frame, &octets)).map_err(refused)?;
                }
            }
            Ok(written < args.count)
        },
        || file.borrow_mut().flush().map_err(refused),
    )?;
    drop(file);
    say_end(terminal, written, lost);
    Ok(())
}

/// The frames on the clients' own lines: what they sent, and what was sent to them; with each its whole length.
fn clients_own(frame: &WatchedFrame, clients: &[Vec<u8>]) -> Vec<(Vec<u8>, u64)> {
    let own = |octets: &[u8], at: usize| {
        octets.get(at..at + 6).is_some_and(|mac| clients.iter().any(|client| client.as_slice() == mac))
    };
    let mut found = Vec::new();
    let injected = frame.verdict == "injected";
    // Destination first, then source.
    if let Some(octets) = octets(&frame.frame).filter(|octets| own(octets, if injected { 0 } else { 6 })) {
        found.push((octets, frame.octets));
    }
    for sent in &frame.sent {
        if let Some(octets) = octets(&sent.frame).filter(|octets| own(octets, 0)) {
            found.push((octets, sent.octets));
        }
    }
    found
}

/// Reads hexadecimal.
fn octets(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    Some(pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

/// Classic pcap, little-endian, microseconds, version 2.4, Ethernet.
fn pcap_header() -> Vec<u8> {
    let mut header = 0xa1b2_c3d4u32.to_le_bytes().to_vec();
    header.extend(2u16.to_le_bytes());
    header.extend(4u16.to_le_bytes());
    for word in [0, 0, SNAP_OCTETS, 1] {
        header.extend(word.to_le_bytes());
    }
    header
}

fn pcap_record(frame: &WatchedFrame, (octets, whole): &(Vec<u8>, u64)) -> Vec<u8> {
    let word = |value: u64| u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes();
    let mut record = Vec::with_capacity(16 + octets.len());
    record.extend(word(frame.time_unix_ms / 1000));
    record.extend(word(frame.time_unix_ms % 1000 * 1000));
    record.extend(word(octets.len() as u64));
    record.extend(word((*whole).max(octets.len() as u64)));
    record.extend_from_slice(octets);
    record
}
