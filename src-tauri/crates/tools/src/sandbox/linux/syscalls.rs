//! The system calls that a confined command cannot make (seccomp).
//!
//! A list of what is refused, not of what is allowed: programs of every kind run here, and the namespaces decide what
//! they reach. The list takes away what looks into other processes, makes or changes mounts and namespaces, makes a
//! set-user-id file, loads code into the kernel, or is a large and young part of it that ordinary programs do without. One could get it wrong by
//! comparing 64 bits where the kernel reads 32, or by forgetting that x86 has a second set of numbers.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

/// Refused whatever they are asked.
const REFUSED: &[i64] = &[
    // Other processes.
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
    // Files by handle, past every path.
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
    // The machine itself.
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

/// Files in memory that stand in no folder: nothing shows how large they are. What asks for them falls back to `/dev/shm`.
const FILES_OF_NOWHERE: &[i64] = &[libc::SYS_memfd_create, libc::SYS_memfd_secret];

/// System V's memory and semaphores stay when no process uses them, and are counted nowhere; so they are to be small.
/// The call, which of its arguments is the size, and the most.
const SYSTEM_V: &[(i64, u8, u64)] = &[(libc::SYS_shmget, 1, 64 << 10), (libc::SYS_semget, 1, 64)];

/// `clone` may make processes and threads, no namespaces.
const NAMESPACES: &[i32] = &[
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Sockets of these families stay inside the namespaces; of others, not all are known to.
const FAMILIES: &[i32] = &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6];

/// What sets the mode of a file, and which of its arguments that is. A file that a command has made belongs to the person, and
/// as a set-user-id one it would lend their rights to whoever else can run it.
const MODES: &[(i64, u8)] = &[
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

/// The number is the same on every processor.
const SYS_FCHMODAT2: i64 = 452;

/// What makes a file only where its flags say so: the call, its flags and its mode.
const OPENING: &[(i64, u8, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, 2),
    (libc::SYS_openat, 2, 3),
];

/// Putting words into the terminal of whoever started Rouse, and changing how it reads them.
const TERMINAL: &[u64] = &[libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCSETD];

/// The filters, in the order in which they are put on.
///
/// # Errors
/// Why there are none for this computer, in words.
pub(super) fn filters() -> Result<&'static [BpfProgram], String> {
    static MADE: OnceLock<Result<Vec<BpfProgram>, String>> = OnceLock::new();
    MADE.get_or_init(make).as_deref().map_err(Clone::clone)
}

fn make() -> Result<Vec<BpfProgram>, String> {
    let refused = compile(refused()?, libc::EPERM)?;
    let families = compile(
        BTreeMap::from([
            (libc::SYS_socket, vec![other_family()?]),
            (libc::SYS_socketpair, vec![other_family()?]),
        ]),
        libc::EAFNOSUPPORT,
    )?;
    // The arguments of these lie in memory, where a filter cannot look; what asks for them falls back to `clone` and `openat`.
    let not_there = FILES_OF_NOWHERE.iter().chain(&[libc::SYS_clone3, libc::SYS_openat2]);
    let not_there = compile(not_there.map(|number| (*number, Vec::new())).collect(), libc::ENOSYS)?;
    let too_large = |(number, argument, most): &(i64, u8, u64)| {
        Ok((*number, vec![rule_on(*argument, Length::Qword, Op::Gt, *most)?]))
    };
    let too_large: Result<_, String> = SYSTEM_V.iter().map(too_large).collect();
    let mut filters = vec![refused, families, not_there, compile(too_large?, libc::ENOSPC)?];
    filters.extend(second_numbers());
    Ok(filters)
}

fn refused() -> Result<BTreeMap<i64, Vec<SeccompRule>>, String> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().map(|number| (*number, Vec::new())).collect();
    let bits = NAMESPACES.iter().map(|flag| u64::from(flag.cast_unsigned()));
    let clone: Result<Vec<_>, _> = bits.map(|bit| rule(0, Op::MaskedEq(bit), bit)).collect();
    rules.insert(libc::SYS_clone, clone?);
    let terminal: Result<Vec<_>, _> =
        TERMINAL.iter().map(|request| rule(1, Op::Eq, *request)).collect();
    rules.insert(libc::SYS_ioctl, terminal?);
    let lends = u64::from(libc::S_ISUID);
    for (number, mode) in MODES {
        rules.insert(*number, vec![rule(*mode, Op::MaskedEq(lends), lends)?]);
    }
    for (number, flags, mode) in OPENING {
        let makes = [libc::O_CREAT, libc::O_TMPFILE].map(|flag| u64::from(flag.cast_unsigned()));
        let rule = |flag: u64| {
            let made = SeccompCondition::new(*flags, Length::Dword, Op::MaskedEq(flag), flag);
            let lent = SeccompCondition::new(*mode, Length::Dword, Op::MaskedEq(lends), lends);
            let both = vec![made.map_err(in_words)?, lent.map_err(in_words)?];
            SeccompRule::new(both).map_err(in_words)
        };
        rules.insert(*number, makes.map(rule).into_iter().collect::<Result<_, _>>()?);
    }
    Ok(rules)
}

/// A rule on one argument, of which the kernel reads 32 bits.
fn rule(argument: u8, op: Op, value: u64) -> Result<SeccompRule, String> {
    rule_on(argument, Length::Dword, op, value)
}

fn rule_on(argument: u8, length: Length, op: Op, value: u64) -> Result<SeccompRule, String> {
    let condition = SeccompCondition::new(argument, length, op, value).map_err(in_words)?;
    SeccompRule::new(vec![condition]).map_err(in_words)
}

fn other_family() -> Result<SeccompRule, String> {
    let other = |family: &i32| {
        SeccompCondition::new(0, Length::Dword, Op::Ne, u64::from(family.cast_unsigned()))
    };
    let conditions: Result<Vec<_>, _> = FAMILIES.iter().map(other).collect();
    SeccompRule::new(conditions.map_err(in_words)?).map_err(in_words)
}

fn compile(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) -> Result<BpfProgram, String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(in_words)?;
    let refusal = SeccompAction::Errno(errno.cast_unsigned());
    let filter =
        SeccompFilter::new(rules, SeccompAction::Allow, refusal, arch).map_err(in_words)?;
    filter.try_into().map_err(in_words)
}

fn in_words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// x86 has every call a second time, under numbers with this bit; no ordinary program uses them.
#[cfg(target_arch = "x86_64")]
fn second_numbers() -> Option<BpfProgram> {
    const BIT: u32 = 0x4000_0000;
    let load_number = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let at_least = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
    let answer = libc::BPF_RET | libc::BPF_K;
    let instruction =
        |code: u32, jt, jf, k| seccompiler::sock_filter { code: code as u16, jt, jf, k };
    Some(vec![
        instruction(load_number, 0, 0, 0),
        instruction(at_least, 0, 1, BIT),
        instruction(answer, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned()),
        instruction(answer, 0, 0, libc::SECCOMP_RET_ALLOW),
    ])
}

#[cfg(not(target_arch = "x86_64"))]
const fn second_numbers() -> Option<BpfProgram> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_is_one_that_the_kernel_takes() {
        let filters = filters().expect("filters for this processor");
        assert!(filters.len() >= 3);
        assert!(filters.iter().all(|filter| !filter.is_empty() && filter.len() < 4_096));
    }
}
