//! Landlock rules: rights beneath paths, independent of the mounts.
//!
//! An additional lock, derived from the view and applied in the child, where the folders in memory exist. The first ABI version is
//! required; rights of later versions are used if the kernel has them. Never relied on for the network (datagrams and MPTCP pass): the
//! network namespace blocks it.

use std::ffi::CString;
use std::io;

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{Mode, OFlags};

use super::view::PathAccess;

/// The newest ABI version whose rights are used.
const NEWEST_ABI: ABI = ABI::V6;

/// Restricts this process and its descendants.
pub(super) fn apply(rules: &[(CString, PathAccess)]) -> io::Result<()> {
    let refused = |_: RulesetError| io::Error::from_raw_os_error(libc::EOPNOTSUPP);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
        .and_then(|ruleset| {
            ruleset
                .set_compatibility(CompatLevel::BestEffort)
                .handle_access(AccessFs::from_all(NEWEST_ABI))?
                .scope(Scope::from_all(NEWEST_ABI))?
                .create()
        })
        .map_err(refused)?;
    for (path, access) in rules {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let file = rustix::fs::open(path.as_c_str(), flags, Mode::empty())?;
        ruleset = ruleset.add_rule(PathBeneath::new(file, rights(*access))).map_err(refused)?;
    }
    match ruleset.restrict_self().map_err(refused)?.ruleset {
        RulesetStatus::NotEnforced => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
        RulesetStatus::PartiallyEnforced | RulesetStatus::FullyEnforced => Ok(()),
    }
}

fn rights(access: PathAccess) -> BitFlags<AccessFs> {
    let devices = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
    match access {
        PathAccess::List => AccessFs::ReadDir.into(),
        PathAccess::Read => AccessFs::ReadFile | AccessFs::ReadDir,
        PathAccess::Run => AccessFs::ReadFile | AccessFs::Execute,
        PathAccess::RunBeneath => AccessFs::from_read(NEWEST_ABI),
        PathAccess::Device => AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate,
        PathAccess::Write => AccessFs::from_all(NEWEST_ABI) & !devices,
    }
}
