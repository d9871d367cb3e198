//! Discovery of models on this computer and in the environment.

use rouse_agent::{
    ApiKey, FoundIn, FoundModel, LocalAddresses, ProviderConfig, ProviderKey, ProviderKind,
    discover,
};
use rouse_testkit::fake_model::{FakeModel, Reply};
use serde_json::{Value, json};

fn nothing(_: &str) -> Option<String> {
    None
}

fn serving(path: &'static str, list: Value) -> FakeModel {
    FakeModel::start(move |request| {
        if request.path == path {
            Reply::json(200, list.to_string())
        } else {
            Reply::json(404, "{}")
        }
    })
}

fn ollama() -> FakeModel {
    let names = ["nomic-embed-text:latest", "gemma:2b", "qwen3:4b", "llama3.2:3b"];
    let list = json!({"models": names.map(|name| json!({"name": name}))});
    FakeModel::start(move |request| match request.path.as_str() {
        "/api/tags" => Reply::json(200, list.to_string()),
        "/api/show" if request.json()["model"] == "gemma:2b" => {
            Reply::json(200, r#"{"capabilities":["completion"]}"#)
        }
        "/api/show" => Reply::json(200, r#"{"capabilities":["completion","tools"]}"#),
        _ => Reply::json(404, "{}"),
    })
}

fn lm_studio() -> FakeModel {
    let model = |id: &str, kind: &str, state: &str, able: &[&str]| json!({"id": id, "object": "model", "type": kind, "state": state, "capabilities": able});
    serving(
        "/api/v0/models",
        json!({"object": "list", "data": [
            model("text-embedding-nomic", "embeddings", "loaded", &[]),
            model("gemma-3-12b", "vlm", "not-loaded", &[]),
            model("phi-4", "llm", "not-loaded", &["tool_use"]),
            model("qwen3-8b", "llm", "loaded", &[]),
        ]}),
    )
}

fn llama_cpp(owner: &str) -> FakeModel {
    serving(
        "/v1/models",
        json!({"object": "list", "data": [{"id": "phi-4.gguf", "object": "model", "owned_by": owner}]}),
    )
}

fn names(found: &[FoundModel]) -> Vec<(&str, &str)> {
    found
        .iter()
        .map(|found| (found.provider.name.as_str(), found.provider.model.as_str()))
        .collect()
}

#[tokio::test]
async fn configured_then_local_then_environment() {
    let (ollama, lm_studio, llama_cpp) = (ollama(), lm_studio(), llama_cpp("llamacpp"));
    let addresses = LocalAddresses {
        ollama: Some(ollama.url()),
        lm_studio: Some(lm_studio.url()),
        llama_cpp: Some(llama_cpp.url()),
        foundry_command: None,
    };
    let configured = ProviderConfig {
        context_tokens: None,
        effort: None,
        name: "office".to_owned(),
        kind: ProviderKind::OpenAiChat,
        base_url: "http://10.0.0.7:8000/v1".to_owned(),
        model: "qwen3-32b".to_owned(),
        api_key: None,
    };
    let env = |name: &str| name.ends_with("_API_KEY").then(|| format!("key of {name}"));
    let found = discover(vec![configured], env, &addresses).await;
    assert_eq!(
        names(&found),
        [
            ("office", "qwen3-32b"),
            ("ollama", "qwen3:4b"),
            ("lmstudio", "qwen3-8b"),
            ("llamacpp", "phi-4.gguf"),
            ("anthropic", "claude-sonnet-5-5"),
            ("openai", "gpt-5.6-terra"),
            ("openrouter", "anthropic/claude-sonnet-5.5"),
        ]
    );
    assert_eq!(found[1].label, "Ollama on this computer (qwen3:4b)");
    assert_eq!(
        found[1].offers,
        ["qwen3:4b", "llama3.2:3b", "gemma:2b"],
        "models with tool calls first"
    );
    assert_eq!(found[1].provider.base_url, format!("{}/v1", ollama.url()));
    assert_eq!(found[2].offers, ["qwen3-8b", "phi-4", "gemma-3-12b"], "loaded models first");
    let key = ApiKey::new("key of ANTHROPIC_API_KEY").map(ProviderKey::Given);
    assert_eq!(found[4].provider.api_key, key);
    assert_eq!(found[4].source, FoundIn::Environment);
}

#[tokio::test]
async fn empty_discovery_is_no_error() {
    let gone = FakeModel::replying([]).url();
    let addresses = LocalAddresses {
        ollama: Some(gone.clone()),
        lm_studio: Some(gone.clone()),
        llama_cpp: Some(gone),
        foundry_command: Some("/nowhere/foundry".into()),
    };
    assert_eq!(discover(Vec::new(), nothing, &addresses).await, []);
    let blank = |name: &str| (name == "OPENAI_API_KEY").then(|| " ".to_owned());
    assert_eq!(discover(Vec::new(), blank, &LocalAddresses::nowhere()).await, []);
}

#[tokio::test]
async fn other_program_on_the_port_is_no_model() {
    let stranger = FakeModel::start(|_| {
        Reply::json(200, r#"{"object":"list","data":[{"id":"a","object":"model"}]}"#)
    });
    let web = FakeModel::start(|_| Reply::events("<html>hello</html>"));
    let empty = serving("/api/tags", json!({"models": []}));
    for server in [&stranger, &web, &empty] {
        let url = Some(server.url());
        let addresses = LocalAddresses {
            ollama: url.clone(),
            lm_studio: url.clone(),
            llama_cpp: url,
            foundry_command: None,
        };
        assert_eq!(discover(Vec::new(), nothing, &addresses).await, []);
    }
    let other = llama_cpp("vllm");
    let addresses = LocalAddresses { llama_cpp: Some(other.url()), ..LocalAddresses::nowhere() };
    assert_eq!(discover(Vec::new(), nothing, &addresses).await, []);
}

#[tokio::test]
async fn hanging_server_does_not_delay_others() {
    let (hanging, ollama) =
        (FakeModel::start(|_| Reply::json(200, "{}").held_after("{")), ollama());
    let addresses = LocalAddresses {
        ollama: Some(ollama.url()),
        lm_studio: Some(hanging.url()),
        llama_cpp: None,
        foundry_command: None,
    };
    assert_eq!(names(&discover(Vec::new(), nothing, &addresses).await), [("ollama", "qwen3:4b")]);
}

#[tokio::test]
async fn no_key_is_sent_to_a_local_port() {
    let server = ollama();
    let addresses = LocalAddresses { ollama: Some(server.url()), ..LocalAddresses::nowhere() };
    discover(Vec::new(), |_| Some("sk-0123456789".to_owned()), &addresses).await;
    let request = &server.requests()[0];
    assert!(
        request.headers.iter().all(|(_, value)| !value.contains("sk-0123456789")),
        "{request:?}"
    );
}

#[tokio::test]
async fn address_in_the_environment_wins() {
    let env = |name: &str| match name {
        "OPENAI_API_KEY" | "ANTHROPIC_API_KEY" => Some("sk-0123456789".to_owned()),
        "OPENAI_BASE_URL" => Some("http://127.0.0.1:9/v1".to_owned()),
        "ANTHROPIC_BASE_URL" => Some(" ".to_owned()),
        _ => None,
    };
    let found = discover(Vec::new(), env, &LocalAddresses::nowhere()).await;
    let addresses: Vec<_> = found.iter().map(|found| found.provider.base_url.as_str()).collect();
    assert_eq!(addresses, ["https://api.anthropic.com", "http://127.0.0.1:9/v1"]);
}

#[cfg(unix)]
#[tokio::test]
async fn foundry_local_is_found_at_its_reported_address() {
    use std::os::unix::fs::PermissionsExt as _;

    let list = json!({"data": [{"id": "phi-4-mini"}, {"id": "qwen3-4b", "toolCalling": true}]});
    let server = serving("/v1/models", list);
    let folder = tempfile::tempdir().expect("a folder");
    let command = folder.path().join("foundry");
    let script = format!("#!/bin/sh\necho \"Service is Started on {}/, PID 1!\"\n", server.url());
    std::fs::write(&command, script).expect("written");
    std::fs::set_permissions(&command, std::fs::Permissions::from_mode(0o755)).expect("executable");
    let foundry_command = Some(command.into_os_string());
    let addresses = LocalAddresses { foundry_command, ..LocalAddresses::nowhere() };
    let found = discover(Vec::new(), nothing, &addresses).await;
    assert_eq!(names(&found), [("foundry", "qwen3-4b")]);
    assert_eq!(found[0].provider.base_url, server.url() + "/v1");
    assert!(found[0].label.starts_with("Foundry Local on this computer"));
    for request in server.requests() {
        assert_eq!(request.header("authorization"), None, "the probe carries no key");
    }
}
