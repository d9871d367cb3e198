//! The steps of `cargo xtask test`: names, order and dependencies.
//!
//! Owns the list; `step_commands` runs the steps. Pitfall: an undeclared dependency; `--only` would use an old build.

/// A step; the order is that of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckStep {
    Packages,
    Fmt,
    UiInstall,
    UiFmt,
    UiBuild,
    UiLint,
    UiTypes,
    UiTests,
    Clippy,
    Build,
    Types,
    Peers,
    Rust,
    DocTests,
    Docs,
    E2e,
}

impl CheckStep {
    pub(crate) const ALL: &[Self] = &[
        Self::Packages,
        Self::Fmt,
        Self::UiInstall,
        Self::UiFmt,
        Self::UiBuild,
        Self::UiLint,
        Self::UiTypes,
        Self::UiTests,
        Self::Clippy,
        Self::Build,
        Self::Types,
        Self::Peers,
        Self::Rust,
        Self::DocTests,
        Self::Docs,
        Self::E2e,
    ];

    /// The name for `--only`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Packages => "packages",
            Self::Fmt => "fmt",
            Self::UiInstall => "ui-install",
            Self::UiFmt => "ui-fmt",
            Self::UiBuild => "ui-build",
            Self::UiLint => "ui-lint",
            Self::UiTypes => "ui-types",
            Self::UiTests => "ui-tests",
            Self::Clippy => "clippy",
            Self::Build => "build",
            Self::Types => "types",
            Self::Peers => "peers",
            Self::Rust => "rust",
            Self::DocTests => "doc-tests",
            Self::Docs => "docs",
            Self::E2e => "e2e",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Packages => "System packages and Rust components",
            Self::Fmt => "Rust is formatted",
            Self::UiInstall => "UI packages are installed",
            Self::UiFmt => "UI is formatted",
            Self::UiBuild => "UI builds",
            Self::UiLint => "UI passes its linter",
            Self::UiTypes => "UI passes the type checker",
            Self::UiTests => "UI unit tests",
            Self::Clippy => "Rust passes clippy, and the lock file of fuzz is up to date",
            Self::Build => "Rust builds, with all tests",
            Self::Types => "TypeScript types match the gateway",
            Self::Peers => "peers of the Rust tests are installed",
            Self::Rust => "Rust tests",
            Self::DocTests => "Rust doc tests",
            Self::Docs => "Rust documentation has no broken links",
            Self::E2e => "UI end-to-end tests",
        }
    }

    /// The steps that must succeed before.
    pub(crate) fn dependencies(self) -> &'static [Self] {
        match self {
            // No dependency of the Rust tests: without a network, only the tests of the peers fail.
            Self::Packages | Self::Fmt | Self::UiInstall | Self::Peers => &[],
            Self::UiFmt | Self::UiBuild | Self::UiLint | Self::UiTypes | Self::UiTests => {
                &[Self::UiInstall]
            }
            // The app and the gateway embed ui/dist.
            Self::Clippy | Self::Build | Self::Docs => &[Self::UiBuild],
            Self::Types | Self::Rust | Self::DocTests => &[Self::Build],
            Self::E2e => &[Self::UiInstall, Self::Build],
        }
    }

    pub(crate) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|step| step.name() == name)
    }

    /// These steps with their dependencies, in order.
    pub(crate) fn with_dependencies(selected: &[Self]) -> Vec<Self> {
        Self::ALL
            .iter()
            .copied()
            .filter(|step| selected.iter().any(|other| other.depends_on(*step)))
            .collect()
    }

    fn depends_on(self, other: Self) -> bool {
        self == other || self.dependencies().iter().any(|dependency| dependency.depends_on(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_follows_its_dependencies() {
        for (position, step) in CheckStep::ALL.iter().enumerate() {
            for dependency in step.dependencies() {
                assert!(
                    CheckStep::ALL[..position].contains(dependency),
                    "{step:?} runs before {dependency:?}"
                );
            }
        }
    }

    #[test]
    fn step_names_are_unique() {
        for step in CheckStep::ALL {
            assert_eq!(CheckStep::by_name(step.name()), Some(*step));
        }
        assert_eq!(CheckStep::by_name("no-such-step"), None);
    }

    #[test]
    fn selected_step_includes_its_dependencies() {
        assert_eq!(CheckStep::with_dependencies(&[CheckStep::Fmt]), [CheckStep::Fmt]);
        assert_eq!(
            CheckStep::with_dependencies(&[CheckStep::Rust]),
            [CheckStep::UiInstall, CheckStep::UiBuild, CheckStep::Build, CheckStep::Rust]
        );
        assert_eq!(
            CheckStep::with_dependencies(&[CheckStep::Rust, CheckStep::Fmt])[0],
            CheckStep::Fmt
        );
    }
}
