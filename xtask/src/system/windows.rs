//! Windows: what Rouse needs there is said, not installed.
//!
//! Owns the two things that Windows may lack: the MSVC build tools, which must be there since they linked this program, and
//! the WebView2 runtime, which Windows 11 brings. Refuses to call an installer: both ask for rights that a build has no
//! business with.

use super::Need;
use crate::failure::Failure;
use crate::process;
use crate::progress::Done;

/// Where Microsoft's updater writes the version of WebView2; for all users, and for this one.
const WEBVIEW_KEYS: [&str; 2] = [
    r"HKLM\SOFTWARE\WOW6432Node\Microsoft\EdgeUpdate\Clients\{F3017226-FE2A-4295-8BDF-00C3A9A7E4C5}",
    r"HKCU\Software\Microsoft\EdgeUpdate\Clients\{F3017226-FE2A-4295-8BDF-00C3A9A7E4C5}",
];

/// Stops with instructions when the window could not be shown.
pub(super) fn ensure_webview(needs: &[Need]) -> Result<Done, Failure> {
    println!(
        "      Needed on Windows: the MSVC build tools (found: they linked this program) and WebView2."
    );
    let found = WEBVIEW_KEYS
        .iter()
        .any(|key| process::answer("reg", &["query", key, "/v", "pv"]).is_some());
    if found || !needs.contains(&Need::WebView) {
        return Ok(Done::AlreadyFresh);
    }
    Err(Failure::new(
        "WebView2 is missing. Install it and start again: winget install Microsoft.EdgeWebView2Runtime",
    ))
}
