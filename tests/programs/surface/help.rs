//! The help of every command.

use std::fmt::Write as _;

use super::assert_surface;
use crate::engine::TestHome;

#[test]
fn help_of_every_command_is_pinned() {
    let home = TestHome::new();
    let top = home.rouse(["--help"]);
    assert_surface("help", top.ok());
    for command in commands_in(top.ok()) {
        let mut text = String::new();
        write_help(&home, &[command], &mut text);
        assert_surface(&format!("help_{command}"), &text);
    }
}

#[test]
fn help_with_rarely_used_flags_is_pinned() {
    let home = TestHome::new();
    for command in ["add", "edit"] {
        let help = home.rouse(["cron", command, "--help-all"]);
        assert_surface(&format!("help_all_cron_{command}"), help.ok());
    }
}

/// Writes the help of a command and the subcommands.
fn write_help(home: &TestHome, path: &[&str], text: &mut String) {
    let help = home.rouse(path.iter().copied().chain(["--help"]));
    let help = help.ok();
    writeln!(text, "$ rouse {} --help\n{help}", path.join(" ")).expect("a text takes all");
    for command in commands_in(help) {
        write_help(home, &[path, &[command]].concat(), text);
    }
}

/// The command names in a help text.
fn commands_in(help: &str) -> Vec<&str> {
    let list = help.split_once("\nCommands:\n").map_or("", |(_, list)| list);
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect()
}
