//! The proof: a confined command tries to get out, once for each process of Rouse, before any other is run.
//!
//! It tries to read a file outside, to write one, to reach a listener on this computer, and to reach an address that is
//! nobody's (RFC 5737) on the network. What counts is not its word alone: the secret must not be in what it says, the
//! file must not be there, and nobody may have come to the listener. And it must have been able to do what it may: read
//! and write in its own folder, and start the program that it tries the network with; otherwise its failures say
//! nothing. It refuses to guess: what was not seen to be refused is open, and a sandbox that is open is none. One could
//! get it wrong by a command that fails for another reason, which is why each attempt is made from outside first.

use std::ffi::OsString;
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use super::confined::{self, Begun, Place, Scratch};
use super::container::{self, plain};
use super::{process, rights};
use crate::sandbox::{Layer, Limits, Missing, SandboxError};

/// How long the attempts may take.
const LIMIT: Duration = Duration::from_secs(60);
/// As much as is read of what they say.
const MOST_BYTES: u64 = 64 << 10;

/// The attempts. Paths come as variables, so that no name of a folder can be read as a command.
pub(super) const LINE: &str = concat!(
    r#"echo has-begun"#,
    r#"& (type "%PROOF_OWN%" && echo own-read)"#,
    r#"& (echo written> "%PROOF_NEW%" && echo own-written)"#,
    r#"& (type "%PROOF_SECRET%" && echo secret-open || echo secret-closed)"#,
    r#"& (echo written> "%PROOF_OUTSIDE%" && echo outside-open || echo outside-closed)"#,
    r#"& ("%PROOF_CURL%" --version && echo client-runs)"#,
    r#"& ("%PROOF_CURL%" -q -s -m 3 http://127.0.0.1:%PROOF_PORT%/ && echo near-open || echo near-closed)"#,
    r#"& ("%PROOF_CURL%" -q -s -m 3 http://192.0.2.1:9/"#,
    // 7 is a connection that was refused at once; one that was waited for in vain had left the computer.
    r#" & if errorlevel 8 (echo far-open) else if errorlevel 7 (echo far-closed) else echo far-open)"#,
);

/// Whether the sandbox holds, found out once.
pub(super) fn held() -> Result<(), Missing> {
    static HELD: OnceLock<Result<(), Missing>> = OnceLock::new();
    HELD.get_or_init(|| {
        let missing = |(layer, why)| {
            let mend = "Until it holds, no command is run confined; Rouse tries again when it starts next. A person can allow the job to run without a sandbox.";
            Missing { layer, why, mend: mend.to_owned() }
        };
        let found = attempt().and_then(|seen| seen.judge().map_err(|why| (Layer::Proof, why)));
        if let Err((layer, why)) = &found {
            tracing::info!(%layer, why, "no command can be confined on this computer");
        }
        found.map_err(missing)
    })
    .clone()
}

/// What came of the attempts.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) words: String,
    pub(super) secret: String,
    pub(super) has_ended: bool,
    pub(super) wrote_own: bool,
    pub(super) wrote_outside: bool,
    pub(super) reached_listener: bool,
}

impl Seen {
    /// Whether everything was refused that is to be, and nothing else; why not, where not.
    pub(super) fn judge(&self) -> Result<(), String> {
        let said = |word: &str| self.words.lines().any(|line| line.trim() == word);
        let checks: [(bool, &str); 8] = [
            (said("has-begun"), "a confined command did not run"),
            (self.has_ended, "a confined command that tried to get out did not end in time"),
            (said("own-read"), "a confined command could not read its own folder"),
            (self.wrote_own, "a confined command could not write into its own folder"),
            (
                said("secret-closed") && !self.words.contains(&self.secret),
                "a confined command could read a file outside its workspace",
            ),
            (
                said("outside-closed") && !self.wrote_outside,
                "a confined command could write a file outside its workspace",
            ),
            (
                said("client-runs"),
                "curl.exe, with which the network is tried, could not be run confined",
            ),
            (
                said("near-closed") && said("far-closed") && !self.reached_listener,
                "a confined command could reach a network, or it could not be told that it cannot",
            ),
        ];
        match checks.into_iter().find(|(is_so, _)| !is_so) {
            Some((_, why)) => Err(format!("in the self-test {why}")),
            None => Ok(()),
        }
    }
}

/// The places of the attempts, which are tried from outside first.
pub(super) struct Stage {
    room: Scratch,
    pub(super) secret: String,
    pub(super) listener: TcpListener,
    port: u16,
}

impl Stage {
    pub(super) fn new() -> io::Result<Self> {
        let room = Scratch::new()?;
        let secret = format!("secret-{:016x}", RandomState::new().hash_one(&room.0));
        fs::create_dir(room.0.join("own"))?;
        fs::write(room.0.join("own").join("given.txt"), "given\r\n")?;
        fs::write(room.0.join("secret.txt"), &secret)?;
        fs::write(room.0.join("outside.txt"), "tried")?;
        fs::remove_file(room.0.join("outside.txt"))?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, port))?);
        drop(listener.accept()?);
        listener.set_nonblocking(true)?;
        Ok(Self { room, secret, listener, port })
    }

    pub(super) fn own(&self) -> PathBuf {
        self.room.0.join("own")
    }

    pub(super) fn variables(&self) -> io::Result<Vec<(OsString, OsString)>> {
        let path = |name: &str| {
            let path = self.room.0.join(name);
            plain(&path).unwrap_or(path).into_os_string()
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

    pub(super) fn seen(&self, words: String, has_ended: bool) -> Seen {
        Seen {
            words,
            secret: self.secret.clone(),
            has_ended,
            wrote_own: fs::read_to_string(self.own().join("new.txt"))
                .is_ok_and(|text| text.trim() == "written"),
            wrote_outside: self.room.0.join("outside.txt").exists(),
            reached_listener: self.listener.accept().is_ok(),
        }
    }
}

/// Makes the attempts in a workspace of their own, and takes its AppContainer back.
fn attempt() -> Result<Seen, (Layer, String)> {
    let stage = Stage::new().map_err(|error| (Layer::Proof, error.to_string()))?;
    let own = stage.own();
    let seen = attempt_in(&own, &stage);
    if let Err(error) = rights::forget_app_container(&container::name(&own)) {
        tracing::debug!(%error, "the AppContainer of the self-test was not taken back");
    }
    seen
}

fn attempt_in(own: &Path, stage: &Stage) -> Result<Seen, (Layer, String)> {
    let sid = container::of(own).map_err(|error| match error {
        SandboxError::Missing(Missing { layer, why, .. }) => (layer, why),
        error => (Layer::Proof, error.to_string()),
    })?;
    let limits = Limits::default();
    let place = Place { sid: &sid, folder: own, home: None, limits: &limits };
    let unconfined = |error: io::Error| (Layer::AppContainer, error.to_string());
    let variables = stage.variables().map_err(unconfined)?;
    let begun = confined::begin(&place, LINE, variables).map_err(unconfined)?;
    let Begun { job, process, stdout, stderr, scratch: _scratch } = begun;
    let listeners = [stdout, stderr].map(|pipe| std::thread::spawn(move || words(pipe)));
    let ended = process::wait(&process, Some(LIMIT)).map_err(unconfined)?;
    // What still runs holds the pipes open.
    job.end().map_err(unconfined)?;
    let [words, _] = listeners.map(|listener| listener.join().unwrap_or_default());
    Ok(stage.seen(words, ended.is_some()))
}

/// What was said, and then nothing more: a pipe that is closed early would end the attempts in another way.
fn words(pipe: impl io::Read) -> String {
    let mut said = Vec::new();
    let mut pipe = pipe.take(MOST_BYTES);
    if let Err(error) = pipe.read_to_end(&mut said) {
        tracing::debug!(%error, "not all that the self-test said was heard");
    }
    if let Err(error) = io::copy(&mut pipe.into_inner(), &mut io::sink()) {
        tracing::debug!(%error, "not all that the self-test said was heard");
    }
    String::from_utf8_lossy(&said).into_owned()
}
