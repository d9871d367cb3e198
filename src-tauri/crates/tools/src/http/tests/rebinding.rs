//! A name server that changes its mind: one lookup per hop, every answer judged, the connection goes to what was judged.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Method;
use rouse_core::tool::BoxFuture;

use super::server::{Server, Then, redirect};
use crate::http::address::{Reach, reach};
use crate::http::fetch::{FetchError, Fetcher, Request};
use crate::http::page::Page;
use crate::http::resolve::Resolve;
use crate::http::rules::{OwnPorts, Rules};
use crate::http::target::Target;

/// Answers each lookup with the next list, the last one for ever, and counts.
struct FickleResolver {
    answers: Mutex<VecDeque<Vec<IpAddr>>>,
    asked: Mutex<Vec<String>>,
}

impl Resolve for FickleResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.asked.lock().expect("nobody panicked").push(name.to_owned());
        let mut answers = self.answers.lock().expect("nobody panicked");
        let next = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        Box::pin(std::future::ready(Ok(next.unwrap_or_default())))
    }
}

/// Only tests have a public address of their own: in here 127.0.0.1 is one, and the rest is as it is.
fn reach_in_test(address: IpAddr) -> Reach {
    if address == IpAddr::V4(Ipv4Addr::LOCALHOST) { Reach::Public } else { reach(address) }
}

const PUBLIC: &str = "127.0.0.1";

async fn fetch(
    server: &Server,
    path: &str,
    answers: &[&[&str]],
) -> (Result<Page, FetchError>, Vec<String>) {
    let parsed =
        |list: &&[&str]| list.iter().map(|text| text.parse().expect("an address")).collect();
    let resolver = Arc::new(FickleResolver {
        answers: Mutex::new(answers.iter().map(parsed).collect()),
        asked: Mutex::new(Vec::new()),
    });
    let rules = Rules {
        reach: reach_in_test,
        ports: vec![server.port],
        ..Rules::new(&[], OwnPorts::default())
    };
    let fetcher = Fetcher { rules, resolver: resolver.clone(), timeout: Duration::from_secs(10) };
    let url = format!("http://rebind.example:{}{path}", server.port);
    let target = Target::parse(&url).expect("a URL");
    let page = fetcher.send(Request::new(Method::GET, target)).await;
    let asked = resolver.asked.lock().expect("nobody panicked").clone();
    (page, asked)
}

#[tokio::test]
async fn a_second_answer_is_never_asked_for() {
    let server = Server::saying("public").await;
    let (page, asked) = fetch(&server, "/", &[&[PUBLIC], &["10.0.0.1"]]).await;
    assert_eq!(page.expect("the checked address answers").body, "public");
    assert_eq!(asked, ["rebind.example"], "one lookup");
    let host = format!("host: rebind.example:{}\r\n", server.port);
    assert!(server.requests()[0].to_lowercase().contains(&host), "{:?}", server.requests());
}

#[tokio::test]
async fn every_hop_is_judged_by_its_own_lookup() {
    let server = Server::start(Box::new(|_| (redirect("/again"), Then::Close))).await;
    let (page, asked) = fetch(&server, "/", &[&[PUBLIC], &["127.0.0.2"]]).await;
    assert!(matches!(page, Err(FetchError::Redirect { .. })), "{page:?}");
    assert_eq!((asked.len(), server.requests().len()), (2, 1));
}

#[tokio::test]
async fn one_forbidden_answer_among_good_ones_refuses_the_name() {
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
async fn a_name_without_an_address_is_refused() {
    let server = Server::saying("public").await;
    let (page, _) = fetch(&server, "/", &[&[]]).await;
    assert!(matches!(page, Err(FetchError::NoAddress { .. })), "{page:?}");
}

#[tokio::test]
async fn a_client_for_one_name_cannot_look_up_another() {
    let server = Server::saying("public").await;
    let target = Target::parse("http://rebind.example/").expect("a URL");
    let client = crate::http::fetch::client_to(&target, &[IpAddr::V4(Ipv4Addr::LOCALHOST)])
        .expect("a client");
    let url = format!("http://localhost:{}/", server.port);
    let error = client.get(url).send().await.expect_err("there is no lookup");
    assert!(format!("{error:?}").contains("was not looked up before"), "{error:?}");
    assert_eq!(server.requests(), Vec::<String>::new());
}
