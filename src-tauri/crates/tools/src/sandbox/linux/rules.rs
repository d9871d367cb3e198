//! Landlock: what may be done beneath which path, whatever the mounts say.
//!
//! A second lock on the same doors. It is built from the view, in the child, because the folders in memory exist only
//! there. The first version of it is a must, what later versions add is taken where the kernel has it. It does not cut
//! the network (datagrams and MPTCP pass it); the network namespace does.

use std::ffi::CString;
use std::io;

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{Mode, OFlags};

use super::view::Access;

/// The newest version whose rights are all wanted here.
const NEWEST: ABI = ABI::V6;

/// Puts the rules on this process and all that it starts.
pub(super) fn apply(rules: &[(CString, Access)]) -> io::Result<()> {
    let refused = |_: RulesetError| io::Error::from_raw_os_error(libc::EOPNOTSUPP);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
        .and_then(|ruleset| {
            ruleset
                .set_compatibility(CompatLevel::BestEffort)
                .handle_access(AccessFs::from_all(NEWEST))?
                .scope(Scope::from_all(NEWEST))?
                .create()
        })
        .map_err(refused)?;
    for (path, access) in rules {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let place = rustix::fs::open(path.as_c_str(), flags, Mode::empty())?;
        ruleset = ruleset.add_rule(PathBeneath::new(place, rights(*access))).map_err(refused)?;
    }
    match ruleset.restrict_self().map_err(refused)?.ruleset {
        RulesetStatus::NotEnforced => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
        RulesetStatus::PartiallyEnforced | RulesetStatus::FullyEnforced => Ok(()),
    }
}

fn rights(access: Access) -> BitFlags<AccessFs> {
    let devices = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
    match access {
        Access::List => AccessFs::ReadDir.into(),
        Access::Read => AccessFs::ReadFile | AccessFs::ReadDir,
        Access::Run => AccessFs::ReadFile | AccessFs::Execute,
        Access::RunBeneath => AccessFs::from_read(NEWEST),
        Access::Device => AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate,
        Access::Write => AccessFs::from_all(NEWEST) & !devices,
    }
}
