//! Ways to hold memory, each of which evades a way of counting.

use super::*;

const STEP: usize = 4_096;
const TABLE: usize = 2 << 20;

/// Fills this much memory in this way and holds the memory for ever.
pub(super) fn fill(how: &str, megabytes: u16) {
    let bytes = usize::from(megabytes) << 20;
    match how {
        "private" => write_to(map(bytes, libc::MAP_PRIVATE), bytes),
        "shared" => write_to(map(bytes, libc::MAP_SHARED), bytes),
        "unreadable" => {
            // SAFETY: numbers only.
            unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
            write_to(map(bytes, libc::MAP_SHARED), bytes);
        }
        "zero" => write_to(map_zero(bytes), bytes),
        "cut" => cut(bytes),
        "handed-over" => hand_over(bytes),
        "leaderless" => leave_the_leader(bytes),
        "tables" => tables(bytes),
        "forked" => share(bytes, libc::MAP_PRIVATE),
        "together" => share(bytes, libc::MAP_SHARED),
        _ => panic!("{how}"),
    }
    hold();
}

fn hold() -> ! {
    loop {
        // SAFETY: no arguments.
        unsafe { libc::pause() };
    }
}

fn map(bytes: usize, kind: i32) -> *mut u8 {
    let flags = kind | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address that the kernel chooses.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
    assert_ne!(at, libc::MAP_FAILED, "{}", io::Error::last_os_error());
    at.cast()
}

/// Maps /dev/zero, which the kernel turns into a mapping without a file.
fn map_zero(bytes: usize) -> *mut u8 {
    let zero = std::fs::File::options().read(true).write(true).open("/dev/zero").expect("a device");
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let (none, zero) = (std::ptr::null_mut(), std::os::fd::AsRawFd::as_raw_fd(&zero));
    // SAFETY: a new mapping at an address that the kernel chooses.
    let at = unsafe { libc::mmap(none, bytes, access, libc::MAP_SHARED, zero, 0) };
    assert_ne!(at, libc::MAP_FAILED, "{}", io::Error::last_os_error());
    at.cast()
}

fn write_to(at: *mut u8, bytes: usize) {
    for offset in (0..bytes).step_by(STEP) {
        // SAFETY: within the mapping.
        unsafe { at.add(offset).write_volatile(1) };
    }
}

fn fork() -> bool {
    // SAFETY: the child continues with separate calls and memory, and ends here.
    match unsafe { libc::fork() } {
        -1 => panic!("{}", io::Error::last_os_error()),
        number => number == 0,
    }
}

/// The child maps memory untouched; the parent has filled and unmaps the memory.
fn hand_over(bytes: usize) {
    let at = map(bytes, libc::MAP_SHARED);
    if fork() {
        hold();
    }
    write_to(at, bytes);
    // SAFETY: the mapping from above, not used any more.
    unsafe { libc::munmap(at.cast(), bytes) };
}

/// Fills a mapping and keeps only the first page mapped; the kernel keeps the rest allocated.
fn cut(bytes: usize) {
    let at = map(bytes, libc::MAP_SHARED);
    write_to(at, bytes);
    print_result("filled", 0);
    // Waits at a pipe of the workspace for the first measurement.
    std::fs::read("go").expect("a word");
    // SAFETY: within the mapping from above, not used any more.
    unsafe { libc::munmap(at.add(STEP).cast(), bytes - STEP) };
    print_result("filled", 0);
}

/// A process with an exited first thread looks like a zombie.
fn leave_the_leader(bytes: usize) {
    let at = map(bytes / 8, libc::MAP_PRIVATE) as usize;
    for _ in 0..8 {
        if fork() {
            std::thread::spawn(move || {
                write_to(at as *mut u8, bytes / 8);
                hold()
            });
            // SAFETY: ends this thread alone.
            unsafe { libc::syscall(libc::SYS_exit, 0) };
        }
    }
}

/// Fills page tables: maps an empty page per table.
fn tables(bytes: usize) {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let count = bytes / STEP;
    // SAFETY: a new mapping at an address that the kernel chooses; the read lies within.
    unsafe {
        let none = std::ptr::null_mut();
        let at = libc::mmap(none, count * TABLE, libc::PROT_READ, flags, -1, 0);
        assert_ne!(at, libc::MAP_FAILED, "{}", io::Error::last_os_error());
        for number in 0..count {
            at.cast::<u8>().add(number * TABLE).read_volatile();
        }
    }
}

/// Eight children read the memory written by a process, and report the memory.
fn share(bytes: usize, kind: i32) {
    let at = map(bytes, kind);
    write_to(at, bytes);
    for _ in 0..8 {
        if fork() {
            for offset in (0..bytes).step_by(STEP) {
                // SAFETY: within the mapping.
                unsafe { at.add(offset).read_volatile() };
            }
            print_result("filled", 0);
            hold();
        }
    }
}
