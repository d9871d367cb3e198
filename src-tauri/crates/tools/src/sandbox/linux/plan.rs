//! The plan of a sandbox: everything that the child needs, made before the fork.

use std::ffi::CString;
use std::path::Path;

use rustix::process::{Resource, Rlimit};
use seccompiler::BpfProgram;

use super::view::{FilesystemView, c_path};
use super::{report, seccomp_filters};
use crate::sandbox::error::{MissingLayer, SandboxError, SandboxLayer};
use crate::sandbox::spec::{Limits, Sandbox, capped_rlimit};

/// The proxy's port in the private network, which has no other service.
pub(super) const PROXY_PORT: u16 = 3_128;
/// Locked memory, which counts for each process.
const MAX_LOCKED_BYTES: u64 = 64 << 10;
/// The kernel's minimum of `pid_max`.
pub(super) const MIN_PID_MAX: u32 = 301;

/// The plan of a command's sandbox.
pub(super) struct SandboxPlan {
    pub(super) user_mapping: UserMapping,
    pub(super) view: FilesystemView,
    pub(super) limits: Vec<(Resource, Rlimit)>,
    /// `pid_max` of the namespace, for a user without a process limit.
    pub(super) max_pid: Option<Vec<u8>>,
    pub(super) proxy_port: Option<u16>,
    pub(super) folder: CString,
    pub(super) filters: &'static [BpfProgram],
}

/// Lines of `uid_map` and `gid_map`.
pub(super) struct UserMapping {
    pub(super) user: Vec<u8>,
    pub(super) group: Vec<u8>,
}

impl SandboxPlan {
    /// Plans `sandbox`; without a sandbox, a command without folders.
    pub(super) fn new(sandbox: Option<&Sandbox>) -> Result<Self, SandboxError> {
        let limits = sandbox.map(|sandbox| sandbox.limits).unwrap_or_default();
        let filters = seccomp_filters::filters().map_err(|why| MissingLayer {
            layer: SandboxLayer::Seccomp,
            why,
            remedy: "Filters exist for x86_64 and aarch64.".to_owned(),
        })?;
        let copies = sandbox.map_or(&[][..], |sandbox| &sandbox.sealed_files);
        let programs = sandbox.map_or(&[][..], |sandbox| &sandbox.extra_programs);
        let view = FilesystemView::new(sandbox, &limits)?;
        let has_hosts = sandbox.is_some_and(|sandbox| !sandbox.hosts.is_empty());
        Ok(Self {
            user_mapping: UserMapping::identity(),
            view: view.with_programs(programs)?.with_copies(copies)?,
            limits: resource_limits(&limits),
            max_pid: max_pid(&limits)?,
            proxy_port: has_hosts.then_some(PROXY_PORT),
            folder: c_path(sandbox.map_or(Path::new("/tmp"), |sandbox| &sandbox.folder))?,
            filters,
        })
    }
}

impl UserMapping {
    /// Maps the engine's user and group to themselves.
    fn identity() -> Self {
        let user = rustix::process::geteuid().as_raw();
        let group = rustix::process::getegid().as_raw();
        Self { user: format!("{user} {user} 1").into(), group: format!("{group} {group} 1").into() }
    }
}

fn resource_limits(limits: &Limits) -> Vec<(Resource, Rlimit)> {
    vec![
        // A limit of 1 byte also keeps the kernel from starting a crash handler by a pipe (core(5)).
        capped_rlimit(Resource::Core, 1),
        capped_rlimit(Resource::Data, limits.memory_bytes),
        capped_rlimit(Resource::Nproc, limits.processes.into()),
        // Privileges that a desktop grants for sound: locked memory and realtime priority.
        capped_rlimit(Resource::Memlock, MAX_LOCKED_BYTES),
        capped_rlimit(Resource::Rtprio, 0),
        capped_rlimit(Resource::Nice, 0),
    ]
}

/// The limit of process ids for root, exempt from the process limit. On older kernels this limit would apply to the
/// whole computer.
fn max_pid(limits: &Limits) -> Result<Option<Vec<u8>>, SandboxError> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let system = rustix::system::uname();
    let release = system.release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version < (6, 14) {
        let why = format!("this is Linux {release}");
        let remedy = report::ROOT_USER_REMEDY.to_owned();
        return Err(MissingLayer { layer: SandboxLayer::Limits, why, remedy }.into());
    }
    Ok(Some(limits.processes.max(MIN_PID_MAX).to_string().into()))
}
