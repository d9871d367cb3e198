//! A job, and a process in it: the calls, and all that is unsafe about them.
//!
//! What the system hands out is owned by a type that gives it back, also where the next call fails. It refuses to run
//! anything unseen: a process is made suspended, and is begun by `Suspended::begin` alone, which looks at its token and
//! its job first. One could get it wrong by believing that what was asked of a call is what came of it.

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

use super::rights::Sid;

/// How a command ends that Rouse ends.
const ENDED: u32 = 1;

/// The system's own folder of programs.
pub(super) fn system_folder() -> io::Result<PathBuf> {
    let mut space = [0; 512];
    // SAFETY: as much can be written as is said.
    let length = unsafe { GetSystemDirectoryW(space.as_mut_ptr(), space.len() as u32) } as usize;
    match space.get(..length) {
        Some(path @ [_, ..]) => Ok(OsString::from_wide(path).into()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A job object: what is in it stays in it, is bounded, and ends when this is dropped, also by a crash.
#[derive(Debug)]
pub(super) struct Job(OwnedHandle);

impl Job {
    pub(super) fn new(processes: u32, memory_bytes: u64) -> io::Result<Self> {
        // SAFETY: no pointers; the handle is owned from here on.
        let job = Self(unsafe { owned(CreateJobObjectW(null(), null())) }?);
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        // Nothing here lets a process break away.
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
        // SAFETY: an open job, and a value of the size that is said.
        done(unsafe { SetInformationJobObject(self.0.as_raw_handle(), class, value, size) })
    }

    /// Ends all that is in it.
    pub(super) fn end(&self) -> io::Result<()> {
        // SAFETY: an open job.
        done(unsafe { TerminateJobObject(self.0.as_raw_handle(), ENDED) })
    }
}

/// What a process is to be.
pub(super) struct Wanted<'w> {
    /// The program's full path.
    pub(super) program: &'w OsStr,
    /// Its command line, with its name.
    pub(super) line: &'w OsStr,
    pub(super) folder: &'w OsStr,
    /// `NAME=value`, each ended by a zero, and one more at the end.
    pub(super) environment: &'w [u16],
    pub(super) sid: &'w Sid,
    pub(super) job: &'w Job,
    /// Input, output, errors; it gets no other handle.
    pub(super) streams: [BorrowedHandle<'w>; 3],
}

/// A process that has not run yet. Dropping it ends it.
pub(super) struct Suspended {
    process: Option<OwnedHandle>,
    thread: OwnedHandle,
}

impl Drop for Suspended {
    fn drop(&mut self) {
        if let Some(process) = &self.process {
            // SAFETY: an open process. Where it is in no job, nothing else would end it.
            unsafe { TerminateProcess(process.as_raw_handle(), ENDED) };
        }
    }
}

/// Makes a process that waits to be begun.
pub(super) fn create(wanted: &Wanted<'_>) -> io::Result<Suspended> {
    let handles = wanted.streams.map(|stream| stream.as_raw_handle());
    let jobs = [wanted.job.0.as_raw_handle()];
    let rights = SECURITY_CAPABILITIES {
        AppContainerSid: wanted.sid.as_ptr(),
        ..SECURITY_CAPABILITIES::default()
    };
    let mut attributes = Attributes::new(3)?;
    attributes.set(PROC_THREAD_ATTRIBUTE_SECURITY_CAPABILITIES, &rights)?;
    attributes.set(PROC_THREAD_ATTRIBUTE_HANDLE_LIST, &handles)?;
    attributes.set(PROC_THREAD_ATTRIBUTE_JOB_LIST, &jobs)?;
    create_with(wanted, &mut attributes)
}

/// As a system would make it that takes no notice of what confines it.
#[cfg(test)]
pub(super) fn create_unheeded(wanted: &Wanted<'_>) -> io::Result<Suspended> {
    let handles = wanted.streams.map(|stream| stream.as_raw_handle());
    let mut attributes = Attributes::new(1)?;
    attributes.set(PROC_THREAD_ATTRIBUTE_HANDLE_LIST, &handles)?;
    create_with(wanted, &mut attributes)
}

fn create_with(wanted: &Wanted<'_>, attributes: &mut Attributes<'_>) -> io::Result<Suspended> {
    let handles = wanted.streams.map(|stream| stream.as_raw_handle());
    let mut startup = STARTUPINFOEXW { lpAttributeList: attributes.list(), ..Default::default() };
    startup.StartupInfo.cb = size_of::<STARTUPINFOEXW>() as u32;
    startup.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
    [
        startup.StartupInfo.hStdInput,
        startup.StartupInfo.hStdOutput,
        startup.StartupInfo.hStdError,
    ] = handles;
    let (program, mut line, folder) =
        (wide(wanted.program)?, wide(wanted.line)?, wide(wanted.folder)?);
    // What another thread starts just now inherits these as well: it can hold a pipe open, so what is read
    // there is waited for so long only (`child`).
    for handle in handles {
        // SAFETY: an open handle.
        done(unsafe { SetHandleInformation(handle, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT) })?;
    }
    let mut made = PROCESS_INFORMATION::default();
    // SAFETY: texts that end in zero, a line that may be written, a startup of the extended kind as the flags say, whose
    // attributes point to what outlives this call.
    let answer = unsafe {
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
            wanted.environment.as_ptr().cast(),
            folder.as_ptr(),
            &raw const startup.StartupInfo,
            &raw mut made,
        )
    };
    done(answer)?;
    // SAFETY: both are new and nobody else's.
    let (process, thread) = unsafe { (owned(made.hProcess)?, owned(made.hThread)?) };
    Ok(Suspended { process: Some(process), thread })
}

impl Suspended {
    /// Lets it run, if it is confined as it was to be; otherwise it is ended without having run.
    pub(super) fn begin(mut self, wanted: &Wanted<'_>) -> io::Result<OwnedHandle> {
        let refused = |why| Err(io::Error::new(io::ErrorKind::Unsupported, why));
        let Some(process) = &self.process else { return refused("it has begun already") };
        let mut is_in_job = 0;
        // SAFETY: two open handles, and a place for the answer.
        done(unsafe {
            IsProcessInJob(
                process.as_raw_handle(),
                wanted.job.0.as_raw_handle(),
                &raw mut is_in_job,
            )
        })?;
        if is_in_job == 0 {
            return refused("the system did not put the command into its job");
        }
        if !Token::of(process)?.is_confined_to(wanted.sid)? {
            return refused("the system did not put the command into its AppContainer");
        }
        // SAFETY: an open thread.
        if unsafe { ResumeThread(self.thread.as_raw_handle()) } == u32::MAX {
            return Err(io::Error::last_os_error());
        }
        self.process.take().ok_or_else(|| io::ErrorKind::Other.into())
    }
}

/// What a process may do.
struct Token(OwnedHandle);

impl Token {
    fn of(process: &OwnedHandle) -> io::Result<Self> {
        let mut token = null_mut();
        // SAFETY: an open process, and a place for the handle, which is owned from here on.
        unsafe {
            done(OpenProcessToken(process.as_raw_handle(), TOKEN_QUERY, &raw mut token))?;
            owned(token).map(Self)
        }
    }

    /// Whether it is one of this AppContainer, without any capability.
    fn is_confined_to(&self, sid: &Sid) -> io::Result<bool> {
        // SAFETY: each class is read as the type that the system documents for it, out of the space it was written to;
        // what it points to lies in that space.
        unsafe {
            let flag = self.ask(TokenIsAppContainer)?;
            let container = self.ask(TokenAppContainerSid)?;
            let capabilities = self.ask(TokenCapabilities)?;
            let own =
                (*container.as_ptr().cast::<TOKEN_APPCONTAINER_INFORMATION>()).TokenAppContainer;
            Ok(*flag.as_ptr().cast::<u32>() == 1
                && !own.is_null()
                && EqualSid(own, sid.as_ptr()) != 0
                && (*capabilities.as_ptr().cast::<TOKEN_GROUPS>()).GroupCount == 0)
        }
    }

    /// At least as much space as the largest of these types takes, and zeros where nothing was written.
    fn ask(&self, class: TOKEN_INFORMATION_CLASS) -> io::Result<Box<[u64]>> {
        let mut space = vec![0_u64; 512].into_boxed_slice();
        let mut length = 0;
        // SAFETY: an open token, and as much space as is said.
        done(unsafe {
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

/// How the process ended; none when it has not by then.
pub(super) fn wait(process: &OwnedHandle, at_most: Option<Duration>) -> io::Result<Option<u32>> {
    let limit = at_most.map_or(INFINITE, |limit| limit.as_millis() as u32);
    // SAFETY: an open process.
    match unsafe { WaitForSingleObject(process.as_raw_handle(), limit) } {
        WAIT_OBJECT_0 => {}
        WAIT_TIMEOUT => return Ok(None),
        _ => return Err(io::Error::last_os_error()),
    }
    let mut code = 0;
    // SAFETY: an open process, and a place for its code.
    done(unsafe { GetExitCodeProcess(process.as_raw_handle(), &raw mut code) })?;
    Ok(Some(code))
}

/// What a new process is told beside its line; the values are borrowed until it is made.
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
        // SAFETY: without a list the call only answers how much space one takes.
        unsafe { InitializeProcThreadAttributeList(null_mut(), count, 0, &raw mut size) };
        let mut space = vec![0_usize; size.div_ceil(size_of::<usize>())].into_boxed_slice();
        let list = space.as_mut_ptr().cast();
        // SAFETY: as much space as was asked for.
        done(unsafe { InitializeProcThreadAttributeList(list, count, 0, &raw mut size) })?;
        Ok(Self { space, values: PhantomData })
    }

    fn list(&mut self) -> *mut c_void {
        self.space.as_mut_ptr().cast()
    }

    fn set<T>(&mut self, attribute: u32, value: &'v T) -> io::Result<()> {
        let (list, value) = (self.list(), from_ref(value).cast());
        // SAFETY: an initialised list, and a value that lives longer than it.
        done(unsafe {
            let attribute = attribute as usize;
            UpdateProcThreadAttribute(list, 0, attribute, value, size_of::<T>(), null_mut(), null())
        })
    }
}

/// # Safety
/// `handle` is new and nobody else's.
unsafe fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: by contract.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

pub(super) fn done(answer: BOOL) -> io::Result<()> {
    if answer == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// As Windows reads it: UTF-16, ended by a zero and without another.
pub(super) fn wide(text: &OsStr) -> io::Result<Vec<u16>> {
    let mut units: Vec<u16> = text.encode_wide().collect();
    if units.contains(&0) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a zero is no part of a text"));
    }
    units.push(0);
    Ok(units)
}
