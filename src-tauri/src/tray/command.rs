//! What can be chosen in the tray's menu, and the ids by which the menu gives it back.
//!
//! One could get it wrong by reading an id as if only our menu could send it: whatever does not read as a command is
//! none, and a place can only be shown.

use chrono::{Days, NaiveDate, NaiveTime, TimeZone as _};
use rouse_core::schedule::Zone;
use rouse_core::{ApprovalId, JobId, RunId, UnixMs};

use super::state::local;
use crate::place::Place;

/// What a choice does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    /// Shows the window as it was left.
    Show,
    /// Shows a page.
    Open(Place),
    /// Stops all firing for a while.
    Pause(PauseFor),
    /// Ends the pause.
    Resume,
    /// Runs a job now.
    Run(JobId),
    /// Stops a run.
    Stop(RunId),
    /// Answers a question.
    Answer(ApprovalId, bool),
    /// Ends the app.
    Quit,
}

/// How long a pause lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PauseFor {
    QuarterHour,
    Hour,
    UntilTomorrow,
    UntilResumed,
}

/// When "tomorrow" begins, as in the UI.
const MORNING: NaiveTime = NaiveTime::from_hms_opt(8, 0, 0).expect("BUG: 08:00 is a time");

impl Command {
    /// The command as the id of a menu item.
    pub(crate) fn to_id(&self) -> String {
        match self {
            Self::Show => "show".to_owned(),
            Self::Open(place) => format!("open:{place}"),
            Self::Pause(length) => format!("pause:{}", length.name()),
            Self::Resume => "resume".to_owned(),
            Self::Run(job) => format!("run:{job}"),
            Self::Stop(run) => format!("stop:{run}"),
            Self::Answer(question, true) => format!("allow:{question}"),
            Self::Answer(question, false) => format!("deny:{question}"),
            Self::Quit => "quit".to_owned(),
        }
    }

    /// The command of that id.
    pub(crate) fn from_id(id: &str) -> Option<Self> {
        let (verb, object) = id.split_once(':').unwrap_or((id, ""));
        match verb {
            "show" => Some(Self::Show),
            "open" => Place::parse(object).map(Self::Open),
            "pause" => PauseFor::from_name(object).map(Self::Pause),
            "resume" => Some(Self::Resume),
            "run" => Some(Self::Run(JobId::new(object))),
            "stop" => Some(Self::Stop(RunId::new(object))),
            "allow" | "deny" => Some(Self::Answer(ApprovalId::new(object), verb == "allow")),
            "quit" => Some(Self::Quit),
            _ => None,
        }
    }
}

impl PauseFor {
    const fn name(self) -> &'static str {
        match self {
            Self::QuarterHour => "quarterHour",
            Self::Hour => "hour",
            Self::UntilTomorrow => "tomorrow",
            Self::UntilResumed => "resumed",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        [Self::QuarterHour, Self::Hour, Self::UntilTomorrow, Self::UntilResumed]
            .into_iter()
            .find(|p| p.name() == name)
    }

    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::QuarterHour => "For 15 minutes",
            Self::Hour => "For 1 hour",
            Self::UntilTomorrow => "Until tomorrow",
            Self::UntilResumed => "Until resumed",
        }
    }

    /// When the pause ends by itself; none: never.
    pub(crate) fn until(self, now: UnixMs, zone: Zone) -> Option<UnixMs> {
        match self {
            Self::QuarterHour => Some(now.plus_ms(15 * 60_000)),
            Self::Hour => Some(now.plus_ms(60 * 60_000)),
            Self::UntilTomorrow => Some(tomorrow_morning(local(now, zone).date_naive(), zone)),
            Self::UntilResumed => None,
        }
    }
}

fn tomorrow_morning(today: NaiveDate, zone: Zone) -> UnixMs {
    let morning = today.checked_add_days(Days::new(1)).unwrap_or(today).and_time(MORNING);
    // No zone skips 08:00 today; where one ever did, the same words in UTC are near enough to end a pause.
    let at = zone.from_local_datetime(&morning).earliest();
    UnixMs::from(at.map_or_else(|| morning.and_utc(), |at| at.to_utc()))
}
