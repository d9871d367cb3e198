//! Code that a line runs from unnamed files, which no approval can be bound to.
//!
//! Named files can be bound; shell expansions, output of other programs and implicit files cannot. Such a line can be
//! approved, with a note about the gap, but never granted: the grant would cover any later content. Pitfall: to look
//! for dangerous programs; only the question whether the line names all executed code counts.

use std::collections::BTreeSet;

use super::command_line::{
    MAX_QUOTE_DEPTH, ParsedCommand, ShellToken, assigned_variable, has_separator, parse_commands,
    tokenize,
};
use super::interpreters::{
    is_interpreter, may_load_files, program_name, reads_stdin, script_argument,
};
use super::programs::{implicit_readers, is_passive, python_module, selects_programs, takes_code};

/// Programs that run their input or a computed text.
const RUN_COMPUTED_TEXT: &[&str] = &["eval", "xargs", "parallel", "entr"];

/// Programs that run the standard input, with any arguments.
const RUN_STDIN: &[&str] = &[
    "at", "batch", "crontab", "dc", "duckdb", "ed", "ex", "gdb", "gnuplot", "m4", "mariadb",
    "mysql", "psql", "R", "sqlite", "vi", "vim",
];

const EXPANSION: &str = "The command contains a shell expansion (`$` or backquotes).";
const PATTERN: &str = "The command contains a file pattern, which may match other files later.";
const OTHER_OUTPUT: &str = "The command runs the output of another program.";

/// The reason why a line runs unnamed code. `depth` limits nested quotes.
pub(super) fn unbound_reason(line: &str, depth: usize) -> Option<String> {
    let tokens = tokenize(line);
    for token in &tokens {
        match token {
            ShellToken::Break('$' | '`') => return Some(EXPANSION.to_owned()),
            ShellToken::Word(word) if word.is_expanded => return Some(EXPANSION.to_owned()),
            ShellToken::Break('*') => return Some(PATTERN.to_owned()),
            ShellToken::Word(word) if word.is_pattern => return Some(PATTERN.to_owned()),
            ShellToken::Break(_) | ShellToken::Word(_) => {}
        }
    }
    let is_piped = tokens.iter().any(|token| matches!(token, ShellToken::Break('|')));
    parse_commands(line).iter().find_map(|command| {
        let runs_stdin = |word: &str| RUN_STDIN.contains(&program_name(word));
        let runs_pipe = is_piped && !takes_code(command) && words(command).any(runs_stdin);
        assignment_reason(command)
            .or_else(|| runs_pipe.then(|| OTHER_OUTPUT.to_owned()))
            .or_else(|| command_reason(command, depth))
    })
}

fn words(command: &ParsedCommand) -> impl Iterator<Item = &str> + Clone {
    command.words.iter().map(|word| word.text.as_str())
}

fn assignment_reason(command: &ParsedCommand) -> Option<String> {
    let in_words = words(command).filter(|_| !is_passive(command)).filter_map(assigned_variable);
    let mut assigned = command.assigned.iter().map(String::as_str).chain(in_words);
    let name = assigned.find(|name| selects_programs(name))?;
    Some(format!("The command sets {name}, which affects the programs that run."))
}

/// The files that a line executes: programs named by a path, and scripts of interpreters.
pub(super) fn script_arguments(line: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect_scripts(line, MAX_QUOTE_DEPTH, &mut found);
    found
}

fn collect_scripts(line: &str, depth: usize, found: &mut BTreeSet<String>) {
    for command in parse_commands(line) {
        found.extend(words(&command).take(1).filter(|word| word.contains('/')).map(str::to_owned));
        let is_interpreter = words(&command).take(1).any(is_interpreter);
        let interpreters = interpreters(&command).take(if is_interpreter { 1 } else { usize::MAX });
        let scripts = interpreters.filter_map(|(name, given)| script_argument(name, &given));
        found.extend(scripts.map(str::to_owned));
        if takes_code(&command) || depth == 0 {
            continue;
        }
        let lines = words(&command).filter(|word| has_separator(word));
        lines.for_each(|line| collect_scripts(line, depth - 1, found));
    }
}

fn command_reason(command: &ParsedCommand, depth: usize) -> Option<String> {
    if let Some(module) = python_module(command) {
        return Some(format!("The command runs the Python module {module}, one of many files."));
    }
    let mut readers = implicit_readers(command);
    if let Some((name, runs)) = readers.find_map(|(name, reader)| Some((name, reader.runs?))) {
        return Some(format!("The program {name} {runs}."));
    }
    let words = || words(command);
    let is_find = command.program() == "find"
        && words().any(|word| word.starts_with("-exec") || word.starts_with("-ok"));
    let runs_text =
        !takes_code(command) && words().any(|word| RUN_COMPUTED_TEXT.contains(&program_name(word)));
    let runs_stdin = interpreters(command).any(|(name, given)| reads_stdin(name, &given));
    let reads_input_file = interpreters(command).next().is_some() && words().any(is_stdin_argument);
    if is_find || runs_text || runs_stdin || reads_input_file {
        return Some(OTHER_OUTPUT.to_owned());
    }
    let mut loading = interpreters(command).filter(|(name, given)| may_load_files(name, given));
    if let Some((name, _)) = loading.next() {
        return Some(format!("The program {name} may load further files."));
    }
    if takes_code(command) || depth == 0 {
        return None;
    }
    words().filter(|word| has_separator(word)).find_map(|line| unbound_reason(line, depth - 1))
}

/// The interpreters of a command with arguments. Any word may be an interpreter, because any program may start another;
/// but behind a program with separate code every word is an argument, and `.` is a folder.
fn interpreters(command: &ParsedCommand) -> impl Iterator<Item = (&str, Vec<&str>)> {
    let words: Vec<&str> = words(command).collect();
    let takes_code = takes_code(command);
    (0..words.len()).filter_map(move |at| {
        let may_run = at == 0 || (!takes_code && words[at] != ".");
        (may_run && is_interpreter(words[at])).then(|| (words[at], words[at + 1..].to_vec()))
    })
}

/// Whether an argument leads to standard input.
fn is_stdin_argument(word: &str) -> bool {
    matches!(word, "-" | "-f-")
        || word.ends_with("=-")
        || word.ends_with("/stdin")
        || word.contains("/fd/")
}
