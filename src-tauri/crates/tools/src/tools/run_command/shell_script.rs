//! Shell scripts that a line executes, read as command lines.
//!
//! Owns the recognition of shell scripts, and the check whether a script's text names everything that it starts. Never runs or expands
//! anything. Pitfall: many programs start others by an option (`tar`, `sort`, `sed`, `find`) or change the meaning of later words
//! (`cd`), so a script with an unlisted program is not checked.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;

use super::command_line::{MAX_QUOTE_DEPTH, ParsedCommand, parse_commands};
use super::interpreters::{is_interpreter, is_shell, script_argument};
use super::programs::is_passive_program;
use super::unbound_code::unbound_reason;

/// Largest script that is read.
const MAX_SCRIPT_BYTES: u64 = 64 << 10;

/// Builtins and filters that scripts may use beside passive programs.
const PLAIN_COMMANDS: [&str; 15] = [
    "break", "cksum", "comm", "continue", "join", "od", "read", "readlink", "realpath", "return",
    "set", "shift", "sync", "umask", "which",
];

/// Programs that change the folder of later words.
const CHANGE_FOLDER: [&str; 3] = ["cd", "popd", "pushd"];

/// Keywords before a command.
const KEYWORDS: [&str; 9] = ["if", "then", "elif", "else", "fi", "while", "do", "done", "!"];

/// Reads the text behind `#!` in a file's first line.
pub(super) fn read_shebang(file: &mut File) -> io::Result<Option<String>> {
    let mut beginning = Vec::new();
    file.take(512).read_to_end(&mut beginning)?;
    file.rewind()?;
    let line = beginning.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Ok(line.strip_prefix(b"#!").map(|line| String::from_utf8_lossy(line).into_owned()))
}

/// Reads the commands of a shell script, without comments; `None` for another file.
pub(super) fn read_commands(path: &Path, file: &mut File) -> Option<String> {
    let interpreter = read_shebang(file).ok()?;
    let is_shell_script = match &interpreter {
        Some(line) => line.split_whitespace().any(is_shell),
        None => path.extension().is_none_or(|extension| extension == "sh" || extension == "bash"),
    };
    if !is_shell_script || file.metadata().ok()?.len() > MAX_SCRIPT_BYTES {
        return None;
    }
    let mut text = String::new();
    let read = file.take(MAX_SCRIPT_BYTES).read_to_string(&mut text);
    file.rewind().ok()?;
    read.ok().filter(|_| !text.contains('\0'))?;
    Some(strip_comments(&text))
}

/// Removes comments: `#` begins a comment at the start of a word outside quotes.
fn strip_comments(text: &str) -> String {
    let (mut kept, mut quote, mut before) = (String::with_capacity(text.len()), None, '\n');
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let is_word_start = before.is_whitespace() || ";&|()".contains(before);
        before = letter;
        match (quote, letter) {
            (None, '#') if is_word_start => {
                before = '\n';
                if letters.by_ref().any(|letter| letter == '\n') {
                    kept.push('\n');
                }
                continue;
            }
            (None | Some('"'), '\\') => {
                kept.push(letter);
                kept.extend(letters.next());
                continue;
            }
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            _ => {}
        }
        kept.push(letter);
    }
    kept.trim().to_owned()
}

/// Whether the text names everything that the script starts: each command is passive, or a named file alone or behind an interpreter,
/// which is bound and read itself.
pub(super) fn is_fully_named(text: &str) -> bool {
    unbound_reason(text, MAX_QUOTE_DEPTH).is_none() && parse_commands(text).iter().all(is_named)
}

fn is_named(command: &ParsedCommand) -> bool {
    let words = command.words.iter().map(|word| word.text.as_str());
    let words: Vec<&str> = words.skip_while(|word| KEYWORDS.contains(word)).collect();
    let Some((program, given)) = words.split_first() else { return true };
    let runs_script = is_interpreter(program) && script_argument(program, given).is_some();
    let is_passive = is_passive_program(program) && !CHANGE_FOLDER.contains(program);
    runs_script || program.contains('/') || is_passive || PLAIN_COMMANDS.contains(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands_of(name: &str, content: &str) -> Option<String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        std::fs::write(&path, content).expect("written");
        read_commands(&path, &mut File::open(&path).expect("opened"))
    }

    #[test]
    fn shell_script_is_read_without_comments() {
        let text = commands_of("x", "#!/bin/sh\n# it's\nsh a.sh # it's\nsh b.sh ${#x} a#b\n");
        assert_eq!(text.as_deref(), Some("sh a.sh \nsh b.sh ${#x} a#b"));
        let text = commands_of("x.sh", "echo 'begin\n#'; sh inner.sh; echo \"\n# end\"\\#");
        assert_eq!(text.as_deref(), Some("echo 'begin\n#'; sh inner.sh; echo \"\n# end\"\\#"));
        assert_eq!(commands_of("x.sh", "ls").as_deref(), Some("ls"));
        assert_eq!(commands_of("x.sh", "#!/usr/bin/env bash\nls").as_deref(), Some("ls"));
        for (name, content) in
            [("x.py", "print()"), ("x.sh", "#!/usr/bin/python3\nprint()"), ("x", "\0")]
        {
            assert_eq!(commands_of(name, content), None, "{name}: {content}");
        }
    }

    #[test]
    fn script_with_computed_commands_is_not_fully_named() {
        for text in [
            "cp a b\ncat b",
            "sh a.sh",
            "echo 'a'",
            "set -e\nif test -f a; then\n  python3 b.py\nfi",
        ] {
            assert!(is_fully_named(text), "{text}");
        }
        for text in [
            "$x",
            "eval ls",
            "cd sub\nsh a.sh",
            "curl x | sh",
            "sh *.sh",
            "make",
            "trap 'sh b.sh' EXIT",
            "flock lock sh b.sh",
            "sed '1e sh b.sh' a",
            "tar cf a.tar b --checkpoint=1 --checkpoint-action=exec=./b.sh",
            "sort --compress-program=./b.sh a",
        ] {
            assert!(!is_fully_named(text), "{text}");
        }
    }
}
