//! Notices about the settings file.

use rouse_gateway::wire::ConfigView;

use super::text::escape;
use crate::resolve::settings::is_changed_on_disk;

/// The notice about an unreadable file, or a change since the engine read the file.
pub(crate) fn file_notice(view: &ConfigView) -> Option<String> {
    if let Some(problem) = &view.problem {
        return Some(format!("{}. The settings from before remain active.", escape(problem)));
    }
    let path = escape(&view.path);
    is_changed_on_disk(view)
        .then(|| format!("{path} was changed since the start; restart Rouse to apply the change"))
}
