//! The desktop shell of Rouse: tray, window, native notifications, autostart.
//!
//! Owns the order in which its parts start and end. It refuses SQL, decisions and timers of its own: the engine decides,
//! the shell shows. The window can be closed and the tray can be missing; the engine goes on as long as the process does.
//!
//! Start: command line → log → Tauri (a second start ends here, after handing its wishes to the first) → tray and window
//! → engine. The window does not wait for the engine; its calls do. End: `RunEvent::Exit` closes the engine, which
//! records what was at work.

mod args;
mod autostart;
mod backend;
mod link;
mod notifier;
mod pages;
mod place;
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

use crate::args::{CommandLine, Complaint, StartOptions};
use crate::backend::{Engine, EngineDoor, Surroundings};
use crate::link::Link;
use crate::notifier::{DesktopNotifier, Touch};
use crate::shell::Shell;
use crate::tray::Tray;

/// Threads for everything that waits; the engine's work is mostly waiting.
const WORKERS: usize = 2;
/// How long the end of the app waits for an engine that is still starting.
const STARTED_WITHIN: Duration = Duration::from_secs(5);

/// Runs the app until it is quit.
#[must_use]
pub fn run() -> ExitCode {
    let arguments = std::env::args_os().skip(1);
    let arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
    let options = match CommandLine::parse(arguments) {
        CommandLine::Start(options) => options,
        CommandLine::Print(words, complaint) => return print(&words, complaint),
    };
    if let Some(complaint) = no_screen() {
        return print(complaint, Complaint::Yes);
    }
    match start(options) {
        Ok(code) => code,
        Err(error) => print(&format!("rouse-desktop: {error}\n"), Complaint::Yes),
    }
}

fn start(options: StartOptions) -> Result<ExitCode, Box<dyn std::error::Error>> {
    if let Some(complaint) = rouse_host::variable_not_utf8(|name| std::env::var_os(name)) {
        return Err(complaint.into());
    }
    let home = Home::find(&|name| std::env::var(name).ok())?;
    let env = |name: &str| std::env::var(name).ok();
    let chatty = env("ROUSE_LOG").is_some() || std::io::stdout().is_terminal();
    let _logging = rouse_host::start_logging(&home.logs(), &env, chatty);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .thread_name("rouse")
        .enable_all()
        .build()?;
    tauri::async_runtime::set(runtime.handle().clone());
    let ending = runtime.block_on(async { Ending::hear() });
    let app = unobtrusive(Builder::default())
        .plugin(single_instance(&home))
        .plugin(
            tauri_plugin_window_state::Builder::new()
                .with_state_flags(window::remembered())
                .build(),
        )
        .plugin(autostart::plugin())
        .invoke_handler(tauri::generate_handler![
            rpc::rpc,
            rpc::shell_info,
            window::page_listens,
            rpc::quit,
            rpc::open_external,
            save::save_file,
            autostart::autostart_get,
            autostart::autostart_set,
        ])
        .setup(move |app| {
            set_up(app, home, options, ending);
            Ok(())
        })
        .build(tauri::generate_context!())?;
    let code = window::in_the_tray(app).run_return(on_run_event);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

fn set_up(app: &mut App, home: Home, options: StartOptions, ending: Ending) {
    let app = app.handle();
    let (clicks, clicked) = mpsc::unbounded_channel();
    let (windows, wishes) = mpsc::unbounded_channel();
    let (tell, engine) = EngineDoor::new();
    let notifier = Arc::new(DesktopNotifier::new(clicks, engine.clone(), home.root()));
    app.manage(Shell {
        app: app.clone(),
        engine,
        tray: Tray::new(),
        notifier: Arc::clone(&notifier),
        windows,
        page_is_there: AtomicBool::new(false),
        quitting: AtomicBool::new(false),
        closing_explained: home.root().join("closing-explained"),
    });
    tray::start(app);
    tauri::async_runtime::spawn(window::fulfil(app.clone(), wishes));
    tauri::async_runtime::spawn(follow_clicks(app.clone(), clicked));
    tauri::async_runtime::spawn(quit_on_signal(app.clone(), ending));
    tauri::async_runtime::spawn(backend::keep(surroundings(app, home, notifier), tell));
    obey_start(app, options);
    #[cfg(target_os = "macos")]
    app.state::<EarlyLink>().follow(app);
}

/// Who starts with the computer takes nobody's focus. macOS hands a link over at a start before the parts of the app are
/// there: `application:openURLs:` comes before `applicationDidFinishLaunching:`.
#[cfg(target_os = "macos")]
fn unobtrusive(builder: Builder<Wry>) -> Builder<Wry> {
    builder.activate_ignoring_other_apps(false).manage(EarlyLink::default())
}

#[cfg(not(target_os = "macos"))]
const fn unobtrusive(builder: Builder<Wry>) -> Builder<Wry> {
    builder
}

/// A link that came before there was somebody to follow it.
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

fn obey_start(app: &AppHandle, StartOptions { hidden, open, press }: StartOptions) {
    let shell = app.state::<Shell>();
    match press {
        Some(word) => shell.follow_link(Link::Press(word)),
        None if hidden && open.is_none() => {}
        None => shell.show(open),
    }
}

fn surroundings(app: &AppHandle, home: Home, notifier: Arc<DesktopNotifier>) -> Surroundings {
    let handle = app.clone();
    Surroundings {
        home,
        notifier,
        ui: Arc::new(pages::Pages::new(app)),
        on_event: Box::new(move |event| handle.state::<Shell>().hand_on(&event)),
    }
}

async fn follow_clicks(app: AppHandle, mut touched: mpsc::UnboundedReceiver<Touch>) {
    while let Some(touch) = touched.recv().await {
        app.state::<Shell>().follow(touch);
    }
}

/// The first start gets the wishes of every further one.
fn single_instance(home: &Home) -> TauriPlugin<Wry> {
    let builder = tauri_plugin_single_instance::Builder::new().callback(|app, args, _| {
        match CommandLine::parse(args.into_iter().skip(1)) {
            CommandLine::Start(options) => obey_start(app, options),
            CommandLine::Print(..) => app.state::<Shell>().show(None),
        }
    });
    named_after(builder, home).build()
}

/// On Linux a data directory of its own makes an instance of its own; elsewhere there is one instance a person.
#[cfg(target_os = "linux")]
fn named_after(
    builder: tauri_plugin_single_instance::Builder<Wry>,
    home: &Home,
) -> tauri_plugin_single_instance::Builder<Wry> {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    home.root().hash(&mut hasher);
    builder.dbus_id(format!("app.rouse.desktop.home_{:016x}", hasher.finish()))
}

#[cfg(not(target_os = "linux"))]
fn named_after(
    builder: tauri_plugin_single_instance::Builder<Wry>,
    _: &Home,
) -> tauri_plugin_single_instance::Builder<Wry> {
    builder
}

fn on_run_event(app: &AppHandle, event: RunEvent) {
    match event {
        // Without a code nobody asked for the end: the last window was closed, and the tray goes on.
        RunEvent::ExitRequested { code: None, api, .. } => api.prevent_exit(),
        RunEvent::ExitRequested { .. } => {
            app.state::<Shell>().quitting.store(true, Ordering::Release)
        }
        RunEvent::WindowEvent { label, event: WindowEvent::Destroyed, .. }
            if label == window::MAIN =>
        {
            window::closed(app)
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

/// Closes the engine, and one that is still starting once it has started.
fn close_engine(app: &AppHandle) {
    let door = app.state::<Shell>().engine.clone();
    tauri::async_runtime::block_on(async {
        match tokio::time::timeout(STARTED_WITHIN, door.there()).await {
            Ok(Some(Engine::Ready(backend))) => backend.close().await,
            Ok(Some(Engine::Failed(_) | Engine::Starting) | None) => {}
            Err(_) => tracing::warn!("the app ends before its engine has started"),
        }
    });
}

/// The system's polite requests to end. What is heard is kept until it is waited for, so that one that comes during the
/// start ends the app as one that comes later does.
#[cfg(unix)]
struct Ending(Option<[tokio::signal::unix::Signal; 3]>);

#[cfg(unix)]
impl Ending {
    fn hear() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let signals =
            [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
        let [Ok(terminate), Ok(interrupt), Ok(hangup)] = signals else {
            tracing::warn!(
                "signals cannot be heard; the app ends without closing the engine when it is killed"
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

/// Windows ends the app through its window messages, which Tauri handles.
#[cfg(not(unix))]
struct Ending;

#[cfg(not(unix))]
impl Ending {
    const fn hear() -> Self {
        Self
    }

    async fn wait(self) {
        std::future::pending().await
    }
}

async fn quit_on_signal(app: AppHandle, ending: Ending) {
    ending.wait().await;
    app.state::<Shell>().quit();
}

/// Why no window can ever come up here. The toolkit would abort instead of saying it.
fn no_screen() -> Option<&'static str> {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let nowhere = cfg!(target_os = "linux") && !set("DISPLAY") && !set("WAYLAND_DISPLAY");
    nowhere.then_some(
        "rouse-desktop: there is no display here. `rouse serve` runs Rouse without one.\n",
    )
}

fn print(words: &str, complaint: Complaint) -> ExitCode {
    // A closed terminal is no reason to fail in another way.
    match complaint {
        Complaint::Yes => {
            let _ = std::io::stderr().write_all(words.as_bytes());
            ExitCode::from(2)
        }
        Complaint::No => {
            let _ = std::io::stdout().write_all(words.as_bytes());
            ExitCode::SUCCESS
        }
    }
}
