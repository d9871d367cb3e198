//! `rouse config`, and settings files that change under a running engine.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::engine::TestHome;

#[tokio::test]
async fn config_get_and_set_work_by_key() {
    let home = TestHome::new().config("# mine\n[cron]\nmaxConcurrentRuns = 3\n");
    let engine = home.serve().await;
    let all = home.rouse(["config", "get"]);
    for line in [
        "cron.enabled = true",
        "cron.maxConcurrentRuns = 3",
        "quietHours = none",
        "heartbeat.every = 30 min",
        "tools.maxSteps = 10",
        "tools.allowPrivateHosts = []",
    ] {
        assert!(all.ok().lines().any(|printed| printed == line), "no `{line}` in {all:#?}");
    }
    assert!(!all.out.contains("revision"), "{all:#?}");
    assert_eq!(home.rouse(["config", "get", "cron.maxConcurrentRuns"]).ok(), "3\n");
    assert_eq!(home.rouse(["config", "get", "cron", "--json"]).json()["enabled"], true);
    let table = [
        ("cron.enabled", "false", "/cron/enabled", json!(false)),
        ("cron.maxConcurrentRuns", "5", "/cron/maxConcurrentRuns", json!(5)),
        ("cron.maxConcurrentRuns", "none", "/cron/maxConcurrentRuns", json!(2)),
        ("heartbeat.every", "45m", "/heartbeat/everyMs", json!(2_700_000)),
        ("heartbeat.every", "1 h 30 min", "/heartbeat/everyMs", json!(5_400_000)),
        ("heartbeat.skills", "a, b", "/heartbeat/skills", json!(["a", "b"])),
        ("heartbeat.skills", "none", "/heartbeat/skills", json!([])),
        ("heartbeat.activeHours", "08:00-20:00", "/heartbeat/activeHours/to", json!("20:00")),
        ("quietHours", "22:00-07:00", "/quietHours", json!({ "from": "22:00", "to": "07:00" })),
        ("quietHours.days", "fri,sat", "/quietHours/days", json!(["fri", "sat"])),
        ("quietHours", "23:00-06:00", "/quietHours", json!({ "from": "23:00", "to": "06:00" })),
        ("quietHours", "none", "/quietHours", Value::Null),
        ("retention.runsPerJob", "100", "/retention/runsPerJob", json!(100)),
        ("retention.maxDatabaseMb", "64", "/retention/maxDatabaseMb", json!(64)),
        ("budget.tokensPerDay", "5000", "/budget/tokensPerDay", json!(5_000)),
        ("budget.usdPerDay", "0.5", "/budget/usdPerDay", json!(0.5)),
        ("budget.usdPerDay", "none", "/budget/usdPerDay", Value::Null),
        ("system.keepAwake", "true", "/system/keepAwake", json!(true)),
        ("search.provider", "brave", "/search/provider", json!("brave")),
        ("search.keySecret", "brave", "/search/keySecret", json!("brave")),
        ("search.provider", "none", "/search/provider", Value::Null),
        (
            "registries.servers",
            "https://registry.example.org",
            "/registries/servers",
            json!("https://registry.example.org"),
        ),
        ("registries.servers", "none", "/registries/servers", Value::Null),
    ];
    for (key, value, path, expected) in table {
        let printed = home.rouse(["config", "set", key, value, "--json"]);
        assert_eq!(printed.json().pointer(path), Some(&expected), "{key} {value}: {printed:#?}");
        assert_eq!(engine.call("config.get", json!({})).await.pointer(path), Some(&expected));
    }
    assert_eq!(engine.call("cron.status", json!({})).await["enabled"], false);
    assert_eq!(home.rouse(["config", "set", "cron.enabled", "true"]).ok(), "cron.enabled = true\n");
    let file = fs::read_to_string(home.data().join("config.toml")).expect("a file");
    assert!(file.starts_with("# mine\n"), "{file}");
    for (key, value, text) in [
        ("cron.enabled", "maybe", "cron.enabled: expected true or false, found the text `maybe`"),
        ("cron.maxConcurrentRuns", "0", "cron.maxConcurrentRuns"),
        ("cron.maxRuns", "3", "cron.maxRuns"),
        (
            "quietHours",
            "soon",
            "quietHours: expected hours such as 22:00-07:00, or none, found `soon`",
        ),
        ("quietHours", "22:00-7", "quietHours.to: expected a time of day such as 07:00, found `7`"),
        (
            "quietHours.days",
            "friday",
            "expected one of mon, tue, wed, thu, fri, sat, sun, found `friday`",
        ),
        (
            "heartbeat.every",
            "soon",
            "heartbeat.every: expected a number with a unit such as `30m`, found `soon`",
        ),
        ("heartbeat.every", "45", "heartbeat.every: `45` has no unit: write `45s`, `45m`"),
        (
            "heartbeat.evry",
            "10m",
            "heartbeat.evry: there is no such setting; did you mean heartbeat.every?",
        ),
        ("tools.maxSteps", "3", "tools.maxSteps: can be changed in the settings file only"),
        (
            "registries.skills",
            "http://registry.example.org",
            "registries.skills: must begin with https://",
        ),
    ] {
        home.rouse(["config", "set", key, value]).assert_error(2, text);
    }
    let unknown = home.rouse(["config", "get", "cron.maxRuns"]);
    unknown.assert_error(2, "cron.maxRuns: there is no such setting");
    assert!(unknown.err.contains("cron.maxConcurrentRuns"), "{unknown:#?}");
    home.rouse(["config", "get", "revision"]).assert_error(2, "there is no such setting");
    for key in ["providers.work.model", "cron.maxRuns"] {
        home.rouse(["config", "set", key, "big"]).assert_error(2, "there is no such setting");
    }
}

#[tokio::test]
async fn provider_in_file_is_changed_by_name() {
    let provider = "kind = \"openai\"\nbaseUrl = \"http://localhost:9/v1\"\nmodel = \"small\"\n";
    let home = TestHome::new().config(&format!("[providers.work]\n{provider}"));
    let _engine = home.serve().await;
    let set = home.rouse(["config", "set", "providers.work.model", "big"]);
    assert_eq!(set.ok(), "providers.work.model = big\n");
    assert_eq!(home.rouse(["config", "get", "providers.work.model"]).ok(), "big\n");
    home.rouse(["config", "set", "providers.word.model", "big"]).assert_error(2, "no such setting");
    for key in ["providers", "providers.work"] {
        let get = home.rouse(["config", "get", key]);
        let first =
            "providers.work.kind = openai\nproviders.work.baseUrl = http://localhost:9/v1\n";
        assert!(get.ok().starts_with(first), "{get:#?}");
    }
    let unknown = home.rouse(["config", "get", "providers.word"]);
    unknown.assert_error(2, "has no [providers.word]; did you mean work?");
}

#[tokio::test]
async fn settings_file_changed_since_start_is_reported() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let warning = "was changed since the start; restart Rouse to apply the change";
    assert!(!home.rouse(["status"]).ok().contains(warning));
    assert!(!home.rouse(["doctor"]).ok().contains(warning));
    fs::write(home.data().join("config.toml"), "[cron]\nmaxConcurrentRuns = 4\n").expect("a file");
    assert!(home.rouse(["status"]).ok().contains(warning));
    let doctor = home.rouse(["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains(warning), "{doctor:#?}");
    assert!(engine.stop().success());
    let engine = home.serve().await;
    assert!(!home.rouse(["status"]).ok().contains(warning));
    drop(engine);
}

#[tokio::test]
async fn unknown_key_is_reported_by_every_settings_command() {
    let text = "colour = \"blue\" # mine\n[heartbeat]\nevry = \"10m\"\n";
    let home = TestHome::new().config(text);
    let evry =
        "heartbeat.evry (line 3) is not a setting and has no effect; did you mean heartbeat.every?";
    let colour = "colour (line 1) is not a setting and has no effect; known here: budget, channels, computers, cron,";
    let off = home.rouse(["doctor"]);
    assert!(off.out.contains(evry) && off.out.contains(colour), "{off:#?}");

    let engine = home.serve().await;
    let doctor = home.rouse(["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains(evry), "{doctor:#?}");
    let get = home.rouse(["config", "get"]);
    assert!(get.ok().contains("heartbeat.every = 30 min"), "{get:#?}");
    assert!(get.err.contains(evry) && get.err.contains(colour), "{get:#?}");
    assert!(get.err.contains("config.toml"), "{get:#?}");
    home.rouse(["config", "get", "heartbeat.evry"]).assert_error(2, evry);
    let keys = engine.call("config.get", json!({})).await["unknownKeys"].clone();
    let key_at =
        |index: usize| (&keys[index]["key"], &keys[index]["line"], &keys[index]["nearest"]);
    assert_eq!(key_at(0), (&json!("colour"), &json!(1), &Value::Null));
    assert_eq!(key_at(1), (&json!("heartbeat.evry"), &json!(3), &json!("heartbeat.every")));
    let log = home.rouse(["logs"]);
    assert!(log.ok().contains(evry), "{log:#?}");

    home.rouse(["config", "set", "heartbeat.every", "45m"]).ok();
    let file = fs::read_to_string(home.data().join("config.toml")).expect("a file");
    assert_eq!(file, format!("{text}every = \"45m\"\n"));
    drop(engine);
}

#[tokio::test]
async fn invalid_value_in_file_is_reported_with_its_line() {
    let home = TestHome::new()
        .config("[heartbeat]\nevery = \"soon\"\n[quietHours]\nfrom = \"22\"\nto = \"07:00\"\n");
    let problems = [
        "config.toml",
        "heartbeat.every (line 2): expected a number with a unit such as `30m`, found `soon`",
        "quietHours.from (line 4): expected a time of day such as 07:00, found `22`",
    ];
    let doctor = home.rouse(["doctor"]);
    assert!(problems.iter().all(|text| doctor.out.contains(text)), "{doctor:#?}");
    let serve = home.rouse(["serve"]);
    assert!(serve.code == 2 && problems.iter().all(|text| serve.err.contains(text)), "{serve:#?}");

    let home = TestHome::new();
    let engine = home.serve().await;
    fs::write(home.data().join("config.toml"), "[heartbeat]\nevery = 5\n").expect("a file");
    let get = home.rouse(["config", "get"]);
    assert!(get.err.contains("heartbeat.every (line 2): expected a text"), "{get:#?}");
    home.rouse(["config", "set", "cron.enabled", "true"])
        .assert_error(5, "heartbeat.every (line 2)");
    drop(engine);
}

#[tokio::test]
async fn invalid_workspace_is_refused_with_its_location() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let (here, file) = (home.sibling("here"), home.sibling("file"));
    fs::write(&file, "x").expect("a file");
    for (path, error) in [
        ("/proc/nope/x", "workspace: /proc/nope/x does not exist and cannot be created: "),
        (file.to_str().expect("text"), "is not a folder"),
        ("./notes", "workspace: ./notes is another folder wherever Rouse is started"),
    ] {
        home.rouse(["config", "set", "workspace", path]).assert_error(2, error);
    }
    let text = here.to_str().expect("text");
    let later = format!("{text}  (from the next start on)\n");
    let set = home.rouse(["config", "set", "workspace", text]);
    assert_eq!(set.ok(), format!("workspace = {later}"));
    assert_eq!(home.rouse(["config", "get", "workspace"]).ok(), later);
    assert!(home.rouse(["config", "get"]).ok().contains(&format!("workspace = {later}")));
    let at_once = home.rouse(["config", "set", "heartbeat.every", "45m"]);
    assert!(!at_once.ok().contains("next start"), "{at_once:#?}");
    assert!(engine.stop().success());
    let engine = home.serve().await;
    assert_eq!(home.rouse(["config", "get", "workspace"]).ok(), format!("{text}\n"));
    assert!(here.is_dir());
    assert!(engine.stop().success());

    home.write_config("# mine\nworkspace = \"/proc/nope/x\"\n");
    let error =
        "workspace (line 2): /proc/nope/x does not exist and cannot be created: No such file";
    let doctor = home.rouse(["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains(&format!("✗ {error}")), "{doctor:#?}");
    let start = home.rouse(["serve", "--port", "0"]);
    assert!(start.code == 2 && start.err.contains(error), "{start:#?}");
    for part in ["config.toml", "Name another folder, or remove the key"] {
        assert!(start.err.contains(part), "no `{part}` in {start:#?}");
    }
    let by_variable = home.env("FILE_WORKSPACE_ROOT", "/proc/nope/y");
    let start = by_variable.rouse(["serve", "--port", "0"]);
    assert!(start.err.contains("workspace: /proc/nope/y does not exist"), "{start:#?}");
    assert!(start.err.contains("(FILE_WORKSPACE_ROOT names it)"), "{start:#?}");
}

#[tokio::test]
async fn unknown_provider_is_reported_by_every_model_command() {
    let work = "[providers.work]\nkind = \"openai\"\nbaseUrl = \"http://localhost:9/v1\"\nmodel = \"small\"\n";
    let home = TestHome::new().config(work);
    let engine = home.serve().await;
    let error = "there is no [providers.wrk]; did you mean work?";
    home.rouse(["config", "set", "model.provider", "wrk"]).assert_error(2, error);
    for name in ["work", "ollama", "anthropic"] {
        home.rouse(["config", "set", "model.provider", name]).ok();
    }
    assert!(engine.stop().success());

    home.write_config(&format!("[model]\nprovider = \"wrk\"\n{work}"));
    let problem = format!("model.provider (line 2): {error}");
    let off = home.rouse(["doctor"]);
    assert!(off.out.contains(&format!("✗ {problem}")), "{off:#?}");
    let engine = home.serve().await;
    let doctor = home.rouse(["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains(&format!("✗ {problem}")), "{doctor:#?}");
    assert!(!doctor.out.contains("No model yet"), "{doctor:#?}");
    let status = home.rouse(["status"]);
    assert!(status.ok().contains(&format!("✗ No model: {problem}")), "{status:#?}");
    let log = home.rouse(["logs"]);
    assert!(log.ok().contains(&problem), "{log:#?}");
    let get = home.rouse(["config", "get", "model.provider"]);
    assert!(get.ok() == "wrk\n" && get.err.contains(&problem), "{get:#?}");
    let trouble = engine.call("config.get", json!({})).await["unmetSettings"][0].clone();
    assert_eq!(trouble, json!({ "key": "model.provider", "line": 2, "text": problem }));
    let add = ["cron", "add", "--name", "a", "--every", "1h", "--message", "hi", "--json"];
    let added = home.rouse(add).json();
    assert!(added["warnings"].to_string().contains(error), "{added}");
    let id = added["job"]["id"].as_str().expect("an id");
    engine.start_run(id).await;
    let run = engine.finished_runs(id, 1).await.remove(0);
    assert!(run["state"] == "failed" && run["error"].to_string().contains(error), "{run}");
    home.rouse(["chat", "hello"]).assert_error(5, error);
}

#[tokio::test]
async fn unknown_default_channel_is_refused_and_reported() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let error = "there is no channel `foo`; the channels are `notification`, `last`.";
    for key in ["deliverTo", "deliverFailuresTo", "deliverApprovalsTo"] {
        let set = home.rouse(["config", "set", key, "foo,notification"]);
        set.assert_error(2, &format!("{key}: {error}"));
        home.rouse(["config", "set", key, "last,notification"]).ok();
    }
    let bot = json!({ "channels": { "phone": { "kind": "telegram", "tokenSecret": "t" } } });
    engine.call("config.patch", json!({ "patch": bot })).await;
    // The chat is paired afterwards.
    home.rouse(["config", "set", "deliverTo", "phone"]).ok();
    home.rouse(["config", "set", "deliverTo", "phone:7"])
        .assert_error(2, "deliverTo: `7` is no recipient of phone");
    assert!(engine.stop().success());

    home.write_config("deliverTo = [\"foo\"]\n");
    let _engine = home.serve().await;
    let doctor = home.rouse(["doctor"]);
    let finding = format!("✗ deliverTo (line 1): {error}");
    assert!(doctor.code == 1 && doctor.out.contains(&finding), "{doctor:#?}");
    for (key, value) in [("cron.enabled", "true"), ("deliverTo", "foo,notification")] {
        home.rouse(["config", "set", key, value]).ok();
    }
}

#[tokio::test]
async fn channel_key_is_refused_with_the_way_to_change_it() {
    let home = TestHome::new();
    let _engine = home.serve().await;
    let way = ": a channel is read and changed with `rouse channels`, or in the file";
    for key in ["channels", "channels.phone.details"] {
        home.rouse(["config", "get", key]).assert_error(2, &format!("{key}{way}"));
        home.rouse(["config", "set", key, "headline"]).assert_error(2, &format!("{key}{way}"));
    }
    assert_eq!(home.rouse(["config", "get", "computers"]).ok(), "none\n");
}

#[tokio::test]
async fn missing_search_key_is_reported_by_doctor() {
    for (search, problem) in [
        ("keySecret = \"tavily\"", "✗ search.keySecret (line 3)"),
        ("", "✗ search.keyEnv (line 1): TAVILY_API_KEY is not set"),
    ] {
        let home = TestHome::new().config(&format!("[search]\nprovider = \"tavily\"\n{search}\n"));
        let _engine = home.serve().await;
        let doctor = home.rouse(["doctor"]);
        assert!(doctor.out.contains(problem), "no `{problem}` in {doctor:#?}");
    }
}

#[tokio::test]
async fn unset_key_and_missing_hook_program_are_reported() {
    let text = "[providers.work]\nkind = \"openai\"\nbaseUrl = \"http://localhost:9/v1\"\nmodel = \"small\"\nkeyEnv = \"WORK_LLM_KEY\"\n[[hooks]]\non = \"run_started\"\ncommand = [\"/nope/guard\"]\n[[hooks]]\non = \"run_started\"\ncommand = [\"no-such-program-here\"]\n[[hooks]]\non = \"run_started\"\ncommand = [\"sh\"]\n";
    let home = TestHome::new().config(text);
    let engine = home.serve().await;
    let key = "providers.work.keyEnv (line 5): WORK_LLM_KEY is not set";
    let hooks = [
        "hooks[0].command (line 8): the program /nope/guard does not exist",
        "hooks[1].command (line 11): the program no-such-program-here is not in the folders of PATH",
    ];
    let doctor = home.rouse(["doctor"]);
    for problem in hooks.iter().chain([&key]) {
        assert!(doctor.out.contains(&format!("✗ {problem}")), "no `{problem}` in {doctor:#?}");
    }
    assert!(doctor.code == 1 && !doctor.out.contains("✓ Model"), "{doctor:#?}");
    assert!(!doctor.out.contains("hooks[2]"), "{doctor:#?}");
    let status = home.rouse(["status"]);
    assert!(status.ok().contains(&format!("✗ Model: small · work: {key}")), "{status:#?}");
    let listed = home.rouse(["hooks"]);
    listed.ok();
    for problem in hooks {
        assert!(listed.err.contains(problem), "no `{problem}` in {listed:#?}");
    }
    assert!(engine.stop().success());

    let home = home.env("WORK_LLM_KEY", "abcdefghijklmnop");
    let _engine = home.serve().await;
    let doctor = home.rouse(["doctor"]);
    assert!(doctor.out.contains("✓ Model: small · work"), "{doctor:#?}");
}

#[tokio::test]
async fn missing_model_or_skill_of_heartbeat_is_reported() {
    let work = "[providers.work]\nkind = \"openai\"\nbaseUrl = \"http://localhost:9/v1\"\nmodel = \"small\"\n";
    let home = TestHome::new().config(work);
    let _engine = home.serve().await;
    assert!(!home.rouse(["doctor"]).out.contains("heartbeat."), "nothing is named");
    let problems = [
        (
            "heartbeat.model",
            "anthropic:big",
            "heartbeat.model: `anthropic:big` is of the provider anthropic",
        ),
        ("heartbeat.skills", "gone", "heartbeat.skills[0]: "),
    ];
    for (key, value, text) in problems {
        let set = home.rouse(["config", "set", key, value]);
        assert!(set.ok().contains(value) && set.err.contains(text), "{set:#?}");
    }
    let doctor = home.rouse(["doctor"]);
    for (_, _, text) in problems {
        assert!(doctor.out.contains(&format!("✗ {text}")), "no `{text}` in {doctor:#?}");
    }
}

#[tokio::test]
async fn keep_awake_without_system_bus_is_reported() {
    let awake = "[system]\nkeepAwake = true\n";
    let sockets = ["/var/run/dbus/system_bus_socket", "/run/dbus/system_bus_socket"];
    let has_bus = sockets.iter().any(|socket| Path::new(socket).exists());
    let home = TestHome::new().config(awake);
    let engine = home.serve().await;
    let doctor = home.rouse(["doctor"]);
    assert_eq!(doctor.out.contains("✗ system.keepAwake (line 2): "), !has_bus, "{doctor:#?}");
    assert!(engine.stop().success());
    let home = home.env("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nowhere");
    let _engine = home.serve().await;
    let doctor = home.rouse(["doctor"]);
    assert!(!doctor.out.contains("system.keepAwake"), "{doctor:#?}");
}

#[tokio::test]
async fn missing_or_misbound_stored_key_is_reported() {
    let text = "[providers.work]\nkind = \"openai\"\nbaseUrl = \"http://localhost:9/v1\"\nmodel = \"small\"\nkeySecret = \"work\"\n";
    let home = TestHome::new().config(text);
    let _engine = home.serve().await;
    let assert_problem = |home: &TestHome, expected: &str| {
        let key = format!("providers.work.keySecret (line 5): the secret work {expected}");
        let (doctor, status) = (home.rouse(["doctor"]), home.rouse(["status"]));
        assert!(doctor.code == 1 && doctor.out.contains(&format!("✗ {key}")), "{doctor:#?}");
        assert!(!doctor.out.contains("✓ Model"), "{doctor:#?}");
        let model = format!("✗ Model: small · work: {key}");
        assert!(status.ok().contains(&model), "{status:#?}");
    };
    assert_problem(&home, "is not stored;");
    let set = |host| ["secrets", "set", "work", "--host", host];
    home.rouse_with_input(set("llm.example.com"), "abcdefghijklmnop").ok();
    assert_problem(&home, "goes to llm.example.com alone and not to http://localhost:9");
    home.rouse_with_input(set("http://localhost:9"), "abcdefghijklmnop").ok();
    let doctor = home.rouse(["doctor"]);
    assert!(doctor.out.contains("✓ Model: small · work"), "{doctor:#?}");
}

#[tokio::test]
async fn unavailable_stored_key_is_reported_with_its_reason() {
    let text = "[providers.work]\nkind = \"openai\"\nbaseUrl = \"http://localhost:9/v1\"\nmodel = \"small\"\nkeySecret = \"work\"\n";
    let home = TestHome::new().config(text);
    let in_keyring = json!({ "hosts": ["http://localhost:9"], "setAtMs": 1 });
    let kept = json!({ "keyringId": "1", "secrets": { "work": in_keyring } });
    rouse_tests::make_database(&home.data()).await;
    std::fs::write(home.data().join("secrets.json"), kept.to_string()).expect("written");
    let _engine = home.serve().await;
    let error = "is not at hand, because it is in the system's keyring, which is switched off";
    let key = format!("providers.work.keySecret (line 5): the secret work {error}");
    let (doctor, status) = (home.rouse(["doctor"]), home.rouse(["status"]));
    assert!(doctor.code == 1 && doctor.out.contains(&format!("✗ {key}")), "{doctor:#?}");
    assert!(doctor.out.contains(&format!("The secret work {error}")), "{doctor:#?}");
    let model = format!("✗ Model: small · work: {key}");
    assert!(status.ok().contains(&model), "{status:#?}");
    assert!(status.out.contains(&format!("Secrets: The secret work {error}")), "{status:#?}");
}

#[test]
fn serve_on_taken_port_reports_another_port() {
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = other.local_addr().expect("an address").port();
    let home = TestHome::new().config(&format!("[gateway]\nport = {port}\n"));
    let banner = || {
        let mut start = home.command(["serve"]);
        let start = start.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = start.spawn().expect("rouse starts");
        let out = BufReader::new(process.stdout.take().expect("a pipe"));
        let lines = out.lines().map(|line| line.expect("text"));
        let lines: Vec<String> = lines.take_while(|line| !line.starts_with("Stop:")).collect();
        process.kill().expect("ended");
        process.wait().expect("ended");
        lines.join("\n")
    };
    let taken = banner();
    let warning = format!("Port {port} is taken, so Rouse uses another port.");
    assert!(taken.contains("Rouse is ready at"), "{taken}");
    assert_eq!(taken.matches(&warning).count(), 1, "{taken}");
    assert!(!taken.contains("webhooks"), "there are none: {taken}");
    drop(other);
    let free = banner();
    assert!(free.contains(&format!(":{port}")) && !free.contains("taken"), "{free}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn full_disk_is_named_and_leaves_no_partial_change() {
    let home = TestHome::new().config("# mine\n");
    let engine = home.serve().await;
    let new_file = home.data().join("config.new");
    std::os::unix::fs::symlink("/dev/full", &new_file).expect("a link");
    let refused = home.rouse(["config", "set", "cron.maxConcurrentRuns", "5"]);
    refused.assert_error(1, "No space left on device");
    assert!(refused.err.contains("Nothing was changed."), "{refused:#?}");
    assert!(fs::symlink_metadata(&new_file).is_err(), "no partial file");
    assert_eq!(fs::read_to_string(home.data().join("config.toml")).expect("a file"), "# mine\n");
    drop(engine);
}
