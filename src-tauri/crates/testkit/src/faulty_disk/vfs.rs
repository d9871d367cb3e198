//! The C interface of the VFS, around the VFS of the system.
//!
//! Becomes the default VFS of the process when the first folder is watched; files outside watched folders pass straight through. A
//! watched file is our struct followed by that of the system, in one allocation of SQLite.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use libsqlite3_sys as sqlite;

use super::{Call, Entry, Fault, WatchedFolder};

/// The watched folders.
static WATCHED: Mutex<Vec<(PathBuf, Arc<WatchedFolder>)>> = Mutex::new(Vec::new());
/// The VFS of the system, below ours.
static INNER_VFS: OnceLock<InnerVfs> = OnceLock::new();

struct InnerVfs {
    vfs: *mut sqlite::sqlite3_vfs,
}

// SAFETY: SQLite registers a VFS for the whole process and calls it from every thread.
unsafe impl Send for InnerVfs {}
// SAFETY: as above; it is immutable.
unsafe impl Sync for InnerVfs {}

/// A watched file. The struct of the system follows it.
#[repr(C)]
struct File {
    base: sqlite::sqlite3_file,
    /// From `Box::into_raw`; freed by `close`.
    watch: *mut Watch,
}

struct Watch {
    name: String,
    state: Arc<WatchedFolder>,
}

static METHODS: sqlite::sqlite3_io_methods = sqlite::sqlite3_io_methods {
    // Version 2 has no memory maps, so that every write passes `xWrite`.
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock_file),
    xUnlock: Some(unlock_file),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// Watches a folder. Registers the VFS at the first one.
pub(super) fn watch(folder: &Path, state: &Arc<WatchedFolder>) {
    INNER_VFS.get_or_init(register);
    watched().push((folder.to_owned(), Arc::clone(state)));
}

pub(super) fn unwatch(folder: &Path) {
    watched().retain(|(known, _)| known != folder);
}

fn watched() -> MutexGuard<'static, Vec<(PathBuf, Arc<WatchedFolder>)>> {
    WATCHED.lock().expect("BUG: the list of folders is poisoned")
}

fn register() -> InnerVfs {
    // SAFETY: the VFS of the system lives as long as the process; ours is leaked.
    unsafe {
        let inner = sqlite::sqlite3_vfs_find(ptr::null());
        assert!(!inner.is_null(), "SQLite has no VFS");
        let mut ours = ptr::read(inner);
        ours.szOsFile += c_int::try_from(size_of::<File>()).expect("small");
        ours.pNext = ptr::null_mut();
        ours.zName = c"rouse-faulty-disk".as_ptr();
        ours.xOpen = Some(open);
        ours.xDelete = Some(delete);
        let ours = Box::leak(Box::new(ours));
        let registered = sqlite::sqlite3_vfs_register(ours, 1);
        assert_eq!(registered, sqlite::SQLITE_OK, "SQLite rejects the VFS");
        InnerVfs { vfs: inner }
    }
}

fn inner_vfs() -> *mut sqlite::sqlite3_vfs {
    INNER_VFS.get().expect("BUG: a call before the registration").vfs
}

/// The watch of a file in a watched folder.
///
/// # Safety
/// `name` is null or a C string.
unsafe fn watch_of(name: *const c_char) -> Option<Watch> {
    if name.is_null() {
        return None;
    }
    // SAFETY: by contract.
    let path = unsafe { CStr::from_ptr(name) }.to_str().ok()?;
    let path = Path::new(path);
    let (folder, file) = (path.parent()?, path.file_name()?.to_str()?);
    let folder = folder.canonicalize().ok()?;
    let state = watched().iter().find(|(known, _)| *known == folder)?.1.clone();
    Some(Watch { name: file.to_owned(), state })
}

unsafe extern "C" fn open(
    _: *mut sqlite::sqlite3_vfs,
    name: sqlite::sqlite3_filename,
    file: *mut sqlite::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    let vfs = inner_vfs();
    // SAFETY: SQLite passes memory of `szOsFile` bytes, and a name or null.
    unsafe {
        let open = (*vfs).xOpen.expect("xOpen is set");
        let Some(watch) = watch_of(name) else { return open(vfs, name, file, flags, out) };
        (*file).pMethods = ptr::null();
        if watch.state.lock().count(Call::Open).is_some() {
            return sqlite::SQLITE_CANTOPEN;
        }
        let ours = file.cast::<File>();
        let inner = inner_file(file);
        (*inner).pMethods = ptr::null();
        let opened = open(vfs, name, inner, flags, out);
        if !(*inner).pMethods.is_null() {
            watch.state.count_open();
            (*ours).watch = Box::into_raw(Box::new(watch));
            (*file).pMethods = &METHODS;
        }
        opened
    }
}

unsafe extern "C" fn delete(
    _: *mut sqlite::sqlite3_vfs,
    name: *const c_char,
    sync_folder: c_int,
) -> c_int {
    let inner = inner_vfs();
    // SAFETY: SQLite passes a C string.
    unsafe {
        if let Some(watch) = watch_of(name) {
            let mut state = watch.state.lock();
            if state.count(Call::Delete).is_some() {
                return sqlite::SQLITE_IOERR_DELETE;
            }
            state.add_entry(|| Entry::Delete { file: watch.name.clone() });
        }
        (*inner).xDelete.expect("xDelete is set")(inner, name, sync_folder)
    }
}

/// The struct of the system behind ours.
///
/// # Safety
/// `file` was passed to `open`.
unsafe fn inner_file(file: *mut sqlite::sqlite3_file) -> *mut sqlite::sqlite3_file {
    // SAFETY: `szOsFile` covers both, and both are aligned like a pointer.
    unsafe { file.cast::<File>().add(1).cast() }
}

/// Counts a call for a watched file and returns its fault, if any.
///
/// # Safety
/// `file` is open and ours.
unsafe fn count(file: *mut sqlite::sqlite3_file, call: Call) -> Option<Fault> {
    // SAFETY: by contract; the watch lives until `close`.
    unsafe { (*(*file.cast::<File>()).watch).state.lock().count(call) }
}

/// Records the effect of a call.
///
/// # Safety
/// `file` is open and ours.
unsafe fn add_entry(file: *mut sqlite::sqlite3_file, entry: impl FnOnce(String) -> Entry) {
    // SAFETY: by contract; the watch lives until `close`.
    let watch = unsafe { &*(*file.cast::<File>()).watch };
    watch.state.lock().add_entry(|| entry(watch.name.clone()));
}

unsafe extern "C" fn close(file: *mut sqlite::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes each of our files once.
    unsafe {
        let watch = Box::from_raw((*file.cast::<File>()).watch);
        let inner = inner_file(file);
        let closed = (*(*inner).pMethods).xClose.expect("xClose is set")(inner);
        (*file).pMethods = ptr::null();
        watch.state.count_close();
        closed
    }
}

unsafe extern "C" fn read(
    file: *mut sqlite::sqlite3_file,
    buffer: *mut c_void,
    amount: c_int,
    at: sqlite::sqlite3_int64,
) -> c_int {
    // SAFETY: `file` is open and ours.
    unsafe {
        if count(file, Call::Read).is_some() {
            return sqlite::SQLITE_IOERR_READ;
        }
        let inner = inner_file(file);
        (*(*inner).pMethods).xRead.expect("xRead is set")(inner, buffer, amount, at)
    }
}

unsafe extern "C" fn write(
    file: *mut sqlite::sqlite3_file,
    buffer: *const c_void,
    amount: c_int,
    at: sqlite::sqlite3_int64,
) -> c_int {
    // SAFETY: `file` is open and ours; `buffer` has `amount` bytes.
    unsafe {
        match count(file, Call::Write) {
            Some(Fault::Full) => return sqlite::SQLITE_FULL,
            Some(Fault::Broken) => return sqlite::SQLITE_IOERR_WRITE,
            None => {}
        }
        let inner = inner_file(file);
        let written =
            (*(*inner).pMethods).xWrite.expect("xWrite is set")(inner, buffer, amount, at);
        if written == sqlite::SQLITE_OK {
            let length = usize::try_from(amount).expect("the amount is not negative");
            let bytes = std::slice::from_raw_parts(buffer.cast::<u8>(), length);
            let at = usize::try_from(at).expect("the offset is not negative");
            add_entry(file, |file| Entry::Write { file, at, bytes: bytes.to_vec() });
        }
        written
    }
}

unsafe extern "C" fn truncate(
    file: *mut sqlite::sqlite3_file,
    size: sqlite::sqlite3_int64,
) -> c_int {
    // SAFETY: `file` is open and ours.
    unsafe {
        if count(file, Call::Truncate).is_some() {
            return sqlite::SQLITE_IOERR_TRUNCATE;
        }
        let inner = inner_file(file);
        let result = (*(*inner).pMethods).xTruncate.expect("xTruncate is set")(inner, size);
        if result == sqlite::SQLITE_OK {
            let size = usize::try_from(size).expect("the size is not negative");
            add_entry(file, |file| Entry::Truncate { file, size });
        }
        result
    }
}

unsafe extern "C" fn sync(file: *mut sqlite::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: `file` is open and ours.
    unsafe {
        if count(file, Call::Sync).is_some() {
            return sqlite::SQLITE_IOERR_FSYNC;
        }
        let inner = inner_file(file);
        let synced = (*(*inner).pMethods).xSync.expect("xSync is set")(inner, flags);
        if synced == sqlite::SQLITE_OK {
            add_entry(file, |file| Entry::Sync { file });
        }
        synced
    }
}

unsafe extern "C" fn shm_map(
    file: *mut sqlite::sqlite3_file,
    region: c_int,
    size: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    // SAFETY: `file` is open and ours.
    unsafe {
        if extend != 0 && count(file, Call::Share).is_some() {
            return sqlite::SQLITE_IOERR_SHMSIZE;
        }
        let inner = inner_file(file);
        (*(*inner).pMethods).xShmMap.expect("xShmMap is set")(inner, region, size, extend, out)
    }
}

/// Defines a method that forwards to the file of the system.
macro_rules! forward {
    ($name:ident, $method:ident, ($($argument:ident: $kind:ty),*) $(-> $answer:ty)?) => {
        unsafe extern "C" fn $name(file: *mut sqlite::sqlite3_file $(, $argument: $kind)*) $(-> $answer)? {
            // SAFETY: `file` is open and ours; the arguments are those of SQLite.
            unsafe {
                let inner = inner_file(file);
                (*(*inner).pMethods).$method.expect("the method is set")(inner $(, $argument)*)
            }
        }
    };
}

forward!(file_size, xFileSize, (size: *mut sqlite::sqlite3_int64) -> c_int);
forward!(lock_file, xLock, (level: c_int) -> c_int);
forward!(unlock_file, xUnlock, (level: c_int) -> c_int);
forward!(check_reserved_lock, xCheckReservedLock, (out: *mut c_int) -> c_int);
forward!(file_control, xFileControl, (what: c_int, with: *mut c_void) -> c_int);
forward!(sector_size, xSectorSize, () -> c_int);
forward!(device_characteristics, xDeviceCharacteristics, () -> c_int);
forward!(shm_lock, xShmLock, (at: c_int, count: c_int, flags: c_int) -> c_int);
forward!(shm_barrier, xShmBarrier, ());
forward!(shm_unmap, xShmUnmap, (delete: c_int) -> c_int);
