//! The tray's words, order and picture, over readings of the engine.

use rouse_core::schedule::{ZoneFiles, ZoneSource, ZoneVersion, Zones};

use chrono::TimeZone as _;

use super::*;
use crate::tray::zone_of;

fn berlin() -> Zone {
    chrono_tz::Europe::Berlin.into()
}

fn at(text: &str) -> UnixMs {
    let naive = chrono::NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M").unwrap();
    UnixMs::from(berlin().from_local_datetime(&naive).unwrap().to_utc())
}

fn facts() -> Facts {
    Facts {
        now: at("2026-11-20 12:00"),
        zone: berlin(),
        firing: Firing::On,
        problem: None,
        has_model: true,
        engine_is_ours: true,
        running: 0,
        between_attempts: 0,
        queued: 0,
        failing: 0,
        next: Some(NextSlot {
            job: JobId::new("j1"),
            name: "Backup".to_owned(),
            at: at("2026-11-20 14:00"),
        }),
        jobs: vec![JobLine { id: JobId::new("j1"), name: "Backup".to_owned() }],
        live: Vec::new(),
        questions: Vec::new(),
        recent: vec![run("r1", RunState::Succeeded, "2026-11-20 08:00")],
    }
}

fn run(id: &str, state: RunState, time: &str) -> RunLine {
    let (id, name) = (RunId::new(id), "Backup".to_owned());
    RunLine { id, name, state, is_between_attempts: false, at: at(time) }
}

fn tray(facts: Facts) -> TrayState {
    TrayState::of(&Snapshot::Ready(Box::new(facts)))
}

/// The menu as indented text, with the command of each choice.
fn drawn(menu: &[Entry]) -> String {
    menu.iter()
        .map(|entry| match entry {
            Entry::Words(words) => format!("({words})\n"),
            Entry::Choice(label, command) => format!("{label} -> {}\n", command.to_id()),
            Entry::Separator => "--\n".to_owned(),
            Entry::Submenu(label, inner) => {
                let inner: String =
                    drawn(inner).lines().map(|line| format!("  {line}\n")).collect();
                format!("{label} >\n{inner}")
            }
        })
        .collect()
}

#[test]
fn an_ordinary_day() {
    let tray = tray(Facts { running: 2, ..facts() });
    assert_eq!(tray.icon, IconKind::Running);
    assert_eq!(tray.tooltip, "Next: Backup 14:00 · 2 running");
    assert_eq!(
        drawn(&tray.menu),
        "\
(2 running)
Next: Backup 14:00 -> open:/jobs/j1
--
Pause all >
  For 15 minutes -> pause:quarterHour
  For 1 hour -> pause:hour
  Until tomorrow -> pause:tomorrow
  Until resumed -> pause:resumed
Run now >
  Backup -> run:j1
Recent runs >
  ✓ Backup · done 08:00 -> open:/runs/r1
  --
  All runs -> open:/runs
New job… -> open:/jobs/new
--
Open Rouse -> show
Settings -> open:/settings
--
Quit Rouse (jobs will not run) -> quit
"
    );
}

#[test]
fn a_pause_says_until_when_and_can_be_ended() {
    let tray =
        tray(Facts { firing: Firing::Paused(Some(at("2026-11-20 15:30"))), running: 1, ..facts() });
    assert_eq!(tray.icon, IconKind::Paused);
    assert_eq!(tray.tooltip, "Paused until 15:30 · 1 running");
    let menu = drawn(&tray.menu);
    assert!(
        menu.starts_with(
            "(Paused until 15:30 · 1 running)\n--\nResume all jobs -> resume\nPause longer >\n"
        ),
        "{menu}"
    );
}

#[test]
fn the_headline_says_what_matters_most() {
    let idle = Facts { next: None, ..facts() };
    let headline = |facts: &Facts| facts.headline();
    assert_eq!(headline(&facts()), "Nothing running");
    assert_eq!(headline(&idle), "Nothing scheduled");
    assert_eq!(headline(&Facts { has_model: false, ..idle.clone() }), "No model yet");
    assert_eq!(
        headline(&Facts { running: 1, queued: 3, failing: 2, ..idle.clone() }),
        "1 running · 3 waiting · 2 jobs failing"
    );
    assert_eq!(headline(&Facts { firing: Firing::Off, ..facts() }), "Switched off");
    assert_eq!(headline(&Facts { firing: Firing::Paused(None), ..facts() }), "Paused");
    assert_eq!(
        headline(&Facts { problem: Some("The disk is full.".to_owned()), running: 1, ..facts() }),
        "The disk is full."
    );
}

#[test]
fn a_run_between_two_attempts_is_not_said_to_run() {
    let headline = |facts: &Facts| facts.headline();
    let waits =
        RunLine { is_between_attempts: true, ..run("r2", RunState::Running, "2026-11-20 12:05") };
    let state = tray(Facts {
        between_attempts: 1,
        live: vec![waits.clone()],
        recent: vec![waits],
        ..facts()
    });
    assert_eq!(state.icon, IconKind::Idle);
    assert_eq!(
        state.tooltip,
        "Next: Backup 14:00 · Nothing running · 1 waits for its next attempt"
    );
    let menu = drawn(&state.menu);
    assert!(
        menu.contains("  ○ Backup · waits for its next attempt until 12:05 -> stop:r2\n"),
        "{menu}"
    );
    assert!(
        menu.contains("  ○ Backup · waits for its next attempt until 12:05 -> open:"),
        "{menu}"
    );
    assert_eq!(
        headline(&Facts { running: 4, between_attempts: 5, queued: 1, ..facts() }),
        "4 running · 5 wait for their next attempt · 1 waiting"
    );
    assert_eq!(
        headline(&Facts { firing: Firing::Paused(None), between_attempts: 1, ..facts() }),
        "Paused · 1 waits for its next attempt"
    );
}

#[test]
fn trouble_outranks_pause_outranks_failures_outranks_work() {
    let busy = Facts { running: 1, ..facts() };
    let failing = Facts { failing: 1, ..busy.clone() };
    let paused = Facts { firing: Firing::Paused(None), ..failing.clone() };
    let broken = Facts { problem: Some("x".to_owned()), ..paused.clone() };
    let icons = [facts(), busy, failing, paused, broken].map(|facts| facts.icon());
    assert_eq!(
        icons,
        [IconKind::Idle, IconKind::Running, IconKind::Attention, IconKind::Paused, IconKind::Error]
    );
}

#[test]
fn nothing_yet_is_said_and_cannot_be_chosen() {
    let tray = tray(Facts { next: None, jobs: Vec::new(), recent: Vec::new(), ..facts() });
    let menu = drawn(&tray.menu);
    assert!(
        menu.contains("Run now >\n  (No jobs yet)\nRecent runs >\n  (No runs yet)\n"),
        "{menu}"
    );
    assert!(!menu.contains("Next:"), "{menu}");
}

#[test]
fn many_jobs_end_in_a_way_to_all_of_them() {
    let jobs = (1..=20)
        .map(|n| JobLine { id: JobId::new(format!("j{n}")), name: format!("Job {n}") })
        .collect();
    let menu = drawn(&tray(Facts { jobs, ..facts() }).menu);
    assert!(menu.contains("  Job 15 -> run:j15\n  --\n  All jobs -> open:/jobs\n"), "{menu}");
    assert!(!menu.contains("Job 16"), "{menu}");
}

#[test]
fn a_guest_of_another_engine_does_not_threaten_the_jobs() {
    let menu = drawn(&tray(Facts { engine_is_ours: false, ..facts() }).menu);
    assert!(menu.ends_with("Quit Rouse (jobs keep running) -> quit\n"), "{menu}");
}

#[test]
fn without_an_engine_the_reason_and_the_way_out_remain() {
    let state =
        TrayState::of(&Snapshot::Failed("The database is newer than this Rouse.".to_owned()));
    assert_eq!(state.icon, IconKind::Error);
    assert_eq!(
        drawn(&state.menu),
        "(The database is newer than this Rouse.)\n--\nOpen Rouse -> show\n--\nQuit Rouse -> quit\n"
    );
}

#[test]
fn times_stay_true_without_a_clock() {
    let facts = facts();
    for (time, words) in [
        ("2026-11-20 14:00", "14:00"),
        ("2026-11-20 00:00", "00:00"),
        ("2026-11-21 07:30", "tomorrow 07:30"),
        ("2026-11-19 23:59", "yesterday 23:59"),
        ("2026-11-26 09:00", "Thursday 09:00"),
        ("2026-11-27 09:00", "27 Nov 09:00"),
        ("2026-11-18 09:00", "18 Nov 09:00"),
        ("2027-01-03 09:00", "3 Jan 2027 09:00"),
    ] {
        assert_eq!(facts.when(at(time)), words);
    }
}

/// The release 2026f, in which Vancouver does not go back in November 2026.
struct Newer;

impl ZoneFiles for Newer {
    fn read(&self, name: &str) -> Option<Vec<u8>> {
        let folder =
            concat!(env!("CARGO_MANIFEST_DIR"), "/src-tauri/crates/core/tests/zoneinfo/2026f");
        std::fs::read(std::path::Path::new(folder).join(name)).ok()
    }
}

#[test]
fn times_follow_the_zone_data_of_the_engine() {
    let version = ZoneVersion::parse("2026f").unwrap();
    let source = ZoneSource { version, folder: Some("/zones".to_owned()) };
    let zones = Zones::newest(source, Box::new(Newer));
    let facts = Facts { zone: zone_of("America/Vancouver", &zones), ..facts() };
    assert_eq!(facts.when(at("2026-11-20 23:00")), "15:00");
    let tomorrow = PauseFor::UntilTomorrow.until(facts.now, facts.zone);
    assert_eq!(tomorrow, Some(at("2026-11-21 16:00")));
    assert_eq!(zone_of("Nowhere/Land", &zones), Zone::UTC);
}

#[test]
fn pauses_end_when_they_say() {
    let now = at("2026-11-20 23:30");
    assert_eq!(PauseFor::QuarterHour.until(now, berlin()), Some(at("2026-11-20 23:45")));
    assert_eq!(PauseFor::Hour.until(now, berlin()), Some(at("2026-11-21 00:30")));
    assert_eq!(PauseFor::UntilTomorrow.until(now, berlin()), Some(at("2026-11-21 08:00")));
    assert_eq!(PauseFor::UntilResumed.until(now, berlin()), None);
    let eve_of_summer_time = at("2027-03-27 12:00");
    assert_eq!(
        PauseFor::UntilTomorrow.until(eve_of_summer_time, berlin()),
        Some(at("2027-03-28 08:00"))
    );
}

#[test]
fn what_is_at_work_or_waits_can_be_stopped() {
    assert!(!drawn(&tray(facts()).menu).contains("Stop"), "there is nothing to stop");
    let live = vec![
        run("r2", RunState::Running, "2026-11-20 11:58"),
        run("r3", RunState::AwaitingApproval, "2026-11-19 23:00"),
        run("r4", RunState::Queued, "2026-11-20 12:00"),
    ];
    let menu = drawn(&tray(Facts { running: 1, live, ..facts() }).menu);
    let stop = "\
Stop >
  ◔ Backup · running since 11:58 -> stop:r2
  ✋ Backup · needs you since yesterday 23:00 -> stop:r3
  ○ Backup · waiting since 12:00 -> stop:r4
Run now >
";
    assert!(menu.contains(stop), "{menu}");
    let many = (0..20).map(|n| run(&n.to_string(), RunState::Running, "2026-11-20 11:58"));
    let menu = drawn(&tray(Facts { running: 20, live: many.collect(), ..facts() }).menu);
    assert_eq!(menu.matches("-> stop:").count(), MOST_LIVE);
    assert_eq!(menu.matches("All runs -> open:/runs").count(), 2, "{menu}");
}

#[test]
fn questions_are_answered_from_the_menu_unless_they_have_to_be_looked_at() {
    let question = |id: &str, is_highest| QuestionLine {
        id: ApprovalId::new(id),
        job: "Backup".to_owned(),
        call: "http: example.org".to_owned(),
        is_highest,
    };
    let questions = vec![question("a1", false), question("a2", true)];
    let state = tray(Facts { questions, ..facts() });
    let menu = drawn(&state.menu);
    let asked = "\
Needs you >
  Backup · http: example.org >
    Look -> open:/approvals/a1
    Allow once -> allow:a1
    Deny -> deny:a1
  Backup · http: example.org >
    Look -> open:/approvals/a2
    Deny -> deny:a2
";
    assert!(menu.contains(asked), "{menu}");
    assert_eq!(state.icon, IconKind::Attention);
    assert!(state.tooltip.contains("2 questions"), "{}", state.tooltip);
}

#[test]
fn every_command_survives_being_a_menu_id() {
    for command in [
        Command::Show,
        Command::Answer(ApprovalId::new("a:1"), true),
        Command::Answer(ApprovalId::new("a:1"), false),
        Command::Open(Place::run(&RunId::new("r/1"))),
        Command::Pause(PauseFor::UntilTomorrow),
        Command::Resume,
        Command::Run(JobId::new("imported:with colon")),
        Command::Stop(RunId::new("r:1")),
        Command::Quit,
    ] {
        assert_eq!(Command::from_id(&command.to_id()), Some(command));
    }
    assert_eq!(Command::from_id("pause:ever"), None);
    assert_eq!(Command::from_id("open:https://evil.example"), None);
}

#[test]
fn names_are_made_fit_for_one_line() {
    assert_eq!(short(" a\nb\tc "), "a b c");
    let long = short(&"x".repeat(60));
    assert_eq!(long.chars().count(), LONGEST_NAME);
    assert!(long.ends_with('…'));
}
