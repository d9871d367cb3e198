//! Commands of the page: gateway methods, and desktop functions.
//!
//! Never interprets methods; the gateway answers. A command needs an entry in
//! `permissions/shell.toml` and in the capability.

use serde::Serialize;
use serde_json::{Value, json};
use tauri::{State, Url};

use crate::backend::EngineState;
use crate::computers::{ComputerInfo, LinkState};
use crate::shell::Shell;
use crate::tray::command::TrayCommand;
use crate::ui_route::UiRoute;

/// Calls a gateway method. Responds like JSON-RPC, as the browser's gateway does.
#[tauri::command]
pub(crate) async fn rpc(
    method: String,
    params: Value,
    shell: State<'_, Shell>,
) -> Result<Value, String> {
    let answer = match shell.computers.shown_backend() {
        Ok(Some(backend)) => backend.call(&method, params).await,
        Ok(None) => shell.engine.call(&method, params).await,
        Err(error) => Err(error),
    };
    Ok(match answer {
        Ok(result) => json!({ "result": result }),
        Err(error) => json!({ "error": error }),
    })
}

/// State of the desktop shell.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShellInfo {
    /// A tray icon is shown.
    tray: bool,
    /// Location of the engine.
    engine: EngineLocation,
    /// Computer whose pages are shown; none for this one.
    computer: Option<String>,
    /// Other computers of the settings.
    computers: Vec<ComputerInfo>,
}

/// Location of the engine.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum EngineLocation {
    Starting,
    Here,
    Elsewhere,
    AnotherComputer,
    Failed,
}

/// State of the shell; changes are announced by `rouse://shell`.
#[tauri::command]
pub(crate) fn shell_info(shell: State<'_, Shell>) -> ShellInfo {
    let (engine, computer) = match shell.computers.shown_link() {
        Some((name, LinkState::Connecting)) => (EngineLocation::Starting, Some(name)),
        Some((name, LinkState::Connected)) => (EngineLocation::AnotherComputer, Some(name)),
        Some((name, LinkState::Failed(_))) => (EngineLocation::Failed, Some(name)),
        None => (engine_location(&shell.engine.state()), None),
    };
    let (tray, computers) = (shell.tray.is_shown(), shell.computers.list());
    ShellInfo { tray, engine, computer, computers }
}

fn engine_location(state: &EngineState) -> EngineLocation {
    match state {
        EngineState::Starting => EngineLocation::Starting,
        EngineState::Failed(_) => EngineLocation::Failed,
        EngineState::Ready(backend) if backend.is_local() => EngineLocation::Here,
        EngineState::Ready(_) => EngineLocation::Elsewhere,
    }
}

/// Shows the home page of another computer, or of this one.
#[tauri::command]
pub(crate) fn show_computer(name: Option<String>, shell: State<'_, Shell>) {
    shell.show_on(name, UiRoute::home());
}

/// Quits the app; the page offers this without a tray.
#[tauri::command]
pub(crate) fn quit(shell: State<'_, Shell>) {
    shell.execute(TrayCommand::Quit);
}

/// Opens a URL in the browser. Only `https`: other schemes could start programs.
#[tauri::command]
pub(crate) async fn open_external(url: String) -> Result<(), String> {
    let url = web_page(&url).ok_or("Only https links can be opened.")?;
    tauri_plugin_opener::open_url(url.as_str(), None::<&str>).map_err(|error| {
        tracing::warn!(%error, "an address was not opened");
        "Could not open the browser.".to_owned()
    })
}

/// URL of a plain web page.
fn web_page(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let plain = url.scheme() == "https"
        && url.host_str().is_some()
        && url.username().is_empty()
        && url.password().is_none();
    plain.then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_urls_open() {
        assert!(web_page("https://ollama.com/download").is_some());
        for other in [
            "http://example.org",
            "file:///etc/passwd",
            "rouse://runs/1",
            "mailto:a@example.org",
            "https://user@example.org",
            "javascript:alert(1)",
            "example.org",
            "--help",
            "",
        ] {
            assert!(web_page(other).is_none(), "{other}");
        }
    }
}
