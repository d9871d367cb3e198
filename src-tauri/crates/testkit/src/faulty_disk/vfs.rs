//! The layer itself: SQLite's C interface to a file system, wrapped around the one of the system.
//!
//! It becomes the default of the process when the first folder is watched, and hands every file outside watched folders
//! straight on. A watched file is ours with the system's own behind it in the same piece of memory, which SQLite
//! allocates at the size that we name.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use libsqlite3_sys as sqlite;

use super::{Call, Entry, Fault, Watched};

/// The folders that are watched.
static WATCHED: Mutex<Vec<(PathBuf, Arc<Watched>)>> = Mutex::new(Vec::new());
/// The file system of the system, and ours around it.
static LAYER: OnceLock<Layer> = OnceLock::new();

struct Layer {
    inner: *mut sqlite::sqlite3_vfs,
}

// SAFETY: SQLite registers a file system for the whole process and calls it from every thread.
unsafe impl Send for Layer {}
// SAFETY: as above; nothing here changes after it is made.
unsafe impl Sync for Layer {}

/// A watched file. The system's own stands right behind it.
#[repr(C)]
struct File {
    base: sqlite::sqlite3_file,
    /// From `Box::into_raw`, until the file is closed.
    watch: *mut Watch,
}

struct Watch {
    name: String,
    state: Arc<Watched>,
}

static METHODS: sqlite::sqlite3_io_methods = sqlite::sqlite3_io_methods {
    // Without the third version SQLite asks for no memory map, so every byte comes by `write`.
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

/// Watches a folder; the first time, the layer is put in.
pub(super) fn watch(folder: &Path, state: &Arc<Watched>) {
    LAYER.get_or_init(put_in);
    watched().push((folder.to_owned(), Arc::clone(state)));
}

pub(super) fn forget(folder: &Path) {
    watched().retain(|(known, _)| known != folder);
}

fn watched() -> MutexGuard<'static, Vec<(PathBuf, Arc<Watched>)>> {
    WATCHED.lock().expect("BUG: a call panicked while it looked for its folder")
}

fn put_in() -> Layer {
    // SAFETY: the system's file system lives as long as the process, and ours is leaked on purpose to do so, too.
    unsafe {
        let inner = sqlite::sqlite3_vfs_find(ptr::null());
        assert!(!inner.is_null(), "SQLite has a file system");
        let mut ours = ptr::read(inner);
        ours.szOsFile += c_int::try_from(size_of::<File>()).expect("small");
        ours.pNext = ptr::null_mut();
        ours.zName = c"rouse-faulty-disk".as_ptr();
        ours.xOpen = Some(open);
        ours.xDelete = Some(delete);
        let ours = Box::leak(Box::new(ours));
        let registered = sqlite::sqlite3_vfs_register(ours, 1);
        assert_eq!(registered, sqlite::SQLITE_OK, "SQLite takes the layer");
        Layer { inner }
    }
}

fn inner_vfs() -> *mut sqlite::sqlite3_vfs {
    LAYER.get().expect("BUG: a call came before the layer was put in").inner
}

/// The watch over a path, if it lies in a watched folder.
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
    let inner = inner_vfs();
    // SAFETY: SQLite hands over memory of the size that we named, and a name or null.
    unsafe {
        let open = (*inner).xOpen.expect("a file system opens files");
        let Some(watch) = watch_of(name) else { return open(inner, name, file, flags, out) };
        (*file).pMethods = ptr::null();
        if watch.state.lock().count(Call::Open).is_some() {
            return sqlite::SQLITE_CANTOPEN;
        }
        let ours = file.cast::<File>();
        let behind = behind(file);
        (*behind).pMethods = ptr::null();
        let opened = open(inner, name, behind, flags, out);
        if !(*behind).pMethods.is_null() {
            watch.state.opened();
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
    // SAFETY: SQLite hands over a C string.
    unsafe {
        if let Some(watch) = watch_of(name) {
            let mut state = watch.state.lock();
            if state.count(Call::Delete).is_some() {
                return sqlite::SQLITE_IOERR_DELETE;
            }
            state.write_down(|| Entry::Delete { file: watch.name.clone() });
        }
        (*inner).xDelete.expect("a file system deletes files")(inner, name, sync_folder)
    }
}

/// The system's file behind ours.
///
/// # Safety
/// `file` is one that `open` has seen.
unsafe fn behind(file: *mut sqlite::sqlite3_file) -> *mut sqlite::sqlite3_file {
    // SAFETY: `szOsFile` asked for room for both, and a file of SQLite is aligned like a pointer, as ours is.
    unsafe { file.cast::<File>().add(1).cast() }
}

/// Counts a call for a watched file; answers how it fails, if it does.
///
/// # Safety
/// `file` is open and ours.
unsafe fn count(file: *mut sqlite::sqlite3_file, call: Call) -> Option<Fault> {
    // SAFETY: by contract; the watch lives until `close`.
    unsafe { (*(*file.cast::<File>()).watch).state.lock().count(call) }
}

/// Writes down what a call has done.
///
/// # Safety
/// `file` is open and ours.
unsafe fn write_down(file: *mut sqlite::sqlite3_file, entry: impl FnOnce(String) -> Entry) {
    // SAFETY: by contract; the watch lives until `close`.
    let watch = unsafe { &*(*file.cast::<File>()).watch };
    watch.state.lock().write_down(|| entry(watch.name.clone()));
}

unsafe extern "C" fn close(file: *mut sqlite::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes a file once, and it is ours.
    unsafe {
        let watch = Box::from_raw((*file.cast::<File>()).watch);
        let behind = behind(file);
        let closed = (*(*behind).pMethods).xClose.expect("a file closes")(behind);
        (*file).pMethods = ptr::null();
        watch.state.closed();
        closed
    }
}

unsafe extern "C" fn read(
    file: *mut sqlite::sqlite3_file,
    buffer: *mut c_void,
    amount: c_int,
    at: sqlite::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite reads from an open file of ours.
    unsafe {
        if count(file, Call::Read).is_some() {
            return sqlite::SQLITE_IOERR_READ;
        }
        let behind = behind(file);
        (*(*behind).pMethods).xRead.expect("a file is read")(behind, buffer, amount, at)
    }
}

unsafe extern "C" fn write(
    file: *mut sqlite::sqlite3_file,
    buffer: *const c_void,
    amount: c_int,
    at: sqlite::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite writes `amount` bytes of `buffer` to an open file of ours.
    unsafe {
        match count(file, Call::Write) {
            Some(Fault::Full) => return sqlite::SQLITE_FULL,
            Some(Fault::Broken) => return sqlite::SQLITE_IOERR_WRITE,
            None => {}
        }
        let behind = behind(file);
        let written =
            (*(*behind).pMethods).xWrite.expect("a file is written")(behind, buffer, amount, at);
        if written == sqlite::SQLITE_OK {
            let length = usize::try_from(amount).expect("SQLite writes no negative amount");
            let bytes = std::slice::from_raw_parts(buffer.cast::<u8>(), length);
            let at = usize::try_from(at).expect("SQLite writes behind the start");
            write_down(file, |file| Entry::Write { file, at, bytes: bytes.to_vec() });
        }
        written
    }
}

unsafe extern "C" fn truncate(
    file: *mut sqlite::sqlite3_file,
    size: sqlite::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite cuts an open file of ours.
    unsafe {
        if count(file, Call::Truncate).is_some() {
            return sqlite::SQLITE_IOERR_TRUNCATE;
        }
        let behind = behind(file);
        let cut = (*(*behind).pMethods).xTruncate.expect("a file is cut")(behind, size);
        if cut == sqlite::SQLITE_OK {
            let size = usize::try_from(size).expect("SQLite cuts behind the start");
            write_down(file, |file| Entry::Truncate { file, size });
        }
        cut
    }
}

unsafe extern "C" fn sync(file: *mut sqlite::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: SQLite syncs an open file of ours.
    unsafe {
        if count(file, Call::Sync).is_some() {
            return sqlite::SQLITE_IOERR_FSYNC;
        }
        let behind = behind(file);
        let synced = (*(*behind).pMethods).xSync.expect("a file is synced")(behind, flags);
        if synced == sqlite::SQLITE_OK {
            write_down(file, |file| Entry::Sync { file });
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
    // SAFETY: SQLite maps the memory that belongs to an open file of ours.
    unsafe {
        if extend != 0 && count(file, Call::Share).is_some() {
            return sqlite::SQLITE_IOERR_SHMSIZE;
        }
        let behind = behind(file);
        (*(*behind).pMethods).xShmMap.expect("memory is shared")(behind, region, size, extend, out)
    }
}

/// Hands a call on to the system's file.
macro_rules! hand_on {
    ($name:ident, $method:ident, ($($argument:ident: $kind:ty),*) $(-> $answer:ty)?) => {
        unsafe extern "C" fn $name(file: *mut sqlite::sqlite3_file $(, $argument: $kind)*) $(-> $answer)? {
            // SAFETY: SQLite calls with an open file of ours and with what the method wants.
            unsafe {
                let behind = behind(file);
                (*(*behind).pMethods).$method.expect("the system's files can do it")(behind $(, $argument)*)
            }
        }
    };
}

hand_on!(file_size, xFileSize, (size: *mut sqlite::sqlite3_int64) -> c_int);
hand_on!(lock_file, xLock, (level: c_int) -> c_int);
hand_on!(unlock_file, xUnlock, (level: c_int) -> c_int);
hand_on!(check_reserved_lock, xCheckReservedLock, (out: *mut c_int) -> c_int);
hand_on!(file_control, xFileControl, (what: c_int, with: *mut c_void) -> c_int);
hand_on!(sector_size, xSectorSize, () -> c_int);
hand_on!(device_characteristics, xDeviceCharacteristics, () -> c_int);
hand_on!(shm_lock, xShmLock, (at: c_int, count: c_int, flags: c_int) -> c_int);
hand_on!(shm_barrier, xShmBarrier, ());
hand_on!(shm_unmap, xShmUnmap, (delete: c_int) -> c_int);
