//! Why an answer cannot be held to all that a line runs.
//!
//! What is named can be bound; what a shell works out, what another program says and what a program finds by itself
//! cannot. Such a line can be allowed with what of it is bound, and the person is told what is not. No standing yes is
//! given to it, for that would be one to whatever stands there by then; nor where it runs a file that is not there yet,
//! or that it writes itself (`scripts`). One could get it wrong by looking for what is dangerous: here counts only whether
//! the name of everything that the line itself runs stands in the line.

use std::collections::BTreeSet;

use super::interpreters::{is_interpreter, may_load, program, reads_input, script};
use super::line::{Command, DEPTH, Piece, commands, is_special, pieces, set_by};
use super::programs::{self, leads_elsewhere, readers, takes_text, treats};

/// Programs that run what their input or a text that was worked out says.
const RUN_WHAT_OTHERS_SAY: &[&str] = &["eval", "xargs", "parallel", "entr"];

/// Programs that run what their input says, also where they are given words.
const RUN_THEIR_INPUT: &[&str] = &[
    "at", "batch", "crontab", "dc", "duckdb", "ed", "ex", "gdb", "gnuplot", "m4", "mariadb",
    "mysql", "psql", "R", "sqlite", "vi", "vim",
];

/// Why, as a sentence; none when all that the line runs is named in it.
pub(super) fn unheld(line: &str) -> Option<String> {
    why(line, DEPTH).map(|why| sentence(&why))
}

/// What a person is told, for this reason.
pub(super) fn sentence(why: &str) -> String {
    format!(
        "{why} What it runs beyond the files named here is not held to the answer, so it cannot be allowed for always."
    )
}

/// Why a text of commands cannot be checked as a whole, nested `depth` deep.
pub(super) fn why(line: &str, depth: usize) -> Option<String> {
    for piece in pieces(line) {
        match piece {
            Piece::Break('$' | '`') => return Some(worked_out()),
            Piece::Word(word) if word.is_worked_out => return Some(worked_out()),
            Piece::Break('*') => return Some(pattern()),
            Piece::Word(word) if word.is_pattern => return Some(pattern()),
            Piece::Break(_) | Piece::Word(_) => {}
        }
    }
    let is_piped = pieces(line).iter().any(|piece| matches!(piece, Piece::Break('|')));
    commands(line).iter().find_map(|command| {
        let runs = |word: &str| RUN_THEIR_INPUT.contains(&program(word));
        let is_told = is_piped && !takes_text(command) && words(command).any(runs);
        sets(command).or_else(|| is_told.then(by_another)).or_else(|| of_command(command, depth))
    })
}

fn words(command: &Command) -> impl Iterator<Item = &str> + Clone {
    command.words.iter().map(|word| word.text.as_str())
}

/// Why what a command sets keeps what follows it from being held.
fn sets(command: &Command) -> Option<String> {
    let set = words(command).filter(|_| !treats(command)).filter_map(set_by);
    let name =
        command.sets.iter().map(String::as_str).chain(set).find(|name| leads_elsewhere(name))?;
    Some(format!("It sets {name}, which leads programs to others."))
}

/// The files that a line runs: programs that it names by a path, and what its interpreters are given to run.
pub(super) fn scripts(line: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect_scripts(line, DEPTH, &mut found);
    found
}

fn collect_scripts(line: &str, depth: usize, found: &mut BTreeSet<String>) {
    for command in commands(line) {
        found.extend(words(&command).take(1).filter(|word| word.contains('/')).map(str::to_owned));
        let is_alone = words(&command).take(1).any(is_interpreter);
        let runners = runners(&command).take(if is_alone { 1 } else { usize::MAX });
        found.extend(runners.filter_map(|(name, given)| script(name, &given)).map(str::to_owned));
        if takes_text(&command) || depth == 0 {
            continue;
        }
        words(&command).filter(is_line).for_each(|line| collect_scripts(line, depth - 1, found));
    }
}

/// Whether a quoted word may be a line of its own.
fn is_line(word: &&str) -> bool {
    word.contains(|c: char| c.is_whitespace() || is_special(c))
}

fn of_command(command: &Command, depth: usize) -> Option<String> {
    let words = || words(command);
    let finds = command.program() == "find"
        && words().any(|word| word.starts_with("-exec") || word.starts_with("-ok"));
    let is_told =
        !takes_text(command) && words().any(|word| RUN_WHAT_OTHERS_SAY.contains(&program(word)));
    let is_input =
        |word: &str| matches!(word, "-" | "-f-") || word.ends_with("=-") || is_input_file(word);
    let is_told_to = runners(command).next().is_some() && words().any(is_input);
    if let Some(module) = programs::module(command) {
        return Some(format!("It runs the Python module {module}, which may be one of many."));
    }
    let more = readers(command).find_map(|(name, reader)| Some((name, reader.runs?)));
    if let Some((name, runs)) = more {
        return Some(format!("The program {name} {runs}."));
    }
    if finds || is_told || reads(command) || is_told_to {
        return Some(by_another());
    }
    if let Some((name, _)) = runners(command).find(|(name, given)| may_load(name, given)) {
        return Some(format!("The program {name} may load files that it looks for itself."));
    }
    if takes_text(command) || depth == 0 {
        return None;
    }
    words().filter(is_line).find_map(|line| why(line, depth - 1))
}

/// The interpreters among its words, with the words behind each. A program that starts another one is known by no list, so
/// each word may be one; but behind a program with a text of its own every word is for that, and `.` is a folder there.
fn runners(command: &Command) -> impl Iterator<Item = (&str, Vec<&str>)> {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let is_alone = takes_text(command);
    (0..words.len()).filter_map(move |at| {
        let may_run = at == 0 || (!is_alone && words[at] != ".");
        (may_run && is_interpreter(words[at])).then(|| (words[at], words[at + 1..].to_vec()))
    })
}

/// Whether an interpreter of it is given neither a file nor a text, so that it reads what comes out of a pipe.
fn reads(command: &Command) -> bool {
    runners(command).any(|(name, given)| reads_input(name, &given))
}

/// Whether a word leads to the input of whoever opens it.
fn is_input_file(word: &str) -> bool {
    word.ends_with("/stdin") || word.contains("/fd/")
}

fn by_another() -> String {
    "It runs what another program says.".to_owned()
}

fn worked_out() -> String {
    "The shell puts something in the place of a `$` or of backquotes in it.".to_owned()
}

fn pattern() -> String {
    "It names files by a pattern, which may fit others later.".to_owned()
}
