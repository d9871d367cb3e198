//! Labels, menu order and icon of the tray for given engine summaries.

use rouse_core::schedule::{ZoneFiles, ZoneSource, ZoneVersion, Zones};

use chrono::TimeZone as _;

use super::*;
use crate::tray::snapshot::zone_of;

fn berlin() -> Zone {
    chrono_tz::Europe::Berlin.into()
}

fn at(text: &str) -> UnixMs {
    let naive = chrono::NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M").unwrap();
    UnixMs::from(berlin().from_local_datetime(&naive).unwrap().to_utc())
}

fn summary() -> EngineSummary {
    EngineSummary {
        now: at("2026-11-20 12:00"),
        zone: berlin(),
        firing: FiringState::On,
        problem: None,
        has_model: true,
        is_engine_local: true,
        running: 0,
        between_attempts: 0,
        queued: 0,
        failing: 0,
        next: Some(NextRun {
            job: JobId::new("j1"),
            name: "Backup".to_owned(),
            at: at("2026-11-20 14:00"),
        }),
        jobs: vec![JobLine { id: JobId::new("j1"), name: "Backup".to_owned() }],
        live: Vec::new(),
        approvals: Vec::new(),
        recent: vec![run("r1", RunState::Succeeded, "2026-11-20 08:00")],
    }
}

fn run(id: &str, state: RunState, time: &str) -> RunLine {
    let (id, name) = (RunId::new(id), "Backup".to_owned());
    RunLine { id, name, state, is_between_attempts: false, at: at(time) }
}

fn tray(summary: EngineSummary) -> TrayState {
    TrayState::of(&Snapshot::Ready(Box::new(summary)))
}

/// The menu as indented text, with the command of each choice.
fn menu_text(menu: &[MenuEntry]) -> String {
    menu.iter()
        .map(|entry| match entry {
            MenuEntry::Label(label) => format!("({label})\n"),
            MenuEntry::Choice(label, command) => format!("{label} -> {}\n", command.to_id()),
            MenuEntry::Separator => "--\n".to_owned(),
            MenuEntry::Submenu(label, inner) => {
                let inner: String =
                    menu_text(inner).lines().map(|line| format!("  {line}\n")).collect();
                format!("{label} >\n{inner}")
            }
        })
        .collect()
}

#[test]
fn menu_of_ordinary_day() {
    let tray = tray(EngineSummary { running: 2, ..summary() });
    assert_eq!(tray.icon, IconKind::Running);
    assert_eq!(tray.tooltip, "Next: Backup 14:00 · 2 running");
    assert_eq!(
        menu_text(&tray.menu),
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
  ✓ Backup · succeeded 08:00 -> open:/runs/r1
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
fn pause_shows_end_and_offers_resume() {
    let tray = tray(EngineSummary {
        firing: FiringState::Paused(Some(at("2026-11-20 15:30"))),
        running: 1,
        ..summary()
    });
    assert_eq!(tray.icon, IconKind::Paused);
    assert_eq!(tray.tooltip, "Paused until 15:30 · 1 running");
    let menu = menu_text(&tray.menu);
    assert!(
        menu.starts_with(
            "(Paused until 15:30 · 1 running)\n--\nResume all jobs -> resume\nPause longer >\n"
        ),
        "{menu}"
    );
}

#[test]
fn headline_shows_state_queue_and_failures() {
    let idle = EngineSummary { next: None, ..summary() };
    let headline = |summary: &EngineSummary| summary.headline();
    assert_eq!(headline(&summary()), "Nothing running");
    assert_eq!(headline(&idle), "Nothing scheduled");
    assert_eq!(headline(&EngineSummary { has_model: false, ..idle.clone() }), "No model yet");
    assert_eq!(
        headline(&EngineSummary { running: 1, queued: 3, failing: 2, ..idle.clone() }),
        "1 running · 3 queued · 2 jobs failing"
    );
    assert_eq!(
        headline(&EngineSummary { firing: FiringState::Off, ..summary() }),
        "Scheduling off"
    );
    assert_eq!(
        headline(&EngineSummary { firing: FiringState::Paused(None), ..summary() }),
        "Paused"
    );
    assert_eq!(
        headline(&EngineSummary {
            problem: Some("The disk is full.".to_owned()),
            running: 1,
            ..summary()
        }),
        "The disk is full."
    );
}

#[test]
fn run_between_attempts_shows_retry() {
    let headline = |summary: &EngineSummary| summary.headline();
    let waits =
        RunLine { is_between_attempts: true, ..run("r2", RunState::Running, "2026-11-20 12:05") };
    let state = tray(EngineSummary {
        between_attempts: 1,
        live: vec![waits.clone()],
        recent: vec![waits],
        ..summary()
    });
    assert_eq!(state.icon, IconKind::Idle);
    assert_eq!(state.tooltip, "Next: Backup 14:00 · Nothing running · 1 waiting to retry");
    let menu = menu_text(&state.menu);
    assert!(menu.contains("  ○ Backup · retries at 12:05 -> stop:r2\n"), "{menu}");
    assert!(menu.contains("  ○ Backup · retries at 12:05 -> open:"), "{menu}");
    assert_eq!(
        headline(&EngineSummary { running: 4, between_attempts: 5, queued: 1, ..summary() }),
        "4 running · 5 waiting to retry · 1 queued"
    );
    assert_eq!(
        headline(&EngineSummary {
            firing: FiringState::Paused(None),
            between_attempts: 1,
            ..summary()
        }),
        "Paused · 1 waiting to retry"
    );
}

#[test]
fn icon_priority_is_error_pause_attention_run() {
    let busy = EngineSummary { running: 1, ..summary() };
    let failing = EngineSummary { failing: 1, ..busy.clone() };
    let paused = EngineSummary { firing: FiringState::Paused(None), ..failing.clone() };
    let broken = EngineSummary { problem: Some("x".to_owned()), ..paused.clone() };
    let icons = [summary(), busy, failing, paused, broken].map(|summary| summary.icon());
    assert_eq!(
        icons,
        [IconKind::Idle, IconKind::Running, IconKind::Attention, IconKind::Paused, IconKind::Error]
    );
}

#[test]
fn empty_lists_show_disabled_text() {
    let tray =
        tray(EngineSummary { next: None, jobs: Vec::new(), recent: Vec::new(), ..summary() });
    let menu = menu_text(&tray.menu);
    assert!(
        menu.contains("Run now >\n  (No jobs yet)\nRecent runs >\n  (No runs yet)\n"),
        "{menu}"
    );
    assert!(!menu.contains("Next:"), "{menu}");
}

#[test]
fn long_job_list_ends_with_link() {
    let jobs = (1..=20)
        .map(|n| JobLine { id: JobId::new(format!("j{n}")), name: format!("Job {n}") })
        .collect();
    let menu = menu_text(&tray(EngineSummary { jobs, ..summary() }).menu);
    assert!(menu.contains("  Job 15 -> run:j15\n  --\n  All jobs -> open:/jobs\n"), "{menu}");
    assert!(!menu.contains("Job 16"), "{menu}");
}

#[test]
fn quit_label_of_client_keeps_jobs() {
    let menu = menu_text(&tray(EngineSummary { is_engine_local: false, ..summary() }).menu);
    assert!(menu.ends_with("Quit Rouse (jobs keep running) -> quit\n"), "{menu}");
}

#[test]
fn failed_engine_shows_reason_and_quit() {
    let state =
        TrayState::of(&Snapshot::Failed("The database is newer than this Rouse.".to_owned()));
    assert_eq!(state.icon, IconKind::Error);
    assert_eq!(
        menu_text(&state.menu),
        "(The database is newer than this Rouse.)\n--\nOpen Rouse -> show\n--\nQuit Rouse -> quit\n"
    );
}

#[test]
fn times_are_absolute() {
    let summary = summary();
    for (time, label) in [
        ("2026-11-20 14:00", "14:00"),
        ("2026-11-20 00:00", "00:00"),
        ("2026-11-21 07:30", "tomorrow 07:30"),
        ("2026-11-19 23:59", "yesterday 23:59"),
        ("2026-11-26 09:00", "Thursday 09:00"),
        ("2026-11-27 09:00", "27 Nov 09:00"),
        ("2026-11-18 09:00", "18 Nov 09:00"),
        ("2027-01-03 09:00", "3 Jan 2027 09:00"),
    ] {
        assert_eq!(summary.when(at(time)), label);
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
fn times_use_engine_zone() {
    let version = ZoneVersion::parse("2026f").unwrap();
    let source = ZoneSource { version, folder: Some("/zones".to_owned()) };
    let zones = Zones::newest(source, Box::new(Newer));
    let summary = EngineSummary { zone: zone_of("America/Vancouver", &zones), ..summary() };
    assert_eq!(summary.when(at("2026-11-20 23:00")), "15:00");
    let tomorrow = PauseFor::UntilTomorrow.until(summary.now, summary.zone);
    assert_eq!(tomorrow, Some(at("2026-11-21 16:00")));
    assert_eq!(zone_of("Nowhere/Land", &zones), Zone::UTC);
}

#[test]
fn pause_durations_end_as_labelled() {
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
fn live_runs_can_be_stopped() {
    assert!(!menu_text(&tray(summary()).menu).contains("Stop"), "there is nothing to stop");
    let live = vec![
        run("r2", RunState::Running, "2026-11-20 11:58"),
        run("r3", RunState::AwaitingApproval, "2026-11-19 23:00"),
        run("r4", RunState::Queued, "2026-11-20 12:00"),
    ];
    let menu = menu_text(&tray(EngineSummary { running: 1, live, ..summary() }).menu);
    let stop = "\
Stop >
  ◔ Backup · running since 11:58 -> stop:r2
  ✋ Backup · needs you since yesterday 23:00 -> stop:r3
  ○ Backup · queued since 12:00 -> stop:r4
Run now >
";
    assert!(menu.contains(stop), "{menu}");
    let many = (0..20).map(|n| run(&n.to_string(), RunState::Running, "2026-11-20 11:58"));
    let menu =
        menu_text(&tray(EngineSummary { running: 20, live: many.collect(), ..summary() }).menu);
    assert_eq!(menu.matches("-> stop:").count(), MAX_LIVE);
    assert_eq!(menu.matches("All runs -> open:/runs").count(), 2, "{menu}");
}

#[test]
fn highest_class_approval_offers_no_allow_once() {
    let approval = |id: &str, is_highest| ApprovalLine {
        id: ApprovalId::new(id),
        job: "Backup".to_owned(),
        call: "http: example.org".to_owned(),
        is_highest,
    };
    let approvals = vec![approval("a1", false), approval("a2", true)];
    let state = tray(EngineSummary { approvals, ..summary() });
    let menu = menu_text(&state.menu);
    let asked = "\
Needs you >
  Backup · http: example.org >
    Review -> open:/approvals/a1
    Allow once -> allow:a1
    Deny -> deny:a1
  Backup · http: example.org >
    Review -> open:/approvals/a2
    Deny -> deny:a2
";
    assert!(menu.contains(asked), "{menu}");
    assert_eq!(state.icon, IconKind::Attention);
    assert!(state.tooltip.contains("2 approvals"), "{}", state.tooltip);
}

#[test]
fn command_round_trips_through_menu_id() {
    for command in [
        TrayCommand::Show,
        TrayCommand::DecideApproval { id: ApprovalId::new("a:1"), is_allowed: true },
        TrayCommand::DecideApproval { id: ApprovalId::new("a:1"), is_allowed: false },
        TrayCommand::Open(UiRoute::run(&RunId::new("r/1"))),
        TrayCommand::Pause(PauseFor::UntilTomorrow),
        TrayCommand::Resume,
        TrayCommand::Run(JobId::new("imported:with colon")),
        TrayCommand::Stop(RunId::new("r:1")),
        TrayCommand::Quit,
    ] {
        assert_eq!(TrayCommand::from_id(&command.to_id()), Some(command));
    }
    assert_eq!(TrayCommand::from_id("pause:ever"), None);
    assert_eq!(TrayCommand::from_id("open:https://evil.example"), None);
}

#[test]
fn names_fit_one_line() {
    assert_eq!(short(" a\nb\tc "), "a b c");
    let long = short(&"x".repeat(60));
    assert_eq!(long.chars().count(), MAX_NAME_CHARS);
    assert!(long.ends_with('…'));
}
