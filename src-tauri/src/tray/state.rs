//! What the tray shows, as a pure function of what the gateway says.
//!
//! Owns the words, the order and the choice of icon. It refuses to read a clock (the gateway's answer carries `now`),
//! to keep anything between two readings, and to know any toolkit: `menu` turns the entries into a real menu. One could
//! get it wrong by writing how far away something is ("in 5 min"): the tray is drawn anew only when an event comes, so
//! only times of day stay true.

use chrono::{DateTime, Datelike as _};
use rouse_core::schedule::Zone;
use rouse_core::{ApprovalId, JobId, RunId, UnixMs};
use rouse_gateway::wire::RunState;

use super::command::{Command, PauseFor};
use crate::place::Place;

/// One reading of the engine.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Snapshot {
    /// The engine is not there yet.
    Starting,
    /// The engine could not start, or went away; in words.
    Failed(String),
    /// What it says.
    Ready(Box<Facts>),
}

/// What a working engine says about itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Facts {
    /// The engine's clock.
    pub(crate) now: UnixMs,
    /// The zone that people here live in.
    pub(crate) zone: Zone,
    /// Whether jobs fire.
    pub(crate) firing: Firing,
    /// Trouble that concerns everything, in words.
    pub(crate) problem: Option<String>,
    /// Whether a model is at hand.
    pub(crate) has_model: bool,
    /// Whether the engine lives in this process and ends with it.
    pub(crate) engine_is_ours: bool,
    /// Runs at work.
    pub(crate) running: u32,
    /// Runs that wait for their next attempt; nothing is at work for them.
    pub(crate) between_attempts: u32,
    /// Runs that wait.
    pub(crate) queued: u32,
    /// Enabled jobs whose newest run failed.
    pub(crate) failing: u32,
    /// The next slot of all.
    pub(crate) next: Option<NextSlot>,
    /// The first jobs, in the order in which they are offered; more than are shown when there are more.
    pub(crate) jobs: Vec<JobLine>,
    /// Runs that can be stopped: at work, waiting, or waiting for a person. More than are shown when there are more.
    pub(crate) live: Vec<RunLine>,
    /// Questions that wait for an answer, the first to expire first.
    pub(crate) questions: Vec<QuestionLine>,
    /// The newest runs, newest first.
    pub(crate) recent: Vec<RunLine>,
}

/// Whether jobs fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Firing {
    /// They do.
    On,
    /// The kill switch is thrown.
    Off,
    /// Until that instant, or until somebody resumes.
    Paused(Option<UnixMs>),
}

/// The next slot of all jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NextSlot {
    pub(crate) job: JobId,
    pub(crate) name: String,
    pub(crate) at: UnixMs,
}

/// A job that can be run from the tray.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobLine {
    pub(crate) id: JobId,
    pub(crate) name: String,
}

/// A question that can be answered from the tray.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QuestionLine {
    pub(crate) id: ApprovalId,
    pub(crate) job: String,
    /// The tool and what the call is about, as far as a menu has room.
    pub(crate) call: String,
    /// Of the highest class: it has to be looked at first.
    pub(crate) is_highest: bool,
}

/// A run that can be looked at from the tray.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunLine {
    pub(crate) id: RunId,
    pub(crate) name: String,
    pub(crate) state: RunState,
    /// Whether it waits for its next attempt, which its state calls running.
    pub(crate) is_between_attempts: bool,
    pub(crate) at: UnixMs,
}

/// Everything that is seen of the tray.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrayState {
    /// Which picture.
    pub(crate) icon: IconKind,
    /// What the pointer finds.
    pub(crate) tooltip: String,
    /// The menu, top down.
    pub(crate) menu: Vec<Entry>,
}

/// The pictures; they differ in shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IconKind {
    Idle,
    Running,
    Attention,
    Paused,
    Error,
}

/// One line of the menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    /// Words that cannot be chosen.
    Words(String),
    /// Something to choose.
    Choice(String, Command),
    /// A menu of its own.
    Submenu(String, Vec<Entry>),
    /// A line between groups.
    Separator,
}

/// Jobs offered under "Run now"; more than that is a page's work.
pub(crate) const MOST_JOBS: usize = 15;
/// Runs offered under "Recent runs".
pub(crate) const MOST_RUNS: usize = 5;
/// Runs offered under "Stop".
pub(crate) const MOST_LIVE: usize = 10;
/// Questions offered under "Needs you".
pub(crate) const MOST_QUESTIONS: usize = 5;
/// Names longer than this are cut, so that one job cannot make the menu as wide as the screen.
const LONGEST_NAME: usize = 40;
impl TrayState {
    /// What `snapshot` looks like.
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let facts = match snapshot {
            Snapshot::Starting => return Self::without_engine(IconKind::Idle, "Starting"),
            Snapshot::Failed(reason) => return Self::without_engine(IconKind::Error, reason),
            Snapshot::Ready(facts) => facts,
        };
        let headline = facts.headline();
        let next = facts.next_line();
        Self {
            icon: facts.icon(),
            tooltip: next
                .clone()
                .into_iter()
                .chain([headline.clone()])
                .collect::<Vec<_>>()
                .join(" · "),
            menu: facts.menu(headline, next),
        }
    }

    fn without_engine(icon: IconKind, words: &str) -> Self {
        let menu = vec![
            Entry::Words(words.to_owned()),
            Entry::Separator,
            Entry::choice("Open Rouse", Command::Show),
            Entry::Separator,
            Entry::choice("Quit Rouse", Command::Quit),
        ];
        Self { icon, tooltip: words.to_owned(), menu }
    }
}

impl Facts {
    fn icon(&self) -> IconKind {
        match (&self.problem, self.firing) {
            (Some(_), _) => IconKind::Error,
            (None, Firing::Off | Firing::Paused(_)) => IconKind::Paused,
            (None, Firing::On) if self.failing > 0 || !self.questions.is_empty() => {
                IconKind::Attention
            }
            (None, Firing::On) if self.running > 0 => IconKind::Running,
            (None, Firing::On) => IconKind::Idle,
        }
    }

    /// The state in one line. What stands in the next line ("Next: …") is not said twice.
    fn headline(&self) -> String {
        if let Some(problem) = &self.problem {
            return problem.clone();
        }
        let mut parts = vec![match self.firing {
            Firing::Off => "Switched off".to_owned(),
            Firing::Paused(None) => "Paused".to_owned(),
            Firing::Paused(Some(until)) => format!("Paused until {}", self.when(until)),
            Firing::On if self.running > 0 => format!("{} running", self.running),
            Firing::On if self.next.is_none() && !self.has_model => "No model yet".to_owned(),
            Firing::On if self.next.is_none() => "Nothing scheduled".to_owned(),
            Firing::On => "Nothing running".to_owned(),
        }];
        if self.running > 0 && self.firing != Firing::On {
            parts.push(format!("{} running", self.running));
        }
        match self.between_attempts {
            0 => {}
            1 => parts.push("1 waits for its next attempt".to_owned()),
            several => parts.push(format!("{several} wait for their next attempt")),
        }
        if self.queued > 0 {
            parts.push(format!("{} waiting", self.queued));
        }
        match self.questions.len() {
            0 => {}
            1 => parts.push("1 question".to_owned()),
            several => parts.push(format!("{several} questions")),
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
        let next = self.next.as_ref().filter(|_| self.firing == Firing::On)?;
        Some(format!("Next: {} {}", short(&next.name), self.when(next.at)))
    }

    fn menu(&self, headline: String, next_line: Option<String>) -> Vec<Entry> {
        let mut menu = vec![Entry::Words(headline)];
        if let (Some(line), Some(next)) = (next_line, &self.next) {
            menu.push(Entry::Choice(line, Command::Open(Place::job(&next.job))));
        }
        menu.push(Entry::Separator);
        if !self.questions.is_empty() {
            menu.push(Entry::Submenu("Needs you".to_owned(), self.question_entries()));
        }
        menu.extend(self.pause_entries());
        if !self.live.is_empty() {
            menu.push(Entry::Submenu("Stop".to_owned(), self.stop_entries()));
        }
        menu.push(Entry::Submenu("Run now".to_owned(), self.job_entries()));
        menu.push(Entry::Submenu("Recent runs".to_owned(), self.run_entries()));
        menu.push(Entry::open("New job…", "/jobs/new"));
        menu.push(Entry::Separator);
        menu.push(Entry::choice("Open Rouse", Command::Show));
        menu.push(Entry::open("Settings", "/settings"));
        menu.push(Entry::Separator);
        let quit = if self.engine_is_ours {
            "Quit Rouse (jobs will not run)"
        } else {
            "Quit Rouse (jobs keep running)"
        };
        menu.push(Entry::choice(quit, Command::Quit));
        menu
    }

    fn pause_entries(&self) -> Vec<Entry> {
        let lengths = [
            PauseFor::QuarterHour,
            PauseFor::Hour,
            PauseFor::UntilTomorrow,
            PauseFor::UntilResumed,
        ];
        let lengths =
            lengths.map(|length| Entry::choice(length.label(), Command::Pause(length))).to_vec();
        match self.firing {
            Firing::Off => Vec::new(),
            Firing::On => vec![Entry::Submenu("Pause all".to_owned(), lengths)],
            Firing::Paused(_) => vec![
                Entry::choice("Resume all jobs", Command::Resume),
                Entry::Submenu("Pause longer".to_owned(), lengths),
            ],
        }
    }

    fn job_entries(&self) -> Vec<Entry> {
        if self.jobs.is_empty() {
            return vec![Entry::Words("No jobs yet".to_owned())];
        }
        let mut entries: Vec<Entry> = self
            .jobs
            .iter()
            .take(MOST_JOBS)
            .map(|job| Entry::Choice(short(&job.name), Command::Run(job.id.clone())))
            .collect();
        if self.jobs.len() > MOST_JOBS {
            entries.extend([Entry::Separator, Entry::open("All jobs", "/jobs")]);
        }
        entries
    }

    fn question_entries(&self) -> Vec<Entry> {
        let lines = self.questions.iter().take(MOST_QUESTIONS).map(|question| {
            let look = Entry::choice("Look", Command::Open(Place::approval(&question.id)));
            let answer =
                |label, yes| Entry::choice(label, Command::Answer(question.id.clone(), yes));
            let mut answers = vec![look];
            if !question.is_highest {
                answers.push(answer("Allow once", true));
            }
            answers.push(answer("Deny", false));
            Entry::Submenu(format!("{} · {}", short(&question.job), question.call), answers)
        });
        let mut entries: Vec<Entry> = lines.collect();
        if self.questions.len() > MOST_QUESTIONS {
            entries.extend([Entry::Separator, Entry::open("All questions", "/approvals")]);
        }
        entries
    }

    fn stop_entries(&self) -> Vec<Entry> {
        let lines = self.live.iter().take(MOST_LIVE);
        let mut entries: Vec<Entry> = lines
            .map(|run| Entry::Choice(self.run_label(run), Command::Stop(run.id.clone())))
            .collect();
        if self.live.len() > MOST_LIVE {
            entries.extend([Entry::Separator, Entry::open("All runs", "/runs")]);
        }
        entries
    }

    fn run_label(&self, run: &RunLine) -> String {
        let (glyph, word) = match run.is_between_attempts {
            true => ('○', "waits for its next attempt until"),
            false => glyph_and_word(run.state),
        };
        format!("{glyph} {} · {word} {}", short(&run.name), self.when(run.at))
    }

    fn run_entries(&self) -> Vec<Entry> {
        if self.recent.is_empty() {
            return vec![Entry::Words("No runs yet".to_owned())];
        }
        let lines = self
            .recent
            .iter()
            .take(MOST_RUNS)
            .map(|run| Entry::Choice(self.run_label(run), Command::Open(Place::run(&run.id))));
        lines.chain([Entry::Separator, Entry::open("All runs", "/runs")]).collect()
    }

    /// A time as people say it: `14:00`, `tomorrow 07:30`, `Thursday 09:00`, `3 Jan 09:00`.
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

impl Entry {
    fn choice(label: &str, command: Command) -> Self {
        Self::Choice(label.to_owned(), command)
    }

    fn open(label: &str, path: &'static str) -> Self {
        Self::choice(label, Command::Open(Place::fixed(path)))
    }
}

pub(super) fn local(at: UnixMs, zone: Zone) -> DateTime<Zone> {
    at.to_utc().with_timezone(&zone)
}

/// A name fit for a menu: one line, not too wide.
fn short(name: &str) -> String {
    let line: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = line.trim();
    if line.chars().count() <= LONGEST_NAME {
        return line.to_owned();
    }
    let kept: String = line.chars().take(LONGEST_NAME - 1).collect();
    format!("{}…", kept.trim_end())
}

const fn glyph_and_word(state: RunState) -> (char, &'static str) {
    match state {
        RunState::Queued => ('○', "waiting since"),
        RunState::Running => ('◔', "running since"),
        RunState::AwaitingApproval => ('✋', "needs you since"),
        RunState::Succeeded => ('✓', "done"),
        RunState::NothingToReport => ('–', "nothing to report"),
        RunState::Failed => ('✗', "failed"),
        RunState::TimedOut => ('✗', "timed out"),
        RunState::Cancelled => ('■', "cancelled"),
        RunState::Skipped => ('⊘', "skipped"),
        RunState::Missed => ('◌', "missed"),
        RunState::Interrupted => ('╌', "interrupted"),
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
