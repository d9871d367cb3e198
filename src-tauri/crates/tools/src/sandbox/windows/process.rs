//! Job objects and processes: the raw calls. Preview: never run on Windows.
//!
//! Every handle is owned by a type that closes the handle, also if a later call fails. Never runs an unchecked process:
//! a process is created suspended, and only `Suspended::resume_if_confined` resumes the process, after checking token
//! and job. Pitfall: to trust that a call did its work.

use std::ffi::{OsStr, OsString, c_void};
use std::io;
use std::marker::PhantomData;
use std::os::windows::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::windows::io::{AsRawHandle as _, BorrowedHandle, FromRawHandle as _, OwnedHandle};
use std::path::PathBuf;
use std::ptr::{from_ref, null, null_mut};
use std::time::Duration;

use windows_sys::Win32::Foundation::{
    HANDLE, HANDLE_FLAG_INHERIT, SetHandleInformation, WAIT_OBJECT_0, WAIT_TIMEOUT,
};
use windows_sys::Win32::Security::{
    EqualSid, GetTokenInformation, SECURITY_CAPABILITIES, TOKEN_APPCONTAINER_INFORMATION,
    TOKEN_GROUPS, TOKEN_INFORMATION_CLASS, TOKEN_QUERY, TokenAppContainerSid, TokenCapabilities,
    TokenIsAppContainer,
};
use windows_sys::Win32::System::JobObjects::{
    CreateJobObjectW, IsProcessInJob, JOB_OBJECT_LIMIT_ACTIVE_PROCESS,
    JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION, JOB_OBJECT_LIMIT_JOB_MEMORY,
    JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, JOB_OBJECT_UILIMIT_DESKTOP,
    JOB_OBJECT_UILIMIT_DISPLAYSETTINGS, JOB_OBJECT_UILIMIT_EXITWINDOWS,
    JOB_OBJECT_UILIMIT_GLOBALATOMS, JOB_OBJECT_UILIMIT_HANDLES, JOB_OBJECT_UILIMIT_READCLIPBOARD,
    JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS, JOB_OBJECT_UILIMIT_WRITECLIPBOARD,
    JOBOBJECT_BASIC_UI_RESTRICTIONS, JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JOBOBJECTINFOCLASS,
    JobObjectBasicUIRestrictions, JobObjectExtendedLimitInformation, SetInformationJobObject,
    TerminateJobObject,
};
use windows_sys::Win32::System::SystemInformation::GetSystemDirectoryW;
use windows_sys::Win32::System::Threading::{
    CREATE_NO_WINDOW, CREATE_SUSPENDED, CREATE_UNICODE_ENVIRONMENT, CreateProcessW,
    DeleteProcThreadAttributeList, EXTENDED_STARTUPINFO_PRESENT, GetExitCodeProcess, INFINITE,
    InitializeProcThreadAttributeList, OpenProcessToken, PROC_THREAD_ATTRIBUTE_HANDLE_LIST,
    PROC_THREAD_ATTRIBUTE_JOB_LIST, PROC_THREAD_ATTRIBUTE_SECURITY_CAPABILITIES,
    PROCESS_INFORMATION, ResumeThread, STARTF_USESTDHANDLES, STARTUPINFOEXW, TerminateProcess,
    UpdateProcThreadAttribute, WaitForSingleObject,
};
use windows_sys::core::BOOL;

use super::acl::Sid;

/// Exit code of a command killed by Rouse.
const KILLED: u32 = 1;

/// The system's program folder.
pub(super) fn system_folder() -> io::Result<PathBuf> {
    let mut space = [0; 512];
    // SAFETY: the buffer has the passed length.
    let length = unsafe { GetSystemDirectoryW(space.as_mut_ptr(), space.len() as u32) } as usize;
    match space.get(..length) {
        Some(path @ [_, ..]) => Ok(OsString::from_wide(path).into()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A job object: the processes stay inside, are limited, and end when the job is dropped, also by a crash.
#[derive(Debug)]
pub(super) struct Job(OwnedHandle);

impl Job {
    pub(super) fn new(processes: u32, memory_bytes: u64) -> io::Result<Self> {
        // SAFETY: no pointers; the handle is owned from here on.
        let job = Self(unsafe { owned(CreateJobObjectW(null(), null())) }?);
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        // No flag allows a process to break away.
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
            | JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION
            | JOB_OBJECT_LIMIT_ACTIVE_PROCESS
            | JOB_OBJECT_LIMIT_JOB_MEMORY;
        limits.BasicLimitInformation.ActiveProcessLimit = processes;
        limits.JobMemoryLimit = usize::try_from(memory_bytes).unwrap_or(usize::MAX);
        job.set(JobObjectExtendedLimitInformation, &limits)?;
        let windows = JOBOBJECT_BASIC_UI_RESTRICTIONS {
            UIRestrictionsClass: JOB_OBJECT_UILIMIT_DESKTOP
                | JOB_OBJECT_UILIMIT_DISPLAYSETTINGS
                | JOB_OBJECT_UILIMIT_EXITWINDOWS
                | JOB_OBJECT_UILIMIT_GLOBALATOMS
                | JOB_OBJECT_UILIMIT_HANDLES
                | JOB_OBJECT_UILIMIT_READCLIPBOARD
                | JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS
                | JOB_OBJECT_UILIMIT_WRITECLIPBOARD,
        };
        job.set(JobObjectBasicUIRestrictions, &windows)?;
        Ok(job)
    }

    fn set<T>(&self, class: JOBOBJECTINFOCLASS, value: &T) -> io::Result<()> {
        let (value, size) = (from_ref(value).cast(), size_of::<T>() as u32);
        // SAFETY: an open job, and a value of the passed size.
        check(unsafe { SetInformationJobObject(self.0.as_raw_handle(), class, value, size) })
    }

    /// Kills all processes.
    pub(super) fn terminate(&self) -> io::Result<()> {
        // SAFETY: an open job.
        check(unsafe { TerminateJobObject(self.0.as_raw_handle(), KILLED) })
    }
}

/// The specification of a process.
pub(super) struct ProcessSpec<'w> {
    /// Full path.
    pub(super) program: &'w OsStr,
    /// Command line with the program's name.
    pub(super) line: &'w OsStr,
    pub(super) folder: &'w OsStr,
    /// `NAME=value`, each terminated by a zero, with another zero at the end.
    pub(super) environment: &'w [u16],
    pub(super) sid: &'w Sid,
    pub(super) job: &'w Job,
    /// Standard input, output and error: the only inherited handles.
    pub(super) streams: [BorrowedHandle<'w>; 3],
}

/// A process that has not run yet. Dropping kills the process.
pub(super) struct Suspended {
    process: Option<OwnedHandle>,
    thread: OwnedHandle,
}

impl Drop for Suspended {
    fn drop(&mut self) {
        if let Some(process) = &self.process {
            // SAFETY: an open process. Outside a job, nothing else would end it.
            unsafe { TerminateProcess(process.as_raw_handle(), KILLED) };
        }
    }
}

/// Creates a suspended process.
pub(super) fn create(spec: &ProcessSpec<'_>) -> io::Result<Suspended> {
    let handles = spec.streams.map(|stream| stream.as_raw_handle());
    let jobs = [spec.job.0.as_raw_handle()];
    let rights = SECURITY_CAPABILITIES {
        AppContainerSid: spec.sid.as_ptr(),
        ..SECURITY_CAPABILITIES::default()
    };
    let mut attributes = Attributes::new(3)?;
    attributes.set(PROC_THREAD_ATTRIBUTE_SECURITY_CAPABILITIES, &rights)?;
    attributes.set(PROC_THREAD_ATTRIBUTE_HANDLE_LIST, &handles)?;
    attributes.set(PROC_THREAD_ATTRIBUTE_JOB_LIST, &jobs)?;
    create_with(spec, &mut attributes)
}

/// Creates a process as a system would that ignores job and AppContainer.
#[cfg(test)]
pub(super) fn create_unconfined(spec: &ProcessSpec<'_>) -> io::Result<Suspended> {
    let handles = spec.streams.map(|stream| stream.as_raw_handle());
    let mut attributes = Attributes::new(1)?;
    attributes.set(PROC_THREAD_ATTRIBUTE_HANDLE_LIST, &handles)?;
    create_with(spec, &mut attributes)
}

fn create_with(spec: &ProcessSpec<'_>, attributes: &mut Attributes<'_>) -> io::Result<Suspended> {
    let handles = spec.streams.map(|stream| stream.as_raw_handle());
    let mut startup = STARTUPINFOEXW { lpAttributeList: attributes.list(), ..Default::default() };
    startup.StartupInfo.cb = size_of::<STARTUPINFOEXW>() as u32;
    startup.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
    [
        startup.StartupInfo.hStdInput,
        startup.StartupInfo.hStdOutput,
        startup.StartupInfo.hStdError,
    ] = handles;
    let (program, mut line, folder) =
        (to_wide(spec.program)?, to_wide(spec.line)?, to_wide(spec.folder)?);
    // A process started by another thread at this moment inherits the handles too and can hold a pipe open; readers therefore wait for
    // a limited time only (`process`).
    for handle in handles {
        // SAFETY: an open handle.
        check(unsafe { SetHandleInformation(handle, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT) })?;
    }
    let mut made = PROCESS_INFORMATION::default();
    // SAFETY: zero-terminated strings, a writable command line, and an extended startup struct whose attributes outlive the call.
    let created = unsafe {
        CreateProcessW(
            program.as_ptr(),
            line.as_mut_ptr(),
            null(),
            null(),
            1,
            CREATE_SUSPENDED
                | CREATE_NO_WINDOW
                | CREATE_UNICODE_ENVIRONMENT
                | EXTENDED_STARTUPINFO_PRESENT,
            spec.environment.as_ptr().cast(),
            folder.as_ptr(),
            &raw const startup.StartupInfo,
            &raw mut made,
        )
    };
    check(created)?;
    // SAFETY: both handles are new and unshared.
    let (process, thread) = unsafe { (owned(made.hProcess)?, owned(made.hThread)?) };
    Ok(Suspended { process: Some(process), thread })
}

impl Suspended {
    /// Resumes the process if confined as specified; otherwise kills the process unrun.
    pub(super) fn resume_if_confined(mut self, spec: &ProcessSpec<'_>) -> io::Result<OwnedHandle> {
        let refused = |why| Err(io::Error::new(io::ErrorKind::Unsupported, why));
        let Some(process) = &self.process else { return refused("the process runs already") };
        let mut is_in_job = 0;
        // SAFETY: two open handles and a writable result.
        check(unsafe {
            IsProcessInJob(process.as_raw_handle(), spec.job.0.as_raw_handle(), &raw mut is_in_job)
        })?;
        if is_in_job == 0 {
            return refused("the system did not put the command into its job");
        }
        if !Token::of(process)?.is_confined_to(spec.sid)? {
            return refused("the system did not put the command into its AppContainer");
        }
        // SAFETY: an open thread.
        if unsafe { ResumeThread(self.thread.as_raw_handle()) } == u32::MAX {
            return Err(io::Error::last_os_error());
        }
        self.process.take().ok_or_else(|| io::ErrorKind::Other.into())
    }
}

/// The access token of a process.
struct Token(OwnedHandle);

impl Token {
    fn of(process: &OwnedHandle) -> io::Result<Self> {
        let mut token = null_mut();
        // SAFETY: an open process and a writable handle, which is owned from here on.
        unsafe {
            check(OpenProcessToken(process.as_raw_handle(), TOKEN_QUERY, &raw mut token))?;
            owned(token).map(Self)
        }
    }

    /// Whether the token belongs to this AppContainer and has no capability.
    fn is_confined_to(&self, sid: &Sid) -> io::Result<bool> {
        // SAFETY: each class is read as its documented type from the buffer it was written to, which also holds what it points to.
        unsafe {
            let flag = self.query(TokenIsAppContainer)?;
            let container = self.query(TokenAppContainerSid)?;
            let capabilities = self.query(TokenCapabilities)?;
            let own =
                (*container.as_ptr().cast::<TOKEN_APPCONTAINER_INFORMATION>()).TokenAppContainer;
            Ok(*flag.as_ptr().cast::<u32>() == 1
                && !own.is_null()
                && EqualSid(own, sid.as_ptr()) != 0
                && (*capabilities.as_ptr().cast::<TOKEN_GROUPS>()).GroupCount == 0)
        }
    }

    /// Returns a zeroed buffer, larger than any of the queried types.
    fn query(&self, class: TOKEN_INFORMATION_CLASS) -> io::Result<Box<[u64]>> {
        let mut space = vec![0_u64; 512].into_boxed_slice();
        let mut length = 0;
        // SAFETY: an open token, and a buffer of the passed size.
        check(unsafe {
            GetTokenInformation(
                self.0.as_raw_handle(),
                class,
                space.as_mut_ptr().cast(),
                size_of_val(&*space) as u32,
                &raw mut length,
            )
        })?;
        Ok(space)
    }
}

/// Waits for a process; `None` if it still runs after `limit`.
pub(super) fn wait(process: &OwnedHandle, limit: Option<Duration>) -> io::Result<Option<u32>> {
    let limit = limit.map_or(INFINITE, |limit| limit.as_millis() as u32);
    // SAFETY: an open process.
    match unsafe { WaitForSingleObject(process.as_raw_handle(), limit) } {
        WAIT_OBJECT_0 => {}
        WAIT_TIMEOUT => return Ok(None),
        _ => return Err(io::Error::last_os_error()),
    }
    let mut code = 0;
    // SAFETY: an open process and a writable code.
    check(unsafe { GetExitCodeProcess(process.as_raw_handle(), &raw mut code) })?;
    Ok(Some(code))
}

/// Attributes of a new process; the values are borrowed until the process is created.
struct Attributes<'v> {
    space: Box<[usize]>,
    values: PhantomData<&'v ()>,
}

impl Drop for Attributes<'_> {
    fn drop(&mut self) {
        // SAFETY: it was initialised, and is deleted once.
        unsafe { DeleteProcThreadAttributeList(self.list()) };
    }
}

impl<'v> Attributes<'v> {
    fn new(count: u32) -> io::Result<Self> {
        let mut size = 0;
        // SAFETY: without a list the call returns the required size.
        unsafe { InitializeProcThreadAttributeList(null_mut(), count, 0, &raw mut size) };
        let mut space = vec![0_usize; size.div_ceil(size_of::<usize>())].into_boxed_slice();
        let list = space.as_mut_ptr().cast();
        // SAFETY: the buffer has the required size.
        check(unsafe { InitializeProcThreadAttributeList(list, count, 0, &raw mut size) })?;
        Ok(Self { space, values: PhantomData })
    }

    fn list(&mut self) -> *mut c_void {
        self.space.as_mut_ptr().cast()
    }

    fn set<T>(&mut self, attribute: u32, value: &'v T) -> io::Result<()> {
        let (list, value) = (self.list(), from_ref(value).cast());
        // SAFETY: an initialised list, and a value that outlives it.
        check(unsafe {
            let attribute = attribute as usize;
            UpdateProcThreadAttribute(list, 0, attribute, value, size_of::<T>(), null_mut(), null())
        })
    }
}

/// # Safety
/// `handle` is new and unshared.
unsafe fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: by contract.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

pub(super) fn check(result: BOOL) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Encodes as zero-terminated UTF-16.
pub(super) fn to_wide(text: &OsStr) -> io::Result<Vec<u16>> {
    let mut units: Vec<u16> = text.encode_wide().collect();
    if units.contains(&0) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the text contains a zero"));
    }
    units.push(0);
    Ok(units)
}
