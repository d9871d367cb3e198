//! The VFS at its C interface: planned faults have the right codes, and unsynced writes may be lost.
//!
//! The power-cut tests rest on it: an unreturned fault, or a write that is in every image, would keep all of them green.

use std::collections::BTreeSet;
use std::ffi::{CString, c_int, c_void};
use std::path::Path;
use std::ptr;

use libsqlite3_sys as sqlite;

use super::{Entry, Fault, FaultyDisk, Hits, Lasts};
use crate::Dice;

const SECTOR: usize = 512;

/// A database file, opened as by SQLite and closed on drop.
struct OpenDatabase {
    file: *mut sqlite::sqlite3_file,
    name: sqlite::sqlite3_filename,
    // `szOsFile` bytes, aligned like a pointer.
    _memory: Vec<u64>,
}

impl OpenDatabase {
    /// Opens the file; an error is the code of SQLite.
    fn at(path: &Path) -> Result<Self, c_int> {
        let text = CString::new(path.to_str().expect("UTF-8")).expect("no NUL");
        let flags = sqlite::SQLITE_OPEN_MAIN_DB
            | sqlite::SQLITE_OPEN_CREATE
            | sqlite::SQLITE_OPEN_READWRITE;
        // SAFETY: the name and the memory live as long as the file.
        unsafe {
            assert_eq!(sqlite::sqlite3_initialize(), sqlite::SQLITE_OK);
            let vfs = sqlite::sqlite3_vfs_find(ptr::null());
            let size = usize::try_from((*vfs).szOsFile).expect("positive");
            let mut memory = vec![0_u64; size.div_ceil(8)];
            let file = memory.as_mut_ptr().cast::<sqlite::sqlite3_file>();
            let (text, none) = (text.as_ptr(), c"".as_ptr());
            let name = sqlite::sqlite3_create_filename(text, none, none, 0, ptr::null_mut());
            let code = (*vfs).xOpen.expect("xOpen is set")(vfs, name, file, flags, ptr::null_mut());
            let opened = Self { file, name, _memory: memory };
            if code == sqlite::SQLITE_OK { Ok(opened) } else { Err(code) }
        }
    }

    fn methods(&self) -> &sqlite::sqlite3_io_methods {
        // SAFETY: an open file has methods.
        unsafe { &*(*self.file).pMethods }
    }

    fn write(&self, at: usize, bytes: &[u8]) -> c_int {
        let (length, at) = (c_int::try_from(bytes.len()).expect("few"), offset(at));
        // SAFETY: the buffer has `length` bytes.
        unsafe {
            self.methods().xWrite.expect("xWrite is set")(
                self.file,
                bytes.as_ptr().cast(),
                length,
                at,
            )
        }
    }

    fn read(&self, at: usize, length: usize) -> (c_int, Vec<u8>) {
        let mut bytes = vec![0; length];
        let (buffer, length) =
            (bytes.as_mut_ptr().cast::<c_void>(), c_int::try_from(length).expect("few"));
        // SAFETY: the buffer has `length` bytes.
        let code = unsafe {
            self.methods().xRead.expect("xRead is set")(self.file, buffer, length, offset(at))
        };
        (code, bytes)
    }

    fn sync(&self) -> c_int {
        // SAFETY: the file is open.
        unsafe { self.methods().xSync.expect("xSync is set")(self.file, sqlite::SQLITE_SYNC_FULL) }
    }

    fn truncate(&self, size: usize) -> c_int {
        // SAFETY: the file is open.
        unsafe { self.methods().xTruncate.expect("xTruncate is set")(self.file, offset(size)) }
    }
}

impl Drop for OpenDatabase {
    fn drop(&mut self) {
        // SAFETY: a file without methods was not opened; any other is closed once.
        unsafe {
            if !(*self.file).pMethods.is_null() {
                self.methods().xClose.expect("xClose is set")(self.file);
            }
            sqlite::sqlite3_free_filename(self.name);
        }
    }
}

fn offset(at: usize) -> sqlite::sqlite3_int64 {
    sqlite::sqlite3_int64::try_from(at).expect("small")
}

fn remove(path: &Path) -> c_int {
    let text = CString::new(path.to_str().expect("UTF-8")).expect("no NUL");
    // SAFETY: the name is a C string.
    unsafe {
        let vfs = sqlite::sqlite3_vfs_find(ptr::null());
        (*vfs).xDelete.expect("xDelete is set")(vfs, text.as_ptr(), 0)
    }
}

/// The codes of seven calls: one of each kind, and a second write.
fn run_calls(folder: &Path) -> [c_int; 7] {
    let path = folder.join("file.db");
    let file = match OpenDatabase::at(&path) {
        Ok(file) => file,
        Err(code) => return [code, 0, 0, 0, 0, 0, 0],
    };
    let codes = [
        sqlite::SQLITE_OK,
        file.write(0, &[1; SECTOR]),
        file.write(SECTOR, &[2; SECTOR]),
        file.sync(),
        file.truncate(SECTOR),
        file.read(0, SECTOR).0,
        remove(&path),
    ];
    drop(file);
    codes
}

/// The codes of the seven calls on a broken and on a full disk.
const CODES: [(c_int, c_int); 7] = [
    (sqlite::SQLITE_CANTOPEN, sqlite::SQLITE_CANTOPEN),
    (sqlite::SQLITE_IOERR_WRITE, sqlite::SQLITE_FULL),
    (sqlite::SQLITE_IOERR_WRITE, sqlite::SQLITE_FULL),
    (sqlite::SQLITE_IOERR_FSYNC, 0),
    (sqlite::SQLITE_IOERR_TRUNCATE, 0),
    (sqlite::SQLITE_IOERR_READ, 0),
    (sqlite::SQLITE_IOERR_DELETE, 0),
];

#[test]
fn planned_call_alone_fails_with_its_code() {
    for (at, (broken, full)) in (0_u64..).zip(CODES) {
        for (fault, code) in [(Fault::Broken, broken), (Fault::Full, full)] {
            let folder = tempfile::tempdir().expect("a folder");
            let disk = FaultyDisk::over(folder.path());
            disk.fail_at(at, fault, Lasts::Once);
            let codes = run_calls(folder.path());
            let mut expected = [sqlite::SQLITE_OK; 7];
            expected[usize::try_from(at).expect("small")] = code;
            assert_eq!(codes, expected, "call {at}, {fault:?}");
            let expected = Hits {
                broken: u64::from(fault == Fault::Broken),
                full: u64::from(fault == Fault::Full && code != 0),
                spared: u64::from(code == 0),
            };
            assert_eq!(disk.hits(), expected, "call {at}, {fault:?}");
        }
    }
}

#[test]
fn lasting_fault_fails_every_later_call() {
    for (fault, hits) in [
        (Fault::Broken, Hits { broken: 5, ..Hits::default() }),
        (Fault::Full, Hits { full: 1, spared: 4, ..Hits::default() }),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = FaultyDisk::over(folder.path());
        disk.fail_at(2, fault, Lasts::UntilMended);
        let codes = run_calls(folder.path());
        assert_eq!((codes[0], codes[1]), (0, 0), "earlier calls succeed");
        for (code, (broken, full)) in codes.into_iter().zip(CODES).skip(2) {
            assert_eq!(code, if fault == Fault::Broken { broken } else { full });
        }
        assert_eq!(disk.hits(), hits);
    }
}

#[test]
fn unsynced_write_is_lost_or_torn_until_a_sync() {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = FaultyDisk::over(folder.path());
    disk.record();
    let file =
        OpenDatabase::at(&folder.path().join("file.db")).unwrap_or_else(|code| panic!("{code}"));
    let old = [1; 2 * SECTOR];
    assert_eq!((file.write(0, &old), file.sync()), (0, 0));
    assert_eq!(file.write(0, &[2; 2 * SECTOR]), 0);
    disk.fail_at(disk.calls(), Fault::Broken, Lasts::Once);
    assert_eq!(file.write(0, &[3; 2 * SECTOR]), sqlite::SQLITE_IOERR_WRITE);
    assert_eq!(file.read(0, 2 * SECTOR), (0, vec![2; 2 * SECTOR]), "the file itself is written");

    let record = disk.recorded();
    let writes =
        record.entries().iter().filter(|entry| matches!(entry, Entry::Write { .. })).count();
    assert_eq!(writes, 2, "the failed write is not recorded");
    let halves = |upto: usize| -> BTreeSet<(u8, u8)> {
        let images = (0..200).map(|seed| {
            let mut dice = Dice::new(seed);
            let bytes = record.image(upto, || dice.number()).remove("file.db").expect("synced");
            assert!(
                bytes.chunks(SECTOR).all(|sector| sector.iter().all(|byte| *byte == sector[0]))
            );
            (bytes[0], bytes[SECTOR])
        });
        images.collect()
    };
    let unsynced = record.entries().len();
    assert_eq!(halves(unsynced), BTreeSet::from([(1, 1), (1, 2), (2, 1), (2, 2)]));
    assert_eq!(file.sync(), 0);
    let record = disk.recorded();
    assert_eq!(record.entries().len(), unsynced + 1);
    for seed in 0..200 {
        let mut dice = Dice::new(seed);
        let image = record.image(unsynced + 1, || dice.number());
        assert_eq!(image["file.db"], [2; 2 * SECTOR], "the synced write survives");
    }
}
