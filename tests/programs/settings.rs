//! `rouse config`: the settings of the engine, by the command line; and a file that was changed under it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::engine::Home;

#[tokio::test]
async fn settings_are_read_and_changed_by_key() {
    let home = Home::new().config("# mine\n[cron]\nmaxConcurrentRuns = 3\n");
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
        assert!(all.ok().lines().any(|said| said == line), "no `{line}` in {all:#?}");
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
    ];
    for (key, value, path, expected) in table {
        let said = home.rouse(["config", "set", key, value, "--json"]);
        assert_eq!(said.json().pointer(path), Some(&expected), "{key} {value}: {said:#?}");
        assert_eq!(engine.call("config.get", json!({})).await.pointer(path), Some(&expected));
    }
    assert_eq!(engine.call("cron.status", json!({})).await["enabled"], false, "it is in force");
    assert_eq!(home.rouse(["config", "set", "cron.enabled", "true"]).ok(), "cron.enabled = true\n");
    let file = fs::read_to_string(home.data().join("config.toml")).expect("a file");
    assert!(file.starts_with("# mine\n"), "{file}");
    for (key, value, words) in [
        ("cron.enabled", "maybe", "cron.enabled: expected true or false"),
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
    ] {
        home.rouse(["config", "set", key, value]).refused(2, words);
    }
    let unknown = home.rouse(["config", "get", "cron.maxRuns"]);
    unknown.refused(2, "cron.maxRuns: there is no such setting");
    assert!(unknown.err.contains("cron.maxConcurrentRuns"), "{unknown:#?}");
    home.rouse(["config", "get", "revision"]).refused(2, "there is no such setting");
    for key in ["providers.work.model", "cron.maxRuns"] {
        home.rouse(["config", "set", key, "big"]).refused(2, "there is no such setting");
    }
}

#[tokio::test]
async fn a_provider_of_the_file_is_changed_by_its_name() {
    let provider = "kind = \"openai\"\nbaseUrl = \"http://localhost:9/v1\"\nmodel = \"small\"\n";
    let home = Home::new().config(&format!("[providers.work]\n{provider}"));
    let _engine = home.serve().await;
    let set = home.rouse(["config", "set", "providers.work.model", "big"]);
    assert_eq!(set.ok(), "providers.work.model = big\n");
    assert_eq!(home.rouse(["config", "get", "providers.work.model"]).ok(), "big\n");
    home.rouse(["config", "set", "providers.word.model", "big"]).refused(2, "no such setting");
}

#[tokio::test]
async fn a_file_that_was_changed_under_the_engine_is_told() {
    let home = Home::new();
    let engine = home.serve().await;
    let told = "was changed since the start; restart Rouse to use it";
    assert!(!home.rouse(["status"]).ok().contains(told));
    assert!(!home.rouse(["doctor"]).ok().contains(told));
    fs::write(home.data().join("config.toml"), "[cron]\nmaxConcurrentRuns = 4\n").expect("a file");
    assert!(home.rouse(["status"]).ok().contains(told));
    let doctor = home.rouse(["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains(told), "{doctor:#?}");
    assert!(engine.stop().success());
    let engine = home.serve().await;
    assert!(!home.rouse(["status"]).ok().contains(told));
    drop(engine);
}

#[tokio::test]
async fn a_key_that_nobody_knows_is_told_wherever_settings_are() {
    let text = "colour = \"blue\" # mine\n[heartbeat]\nevry = \"10m\"\n";
    let home = Home::new().config(text);
    let evry =
        "heartbeat.evry (line 3) is not a setting and has no effect; did you mean heartbeat.every?";
    let colour = "colour (line 1) is not a setting and has no effect; known here: budget, cron,";
    let off = home.rouse(["doctor"]);
    assert!(off.out.contains(evry) && off.out.contains(colour), "{off:#?}");

    let engine = home.serve().await;
    let doctor = home.rouse(["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains(evry), "{doctor:#?}");
    let get = home.rouse(["config", "get"]);
    assert!(get.ok().contains("heartbeat.every = 30 min"), "{get:#?}");
    assert!(get.err.contains(evry) && get.err.contains(colour), "{get:#?}");
    assert!(get.err.contains("config.toml"), "{get:#?}");
    home.rouse(["config", "get", "heartbeat.evry"]).refused(2, evry);
    let keys = engine.call("config.get", json!({})).await["unknownKeys"].clone();
    let told = |index: usize| (&keys[index]["key"], &keys[index]["line"], &keys[index]["nearest"]);
    assert_eq!(told(0), (&json!("colour"), &json!(1), &Value::Null));
    assert_eq!(told(1), (&json!("heartbeat.evry"), &json!(3), &json!("heartbeat.every")));
    let log = home.rouse(["logs"]);
    assert!(log.ok().contains(evry), "{log:#?}");

    home.rouse(["config", "set", "heartbeat.every", "45m"]).ok();
    let file = fs::read_to_string(home.data().join("config.toml")).expect("a file");
    assert_eq!(file, format!("{text}every = \"45m\"\n"));
    drop(engine);
}

#[tokio::test]
async fn a_wrong_value_in_the_file_is_told_with_its_line_before_and_after_the_start() {
    let home = Home::new()
        .config("[heartbeat]\nevery = \"soon\"\n[quietHours]\nfrom = \"22\"\nto = \"07:00\"\n");
    let said = [
        "config.toml",
        "heartbeat.every (line 2): expected a number with a unit such as `30m`, found `soon`",
        "quietHours.from (line 4): expected a time of day such as 07:00, found `22`",
    ];
    let doctor = home.rouse(["doctor"]);
    assert!(said.iter().all(|words| doctor.out.contains(words)), "{doctor:#?}");
    let serve = home.rouse(["serve"]);
    assert!(serve.code == 2 && said.iter().all(|words| serve.err.contains(words)), "{serve:#?}");

    let home = Home::new();
    let engine = home.serve().await;
    fs::write(home.data().join("config.toml"), "[heartbeat]\nevery = 5\n").expect("a file");
    let get = home.rouse(["config", "get"]);
    assert!(get.err.contains("heartbeat.every (line 2): expected a text"), "{get:#?}");
    home.rouse(["config", "set", "cron.enabled", "true"]).refused(5, "heartbeat.every (line 2)");
    drop(engine);
}

#[tokio::test]
async fn a_workspace_that_cannot_be_is_refused_and_named_where_it_stands() {
    let home = Home::new();
    let engine = home.serve().await;
    let (here, file) = (home.beside("here"), home.beside("file"));
    fs::write(&file, "x").expect("a file");
    for (path, why) in [
        ("/proc/nope/x", "workspace: /proc/nope/x is not there and cannot be made: "),
        (file.to_str().expect("text"), "is no folder"),
        ("./notes", "workspace: ./notes is another folder wherever Rouse is started"),
    ] {
        home.rouse(["config", "set", "workspace", path]).refused(2, why);
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
    let why = "workspace (line 2): /proc/nope/x is not there and cannot be made: No such file";
    let doctor = home.rouse(["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains(&format!("✗ {why}")), "{doctor:#?}");
    let start = home.rouse(["serve", "--port", "0"]);
    assert!(start.code == 2 && start.err.contains(why), "{start:#?}");
    for part in ["config.toml", "Name another folder there, or take the key out"] {
        assert!(start.err.contains(part), "no `{part}` in {start:#?}");
    }
    let by_variable = home.env("FILE_WORKSPACE_ROOT", "/proc/nope/y");
    let start = by_variable.rouse(["serve", "--port", "0"]);
    assert!(start.err.contains("workspace: /proc/nope/y is not there"), "{start:#?}");
    assert!(start.err.contains("(FILE_WORKSPACE_ROOT names it)"), "{start:#?}");
}

#[tokio::test]
async fn a_provider_that_nobody_is_called_is_told_wherever_the_model_is() {
    let work = "[providers.work]\nkind = \"openai\"\nbaseUrl = \"http://localhost:9/v1\"\nmodel = \"small\"\n";
    let home = Home::new().config(work);
    let engine = home.serve().await;
    let why = "there is no [providers.wrk]; did you mean work?";
    home.rouse(["config", "set", "model.provider", "wrk"]).refused(2, why);
    for name in ["work", "ollama", "anthropic"] {
        home.rouse(["config", "set", "model.provider", name]).ok();
    }
    assert!(engine.stop().success());

    home.write_config(&format!("[model]\nprovider = \"wrk\"\n{work}"));
    let told = format!("model.provider (line 2): {why}");
    let off = home.rouse(["doctor"]);
    assert!(off.out.contains(&format!("✗ {told}")), "{off:#?}");
    let engine = home.serve().await;
    let doctor = home.rouse(["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains(&format!("✗ {told}")), "{doctor:#?}");
    assert!(!doctor.out.contains("No model yet"), "{doctor:#?}");
    let status = home.rouse(["status"]);
    assert!(status.ok().contains(&format!("✗ No model: {told}")), "{status:#?}");
    let log = home.rouse(["logs"]);
    assert!(log.ok().contains(&told), "{log:#?}");
    let get = home.rouse(["config", "get", "model.provider"]);
    assert!(get.ok() == "wrk\n" && get.err.contains(&told), "{get:#?}");
    let trouble = engine.call("config.get", json!({})).await["troubles"][0].clone();
    assert_eq!(trouble, json!({ "key": "model.provider", "line": 2, "text": told }));
    let add = ["cron", "add", "--name", "a", "--every", "1h", "--message", "hi", "--json"];
    let added = home.rouse(add).json();
    assert!(added["warnings"].to_string().contains(why), "{added}");
    let id = added["job"]["id"].as_str().expect("an id");
    engine.run_now(id).await;
    let run = engine.ended(id, 1).await.remove(0);
    assert!(run["state"] == "failed" && run["error"].to_string().contains(why), "{run}");
    home.rouse(["chat", "hello"]).refused(5, why);
}

#[tokio::test]
async fn missing_search_key_is_found_by_doctor() {
    for (search, told) in [
        ("keySecret = \"tavily\"", "✗ search.keySecret (line 3)"),
        ("", "✗ search.keyEnv (line 1): TAVILY_API_KEY is not set"),
    ] {
        let home = Home::new().config(&format!("[search]\nprovider = \"tavily\"\n{search}\n"));
        let _engine = home.serve().await;
        let doctor = home.rouse(["doctor"]);
        assert!(doctor.out.contains(told), "no `{told}` in {doctor:#?}");
    }
}

#[tokio::test]
async fn a_key_that_is_not_set_and_a_hook_that_is_not_there_are_told() {
    let text = "[providers.work]\nkind = \"openai\"\nbaseUrl = \"http://localhost:9/v1\"\nmodel = \"small\"\nkeyEnv = \"WORK_LLM_KEY\"\n[[hooks]]\non = \"run_started\"\ncommand = [\"/nope/guard\"]\n[[hooks]]\non = \"run_started\"\ncommand = [\"no-such-program-here\"]\n[[hooks]]\non = \"run_started\"\ncommand = [\"sh\"]\n";
    let home = Home::new().config(text);
    let engine = home.serve().await;
    let key = "providers.work.keyEnv (line 5): WORK_LLM_KEY is not set";
    let hooks = [
        "hooks[0].command (line 8): there is no program /nope/guard",
        "hooks[1].command (line 11): there is no program no-such-program-here in the folders of PATH",
    ];
    let doctor = home.rouse(["doctor"]);
    for told in hooks.iter().chain([&key]) {
        assert!(doctor.out.contains(&format!("✗ {told}")), "no `{told}` in {doctor:#?}");
    }
    assert!(doctor.code == 1 && !doctor.out.contains("✓ Model"), "{doctor:#?}");
    assert!(!doctor.out.contains("hooks[2]"), "{doctor:#?}");
    let status = home.rouse(["status"]);
    assert!(status.ok().contains(&format!("✗ Model: small · work: {key}")), "{status:#?}");
    let listed = home.rouse(["hooks"]);
    listed.ok();
    for told in hooks {
        assert!(listed.err.contains(told), "no `{told}` in {listed:#?}");
    }
    assert!(engine.stop().success());

    let home = home.env("WORK_LLM_KEY", "abcdefghijklmnop");
    let _engine = home.serve().await;
    let doctor = home.rouse(["doctor"]);
    assert!(doctor.out.contains("✓ Model: small · work"), "{doctor:#?}");
}

#[tokio::test]
async fn what_the_turns_of_main_would_lack_is_told() {
    let work = "[providers.work]\nkind = \"openai\"\nbaseUrl = \"http://localhost:9/v1\"\nmodel = \"small\"\n";
    let home = Home::new().config(work);
    let _engine = home.serve().await;
    assert!(!home.rouse(["doctor"]).out.contains("heartbeat."), "nothing is named");
    let told = [
        (
            "heartbeat.model",
            "anthropic:big",
            "heartbeat.model: `anthropic:big` is of the provider anthropic",
        ),
        ("heartbeat.skills", "gone", "heartbeat.skills[0]: "),
    ];
    for (key, value, words) in told {
        let set = home.rouse(["config", "set", key, value]);
        assert!(set.ok().contains(value) && set.err.contains(words), "{set:#?}");
    }
    let doctor = home.rouse(["doctor"]);
    for (_, _, words) in told {
        assert!(doctor.out.contains(&format!("✗ {words}")), "no `{words}` in {doctor:#?}");
    }
}

#[tokio::test]
async fn a_computer_that_nobody_can_keep_awake_is_told() {
    let awake = "[system]\nkeepAwake = true\n";
    let sockets = ["/var/run/dbus/system_bus_socket", "/run/dbus/system_bus_socket"];
    let has_bus = sockets.iter().any(|socket| Path::new(socket).exists());
    let home = Home::new().config(awake);
    let engine = home.serve().await;
    let doctor = home.rouse(["doctor"]);
    assert_eq!(doctor.out.contains("✗ system.keepAwake (line 2): "), !has_bus, "{doctor:#?}");
    assert!(engine.stop().success());
    let home = home.env("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nowhere");
    let _engine = home.serve().await;
    let doctor = home.rouse(["doctor"]);
    assert!(!doctor.out.contains("system.keepAwake"), "it is looked for there: {doctor:#?}");
}

#[tokio::test]
async fn a_stored_key_that_is_missing_or_for_another_host_is_told() {
    let text = "[providers.work]\nkind = \"openai\"\nbaseUrl = \"http://localhost:9/v1\"\nmodel = \"small\"\nkeySecret = \"work\"\n";
    let home = Home::new().config(text);
    let _engine = home.serve().await;
    let told = |home: &Home, words: &str| {
        let key = format!("providers.work.keySecret (line 5): the secret work {words}");
        let (doctor, status) = (home.rouse(["doctor"]), home.rouse(["status"]));
        assert!(doctor.code == 1 && doctor.out.contains(&format!("✗ {key}")), "{doctor:#?}");
        assert!(!doctor.out.contains("✓ Model"), "{doctor:#?}");
        let model = format!("✗ Model: small · work: {key}");
        assert!(status.ok().contains(&model), "{status:#?}");
    };
    told(&home, "is not stored;");
    let set = |host| ["secrets", "set", "work", "--host", host];
    home.rouse_reading(set("llm.example.com"), "abcdefghijklmnop").ok();
    told(&home, "goes to llm.example.com alone and not to http://localhost:9");
    home.rouse_reading(set("http://localhost:9"), "abcdefghijklmnop").ok();
    let doctor = home.rouse(["doctor"]);
    assert!(doctor.out.contains("✓ Model: small · work"), "{doctor:#?}");
}

#[tokio::test]
async fn a_stored_key_that_cannot_be_fetched_is_told_with_the_reason() {
    let text = "[providers.work]\nkind = \"openai\"\nbaseUrl = \"http://localhost:9/v1\"\nmodel = \"small\"\nkeySecret = \"work\"\n";
    let home = Home::new().config(text);
    let in_keyring = json!({ "hosts": ["http://localhost:9"], "setAtMs": 1 });
    let kept = json!({ "keyringId": "1", "secrets": { "work": in_keyring } });
    rouse_tests::make_database(&home.data()).await;
    std::fs::write(home.data().join("secrets.json"), kept.to_string()).expect("written");
    let _engine = home.serve().await;
    let why = "is not at hand, because it is in the system's keyring, which is switched off";
    let key = format!("providers.work.keySecret (line 5): the secret work {why}");
    let (doctor, status) = (home.rouse(["doctor"]), home.rouse(["status"]));
    assert!(doctor.code == 1 && doctor.out.contains(&format!("✗ {key}")), "{doctor:#?}");
    assert!(doctor.out.contains(&format!("The secret work {why}")), "{doctor:#?}");
    let model = format!("✗ Model: small · work: {key}");
    assert!(status.ok().contains(&model), "{status:#?}");
    assert!(status.out.contains(&format!("Secrets: The secret work {why}")), "{status:#?}");
}

#[test]
fn a_start_that_found_its_port_taken_says_so() {
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = other.local_addr().expect("an address").port();
    let home = Home::new().config(&format!("[gateway]\nport = {port}\n"));
    let banner = || {
        let mut start = home.command(["serve"]);
        let start = start.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = start.spawn().expect("rouse starts");
        let out = BufReader::new(process.stdout.take().expect("a pipe"));
        let lines = out.lines().map(|line| line.expect("text"));
        let said: Vec<String> = lines.take_while(|line| !line.starts_with("Stop:")).collect();
        process.kill().expect("ended");
        process.wait().expect("ended");
        said.join("\n")
    };
    let taken = banner();
    let told = format!("Port {port} is taken, so this is another one.");
    assert!(taken.contains("Rouse is ready at"), "{taken}");
    assert_eq!(taken.matches(&told).count(), 1, "{taken}");
    assert!(!taken.contains("webhooks"), "there are none: {taken}");
    drop(other);
    let free = banner();
    assert!(free.contains(&format!(":{port}")) && !free.contains("taken"), "{free}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_is_named_and_nothing_is_left_of_the_change() {
    let home = Home::new().config("# mine\n");
    let engine = home.serve().await;
    let beside = home.data().join("config.new");
    std::os::unix::fs::symlink("/dev/full", &beside).expect("a link");
    let refused = home.rouse(["config", "set", "cron.maxConcurrentRuns", "5"]);
    refused.refused(1, "No space left on device");
    assert!(refused.err.contains("Nothing was changed."), "{refused:#?}");
    assert!(fs::symlink_metadata(&beside).is_err(), "it was left behind");
    assert_eq!(fs::read_to_string(home.data().join("config.toml")).expect("a file"), "# mine\n");
    drop(engine);
}
