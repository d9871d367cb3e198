//! Guarded HTTP requests, hop by hop.
//!
//! Every hop is checked anew: port, a single lookup, every resulting address, and then a connection to just those
//! addresses. So a name that resolves differently the second time gains nothing, and a redirect gets no further than a
//! written URL. A redirect to another origin is reported, not followed, if the request has side effects or contains a
//! stored secret, which the address may repeat. Never uses a proxy, a cookie jar, a kept connection or the client's own
//! redirects.
//! Pitfall: to let the client resolve, follow or reuse anything.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{
    ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, IF_RANGE, LOCATION, RANGE,
};
use reqwest::{Client, ClientBuilder, Method, Response, StatusCode, redirect};
use rouse_core::tool::SandboxMode;

use super::content_encoding::ACCEPTED_ENCODINGS;
use super::error::{FetchError, MAX_REDIRECTS};
use super::resolve::{LookupBlocker, Resolver, SystemResolver};
use super::response::{RawResponse, TextResponse};
use super::rules::{HostRules, HttpConfig};
use super::target::{UrlHost, UrlTarget};

const DEFAULT_PORTS: [u16; 2] = [80, 443];

/// Sends requests under rules and limits.
pub(crate) struct Fetcher {
    pub(crate) rules: HostRules,
    pub(crate) resolver: Arc<dyn Resolver>,
    /// For the whole fetch: all hops and the body.
    pub(crate) timeout: Duration,
}

/// A request with limits.
#[derive(Clone)]
pub(crate) struct HttpRequest {
    pub(crate) method: Method,
    pub(crate) target: UrlTarget,
    /// The caller's headers; dropped at another origin.
    pub(crate) headers: HeaderMap,
    /// Dropped at another origin too.
    pub(crate) body: Option<String>,
    /// Limit of the response's body.
    pub(crate) max_bytes: usize,
    /// Whether the request contains a stored secret.
    pub(crate) has_secret: bool,
    /// The job's hosts, if listed: redirects stay on listed hosts and the requested host.
    pub(crate) granted_hosts: Option<Arc<HostRules>>,
    /// The same, as written.
    pub(crate) granted_list: String,
    /// The requested host and port.
    pub(crate) requested: (UrlHost, u16),
    /// Whether a person approves a requested host that the job does not list.
    pub(crate) can_be_approved: bool,
}

impl Fetcher {
    /// A fetcher with the system's resolver.
    pub(crate) fn new(config: &HttpConfig) -> Self {
        let rules = HostRules::new(&config.allow_private_hosts, config.gateway_ports.clone());
        Self { rules, resolver: Arc::new(SystemResolver), timeout: config.timeout }
    }

    /// Sends the request and decodes the response as text.
    pub(crate) async fn send(&self, request: HttpRequest) -> Result<TextResponse, FetchError> {
        let (max_bytes, host) = (request.max_bytes, request.target.host().to_string());
        let has_secret = request.has_secret;
        let response = self.fetch(request).await?;
        let page = TextResponse::decode(response, max_bytes)
            .map_err(|source| FetchError::Encoding { host, source })?;
        Ok(if has_secret { page.without_tail() } else { page })
    }

    /// Sends the request and follows redirects.
    pub(crate) async fn fetch(&self, request: HttpRequest) -> Result<RawResponse, FetchError> {
        let response = tokio::time::timeout(self.timeout, self.follow(request)).await;
        response.unwrap_or(Err(FetchError::Timeout(self.timeout)))
    }

    async fn follow(&self, mut request: HttpRequest) -> Result<RawResponse, FetchError> {
        let mut response = self.send_hop(&request).await?;
        for _ in 0..MAX_REDIRECTS {
            match self.next_hop(&request, &response).await? {
                Some(next) => (request, response) = next,
                None => return read_response(&request, response).await,
            }
        }
        match request.next_request(&response) {
            Ok(None) => read_response(&request, response).await,
            _ => Err(FetchError::TooManyRedirects),
        }
    }

    /// Follows a redirect; `None` for the final response.
    async fn next_hop(
        &self,
        request: &HttpRequest,
        response: &Response,
    ) -> Result<Option<(HttpRequest, Response)>, FetchError> {
        let refused = |source| FetchError::Redirect {
            from: request.target.host().to_string(),
            to: redirect_location(response)
                .map(|location| request.describe_location(&location))
                .unwrap_or_default(),
            source: Box::new(source),
        };
        let Some(next) = request.next_request(response).map_err(refused)? else { return Ok(None) };
        let response = self.send_hop(&next).await.map_err(refused)?;
        Ok(Some((next, response)))
    }

    async fn send_hop(&self, request: &HttpRequest) -> Result<Response, FetchError> {
        let target = &request.target;
        self.check(request)?;
        let addresses = self.resolve_checked(target).await?;
        let failed = |source: reqwest::Error| FetchError::Transport {
            host: target.host().to_string(),
            source: source.without_url(),
        };
        let client = pinned_client(target, &addresses).map_err(failed)?;
        let mut sending = client
            .request(request.method.clone(), target.url().clone())
            .headers(request.headers.clone());
        // A part of an encoded body could not be decoded.
        if request.range_header().is_none() {
            sending = sending.header(ACCEPT_ENCODING, HeaderValue::from_static(ACCEPTED_ENCODINGS));
        }
        if let Some(body) = &request.body {
            sending = sending.body(body.clone());
        }
        sending.send().await.map_err(failed)
    }

    /// Checks a hop before the lookup: granted hosts, port, and a literal address.
    pub(crate) fn check(&self, request: &HttpRequest) -> Result<(), FetchError> {
        let target = &request.target;
        request.check_granted_hosts()?;
        let granted_port = request.granted_hosts.as_ref().map(|granted| granted.check_port(target));
        if !matches!(granted_port, Some(Ok(()))) {
            self.rules.check_port(target)?;
        }
        match target.host() {
            UrlHost::Address(address) => self.rules.check_address(target, *address),
            UrlHost::Name(_) => Ok(()),
        }
    }

    /// Resolves a target once; fails if any address is refused.
    pub(crate) async fn resolve_checked(
        &self,
        target: &UrlTarget,
    ) -> Result<Vec<IpAddr>, FetchError> {
        let addresses = match target.host() {
            UrlHost::Address(address) => vec![*address],
            UrlHost::Name(name) => self.look_up(name).await?,
        };
        for address in &addresses {
            self.rules.check_address(target, *address)?;
        }
        Ok(addresses)
    }

    async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, FetchError> {
        let found = self.resolver.resolve(name).await;
        let addresses =
            found.map_err(|source| FetchError::Lookup { host: name.to_owned(), source })?;
        if addresses.is_empty() {
            return Err(FetchError::NoAddress { host: name.to_owned() });
        }
        Ok(addresses)
    }
}

impl HttpRequest {
    /// A request without headers, body or limits.
    pub(crate) fn new(method: Method, target: UrlTarget) -> Self {
        Self {
            requested: (target.host().clone(), target.port()),
            method,
            target,
            headers: HeaderMap::new(),
            body: None,
            max_bytes: usize::MAX,
            has_secret: false,
            granted_hosts: None,
            granted_list: String::new(),
            can_be_approved: true,
        }
    }

    /// Restricts the request to the job's hosts, if listed. A call in the job document is never approved, so even the
    /// first hop stays on the list.
    pub(crate) fn restricted_to(self, sandbox: &SandboxMode) -> Self {
        let hosts = sandbox.hosts();
        Self {
            granted_hosts: (!hosts.is_empty()).then(|| Arc::new(HostRules::for_job(hosts))),
            granted_list: hosts.join(", "),
            can_be_approved: !matches!(sandbox, SandboxMode::ByPersonUnsandboxed { .. }),
            ..self
        }
    }

    /// The header that requests a part of a response (RFC 9110, section 14).
    pub(crate) fn range_header(&self) -> Option<&'static str> {
        [RANGE, IF_RANGE]
            .iter()
            .find(|name| self.headers.contains_key(*name))
            .map(|name| if *name == RANGE { "Range" } else { "If-Range" })
    }

    fn check_granted_hosts(&self) -> Result<(), FetchError> {
        let Some(granted) = &self.granted_hosts else { return Ok(()) };
        let (host, port) = &self.requested;
        // A redirect from http to https is common; any other port may belong to another service.
        let is_its_port = [*port, DEFAULT_PORTS[0], DEFAULT_PORTS[1]].contains(&self.target.port());
        let is_requested = self.can_be_approved && self.target.host() == host && is_its_port;
        if is_requested || granted.includes(&self.target) {
            return Ok(());
        }
        let (host, listed) = (self.target.authority(), self.granted_list.clone());
        Err(FetchError::NotGranted { host, listed })
    }

    /// The request that a response redirects to; `None` for the final response.
    fn next_request(&self, response: &Response) -> Result<Option<Self>, FetchError> {
        match redirect_location(response) {
            Some(location) => self.redirected(response.status(), &location),
            None => Ok(None),
        }
    }

    /// The target of a redirect, for people and models. Not truncated if a later redaction must find a secret.
    fn describe_location(&self, location: &[u8]) -> String {
        let whole = crate::plain_line(&String::from_utf8_lossy(location));
        if self.has_secret { whole } else { crate::text::truncate(&whole, 200) }
    }

    /// The request to `location`; `None` if the redirect is not followed.
    pub(crate) fn redirected(
        &self,
        status: StatusCode,
        location: &[u8],
    ) -> Result<Option<Self>, FetchError> {
        let location = std::str::from_utf8(location).map_err(|_| FetchError::Location)?;
        let target = self.target.resolve_redirect(location)?;
        let is_read = matches!(self.method, Method::GET | Method::HEAD);
        let is_elsewhere = !target.has_same_origin(&self.target);
        if is_elsewhere && (self.has_secret || !is_read) {
            return Ok(None);
        }
        if self.target.is_encrypted() && !target.is_encrypted() {
            return Err(FetchError::Downgrade);
        }
        let mut next = Self { target, ..self.clone() };
        if is_elsewhere {
            next.headers = HeaderMap::new();
        }
        if becomes_get(status, &self.method) {
            next.method = Method::GET;
            next.body = None;
            next.headers.remove(CONTENT_TYPE);
        }
        Ok(Some(next))
    }
}

/// The rule of RFC 9110, section 15.4, as implemented by browsers.
fn becomes_get(status: StatusCode, method: &Method) -> bool {
    match status {
        StatusCode::SEE_OTHER => *method != Method::HEAD,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => *method == Method::POST,
        _ => false,
    }
}

async fn read_response(
    request: &HttpRequest,
    response: Response,
) -> Result<RawResponse, FetchError> {
    let location =
        redirect_location(&response).map(|location| request.describe_location(&location));
    let read = RawResponse::read(response, location, request.max_bytes).await;
    read.map_err(|source| FetchError::Transport { host: request.target.host().to_string(), source })
}

/// A client that connects to these addresses of the target only.
pub(crate) fn pinned_client(target: &UrlTarget, addresses: &[IpAddr]) -> reqwest::Result<Client> {
    pinned_builder(target, addresses).build()
}

/// The settings of every client.
pub(super) fn pinned_builder(target: &UrlTarget, addresses: &[IpAddr]) -> ClientBuilder {
    let sockets: Vec<SocketAddr> =
        addresses.iter().map(|ip| SocketAddr::new(*ip, target.port())).collect();
    let mut builder = Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .referer(false)
        .no_gzip()
        .pool_max_idle_per_host(0)
        .user_agent(concat!("Rouse/", env!("CARGO_PKG_VERSION")))
        .dns_resolver(LookupBlocker);
    if let UrlHost::Name(name) = target.host() {
        builder = builder.resolve_to_addrs(name, &sockets);
    }
    if !target.is_encrypted() {
        // Loading the system's certificates is most of the cost of a client.
        builder = builder.tls_certs_only([]);
    }
    builder
}

fn redirect_location(response: &Response) -> Option<Vec<u8>> {
    let redirects = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let location = response.headers().get(LOCATION).filter(|_| redirects)?;
    Some(location.as_bytes().to_vec())
}
