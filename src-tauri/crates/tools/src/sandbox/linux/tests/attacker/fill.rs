//! Ways to hold memory, each one past another way of counting it.

use super::*;

const STEP: usize = 4_096;
const TABLE: usize = 2 << 20;

/// Fills so much in this way and holds it for ever.
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
        // SAFETY: takes nothing.
        unsafe { libc::pause() };
    }
}

fn map(bytes: usize, kind: i32) -> *mut u8 {
    let flags = kind | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new map at a place that the kernel chooses.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
    assert_ne!(at, libc::MAP_FAILED, "{}", io::Error::last_os_error());
    at.cast()
}

/// The same by the device, which makes of it what it makes of a map without a file.
fn map_zero(bytes: usize) -> *mut u8 {
    let zero = std::fs::File::options().read(true).write(true).open("/dev/zero").expect("a device");
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let (none, zero) = (std::ptr::null_mut(), std::os::fd::AsRawFd::as_raw_fd(&zero));
    // SAFETY: a new map at a place that the kernel chooses.
    let at = unsafe { libc::mmap(none, bytes, access, libc::MAP_SHARED, zero, 0) };
    assert_ne!(at, libc::MAP_FAILED, "{}", io::Error::last_os_error());
    at.cast()
}

fn write_to(at: *mut u8, bytes: usize) {
    for offset in (0..bytes).step_by(STEP) {
        // SAFETY: within the map.
        unsafe { at.add(offset).write_volatile(1) };
    }
}

fn fork() -> bool {
    // SAFETY: the child goes on with calls and memory of its own, and ends here.
    match unsafe { libc::fork() } {
        -1 => panic!("{}", io::Error::last_os_error()),
        number => number == 0,
    }
}

/// The child maps it and has touched nothing; the parent has touched it and maps it no more.
fn hand_over(bytes: usize) {
    let at = map(bytes, libc::MAP_SHARED);
    if fork() {
        hold();
    }
    write_to(at, bytes);
    // SAFETY: the map of above, which nothing uses any more.
    unsafe { libc::munmap(at.cast(), bytes) };
}

/// Of all that it has touched it maps the first page at last; the kernel keeps the others.
fn cut(bytes: usize) {
    let at = map(bytes, libc::MAP_SHARED);
    write_to(at, bytes);
    tell("filled", 0);
    // A pipe of the workspace: until somebody has looked.
    std::fs::read("go").expect("a word");
    // SAFETY: within the map of above, and nothing uses it any more.
    unsafe { libc::munmap(at.add(STEP).cast(), bytes - STEP) };
    tell("filled", 0);
}

/// A process whose first thread has ended is a zombie to look at.
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

/// One page for each table: what is mapped is always the same empty page.
fn tables(bytes: usize) {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let count = bytes / STEP;
    // SAFETY: a new map at a place that the kernel chooses; what is read lies within.
    unsafe {
        let none = std::ptr::null_mut();
        let at = libc::mmap(none, count * TABLE, libc::PROT_READ, flags, -1, 0);
        assert_ne!(at, libc::MAP_FAILED, "{}", io::Error::last_os_error());
        for number in 0..count {
            at.cast::<u8>().add(number * TABLE).read_volatile();
        }
    }
}

/// Eight children look at what one process has written, and say so.
fn share(bytes: usize, kind: i32) {
    let at = map(bytes, kind);
    write_to(at, bytes);
    for _ in 0..8 {
        if fork() {
            for offset in (0..bytes).step_by(STEP) {
                // SAFETY: within the map.
                unsafe { at.add(offset).read_volatile() };
            }
            tell("filled", 0);
            hold();
        }
    }
}
