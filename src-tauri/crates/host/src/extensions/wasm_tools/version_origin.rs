//! Where a version of a built tool comes from.

use rouse_core::RunId;

/// The origin of a version. The default is the own check of a person.
#[derive(Debug, Clone, Default)]
pub(in crate::extensions) struct VersionOrigin {
    /// The run that made the version.
    pub(in crate::extensions) run_id: Option<RunId>,
    /// Whether the run had read untrusted input.
    pub(in crate::extensions) is_tainted: bool,
    /// Why the component was not built.
    pub(in crate::extensions) build_error: Option<String>,
}
