//! AppContainer identities and their access to files: the raw calls. Preview: never run on Windows.
//!
//! Every handle is owned by a type that frees it, also if a later call fails. Never changes more than the given file or folder, so that
//! no link is followed. The AppContainer calls are looked up at run time, because Rouse would not start on a system without them.
//! Pitfall: to replace an access list instead of adding an entry, which locks the person out.

use std::ffi::{CStr, OsStr, c_void};
use std::fs::File;
use std::io;
use std::os::windows::io::AsRawHandle as _;
use std::ptr::{null, null_mut};

use windows_sys::Win32::Foundation::{ERROR_SUCCESS, LocalFree};
use windows_sys::Win32::Security::Authorization::{
    EXPLICIT_ACCESS_W, GRANT_ACCESS, GetSecurityInfo, SE_FILE_OBJECT, SetEntriesInAclW,
    TRUSTEE_IS_SID, TRUSTEE_W,
};
use windows_sys::Win32::Security::{
    ACCESS_ALLOWED_ACE, ACL, DACL_SECURITY_INFORMATION, EqualSid, FreeSid, GetAce, GetLengthSid,
    GetSecurityDescriptorControl, InitializeSecurityDescriptor, NO_INHERITANCE, PSID,
    SE_DACL_AUTO_INHERIT_REQ, SE_DACL_AUTO_INHERITED, SE_DACL_PROTECTED, SECURITY_DESCRIPTOR,
    SUB_CONTAINERS_AND_OBJECTS_INHERIT, SetKernelObjectSecurity, SetSecurityDescriptorControl,
    SetSecurityDescriptorDacl,
};
use windows_sys::Win32::System::LibraryLoader::{
    GetProcAddress, LOAD_LIBRARY_SEARCH_SYSTEM32, LoadLibraryExW,
};
use windows_sys::core::{HRESULT, PCWSTR, w};

use super::process::{check, to_wide};

/// Read, write, execute and delete; changes neither access lists nor owners.
const MODIFY: u32 = 0x0013_01BF;
/// Returned by `CreateAppContainerProfile` for an existing name (`ERROR_ALREADY_EXISTS`).
const EXISTS: HRESULT = 0x8007_00B7_u32.cast_signed();

/// The security identifier of an AppContainer: an owned copy.
#[derive(Debug)]
pub(super) struct Sid(Box<[u32]>);

impl Sid {
    /// # Safety
    /// `sid` points to a valid identifier.
    unsafe fn copied(sid: PSID) -> Self {
        // SAFETY: valid by contract.
        let length = unsafe { GetLengthSid(sid) } as usize;
        // SAFETY: the whole length is readable, a multiple of four, and aligned (its last part is `u32`s).
        Self(unsafe { std::slice::from_raw_parts(sid.cast::<u32>(), length / 4) }.into())
    }

    /// For calls that only read the identifier, though their types do not say so.
    pub(super) fn as_ptr(&self) -> PSID {
        self.0.as_ptr().cast_mut().cast()
    }

    /// An identifier without an AppContainer.
    #[cfg(test)]
    pub(super) fn unassigned() -> Self {
        // S-1-15-2-1-2-3-4-5-6-7: the revision, eight parts, the authority, the parts.
        Self([0x0000_0801, 0x0F00_0000, 2, 1, 2, 3, 4, 5, 6, 7].into())
    }
}

/// Creates the AppContainer of this name, or finds the existing AppContainer.
pub(super) fn create_app_container(name: &str) -> io::Result<Sid> {
    type Create =
        unsafe extern "system" fn(PCWSTR, PCWSTR, PCWSTR, *const c_void, u32, *mut PSID) -> HRESULT;
    type Derive = unsafe extern "system" fn(PCWSTR, *mut PSID) -> HRESULT;
    let create = find_userenv_call(c"CreateAppContainerProfile")?;
    let derive = find_userenv_call(c"DeriveAppContainerSidFromAppContainerName")?;
    // SAFETY: these are their signatures (userenv.h).
    let (create, derive) = unsafe {
        (
            std::mem::transmute::<Procedure, Create>(create),
            std::mem::transmute::<Procedure, Derive>(derive),
        )
    };
    let name = to_wide(OsStr::new(name))?;
    let (title, about) = (w!("Rouse"), w!("Commands that Rouse runs in one workspace"));
    let mut sid = null_mut();
    // SAFETY: zero-terminated strings, no capabilities, and a writable `sid`.
    let mut answer = unsafe { create(name.as_ptr(), title, about, null(), 0, &raw mut sid) };
    if answer == EXISTS {
        // SAFETY: as above.
        answer = unsafe { derive(name.as_ptr(), &raw mut sid) };
    }
    if answer < 0 || sid.is_null() {
        return Err(io::Error::from_raw_os_error(answer));
    }
    // SAFETY: the call returned a valid identifier, which is freed once and not used afterwards.
    let copy = unsafe { Sid::copied(sid) };
    // SAFETY: as above.
    unsafe { FreeSid(sid) };
    Ok(copy)
}

/// Deletes the AppContainer of this name.
pub(super) fn delete_app_container(name: &str) -> io::Result<()> {
    type Delete = unsafe extern "system" fn(PCWSTR) -> HRESULT;
    let delete = find_userenv_call(c"DeleteAppContainerProfile")?;
    // SAFETY: the signature in userenv.h.
    let delete = unsafe { std::mem::transmute::<Procedure, Delete>(delete) };
    let name = to_wide(OsStr::new(name))?;
    // SAFETY: a zero-terminated string.
    let answer = unsafe { delete(name.as_ptr()) };
    if answer < 0 { Err(io::Error::from_raw_os_error(answer)) } else { Ok(()) }
}

type Procedure = unsafe extern "system" fn() -> isize;

fn find_userenv_call(name: &CStr) -> io::Result<Procedure> {
    // SAFETY: a constant name, searched among the system's own libraries; it stays loaded.
    let library =
        unsafe { LoadLibraryExW(w!("userenv.dll"), null_mut(), LOAD_LIBRARY_SEARCH_SYSTEM32) };
    if library.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a loaded library and a zero-terminated name.
    let found = unsafe { GetProcAddress(library, name.as_ptr().cast()) };
    found.ok_or_else(|| {
        io::Error::new(io::ErrorKind::Unsupported, "this system has no AppContainers")
    })
}

/// The access list of a file or folder, freed with the descriptor.
struct AccessList {
    list: *mut ACL,
    descriptor: *mut c_void,
}

impl Drop for AccessList {
    fn drop(&mut self) {
        // SAFETY: allocated by `GetSecurityInfo`, and freed once.
        unsafe { LocalFree(self.descriptor) };
    }
}

impl AccessList {
    fn of(object: &File) -> io::Result<Self> {
        let mut access = Self { list: null_mut(), descriptor: null_mut() };
        // SAFETY: an open handle; parts that are not requested may be null, the rest is writable.
        let answer = unsafe {
            GetSecurityInfo(
                object.as_raw_handle(),
                SE_FILE_OBJECT,
                DACL_SECURITY_INFORMATION,
                null_mut(),
                null_mut(),
                &raw mut access.list,
                null_mut(),
                &raw mut access.descriptor,
            )
        };
        check_code(answer)?;
        if access.list.is_null() {
            let why = "everyone has full access, or the disk has no access lists";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        Ok(access)
    }

    fn grants(&self, sid: &Sid) -> bool {
        // SAFETY: a valid list, alive as long as `self`.
        let count = unsafe { (*self.list).AceCount };
        (0..u32::from(count)).any(|index| {
            let mut entry = null_mut();
            // SAFETY: the index is within the list.
            if unsafe { GetAce(self.list, index, &raw mut entry) } == 0 {
                return false;
            }
            let entry = entry.cast::<ACCESS_ALLOWED_ACE>();
            // SAFETY: every entry begins with a header; the rest is read only if the type has such a rest.
            unsafe {
                let head = (*entry).Header;
                head.AceType == 0
                    && u32::from(head.AceFlags) & SUB_CONTAINERS_AND_OBJECTS_INHERIT
                        == SUB_CONTAINERS_AND_OBJECTS_INHERIT
                    && (*entry).Mask & MODIFY == MODIFY
                    && EqualSid((&raw mut (*entry).SidStart).cast(), sid.as_ptr()) != 0
            }
        })
    }

    /// The inheritance flags, which are kept when the list is replaced.
    fn control(&self) -> u16 {
        let (mut control, mut revision) = (0, 0);
        // SAFETY: a valid descriptor and two writable results.
        let known = unsafe {
            GetSecurityDescriptorControl(self.descriptor, &raw mut control, &raw mut revision)
        };
        if known == 0 { 0 } else { control & (SE_DACL_AUTO_INHERITED | SE_DACL_PROTECTED) }
    }
}

/// An access list allocated by the system.
struct AllocatedList(*mut ACL);

impl Drop for AllocatedList {
    fn drop(&mut self) {
        // SAFETY: allocated by `SetEntriesInAclW`, and freed once.
        unsafe { LocalFree(self.0.cast()) };
    }
}

/// Whether `sid` has access to this folder and to new files inside.
pub(super) fn has_access(folder: &File, sid: &Sid) -> io::Result<bool> {
    Ok(AccessList::of(folder)?.grants(sid))
}

/// Lets `sid` modify this file or folder, and new files in the folder. Existing content is not touched, so that no link is followed and
/// no hard link opened.
pub(super) fn grant(object: &File, sid: &Sid, is_folder: bool) -> io::Result<()> {
    let access = AccessList::of(object)?;
    let inherited = if is_folder { SUB_CONTAINERS_AND_OBJECTS_INHERIT } else { NO_INHERITANCE };
    let entry = EXPLICIT_ACCESS_W {
        grfAccessPermissions: MODIFY,
        grfAccessMode: GRANT_ACCESS,
        grfInheritance: inherited,
        Trustee: TRUSTEE_W {
            TrusteeForm: TRUSTEE_IS_SID,
            ptstrName: sid.as_ptr().cast(),
            ..TRUSTEE_W::default()
        },
    };
    let mut list = AllocatedList(null_mut());
    // SAFETY: a single valid entry, a valid list, and a writable result.
    check_code(unsafe { SetEntriesInAclW(1, &raw const entry, access.list, &raw mut list.0) })?;
    let mut descriptor = SECURITY_DESCRIPTOR::default();
    let new = (&raw mut descriptor).cast();
    let kept = access.control();
    let inheritance = if kept & SE_DACL_AUTO_INHERITED == 0 { 0 } else { SE_DACL_AUTO_INHERIT_REQ };
    let mask = SE_DACL_AUTO_INHERITED | SE_DACL_AUTO_INHERIT_REQ | SE_DACL_PROTECTED;
    // SAFETY: the descriptor is initialised before use, and the list outlives the descriptor.
    unsafe {
        check(InitializeSecurityDescriptor(new, 1))?;
        check(SetSecurityDescriptorDacl(new, 1, list.0, 0))?;
        check(SetSecurityDescriptorControl(new, mask, kept | inheritance))?;
        check(SetKernelObjectSecurity(object.as_raw_handle(), DACL_SECURITY_INFORMATION, new))
    }
}

fn check_code(answer: u32) -> io::Result<()> {
    if answer == ERROR_SUCCESS {
        return Ok(());
    }
    Err(io::Error::from_raw_os_error(answer.cast_signed()))
}
