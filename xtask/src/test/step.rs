//! The steps of `cargo xtask test`: their names, their order, and which of them needs which.
//!
//! Owns the list. Refuses to know how a step is done; that stands in `work`. One could get it wrong by letting a step rely
//! on an earlier one without naming it in `needs`: `--only` would then run it on yesterday's build.

/// One step. The order here is the order of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Packages,
    Fmt,
    UiInstall,
    UiBuild,
    UiLint,
    UiTypes,
    UiTests,
    Clippy,
    Build,
    Types,
    Rust,
    DocTests,
    Docs,
    E2e,
}

impl Step {
    pub(crate) const ALL: &[Self] = &[
        Self::Packages,
        Self::Fmt,
        Self::UiInstall,
        Self::UiBuild,
        Self::UiLint,
        Self::UiTypes,
        Self::UiTests,
        Self::Clippy,
        Self::Build,
        Self::Types,
        Self::Rust,
        Self::DocTests,
        Self::Docs,
        Self::E2e,
    ];

    /// The word for `--only`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Packages => "packages",
            Self::Fmt => "fmt",
            Self::UiInstall => "ui-install",
            Self::UiBuild => "ui-build",
            Self::UiLint => "ui-lint",
            Self::UiTypes => "ui-types",
            Self::UiTests => "ui-tests",
            Self::Clippy => "clippy",
            Self::Build => "build",
            Self::Types => "types",
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
            Self::UiBuild => "UI builds",
            Self::UiLint => "UI passes its linter",
            Self::UiTypes => "UI passes the type checker",
            Self::UiTests => "UI unit tests",
            Self::Clippy => "Rust passes clippy, and the lock file of fuzz is up to date",
            Self::Build => "Rust builds, with all tests",
            Self::Types => "TypeScript types match the gateway",
            Self::Rust => "Rust tests",
            Self::DocTests => "Rust doc tests",
            Self::Docs => "Rust documentation has no broken links",
            Self::E2e => "UI end-to-end tests",
        }
    }

    /// Steps without which this one cannot tell anything.
    pub(crate) fn needs(self) -> &'static [Self] {
        match self {
            Self::Packages | Self::Fmt | Self::UiInstall => &[],
            Self::UiBuild | Self::UiLint | Self::UiTypes | Self::UiTests => &[Self::UiInstall],
            // The app and the gateway take ui/dist into their binaries.
            Self::Clippy | Self::Build | Self::Docs => &[Self::UiBuild],
            Self::Types | Self::Rust | Self::DocTests => &[Self::Build],
            Self::E2e => &[Self::UiInstall, Self::Build],
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|step| step.name() == name)
    }

    /// These steps and all that they need, in the order of the run.
    pub(crate) fn with_needs(wanted: &[Self]) -> Vec<Self> {
        Self::ALL
            .iter()
            .copied()
            .filter(|step| wanted.iter().any(|want| want.rests_on(*step)))
            .collect()
    }

    fn rests_on(self, other: Self) -> bool {
        self == other || self.needs().iter().any(|need| need.rests_on(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_comes_after_what_it_needs() {
        for (place, step) in Step::ALL.iter().enumerate() {
            for need in step.needs() {
                assert!(Step::ALL[..place].contains(need), "{step:?} runs before {need:?}");
            }
        }
    }

    #[test]
    fn names_are_unique_and_found() {
        for step in Step::ALL {
            assert_eq!(Step::named(step.name()), Some(*step));
        }
        assert_eq!(Step::named("no-such-step"), None);
    }

    #[test]
    fn asking_for_one_step_brings_what_it_needs() {
        assert_eq!(Step::with_needs(&[Step::Fmt]), [Step::Fmt]);
        assert_eq!(
            Step::with_needs(&[Step::Rust]),
            [Step::UiInstall, Step::UiBuild, Step::Build, Step::Rust]
        );
        assert_eq!(Step::with_needs(&[Step::Rust, Step::Fmt])[0], Step::Fmt);
    }
}
