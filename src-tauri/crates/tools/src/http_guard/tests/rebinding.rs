//! DNS rebinding: a single lookup per hop, every result checked, connections to checked addresses only.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Method;
use rouse_core::tool::BoxFuture;

use super::server::{Server, Then, redirect};
use crate::http_guard::FetchError;
use crate::http_guard::address::{AddressScope, classify_address};
use crate::http_guard::fetch::{Fetcher, HttpRequest};
use crate::http_guard::resolve::Resolver;
use crate::http_guard::response::TextResponse;
use crate::http_guard::rules::{GatewayPorts, HostRules};
use crate::http_guard::target::UrlTarget;

/// Returns the next list at each lookup, the last list for ever; counts the lookups.
struct RebindingResolver {
    answers: Mutex<VecDeque<Vec<IpAddr>>>,
    lookups: Mutex<Vec<String>>,
}

impl Resolver for RebindingResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.lookups.lock().expect("not poisoned").push(name.to_owned());
        let mut answers = self.answers.lock().expect("not poisoned");
        let next = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        Box::pin(std::future::ready(Ok(next.unwrap_or_default())))
    }
}

/// Treats 127.0.0.1 as public, because a test server has no public address.
fn classify_in_test(address: IpAddr) -> AddressScope {
    if address == IpAddr::V4(Ipv4Addr::LOCALHOST) {
        AddressScope::Public
    } else {
        classify_address(address)
    }
}

const PUBLIC: &str = "127.0.0.1";

async fn fetch(
    server: &Server,
    path: &str,
    answers: &[&[&str]],
) -> (Result<TextResponse, FetchError>, Vec<String>) {
    let parsed =
        |list: &&[&str]| list.iter().map(|text| text.parse().expect("an address")).collect();
    let resolver = Arc::new(RebindingResolver {
        answers: Mutex::new(answers.iter().map(parsed).collect()),
        lookups: Mutex::new(Vec::new()),
    });
    let rules = HostRules {
        classify: classify_in_test,
        ports: vec![server.port],
        ..HostRules::new(&[], GatewayPorts::default())
    };
    let fetcher = Fetcher { rules, resolver: resolver.clone(), timeout: Duration::from_secs(10) };
    let url = format!("http://rebind.example:{}{path}", server.port);
    let target = UrlTarget::parse(&url).expect("a URL");
    let page = fetcher.send(HttpRequest::new(Method::GET, target)).await;
    let lookups = resolver.lookups.lock().expect("not poisoned").clone();
    (page, lookups)
}

#[tokio::test]
async fn connection_makes_no_second_lookup() {
    let server = Server::saying("public").await;
    let (page, lookups) = fetch(&server, "/", &[&[PUBLIC], &["10.0.0.1"]]).await;
    assert_eq!(page.expect("the checked address answers").body, "public");
    assert_eq!(lookups, ["rebind.example"], "a single lookup");
    let host = format!("host: rebind.example:{}\r\n", server.port);
    assert!(server.requests()[0].to_lowercase().contains(&host), "{:?}", server.requests());
}

#[tokio::test]
async fn every_hop_is_checked_by_its_own_lookup() {
    let server = Server::start(Box::new(|_| (redirect("/again"), Then::Close))).await;
    let (page, lookups) = fetch(&server, "/", &[&[PUBLIC], &["127.0.0.2"]]).await;
    assert!(matches!(page, Err(FetchError::Redirect { .. })), "{page:?}");
    assert_eq!((lookups.len(), server.requests().len()), (2, 1));
}

#[tokio::test]
async fn one_forbidden_address_refuses_the_name() {
    let server = Server::saying("public").await;
    let bad = ["10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fe80::1", "0.0.0.0"];
    for forbidden in bad {
        for answer in [[PUBLIC, forbidden], [forbidden, PUBLIC]] {
            let (page, _) = fetch(&server, "/", &[&answer]).await;
            let is_refused =
                matches!(page, Err(FetchError::LocalAddress { .. } | FetchError::Address { .. }));
            assert!(is_refused, "{answer:?}: {page:?}");
        }
    }
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn name_without_address_is_refused() {
    let server = Server::saying("public").await;
    let (page, _) = fetch(&server, "/", &[&[]]).await;
    assert!(matches!(page, Err(FetchError::NoAddress { .. })), "{page:?}");
}

#[tokio::test]
async fn client_for_one_name_cannot_look_up_another() {
    let server = Server::saying("public").await;
    let target = UrlTarget::parse("http://rebind.example/").expect("a URL");
    let client =
        crate::http_guard::fetch::pinned_client(&target, &[IpAddr::V4(Ipv4Addr::LOCALHOST)])
            .expect("a client");
    let url = format!("http://localhost:{}/", server.port);
    let error = client.get(url).send().await.expect_err("there is no lookup");
    assert!(format!("{error:?}").contains("was not resolved beforehand"), "{error:?}");
    assert_eq!(server.requests(), Vec::<String>::new());
}
