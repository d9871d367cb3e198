//! Starting `ssh` with `rouse dial`, up to the hello.
//!
//! Owns the arguments of `ssh`, and the class of a failure by exit code and last words. Never answers a prompt, never weakens the
//! check of the host key. The person's ssh configuration decides about keys, agents and jumps; forwarding is off.
//! Pitfall: waiting for the end of standard error, which a shared connection of ssh keeps open.

use std::ffi::OsString;
use std::io;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rouse_core::settings::SshAddress;
use rouse_core::text::escape_line;
use tokio::io::{AsyncRead, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, Command};

use super::error::RemoteError;
use super::pipe::Pipe;
use super::protocol::{DialHello, FirstLine, NOT_RUNNING, PROTOCOL, read_line};

/// Maximum time until the hello, with time to touch a security key.
const HELLO_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum time for exit code and last words of an `ssh` that closed its output.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum bytes of a line before the hello.
const MAX_GREETING_BYTES: u64 = 64 << 10;
/// Maximum lines before the hello, from start scripts of a shell.
const MAX_GREETING_LINES: usize = 100;
/// Kept bytes of standard error.
const MAX_STDERR_BYTES: usize = 8 << 10;
/// Maximum characters of a quoted line.
const MAX_QUOTE: usize = 300;
/// The exit code of `ssh` for its own failures.
const SSH_FAILED: i32 = 255;

/// Last words of `ssh` that only the person can help with.
const SIGN_IN_PROBLEMS: [&str; 4] = [
    "Permission denied",
    "Host key verification failed",
    "Too many authentication failures",
    "No more authentication methods",
];
/// Last words of cmd and PowerShell, which have no exit code for a missing program.
const MISSING_PROGRAM: [&str; 2] = ["is not recognized", "CommandNotFoundException"];

/// A computer to reach over SSH.
#[derive(Debug, Clone)]
pub struct RemoteComputer {
    address: SshAddress,
    program: String,
    ssh: OsString,
    hello_timeout: Duration,
}

impl RemoteComputer {
    /// The computer at `address`, with `program` as the path of `rouse` there and `ssh` as the program here.
    #[must_use]
    pub fn new(address: SshAddress, program: Option<String>, ssh: Option<OsString>) -> Self {
        let program = program.unwrap_or_else(|| "rouse".to_owned());
        let ssh = ssh.filter(|ssh| !ssh.is_empty()).unwrap_or_else(|| "ssh".into());
        Self { address, program, ssh, hello_timeout: HELLO_TIMEOUT }
    }

    pub(super) const fn address(&self) -> &SshAddress {
        &self.address
    }

    /// Starts `ssh` and waits for the hello.
    pub(super) async fn dial(&self) -> Result<DialledEngine, RemoteError> {
        let mut child = self.command().spawn().map_err(|source| RemoteError::SshMissing {
            program: self.ssh.to_string_lossy().into_owned(),
            address: self.address.clone(),
            source,
        })?;
        let taken = "BUG: a pipe is taken twice";
        let output = child.stdin.take().expect(taken);
        let mut input = BufReader::new(child.stdout.take().expect(taken));
        let stderr = StderrReader::start(child.stderr.take().expect(taken));
        let hello = tokio::time::timeout(self.hello_timeout, read_first_line(&mut input)).await;
        let first = match hello {
            Ok(Ok(Some(first))) => first,
            Ok(Ok(None) | Err(_)) => return Err(self.ended(child, stderr).await),
            Err(_) => {
                kill(&mut child);
                let (address, seconds) = (self.address.clone(), self.hello_timeout.as_secs());
                return Err(RemoteError::NoAnswer { address, seconds });
            }
        };
        self.check_first_line(first)?;
        let last_words = stderr.words;
        tokio::spawn(async move {
            // Collects the exit code, so that no ended process stays.
            let ended = child.wait().await;
            tracing::debug!(?ended, "ssh has ended");
        });
        Ok(DialledEngine { pipe: Pipe::new(input, output), last_words })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.ssh);
        command.args(["-T", "-a", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]);
        command.args(["-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=3"]);
        command.args(["-o", "ClearAllForwardings=yes"]);
        if let Some(port) = self.address.port() {
            command.args(["-p", &port.to_string()]);
        }
        command.args(["--", self.address.destination(), &self.remote_command()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl+C is for this program, which still needs the connection to say how to go on.
        #[cfg(unix)]
        command.process_group(0);
        #[cfg(windows)]
        command.creation_flags(CREATE_NO_WINDOW | CREATE_NEW_PROCESS_GROUP);
        command
    }

    /// The words for the shell there. A valid path has no character that a shell interprets inside double quotes.
    fn remote_command(&self) -> String {
        let program = &self.program;
        if program.contains(' ') {
            format!("\"{program}\" dial")
        } else {
            format!("{program} dial")
        }
    }

    fn check_first_line(&self, first: FirstLine) -> Result<(), RemoteError> {
        let address = self.address.clone();
        match first {
            FirstLine::Hello(DialHello { protocol: PROTOCOL, .. }) => Ok(()),
            FirstLine::Hello(DialHello { version, .. }) => {
                Err(RemoteError::Incompatible { address, version: Some(quote(&version)) })
            }
            FirstLine::Refusal(refusal) if refusal.reason == NOT_RUNNING => {
                Err(RemoteError::NotRunning { address })
            }
            FirstLine::Refusal(refusal) => {
                Err(RemoteError::Refused { address, message: quote(&refusal.message) })
            }
        }
    }

    /// The error of an `ssh` that closed its output before the hello.
    async fn ended(&self, mut child: Child, stderr: StderrReader) -> RemoteError {
        // silent-ok: without an exit code, the last words decide.
        let status = tokio::time::timeout(EXIT_TIMEOUT, child.wait()).await.ok();
        kill(&mut child);
        let code = status.and_then(Result::ok).and_then(|status| status.code());
        // silent-ok: a shared connection keeps standard error open.
        let _ = tokio::time::timeout(EXIT_TIMEOUT, stderr.task).await;
        self.end_error(code, &stderr.words.text())
    }

    fn end_error(&self, code: Option<i32>, stderr: &str) -> RemoteError {
        let says = |known: &[&str]| known.iter().any(|words| stderr.contains(words));
        let detail = last_line(stderr).unwrap_or_else(|| match code {
            Some(code) => format!("exit code {code}, without a message."),
            None => "no exit code and no message.".to_owned(),
        });
        let (address, program) = (self.address.clone(), self.program.clone());
        match code {
            Some(SSH_FAILED) if says(&SIGN_IN_PROBLEMS) => RemoteError::SignIn { address, detail },
            Some(SSH_FAILED) => RemoteError::Ssh { address, detail },
            Some(126 | 127) => RemoteError::RouseMissing { address, program },
            _ if says(&MISSING_PROGRAM) => RemoteError::RouseMissing { address, program },
            // The parser of a version without `dial`.
            _ if stderr.contains("unrecognized subcommand") => {
                RemoteError::Incompatible { address, version: None }
            }
            _ => RemoteError::Ended { address, program, detail },
        }
    }
}

#[cfg(windows)]
const CREATE_NO_WINDOW: u32 = 0x0800_0000;
#[cfg(windows)]
const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;

/// A connection after the hello, and the last words of its `ssh`.
#[derive(Debug)]
pub(super) struct DialledEngine {
    pub(super) pipe: Pipe,
    pub(super) last_words: LastWords,
}

/// The end of standard error. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct LastWords(Arc<Mutex<Vec<u8>>>);

impl LastWords {
    /// The last line as a sentence; none without a line.
    pub(super) fn last_line(&self) -> Option<String> {
        last_line(&self.text())
    }

    fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn push(&self, new: &[u8]) {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.extend_from_slice(new);
        let excess = bytes.len().saturating_sub(MAX_STDERR_BYTES);
        bytes.drain(..excess);
    }
}

/// The task that reads standard error.
struct StderrReader {
    words: LastWords,
    task: tokio::task::JoinHandle<()>,
}

impl StderrReader {
    fn start(mut stderr: ChildStderr) -> Self {
        let words = LastWords::default();
        let kept = words.clone();
        let task = tokio::spawn(async move {
            let mut buffer = [0; 1024];
            while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
                kept.push(&buffer[..count]);
            }
        });
        Self { words, task }
    }
}

/// The hello or refusal, after the lines of start scripts; none at the end of the output.
async fn read_first_line(
    input: &mut BufReader<impl AsyncRead + Unpin>,
) -> io::Result<Option<FirstLine>> {
    let mut line = Vec::new();
    for _ in 0..MAX_GREETING_LINES {
        if !read_line(input, &mut line, MAX_GREETING_BYTES).await? {
            return Ok(None);
        }
        if let Ok(first) = serde_json::from_slice(&line) {
            return Ok(Some(first));
        }
    }
    Err(io::Error::other("no hello"))
}

fn kill(child: &mut Child) {
    // silent-ok: it may have ended.
    let _ = child.start_kill();
}

/// The last line with text, as a sentence of visible characters.
fn last_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    let quoted = quote(line);
    Some(if quoted.ends_with(['.', '!', '?']) { quoted } else { format!("{quoted}.") })
}

/// Foreign text in visible characters, shortened.
fn quote(text: &str) -> String {
    let text = escape_line(text.trim());
    match text.char_indices().nth(MAX_QUOTE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn computer(address: &str) -> RemoteComputer {
        RemoteComputer::new(SshAddress::parse(address).expect("an address"), None, None)
    }

    #[test]
    fn address_and_program_are_single_arguments() {
        let mut computer = computer("ssh://anna@box:2222");
        computer.program = "/opt/a b/rouse".to_owned();
        let command = computer.command();
        let arguments: Vec<_> =
            command.as_std().get_args().map(|argument| argument.to_string_lossy()).collect();
        assert_eq!(
            arguments[arguments.len() - 5..],
            ["-p", "2222", "--", "anna@box", "\"/opt/a b/rouse\" dial"]
        );
        assert!(arguments.iter().any(|argument| argument == "BatchMode=yes"));
        assert!(!arguments.iter().any(|argument| argument.contains("StrictHostKeyChecking")));
    }

    #[test]
    fn failure_names_its_layer_and_remedy() {
        let box_ = computer("ssh://anna@box:2222");
        for (code, stderr, words) in [
            (
                Some(255),
                "anna@box: Permission denied (publickey,password).\r\n",
                &["sign in to anna@box", "(publickey,password).", "ssh -p 2222 anna@box"][..],
            ),
            (Some(255), "Host key verification failed.", &["without you", "answer its prompts"]),
            (
                Some(255),
                "ssh: Could not resolve hostname box: Name or service not known\n",
                &["cannot connect to anna@box: ssh: Could not resolve hostname box", "by hand"],
            ),
            (
                Some(255),
                "ssh: connect to host box port 2222: Connection refused",
                &["Connection refused. Try it by hand"],
            ),
            (Some(127), "bash: line 1: rouse: command not found", &["`rouse` is not found on"]),
            (
                Some(1),
                "'rouse' is not recognized as an internal or external command,\r\noperable program or batch file.",
                &["is not found on anna@box", "[computers.NAME]"],
            ),
            (
                Some(2),
                "error: unrecognized subcommand 'dial'\n\nFor more information, try '--help'.\n",
                &["Install the same version on both"],
            ),
            (Some(1), "disk is\u{1b}[31m full", &["ended at once: disk is⟨U+001B⟩[31m full."]),
            (None, "", &["no exit code and no message."]),
        ] {
            let error = box_.end_error(code, stderr).to_string();
            for part in words {
                assert!(error.contains(part), "{code:?} {stderr}: {error}");
            }
        }
    }

    #[tokio::test]
    async fn greeting_before_the_hello_is_skipped() {
        let text = "Welcome to box!\n\n{\"cow\":1}\n\
            {\"jsonrpc\":\"2.0\",\"method\":\"hello\",\"params\":{\"version\":\"9.1\",\"protocol\":1,\"new\":0}}\n";
        let first = read_first_line(&mut BufReader::new(text.as_bytes())).await.expect("text");
        let hello = DialHello { version: "9.1".to_owned(), protocol: 1 };
        assert_eq!(first, Some(FirstLine::Hello(hello)));
        let endless = "noise\n".repeat(MAX_GREETING_LINES + 1);
        assert!(read_first_line(&mut BufReader::new(endless.as_bytes())).await.is_err());
        let ended = read_first_line(&mut BufReader::new(&b"noise\n"[..])).await;
        assert!(ended.expect("text").is_none());
    }

    #[test]
    fn other_protocol_and_refusals_are_errors() {
        let box_ = computer("box");
        let error = |line: &str| {
            let first = serde_json::from_str(line).expect("a first line");
            box_.check_first_line(first).expect_err("refused").to_string()
        };
        let text = error(r#"{"method":"hello","params":{"version":"9.1","protocol":2}}"#);
        assert!(text.starts_with("Rouse on box (9.1) and Rouse "), "{text}");
        let text = error(r#"{"method":"refusal","params":{"reason":"notRunning","message":"x"}}"#);
        assert!(text.starts_with("Rouse is not running on box."), "{text}");
        let text = error(r#"{"method":"refusal","params":{"reason":"new","message":"Do it.\n"}}"#);
        assert_eq!(text, "Rouse on box cannot be reached: Do it.");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn silent_program_is_given_up_and_missing_ssh_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = folder.path().join("ssh");
        std::fs::write(&script, "#!/bin/sh\nexec sleep 600\n").expect("a script");
        let mut permissions = std::fs::metadata(&script).expect("a file").permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
        std::fs::set_permissions(&script, permissions).expect("set");
        let mut silent = computer("box");
        (silent.ssh, silent.hello_timeout) = (script.into(), Duration::from_millis(50));
        let error = silent.dial().await.expect_err("silent");
        assert!(matches!(error, RemoteError::NoAnswer { .. }), "{error:?}");
        silent.ssh = folder.path().join("absent").into();
        let error = silent.dial().await.expect_err("absent");
        assert!(error.to_string().contains("Install OpenSSH"), "{error}");
    }
}
