//! A command line as words: what of it is run, what could be the name of a file, and what is only written to.
//!
//! It knows quotes, redirections, pipes and lists, and looks into quoted words as well, because a shell within the line
//! may read them. It refuses to be a shell: nothing is expanded here, and what would be is told apart (`unheld`). One
//! could get it wrong by taking a word for less than it may be: a word that is no name costs a look at the disk, and one
//! that was passed over is a file that nobody has approved.

use std::collections::BTreeSet;

use super::interpreters::{is_interpreter, is_option, program, takes_value};

/// What counts of a line; a longer one is no line that a person reads.
const MOST_WORDS: usize = 1_000;
/// Quotes in quotes.
pub(super) const DEPTH: usize = 4;

/// Programs that run what follows them as a command.
const BEFORE_A_COMMAND: &[&str] = &[
    "env", "exec", "command", "nohup", "nice", "ionice", "time", "timeout", "setsid", "stdbuf",
    "sudo", "xargs", "then", "else", "do", "if", "elif", "while", "until", "!",
];

/// The words of a line that are run: at the beginning of a command, or what an interpreter is given first.
pub(super) fn run_words(line: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect_run(line, DEPTH, &mut found);
    found
}

fn collect_run(line: &str, depth: usize, found: &mut BTreeSet<String>) {
    let mut begins = true;
    // The interpreter that reads what comes next, and whether that may be the value of an option.
    let mut reader: Option<(String, bool)> = None;
    let mut redirection = None;
    for piece in pieces(line) {
        let word = match piece {
            Piece::Break(how @ ('<' | '>')) => {
                redirection = Some(how);
                continue;
            }
            Piece::Break('&' | '|') if redirection == Some('>') => continue,
            Piece::Break(_) => {
                (begins, reader, redirection) = (true, None, None);
                continue;
            }
            Piece::Word(word) => word.text,
        };
        if depth > 0 && word.contains(|c: char| c.is_whitespace() || is_special(c)) {
            collect_run(&word, depth - 1, found);
        }
        match (redirection.take(), reader.take()) {
            (Some('>'), before) => reader = before,
            (Some(_), before) => {
                // Whoever reads it may run it.
                reader = before;
                found.insert(word);
            }
            (None, _) if begins && stands_before(&word) => {}
            (None, _) if begins => {
                begins = false;
                reader = is_interpreter(&word).then(|| (word.clone(), false));
                found.insert(word);
            }
            (None, Some((interpreter, _))) if is_option(&word) => {
                let is_followed = takes_value(&interpreter, &word);
                reader = Some((interpreter, is_followed));
            }
            (None, Some((interpreter, may_be_value))) => {
                reader = may_be_value.then_some((interpreter, false));
                found.insert(word);
            }
            (None, None) => {}
        }
    }
}

/// Whether a word at the beginning of a command leaves the next one to be its beginning.
fn stands_before(word: &str) -> bool {
    let is_setting = set_by(word).is_some();
    // Such as the `9`, `1.5` and `10m` that `nice` and `timeout` are given.
    let number = word.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(word);
    let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let is_number = is_number && number.starts_with(|c: char| c.is_ascii_digit());
    word.starts_with('-') || is_setting || is_number || BEFORE_A_COMMAND.contains(&word)
}

/// One command of a line.
#[derive(Debug, Default)]
pub(super) struct Command {
    /// The names of the variables that are set before it.
    pub(super) sets: Vec<String>,
    /// Its words from the program on, without what its output goes to.
    pub(super) words: Vec<Word>,
}

impl Command {
    /// The name of its program.
    pub(super) fn program(&self) -> &str {
        self.words.first().map_or("", |word| program(&word.text))
    }
}

/// The commands of a line, without those within its quotes; one that only sets variables has no words. `xargs` is the
/// program of its command: what it runs is given more than stands there.
pub(super) fn commands(line: &str) -> Vec<Command> {
    let (mut commands, mut now, mut is_target) = (Vec::new(), Command::default(), false);
    for piece in pieces(line) {
        match piece {
            Piece::Break('>') => is_target = true,
            Piece::Break('&' | '|') if is_target => {}
            Piece::Break('<') => {}
            Piece::Break(_) => {
                is_target = false;
                commands.push(std::mem::take(&mut now));
            }
            Piece::Word(_) if std::mem::take(&mut is_target) => {}
            Piece::Word(word)
                if now.words.is_empty() && stands_before(&word.text) && word.text != "xargs" =>
            {
                now.sets.extend(set_by(&word.text).map(str::to_owned));
            }
            Piece::Word(word) => now.words.push(word),
        }
    }
    commands.push(now);
    commands.retain(|command| !command.words.is_empty() || !command.sets.is_empty());
    commands
}

/// The name of the variable that a word sets.
pub(super) fn set_by(word: &str) -> Option<&str> {
    let (name, _) = word.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let is_variable = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(is_variable)).then_some(name)
}

/// What a line may name, without what stands in no place where a file could be named.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Everything that could be the name of a file which it runs or reads.
    pub(super) words: BTreeSet<String>,
    /// What it sends output to, and which may stand among the others as well.
    pub(super) targets: BTreeSet<String>,
}

/// Everything in a line that could be the name of a file.
pub(super) fn names(line: &str) -> Names {
    let mut found = Names::default();
    collect(line, DEPTH, &mut found);
    found
}

fn collect(line: &str, depth: usize, found: &mut Names) {
    let mut is_target = false;
    for piece in pieces(line) {
        let word = match piece {
            Piece::Word(word) => word.text,
            Piece::Break('&' | '|') if is_target => continue,
            Piece::Break(how) => {
                is_target = how == '>';
                continue;
            }
        };
        if std::mem::take(&mut is_target) {
            // A number is one of the outputs that are open already.
            if word.contains(|c: char| !c.is_ascii_digit() && c != '-') {
                found.targets.insert(word);
            }
            continue;
        }
        if depth > 0 && word.contains(|c: char| c.is_whitespace() || is_special(c)) {
            collect(&word, depth - 1, found);
        }
        let parts = word.match_indices(['=', ':', ',', '@']).map(|(at, _)| &word[at + 1..]);
        for part in parts.chain(behind_letters(&word)).chain([word.as_str()]) {
            let before = part.split([':', ',']).next().unwrap_or_default();
            for name in [part, before] {
                if !name.is_empty() && name.len() <= 4_096 && found.words.len() < MOST_WORDS {
                    found.words.insert(name.to_owned());
                }
            }
        }
    }
}

/// The most letters that options are joined of.
const JOINED: usize = 5;

/// What may follow the letters of a short option, such as `-fname` and `-xzfname`.
fn behind_letters(word: &str) -> impl Iterator<Item = &str> {
    let joined = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
    let is_letter = |letter: &u8| letter.is_ascii_alphanumeric();
    let letters = joined.bytes().take(JOINED).take_while(is_letter).count();
    (1..=letters).filter_map(|at| joined.get(at..))
}

/// Whether it ends a word of itself.
pub(super) const fn is_special(character: char) -> bool {
    matches!(
        character,
        ';' | '&' | '|' | '<' | '>' | '(' | ')' | '{' | '}' | '`' | '$' | '\'' | '"'
    )
}

/// A word, without its quotes.
#[derive(Debug, Default, Clone)]
pub(super) struct Word {
    /// What is left of it.
    pub(super) text: String,
    /// Whether the shell puts something else in the place of a part of it.
    pub(super) is_worked_out: bool,
    /// Whether it is a pattern for the names of files.
    pub(super) is_pattern: bool,
}

/// A piece of a line.
pub(super) enum Piece {
    /// A word.
    Word(Word),
    /// What ends a command, or leads its input or output elsewhere; `*` where braces make several words of one.
    Break(char),
}

/// A line as a shell splits it.
pub(super) fn pieces(line: &str) -> Vec<Piece> {
    let (mut pieces, mut word, mut quote) = (Vec::new(), Word::default(), None);
    let mut is_plain = true;
    let push = |pieces: &mut Vec<Piece>, word: &mut Word| {
        if !word.text.is_empty() {
            pieces.push(Piece::Word(std::mem::take(word)));
        }
    };
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(end), c) if c == end => quote = None,
            (None, '\'' | '"') => (quote, is_plain) = (Some(character), false),
            (None | Some('"'), '\\') => {
                is_plain = false;
                word.text.extend(characters.next());
            }
            (Some(quote), c) => {
                word.is_worked_out |= quote == '"' && matches!(c, '$' | '`');
                word.text.push(c);
            }
            (None, c) if c.is_whitespace() || is_special(c) => {
                // A number at a redirection is what is redirected, and no word.
                let is_number = word.text.chars().all(|digit| digit.is_ascii_digit());
                if is_plain && is_number && matches!(c, '<' | '>') {
                    word = Word::default();
                }
                is_plain = true;
                push(&mut pieces, &mut word);
                let is_more = |next: &char| !next.is_whitespace() && *next != '}';
                if c == '{' && characters.peek().is_some_and(is_more) {
                    pieces.push(Piece::Break('*'));
                } else if c == '\n' || is_special(c) {
                    pieces.push(Piece::Break(c));
                }
            }
            (None, c) => {
                word.is_pattern |= matches!(c, '*' | '?') || (c == ']' && word.text.contains('['));
                word.text.push(c);
            }
        }
    }
    push(&mut pieces, &mut word);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_line_runs_is_known_from_what_it_works_on() {
        for (line, expected) in [
            ("./a.sh x > out", &["./a.sh"][..]),
            ("sh a.sh b.sh", &["sh", "a.sh"]),
            ("python3.12 -u gen.py data.json", &["python3.12", "gen.py"]),
            ("cd x && A=1 env B=2 timeout 10 ./run --fast | tee log", &["./run", "cd", "tee"]),
            ("bash -c 'cp a b; . ./c'", &["bash", "cp", ".", "./c", "cp a b; . ./c"]),
            ("if ./a; then ./b; fi; cat < ./c", &["./a", "./b", "fi", "cat", "./c"]),
            ("cp a.sh b.sh", &["cp"]),
            ("sh 2>err a.sh", &["sh", "a.sh"]),
            ("2>&1 sh >out a.sh", &["sh", "a.sh"]),
            (">out ./a.sh 2>>err &", &["./a.sh"]),
            ("sh '2'>out", &["sh", "2"]),
            ("bash -eo pipefail a.sh", &["bash", "pipefail", "a.sh"]),
            ("python3 -W ignore a.py x", &["python3", "ignore", "a.py"]),
            ("<in ./a.sh", &["in", "./a.sh"]),
        ] {
            let expected: BTreeSet<String> = expected.iter().map(|word| (*word).into()).collect();
            assert_eq!(run_words(line), expected, "{line}");
        }
    }
}
