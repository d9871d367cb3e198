//! Windows requirements: reported, never installed.
//!
//! Owns the check of the WebView2 runtime, which Windows 11 includes. The MSVC build tools exist, since they linked
//! this program. Never calls an installer, because installers need elevated rights.

use super::Requirement;
use crate::error::ChoreError;
use crate::process;
use crate::progress::ChoreOutcome;

/// The registry keys with the WebView2 version, for all users and for this user.
const WEBVIEW_KEYS: [&str; 2] = [
    r"HKLM\SOFTWARE\WOW6432Node\Microsoft\EdgeUpdate\Clients\{F3017226-FE2A-4295-8BDF-00C3A9A7E4C5}",
    r"HKCU\Software\Microsoft\EdgeUpdate\Clients\{F3017226-FE2A-4295-8BDF-00C3A9A7E4C5}",
];

/// Fails with advice if WebView2 is missing.
pub(super) fn ensure_webview(requirements: &[Requirement]) -> Result<ChoreOutcome, ChoreError> {
    println!(
        "      Needed on Windows: the MSVC build tools (found: they linked this program) and WebView2."
    );
    let found = WEBVIEW_KEYS
        .iter()
        .any(|key| process::try_output("reg", &["query", key, "/v", "pv"]).is_some());
    if found || !requirements.contains(&Requirement::WebView) {
        return Ok(ChoreOutcome::UpToDate);
    }
    Err(ChoreError::new(
        "WebView2 is missing. Install it and start again: winget install Microsoft.EdgeWebView2Runtime",
    ))
}
