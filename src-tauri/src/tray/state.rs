//! Tray state as a pure function of a snapshot.
//!
//! Owns texts, order and icon. Never reads a clock (the snapshot has `now`) and knows no toolkit;
//! `menu` builds the real menu. Pitfall: relative times ("in 5 min") go stale, because the tray is
//! redrawn only after events.

use chrono::{DateTime, Datelike as _};
use rouse_core::schedule::Zone;
use rouse_core::{ApprovalId, JobId, RunId, UnixMs};
use rouse_gateway::wire::RunState;

use super::command::{PauseFor, TrayCommand};
use crate::ui_route::UiRoute;

/// Snapshot of the engine.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Snapshot {
    /// The engine is starting.
    Starting,
    /// The engine failed or exited, with the reason.
    Failed(String),
    /// The engine is running.
    Ready(Box<EngineSummary>),
}

/// State of a running engine.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EngineSummary {
    /// The engine's clock.
    pub(crate) now: UnixMs,
    /// Local time zone.
    pub(crate) zone: Zone,
    /// State of scheduling.
    pub(crate) firing: FiringState,
    /// Global problem.
    pub(crate) problem: Option<String>,
    /// A model is available.
    pub(crate) has_model: bool,
    /// The engine runs in this process.
    pub(crate) is_engine_local: bool,
    /// Running runs.
    pub(crate) running: u32,
    /// Runs between attempts.
    pub(crate) between_attempts: u32,
    /// Queued runs.
    pub(crate) queued: u32,
    /// Enabled jobs whose newest run failed.
    pub(crate) failing: u32,
    /// Next slot of all jobs.
    pub(crate) next: Option<NextRun>,
    /// First jobs in menu order, one more than shown if there are more.
    pub(crate) jobs: Vec<JobLine>,
    /// Live runs that can be stopped, one more than shown if there are more.
    pub(crate) live: Vec<RunLine>,
    /// Pending approvals, first to expire first.
    pub(crate) approvals: Vec<ApprovalLine>,
    /// Newest runs first.
    pub(crate) recent: Vec<RunLine>,
}

/// State of scheduling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FiringState {
    /// Jobs run on schedule.
    On,
    /// Scheduling is off.
    Off,
    /// Paused until an instant, or until resumed.
    Paused(Option<UnixMs>),
}

/// Next slot of all jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NextRun {
    pub(crate) job: JobId,
    pub(crate) name: String,
    pub(crate) at: UnixMs,
}

/// Job in the menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobLine {
    pub(crate) id: JobId,
    pub(crate) name: String,
}

/// Approval in the menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApprovalLine {
    pub(crate) id: ApprovalId,
    pub(crate) job: String,
    /// Tool and shortened call.
    pub(crate) call: String,
    /// Highest class: must be reviewed before allowing.
    pub(crate) is_highest: bool,
}

/// Run in the menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunLine {
    pub(crate) id: RunId,
    pub(crate) name: String,
    pub(crate) state: RunState,
    /// The run is between attempts, although its state is running.
    pub(crate) is_between_attempts: bool,
    pub(crate) at: UnixMs,
}

/// Displayed state of the tray.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrayState {
    /// Icon.
    pub(crate) icon: IconKind,
    /// Tooltip.
    pub(crate) tooltip: String,
    /// Menu entries.
    pub(crate) menu: Vec<MenuEntry>,
}

/// Icons; they differ in shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IconKind {
    Idle,
    Running,
    Attention,
    Paused,
    Error,
}

/// Menu entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MenuEntry {
    /// Disabled text.
    Label(String),
    /// Command.
    Choice(String, TrayCommand),
    /// Submenu.
    Submenu(String, Vec<MenuEntry>),
    /// Separator.
    Separator,
}

/// Maximum jobs under "Run now".
pub(crate) const MAX_JOBS: usize = 15;
/// Maximum runs under "Recent runs".
pub(crate) const MAX_RUNS: usize = 5;
/// Maximum runs under "Stop".
pub(crate) const MAX_LIVE: usize = 10;
/// Maximum approvals under "Needs you".
pub(crate) const MAX_APPROVALS: usize = 5;
/// Maximum name length, which bounds the menu's width.
const MAX_NAME_CHARS: usize = 40;
impl TrayState {
    /// State for a snapshot.
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let summary = match snapshot {
            Snapshot::Starting => return Self::without_engine(IconKind::Idle, "Starting"),
            Snapshot::Failed(reason) => return Self::without_engine(IconKind::Error, reason),
            Snapshot::Ready(summary) => summary,
        };
        let headline = summary.headline();
        let next = summary.next_line();
        Self {
            icon: summary.icon(),
            tooltip: next
                .clone()
                .into_iter()
                .chain([headline.clone()])
                .collect::<Vec<_>>()
                .join(" · "),
            menu: summary.menu(headline, next),
        }
    }

    fn without_engine(icon: IconKind, label: &str) -> Self {
        let menu = vec![
            MenuEntry::Label(label.to_owned()),
            MenuEntry::Separator,
            MenuEntry::choice("Open Rouse", TrayCommand::Show),
            MenuEntry::Separator,
            MenuEntry::choice("Quit Rouse", TrayCommand::Quit),
        ];
        Self { icon, tooltip: label.to_owned(), menu }
    }
}

impl EngineSummary {
    fn icon(&self) -> IconKind {
        match (&self.problem, self.firing) {
            (Some(_), _) => IconKind::Error,
            (None, FiringState::Off | FiringState::Paused(_)) => IconKind::Paused,
            (None, FiringState::On) if self.failing > 0 || !self.approvals.is_empty() => {
                IconKind::Attention
            }
            (None, FiringState::On) if self.running > 0 => IconKind::Running,
            (None, FiringState::On) => IconKind::Idle,
        }
    }

    /// State in one line; excludes the "Next: …" line.
    fn headline(&self) -> String {
        if let Some(problem) = &self.problem {
            return problem.clone();
        }
        let mut parts = vec![match self.firing {
            FiringState::Off => "Scheduling off".to_owned(),
            FiringState::Paused(None) => "Paused".to_owned(),
            FiringState::Paused(Some(until)) => format!("Paused until {}", self.when(until)),
            FiringState::On if self.running > 0 => format!("{} running", self.running),
            FiringState::On if self.next.is_none() && !self.has_model => "No model yet".to_owned(),
            FiringState::On if self.next.is_none() => "Nothing scheduled".to_owned(),
            FiringState::On => "Nothing running".to_owned(),
        }];
        if self.running > 0 && self.firing != FiringState::On {
            parts.push(format!("{} running", self.running));
        }
        match self.between_attempts {
            0 => {}
            1 => parts.push("1 waiting to retry".to_owned()),
            count => parts.push(format!("{count} waiting to retry")),
        }
        if self.queued > 0 {
            parts.push(format!("{} queued", self.queued));
        }
        match self.approvals.len() {
            0 => {}
            1 => parts.push("1 approval".to_owned()),
            count => parts.push(format!("{count} approvals")),
        }
        if self.failing > 0 {
            parts.push(format!(
                "{} {} failing",
                self.failing,
                if self.failing == 1 { "job" } else { "jobs" }
            ));
        }
        parts.join(" · ")
    }

    fn next_line(&self) -> Option<String> {
        let next = self.next.as_ref().filter(|_| self.firing == FiringState::On)?;
        Some(format!("Next: {} {}", short(&next.name), self.when(next.at)))
    }

    fn menu(&self, headline: String, next_line: Option<String>) -> Vec<MenuEntry> {
        let mut menu = vec![MenuEntry::Label(headline)];
        if let (Some(line), Some(next)) = (next_line, &self.next) {
            menu.push(MenuEntry::Choice(line, TrayCommand::Open(UiRoute::job(&next.job))));
        }
        menu.push(MenuEntry::Separator);
        if !self.approvals.is_empty() {
            menu.push(MenuEntry::Submenu("Needs you".to_owned(), self.approval_entries()));
        }
        menu.extend(self.pause_entries());
        if !self.live.is_empty() {
            menu.push(MenuEntry::Submenu("Stop".to_owned(), self.stop_entries()));
        }
        menu.push(MenuEntry::Submenu("Run now".to_owned(), self.job_entries()));
        menu.push(MenuEntry::Submenu("Recent runs".to_owned(), self.run_entries()));
        menu.push(MenuEntry::open("New job…", "/jobs/new"));
        menu.push(MenuEntry::Separator);
        menu.push(MenuEntry::choice("Open Rouse", TrayCommand::Show));
        menu.push(MenuEntry::open("Settings", "/settings"));
        menu.push(MenuEntry::Separator);
        let quit = if self.is_engine_local {
            "Quit Rouse (jobs will not run)"
        } else {
            "Quit Rouse (jobs keep running)"
        };
        menu.push(MenuEntry::choice(quit, TrayCommand::Quit));
        menu
    }

    fn pause_entries(&self) -> Vec<MenuEntry> {
        let entry =
            |length: &PauseFor| MenuEntry::choice(length.label(), TrayCommand::Pause(*length));
        let lengths = PauseFor::ALL.iter().map(entry).collect();
        match self.firing {
            FiringState::Off => Vec::new(),
            FiringState::On => vec![MenuEntry::Submenu("Pause all".to_owned(), lengths)],
            FiringState::Paused(_) => vec![
                MenuEntry::choice("Resume all jobs", TrayCommand::Resume),
                MenuEntry::Submenu("Pause longer".to_owned(), lengths),
            ],
        }
    }

    fn job_entries(&self) -> Vec<MenuEntry> {
        if self.jobs.is_empty() {
            return vec![MenuEntry::Label("No jobs yet".to_owned())];
        }
        let mut entries: Vec<MenuEntry> = self
            .jobs
            .iter()
            .take(MAX_JOBS)
            .map(|job| MenuEntry::Choice(short(&job.name), TrayCommand::Run(job.id.clone())))
            .collect();
        if self.jobs.len() > MAX_JOBS {
            entries.extend([MenuEntry::Separator, MenuEntry::open("All jobs", "/jobs")]);
        }
        entries
    }

    fn approval_entries(&self) -> Vec<MenuEntry> {
        let lines = self.approvals.iter().take(MAX_APPROVALS).map(|approval| {
            let review =
                MenuEntry::choice("Review", TrayCommand::Open(UiRoute::approval(&approval.id)));
            let decision = |label, is_allowed| {
                let id = approval.id.clone();
                MenuEntry::choice(label, TrayCommand::DecideApproval { id, is_allowed })
            };
            let mut choices = vec![review];
            if !approval.is_highest {
                choices.push(decision("Allow once", true));
            }
            choices.push(decision("Deny", false));
            MenuEntry::Submenu(format!("{} · {}", short(&approval.job), approval.call), choices)
        });
        let mut entries: Vec<MenuEntry> = lines.collect();
        if self.approvals.len() > MAX_APPROVALS {
            entries.extend([MenuEntry::Separator, MenuEntry::open("All approvals", "/approvals")]);
        }
        entries
    }

    fn stop_entries(&self) -> Vec<MenuEntry> {
        let lines = self.live.iter().take(MAX_LIVE);
        let mut entries: Vec<MenuEntry> = lines
            .map(|run| MenuEntry::Choice(self.run_label(run), TrayCommand::Stop(run.id.clone())))
            .collect();
        if self.live.len() > MAX_LIVE {
            entries.extend([MenuEntry::Separator, MenuEntry::open("All runs", "/runs")]);
        }
        entries
    }

    fn run_label(&self, run: &RunLine) -> String {
        let (name, at) = (short(&run.name), self.when(run.at));
        if run.is_between_attempts {
            return format!("○ {name} · retries at {at}");
        }
        let label = run.state.label().to_lowercase();
        let since = if run.state.is_final() { "" } else { " since" };
        format!("{} {name} · {label}{since} {at}", run.state.symbol())
    }

    fn run_entries(&self) -> Vec<MenuEntry> {
        if self.recent.is_empty() {
            return vec![MenuEntry::Label("No runs yet".to_owned())];
        }
        let lines = self.recent.iter().take(MAX_RUNS).map(|run| {
            MenuEntry::Choice(self.run_label(run), TrayCommand::Open(UiRoute::run(&run.id)))
        });
        lines.chain([MenuEntry::Separator, MenuEntry::open("All runs", "/runs")]).collect()
    }

    /// `14:00`, `tomorrow 07:30`, `Thursday 09:00`, `3 Jan 09:00`.
    fn when(&self, at: UnixMs) -> String {
        let (at, today) = (local(at, self.zone), local(self.now, self.zone).date_naive());
        let clock = at.format("%H:%M");
        match at.date_naive().signed_duration_since(today).num_days() {
            0 => clock.to_string(),
            1 => format!("tomorrow {clock}"),
            -1 => format!("yesterday {clock}"),
            2..7 => format!("{} {clock}", at.format("%A")),
            _ if at.year() == today.year() => at.format("%-d %b %H:%M").to_string(),
            _ => at.format("%-d %b %Y %H:%M").to_string(),
        }
    }
}

impl MenuEntry {
    fn choice(label: &str, command: TrayCommand) -> Self {
        Self::Choice(label.to_owned(), command)
    }

    fn open(label: &str, path: &'static str) -> Self {
        Self::choice(label, TrayCommand::Open(UiRoute::fixed(path)))
    }
}

pub(super) fn local(at: UnixMs, zone: Zone) -> DateTime<Zone> {
    at.to_utc().with_timezone(&zone)
}

/// Name on one line, shortened.
fn short(name: &str) -> String {
    let line: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = line.trim();
    if line.chars().count() <= MAX_NAME_CHARS {
        return line.to_owned();
    }
    let kept: String = line.chars().take(MAX_NAME_CHARS - 1).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
