//! Parsing of a command line: executed words, possible file names, and output targets.
//!
//! Knows quotes, redirections, pipes and lists, and parses quoted words too, because an inner shell may read them. Never expands
//! anything; expansions are marked (`unbound_code`). Pitfall: a word dismissed too early. A word that names nothing
//! costs a look at the disk; an overlooked file is a file without approval.

use std::collections::BTreeSet;

use super::interpreters::{is_interpreter, is_option, program_name, takes_value};

/// Limit of parsed words; longer lines are not readable by a person.
const MAX_WORDS: usize = 1_000;
/// Limit of nested quotes.
pub(super) const MAX_QUOTE_DEPTH: usize = 4;

/// Words that precede a command.
const COMMAND_PREFIXES: &[&str] = &[
    "env", "exec", "command", "nohup", "nice", "ionice", "time", "timeout", "setsid", "stdbuf",
    "sudo", "xargs", "then", "else", "do", "if", "elif", "while", "until", "!",
];

/// The executed words of a line: programs, and the first arguments of interpreters.
pub(super) fn executed_words(line: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect_executed(line, MAX_QUOTE_DEPTH, &mut found);
    found
}

fn collect_executed(line: &str, depth: usize, found: &mut BTreeSet<String>) {
    let mut is_start = true;
    // The interpreter of the next argument, and whether that may be an option's value.
    let mut reader: Option<(String, bool)> = None;
    let mut redirection = None;
    for token in tokenize(line) {
        let word = match token {
            ShellToken::Break(redirect @ ('<' | '>')) => {
                redirection = Some(redirect);
                continue;
            }
            ShellToken::Break('&' | '|') if redirection == Some('>') => continue,
            ShellToken::Break(_) => {
                (is_start, reader, redirection) = (true, None, None);
                continue;
            }
            ShellToken::Word(word) => word.text,
        };
        if depth > 0 && has_separator(&word) {
            collect_executed(&word, depth - 1, found);
        }
        match (redirection.take(), reader.take()) {
            (Some('>'), before) => reader = before,
            (Some(_), before) => {
                // The program may execute the input.
                reader = before;
                found.insert(word);
            }
            (None, _) if is_start && is_prefix_word(&word) => {}
            (None, _) if is_start => {
                is_start = false;
                reader = is_interpreter(&word).then(|| (word.clone(), false));
                found.insert(word);
            }
            (None, Some((interpreter, _))) if is_option(&word) => {
                let takes_value = takes_value(&interpreter, &word);
                reader = Some((interpreter, takes_value));
            }
            (None, Some((interpreter, may_be_value))) => {
                reader = may_be_value.then_some((interpreter, false));
                found.insert(word);
            }
            (None, None) => {}
        }
    }
}

/// Whether the next word still begins the command.
fn is_prefix_word(word: &str) -> bool {
    let is_assignment = assigned_variable(word).is_some();
    // Such as the `9`, `1.5` and `10m` of `nice` and `timeout`.
    let number = word.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(word);
    let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let is_number = is_number && number.starts_with(|c: char| c.is_ascii_digit());
    word.starts_with('-') || is_assignment || is_number || COMMAND_PREFIXES.contains(&word)
}

/// A command of a line.
#[derive(Debug, Default)]
pub(super) struct ParsedCommand {
    /// Variables assigned before the command.
    pub(super) assigned: Vec<String>,
    /// Words from the program on, without output targets.
    pub(super) words: Vec<ShellWord>,
}

impl ParsedCommand {
    pub(super) fn program(&self) -> &str {
        self.words.first().map_or("", |word| program_name(&word.text))
    }
}

/// The commands of a line, without those in quotes. A command of assignments has no words. `xargs` counts as the program, because its
/// command has more arguments than the line shows.
pub(super) fn parse_commands(line: &str) -> Vec<ParsedCommand> {
    let (mut commands, mut now, mut is_target) = (Vec::new(), ParsedCommand::default(), false);
    for token in tokenize(line) {
        match token {
            ShellToken::Break('>') => is_target = true,
            ShellToken::Break('&' | '|') if is_target => {}
            ShellToken::Break('<') => {}
            ShellToken::Break(_) => {
                is_target = false;
                commands.push(std::mem::take(&mut now));
            }
            ShellToken::Word(_) if std::mem::take(&mut is_target) => {}
            ShellToken::Word(word)
                if now.words.is_empty() && is_prefix_word(&word.text) && word.text != "xargs" =>
            {
                now.assigned.extend(assigned_variable(&word.text).map(str::to_owned));
            }
            ShellToken::Word(word) => now.words.push(word),
        }
    }
    commands.push(now);
    commands.retain(|command| !command.words.is_empty() || !command.assigned.is_empty());
    commands
}

/// The variable that a word assigns.
pub(super) fn assigned_variable(word: &str) -> Option<&str> {
    let (name, _) = word.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let is_variable = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(is_variable)).then_some(name)
}

/// Possible file names in a line.
#[derive(Debug, Default)]
pub(super) struct FileCandidates {
    /// Names of files that the line may execute or read.
    pub(super) words: BTreeSet<String>,
    /// Output targets, which may be among the words too.
    pub(super) targets: BTreeSet<String>,
}

pub(super) fn file_candidates(line: &str) -> FileCandidates {
    let mut found = FileCandidates::default();
    collect_candidates(line, MAX_QUOTE_DEPTH, &mut found);
    found
}

fn collect_candidates(line: &str, depth: usize, found: &mut FileCandidates) {
    let mut is_target = false;
    for token in tokenize(line) {
        let word = match token {
            ShellToken::Word(word) => word.text,
            ShellToken::Break('&' | '|') if is_target => continue,
            ShellToken::Break(character) => {
                is_target = character == '>';
                continue;
            }
        };
        if std::mem::take(&mut is_target) {
            // A number is an open descriptor.
            if word.contains(|c: char| !c.is_ascii_digit() && c != '-') {
                found.targets.insert(word);
            }
            continue;
        }
        if depth > 0 && has_separator(&word) {
            collect_candidates(&word, depth - 1, found);
        }
        let parts = word.match_indices(['=', ':', ',', '@']).map(|(at, _)| &word[at + 1..]);
        for part in parts.chain(option_values(&word)).chain([word.as_str()]) {
            let before = part.split([':', ',']).next().unwrap_or_default();
            for name in [part, before] {
                if !name.is_empty() && name.len() <= 4_096 && found.words.len() < MAX_WORDS {
                    found.words.insert(name.to_owned());
                }
            }
        }
    }
}

/// Limit of joined short options.
const MAX_JOINED_OPTIONS: usize = 5;

/// Possible values behind joined short options, such as `-fname` and `-xzfname`.
fn option_values(word: &str) -> impl Iterator<Item = &str> {
    let joined = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
    let is_letter = |letter: &u8| letter.is_ascii_alphanumeric();
    let letters = joined.bytes().take(MAX_JOINED_OPTIONS).take_while(is_letter).count();
    (1..=letters).filter_map(|at| joined.get(at..))
}

/// Whether a word contains white space or separators, so may be a line itself.
pub(super) fn has_separator(word: &str) -> bool {
    word.contains(|c: char| c.is_whitespace() || is_separator(c))
}

/// Whether a character separates words without white space.
const fn is_separator(character: char) -> bool {
    matches!(
        character,
        ';' | '&' | '|' | '<' | '>' | '(' | ')' | '{' | '}' | '`' | '$' | '\'' | '"'
    )
}

/// A word without quotes.
#[derive(Debug, Default, Clone)]
pub(super) struct ShellWord {
    pub(super) text: String,
    /// Whether the shell expands a part of the word.
    pub(super) is_expanded: bool,
    /// Whether the word is a file pattern.
    pub(super) is_pattern: bool,
}

/// A token of a line.
pub(super) enum ShellToken {
    Word(ShellWord),
    /// Ends a command or redirects; `*` for braces that expand to several words.
    Break(char),
}

/// Splits a line like a shell.
pub(super) fn tokenize(line: &str) -> Vec<ShellToken> {
    let (mut tokens, mut word, mut quote) = (Vec::new(), ShellWord::default(), None);
    let mut is_plain = true;
    let push = |tokens: &mut Vec<ShellToken>, word: &mut ShellWord| {
        if !word.text.is_empty() {
            tokens.push(ShellToken::Word(std::mem::take(word)));
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
                word.is_expanded |= quote == '"' && matches!(c, '$' | '`');
                word.text.push(c);
            }
            (None, c) if c.is_whitespace() || is_separator(c) => {
                // A number before a redirection is a descriptor, not a word.
                let is_number = word.text.chars().all(|digit| digit.is_ascii_digit());
                if is_plain && is_number && matches!(c, '<' | '>') {
                    word = ShellWord::default();
                }
                is_plain = true;
                push(&mut tokens, &mut word);
                let continues = |next: &char| !next.is_whitespace() && *next != '}';
                if c == '{' && characters.peek().is_some_and(continues) {
                    tokens.push(ShellToken::Break('*'));
                } else if c == '\n' || is_separator(c) {
                    tokens.push(ShellToken::Break(c));
                }
            }
            (None, c) => {
                word.is_pattern |= matches!(c, '*' | '?') || (c == ']' && word.text.contains('['));
                word.text.push(c);
            }
        }
    }
    push(&mut tokens, &mut word);
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executed_words_exclude_data_arguments() {
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
            assert_eq!(executed_words(line), expected, "{line}");
        }
    }
}
