//! Searches and downloads at a real HTTP server on loopback.

use std::path::{Path, PathBuf};

use rouse_core::schedule::Zones;
use rouse_core::settings::RegistriesSection;
use rouse_gateway::wire::{
    RegistryEntryParams, RegistrySearchParams, SkillDownloadParams, SkillSearchParams,
};
use rouse_gateway::{ErrorCode, Registries as _, RpcError};
use rouse_testkit::fake_model::{FakeModel, Recorded, Reply};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;

use super::RegistryClient;
use crate::config::{Config, ConfigFile, MachineFacts};
use crate::home::Home;

/// A client, and the server behind both addresses of its settings.
struct RegistryFixture {
    folder: TempDir,
    server: FakeModel,
    client: RegistryClient,
}

impl RegistryFixture {
    fn new(reply: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> Self {
        let server = FakeModel::start(reply);
        let address = Some(server.url());
        let registries = RegistriesSection { servers: address.clone(), skills: address };
        let folder = tempfile::tempdir().expect("a folder");
        let client = client(registries, folder.path());
        Self { folder, server, client }
    }

    /// The paths of the requests.
    fn paths(&self) -> Vec<String> {
        self.server.requests().into_iter().map(|request| request.path).collect()
    }

    /// The names of the downloaded files.
    fn files(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.folder.path().join("registry")) else {
            return Vec::new();
        };
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().expect("UTF-8")).collect();
        names.sort();
        names
    }
}

/// A client with these registries and the data directory `folder`.
fn client(registries: RegistriesSection, folder: &Path) -> RegistryClient {
    let path = PathBuf::from("/nonexistent/config.toml");
    let zones = Zones::built_in(chrono_tz::UTC);
    let machine = MachineFacts { env: &|_| None, zones: &zones, secrets: None, recipients: None };
    let defaults = ConfigFile::open(&path, Path::new("/workspace"), machine).expect("defaults");
    let config = Config { registries, ..defaults.config().clone() };
    let (_, settings) = watch::channel(config);
    RegistryClient::new(settings, &Home::at(folder), 1)
}

/// An entry of the registry with this status.
fn entry(name: &str, status: &str) -> Value {
    let package = json!({ "registryType": "npm", "identifier": "files-mcp", "version": "1.2.3" });
    json!({
        "server": { "name": name, "description": "Reads files.", "version": "1.2.3", "packages": [package] },
        "_meta": { "io.modelcontextprotocol.registry/official": { "status": status } },
    })
}

/// An entry that holds another entry.
fn nested_entry() -> Value {
    let mut outer = entry("io.example/outer", "active");
    outer["server"]["server"] = entry("io.example/inner", "active")["server"].clone();
    outer
}

fn answer(document: &Value) -> Reply {
    Reply::json(200, document.to_string())
}

fn query(words: &str) -> RegistrySearchParams {
    RegistrySearchParams { query: words.to_owned(), cursor: None }
}

fn entry_params(name: &str, version: Option<&str>) -> RegistryEntryParams {
    RegistryEntryParams { name: name.to_owned(), version: version.map(str::to_owned) }
}

fn skill_params(slug: &str, version: Option<&str>) -> SkillDownloadParams {
    SkillDownloadParams { slug: slug.to_owned(), version: version.map(str::to_owned) }
}

/// A skill registry with this moderation. Every archive holds its own path.
fn skill_registry(moderation: Value) -> impl Fn(&Recorded) -> Reply + Send + Sync + 'static {
    move |request| {
        if request.path.starts_with("/api/v1/download?") {
            return Reply::typed("application/zip", format!("PK\u{3}\u{4} {}", request.path));
        }
        answer(&json!({
            "skill": { "slug": "notes" }, "latestVersion": { "version": "1.0.1" },
            "moderation": moderation,
        }))
    }
}

#[track_caller]
fn assert_error(error: &RpcError, code: ErrorCode, text: &str) {
    assert_eq!(error.code, code.number(), "{error:?}");
    assert!(error.message.contains(text), "no `{text}` in {error:?}");
}

#[tokio::test]
async fn search_has_pages_without_deleted_entries() {
    let fixture = RegistryFixture::new(|request| {
        let next = if request.path.contains("&cursor=") { "" } else { "files/a:1.2.3" };
        answer(&json!({
            "servers": [
                entry("io.example/files", "active"),
                entry("io.example/gone", "deleted"),
                entry("io.example/old", "deprecated"),
                entry("no name", "active"),
                nested_entry(),
            ],
            "metadata": { "nextCursor": next, "count": 4 },
        }))
    });
    let page = fixture.client.search_servers(query(" my files ")).await.expect("a page");
    assert_eq!(page.registry, fixture.server.url());
    let names: Vec<&str> = page.servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(names, ["io.example/files", "io.example/old"]);
    let deprecated: Vec<bool> = page.servers.iter().map(|server| server.is_deprecated).collect();
    assert_eq!(deprecated, [false, true]);
    assert_eq!(page.servers[0].source.as_deref(), Some("npm package files-mcp@1.2.3"));
    assert_eq!(page.next.as_deref(), Some("files/a:1.2.3"));
    let next = RegistrySearchParams { cursor: page.next, ..query("my files") };
    assert_eq!(fixture.client.search_servers(next).await.expect("a page").next, None);
    let first = "/v0.1/servers?search=my%20files&version=latest&limit=30";
    assert_eq!(fixture.paths(), [first.to_owned(), format!("{first}&cursor=files%2Fa%3A1.2.3")]);
}

#[tokio::test]
async fn search_has_at_most_thirty_servers() {
    let fixture = RegistryFixture::new(|_| {
        let name = |number: usize| format!("io.example/files-{number}");
        let servers: Vec<Value> = (0..40).map(|number| entry(&name(number), "active")).collect();
        answer(&json!({ "servers": servers }))
    });
    let page = fixture.client.search_servers(query("files")).await.expect("a page");
    assert_eq!((page.servers.len(), page.next), (30, None));
}

#[tokio::test]
async fn hostile_texts_are_escaped_and_shortened() {
    let fixture = RegistryFixture::new(|_| {
        let mut hostile = entry("io.example/files", "active");
        hostile["server"]["title"] = json!("Files\u{202e}\nrm");
        let description = format!("\u{1b}[31m<script>x</script>\r\n{}", "y".repeat(10_000));
        hostile["server"]["description"] = json!(description);
        hostile["server"]["packages"] =
            json!([{ "registryType": "\u{1b}x", "identifier": "\u{7}" }]);
        answer(&json!({ "servers": [hostile] }))
    });
    let page = fixture.client.search_servers(query("files")).await.expect("a page");
    let found = &page.servers[0];
    assert_eq!(found.title.as_deref(), Some("Files\u{202e} rm"));
    assert!(found.description.starts_with("\u{1b}[31m<script>x</script> yyy"));
    assert_eq!(found.description.chars().count(), 500);
    assert_eq!(found.source, None);
    let problem = found.problem.as_deref().expect("a problem");
    assert!(problem.contains("⟨U+0007⟩ is of the type ⟨U+001B⟩x."), "{problem}");
    assert!(!problem.contains(char::is_control), "{problem}");
}

#[tokio::test]
async fn entry_is_fetched_by_name_and_version() {
    let fixture = RegistryFixture::new(|_| answer(&entry("io.example/files", "active")));
    for version in [None, Some("1.2.3")] {
        let params = entry_params("io.example/files", version);
        let found = fixture.client.server_entry(params).await.expect("an entry");
        let document: Value = serde_json::from_str(&found.document).expect("JSON");
        assert_eq!(document, entry("io.example/files", "active")["server"]);
        assert_eq!(found.problem, None);
    }
    let path = |version| format!("/v0.1/servers/io.example%2Ffiles/versions/{version}");
    assert_eq!(fixture.paths(), [path("latest"), path("1.2.3")]);
    for params in
        [entry_params("io.example/other", None), entry_params("io.example/files", Some("2"))]
    {
        let error = fixture.client.server_entry(params).await.expect_err("another entry");
        assert_error(&error, ErrorCode::Conflict, "another entry");
    }
}

#[tokio::test]
async fn deleted_and_missing_entries_are_refused() {
    let fixture = RegistryFixture::new(|request| {
        if request.path.contains("missing") {
            Reply::json(404, r#"{"error":"Server not found"}"#)
        } else {
            answer(&entry("io.example/files", "deleted"))
        }
    });
    let deleted = fixture.client.server_entry(entry_params("io.example/files", None)).await;
    let expected = "The registry has deleted io.example/files 1.2.3.";
    assert_error(&deleted.expect_err("deleted"), ErrorCode::Conflict, expected);
    let missing = fixture.client.server_entry(entry_params("io.example/missing", None)).await;
    let expected = "has no entry io.example/missing.";
    assert_error(&missing.expect_err("missing"), ErrorCode::NotFound, expected);
}

#[tokio::test]
async fn invalid_input_sends_no_request() {
    let fixture = RegistryFixture::new(|_| answer(&json!({})));
    let invalid = ErrorCode::InvalidParams;
    for name in ["files", "../../x", "io.example/../x", "io.example/a b", "io.example/a?b"] {
        let error = fixture.client.server_entry(entry_params(name, None)).await.expect_err(name);
        assert_error(&error, invalid, "name: expected the name of an entry");
    }
    let version = fixture.client.server_entry(entry_params("io.example/files", Some(".."))).await;
    assert_error(&version.expect_err("no version"), invalid, "version: expected a version");
    for slug in ["..", "a/../b", "A", "", "a.b", "a%2e", &"a".repeat(65)] {
        let error = fixture.client.download_skill(skill_params(slug, None)).await.expect_err(slug);
        assert_error(&error, invalid, "slug: expected 1 to 64 lowercase letters");
    }
    let version = fixture.client.download_skill(skill_params("notes", Some("../1"))).await;
    assert_error(&version.expect_err("no version"), invalid, "version: expected a version");
    for words in [" ".to_owned(), "a".repeat(201)] {
        let error = fixture.client.search_servers(query(&words)).await.expect_err("no words");
        assert_error(&error, invalid, "query: must ");
        let error = fixture.client.search_skills(SkillSearchParams { query: words }).await;
        assert_error(&error.expect_err("no words"), invalid, "query: must ");
    }
    assert_eq!(fixture.paths(), Vec::<String>::new());
}

#[tokio::test]
async fn missing_setting_names_the_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let client = client(RegistriesSection::default(), folder.path());
    let servers = client.search_servers(query("files")).await.expect_err("no address");
    let command = "rouse config set registries.servers https://registry.example.org";
    assert_error(&servers, ErrorCode::Conflict, command);
    assert!(servers.message.starts_with("Rouse asks no registry by itself"), "{servers}");
    let skills = client.download_skill(skill_params("notes", None)).await.expect_err("no address");
    assert_error(&skills, ErrorCode::Conflict, "rouse config set registries.skills ");
}

#[tokio::test]
async fn too_large_or_invalid_answer_is_refused() {
    for (body, text) in [
        (" ".repeat((2 << 20) + 1), "sent more than 2 MB"),
        ("<html>\u{1b}</html>".to_owned(), "is invalid (expected value at line 1 column 1)"),
        (json!({ "servers": "\u{1b}none" }).to_string(), "is invalid (invalid type: string"),
    ] {
        let fixture = RegistryFixture::new(move |_| Reply::json(200, body.clone()));
        let error = fixture.client.search_servers(query("files")).await.expect_err(text);
        assert_error(&error, ErrorCode::Conflict, text);
        assert!(!error.message.contains('\u{1b}'), "{error:?}");
    }
    for (reply, text) in [
        (Reply::json(500, "{}"), "answered with HTTP 500. Check registries.servers"),
        (Reply::json(429, "{}").header("retry-after", "34"), "Try again in 34 s."),
        (Reply::json(200, "{}").cut_after("{"), "broke"),
    ] {
        let fixture = RegistryFixture::new(move |_| reply.clone());
        let error = fixture.client.search_servers(query("files")).await.expect_err(text);
        assert_error(&error, ErrorCode::Conflict, text);
    }
}

#[tokio::test]
async fn redirect_stays_at_the_address_of_the_settings() {
    let elsewhere = FakeModel::start(|_| answer(&json!({ "servers": [] })));
    for target in [
        elsewhere.url(),
        "https://evil.example/v0.1/servers".to_owned(),
        "//evil.example/".to_owned(),
        "relative".to_owned(),
        "/loop".to_owned(),
    ] {
        let fixture =
            RegistryFixture::new(move |_| Reply::json(302, "{}").header("location", &target));
        let error = fixture.client.search_servers(query("files")).await.expect_err("a redirect");
        assert_error(&error, ErrorCode::Conflict, "redirects to another address");
    }
    assert!(elsewhere.requests().is_empty());
    let fixture = RegistryFixture::new(|request| match request.path.as_str() {
        "/moved" => answer(&json!({ "servers": [entry("io.example/files", "active")] })),
        _ => Reply::json(307, "{}").header("location", "/moved"),
    });
    let page = fixture.client.search_servers(query("files")).await.expect("a page");
    assert_eq!(page.servers.len(), 1);
}

#[tokio::test]
async fn skill_search_leaves_invalid_slugs_out() {
    let fixture = RegistryFixture::new(|_| {
        answer(&json!({ "results": [
            { "score": 0.5, "slug": "notes", "displayName": "Notes", "summary": "Keeps\u{1b} notes.", "version": "1.0.1" },
            { "slug": "plain", "displayName": null, "summary": null },
            { "slug": "../etc", "displayName": "x" },
            { "slug": 7 },
            null,
        ] }))
    });
    let params = SkillSearchParams { query: "notes & more".to_owned() };
    let found = fixture.client.search_skills(params).await.expect("skills");
    let slugs: Vec<&str> = found.skills.iter().map(|skill| skill.slug.as_str()).collect();
    assert_eq!(slugs, ["notes", "plain"]);
    let [notes, plain] = &found.skills[..] else { panic!("{found:?}") };
    assert_eq!((&*notes.name, &*notes.description), ("Notes", "Keeps\u{1b} notes."));
    assert_eq!(notes.version.as_deref(), Some("1.0.1"));
    assert_eq!((&*plain.name, &*plain.description, &plain.version), ("plain", "", &None));
    assert_eq!(fixture.paths(), ["/api/v1/search?q=notes%20%26%20more&limit=30"]);
}

#[tokio::test]
async fn download_keeps_one_private_file_per_slug() {
    let fixture = RegistryFixture::new(skill_registry(Value::Null));
    for (slug, version) in
        [("notes", Some("0.9.0")), ("notes-2", None), ("notes", None), ("notes", None)]
    {
        let saved = fixture.client.download_skill(skill_params(slug, version)).await;
        let saved = saved.expect("downloaded");
        assert_eq!(saved.warning, None);
        let version = version.unwrap_or("1.0.1");
        let expected = format!("/api/v1/download?slug={slug}&version={version}");
        let content = std::fs::read_to_string(&saved.path).expect("a file");
        assert!(content.ends_with(&expected), "{content}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(&saved.path).expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
    assert_eq!(fixture.files(), ["notes-2@1.0.1.zip", "notes@1.0.1.zip"]);
}

#[tokio::test]
async fn failed_download_keeps_the_earlier_file() {
    for (broken, text) in [
        (Reply::typed("application/zip", "PK\u{3}\u{4}rest").cut_after("PK"), "broke"),
        (Reply::page(200, "<html>"), "is invalid (no zip archive)"),
        (Reply::json(410, "gone"), "has no version 2.0.0 of notes."),
    ] {
        let whole = skill_registry(Value::Null);
        let fixture = RegistryFixture::new(move |request| {
            if request.path.ends_with("&version=2.0.0") { broken.clone() } else { whole(request) }
        });
        fixture.client.download_skill(skill_params("notes", None)).await.expect("downloaded");
        let failed = fixture.client.download_skill(skill_params("notes", Some("2.0.0"))).await;
        let failed = failed.expect_err(text);
        assert!(failed.message.contains(text), "no `{text}` in {failed:?}");
        assert_eq!(fixture.files(), ["notes@1.0.1.zip"]);
    }
}

#[tokio::test]
async fn moderation_warns_or_refuses() {
    let refused = [
        json!({ "isMalwareBlocked": true, "summary": "steals\u{1b} keys." }),
        json!({ "verdict": "malicious", "reasonCodes": ["steals", "keys"] }),
    ];
    for moderation in refused {
        let fixture = RegistryFixture::new(skill_registry(moderation));
        let error = fixture.client.download_skill(skill_params("notes", None)).await;
        let error = error.expect_err("malware");
        assert_error(&error, ErrorCode::Conflict, "blocks the skill notes as malware (steals");
        assert!(!error.message.contains('\u{1b}'), "{error:?}");
        assert_eq!(fixture.paths(), ["/api/v1/skills/notes"]);
    }
    for (moderation, text) in [
        (
            json!({ "isSuspicious": true, "reason": "Dynamic code." }),
            "as suspicious (Dynamic code).",
        ),
        (json!({ "verdict": "pending" }), "as pending. Read all of its files"),
    ] {
        let fixture = RegistryFixture::new(skill_registry(moderation));
        let saved = fixture.client.download_skill(skill_params("notes", None)).await;
        let warning = saved.expect("downloaded").warning.expect("a warning");
        assert!(warning.contains(text), "{warning}");
    }
    let unknown = RegistryFixture::new(skill_registry(json!({ "isMalwareBlocked": "yes" })));
    let error = unknown.client.download_skill(skill_params("notes", None)).await;
    assert_error(&error.expect_err("an unknown form"), ErrorCode::Conflict, "is invalid");
    assert!(unknown.files().is_empty());
}
