//! `rouse serve`: the engine without a desktop, and the UI for a browser.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rouse_gateway::wire::EngineMode;
use rouse_gateway::{Client, ClientError, UiFile, UiFiles};
use rouse_host::{Home, HomeError, Host, HostError, HostOptions};

use crate::exit::Failure;
use crate::session::{ANSWERED_WITHIN, no_way};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Listen on this port of 127.0.0.1; 0 lets the system choose.
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Print the address as one line of JSON when ready, and nothing else on standard output. A second start names the
    /// process that does the work as `attachedTo`.
    #[arg(long)]
    ready_json: bool,
}

/// The UI that this command carries.
#[derive(rust_embed::Embed)]
#[folder = "../../../ui/dist"]
#[allow_missing = true]
struct EmbeddedUi;

impl UiFiles for EmbeddedUi {
    fn get(&self, path: &str) -> Option<UiFile> {
        let file = <Self as rust_embed::Embed>::get(path)?;
        let media_type = file.metadata.mimetype().to_owned();
        Some(UiFile { bytes: Cow::Owned(file.data.into_owned()), media_type })
    }
}

/// How long an owner that nobody reaches is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);
/// What is said when the owner ended at the moment of this start.
const LET_GO: &str = "Another Rouse owned the data and has just ended; start this one again.";

/// With `--json`, what is printed is the line of `--ready-json`.
pub(crate) fn run(args: &Args, json: bool) -> Result<(), Failure> {
    rouse_host::share_one_heap();
    let args = &Args { port: args.port, ready_json: args.ready_json || json };
    let env = |name: &str| std::env::var(name).ok();
    let home = Home::find(&env).map_err(anyhow::Error::from)?;
    let _logging = rouse_host::start_logging(&home.logs(), &env, !args.ready_json);
    // Two threads: one can always answer while the other works; idle threads cost memory, not time.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(serve(args, home))
}

async fn serve(args: &Args, home: Home) -> Result<(), Failure> {
    // Before there is anything to end: a signal that comes during the start counts once it is done.
    let ending = Ending::hear()?;
    let Some(host) = own_or_attach(args, &home).await? else { return Ok(()) };
    announce(args, &host);
    ending.wait().await?;
    rouse_host::say_aside("Stopping. Runs that are going get two seconds to end.");
    host.stop().await;
    Ok(())
}

/// The engine of this start; none when another one does the work, which was said. An owner that nobody reaches may be one
/// that is just ending, or that has just begun: both are waited for.
#[expect(clippy::disallowed_methods, reason = "nothing tells that a dying process has let go")]
async fn own_or_attach(args: &Args, home: &Home) -> Result<Option<Host>, Failure> {
    let patience = Instant::now() + PATIENCE;
    loop {
        let options =
            HostOptions::headless(home.clone(), EngineMode::Serve, args.port, Arc::new(EmbeddedUi));
        match Host::start(options).await {
            Ok(host) => return Ok(Some(host)),
            Err(HostError::Home(HomeError::Owned(_))) => {}
            // The settings file is an input like any other.
            Err(HostError::Config(error)) => return Err(Failure::input(error.to_string())),
            Err(HostError::DatabaseMissing(why)) => return Err(Failure::Refused(why)),
            Err(error) => return Err(anyhow::Error::from(error).into()),
        }
        match found(home).await {
            Ok(client) => {
                attached(args, home, &client);
                return Ok(None);
            }
            Err(error) if Instant::now() >= patience => return Err(unreachable(home, error)),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

fn announce(args: &Args, host: &Host) {
    let address = host.address();
    if args.ready_json {
        anstream::println!("{}", serde_json::json!({ "address": address.to_string() }));
        if let Some(notice) = host.port_notice() {
            tracing::warn!("{notice}");
        }
        return;
    }
    anstream::println!("Rouse is ready at http://{address}");
    if let Some(notice) = host.port_notice() {
        anstream::println!("{notice}");
    }
    anstream::println!("Sign a browser in:  {} open", own_name());
    anstream::println!("Stop:               Ctrl+C");
}

/// The name that starts this command again: the path if it was started by a path.
fn own_name() -> String {
    let name = std::env::args_os().next().unwrap_or_default();
    let name = name.to_string_lossy().into_owned();
    if name.contains(['/', '\\']) { name } else { "rouse".to_owned() }
}

/// A second start is a client of the first, and says so.
fn attached(args: &Args, home: &Home, client: &Client) {
    let endpoint = client.endpoint();
    if args.ready_json {
        let line = serde_json::json!({ "address": endpoint.address.to_string(), "attachedTo": endpoint.pid });
        anstream::println!("{line}");
        return;
    }
    anstream::println!(
        "Rouse already runs for {} (process {}, http://{}). This second start leaves the work to it.",
        home.root().display(),
        endpoint.pid,
        endpoint.address
    );
    let others = args.port.filter(|port| ![0, endpoint.address.port()].contains(port));
    if let Some(port) = others {
        anstream::println!("Port {port} was not taken: end that Rouse first.");
    }
    anstream::println!("Commands talk to it: rouse status, rouse cron list, rouse open");
}

/// What is said of an owner that did not answer for as long as one waits for it.
fn unreachable(home: &Home, error: ClientError) -> Failure {
    match error {
        ClientError::NotRunning | ClientError::Unproven { .. } => no_way(home)
            .map_or_else(|| Failure::Other(anyhow::anyhow!(LET_GO)), Failure::Unreachable),
        other => other.into(),
    }
}

/// The engine that owns the data, once it has answered: an older one may have left its address behind.
async fn found(home: &Home) -> Result<Client, ClientError> {
    let client = Client::find(home.root())?.answered_within(ANSWERED_WITHIN);
    client.greet().await.map(|()| client)
}

/// Ctrl+C, or the system's polite request to end. What is heard is kept until it is waited for.
#[cfg(unix)]
struct Ending([tokio::signal::unix::Signal; 3]);

#[cfg(unix)]
impl Ending {
    fn hear() -> Result<Self, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
        let [interrupt, terminate, hangup] =
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
        Ok(Self([interrupt?, terminate?, hangup?]))
    }

    async fn wait(self) -> Result<(), Failure> {
        let [mut interrupt, mut terminate, mut hangup] = self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        Ok(())
    }
}

/// Ctrl+C, Ctrl+Break, a console that is closed, or the end of the session or the system, which end the process soon after
/// (SetConsoleCtrlHandler). What is heard is kept until it is waited for.
#[cfg(windows)]
struct Ending {
    interrupt: tokio::signal::windows::CtrlC,
    stop: tokio::signal::windows::CtrlBreak,
    close: tokio::signal::windows::CtrlClose,
    logoff: tokio::signal::windows::CtrlLogoff,
    shutdown: tokio::signal::windows::CtrlShutdown,
}

#[cfg(windows)]
impl Ending {
    fn hear() -> Result<Self, Failure> {
        use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_logoff, ctrl_shutdown};
        Ok(Self {
            interrupt: ctrl_c()?,
            stop: ctrl_break()?,
            close: ctrl_close()?,
            logoff: ctrl_logoff()?,
            shutdown: ctrl_shutdown()?,
        })
    }

    async fn wait(self) -> Result<(), Failure> {
        let Self { mut interrupt, mut stop, mut close, mut logoff, mut shutdown } = self;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = stop.recv() => {}
            _ = close.recv() => {}
            _ = logoff.recv() => {}
            _ = shutdown.recv() => {}
        }
        Ok(())
    }
}
