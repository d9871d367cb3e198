//! The self-test: a sandboxed command tries to escape, once per process of Rouse, before any other command runs. Preview: never run on
//! Windows.
//!
//! The command tries to read a file outside, to write a file outside, to reach a listener on this computer, and to
//! reach an unused address (RFC 5737). The output alone does not count: the secret must be absent from the output, the
//! file must not exist, and the listener must have no connection. The command must also succeed at allowed operations:
//! read and write its own folder, and start the network client. An unclear result counts as an escape. Pitfall: an
//! attempt that fails for another reason; each is first made from outside.

use std::ffi::OsString;
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use super::app_container::{self, strip_verbatim_prefix};
use super::command::{self, CommandPlace, Scratch, StartedCommand};
use super::{acl, process};
use crate::sandbox::error::{MissingLayer, SandboxError, SandboxLayer};
use crate::sandbox::spec::Limits;

const TIME_LIMIT: Duration = Duration::from_secs(60);
const MAX_OUTPUT_BYTES: u64 = 64 << 10;

/// The attempts. Paths are variables, so that no folder's name is parsed as a command.
pub(super) const LINE: &str = concat!(
    r#"echo has-begun"#,
    r#"& (type "%PROOF_OWN%" && echo own-read)"#,
    r#"& (echo written> "%PROOF_NEW%" && echo own-written)"#,
    r#"& (type "%PROOF_SECRET%" && echo secret-open || echo secret-closed)"#,
    r#"& (echo written> "%PROOF_OUTSIDE%" && echo outside-open || echo outside-closed)"#,
    r#"& ("%PROOF_CURL%" --version && echo client-runs)"#,
    r#"& ("%PROOF_CURL%" -q -s -m 3 http://127.0.0.1:%PROOF_PORT%/ && echo near-open || echo near-closed)"#,
    r#"& ("%PROOF_CURL%" -q -s -m 3 http://192.0.2.1:9/"#,
    // 7 is an immediate refusal; a timeout means that the request left the computer.
    r#" & if errorlevel 8 (echo far-open) else if errorlevel 7 (echo far-closed) else echo far-open)"#,
);

/// Runs the self-test once and caches the result.
pub(super) fn ensure_passed() -> Result<(), MissingLayer> {
    static RESULT: OnceLock<Result<(), MissingLayer>> = OnceLock::new();
    RESULT
        .get_or_init(|| {
            let missing = |(layer, why)| {
                let remedy = "No command runs in the sandbox until the self-test passes; Rouse repeats it at its next start. A person can allow the job to run without a sandbox.";
                MissingLayer { layer, why, remedy: remedy.to_owned() }
            };
            let result = run_attempts()
                .and_then(|result| result.judge().map_err(|why| (SandboxLayer::Proof, why)));
            if let Err((layer, why)) = &result {
                tracing::info!(%layer, why, "the sandbox's self-test failed");
            }
            result.map_err(missing)
        })
        .clone()
}

/// The results of the attempts.
#[derive(Debug)]
pub(super) struct AttemptResult {
    pub(super) output: String,
    pub(super) secret: String,
    pub(super) has_exited: bool,
    pub(super) wrote_own: bool,
    pub(super) wrote_outside: bool,
    pub(super) reached_listener: bool,
}

impl AttemptResult {
    /// Checks that exactly the forbidden attempts failed; an error is the reason.
    pub(super) fn judge(&self) -> Result<(), String> {
        let printed = |word: &str| self.output.lines().any(|line| line.trim() == word);
        let checks: [(bool, &str); 8] = [
            (printed("has-begun"), "a sandboxed command did not run"),
            (self.has_exited, "a sandboxed command that tried to escape did not exit in time"),
            (printed("own-read"), "a sandboxed command could not read its own folder"),
            (self.wrote_own, "a sandboxed command could not write to its own folder"),
            (
                printed("secret-closed") && !self.output.contains(&self.secret),
                "a sandboxed command could read a file outside its workspace",
            ),
            (
                printed("outside-closed") && !self.wrote_outside,
                "a sandboxed command could write a file outside its workspace",
            ),
            (
                printed("client-runs"),
                "curl.exe, which tests the network, could not run in the sandbox",
            ),
            (
                printed("near-closed") && printed("far-closed") && !self.reached_listener,
                "a sandboxed command could reach a network, or the test was inconclusive",
            ),
        ];
        match checks.into_iter().find(|(passed, _)| !passed) {
            Some((_, why)) => Err(format!("in the self-test {why}")),
            None => Ok(()),
        }
    }
}

/// The targets of the attempts, each first tried from outside.
pub(super) struct TestTargets {
    folder: Scratch,
    pub(super) secret: String,
    pub(super) listener: TcpListener,
    port: u16,
}

impl TestTargets {
    pub(super) fn new() -> io::Result<Self> {
        let folder = Scratch::new()?;
        let secret = format!("secret-{:016x}", RandomState::new().hash_one(&folder.0));
        fs::create_dir(folder.0.join("own"))?;
        fs::write(folder.0.join("own").join("given.txt"), "given\r\n")?;
        fs::write(folder.0.join("secret.txt"), &secret)?;
        fs::write(folder.0.join("outside.txt"), "tried")?;
        fs::remove_file(folder.0.join("outside.txt"))?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, port))?);
        drop(listener.accept()?);
        listener.set_nonblocking(true)?;
        Ok(Self { folder, secret, listener, port })
    }

    pub(super) fn own_folder(&self) -> PathBuf {
        self.folder.0.join("own")
    }

    pub(super) fn variables(&self) -> io::Result<Vec<(OsString, OsString)>> {
        let path = |name: &str| {
            let path = self.folder.0.join(name);
            strip_verbatim_prefix(&path).unwrap_or(path).into_os_string()
        };
        let system = process::system_folder()?;
        let root = system.parent().unwrap_or(&system).to_owned();
        let own = [
            ("PROOF_OWN", path("own\\given.txt")),
            ("PROOF_NEW", path("own\\new.txt")),
            ("PROOF_SECRET", path("secret.txt")),
            ("PROOF_OUTSIDE", path("outside.txt")),
            ("PROOF_CURL", system.join("curl.exe").into_os_string()),
            ("PROOF_PORT", self.port.to_string().into()),
            ("PATH", system.into_os_string()),
            ("SYSTEMROOT", root.into_os_string()),
        ];
        Ok(own.map(|(name, value)| (name.into(), value)).into())
    }

    pub(super) fn collect(&self, output: String, has_exited: bool) -> AttemptResult {
        AttemptResult {
            output,
            secret: self.secret.clone(),
            has_exited,
            wrote_own: fs::read_to_string(self.own_folder().join("new.txt"))
                .is_ok_and(|text| text.trim() == "written"),
            wrote_outside: self.folder.0.join("outside.txt").exists(),
            reached_listener: self.listener.accept().is_ok(),
        }
    }
}

/// Runs the attempts in a separate workspace and deletes the AppContainer.
fn run_attempts() -> Result<AttemptResult, (SandboxLayer, String)> {
    let targets = TestTargets::new().map_err(|error| (SandboxLayer::Proof, error.to_string()))?;
    let own = targets.own_folder();
    let result = run_attempts_in(&own, &targets);
    if let Err(error) = acl::delete_app_container(&app_container::container_name(&own)) {
        tracing::debug!(%error, "failed to delete the self-test's AppContainer");
    }
    result
}

fn run_attempts_in(
    own: &Path,
    targets: &TestTargets,
) -> Result<AttemptResult, (SandboxLayer, String)> {
    let sid = app_container::for_workspace(own).map_err(|error| match error {
        SandboxError::Missing(MissingLayer { layer, why, .. }) => (layer, why),
        error => (SandboxLayer::Proof, error.to_string()),
    })?;
    let limits = Limits::default();
    let place = CommandPlace { sid: &sid, folder: own, home: None, limits: &limits };
    let failed = |error: io::Error| (SandboxLayer::AppContainer, error.to_string());
    let variables = targets.variables().map_err(failed)?;
    let started = command::start(&place, LINE, variables).map_err(failed)?;
    let StartedCommand { job, process, stdout, stderr, scratch: _scratch } = started;
    let readers = [stdout, stderr].map(|pipe| std::thread::spawn(move || read_output(pipe)));
    let exited = process::wait(&process, Some(TIME_LIMIT)).map_err(failed)?;
    // Running processes hold the pipes open.
    job.terminate().map_err(failed)?;
    let [output, _] = readers.map(|reader| reader.join().unwrap_or_default());
    Ok(targets.collect(output, exited.is_some()))
}

/// Reads the output up to the limit and discards the rest: a pipe closed early would disturb the attempts.
fn read_output(pipe: impl io::Read) -> String {
    let mut bytes = Vec::new();
    let mut pipe = pipe.take(MAX_OUTPUT_BYTES);
    let read = pipe.read_to_end(&mut bytes).map(drop);
    let discarded = io::copy(&mut pipe.into_inner(), &mut io::sink()).map(drop);
    if let Err(error) = read.and(discarded) {
        tracing::debug!(%error, "failed to read the self-test's output");
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
