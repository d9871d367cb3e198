//! Desktop shell of Rouse: tray, window, native notifications, autostart.
//!
//! Owns the start and shutdown order of its parts. Never contains SQL, decisions or timers: the
//! engine decides, the shell shows. The engine runs as long as the process, without window and
//! tray.
//!
//! Start: command line → log → Tauri (a second instance forwards its options and exits) → tray and
//! window → engine. Calls of the window wait for the engine. Shutdown: `RunEvent::Exit` closes the
//! engine, which records active runs.

mod args;
mod autostart;
mod backend;
mod computers;
mod link;
mod notifier;
mod pages;
mod ui_route;
mod rpc;
mod save;
mod shell;
mod tray;
mod window;

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rouse_host::Home;
use tauri::plugin::TauriPlugin;
use tauri::{App, AppHandle, Builder, Manager as _, RunEvent, WindowEvent, Wry};
use tokio::sync::mpsc;

use crate::args::{AppArguments, PrintTarget, StartOptions};
use crate::backend::{EngineDependencies, EngineHandle, EngineState};
use crate::computers::Computers;
use crate::link::Link;
use crate::notifier::{DesktopNotifier, Interaction};
use crate::shell::Shell;
use crate::tray::view::Tray;
use crate::window::PageReadiness;

/// Runtime worker threads; the engine mostly waits for IO.
const WORKERS: usize = 2;
/// Shutdown timeout for an engine that is still starting.
const START_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs the app until it quits.
#[must_use]
pub fn run() -> ExitCode {
    let arguments = std::env::args_os().skip(1);
    let arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
    let options = match AppArguments::parse(arguments) {
        AppArguments::Start(options) => options,
        AppArguments::Print(text, target) => return print(&text, target),
    };
    if let Some(complaint) = missing_display() {
        return print(complaint, PrintTarget::Error);
    }
    match start(options) {
        Ok(code) => code,
        Err(error) => print(&format!("rouse-desktop: {error}\n"), PrintTarget::Error),
    }
}

fn start(options: StartOptions) -> Result<ExitCode, Box<dyn std::error::Error>> {
    if let Some(complaint) = rouse_host::variable_not_utf8(|name| std::env::var_os(name)) {
        return Err(complaint.into());
    }
    let home = Home::find(&|name| std::env::var(name).ok())?;
    let env = |name: &str| std::env::var(name).ok();
    let is_verbose = env("ROUSE_LOG").is_some() || std::io::stdout().is_terminal();
    let _logging = rouse_host::start_logging(&home.logs(), &env, is_verbose);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .thread_name("rouse")
        .enable_all()
        .build()?;
    tauri::async_runtime::set(runtime.handle().clone());
    let signals = runtime.block_on(async { TerminationSignals::register() });
    let app = without_focus(Builder::default())
        .plugin(single_instance(&home))
        .plugin(
            tauri_plugin_window_state::Builder::new()
                .with_state_flags(window::saved_state_flags())
                .build(),
        )
        .plugin(autostart::plugin())
        .invoke_handler(tauri::generate_handler![
            rpc::rpc,
            rpc::shell_info,
            rpc::show_computer,
            window::page_listens,
            rpc::quit,
            rpc::open_external,
            save::save_file,
            autostart::autostart_get,
            autostart::autostart_set,
        ])
        .setup(move |app| {
            set_up(app, home, options, signals);
            Ok(())
        })
        .build(tauri::generate_context!())?;
    let code = window::start_in_tray(app).run_return(on_run_event);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

fn set_up(app: &mut App, home: Home, options: StartOptions, signals: TerminationSignals) {
    let app = app.handle();
    let (interactions_tx, interactions_rx) = mpsc::unbounded_channel();
    let (windows, requests) = mpsc::unbounded_channel();
    let (state_tx, engine) = EngineHandle::new();
    let notifier = Arc::new(DesktopNotifier::new(interactions_tx, engine.clone(), home.root()));
    app.manage(PageReadiness::default());
    app.manage(Shell {
        app: app.clone(),
        engine,
        computers: Computers::new(app.clone(), Arc::clone(&notifier)),
        tray: Tray::new(),
        notifier: Arc::clone(&notifier),
        windows,
        quitting: AtomicBool::new(false),
        close_notice_marker: home.root().join("closing-explained"),
    });
    tray::start(app);
    tauri::async_runtime::spawn(window::handle_requests(app.clone(), requests));
    tauri::async_runtime::spawn(handle_interactions(app.clone(), interactions_rx));
    tauri::async_runtime::spawn(quit_on_signal(app.clone(), signals));
    tauri::async_runtime::spawn(backend::keep_available(
        dependencies(app, home, notifier),
        state_tx,
    ));
    apply_start_options(app, options);
    #[cfg(target_os = "macos")]
    app.state::<EarlyLink>().follow(app);
}

/// Keeps the focus of other apps at login. macOS delivers a start link before the app is set up:
/// `application:openURLs:` precedes `applicationDidFinishLaunching:`.
#[cfg(target_os = "macos")]
fn without_focus(builder: Builder<Wry>) -> Builder<Wry> {
    builder.activate_ignoring_other_apps(false).manage(EarlyLink::default())
}

#[cfg(not(target_os = "macos"))]
const fn without_focus(builder: Builder<Wry>) -> Builder<Wry> {
    builder
}

/// Link received before the app was set up.
#[cfg(target_os = "macos")]
#[derive(Default)]
struct EarlyLink(std::sync::Mutex<Option<Link>>);

#[cfg(target_os = "macos")]
impl EarlyLink {
    fn keep(&self, link: Link) {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(link);
    }

    fn follow(&self, app: &AppHandle) {
        let link = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        link.into_iter().for_each(|link| app.state::<Shell>().follow_link(link));
    }
}

fn apply_start_options(app: &AppHandle, StartOptions { hidden, open, press }: StartOptions) {
    let shell = app.state::<Shell>();
    match press {
        Some(word) => shell.follow_link(Link::Press(word)),
        None if hidden && open.is_none() => {}
        None => shell.show(open),
    }
}

fn dependencies(app: &AppHandle, home: Home, notifier: Arc<DesktopNotifier>) -> EngineDependencies {
    let handle = app.clone();
    EngineDependencies {
        home,
        notifier,
        ui: Arc::new(pages::Pages::new(app)),
        on_event: Box::new(move |event| handle.state::<Shell>().forward(&event)),
    }
}

async fn handle_interactions(
    app: AppHandle,
    mut interactions_rx: mpsc::UnboundedReceiver<Interaction>,
) {
    while let Some(interaction) = interactions_rx.recv().await {
        app.state::<Shell>().follow(interaction);
    }
}

/// Forwards the options of further instances to the first.
fn single_instance(home: &Home) -> TauriPlugin<Wry> {
    let builder = tauri_plugin_single_instance::Builder::new().callback(|app, args, _| {
        match AppArguments::parse(args.into_iter().skip(1)) {
            AppArguments::Start(options) => apply_start_options(app, options),
            AppArguments::Print(..) => app.state::<Shell>().show(None),
        }
    });
    with_instance_id(builder, home).build()
}

/// On Linux each data directory has its own instance; elsewhere there is one per user.
#[cfg(target_os = "linux")]
fn with_instance_id(
    builder: tauri_plugin_single_instance::Builder<Wry>,
    home: &Home,
) -> tauri_plugin_single_instance::Builder<Wry> {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    home.root().hash(&mut hasher);
    builder.dbus_id(format!("app.rouse.desktop.home_{:016x}", hasher.finish()))
}

#[cfg(not(target_os = "linux"))]
fn with_instance_id(
    builder: tauri_plugin_single_instance::Builder<Wry>,
    _: &Home,
) -> tauri_plugin_single_instance::Builder<Wry> {
    builder
}

fn on_run_event(app: &AppHandle, event: RunEvent) {
    match event {
        // Without an exit code the last window was closed, and the app stays in the tray.
        RunEvent::ExitRequested { code: None, api, .. } => api.prevent_exit(),
        RunEvent::ExitRequested { .. } => {
            app.state::<Shell>().quitting.store(true, Ordering::Release)
        }
        RunEvent::WindowEvent { label, event: WindowEvent::Destroyed, .. }
            if label == window::MAIN =>
        {
            window::closed(app);
            app.state::<Shell>().notify_first_close();
        }
        RunEvent::Exit => close_engine(app),
        #[cfg(target_os = "macos")]
        RunEvent::Reopen { .. } => app.state::<Shell>().show(None),
        #[cfg(target_os = "macos")]
        RunEvent::Opened { urls } => {
            if let Some(link) = urls.iter().find_map(|url| Link::parse(url.as_str())) {
                match app.try_state::<Shell>() {
                    Some(shell) => shell.follow_link(link),
                    None => app.state::<EarlyLink>().keep(link),
                }
            }
        }
        _ => {}
    }
}

/// Closes the engine, waiting for a start in progress.
fn close_engine(app: &AppHandle) {
    let engine = app.state::<Shell>().engine.clone();
    tauri::async_runtime::block_on(async {
        match tokio::time::timeout(START_TIMEOUT, engine.started()).await {
            Ok(Some(EngineState::Ready(backend))) => backend.close().await,
            Ok(Some(EngineState::Failed(_) | EngineState::Starting) | None) => {}
            Err(_) => tracing::warn!("the app exits before its engine has started"),
        }
    });
}

/// Termination signals. Registered before the start, so that a signal during the start is not lost.
#[cfg(unix)]
struct TerminationSignals(Option<[tokio::signal::unix::Signal; 3]>);

#[cfg(unix)]
impl TerminationSignals {
    fn register() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let signals =
            [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
        let [Ok(terminate), Ok(interrupt), Ok(hangup)] = signals else {
            tracing::warn!(
                "termination signals cannot be handled; a killed app does not close its engine"
            );
            return Self(None);
        };
        Self(Some([terminate, interrupt, hangup]))
    }

    async fn wait(self) {
        let Some([mut terminate, mut interrupt, mut hangup]) = self.0 else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

/// Windows terminates apps through window messages, which Tauri handles.
#[cfg(not(unix))]
struct TerminationSignals;

#[cfg(not(unix))]
impl TerminationSignals {
    const fn register() -> Self {
        Self
    }

    async fn wait(self) {
        std::future::pending().await
    }
}

async fn quit_on_signal(app: AppHandle, signals: TerminationSignals) {
    signals.wait().await;
    app.state::<Shell>().quit();
}

/// Error for a missing display, on which the toolkit would abort.
fn missing_display() -> Option<&'static str> {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_missing = cfg!(target_os = "linux") && !set("DISPLAY") && !set("WAYLAND_DISPLAY");
    is_missing.then_some(
        "rouse-desktop: no display found. Use `rouse serve` to run Rouse without a display.\n",
    )
}

fn print(text: &str, target: PrintTarget) -> ExitCode {
    // A closed terminal is no further error.
    match target {
        PrintTarget::Error => {
            let _ = std::io::stderr().write_all(text.as_bytes());
            ExitCode::from(2)
        }
        PrintTarget::Output => {
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
    }
}
