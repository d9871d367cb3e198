//! An attacker inside the sandbox: this test program, copied into the workspace, makes raw system calls.

use std::io::Write as _;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use super::*;

mod fill;

const NAME: &str = "sandbox::system::tests::attacker::inside";

impl SandboxFixture {
    /// A line that starts the attacker with these arguments.
    pub(super) fn attacker(&self, what: &str) -> String {
        let own = std::env::current_exe().expect("a program");
        // Copied by another process: a file that any test of this process holds open for writing cannot be executed.
        let copied =
            Command::new("cp").arg(own).arg(self.sandbox.workspace.join("attacker")).status();
        assert!(copied.expect("cp runs").success());
        format!("ATTACK='{what}' ./attacker --exact {NAME} --nocapture --test-threads=1")
    }
}

/// The attacker itself. Without arguments, a passing test.
#[test]
fn inside() {
    let Ok(what) = std::env::var("ATTACK") else { return };
    let mut words = what.split(' ');
    match (words.next(), words.next(), words.next()) {
        (Some("calls"), _, _) => calls(),
        (Some("fill"), Some(how), Some(megabytes)) => fill::fill(how, number(megabytes)),
        (Some("network"), Some(tcp), Some(udp)) => network(number(tcp), number(udp), words.next()),
        (Some("proxy"), Some(target), Some(path)) => proxy::ask(target, path),
        _ => panic!("{what}"),
    }
}

fn number(text: &str) -> u16 {
    text.parse().expect("a number")
}

fn print_result(name: &str, result: libc::c_long) {
    let errno = if result < 0 { io::Error::last_os_error().raw_os_error().unwrap_or(0) } else { 0 };
    writeln!(io::stdout(), "\n!{name}={errno}").expect("written");
}

/// The attacker's results by name; 0 is success.
fn parse_results(text: &str) -> Vec<(&str, i32)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix('!')?.split_once('='));
    lines.map(|(name, errno)| (name, errno.parse().expect("a number"))).collect()
}

/// Calls with harmless or invalid arguments: a filter answers before the kernel reads the arguments.
fn plain_calls() -> Vec<(&'static str, libc::c_long, [libc::c_long; 3])> {
    vec![
        ("ptrace-attach", libc::SYS_ptrace, [libc::PTRACE_ATTACH.into(), 1, 0]),
        ("ptrace-me", libc::SYS_ptrace, [libc::PTRACE_TRACEME.into(), 0, 0]),
        ("read-memory", libc::SYS_process_vm_readv, [1, 0, 0]),
        ("write-memory", libc::SYS_process_vm_writev, [1, 0, 0]),
        ("take-descriptor", libc::SYS_pidfd_getfd, [0, 0, 0]),
        ("mount", libc::SYS_mount, [0, 0, 0]),
        ("unmount", libc::SYS_umount2, [0, 0, 0]),
        ("open-tree", libc::SYS_open_tree, [-100, 0, 1]),
        ("fsopen", libc::SYS_fsopen, [0, 0, 0]),
        ("chroot", libc::SYS_chroot, [0, 0, 0]),
        ("pivot-root", libc::SYS_pivot_root, [0, 0, 0]),
        ("unshare-users", libc::SYS_unshare, [libc::CLONE_NEWUSER.into(), 0, 0]),
        ("setns", libc::SYS_setns, [0, 0, 0]),
        ("clone-users", libc::SYS_clone, [(libc::CLONE_NEWUSER | libc::SIGCHLD).into(), 0, 0]),
        ("keyctl", libc::SYS_keyctl, [0, -3, 0]),
        ("add-key", libc::SYS_add_key, [0, 0, 0]),
        ("bpf", libc::SYS_bpf, [0, 0, 0]),
        ("perf", libc::SYS_perf_event_open, [0, 0, 0]),
        ("userfaultfd", libc::SYS_userfaultfd, [0, 0, 0]),
        ("pin-pages", libc::SYS_vmsplice, [0, 0, 0]),
        ("io-uring", libc::SYS_io_uring_setup, [1, 0, 0]),
        ("kexec", libc::SYS_kexec_load, [0, 0, 0]),
        ("module", libc::SYS_finit_module, [0, 0, 0]),
        ("handle", libc::SYS_open_by_handle_at, [0, 0, 0]),
        ("terminal", libc::SYS_ioctl, [0, libc::TIOCSTI as libc::c_long, 0]),
        ("terminal-high", libc::SYS_ioctl, [0, libc::TIOCSTI as libc::c_long | (1 << 40), 0]),
    ]
}

const FAMILIES: [(&str, i32, i32); 4] = [
    ("netlink", libc::AF_NETLINK, libc::SOCK_RAW),
    ("vsock", libc::AF_VSOCK, libc::SOCK_STREAM),
    ("packet", libc::AF_PACKET, libc::SOCK_RAW),
    ("kernel-crypto", libc::AF_ALG, libc::SOCK_SEQPACKET),
];

fn calls() {
    for (name, call, [a, b, c]) in plain_calls() {
        // SAFETY: numbers and null only; a permitted call fails or is harmless. The shell ends a child of `clone`.
        let result = unsafe { libc::syscall(call, a, b, c, 0, 0, 0) };
        if name == "clone-users" && result == 0 {
            sys::exit(0);
        }
        print_result(name, result);
    }
    for (name, family, kind) in FAMILIES {
        // SAFETY: numbers only.
        print_result(name, unsafe { libc::socket(family, kind, 0) }.into());
    }
    // SAFETY: as above; x32 numbers, anonymous files, and calls with arguments in memory.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        print_result("second-ptrace", libc::syscall(0x4000_0000 | 521, 0, 0, 0));
        print_result("clone3", libc::syscall(libc::SYS_clone3, 0, 0));
        print_result("memfd", libc::syscall(libc::SYS_memfd_create, c"x".as_ptr(), 0));
        print_result("secret-memfd", libc::syscall(libc::SYS_memfd_secret, 0));
        print_result("segment", libc::shmget(libc::IPC_PRIVATE, 1 << 20, 0o600).into());
        print_result("small-segment", libc::shmget(libc::IPC_PRIVATE, 4_096, 0o600).min(0).into());
        print_result("semaphores", libc::semget(libc::IPC_PRIVATE, 32_000, 0o600).into());
        let device = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        print_result("device", device.into());
        print_result("device-control", libc::ioctl(device, 0x1234).into());
        print_result(
            "make-device",
            libc::mknod(c"device".as_ptr(), libc::S_IFCHR | 0o600, libc::makedev(1, 3)).into(),
        );
        print_result("make-file", libc::close(libc::creat(c"mine".as_ptr(), 0o600)).into());
        print_result("plain-mode", libc::chmod(c"mine".as_ptr(), 0o755).into());
        print_result("lend-rights", libc::chmod(c"mine".as_ptr(), 0o4755).into());
        print_result("lend-at", libc::fchmodat(libc::AT_FDCWD, c"mine".as_ptr(), 0o4755, 0).into());
        print_result(
            "lend-new",
            libc::open(c"born".as_ptr(), libc::O_CREAT | libc::O_WRONLY, 0o4755).into(),
        );
        print_result("become-root", if libc::getuid() == 0 { -1 } else { libc::setuid(0) }.into());
        print_result("engine-memory", libc::open(c"/proc/1/mem".as_ptr(), libc::O_RDONLY).into());
        print_result("signal-all", libc::kill(1, libc::SIGKILL).into());
    }
}

#[tokio::test]
async fn unneeded_system_calls_are_denied() {
    let fixture = SandboxFixture::new();
    let line = fixture.attacker("calls");
    let Some(output) = fixture.output_of(&line).await else { return };
    let results = parse_results(&output);
    let errno =
        |name: &str| results.iter().find(|(known, _)| *known == name).map(|(_, errno)| *errno);
    for (name, ..) in plain_calls() {
        assert_eq!(errno(name), Some(libc::EPERM), "{name}");
    }
    for (name, ..) in FAMILIES {
        assert_eq!(errno(name), Some(libc::EAFNOSUPPORT), "{name}");
    }
    for name in ["clone3", "memfd", "secret-memfd"] {
        assert_eq!(errno(name), Some(libc::ENOSYS), "{name}");
    }
    assert_eq!(errno("small-segment"), Some(0));
    for name in ["segment", "semaphores"] {
        assert_eq!(errno(name), Some(libc::ENOSPC), "{name}");
    }
    if cfg!(target_arch = "x86_64") {
        assert_eq!(errno("second-ptrace"), Some(libc::ENOSYS));
    }
    assert_eq!(errno("device"), Some(0));
    assert_eq!((errno("make-file"), errno("plain-mode")), (Some(0), Some(0)));
    for name in ["lend-rights", "lend-at", "lend-new"] {
        assert_eq!(errno(name), Some(libc::EPERM), "{name}");
    }
    // Denied by Landlock alone, since version 5.
    let with_landlock = if landlock_version() >= 5 { libc::EACCES } else { libc::ENOTTY };
    assert_eq!(errno("device-control"), Some(with_landlock));
    for name in ["make-device", "become-root", "engine-memory"] {
        assert!(
            errno(name).is_some_and(|errno| errno != 0) || name == "become-root",
            "{name}: {results:?}"
        );
    }
}

fn landlock_version() -> libc::c_long {
    const ASK_VERSION: libc::c_uint = 1;
    // SAFETY: null and numbers only; the call returns the version.
    unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0usize,
            ASK_VERSION,
        )
    }
}

fn network(tcp: u16, udp: u16, path: Option<&str>) {
    let connect = |kind: i32, protocol: i32, address: [u8; 4], port: u16| {
        // SAFETY: a struct of numbers on the stack, with the size.
        unsafe {
            let mut to: libc::sockaddr_in = std::mem::zeroed();
            to.sin_family = libc::AF_INET as libc::sa_family_t;
            to.sin_port = port.to_be();
            to.sin_addr.s_addr = u32::from_ne_bytes(address);
            let socket = libc::socket(libc::AF_INET, kind, protocol);
            if socket < 0 {
                return -1;
            }
            let size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
            let connected = libc::connect(socket, (&raw const to).cast(), size);
            if connected == 0 {
                libc::send(socket, b"out".as_ptr().cast(), 3, 0) as libc::c_long
            } else {
                -1
            }
        }
    };
    const MPTCP: i32 = 262;
    let here = [127, 0, 0, 1];
    print_result("tcp", connect(libc::SOCK_STREAM, 0, here, tcp));
    print_result("mptcp", connect(libc::SOCK_STREAM, MPTCP, here, tcp));
    // Sends to the own loopback succeed; the outside listener checks that nothing arrives.
    connect(libc::SOCK_DGRAM, 0, here, udp);
    for (name, address) in
        [("public", [1, 1, 1, 1]), ("private", [10, 0, 0, 1]), ("metadata", [169, 254, 169, 254])]
    {
        print_result(&format!("tcp-{name}"), connect(libc::SOCK_STREAM, 0, address, 80));
        print_result(&format!("mptcp-{name}"), connect(libc::SOCK_STREAM, MPTCP, address, 80));
        print_result(&format!("udp-{name}"), connect(libc::SOCK_DGRAM, 0, address, 53));
    }
    let unix = |address: io::Result<SocketAddr>| {
        let connected =
            address.and_then(|address| std::os::unix::net::UnixStream::connect_addr(&address));
        connected.map_or(-1, |_| 0)
    };
    print_result("abstract", unix(SocketAddr::from_abstract_name(format!("rouse-test-{tcp}"))));
    print_result("pathname", unix(SocketAddr::from_pathname(path.expect("a path"))));
}

#[tokio::test]
async fn no_socket_leads_outside() {
    let fixture = SandboxFixture::new();
    let outside = tempfile::tempdir().expect("a folder");
    let tcp = TcpListener::bind("127.0.0.1:0").expect("bound");
    let udp = UdpSocket::bind("127.0.0.1:0").expect("bound");
    let (tcp_port, udp_port) =
        (tcp.local_addr().expect("bound").port(), udp.local_addr().expect("bound").port());
    let name = SocketAddr::from_abstract_name(format!("rouse-test-{tcp_port}")).expect("a name");
    let named = UnixListener::bind_addr(&name).expect("bound");
    let path = outside.path().join("socket");
    let at_path = UnixListener::bind(&path).expect("bound");
    let line = fixture.attacker(&format!("network {tcp_port} {udp_port} {}", path.display()));
    let Some(output) = fixture.output_of(&line).await else { return };
    let results = parse_results(&output);
    assert_eq!(results.len(), 13, "{results:?}");
    assert!(results.iter().all(|(_, errno)| *errno != 0), "{results:?}");
    tcp.set_nonblocking(true).expect("set");
    udp.set_nonblocking(true).expect("set");
    named.set_nonblocking(true).expect("set");
    at_path.set_nonblocking(true).expect("set");
    assert!(tcp.accept().is_err() && named.accept().is_err() && at_path.accept().is_err());
    assert!(udp.recv(&mut [0; 8]).is_err());
}
