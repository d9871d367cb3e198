//! Redirects on real sockets: every hop is checked like the first.

use std::path::Path;

use reqwest::{Method, StatusCode};
use rouse_core::policy::{PolicyVerdict, ToolPolicy};
use rouse_core::tool::{Tool as _, ToolOutput};
use serde_json::{Value, json};

use crate::http_guard::HttpConfig;
use crate::http_guard::tests::server::{Server, Then, ok, redirect};
use crate::http_guard::{FetchError, HttpRequest, UrlTarget};
use crate::test_context::{call, context};
use crate::tools::http::Http;

async fn fetch(allowed: &[&Server], arguments: Value) -> ToolOutput {
    let allow_private_hosts = allowed.iter().map(|server| server.entry()).collect();
    call(&Http::new(HttpConfig { allow_private_hosts, ..HttpConfig::default() }), arguments).await
}

#[tokio::test]
async fn redirect_to_a_private_address_is_refused() {
    let trap = Server::saying("secret").await;
    let port = trap.port;
    let places = [
        trap.url("/"),
        format!("//127.0.0.1:{port}/"),
        format!("http://localhost:{port}/"),
        format!("http://0.0.0.0:{port}/"),
        format!("http://[::1]:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://0x7f.1:{port}/"),
        format!("http://2130706433:{port}/"),
        format!("http://user@127.0.0.1:{port}/"),
        format!("http://127.0.0.1.:{port}/"),
        "http://127.0.0.1/".to_owned(),
        "http://localhost:8080/".to_owned(),
        "http://10.0.0.1/".to_owned(),
        "http://192.168.1.1:8080/admin".to_owned(),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://[fd00:ec2::254]/".to_owned(),
        "http://100.64.0.1/".to_owned(),
        "file:///etc/passwd".to_owned(),
        "gopher://127.0.0.1/".to_owned(),
    ];
    for place in places {
        let first = Server::redirecting_to(place.clone()).await;
        let output = fetch(&[&first], json!({ "url": first.url("/") })).await;
        assert!(output.is_error(), "{place}: {}", output.text());
        assert!(
            output.text().contains("redirects to") && output.text().contains("refused"),
            "{}",
            output.text()
        );
        assert_eq!(first.requests().len(), 1, "{place}");
    }
    assert_eq!(trap.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn redirect_to_an_allowed_host_is_followed() {
    let second = Server::saying("arrived").await;
    let first = Server::redirecting_to(second.url("/there")).await;
    let output = fetch(&[&first, &second], json!({ "url": first.url("/") })).await;
    assert_eq!(
        (&output.value["body"], &output.value["url"]),
        (&json!("arrived"), &json!(second.url("/there")))
    );
}

/// Fetches with the value `tulip-9-rose` in place of a secret's handle.
async fn fetch_with_secret(allowed: &[&Server], arguments: Value) -> ToolOutput {
    let allow_private_hosts = allowed.iter().map(|server| server.entry()).collect();
    let tool = Http::new(HttpConfig { allow_private_hosts, ..HttpConfig::default() });
    let filled = arguments.to_string().replace("{{secret:mine}}", "tulip-9-rose");
    let filled = serde_json::from_str(&filled).expect("JSON");
    let policy = ToolPolicy::for_written_call("http", &arguments);
    match policy.judge(tool.spec(), arguments) {
        PolicyVerdict::Allowed(judged) => {
            let call = judged.with_values(filled).expect("a handle was filled");
            tool.call(call, &context(Path::new("/nonexistent-workspace"))).await
        }
        other => panic!("not let through: {other:?}"),
    }
}

#[tokio::test]
async fn request_with_secret_follows_no_cross_origin_redirect() {
    let other = Server::saying("mine").await;
    let elsewhere = other.url(&format!("/{}?k=tulip-9-rose", "x".repeat(300)));
    let target = elsewhere.clone();
    let first = Server::start(Box::new(move |path| {
        let reply = if path.starts_with("/near") {
            redirect("/there")
        } else if path.starts_with("/there") {
            ok("text/plain", b"there")
        } else {
            redirect(&target)
        };
        (reply, Then::Close)
    }))
    .await;
    let far = json!({ "url": first.url("/far?k={{secret:mine}}") });
    let output = fetch_with_secret(&[&first, &other], far).await;
    assert_eq!(output.value["status"], 302, "{output:?}");
    assert_eq!(output.value["location"], elsewhere, "whole, so that the value is found");
    assert_eq!(other.requests(), Vec::<String>::new());
    let near = json!({ "url": first.url("/near/{{secret:mine}}") });
    let output = fetch_with_secret(&[&first], near).await;
    assert_eq!(output.value["body"], "there", "the same origin already has the value");
}

#[tokio::test]
async fn caller_cannot_choose_the_cut_of_a_response_with_secret() {
    let echo = Server::start(Box::new(|path| (ok("text/plain", path.as_bytes()), Then::Close)));
    let echo = echo.await;
    let arguments = json!({ "url": echo.url("/{{secret:mine}}"), "maxBytes": 12 });
    let output = fetch_with_secret(&[&echo], arguments.clone()).await;
    assert!(
        output.is_error() && output.text().contains("maxBytes cannot be combined"),
        "{output:?}"
    );
    let headers = json!({ "range": "bytes=0-11" });
    let in_parts = json!({ "url": echo.url("/{{secret:mine}}"), "headers": headers });
    let output = fetch_with_secret(&[&echo], in_parts).await;
    assert!(output.is_error() && output.text().contains("headers.Range"), "{output:?}");
    let plain = fetch(&[&echo], arguments).await;
    assert_eq!(plain.value["body"].as_str().map(str::len), Some(12), "{plain:?}");

    let long = Server::start(Box::new(|_| {
        let body = format!("{}tulip-9-rose", "x".repeat((256 << 10) - 5));
        (ok("text/plain", body.as_bytes()), Then::Close)
    }));
    let long = long.await;
    let output = fetch_with_secret(&[&long], json!({ "url": long.url("/{{secret:mine}}") })).await;
    let body = output.value["body"].as_str().expect("a text");
    assert!(output.value["truncated"] == true && body.len() > 200_000, "{}", body.len());
    assert!(!body.contains("tul"), "a part of the value is left");
}

#[tokio::test]
async fn five_redirects_are_followed_and_six_are_not() {
    let countdown = |path: &str| match path.trim_start_matches('/').parse::<u32>() {
        Ok(0) | Err(_) => (ok("text/plain", b"done"), Then::Close),
        Ok(left) => (redirect(&format!("/{}", left - 1)), Then::Close),
    };
    let server = Server::start(Box::new(countdown)).await;
    let output = fetch(&[&server], json!({ "url": server.url("/5") })).await;
    assert_eq!(output.value["body"], "done");
    assert_eq!(server.requests().len(), 6);
    let output = fetch(&[&server], json!({ "url": server.url("/6") })).await;
    assert!(
        output.is_error() && output.text().contains("More than 5 redirects"),
        "{}",
        output.text()
    );
    assert_eq!(server.requests().len(), 12);
}

#[tokio::test]
async fn headers_are_dropped_at_another_origin() {
    let second = Server::saying("arrived").await;
    let elsewhere = second.url("/");
    let first = Server::start(Box::new(move |path| match path {
        "/start" => (redirect("/same"), Then::Close),
        _ => (redirect(&elsewhere), Then::Close),
    }))
    .await;
    let headers =
        json!({ "Authorization": "Bearer canary", "Cookie": "canary=1", "X-Key": "canary" });
    let output =
        fetch(&[&first, &second], json!({ "url": first.url("/start"), "headers": headers })).await;
    assert_eq!(output.value["body"], "arrived", "{}", output.text());
    let carried: Vec<usize> =
        first.requests().iter().map(|request| request.matches("canary").count()).collect();
    assert_eq!(carried, [3, 3], "the same origin gets the headers on every hop");
    let request = second.requests().remove(0);
    assert!(!request.contains("canary"), "{request}");
}

#[tokio::test]
async fn redirect_without_location_is_returned() {
    let bare = b"HTTP/1.1 302 Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhm".to_vec();
    let server = Server::start(Box::new(move |_| (bare.clone(), Then::Close))).await;
    let output = fetch(&[&server], json!({ "url": server.url("/") })).await;
    assert_eq!((&output.value["status"], &output.value["body"]), (&json!(302), &json!("hm")));
}

#[test]
fn downgrade_redirect_is_refused() {
    let request = |url| HttpRequest::new(Method::GET, UrlTarget::parse(url).expect("a URL"));
    let found = StatusCode::FOUND;
    let redirected = |url, location: &str| request(url).redirected(found, location.as_bytes());
    assert!(matches!(
        redirected("https://a.example/", "http://a.example/"),
        Err(FetchError::Downgrade)
    ));
    assert!(matches!(
        redirected("https://a.example/", "http://b.example:8080/"),
        Err(FetchError::Downgrade)
    ));
    assert!(redirected("https://a.example/", "https://b.example/").is_ok());
    assert!(redirected("https://a.example/", "/x").is_ok());
    assert!(redirected("http://a.example/", "https://a.example/").is_ok());
    assert!(matches!(
        request("http://a.example/").redirected(found, b"/\xff"),
        Err(FetchError::Location)
    ));
}
