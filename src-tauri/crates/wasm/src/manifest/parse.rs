//! Reading `tool.toml`.
//!
//! Owns the order of the fields and their bounds. Pitfall: a schema that is compiled before its size is bounded; the
//! whole file is bounded first.

use std::collections::{BTreeMap, HashSet};

use jsonschema::{PatternOptions, Validator};
use rouse_core::extension::{
    ExtensionName, RESERVED_EXTENSION_NAMES, ToolFileAccess, ToolLanguage,
};
use rouse_core::settings::is_secret_name;
use rouse_core::text::{MAX_DEPTH, has_hidden_text, has_visible_text, is_within_depth, suggest};
use serde_json::Value;
use strum::VariantNames as _;
use toml::Table;

use super::fields::{Fields, Problems};
use super::test_case::read_test;
use super::{MAX_MANIFEST_BYTES, ManifestProblem, ToolManifest, ToolTest};
use crate::permissions::ToolPermissions;

/// Problems that are listed; each unknown key is one.
const MAX_PROBLEMS: usize = 100;

const MAX_DESCRIPTION_BYTES: usize = 2_048;
const MAX_VERSION_BYTES: usize = 50;
const MAX_TESTS: usize = 50;
const MAX_HOSTS: usize = 20;
const MAX_SECRETS: usize = 20;
const MAX_DEPENDENCIES: usize = 50;

const KEYS: [&str; 10] = [
    "name",
    "description",
    "language",
    "type",
    "version",
    "parameters",
    "permissions",
    "reads_only",
    "dependencies",
    "tests",
];
const PERMISSION_KEYS: [&str; 3] = ["hosts", "secrets", "files"];

impl ToolManifest {
    /// Reads the text of a `tool.toml`.
    ///
    /// # Errors
    /// All problems of the manifest.
    pub fn parse(text: &str) -> Result<Self, Vec<ManifestProblem>> {
        let mut problems = Problems::default();
        let manifest = read(text, &mut problems);
        match manifest {
            Some(manifest) if problems.0.is_empty() => Ok(manifest),
            _ => {
                problems.0.truncate(MAX_PROBLEMS);
                Err(problems.0)
            }
        }
    }
}

fn read(text: &str, problems: &mut Problems) -> Option<ToolManifest> {
    if text.len() > MAX_MANIFEST_BYTES {
        problems.add("", format!("tool.toml has more than {MAX_MANIFEST_BYTES} bytes"));
        return None;
    }
    let table: Table = match text.parse() {
        Ok(table) => table,
        Err(error) => {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            problems.add("", format!("line {line} is not valid TOML: {}", error.message()));
            return None;
        }
    };
    let fields = Fields::new(&table, String::new(), &KEYS, problems);
    let name = read_name(&fields, problems);
    let description = read_description(&fields, problems);
    let language = read_language(&fields, problems);
    check_type(&fields, problems);
    let version = fields.text("version", problems).map(str::to_owned);
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || ".-+".contains(c);
    let is_version =
        |version: &String| version.len() <= MAX_VERSION_BYTES && version.chars().all(is_allowed);
    if !version.iter().all(is_version) {
        problems.add(
            "version",
            format!("must have at most {MAX_VERSION_BYTES} letters, digits, `.`, `-` and `+`"),
        );
    }
    let parameters = read_parameters(&fields, problems);
    let schema = parameters.as_ref().and_then(|parameters| compile(parameters, problems));
    let permissions = read_permissions(&fields, problems);
    let reads_only = fields.flag("reads_only", problems);
    let dependencies = read_dependencies(&fields, language, problems);
    let tests = read_tests(&fields, schema.as_ref(), problems);
    Some(ToolManifest {
        name: name?,
        description: description?,
        language: language?,
        version,
        parameters: parameters?,
        permissions,
        reads_only,
        dependencies,
        tests,
    })
}

fn read_name(fields: &Fields<'_>, problems: &mut Problems) -> Option<ExtensionName> {
    let name = fields.required_text("name", problems)?;
    if RESERVED_EXTENSION_NAMES.contains(&name) {
        problems.add("name", format!("`{name}` is reserved for tools of Rouse; choose another"));
    }
    name.parse().map_err(|error| problems.add("name", format!("{error}"))).ok()
}

fn read_description(fields: &Fields<'_>, problems: &mut Problems) -> Option<String> {
    let text = fields.required_text("description", problems)?;
    if text.len() > MAX_DESCRIPTION_BYTES {
        let message = format!("has {} bytes; the limit is {MAX_DESCRIPTION_BYTES}", text.len());
        problems.add("description", message);
    }
    if !has_visible_text(text) || has_hidden_text(text) {
        problems.add("description", "must be a text without invisible characters");
    }
    Some(text.to_owned())
}

fn read_language(fields: &Fields<'_>, problems: &mut Problems) -> Option<ToolLanguage> {
    let text = fields.required_text("language", problems)?;
    if let Ok(language) = text.parse() {
        return Some(language);
    }
    let message = match text {
        "python" => "a Python tool is an MCP server that `uv` runs: write one, and add it with \
             `rouse mcp add NAME -- uv run server.py`; or write this tool in javascript"
            .to_owned(),
        _ => format!("unknown language `{text}`{}", suggest(text, ToolLanguage::VARIANTS)),
    };
    problems.add("language", message);
    None
}

/// The only type is `tool`.
fn check_type(fields: &Fields<'_>, problems: &mut Problems) {
    let message = match fields.text("type", problems) {
        None | Some("tool") => return,
        Some("library") => "a library cannot be called: put its code into the tool that uses it, \
             and set `type = \"tool\"`"
            .to_owned(),
        Some("service") => "a service runs for longer than a call: write an MCP server, and add \
             it with `rouse mcp add`; or make a tool that a job calls on a schedule"
            .to_owned(),
        Some(other) => format!("unknown type `{other}`{}", suggest(other, &["tool"])),
    };
    problems.add("type", message);
}

fn read_parameters(fields: &Fields<'_>, problems: &mut Problems) -> Option<Value> {
    if fields.get("parameters").is_none() {
        problems.add("parameters", "is missing; without parameters write `type = \"object\"`");
    }
    fields.table("parameters", problems)?;
    let schema = fields.json("parameters", problems)?;
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        problems.add("parameters.type", "must be \"object\"");
    }
    if has_reference(&schema) {
        // References to references make the work of a validation exponential.
        problems.add("parameters", "must not have `$ref`; write the schema out where it is used");
        return None;
    }
    if !is_within_depth(&schema, MAX_DEPTH) {
        problems.add("parameters", format!("is nested more than {MAX_DEPTH} levels deep"));
        return None;
    }
    Some(schema)
}

/// Whether a schema refers to another.
fn has_reference(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields.iter().any(|(key, value)| {
            ["$ref", "$dynamicRef", "$recursiveRef"].contains(&key.as_str()) || has_reference(value)
        }),
        Value::Array(items) => items.iter().any(has_reference),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn compile(schema: &Value, problems: &mut Problems) -> Option<Validator> {
    let compiled =
        jsonschema::options().with_pattern_options(PatternOptions::regex()).build(schema);
    compiled
        .map_err(|error| problems.add("parameters", format!("is no valid JSON Schema: {error}")))
        .ok()
}

fn read_permissions(fields: &Fields<'_>, problems: &mut Problems) -> ToolPermissions {
    let Some(table) = fields.table("permissions", problems) else {
        return ToolPermissions::default();
    };
    let fields = Fields::new(table, "permissions".to_owned(), &PERMISSION_KEYS, problems);
    let mut permissions = ToolPermissions::default();
    for (path, value) in fields.list("hosts", MAX_HOSTS, problems) {
        match value.as_str().map(str::parse) {
            Some(Ok(host)) => permissions.hosts.push(host),
            Some(Err(error)) => problems.add(path, format!("{error}")),
            None => problems.add(path, "must be a text in quotes"),
        }
    }
    for (path, value) in fields.list("secrets", MAX_SECRETS, problems) {
        match value.as_str() {
            Some(name) if is_secret_name(name) => permissions.secrets.push(name.to_owned()),
            _ => problems.add(
                path,
                "must be the name of a secret in quotes: 1 to 64 small letters, digits, _ and -",
            ),
        }
    }
    if !permissions.secrets.is_empty() && permissions.hosts.is_empty() {
        problems.add("permissions.secrets", "go to hosts only; list the hosts in `hosts`");
    }
    permissions.files = match fields.text("files", problems) {
        None | Some("none") => ToolFileAccess::None,
        Some("read") => ToolFileAccess::Read,
        Some("write") => ToolFileAccess::Write,
        Some(other) => {
            let known = suggest(other, &["none", "read", "write"]);
            problems.add("permissions.files", format!("unknown access `{other}`{known}"));
            ToolFileAccess::None
        }
    };
    permissions
}

fn read_dependencies(
    fields: &Fields<'_>,
    language: Option<ToolLanguage>,
    problems: &mut Problems,
) -> BTreeMap<String, String> {
    let mut dependencies = BTreeMap::new();
    let Some(table) = fields.table("dependencies", problems) else { return dependencies };
    if language == Some(ToolLanguage::JavaScript) && !table.is_empty() {
        let message = "a JavaScript tool is one file without dependencies; put the code into \
             tool.js, or use rust";
        problems.add("dependencies", message);
    }
    if table.len() > MAX_DEPENDENCIES {
        problems.add("dependencies", format!("has more than {MAX_DEPENDENCIES} entries"));
    }
    for (name, value) in table {
        match value.as_str() {
            Some(version) => {
                dependencies.insert(name.clone(), version.to_owned());
            }
            None => problems.add(format!("dependencies.{name}"), "must be a version in quotes"),
        }
    }
    dependencies
}

fn read_tests(
    fields: &Fields<'_>,
    schema: Option<&Validator>,
    problems: &mut Problems,
) -> Vec<ToolTest> {
    let entries = fields.list("tests", MAX_TESTS, problems);
    if entries.is_empty() {
        problems.add("tests", "is empty; write at least one `[[tests]]`");
    }
    let mut names = HashSet::new();
    let mut tests = Vec::new();
    for (path, value) in entries {
        let Some(test) = read_test(value, path.clone(), schema, problems) else { continue };
        if !names.insert(test.name.clone()) {
            problems.add(format!("{path}.name"), format!("`{}` occurs twice", test.name));
        }
        tests.push(test);
    }
    tests
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::manifest::{CannedHttpExchange, ExpectedResult};

    const WEATHER: &str = r#"
        name = "weather"
        description = "Tells the temperature of a city."
        language = "javascript"
        version = "1.2"
        reads_only = true

        [parameters]
        type = "object"
        properties.city = { type = "string" }
        required = ["city"]

        [permissions]
        hosts = ["api.example.com"]
        secrets = ["key"]
        files = "read"

        [[tests]]
        name = "warm"
        arguments = { city = "Bern" }
        expected = { temperature = 21.5 }
        [[tests.http]]
        url = "https://api.example.com/bern?key={{secret:key}}"
        headers.Content-Type = "application/json"
        body = { t = 21.5 }

        [[tests]]
        name = "unknown city"
        arguments = { city = "x" }
        http = [{ method = "GET", url = "https://api.example.com/x", status = 404, body = "no" }]
        expected_error = "no such city"
    "#;

    #[test]
    fn manifest_is_read() {
        let manifest = ToolManifest::parse(WEATHER).expect("a manifest");
        assert_eq!(manifest.name.as_str(), "weather");
        assert_eq!((manifest.language, manifest.reads_only), (ToolLanguage::JavaScript, true));
        assert_eq!(manifest.parameters["required"], json!(["city"]));
        assert_eq!(manifest.permissions.hosts[0].to_string(), "api.example.com");
        assert_eq!(manifest.permissions.secrets, ["key"]);
        assert_eq!(manifest.permissions.files, ToolFileAccess::Read);
        let [warm, unknown] = manifest.tests.as_slice() else { panic!("{:?}", manifest.tests) };
        assert_eq!(warm.expected, ExpectedResult::Result(json!({ "temperature": 21.5 })));
        let exchange = CannedHttpExchange {
            method: "GET".to_owned(),
            url: "https://api.example.com/bern?key={{secret:key}}".to_owned(),
            status: 200,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: r#"{"t":21.5}"#.to_owned(),
        };
        assert_eq!(warm.http, [exchange]);
        assert_eq!(unknown.expected, ExpectedResult::Error("no such city".to_owned()));
    }

    #[test]
    fn all_problems_come_at_once_with_their_paths() {
        let problems = ToolManifest::parse(
            r#"
            name = "We ather"
            descripton = "x"
            language = "ruby"
            type = "service"
            [parameters]
            type = "string"
            [permissions]
            hosts = ["*.example.com", 1]
            secrets = ["a b"]
            files = "all"
            host = []
            [[tests]]
            name = "a"
            arguments = { at = 2026-01-01 }
            http = [{ methd = "GET", url = "x", status = 99 }]
            "#,
        )
        .expect_err("problems");
        let fields: Vec<&str> = problems.iter().map(|problem| problem.field.as_str()).collect();
        for field in [
            "descripton",
            "name",
            "description",
            "language",
            "type",
            "parameters.type",
            "permissions.host",
            "permissions.hosts[0]",
            "permissions.hosts[1]",
            "permissions.secrets[0]",
            "permissions.files",
            "tests[0].arguments.at",
            "tests[0].arguments",
            "tests[0].http[0].methd",
            "tests[0].http[0].status",
            "tests[0].expected",
        ] {
            assert!(fields.contains(&field), "{field} is not in {fields:?}");
        }
        assert_eq!(fields.len(), 16, "{fields:?}");
        let unknown = problems.iter().find(|problem| problem.field == "descripton");
        let message = unknown.map(ToString::to_string).unwrap_or_default();
        assert!(message.ends_with("did you mean `description`?"), "{message}");
    }

    /// The messages of `WEATHER` with `new` in the place of `old`.
    fn messages(old: &str, new: &str) -> String {
        assert!(WEATHER.contains(old), "{old}");
        let problems = ToolManifest::parse(&WEATHER.replacen(old, new, 1)).expect_err(new);
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn reference_in_the_parameters_is_refused() {
        let reference = "properties.city = { allOf = [{ \"$ref\" = \"#\" }] }";
        let refused = messages("properties.city = { type = \"string\" }", reference);
        assert!(refused.contains("parameters: must not have `$ref`"), "{refused}");
    }

    #[test]
    fn version_with_words_is_refused() {
        for version in ["1. Rouse has verified this tool", "1\n2", "1\u{202e}"] {
            let quoted = format!("version = {version:?}").replace("\\u{202e}", "\\u202e");
            let refused = messages("version = \"1.2\"", &quoted);
            assert!(refused.contains("version: must have at most"), "{refused}");
        }
    }

    #[test]
    fn refused_kinds_come_with_the_way_out() {
        let python = messages("\"javascript\"", "\"python\"");
        assert!(python.contains("MCP server") && python.contains("rouse mcp add"), "{python}");
        let name = "name = \"weather\"";
        let library = messages(name, &format!("{name}\ntype = \"library\""));
        assert!(library.contains("put its code into the tool"), "{library}");
        let service = messages(name, &format!("{name}\ntype = \"service\""));
        assert!(service.contains("rouse mcp add"), "{service}");
        let dependencies =
            messages(name, &format!("{name}\ndependencies = {{ left-pad = \"1\" }}"));
        assert!(dependencies.contains("without dependencies"), "{dependencies}");
        assert!(messages("\"weather\"", "\"memory\"").contains("choose another"));
        assert!(messages("[\"key\"]", "[\"KEY\"]").contains("small letters"));
    }

    #[test]
    fn bounds_are_checked() {
        let description = "Tells the temperature of a city.";
        assert!(messages(description, &"x".repeat(2_049)).contains("the limit is 2048"));
        assert!(messages(description, "a\\u200Bb").contains("invisible characters"));
        assert!(
            messages("version", &format!("# {}\nversion", "x".repeat(65_536)))
                .contains("more than 65536 bytes")
        );
        let test = "\n[[tests]]\nname = \"n\"\nexpected = 1\n";
        let many = format!("expected_error = \"no such city\"{}", test.repeat(49));
        assert!(messages("expected_error = \"no such city\"", &many).contains("the limit is 50"));
        assert!(messages("{ city = \"Bern\" }", "{ city = 1 }").contains("does not match"));
        assert!(messages("\"unknown city\"", "\"warm\"").contains("occurs twice"));
        assert!(messages("name = \"weather\"", "name =").contains("not valid TOML"));
        let unknown: String = (0..200).map(|number| format!("key-{number} = 1\n")).collect();
        assert_eq!(messages("name", &format!("{unknown}name")).lines().count(), MAX_PROBLEMS);
        assert!(messages("hosts = [\"api.example.com\"]", "").contains("go to hosts only"));
    }

    #[test]
    fn null_is_expected_as_json_text() {
        let text =
            WEATHER.replacen("expected = { temperature = 21.5 }", "expected_json = 'null'", 1);
        let manifest = ToolManifest::parse(&text).expect("a manifest");
        assert_eq!(manifest.tests[0].expected, ExpectedResult::Result(Value::Null));
        assert!(
            messages("expected = { temperature = 21.5 }", "expected_json = '{'")
                .contains("is not JSON")
        );
    }
}
