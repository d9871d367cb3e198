use serde_json::json;

use super::*;
use crate::extension::ServerTransport;

/// A key in every document. No note, reason or definition may show the key.
const KEY: &str = "ghp_q7Zk2pX9vB4mT1sR8wN6q7Zk2pX9vB4mT1sR";

/// `claude_desktop_config.json`, with the comments of a person.
const CLAUDE_DESKTOP: &str = r#"{
  // my servers
  "globalShortcut": "Ctrl+Space",
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/me/Notes"],
    },
    "GitHub": {
      "command": "docker",
      "args": ["run", "-i", "--rm", "-e", "GITHUB_PERSONAL_ACCESS_TOKEN", "github-mcp-server"],
      "env": { "GITHUB_PERSONAL_ACCESS_TOKEN": "KEY", "LOG_LEVEL": "debug" /* loud */ },
    },
  },
}"#;

/// `~/.claude.json` with a server of a project.
const CLAUDE_CODE: &str = r#"{
  "numStartups": 12,
  "mcpServers": {
    "docs": { "type": "http", "url": "https://mcp.example.org/v1",
              "headers": { "Authorization": "Bearer ${DOCS_TOKEN}", "X-Client": "${CLIENT:-rouse}" } },
    "old": { "type": "sse", "url": "https://mcp.example.org/sse" }
  },
  "projects": {
    "/home/u/shop": { "mcpServers": { "docs": { "command": "/opt/docs", "args": ["--stdio"] } } },
    "/home/u/other": { "history": [] }
  }
}"#;

/// `~/.cursor/mcp.json`.
const CURSOR: &str = r#"{ "mcpServers": {
  "figma": { "url": "https://mcp.figma.example/mcp", "headers": { "X-Figma-Token": "KEY" } },
  "local": { "command": "node", "args": ["./server.js", "${workspaceFolder}"] },
  "off": { "command": "uvx", "args": ["mcp-time==1.2.3"], "disabled": true }
} }"#;

/// `.vscode/mcp.json`.
const VS_CODE: &str = r#"{
  "inputs": [{ "type": "promptString", "id": "perplexity-key", "password": true }],
  "servers": {
    "perplexity": { "type": "stdio", "command": "uvx", "args": ["perplexity-mcp"],
                    "env": { "PERPLEXITY_API_KEY": "${input:perplexity-key}", "HOME_URL": "${env:SITE}" },
                    "envFile": "${workspaceFolder}/.env" },
    "remote": { "type": "http", "url": "https://api.example.org/mcp", "headers": {} }
  }
}"#;

fn with_key(text: &str) -> String {
    text.replace("\"KEY\"", &format!("\"{KEY}\""))
}

fn imported(text: &str) -> ImportedServers {
    let imported = servers_from_config(&with_key(text), None).expect("servers");
    assert_hides_key(&imported);
    imported
}

/// `Debug` shows everything but values of secrets.
fn assert_hides_key(imported: &ImportedServers) {
    let shown = format!("{imported:?}");
    assert!(!shown.contains(&KEY[..12]), "{shown}");
}

fn server<'s>(imported: &'s ImportedServers, name: &str) -> &'s ImportedServer {
    let found = imported.servers.iter().find(|server| server.name.as_str() == name);
    found.unwrap_or_else(|| panic!("no {name} in {imported:?}"))
}

fn environment(server: &ImportedServer) -> Value {
    json!(server.definition)["transport"]["environment"].clone()
}

fn values(server: &ImportedServer) -> Vec<(&str, Option<&str>)> {
    server.secrets.iter().map(|secret| (secret.name.as_str(), secret.value())).collect()
}

#[track_caller]
fn assert_noted(server: &ImportedServer, words: &str) {
    let notes = &server.notes;
    assert!(notes.iter().any(|note| note.contains(words)), "no `{words}` in {notes:?}");
}

#[track_caller]
fn refusal(document: &Value) -> String {
    let document = json!({ "mcpServers": { "x": document } });
    let mut imported = servers_from_document(&document, None).expect("an entry");
    assert!(imported.servers.is_empty(), "{imported:?}");
    assert_hides_key(&imported);
    imported.skipped.remove(0).reason
}

#[test]
fn claude_desktop_servers_are_read() {
    let found = imported(CLAUDE_DESKTOP);
    assert_eq!(found.source, ImportSource::McpServers);
    assert!(found.skipped.is_empty(), "{found:?}");
    let files = server(&found, "filesystem");
    assert_noted(files, "@modelcontextprotocol/server-filesystem is not pinned");
    assert_noted(files, "It names /Users/me/Notes: list folders with --folder.");
    assert_noted(
        files,
        "rouse mcp add filesystem --npm @modelcontextprotocol/server-filesystem@VERSION --folder /Users/me/Notes -- /Users/me/Notes",
    );
    let github = server(&found, "github");
    assert_noted(github, "The file calls the server GitHub.");
    assert_noted(github, "own rights");
    let handle = "github_github_personal_access_token";
    assert_noted(github, &format!("rouse secrets set {handle} --server github"));
    assert_eq!(
        environment(github),
        json!({
            "GITHUB_PERSONAL_ACCESS_TOKEN": format!("{{{{secret:{handle}}}}}"),
            "LOG_LEVEL": "debug",
        })
    );
    assert_eq!(values(github), [(handle, Some(KEY))]);
}

#[test]
fn claude_code_projects_and_defaults_are_read() {
    let found = imported(CLAUDE_CODE);
    let docs = server(&found, "docs");
    let headers =
        json!({ "Authorization": "Bearer {{secret:docs_docs_token}}", "X-Client": "rouse" });
    assert_eq!(json!(docs.definition)["transport"]["headers"], headers);
    assert_eq!(values(docs), [("docs_docs_token", None)]);
    assert_noted(docs, "X-Client gets the default of the file.");
    assert_noted(server(&found, "docs-2"), "The server belongs to the project /home/u/shop.");
    assert_eq!(found.skipped[0].original_name, "old");
    assert!(found.skipped[0].reason.contains("HTTP+SSE"), "{found:?}");
}

#[test]
fn cursor_servers_are_read() {
    let found = imported(CURSOR);
    assert_eq!(values(server(&found, "figma")), [("figma_x-figma-token", Some(KEY))]);
    assert_eq!(found.skipped[0].original_name, "local");
    assert!(found.skipped[0].reason.contains("`${workspaceFolder}`"), "{found:?}");
    let off = server(&found, "off");
    assert!(!off.is_enabled);
    assert_noted(off, "disabled in the file");
}

#[test]
fn vs_code_inputs_become_secrets_without_values() {
    let found = imported(VS_CODE);
    assert_eq!(found.source, ImportSource::VsCode);
    let perplexity = server(&found, "perplexity");
    let names = [("perplexity_site", None), ("perplexity_perplexity-key", None)];
    assert_eq!(values(perplexity), names);
    assert_noted(perplexity, "`envFile` are not imported");
    let settings = format!("{{\"editor.tabSize\": 2, \"mcp\": {VS_CODE}}}");
    assert_eq!(imported(&settings).servers, found.servers);
}

#[test]
fn codex_servers_are_read() {
    let document = json!({ "model": "x", "mcp_servers": {
        "context7": {
            "command": "/opt/context7", "args": ["--port", 8080], "cwd": "/srv/context7",
            "env": { "API_KEY": KEY, "RETRIES": 3 }, "env_vars": ["HOME_TOKEN", { "name": "B" }],
            "startup_timeout_sec": 20.5, "tool_timeout_sec": 90_000, "enabled_tools": ["a"],
        },
        "remote": {
            "url": "https://mcp.example.org", "bearer_token_env_var": "REMOTE_TOKEN",
            "http_headers": { "X-Region": "eu" }, "env_http_headers": { "X-Team": "TEAM" },
            "enabled": false, "startup_timeout_ms": 1_500,
        },
    } });
    let found = servers_from_document(&document, None).expect("servers");
    assert_hides_key(&found);
    assert_eq!(found.source, ImportSource::Codex);
    let context = server(&found, "context7");
    let expected = json!({
        "transport": {
            "kind": "stdio", "command": "/opt/context7", "arguments": ["--port", "8080"],
            "environment": {
                "API_KEY": "{{secret:context7_api_key}}", "B": "{{secret:context7_b}}",
                "HOME_TOKEN": "{{secret:context7_home_token}}", "RETRIES": "3",
            },
            "folder": "/srv/context7", "folders": [], "hosts": [], "isUnconfined": false,
        },
        "startTimeoutSeconds": 21,
        "callTimeoutSeconds": 3_600,
    });
    assert_eq!(json!(context.definition), expected);
    assert_noted(context, "you choose tools after the start");
    let remote = server(&found, "remote");
    assert!(!remote.is_enabled);
    let headers = json!({
        "Authorization": "Bearer {{secret:remote_remote_token}}",
        "X-Region": "eu", "X-Team": "{{secret:remote_team}}",
    });
    assert_eq!(json!(remote.definition)["transport"]["headers"], headers);
    assert_eq!(remote.definition.start_timeout_seconds, Some(2));
}

#[test]
fn goose_extensions_are_read() {
    let document = json!({ "GOOSE_MODEL": "x", "extensions": {
        "developer": { "type": "builtin", "enabled": true },
        "todo": { "type": "platform", "enabled": true },
        "mail": {
            "type": "stdio", "cmd": "uvx", "args": ["mail-mcp@1.2.3"], "timeout": 300,
            "envs": { "MAIL_HOST": "imap.example.org" }, "env_keys": ["MAIL_PASSWORD"],
            "enabled": true,
        },
        "wiki": {
            "type": "streamable_http", "uri": "https://wiki.example.org/mcp",
            "headers": { "Authorization": "Bearer $WIKI_TOKEN" }, "enabled": false,
        },
        "old": { "type": "sse", "uri": "https://wiki.example.org/sse", "enabled": true },
    } });
    let found = servers_from_document(&document, None).expect("servers");
    assert_eq!(found.source, ImportSource::Goose);
    let mail = server(&found, "mail");
    assert_eq!(mail.definition.call_timeout_seconds, Some(300));
    assert_eq!(environment(mail)["MAIL_HOST"], "imap.example.org");
    assert_eq!(values(mail), [("mail_mail_password", None)]);
    let wiki = server(&found, "wiki");
    assert!(!wiki.is_enabled);
    assert_eq!(values(wiki), [("wiki_wiki_token", None)]);
    let skipped: Vec<&str> =
        found.skipped.iter().map(|server| server.original_name.as_str()).collect();
    assert_eq!(skipped, ["developer", "todo", "old"]);
    assert!(found.skipped[0].reason.contains("part of Goose"), "{found:?}");
}

#[test]
fn server_for_a_name_is_chosen_and_names_its_secrets() {
    let server = json!({ "command": "/bin/mail", "env": { "API_KEY": KEY }, "disabled": true });
    let other = json!({ "url": "https://a.example" });
    let cal: ExtensionName = "cal".parse().expect("a name");
    for document in [
        server.clone(),
        json!({ "mcpServers": { "anything": server } }),
        json!({ "servers": { "other": other, "cal": server } }),
    ] {
        let found = server_from_document(&document, None, &cal).expect("a server");
        assert_eq!(environment(&found), json!({ "API_KEY": "{{secret:cal_api_key}}" }));
        assert_eq!(values(&found), [("cal_api_key", Some(KEY))]);
        assert_noted(&found, "rouse secrets set cal_api_key --server cal");
        assert_noted(&found, "The server is disabled in the file.");
        assert!(!found.notes.iter().any(|note| note.contains("calls the server .")), "{document}");
        assert!(!format!("{found:?}").contains(&KEY[..12]));
    }
    let refused = |document: &Value| {
        let error = server_from_document(document, None, &cal).expect_err("refused").to_string();
        assert!(!error.contains(&KEY[..12]), "{error}");
        error
    };
    let several = json!({ "mcpServers": { "one": server, "two": other } });
    assert_eq!(refused(&several), "no server is called cal. Servers: one, two");
    for (server, words) in [
        (json!({ "command": "/bin/a", "args": [KEY] }), "Argument 1 holds what looks"),
        (json!({ "command": "/bin/a", "args": ["${TOKEN}"] }), "Argument 1 holds `${TOKEN}`"),
        (json!({ "url": "https://a.example/sse", "type": "sse" }), "HTTP+SSE"),
        (json!({ "command": "/bin/a", "url": "https://a.example" }), "a command and an address"),
    ] {
        let error = refused(&json!({ "mcpServers": { "x": server } }));
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn server_that_rouse_cannot_run_has_a_reason() {
    for (server, words) in [
        (json!(7), "not an object"),
        (json!({}), "neither command nor address"),
        (json!({ "command": "a", "url": "https://a.example" }), "a command and an address"),
        (json!({ "command": 7 }), "`command` is no text"),
        (json!({ "command": "a", "args": "b" }), "`args` is no list"),
        (json!({ "command": "a", "env": { "A": [] } }), "A in `env` is no text"),
        (json!({ "type": "ws", "url": "wss://a.example" }), "the transport `ws`"),
        (json!({ "command": "./server" }), "relative path"),
        (json!({ "command": format!("bin/a {KEY}") }), "The command holds what looks"),
        (json!({ "command": "${HOME}/server" }), "The command holds `${HOME}`"),
        (json!({ "command": "a", "args": ["x", "${B}"] }), "Argument 2 holds `${B}`"),
        (json!({ "command": "a", "args": ["--api-key", KEY] }), "Argument 2 holds what looks"),
        (json!({ "url": "ftp://a.example" }), "https://"),
        (json!({ "url": format!("https://a.example/{KEY}/mcp") }), "The address holds what"),
        (json!({ "url": "https://me:pw@a.example" }), "The address holds what"),
    ] {
        let reason = refusal(&server);
        assert!(reason.contains(words), "{server}: {reason}");
    }
}

#[test]
fn variable_of_the_server_stays_in_its_arguments() {
    let server_json = json!({
        "command": "/opt/remote", "args": ["--header", "Authorization:${AUTH}"],
        "env": { "AUTH": format!("Bearer {KEY}") },
    });
    let found = servers_from_document(&json!({ "x": server_json }), None).expect("servers");
    assert_hides_key(&found);
    let transport = &server(&found, "x").definition.transport;
    let ServerTransport::Stdio { arguments, environment, .. } = transport else {
        panic!("{transport:?}")
    };
    assert_eq!(arguments[1], "Authorization:${AUTH}");
    assert_eq!(environment["AUTH"], "Bearer {{secret:x_auth}}");
}

#[test]
fn relative_paths_have_notes() {
    let relative = json!({ "command": "node", "args": ["build/index.js"], "cwd": "proj" });
    let absolute = json!({ "command": "node", "args": ["build/index.js"], "cwd": "/srv/proj" });
    let document = json!({ "mcpServers": { "one": relative, "two": absolute } });
    let found = servers_from_document(&document, None).expect("servers");
    assert_noted(server(&found, "one"), "`cwd` is left out, because proj is a relative path");
    assert_noted(server(&found, "one"), "Relative paths start at the private folder");
    assert_noted(server(&found, "two"), "It names /srv/proj: list folders with --folder.");
    assert!(!server(&found, "two").notes.iter().any(|note| note.starts_with("Relative")));
}

#[test]
fn reserved_name_is_replaced_with_a_note() {
    let memory = json!({ "command": "npx", "args": ["memory-server@1.2.3"] });
    let document = json!({ "mcpServers": { "memory": memory } });
    let found = servers_from_document(&document, None).expect("servers");
    let renamed = server(&found, "my-memory");
    assert_eq!(renamed.original_name, "memory");
    assert_noted(renamed, "The file calls the server memory.");
    assert_noted(renamed, "The name memory is reserved for tools of Rouse.");
    assert_noted(renamed, "rouse mcp add my-memory --npm memory-server@1.2.3");
}

#[test]
fn hostile_names_cannot_add_a_line() {
    let document = json!({ "mcpServers": {
        "a\nInstalled.\u{202e}": { "command": "/bin/a", "env": { "B\u{1b}[31m_KEY\nx": KEY } },
        "x".repeat(50_000): { "command": "/bin/b", "env": { "KEY".repeat(5_000): KEY } },
        "": { "command": "/bin/c" },
        "日本": { "command": "/bin/d" },
    } });
    let found = servers_from_document(&document, None).expect("servers");
    assert_hides_key(&found);
    let names: Vec<&str> = found.servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(names, ["a-installed", &"x".repeat(20), "server", "server-2"]);
    let notes = found.servers.iter().flat_map(|server| &server.notes);
    let fields = found.servers.iter().flat_map(|server| &server.secrets).map(|found| &found.field);
    for text in notes.chain(fields) {
        assert!(!text.contains(['\n', '\u{1b}', '\u{202e}']) && text.len() < 400, "{text:?}");
    }
}

#[test]
fn document_without_servers_is_an_error() {
    for text in ["{}", "[]", "7", r#"{"mcpServers": {}}"#, r#"{"servers": []}"#] {
        assert_eq!(servers_from_config(text, None), Err(ServerImportError::NoServers), "{text}");
    }
    for text in ["", "{", "[1] 2", r#"{"a": 1, "a": 2}"#, "\u{0}"] {
        let error = servers_from_config(text, None).expect_err(text);
        assert!(matches!(error, ServerImportError::Json(_)), "{text}: {error}");
    }
    let of_another = servers_from_config(CURSOR, Some(ImportSource::Codex));
    assert_eq!(of_another, Err(ServerImportError::NoServers));
}

#[test]
fn huge_and_deep_documents_are_refused() {
    let huge = " ".repeat(10_000_000);
    assert_eq!(servers_from_config(&huge, None), Err(ServerImportError::TooLarge));
    let deep = format!("{}1{}", r#"{"a":"#.repeat(100_000), "}".repeat(100_000));
    let error = servers_from_config(&deep, None).expect_err("too deep");
    assert!(matches!(error, ServerImportError::Json(_)), "{error}");
    let servers: Map<String, Value> =
        (0..=MAX_SERVERS).map(|number| (number.to_string(), json!({ "command": "a" }))).collect();
    let many = servers_from_document(&json!({ "mcpServers": servers }), None);
    assert_eq!(many, Err(ServerImportError::TooMany(MAX_SERVERS + 1)));
}
