//! `rouse mcp search`, `rouse mcp add --entry` and `rouse skills search`, with a registry on loopback.

use rouse_testkit::fake_model::{FakeModel, Recorded, Reply};
use serde_json::{Value, json};

use crate::engine::TestHome;

const COMMAND: &str = "rouse config set registries.servers https://registry.example.org";

/// An entry of a server that runs elsewhere.
fn entry(name: &str, version: &str, status: &str) -> Value {
    let remote = json!({ "type": "streamable-http", "url": "https://mcp.example.org/v1" });
    json!({
        "server": {
            "name": name, "version": version, "description": "Reads\u{1b} docs.", "remotes": [remote],
        },
        "_meta": { "io.modelcontextprotocol.registry/official": { "status": status } },
    })
}

/// A registry of servers and skills.
fn registry() -> FakeModel {
    FakeModel::start(|request: &Recorded| {
        let document = match request.path.split('?').next().unwrap_or_default() {
            "/v0.1/servers" => json!({
                "servers": [
                    entry("io.example/docs", "1.2.3", "deprecated"),
                    entry("io.example/gone", "1.0.0", "deleted"),
                ],
                "metadata": { "nextCursor": "docs 2" },
            }),
            "/v0.1/servers/io.example%2Fdocs/versions/latest"
            | "/v0.1/servers/io.example%2Fdocs/versions/1.2.3" => {
                entry("io.example/docs", "1.2.3", "deprecated")
            }
            "/api/v1/search" => json!({ "results": [{ "slug": "notes", "version": "1.0.1" }] }),
            _ => return Reply::json(404, "{}"),
        };
        Reply::json(200, document.to_string())
    })
}

fn home_with(registry: &FakeModel) -> TestHome {
    let url = registry.url();
    TestHome::new().config(&format!("[registries]\nservers = \"{url}\"\nskills = \"{url}\"\n"))
}

#[tokio::test]
async fn mcp_search_prints_servers_and_next_commands() {
    let registry = registry();
    let home = home_with(&registry);
    let _engine = home.serve().await;
    let found = home.rouse(["mcp", "search", "docs", "site"]).single_spaced();
    let lines: Vec<&str> = found.lines().collect();
    let row = "io.example/docs 1.2.3 https://mcp.example.org/v1 deprecated: Reads⟨U+001B⟩ docs.";
    let expected = [
        "NAME VERSION INSTALLS FROM ABOUT",
        row,
        "More: rouse mcp search 'docs site' --cursor 'docs 2'",
        "Install one: rouse mcp add NAME --entry ENTRY@VERSION",
    ];
    assert_eq!(lines, expected);
    let page = home.rouse(["mcp", "search", "docs", "--cursor", "docs 2", "--json"]).json();
    assert_eq!(page["servers"][0]["isDeprecated"], true);
    let paths: Vec<String> = registry.requests().into_iter().map(|request| request.path).collect();
    let path = |query: &str| format!("/v0.1/servers?search={query}");
    let (first, second) = ("docs%20site&version=latest&limit=30", "docs&version=latest&limit=30");
    assert_eq!(paths, [path(first), path(second) + "&cursor=docs%202"]);
    home.rouse(["mcp", "search", " "]).assert_error(2, "WORDS: must not be empty");
}

#[tokio::test]
async fn mcp_add_takes_an_entry_of_the_registry() {
    let registry = registry();
    let home = home_with(&registry);
    let engine = home.serve().await;
    for name in ["io.example/docs", "io.example/docs@1.2.3"] {
        let page = home.rouse(["mcp", "add", "docs", "--entry", name]);
        assert_eq!(page.code, 5, "{page:#?}");
        assert!(page.out.contains("https://mcp.example.org/v1"), "{page:#?}");
        assert!(page.err.contains("The registry marks this entry as deprecated."), "{page:#?}");
        let command = format!("docs --entry {name}");
        assert!(page.err.contains("rouse mcp add --accept ") && page.err.contains(&command));
    }
    let list = engine.call("extensions.list", json!({})).await;
    assert_eq!(list["extensions"], json!([]), "nothing is installed before the consent");
    for (entry, code, text) in [
        ("io.example/other", 4, "has no entry io.example/other."),
        ("docs", 2, "--entry: expected the name of an entry"),
        ("io.example/docs@", 2, "--entry: expected a version"),
    ] {
        home.rouse(["mcp", "add", "docs", "--entry", entry]).assert_error(code, text);
    }
}

#[tokio::test]
async fn skills_search_prints_the_skills() {
    let registry = registry();
    let home = home_with(&registry);
    let _engine = home.serve().await;
    let found = home.rouse(["skills", "search", "notes"]).single_spaced();
    assert!(found.contains("notes 1.0.1 notes"), "{found}");
    assert!(found.contains("rouse skills add --slug SKILL@VERSION"), "{found}");
}

#[tokio::test]
async fn search_without_a_registry_names_the_setting() {
    let home = TestHome::new();
    let _engine = home.serve().await;
    home.rouse(["mcp", "search", "docs"]).assert_error(5, COMMAND);
    home.rouse(["mcp", "add", "docs", "--entry", "io.example/docs"]).assert_error(5, COMMAND);
    home.rouse(["skills", "search", "x"]).assert_error(5, "rouse config set registries.skills ");
}
