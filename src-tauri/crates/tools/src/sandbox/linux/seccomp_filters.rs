//! Seccomp filters: system calls that a sandboxed command cannot make.
//!
//! A deny list, because programs of every kind run here and the namespaces decide what they reach. Denies calls that inspect other
//! processes, change mounts or namespaces, create set-user-id files, load kernel code, or use large and young parts of the kernel that
//! ordinary programs do not need. Pitfall: to compare 64 bits where the kernel reads 32; to forget the second set of numbers on x86.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

/// Denied with any arguments.
const DENIED: &[i64] = &[
    // Access to other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    // Files by handle, which bypasses every path.
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // Keys.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // Large and young parts of the kernel.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_vmsplice,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Control of the machine.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
];

/// Files in memory outside every folder, with an invisible size. Programs fall back to `/dev/shm`.
const ANONYMOUS_FILES: &[i64] = &[libc::SYS_memfd_create, libc::SYS_memfd_secret];

/// System V memory and semaphores, which outlive their processes uncounted: number of the call, index and limit of the
/// size argument.
const SYSTEM_V_LIMITS: &[(i64, u8, u64)] =
    &[(libc::SYS_shmget, 1, 64 << 10), (libc::SYS_semget, 1, 64)];

/// Denied flags of `clone`.
const NAMESPACE_FLAGS: &[i32] = &[
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Allowed socket families, which stay inside the namespaces.
const SOCKET_FAMILIES: &[i32] = &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6];

/// Calls that set a file's mode, and the index of that argument. A set-user-id file of the command would run with the person's rights.
const MODE_CALLS: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (SYS_FCHMODAT2, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
];

/// The same number on every processor.
const SYS_FCHMODAT2: i64 = 452;

/// Calls that create a file by their flags: number, and the indices of flags and mode.
const OPEN_CALLS: &[(i64, u8, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, 2),
    (libc::SYS_openat, 2, 3),
];

/// Requests that inject input into the terminal from which Rouse was started, or reconfigure it.
const TERMINAL_REQUESTS: &[u64] = &[libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCSETD];

/// The filters, in the order of their application.
///
/// # Errors
/// The reason why this processor has none.
pub(super) fn filters() -> Result<&'static [BpfProgram], String> {
    static FILTERS: OnceLock<Result<Vec<BpfProgram>, String>> = OnceLock::new();
    FILTERS.get_or_init(build_filters).as_deref().map_err(Clone::clone)
}

fn build_filters() -> Result<Vec<BpfProgram>, String> {
    let denied = compile(denied_rules()?, libc::EPERM)?;
    let families = compile(
        BTreeMap::from([
            (libc::SYS_socket, vec![other_family_rule()?]),
            (libc::SYS_socketpair, vec![other_family_rule()?]),
        ]),
        libc::EAFNOSUPPORT,
    )?;
    // The arguments of clone3 and openat2 lie in memory, out of a filter's sight; programs fall back to `clone` and `openat`.
    let unknown = ANONYMOUS_FILES.iter().chain(&[libc::SYS_clone3, libc::SYS_openat2]);
    let unknown = compile(unknown.map(|number| (*number, Vec::new())).collect(), libc::ENOSYS)?;
    let size_rule = |(number, argument, max): &(i64, u8, u64)| {
        Ok((*number, vec![argument_rule(*argument, Length::Qword, Op::Gt, *max)?]))
    };
    let too_large: Result<_, String> = SYSTEM_V_LIMITS.iter().map(size_rule).collect();
    let mut filters = vec![denied, families, unknown, compile(too_large?, libc::ENOSPC)?];
    filters.extend(x32_filter());
    Ok(filters)
}

fn denied_rules() -> Result<BTreeMap<i64, Vec<SeccompRule>>, String> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        DENIED.iter().map(|number| (*number, Vec::new())).collect();
    let bits = NAMESPACE_FLAGS.iter().map(|flag| u64::from(flag.cast_unsigned()));
    let clone: Result<Vec<_>, _> =
        bits.map(|bit| argument_rule(0, Length::Dword, Op::MaskedEq(bit), bit)).collect();
    rules.insert(libc::SYS_clone, clone?);
    let terminal: Result<Vec<_>, _> = TERMINAL_REQUESTS
        .iter()
        .map(|request| argument_rule(1, Length::Dword, Op::Eq, *request))
        .collect();
    rules.insert(libc::SYS_ioctl, terminal?);
    let setuid = u64::from(libc::S_ISUID);
    for (number, mode) in MODE_CALLS {
        let rule = argument_rule(*mode, Length::Dword, Op::MaskedEq(setuid), setuid)?;
        rules.insert(*number, vec![rule]);
    }
    for (number, flags, mode) in OPEN_CALLS {
        let creates = [libc::O_CREAT, libc::O_TMPFILE].map(|flag| u64::from(flag.cast_unsigned()));
        let rule = |flag: u64| {
            let creating = SeccompCondition::new(*flags, Length::Dword, Op::MaskedEq(flag), flag);
            let setuid = SeccompCondition::new(*mode, Length::Dword, Op::MaskedEq(setuid), setuid);
            let both = vec![creating.map_err(to_message)?, setuid.map_err(to_message)?];
            SeccompRule::new(both).map_err(to_message)
        };
        rules.insert(*number, creates.map(rule).into_iter().collect::<Result<_, _>>()?);
    }
    Ok(rules)
}

/// A rule on a single argument. `length` is the number of bits that the kernel reads.
fn argument_rule(argument: u8, length: Length, op: Op, value: u64) -> Result<SeccompRule, String> {
    let condition = SeccompCondition::new(argument, length, op, value).map_err(to_message)?;
    SeccompRule::new(vec![condition]).map_err(to_message)
}

fn other_family_rule() -> Result<SeccompRule, String> {
    let other = |family: &i32| {
        SeccompCondition::new(0, Length::Dword, Op::Ne, u64::from(family.cast_unsigned()))
    };
    let conditions: Result<Vec<_>, _> = SOCKET_FAMILIES.iter().map(other).collect();
    SeccompRule::new(conditions.map_err(to_message)?).map_err(to_message)
}

fn compile(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) -> Result<BpfProgram, String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(to_message)?;
    let refusal = SeccompAction::Errno(errno.cast_unsigned());
    let filter =
        SeccompFilter::new(rules, SeccompAction::Allow, refusal, arch).map_err(to_message)?;
    filter.try_into().map_err(to_message)
}

fn to_message(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Denies the x32 numbers: x86 has every call a second time, with this bit set.
#[cfg(target_arch = "x86_64")]
fn x32_filter() -> Option<BpfProgram> {
    const X32_BIT: u32 = 0x4000_0000;
    let load_number = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let jump_if_at_least = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
    let answer = libc::BPF_RET | libc::BPF_K;
    let instruction =
        |code: u32, jt, jf, k| seccompiler::sock_filter { code: code as u16, jt, jf, k };
    Some(vec![
        instruction(load_number, 0, 0, 0),
        instruction(jump_if_at_least, 0, 1, X32_BIT),
        instruction(answer, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned()),
        instruction(answer, 0, 0, libc::SECCOMP_RET_ALLOW),
    ])
}

#[cfg(not(target_arch = "x86_64"))]
const fn x32_filter() -> Option<BpfProgram> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_is_accepted_by_the_kernel() {
        let filters = filters().expect("filters for this processor");
        assert!(filters.len() >= 3);
        assert!(filters.iter().all(|filter| !filter.is_empty() && filter.len() < 4_096));
    }
}
