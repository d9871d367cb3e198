//! The shape of the house, held by tests: who may import whom, and what a file has to look like.
//!
//! Owns the rules that no compiler knows and that rot first when nobody watches. Refuses matters of taste and everything
//! that clippy or eslint already says. Every rule is a function from what it read to a list of offenders, so that each
//! has a test of its own that shows it can fail; the tests here run them on the real tree. One could get it wrong by
//! widening a table to get a build through: the tables are the design, and changing one is a decision.

#[path = "architecture/imports.rs"]
mod imports;
#[path = "architecture/sources.rs"]
mod sources;
#[path = "architecture/tree.rs"]
mod tree;
#[path = "architecture/ui.rs"]
mod ui;
#[path = "architecture/window.rs"]
mod window;
#[path = "architecture/words.rs"]
mod words;

/// Fails with one offender a line.
#[track_caller]
fn assert_none(what: &str, offenders: &[String]) {
    assert!(offenders.is_empty(), "{what}:\n  {}\n", offenders.join("\n  "));
}

#[test]
fn rooms_import_only_what_they_may() {
    assert_none("imports against the table of rooms", &imports::offenders(&imports::packages()));
}

#[test]
fn modules_say_what_they_own() {
    assert_none("modules that do not open with //!", &sources::without_module_text(&tree::rust()));
}

#[test]
fn modules_stay_short() {
    assert_none(
        "modules over 500 lines; split by subsystem",
        &sources::long_modules(&tree::rust()),
    );
}

#[test]
fn functions_stay_short() {
    assert_none(
        "functions over 60 lines",
        &sources::long_functions(&tree::rust(), sources::TABLES),
    );
}

#[test]
fn only_the_host_reads_the_clock() {
    assert_none("reads the clock outside host", &sources::clock_readers(&tree::rust()));
    assert_none("reads the clock in SQL", &sources::clock_readers_in_sql(&tree::sql()));
}

#[test]
fn names_say_what_a_thing_does() {
    assert_none(
        "names that say nothing",
        &words::empty_words(&[tree::rust(), tree::ui()].concat()),
    );
}

#[test]
fn only_the_platform_of_the_ui_reaches_the_host() {
    assert_none("reaches the host outside ui/src/platform", &ui::outside_calls(&tree::ui()));
}

#[test]
fn features_of_the_ui_meet_only_in_routes() {
    assert_none("imports across the walls of the UI", &ui::wall_breakers(&tree::ui()));
}

#[test]
fn the_page_in_the_window_has_no_way_out() {
    let config = window::json("tauri.conf.json");
    let capability = window::json("src-tauri/capabilities/main.json");
    assert_none("ways out of the window", &window::ways_out(&config, &capability));
}
