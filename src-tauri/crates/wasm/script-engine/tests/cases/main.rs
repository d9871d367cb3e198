//! The committed engine against the cases in `engine/cases`, and against hostile tools.
//!
//! Owns the runs with the wasmtime of the builder; the crate's own tests run the same cases in its sandbox.

mod fake_host;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use wasmtime::component::{Component, Linker};
use wasmtime::{Config, Engine, Store, StoreLimitsBuilder};

use fake_host::{FakeHost, ScriptEngine};

/// What a call gives back.
struct CallOutput {
    result: Result<String, String>,
    log: Vec<String>,
}

fn engine_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The compiled engine, once for all tests.
fn component() -> &'static Component {
    static COMPONENT: OnceLock<Component> = OnceLock::new();
    COMPONENT.get_or_init(|| {
        let mut config = Config::new();
        config.consume_fuel(true);
        let engine = Engine::new(&config).expect("a supported configuration");
        Component::from_file(&engine, engine_folder().join("script_engine.wasm"))
            .expect("a valid component")
    })
}

/// Runs a tool in a fresh instance. The outer error is a trap.
fn call(source: &str, arguments: &str) -> wasmtime::Result<CallOutput> {
    let engine = component().engine();
    let mut linker = Linker::new(engine);
    FakeHost::add_to(&mut linker)?;
    let mut host: FakeHost = serde_json::from_str(&read(&engine_folder().join("cases/host.json")))?;
    host.limits = StoreLimitsBuilder::new().memory_size(64 << 20).build();
    let mut store = Store::new(engine, host);
    store.limiter(|host| &mut host.limits);
    store.set_fuel(20_000_000_000)?;
    let instance = ScriptEngine::instantiate(&mut store, component(), &linker)?;
    let result = instance.call_run(&mut store, source, arguments)?;
    Ok(CallOutput { result, log: store.into_data().log })
}

/// Runs a tool that must not trap.
#[track_caller]
fn result_of(source: &str) -> Result<String, String> {
    call(source, "{}").expect("no trap").result
}

/// The differences of a case from its expected files.
fn differences(case: &Path) -> Vec<String> {
    let sibling = |ending: &str| case.with_extension(ending);
    let text = |path: PathBuf| path.exists().then(|| read(&path).trim_end().to_owned());
    let arguments = text(sibling("args.json")).unwrap_or_else(|| "{}".to_owned());
    let output = match call(&read(case), &arguments) {
        Ok(output) => output,
        Err(trap) => return vec![format!("{}: trap: {trap:?}", case.display())],
    };
    let mut found = Vec::new();
    let mut compare = |what: &str, actual: String, expected: String| {
        if actual != expected {
            found.push(format!(
                "{} {what}\n  is       {actual}\n  expected {expected}",
                case.display()
            ));
        }
    };
    match (text(sibling("json")), text(sibling("txt"))) {
        (Some(expected), None) => {
            let plain = |json: &str| serde_json::from_str::<serde_json::Value>(json).ok();
            let expected = plain(&expected).expect("an expected result is JSON");
            let actual = output.result.as_deref().ok().and_then(plain);
            let shown = actual.map_or(format!("{:?}", output.result), |value| value.to_string());
            compare("result", shown, expected.to_string());
        }
        (None, Some(expected)) => {
            compare("error", output.result.err().unwrap_or_default(), expected);
        }
        _ => panic!("{}: needs either .json or .txt", case.display()),
    }
    if let Some(expected) = text(sibling("log.txt")) {
        compare("log", output.log.join("\n"), expected);
    }
    found
}

#[test]
fn every_case_gives_its_expected_output() {
    let entries = fs::read_dir(engine_folder().join("cases")).expect("the folder of cases");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let cases: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "js")).collect();
    assert!(cases.len() > 20, "only {} cases", cases.len());
    let found: Vec<String> = cases.iter().flat_map(|case| differences(case)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn engine_imports_only_the_world() {
    let ty = component().component_type();
    let engine = component().engine();
    let mut names: Vec<&str> = ty.imports(engine).map(|(name, _)| name).collect();
    names.sort_unstable();
    let world = ["clock", "files", "http", "log", "random"];
    assert_eq!(names, world.map(|name| format!("rouse:tool/{name}@0.1.0")));
}

#[test]
fn error_text_has_at_most_4_kb() {
    for letter in ["a", "ä", "€", "😀"] {
        let source = format!("function run() {{ throw new Error('{letter}'.repeat(100000)); }}");
        let text = result_of(&source).expect_err("a thrown error");
        assert!(text.len() <= 4096 && text.len() > 4080, "{} bytes", text.len());
        assert!(text.ends_with('…') && !text.contains('\u{fffd}'));
    }
}

#[test]
fn odd_thrown_values_give_an_error_text() {
    let values = [
        "undefined",
        "null",
        "Symbol('s')",
        "1n",
        "{ toJSON() { throw 1; } }",
        "Object.create(null)",
        "new Proxy({}, { getPrototypeOf() { throw 1; } })",
        "Object.defineProperty(new Error('x'), 'stack', { get() { throw 1; } })",
        "Object.defineProperty(new Error('x'), 'message', { value: Symbol('s') })",
        "Object.defineProperty(new Error('x'), 'name', { get() { throw 1; } })",
        "'\\ud800'",
        "(() => { const a = {}; a.a = a; return a; })()",
        "() => 1",
    ];
    for value in values {
        let text = result_of(&format!("function run() {{ throw {value}; }}"));
        assert!(text.as_ref().is_err_and(|text| !text.is_empty()), "{value}: {text:?}");
    }
}

#[test]
fn changed_globals_do_not_break_the_engine() {
    let source = "function run() {
        for (const prototype of [String, Array, Object, RegExp, Map].map((one) => one.prototype)) {
            for (const name of Object.getOwnPropertyNames(prototype)) {
                try { prototype[name] = () => { throw 1; }; } catch {}
            }
        }
        JSON.stringify = undefined;
        throw new Error('x');
    }";
    assert!(result_of(source).is_err());
}

#[test]
fn memory_limit_ends_a_call_but_not_the_host() {
    let hoard =
        "function run() { const all = []; for (;;) all.push('x'.repeat(100000) + all.length); }";
    let output = call(hoard, "{}");
    assert!(output.is_err() || output.is_ok_and(|output| output.result.is_err()));
    assert_eq!(result_of("function run() { return 1; }"), Ok("1".to_owned()));
}

#[test]
fn deep_recursion_ends_a_call_but_not_the_host() {
    let output = call("function run() { return run() + 1; }", "{}");
    assert!(output.is_err() || output.is_ok_and(|output| output.result.is_err()));
    assert_eq!(result_of("function run() { return 1; }"), Ok("1".to_owned()));
}

#[test]
fn megabyte_of_json_comes_back_unchanged() {
    let items: Vec<_> = (0..10_000)
        .map(|id| serde_json::json!({ "id": id, "name": format!("Ünit {id}"), "tags": ["a", null, 1.5, true] }))
        .collect();
    let arguments = serde_json::Value::from(items);
    let output = call("export default (args) => args;", &arguments.to_string()).expect("no trap");
    let result: serde_json::Value =
        serde_json::from_str(&output.result.expect("a result")).expect("JSON");
    assert_eq!(result, arguments);
}
