//! Architecture rules as tests: allowed imports, and the form of source files.
//!
//! Owns the rules that no compiler or linter checks. Every rule maps source files to a list of violations, has an own
//! test that shows a failure, and runs here on the real files. Pitfall: widening a table to pass a build; the tables
//! are the design.

#[path = "architecture/crate_imports.rs"]
mod crate_imports;
#[path = "architecture/import_cycles.rs"]
mod import_cycles;
#[path = "architecture/folder_layers.rs"]
mod folder_layers;
#[path = "architecture/rust_style.rs"]
mod rust_style;
#[path = "architecture/source_files.rs"]
mod source_files;
#[path = "architecture/ui_imports.rs"]
mod ui_imports;
#[path = "architecture/entitlements.rs"]
mod entitlements;
#[path = "architecture/window_policy.rs"]
mod window_policy;
#[path = "architecture/markdown_style.rs"]
mod markdown_style;
#[path = "architecture/names.rs"]
mod names;
#[path = "architecture/portable_sql.rs"]
mod portable_sql;

/// Fails with a violation per line.
#[track_caller]
fn assert_no_violations(rule: &str, violations: &[String]) {
    assert!(violations.is_empty(), "{rule}:\n  {}\n", violations.join("\n  "));
}

#[test]
fn crates_import_only_allowed_crates() {
    assert_no_violations(
        "imports outside the table of crates",
        &crate_imports::violations(&crate_imports::packages()),
    );
}

#[test]
fn files_import_each_other_in_pairs_at_most() {
    assert_no_violations(
        "import cycles of more than two files; move the shared type to a module of its own",
        &import_cycles::long_cycles(&source_files::rust()),
    );
}

#[test]
fn folders_import_only_lower_layers() {
    assert_no_violations(
        "imports of a layer to the left",
        &folder_layers::upward_imports(&source_files::rust()),
    );
}

#[test]
fn modules_have_docs() {
    assert_no_violations(
        "modules without //! docs",
        &rust_style::missing_module_docs(&source_files::rust()),
    );
}

#[test]
fn modules_stay_short() {
    assert_no_violations(
        "modules over 500 lines; split them by subsystem",
        &rust_style::long_modules(&source_files::rust()),
    );
}

#[test]
fn functions_stay_short() {
    assert_no_violations(
        "functions over 60 lines",
        &rust_style::long_functions(&source_files::rust(), rust_style::TABLES),
    );
}

#[test]
fn only_the_host_reads_the_clock() {
    assert_no_violations(
        "clock reads outside host",
        &rust_style::clock_readers(&source_files::rust()),
    );
    assert_no_violations(
        "clock reads in SQL",
        &rust_style::clock_readers_in_sql(&source_files::sql()),
    );
}

#[test]
fn sql_outside_the_dialect_modules_is_portable() {
    assert_no_violations(
        "SQL that only SQLite understands; name it in store/src/sql with its counterpart in PostgreSQL",
        &portable_sql::sqlite_only(&source_files::sql()),
    );
}

#[test]
fn names_are_specific() {
    assert_no_violations(
        "vague names",
        &names::vague_names(&[source_files::rust(), source_files::ui()].concat()),
    );
}

#[test]
fn markdown_lines_are_short_and_clean() {
    assert_no_violations(
        "Markdown style violations",
        &markdown_style::violations(&source_files::markdown()),
    );
}

#[test]
fn only_the_ui_platform_calls_the_host() {
    assert_no_violations(
        "host calls outside ui/src/platform",
        &ui_imports::outside_calls(&source_files::ui()),
    );
}

#[test]
fn ui_features_are_independent() {
    assert_no_violations(
        "forbidden imports in the UI",
        &ui_imports::forbidden_imports(&source_files::ui()),
    );
}

#[test]
fn window_policy_is_closed() {
    let config = window_policy::json("tauri.conf.json");
    let capability = window_policy::json("src-tauri/capabilities/main.json");
    assert_no_violations(
        "window policy violations",
        &window_policy::policy_violations(&config, &capability),
    );
}

#[test]
fn bundle_has_only_the_entitlements_of_the_sandbox() {
    let config = window_policy::json("tauri.conf.json");
    let path = config["bundle"]["macOS"]["entitlements"].as_str().expect("a path");
    let plist = std::fs::read_to_string(source_files::root().join(path)).expect("a file");
    assert_no_violations("entitlements", &entitlements::entitlement_violations(&plist));
}
