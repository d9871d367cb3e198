//! Pages that attack their reader.

use rouse_core::tool::{Fault, ToolOutput};
use serde_json::json;

use super::*;
use crate::http_guard::tests::server::{Then, ok};
use crate::test_context::call_with;

/// The output for a page read by the test `name`.
async fn read_by(name: &str, time: Duration, page: Vec<u8>) -> ToolOutput {
    let server = Server::start(Box::new(move |_| (ok("text/html", &page), Then::Close))).await;
    let allow_private_hosts = vec![server.entry()];
    let config = HttpConfig { allow_private_hosts, ..HttpConfig::default() };
    let tool = WebFetch::new(&config, reader_test(name, time), Arc::<OneFetch>::default());
    let folder = tempfile::tempdir().expect("a folder");
    let url = json!({ "url": server.url("/") });
    call_with(&tool, &of_model(folder.path()), url).await
}

fn is_child() -> bool {
    std::env::var_os("ROUSE_READER").is_some()
}

/// The child of a test below.
#[test]
fn child_takes_all_memory() {
    let mut taken = Vec::new();
    while is_child() {
        taken.push(vec![1_u8; 16 << 20]);
    }
}

/// The child of a test below.
#[test]
fn child_never_ends() {
    while is_child() {
        std::thread::park();
    }
}

/// The child of a test below.
#[cfg(unix)]
#[test]
fn child_links_its_result_elsewhere() {
    if is_child() {
        std::os::unix::fs::symlink("/etc/passwd", reader::RESULT_FILE).expect("a link");
    }
}

#[tokio::test]
async fn reader_that_exhausts_memory_is_killed() {
    let output = read_by("bombs::child_takes_all_memory", LONG, Vec::new()).await;
    assert_eq!(output.fault, Some(Fault::Execution), "{output:?}");
    assert!(output.text().contains("exceeded the memory limit"), "{output:?}");
}

#[tokio::test]
async fn reader_that_never_ends_times_out() {
    let output = read_by("bombs::child_never_ends", Duration::from_millis(500), Vec::new()).await;
    assert_eq!(output.fault, Some(Fault::Timeout), "{output:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn result_link_is_not_followed() {
    let output = read_by("bombs::child_links_its_result_elsewhere", LONG, Vec::new()).await;
    assert_eq!(output.fault, Some(Fault::Execution), "{output:?}");
    assert!(!output.text().contains("root:"), "{output:?}");
}

#[tokio::test]
async fn deeply_nested_page_is_an_error() {
    let page = [b"<p>begin".to_vec(), b"<div><b>".repeat(100_000)].concat();
    let output = read_by("reader_child", Duration::from_secs(10), page).await;
    let is_told = output.fault.is_none() || output.text().starts_with("The page could not be read");
    assert!(is_told, "{output:?}");
}
