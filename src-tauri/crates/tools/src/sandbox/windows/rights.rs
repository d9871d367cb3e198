//! Who an AppContainer is, and which rights it has on a file: the calls, and all that is unsafe about them.
//!
//! What the system hands out is owned by a type that gives it back, also where the next call fails. It refuses to touch
//! more than the one file or folder that it is given, so that no link is followed. The calls for AppContainers are looked
//! up when they are needed, because a system without them would otherwise not even start Rouse. One could get it wrong by
//! setting rights anew instead of adding one: the person would be locked out of the folder.

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

use super::process::{done, wide};

/// Reading, writing, running and deleting; neither rights nor the owner can be changed with it.
const MODIFY: u32 = 0x0013_01BF;
/// What `CreateAppContainerProfile` answers where there is one of that name: `ERROR_ALREADY_EXISTS`.
const EXISTS: HRESULT = 0x8007_00B7_u32.cast_signed();

/// The identity of an AppContainer: a copy, so that it belongs to nobody else.
#[derive(Debug)]
pub(super) struct Sid(Box<[u32]>);

impl Sid {
    /// # Safety
    /// `sid` points to a valid one.
    unsafe fn copied(sid: PSID) -> Self {
        // SAFETY: valid by contract.
        let length = unsafe { GetLengthSid(sid) } as usize;
        // SAFETY: the whole length can be read, is a multiple of four, and is aligned so (its last part is `u32`s).
        Self(unsafe { std::slice::from_raw_parts(sid.cast::<u32>(), length / 4) }.into())
    }

    /// For calls that only read it, though their types do not say so.
    pub(super) fn as_ptr(&self) -> PSID {
        self.0.as_ptr().cast_mut().cast()
    }

    /// One that no AppContainer of this computer has.
    #[cfg(test)]
    pub(super) fn of_nobody() -> Self {
        // S-1-15-2-1-2-3-4-5-6-7: the revision, eight parts, the authority, the parts.
        Self([0x0000_0801, 0x0F00_0000, 2, 1, 2, 3, 4, 5, 6, 7].into())
    }
}

/// The AppContainer of this name, which is made where there is none.
pub(super) fn app_container(name: &str) -> io::Result<Sid> {
    type Create =
        unsafe extern "system" fn(PCWSTR, PCWSTR, PCWSTR, *const c_void, u32, *mut PSID) -> HRESULT;
    type Derive = unsafe extern "system" fn(PCWSTR, *mut PSID) -> HRESULT;
    let create = userenv(c"CreateAppContainerProfile")?;
    let derive = userenv(c"DeriveAppContainerSidFromAppContainerName")?;
    // SAFETY: these are their signatures (userenv.h).
    let (create, derive) = unsafe {
        (
            std::mem::transmute::<Procedure, Create>(create),
            std::mem::transmute::<Procedure, Derive>(derive),
        )
    };
    let name = wide(OsStr::new(name))?;
    let (title, about) = (w!("Rouse"), w!("Commands that Rouse runs in one workspace"));
    let mut sid = null_mut();
    // SAFETY: the texts end in zero; no capabilities; `sid` can be written.
    let mut answer = unsafe { create(name.as_ptr(), title, about, null(), 0, &raw mut sid) };
    if answer == EXISTS {
        // SAFETY: as above.
        answer = unsafe { derive(name.as_ptr(), &raw mut sid) };
    }
    if answer < 0 || sid.is_null() {
        return Err(io::Error::from_raw_os_error(answer));
    }
    // SAFETY: the call has answered a valid one, which is freed once and not used afterwards.
    let copy = unsafe { Sid::copied(sid) };
    // SAFETY: as above.
    unsafe { FreeSid(sid) };
    Ok(copy)
}

/// Takes back what `app_container` made.
pub(super) fn forget_app_container(name: &str) -> io::Result<()> {
    type Delete = unsafe extern "system" fn(PCWSTR) -> HRESULT;
    let delete = userenv(c"DeleteAppContainerProfile")?;
    // SAFETY: this is its signature (userenv.h).
    let delete = unsafe { std::mem::transmute::<Procedure, Delete>(delete) };
    let name = wide(OsStr::new(name))?;
    // SAFETY: the text ends in zero.
    let answer = unsafe { delete(name.as_ptr()) };
    if answer < 0 { Err(io::Error::from_raw_os_error(answer)) } else { Ok(()) }
}

type Procedure = unsafe extern "system" fn() -> isize;

fn userenv(name: &CStr) -> io::Result<Procedure> {
    // SAFETY: a constant name, looked for among the system's own libraries; it stays loaded.
    let library =
        unsafe { LoadLibraryExW(w!("userenv.dll"), null_mut(), LOAD_LIBRARY_SEARCH_SYSTEM32) };
    if library.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a loaded library, and a name that ends in zero.
    let found = unsafe { GetProcAddress(library, name.as_ptr().cast()) };
    found.ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "this system has none"))
}

/// The rights on one file or folder; what they came with is freed with them.
struct Rights {
    list: *mut ACL,
    descriptor: *mut c_void,
}

impl Drop for Rights {
    fn drop(&mut self) {
        // SAFETY: `GetSecurityInfo` allocated it, and it is freed once.
        unsafe { LocalFree(self.descriptor) };
    }
}

impl Rights {
    fn of(object: &File) -> io::Result<Self> {
        let mut rights = Self { list: null_mut(), descriptor: null_mut() };
        // SAFETY: an open handle; what is not asked for may be null, the rest can be written.
        let answer = unsafe {
            GetSecurityInfo(
                object.as_raw_handle(),
                SE_FILE_OBJECT,
                DACL_SECURITY_INFORMATION,
                null_mut(),
                null_mut(),
                &raw mut rights.list,
                null_mut(),
                &raw mut rights.descriptor,
            )
        };
        succeeded(answer)?;
        if rights.list.is_null() {
            let why = "everybody has every right there, or the disk keeps none";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        Ok(rights)
    }

    fn allow(&self, sid: &Sid) -> bool {
        // SAFETY: a valid list, alive as long as `self`.
        let count = unsafe { (*self.list).AceCount };
        (0..u32::from(count)).any(|index| {
            let mut entry = null_mut();
            // SAFETY: the index is within the list.
            if unsafe { GetAce(self.list, index, &raw mut entry) } == 0 {
                return false;
            }
            let entry = entry.cast::<ACCESS_ALLOWED_ACE>();
            // SAFETY: every entry begins with its head; the rest is read only when its kind has it.
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

    /// What of the way these rights came about is kept when others are set.
    fn control(&self) -> u16 {
        let (mut control, mut revision) = (0, 0);
        // SAFETY: a valid descriptor; both can be written.
        let known = unsafe {
            GetSecurityDescriptorControl(self.descriptor, &raw mut control, &raw mut revision)
        };
        if known == 0 { 0 } else { control & (SE_DACL_AUTO_INHERITED | SE_DACL_PROTECTED) }
    }
}

/// A list of rights that the system has allocated.
struct List(*mut ACL);

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: `SetEntriesInAclW` allocated it, and it is freed once.
        unsafe { LocalFree(self.0.cast()) };
    }
}

/// Whether `sid` has its rights on this folder, and on what is made in it.
pub(super) fn is_granted(folder: &File, sid: &Sid) -> io::Result<bool> {
    Ok(Rights::of(folder)?.allow(sid))
}

/// Lets `sid` read, write, run and delete this one file or folder; of a folder, also what will be made in it. Nothing
/// that is in a folder already is touched, so that no link is followed and no other name of a file let in.
pub(super) fn grant(object: &File, sid: &Sid, is_folder: bool) -> io::Result<()> {
    let rights = Rights::of(object)?;
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
    let mut list = List(null_mut());
    // SAFETY: one valid entry, a valid list, and a place for the new one.
    succeeded(unsafe { SetEntriesInAclW(1, &raw const entry, rights.list, &raw mut list.0) })?;
    let mut descriptor = SECURITY_DESCRIPTOR::default();
    let new = (&raw mut descriptor).cast();
    let kept = rights.control();
    let asked = if kept & SE_DACL_AUTO_INHERITED == 0 { 0 } else { SE_DACL_AUTO_INHERIT_REQ };
    let mask = SE_DACL_AUTO_INHERITED | SE_DACL_AUTO_INHERIT_REQ | SE_DACL_PROTECTED;
    // SAFETY: the descriptor is written before it is used, and the list outlives it.
    unsafe {
        done(InitializeSecurityDescriptor(new, 1))?;
        done(SetSecurityDescriptorDacl(new, 1, list.0, 0))?;
        done(SetSecurityDescriptorControl(new, mask, kept | asked))?;
        done(SetKernelObjectSecurity(object.as_raw_handle(), DACL_SECURITY_INFORMATION, new))
    }
}

fn succeeded(answer: u32) -> io::Result<()> {
    if answer == ERROR_SUCCESS {
        return Ok(());
    }
    Err(io::Error::from_raw_os_error(answer.cast_signed()))
}
