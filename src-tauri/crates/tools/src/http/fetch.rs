//! One GET, hop by hop.
//!
//! Every hop is judged anew: port, then one lookup, then every address it answered, and only then a connection, to just
//! those addresses. So a name that answers differently the second time gains nothing, and a redirect gets no further
//! than a URL that was written out. There is no proxy, no cookie jar, no connection kept for later, and the HTTP client
//! follows no redirect by itself. One could get this wrong by letting the client resolve, or follow, or reuse.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{Client, Response, redirect};
use thiserror::Error;

use super::HttpConfig;
use super::page::Page;
use super::resolve::{NoSecondLookup, Resolve, SystemResolver};
use super::rules::Rules;
use super::target::{Host, Target, UrlError};

const MOST_REDIRECTS: usize = 5;

/// Fetches pages within its rules and limits.
pub(crate) struct Fetcher {
    pub(crate) rules: Rules,
    pub(crate) resolver: Arc<dyn Resolve>,
    /// For the whole fetch, all hops and the body.
    pub(crate) timeout: Duration,
}

/// What to fetch.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) target: Target,
    /// The caller's own headers; they do not go along to another origin.
    pub(crate) headers: HeaderMap,
    /// Most bytes of the body.
    pub(crate) most: usize,
}

/// Why nothing was fetched. The words are for the caller, who may mend it.
#[derive(Debug, Error)]
pub(crate) enum FetchError {
    /// The URL.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The port.
    #[error(
        "Port {port} is not allowed. Allowed are 80, 443, 8080, 8443, and others only when the person adds them in the settings."
    )]
    Port { port: u16 },
    /// An address that may be allowed by name.
    #[error("{host} is {kind}. Only the person can allow this host, in the settings.")]
    LocalAddress { host: String, kind: &'static str },
    /// An address that cannot be allowed.
    #[error("{host} is {kind} and cannot be fetched.")]
    Address { host: String, kind: &'static str },
    /// The gateway.
    #[error("This is Rouse's own address and cannot be fetched.")]
    OwnPort,
    /// The lookup failed.
    #[error(
        "The address of {host} could not be found. Check the spelling, or the network is down."
    )]
    Lookup {
        host: String,
        #[source]
        source: io::Error,
    },
    /// The lookup found nothing.
    #[error("{host} has no address.")]
    NoAddress { host: String },
    /// A redirect to a refused place.
    #[error("{from} redirects to {to}, which is refused: {source}")]
    Redirect { from: String, to: String, source: Box<FetchError> },
    /// From https to http.
    #[error("an encrypted page may not lead to one that is not.")]
    Downgrade,
    /// The redirect's target is not text.
    #[error("the target is not readable.")]
    Location,
    /// Too many of them.
    #[error("More than {MOST_REDIRECTS} redirects.")]
    TooManyRedirects,
    /// Connecting, sending or reading failed.
    #[error("{host} could not be fetched ({}).", cause(source))]
    Transport { host: String, source: reqwest::Error },
    /// Time ran out.
    #[error("No complete answer within {} seconds.", .0.as_secs())]
    Timeout(Duration),
}

impl Fetcher {
    /// A fetcher by the system's resolver and this configuration's rules.
    pub(crate) fn new(config: &HttpConfig) -> Self {
        let rules = Rules::new(&config.allow_private_hosts, config.own_ports.clone());
        Self { rules, resolver: Arc::new(SystemResolver), timeout: config.timeout }
    }

    /// Fetches the page, through at most five redirects.
    pub(crate) async fn get(&self, request: Request) -> Result<Page, FetchError> {
        let followed = tokio::time::timeout(self.timeout, self.follow(request)).await;
        followed.unwrap_or(Err(FetchError::Timeout(self.timeout)))
    }

    async fn follow(&self, mut request: Request) -> Result<Page, FetchError> {
        let mut response = self.hop(&request).await?;
        for _ in 0..MOST_REDIRECTS {
            let Some(location) = redirection(&response) else {
                break;
            };
            let from = request.target.host().to_string();
            let refused = |source| FetchError::Redirect {
                from,
                to: shown(&location),
                source: Box::new(source),
            };
            match self.redirected(request, &location).await {
                Ok(next) => (request, response) = next,
                Err(error @ FetchError::Transport { .. }) => return Err(error),
                Err(error) => return Err(refused(error)),
            }
        }
        if redirection(&response).is_some() {
            return Err(FetchError::TooManyRedirects);
        }
        let host = request.target.host().to_string();
        Page::read(response, request.most)
            .await
            .map_err(|source| FetchError::Transport { host, source })
    }

    async fn redirected(
        &self,
        request: Request,
        location: &[u8],
    ) -> Result<(Request, Response), FetchError> {
        let next = request.moved(location)?;
        let response = self.hop(&next).await?;
        Ok((next, response))
    }

    async fn hop(&self, request: &Request) -> Result<Response, FetchError> {
        let target = &request.target;
        self.rules.check_port(target)?;
        let addresses = self.checked_addresses(target).await?;
        let failed = |source: reqwest::Error| FetchError::Transport {
            host: target.host().to_string(),
            source: source.without_url(),
        };
        let client = client_to(target, &addresses).map_err(failed)?;
        client
            .get(target.url().clone())
            .headers(request.headers.clone())
            .send()
            .await
            .map_err(failed)
    }

    /// The addresses to connect to: all that the one lookup answered, or none if any of them is refused.
    pub(crate) async fn checked_addresses(
        &self,
        target: &Target,
    ) -> Result<Vec<IpAddr>, FetchError> {
        let addresses = match target.host() {
            Host::Address(address) => vec![*address],
            Host::Name(name) => self.lookup(name).await?,
        };
        for address in &addresses {
            self.rules.check_address(target, *address)?;
        }
        Ok(addresses)
    }

    async fn lookup(&self, name: &str) -> Result<Vec<IpAddr>, FetchError> {
        let found = self.resolver.resolve(name).await;
        let addresses =
            found.map_err(|source| FetchError::Lookup { host: name.to_owned(), source })?;
        if addresses.is_empty() {
            return Err(FetchError::NoAddress { host: name.to_owned() });
        }
        Ok(addresses)
    }
}

impl Request {
    /// The request that a redirect leads to.
    pub(crate) fn moved(self, location: &[u8]) -> Result<Self, FetchError> {
        let location = std::str::from_utf8(location).map_err(|_| FetchError::Location)?;
        let target = self.target.redirected(location)?;
        if self.target.is_encrypted() && !target.is_encrypted() {
            return Err(FetchError::Downgrade);
        }
        let headers =
            if target.has_origin_of(&self.target) { self.headers } else { HeaderMap::new() };
        Ok(Self { target, headers, most: self.most })
    }
}

/// A client that can reach this target at these addresses, and nothing else.
pub(crate) fn client_to(target: &Target, addresses: &[IpAddr]) -> reqwest::Result<Client> {
    let sockets: Vec<SocketAddr> =
        addresses.iter().map(|ip| SocketAddr::new(*ip, target.port())).collect();
    let mut builder = Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .referer(false)
        .pool_max_idle_per_host(0)
        .user_agent(concat!("Rouse/", env!("CARGO_PKG_VERSION")))
        .dns_resolver(NoSecondLookup);
    if let Host::Name(name) = target.host() {
        builder = builder.resolve_to_addrs(name, &sockets);
    }
    if !target.is_encrypted() {
        // Reading the system's certificates is most of the work of making a client.
        builder = builder.tls_certs_only([]);
    }
    builder.build()
}

/// Where a response redirects to; none when it is to be shown.
fn redirection(response: &Response) -> Option<Vec<u8>> {
    let redirects = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let location = response.headers().get(LOCATION).filter(|_| redirects)?;
    Some(location.as_bytes().to_vec())
}

fn shown(location: &[u8]) -> String {
    crate::text::shortened(&crate::plain_line(&String::from_utf8_lossy(location)), 200)
}

/// The innermost reason, which is the one that says something.
fn cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    crate::plain_line(&innermost.to_string())
}
