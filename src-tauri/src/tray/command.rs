//! Tray commands and their menu item ids.
//!
//! Pitfall: ids may come from other programs; unknown ids are ignored, and `open:` accepts only a
//! page of the UI.

use chrono::{Days, NaiveDate, NaiveTime, TimeZone as _};
use rouse_core::schedule::Zone;
use rouse_core::{ApprovalId, JobId, RunId, UnixMs};
use strum::{EnumString, IntoStaticStr, VariantArray};

use super::state::local;
use crate::ui_route::UiRoute;

/// Tray command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TrayCommand {
    /// Show the window.
    Show,
    /// Show a page.
    Open(UiRoute),
    /// Pause all jobs.
    Pause(PauseFor),
    /// Resume all jobs.
    Resume,
    /// Run a job now.
    Run(JobId),
    /// Cancel a run.
    Stop(RunId),
    /// Decide an approval.
    DecideApproval { id: ApprovalId, is_allowed: bool },
    /// Quit the app.
    Quit,
}

/// Pause duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, EnumString, VariantArray)]
#[strum(serialize_all = "camelCase")]
pub(crate) enum PauseFor {
    QuarterHour,
    Hour,
    #[strum(serialize = "tomorrow")]
    UntilTomorrow,
    #[strum(serialize = "resumed")]
    UntilResumed,
}

/// Start of "tomorrow", as in the UI.
const MORNING: NaiveTime = NaiveTime::from_hms_opt(8, 0, 0).expect("BUG: 08:00 is a time");

impl TrayCommand {
    /// Menu item id of the command.
    pub(crate) fn to_id(&self) -> String {
        match self {
            Self::Show => "show".to_owned(),
            Self::Open(route) => format!("open:{route}"),
            Self::Pause(length) => format!("pause:{}", <&str>::from(length)),
            Self::Resume => "resume".to_owned(),
            Self::Run(job) => format!("run:{job}"),
            Self::Stop(run) => format!("stop:{run}"),
            Self::DecideApproval { id, is_allowed: true } => format!("allow:{id}"),
            Self::DecideApproval { id, is_allowed: false } => format!("deny:{id}"),
            Self::Quit => "quit".to_owned(),
        }
    }

    /// Command of a menu item id.
    pub(crate) fn from_id(id: &str) -> Option<Self> {
        let (verb, object) = id.split_once(':').unwrap_or((id, ""));
        match verb {
            "show" => Some(Self::Show),
            "open" => UiRoute::parse(object).map(Self::Open),
            "pause" => object.parse().ok().map(Self::Pause),
            "resume" => Some(Self::Resume),
            "run" => Some(Self::Run(JobId::new(object))),
            "stop" => Some(Self::Stop(RunId::new(object))),
            "allow" | "deny" => Some(Self::DecideApproval {
                id: ApprovalId::new(object),
                is_allowed: verb == "allow",
            }),
            "quit" => Some(Self::Quit),
            _ => None,
        }
    }
}

impl PauseFor {
    /// All durations.
    pub(super) const ALL: &'static [Self] = Self::VARIANTS;

    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::QuarterHour => "For 15 minutes",
            Self::Hour => "For 1 hour",
            Self::UntilTomorrow => "Until tomorrow",
            Self::UntilResumed => "Until resumed",
        }
    }

    /// End of the pause; none if it must be resumed.
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
    // No known clock change skips 08:00. If one does, 08:00 UTC is close enough.
    let at = zone.from_local_datetime(&morning).earliest();
    UnixMs::from(at.map_or_else(|| morning.and_utc(), |at| at.to_utc()))
}
