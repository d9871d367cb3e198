//! One request, hop by hop.
//!
//! Every hop is judged anew: port, then one lookup, then every address it answered, and only then a connection, to just
//! those addresses. So a name that answers differently the second time gains nothing, and a redirect gets no further
//! than a URL that was written out. What changes things stays with the site that it was meant for: a redirect elsewhere is
//! shown and not followed, and so is one of a request that a stored secret stands in, because its address may carry the value on. There is no proxy, no cookie jar, no connection kept for later, and the HTTP client
//! follows no redirect by itself. One could get this wrong by letting the client resolve, or follow, or reuse.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{
    ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, IF_RANGE, LOCATION, RANGE,
};
use reqwest::{Client, Method, Response, StatusCode, redirect};
use rouse_core::tool::{Fault, SandboxMode};
use thiserror::Error;

use super::HttpConfig;
use super::packing::{ACCEPTED, PackingError};
use super::page::{Answer, Page};
use super::resolve::{NoSecondLookup, Resolve, SystemResolver};
use super::rules::Rules;
use super::target::{Host, Target, UrlError};
use crate::answer::Faulty;

const MOST_REDIRECTS: usize = 5;

/// Where a host's own pages are.
const WEB_PORTS: [u16; 2] = [80, 443];

/// Fetches pages within its rules and limits.
pub(crate) struct Fetcher {
    pub(crate) rules: Rules,
    pub(crate) resolver: Arc<dyn Resolve>,
    /// For the whole fetch, all hops and the body.
    pub(crate) timeout: Duration,
}

/// What to send, and where it may go.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) target: Target,
    /// The caller's own headers; they do not go along to another origin.
    pub(crate) headers: HeaderMap,
    /// What is sent; it does not go along to another origin either.
    pub(crate) body: Option<String>,
    /// Most bytes of the answer's body.
    pub(crate) most: usize,
    /// Whether the value of a stored secret stands in it.
    pub(crate) has_secret: bool,
    /// The hosts of the job, when it names any: redirects stay among them and the one that was asked for.
    pub(crate) granted: Option<Arc<Rules>>,
    /// The same, as the person has written them.
    pub(crate) listed: String,
    /// The host that was asked for, and its port.
    pub(crate) asked: (Host, u16),
    /// Whether somebody says yes to the host that was asked for where it is not among those of the job.
    pub(crate) is_asked_about: bool,
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
    /// Beside the hosts of the job.
    #[error("{host} is not among the hosts of this job ({listed}).")]
    NotGranted { host: String, listed: String },
    /// A redirect to a place that is refused or not there. Who redirects has got the request.
    #[error("{from} redirects to {to}, which {}: {source}", verdict(source))]
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
    /// The answer is packed in a way that cannot be read.
    #[error("The answer of {host} could not be read: {source}.")]
    Packing { host: String, source: PackingError },
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

    /// Sends the request and reads the answer as text, through at most five redirects.
    pub(crate) async fn send(&self, request: Request) -> Result<Page, FetchError> {
        let (most, host) = (request.most, request.target.host().to_string());
        let has_secret = request.has_secret;
        let answer = self.fetch(request).await?;
        let page = Page::of(answer, most);
        let page = page.map_err(|source| FetchError::Packing { host, source })?;
        Ok(if has_secret { page.without_tail() } else { page })
    }

    /// Sends the request and reads the answer as it comes, through at most five redirects.
    pub(crate) async fn fetch(&self, request: Request) -> Result<Answer, FetchError> {
        let followed = tokio::time::timeout(self.timeout, self.follow(request)).await;
        followed.unwrap_or(Err(FetchError::Timeout(self.timeout)))
    }

    async fn follow(&self, mut request: Request) -> Result<Answer, FetchError> {
        let mut response = self.hop(&request).await?;
        for _ in 0..MOST_REDIRECTS {
            match self.next(&request, &response).await? {
                Some(next) => (request, response) = next,
                None => return answer(&request, response).await,
            }
        }
        match request.after(&response) {
            Ok(None) => answer(&request, response).await,
            _ => Err(FetchError::TooManyRedirects),
        }
    }

    /// The next hop and its answer; none when this answer is the one to show.
    async fn next(
        &self,
        request: &Request,
        response: &Response,
    ) -> Result<Option<(Request, Response)>, FetchError> {
        let refused = |source| FetchError::Redirect {
            from: request.target.host().to_string(),
            to: redirection(response).map(|location| request.shown(&location)).unwrap_or_default(),
            source: Box::new(source),
        };
        let Some(next) = request.after(response).map_err(refused)? else { return Ok(None) };
        let response = self.hop(&next).await.map_err(refused)?;
        Ok(Some((next, response)))
    }

    async fn hop(&self, request: &Request) -> Result<Response, FetchError> {
        let target = &request.target;
        self.check(request)?;
        let addresses = self.checked_addresses(target).await?;
        let failed = |source: reqwest::Error| FetchError::Transport {
            host: target.host().to_string(),
            source: source.without_url(),
        };
        let client = client_to(target, &addresses).map_err(failed)?;
        let mut sending = client
            .request(request.method.clone(), target.url().clone())
            .headers(request.headers.clone());
        // A part of a packed answer could not be unpacked.
        if request.asks_for_part().is_none() {
            sending = sending.header(ACCEPT_ENCODING, HeaderValue::from_static(ACCEPTED));
        }
        if let Some(body) = &request.body {
            sending = sending.body(body.clone());
        }
        sending.send().await.map_err(failed)
    }

    /// What is known of a hop before anything is looked up: its host among those of the job, its port, and its address where
    /// the host is one.
    pub(crate) fn check(&self, request: &Request) -> Result<(), FetchError> {
        let target = &request.target;
        request.check_granted()?;
        let granted_port = request.granted.as_ref().map(|granted| granted.check_port(target));
        if !matches!(granted_port, Some(Ok(()))) {
            self.rules.check_port(target)?;
        }
        match target.host() {
            Host::Address(address) => self.rules.check_address(target, *address),
            Host::Name(_) => Ok(()),
        }
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
    /// A bare request.
    pub(crate) fn new(method: Method, target: Target) -> Self {
        let asked = (target.host().clone(), target.port());
        let headers = HeaderMap::new();
        let (body, most, granted, listed) = (None, usize::MAX, None, String::new());
        let (has_secret, is_asked_about) = (false, true);
        Self {
            method,
            target,
            headers,
            body,
            most,
            has_secret,
            granted,
            listed,
            asked,
            is_asked_about,
        }
    }

    /// The same for a run that is confined like this: any host where its job names none. Nobody is asked about the call
    /// that a person has written into a job, so it does not go beside the hosts of the job by itself.
    pub(crate) fn among(self, sandbox: &SandboxMode) -> Self {
        let hosts = sandbox.hosts();
        let granted = (!hosts.is_empty()).then(|| Arc::new(super::granted(hosts)));
        let is_asked_about = !matches!(sandbox, SandboxMode::ByPersonUnsandboxed { .. });
        Self { granted, listed: hosts.join(", "), is_asked_about, ..self }
    }

    /// The header by which a part of an answer is asked for (RFC 9110, section 14).
    pub(crate) fn asks_for_part(&self) -> Option<&'static str> {
        [RANGE, IF_RANGE]
            .iter()
            .find(|name| self.headers.contains_key(*name))
            .map(|name| if *name == RANGE { "Range" } else { "If-Range" })
    }

    fn check_granted(&self) -> Result<(), FetchError> {
        let Some(granted) = &self.granted else { return Ok(()) };
        let (host, port) = &self.asked;
        // From http to https is the usual way; what listens on another port may be somebody else's.
        let is_its_port = self.target.port() == *port || WEB_PORTS.contains(&self.target.port());
        let is_asked = self.is_asked_about && self.target.host() == host && is_its_port;
        if is_asked || granted.names(&self.target) {
            return Ok(());
        }
        Err(FetchError::NotGranted { host: self.target.authority(), listed: self.listed.clone() })
    }

    /// The request that this answer to it leads to; none when the answer is to be shown.
    fn after(&self, response: &Response) -> Result<Option<Self>, FetchError> {
        match redirection(response) {
            Some(location) => self.moved(response.status(), &location),
            None => Ok(None),
        }
    }

    /// The target of a redirect, for people and models. One that may repeat a secret is looked through as a whole later on.
    fn shown(&self, location: &[u8]) -> String {
        let whole = crate::plain_line(&String::from_utf8_lossy(location));
        if self.has_secret { whole } else { crate::text::shortened(&whole, 200) }
    }

    /// The request that a redirect leads to; none when it stays where it is.
    pub(crate) fn moved(
        &self,
        status: StatusCode,
        location: &[u8],
    ) -> Result<Option<Self>, FetchError> {
        let location = std::str::from_utf8(location).map_err(|_| FetchError::Location)?;
        let target = self.target.redirected(location)?;
        let only_looks = matches!(self.method, Method::GET | Method::HEAD);
        let is_elsewhere = !target.has_origin_of(&self.target);
        if is_elsewhere && (self.has_secret || !only_looks) {
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

/// RFC 9110 section 15.4: what every browser does with these.
fn becomes_get(status: StatusCode, method: &Method) -> bool {
    match status {
        StatusCode::SEE_OTHER => *method != Method::HEAD,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => *method == Method::POST,
        _ => false,
    }
}

async fn answer(request: &Request, response: Response) -> Result<Answer, FetchError> {
    let location = redirection(&response).map(|location| request.shown(&location));
    let read = Answer::read(response, location, request.most).await;
    read.map_err(|source| FetchError::Transport { host: request.target.host().to_string(), source })
}

impl FetchError {
    /// Whether the server may have got the request all the same.
    pub(crate) fn may_have_arrived(&self) -> bool {
        match self {
            Self::Transport { source, .. } => !source.is_connect(),
            Self::Timeout(_)
            | Self::Redirect { .. }
            | Self::TooManyRedirects
            | Self::Packing { .. } => true,
            _ => false,
        }
    }
}

impl Faulty for FetchError {
    fn fault(&self) -> Fault {
        match self {
            Self::Url(_) => Fault::InvalidParameters,
            Self::Port { .. }
            | Self::LocalAddress { .. }
            | Self::Address { .. }
            | Self::OwnPort
            | Self::NotGranted { .. }
            | Self::Downgrade => Fault::NotAuthorised,
            Self::Redirect { source, .. } => match source.fault() {
                // The caller has not written it, and who redirects was reached.
                Fault::InvalidParameters | Fault::Unreached => Fault::ExternalService,
                fault => fault,
            },
            Self::Lookup { .. } | Self::NoAddress { .. } => Fault::Unreached,
            Self::Transport { source, .. } if source.is_connect() => Fault::Unreached,
            Self::Location
            | Self::TooManyRedirects
            | Self::Transport { .. }
            | Self::Packing { .. } => Fault::ExternalService,
            Self::Timeout(_) => Fault::Timeout,
        }
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
        .no_gzip()
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

/// What became of a redirect's target.
fn verdict(source: &FetchError) -> &'static str {
    match source {
        FetchError::Transport { .. } | FetchError::Lookup { .. } | FetchError::NoAddress { .. } => {
            "was not reached"
        }
        _ => "is refused",
    }
}

/// The innermost reason, which is the one that says something.
fn cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    crate::plain_line(&innermost.to_string())
}
