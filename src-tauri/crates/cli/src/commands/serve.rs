//! `rouse serve`: the engine without a desktop, with the UI for a browser.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rouse_gateway::wire::EngineMode;
use rouse_gateway::{Client, ClientError, UiFile, UiFiles};
use rouse_host::{Home, HomeError, Host, HostError, HostOptions};

use crate::resolve::engine::{CALL_TIMEOUT, endpoint_problem};
use crate::resolve::error::CliError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Port of 127.0.0.1; 0 for any free port [default: the port of the settings]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Print only the address, as one line of JSON; `attachedTo` is the process of an engine that already runs
    #[arg(long)]
    ready_json: bool,
}

/// The embedded UI.
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

/// Time limit for an owner of the data that does not answer.
const OWNER_TIMEOUT: Duration = Duration::from_secs(5);
const RETRY_INTERVAL: Duration = Duration::from_millis(50);
/// The error if the owner ended during this start.
const OWNER_ENDED: &str = "Another Rouse owned the data and has just ended; start again.";

/// `--json` implies `--ready-json`.
pub(crate) fn run(args: &Args, json: bool) -> Result<(), CliError> {
    rouse_host::share_one_heap();
    let args = &Args { port: args.port, ready_json: args.ready_json || json };
    let env = |name: &str| std::env::var(name).ok();
    let home = Home::find(&env).map_err(anyhow::Error::from)?;
    let _logging = rouse_host::start_logging(&home.logs(), &env, !args.ready_json);
    // Two threads: one can answer while the other works.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(serve(args, home))
}

async fn serve(args: &Args, home: Home) -> Result<(), CliError> {
    // A signal during the start takes effect after the start.
    let signals = StopSignals::listen()?;
    let Some(host) = own_or_attach(args, &home).await? else { return Ok(()) };
    print_ready(args, &host);
    signals.wait().await?;
    rouse_host::print_error_line("Stopping. Active runs have two seconds to end.");
    host.stop().await;
    Ok(())
}

/// Starts the engine, or attaches to a running one and returns none. Waits for an owner that does not answer, because
/// the owner may be starting or stopping.
#[expect(clippy::disallowed_methods, reason = "the release of the owner lock sends no event")]
async fn own_or_attach(args: &Args, home: &Home) -> Result<Option<Host>, CliError> {
    let deadline = Instant::now() + OWNER_TIMEOUT;
    loop {
        let options =
            HostOptions::headless(home.clone(), EngineMode::Serve, args.port, Arc::new(EmbeddedUi));
        match Host::start(options).await {
            Ok(host) => return Ok(Some(host)),
            Err(HostError::Home(HomeError::Owned(_))) => {}
            // An invalid settings file is wrong input.
            Err(HostError::Config(error)) => return Err(CliError::input(error.to_string())),
            Err(HostError::DatabaseMissing(why)) => return Err(CliError::Refused(why)),
            Err(error) => return Err(anyhow::Error::from(error).into()),
        }
        match find_engine(home).await {
            Ok(client) => {
                print_attached(args, home, &client);
                return Ok(None);
            }
            Err(error) if Instant::now() >= deadline => return Err(unreachable_error(home, error)),
            Err(_) => tokio::time::sleep(RETRY_INTERVAL).await,
        }
    }
}

fn print_ready(args: &Args, host: &Host) {
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
    anstream::println!("Sign a browser in:  {} open", command_name());
    anstream::println!("Stop:               Ctrl+C");
}

/// The command name, or the path of a start by path.
fn command_name() -> String {
    let name = std::env::args_os().next().unwrap_or_default();
    let name = name.to_string_lossy().into_owned();
    if name.contains(['/', '\\']) { name } else { "rouse".to_owned() }
}

/// Prints the address of the engine that already runs.
fn print_attached(args: &Args, home: &Home, client: &Client) {
    let endpoint = client.endpoint().expect("BUG: an engine of a data directory has an endpoint");
    if args.ready_json {
        let line = serde_json::json!({ "address": endpoint.address.to_string(), "attachedTo": endpoint.pid });
        anstream::println!("{line}");
        return;
    }
    anstream::println!(
        "Rouse already runs for {} (process {}, http://{}). This start attached to that Rouse.",
        home.root().display(),
        endpoint.pid,
        endpoint.address
    );
    let port = args.port.filter(|port| ![0, endpoint.address.port()].contains(port));
    if let Some(port) = port {
        anstream::println!("Port {port} is not in use: stop that Rouse first.");
    }
    anstream::println!("Commands use that Rouse: rouse status, rouse cron list, rouse open");
}

/// The error for an owner that did not answer in time.
fn unreachable_error(home: &Home, error: ClientError) -> CliError {
    match error {
        ClientError::NotRunning | ClientError::Unproven { .. } => endpoint_problem(home)
            .map_or_else(|| CliError::Other(anyhow::anyhow!(OWNER_ENDED)), CliError::Unreachable),
        other => other.into(),
    }
}

/// The running engine, after an answer: the endpoint file may be stale.
async fn find_engine(home: &Home) -> Result<Client, ClientError> {
    let client = Client::find(home.root())?.with_response_timeout(CALL_TIMEOUT);
    client.check_connection().await.map(|()| client)
}

/// Ctrl+C, SIGTERM or SIGHUP. A signal before `wait` is kept.
#[cfg(unix)]
struct StopSignals([tokio::signal::unix::Signal; 3]);

#[cfg(unix)]
impl StopSignals {
    fn listen() -> Result<Self, CliError> {
        use tokio::signal::unix::{SignalKind, signal};
        let [interrupt, terminate, hangup] =
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
        Ok(Self([interrupt?, terminate?, hangup?]))
    }

    async fn wait(self) -> Result<(), CliError> {
        let [mut interrupt, mut terminate, mut hangup] = self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        Ok(())
    }
}

/// Ctrl+C, Ctrl+Break, or the end of the console, the session or the system (SetConsoleCtrlHandler). A signal before
/// `wait` is kept.
#[cfg(windows)]
struct StopSignals {
    interrupt: tokio::signal::windows::CtrlC,
    stop: tokio::signal::windows::CtrlBreak,
    close: tokio::signal::windows::CtrlClose,
    logoff: tokio::signal::windows::CtrlLogoff,
    shutdown: tokio::signal::windows::CtrlShutdown,
}

#[cfg(windows)]
impl StopSignals {
    fn listen() -> Result<Self, CliError> {
        use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_logoff, ctrl_shutdown};
        Ok(Self {
            interrupt: ctrl_c()?,
            stop: ctrl_break()?,
            close: ctrl_close()?,
            logoff: ctrl_logoff()?,
            shutdown: ctrl_shutdown()?,
        })
    }

    async fn wait(self) -> Result<(), CliError> {
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
