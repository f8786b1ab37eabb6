//! bngctl's commands: what they print, and how they end.

mod fake;

use std::sync::Arc;
use std::time::Instant;

use bng_api::cli::{EXIT_NOT_THERE, EXIT_REFUSED, EXIT_USAGE, Terminal, run};
use bng_api::{Server, ServerConfig, SessionsView, serve};
use fake::Fake;

struct Bed {
    folder: tempfile::TempDir,
    fake: Arc<Fake>,
    _server: Server,
}

/// What a command came to.
struct Outcome {
    code: u8,
    out: String,
    err: String,
    asked: Vec<String>,
}

fn bed() -> Bed {
    let folder = tempfile::tempdir().unwrap();
    let fake = Arc::new(Fake::new());
    let config = ServerConfig { listen: None, socket: folder.path().join("api.sock"), cpu: None };
    let server = serve(config, fake.clone()).unwrap();
    Bed { folder, fake, _server: server }
}

fn run_at(socket: &std::path::Path, command: &str, answer: Option<bool>) -> Outcome {
    let (mut out, mut err, mut asked) = (Vec::new(), Vec::new(), Vec::new());
    let mut confirm = |question: &str| {
        asked.push(question.to_owned());
        answer
    };
    let socket = socket.to_str().unwrap();
    let args = ["bngctl", "--socket", socket].into_iter().chain(command.split(' '));
    let code = run(args, &mut Terminal { out: &mut out, err: &mut err, confirm: &mut confirm });
    Outcome { code, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap(), asked }
}

impl Bed {
    fn run(&self, command: &str, answer: Option<bool>) -> Outcome {
        run_at(&self.folder.path().join("api.sock"), command, answer)
    }

    fn text(&self, command: &str) -> String {
        let outcome = self.run(command, None);
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{command}");
        outcome.out
    }
}

#[test]
fn sessions_as_a_table() {
    let expected = "\
ID             USER               MAC                VLAN   STATE  IPV4        UPTIME      UP    DOWN  PKTS-UP  PKTS-DOWN
access0.100.1  user1@example.net  02:00:00:00:00:01  100.7  up     100.64.0.1   1h01m  1.5 kB  2.5 MB       10       2000
access0.100.2  user2@example.net  02:00:00:00:00:02  100.7  up     100.64.0.2   1h01m  1.5 kB  2.5 MB       10       2000
access0.100.3  -                  02:00:00:00:00:03  100.7  link   -            1h01m  1.5 kB  2.5 MB       10       2000
3 sessions
";
    let bed = bed();
    assert_eq!(bed.text("show sessions"), expected);
    assert!(bed.text("show sessions --mac 0200.0000.0002").ends_with("\n1 session\n"));
    assert!(bed.text("show sessions --limit 2").ends_with("\n2 of 3 sessions\n"));
    assert_eq!(bed.text("show sessions --user nobody"), "0 sessions\n");
}

#[test]
fn one_session_in_full() {
    let text = bed().text("show session access0.100.1");
    for line in [
        "user              user1@example.net\n",
        "authentication    chap-md5\n",
        "mru               1492 octets\n",
        "circuit id        dslam1 eth 0/1:100\n",
        "delegated prefix  2001:db8:8000:100::/56\n",
        "down              2000 packets, 2.5 MB (2500000 octets)\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn the_other_tables() {
    let bed = bed();
    let expected = "\
WORKER  CPU  BUSY  PORT     RX-PKTS      RX  TX-PKTS      TX  PUNTED  INJECTED  DROPPED
     0    1   13%  all           30  3.0 kB       15  1.5 kB       4         5        6
                   access0       10  1.0 kB        5   500 B
                   core0         20  2.0 kB       10  1.0 kB
";
    assert!(bed.text("show workers").starts_with(expected), "{}", bed.text("show workers"));
    let expected = "\
REASON        VERDICT  PACKETS  BY-WORKER  MEANING
pppoe_length  drop          12  12 0       What it means. (RFC 2516 section 4)
";
    assert_eq!(bed.text("show drops"), expected);
    assert!(bed.text("show drops --all").contains("\nrunt          drop           0  0 0        What it means.\n"));
    let expected = "\
POOL   FAMILY  PREFIX         EACH   SIZE  USED   FREE  IN-USE
pool4  ipv4    100.64.0.0/16   /32  65533     2  65531    0.0%
";
    assert_eq!(bed.text("show pools"), expected);
    let expected = "\
PREFIX     SOURCE  METRIC  KIND       NEXT-HOP      INTERFACE  MAC  TARGET
0.0.0.0/0  static      20  neighbour  198.51.100.2  uplink     -    -
";
    assert_eq!(bed.text("show routes"), expected);
    assert!(
        bed.text("show ports")
            .contains("access0  net_ice  access  02:00:00:00:00:aa  25 Gbit/s  1508       2  hardware")
    );
    assert_eq!(
        bed.text("show version"),
        "bngd     0.1.0\ndpdk     DPDK 22.11\nnode     bng1\nprocess  7\nuptime   1m30s\n"
    );
}

#[test]
fn json_has_the_names_of_the_http_api() {
    let bed = bed();
    let text = bed.text("--json show sessions --user user1*");
    let view: SessionsView = serde_json::from_str(&text).unwrap();
    assert_eq!((view.matched, view.sessions[0].session_id), (1, 1));
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let first = &value["sessions"][0];
    for (name, expected) in [
        ("user", serde_json::json!("user1@example.net")),
        ("mac", serde_json::json!("02:00:00:00:00:01")),
        ("outer_vlan", serde_json::json!(100)),
        ("inner_vlan", serde_json::json!(7)),
        ("session_id", serde_json::json!(1)),
        ("state", serde_json::json!("up")),
        ("ipv4", serde_json::json!("100.64.0.1")),
        ("uptime_s", serde_json::json!(3661)),
        ("octets_up", serde_json::json!(1500)),
        ("octets_down", serde_json::json!(2_500_000)),
        ("packets_up", serde_json::json!(10)),
        ("packets_down", serde_json::json!(2000)),
    ] {
        assert_eq!(first[name], expected, "{name}");
    }
    for what in ["ports", "workers", "drops", "pools", "routes", "version"] {
        // The flag may stand behind the command as well.
        assert!(serde_json::from_str::<serde_json::Value>(&bed.text(&format!("show {what} --json"))).is_ok(), "{what}");
    }
}

#[test]
fn what_a_client_sends_cannot_steer_the_terminal() {
    let bed = bed();
    bed.fake.sessions.lock().unwrap()[0].user = Some("\u{1b}]0;owned\u{7}".into());
    for command in ["show sessions", "show session access0.100.1"] {
        let text = bed.text(command);
        assert!(text.contains("\\u{1b}]0;owned\\u{7}") && !text.contains('\u{1b}'), "{text}");
    }
}

#[test]
fn clearing_one_needs_no_question_and_clearing_many_does() {
    let bed = bed();
    let left = || bed.fake.sessions.lock().unwrap().len();
    let outcome = bed.run("clear session", None);
    assert_eq!(
        (outcome.code, outcome.err.as_str()),
        (EXIT_REFUSED, "bngctl: name a session or a filter, or say --all\n")
    );
    let outcome = bed.run("clear session access0.100.9", None);
    assert_eq!((outcome.code, outcome.err.as_str()), (EXIT_REFUSED, "bngctl: there is no session access0.100.9\n"));
    let outcome = bed.run("clear session --port access0", None);
    assert_eq!((outcome.code, outcome.err.as_str()), (EXIT_REFUSED, "bngctl: this would end 3 sessions: say --yes\n"));
    let outcome = bed.run("clear session --all", Some(false));
    assert_eq!((outcome.code, outcome.err.as_str()), (EXIT_REFUSED, "bngctl: nothing was done\n"));
    assert_eq!((outcome.asked, left()), (vec!["End 3 sessions?".to_owned()], 3));
    let outcome = bed.run("clear session access0.100.1", None);
    assert_eq!((outcome.code, outcome.out.as_str(), left()), (0, "1 session being ended\n", 2));
    let outcome = bed.run("clear sessions --user user2*", None);
    assert_eq!((outcome.code, outcome.asked.len(), left()), (0, 0, 1));
    bed.fake.sessions.lock().unwrap().push(fake::session(4, None));
    let outcome = bed.run("clear session --all --yes", None);
    assert_eq!((outcome.code, outcome.out.as_str(), left()), (0, "2 sessions being ended\n", 0));
}

#[test]
fn the_log_level() {
    let bed = bed();
    assert_eq!(bed.text("log level debug"), "log level is now debug\n");
    assert_eq!(*bed.fake.log_level.lock().unwrap(), "debug");
    assert_eq!(bed.run("log level loud", None).code, EXIT_REFUSED);
}

#[test]
fn a_daemon_that_is_not_there_is_said_with_its_socket() {
    let start = Instant::now();
    let outcome = run_at(std::path::Path::new("/nonexistent/api.sock"), "show sessions", None);
    assert_eq!(outcome.code, EXIT_NOT_THERE);
    assert!(
        outcome.err.starts_with("bngctl: bngd does not answer on /nonexistent/api.sock: No such file"),
        "{}",
        outcome.err
    );
    assert!(start.elapsed().as_secs() < 5);
}

#[test]
fn a_wrong_command_line_is_told_what_would_do() {
    let bed = bed();
    for (command, reason) in [
        ("show session", "<ID>"),
        ("show sesions", "'sessions'"),
        ("show sessions --vlan 5000", "is not a VLAN"),
        ("show sessions --mac 02", "is not a MAC address"),
        ("show sessions --state dead", "is not a state"),
        ("show sessions --ip 1.2.3", "invalid IP address"),
        ("--timeout 0 show ports", "0 is not in 1..=600"),
    ] {
        let outcome = bed.run(command, None);
        assert_eq!(outcome.code, EXIT_USAGE, "{command}: {}", outcome.err);
        assert!(outcome.err.contains(reason), "{command}: {}", outcome.err);
    }
}

#[test]
fn every_option_has_its_environment_variable() {
    use clap::CommandFactory as _;
    fn look(command: &clap::Command, seen: &mut usize) {
        for argument in command.get_arguments().filter(|argument| argument.get_long().is_some()) {
            let name = argument.get_long().unwrap();
            // `--all` of `clear` must be said each time: an environment that says it would be a trap.
            let trap = name == "all" && command.get_name() == "session";
            if !trap && !matches!(name, "help" | "version") {
                *seen += 1;
                let variable = argument.get_env().unwrap_or_else(|| panic!("{name}")).to_str().unwrap();
                assert!(variable.starts_with("BNGCTL_"), "{variable}");
            }
        }
        command.get_subcommands().for_each(|command| look(command, seen));
    }
    let mut seen = 0;
    look(&bng_api::cli::Cli::command(), &mut seen);
    assert!(seen > 15, "{seen}");
}

#[test]
fn a_trace_shows_each_frames_way_and_what_was_lost() {
    let bed = bed();
    let outcome = bed.run("trace --user user1@example.net --count 20", None);
    assert_eq!((outcome.code, outcome.err.as_str()), (0, "2 frames, 7 records lost\n"));
    let first = "22:13:20.124 UTC  1514 octets received on access0 (worker 0, number 1)\n  \
                 ethernet  an address > another\n  out       1514 octets\n  sent      1514 octets on core0\n";
    assert!(outcome.out.starts_with(first), "{}", outcome.out);
    assert_eq!(*bed.fake.watches.lock().unwrap(), 0, "the watch is ended");
    // A count ends it, and JSON is a line for each frame.
    *bed.fake.readings.lock().unwrap() = 0;
    let outcome = bed.run("--json trace access0.100.1 --count 1", None);
    assert_eq!((outcome.code, outcome.err.as_str()), (0, "1 frame, 7 records lost\n"));
    assert_eq!(outcome.out.lines().count(), 1);
    let frame: bng_api::WatchedFrame = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!((frame.number, frame.verdict.as_str()), (1, "sent"));
}

#[test]
fn a_capture_is_a_pcap_file_of_the_clients_own_line() {
    let bed = bed();
    let file = bed.folder.path().join("a.pcap");
    let outcome = bed.run(&format!("capture access0.100.1 -w {} --seconds 5", file.display()), None);
    assert_eq!((outcome.code, outcome.out.as_str(), outcome.err.as_str()), (0, "", "2 frames, 7 records lost\n"));
    let octets = std::fs::read(&file).unwrap();
    assert_eq!(octets[..24], [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 1, 0, 0, 0]);
    // Two records of 14 octets, of frames of 1514: from the client, and to it.
    assert_eq!(octets.len(), 24 + 2 * (16 + 14));
    let record = &octets[24..54];
    assert_eq!(record[..4], 1_700_000_000u32.to_le_bytes());
    assert_eq!(record[4..8], 124_000u32.to_le_bytes());
    assert_eq!(
        (record[8..12].to_vec(), record[12..16].to_vec()),
        (14u32.to_le_bytes().to_vec(), 1514u32.to_le_bytes().to_vec())
    );
    assert_eq!(record[22..28], [2, 0, 0, 0, 0, 1], "from the client");
    assert_eq!(octets[54 + 16..54 + 22], [2, 0, 0, 0, 0, 1], "to the client");
    assert_eq!(*bed.fake.watches.lock().unwrap(), 0);
    // A file that cannot be made ends the watch as well.
    *bed.fake.readings.lock().unwrap() = 0;
    let outcome = bed.run("capture access0.100.1 -w /no/such/folder/a.pcap", None);
    assert_eq!((outcome.code, *bed.fake.watches.lock().unwrap()), (EXIT_REFUSED, 0));
}

#[test]
fn a_watch_needs_a_client() {
    let bed = bed();
    assert_eq!(bed.run("trace", None).code, EXIT_REFUSED);
    assert_eq!(bed.run("capture -w a.pcap", None).code, EXIT_REFUSED);
    assert_eq!(bed.run("capture access0.100.1", None).code, EXIT_USAGE);
    let outcome = bed.run("trace --user nobody", None);
    assert_eq!((outcome.code, outcome.err.as_str()), (EXIT_REFUSED, "bngctl: no session matches\n"));
}
