//! Shell scripts that a line runs, read as lines of commands.
//!
//! Owns which files are shell scripts and whether all that such a script starts is known from its text. Never runs or
//! expands anything. Pitfall: many programs start others by an option (`tar`, `sort`, `sed`, `find`) or lead later words
//! elsewhere (`cd`), so a script that calls an unlisted program is not checked.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::Path;

use super::interpreters::{self, is_interpreter, is_shell};
use super::line::{Command, DEPTH, commands};
use super::named::first_line;
use super::programs::starts_nothing;
use super::unheld;

/// The largest script that is read.
const MOST_BYTES: u64 = 64 << 10;

/// What a script may call beside the programs that start nothing (`programs`): builtins of the shell, and filters.
const ALSO_PLAIN: [&str; 15] = [
    "break", "cksum", "comm", "continue", "join", "od", "read", "readlink", "realpath", "return",
    "set", "shift", "sync", "umask", "which",
];

/// Programs that lead later words elsewhere.
const CHANGE_FOLDER: [&str; 3] = ["cd", "popd", "pushd"];

/// Words of the shell before a command.
const KEYWORDS: [&str; 9] = ["if", "then", "elif", "else", "fi", "while", "do", "done", "!"];

/// The commands of a shell script, without its comments; none for another file.
pub(super) fn text(path: &Path, file: &mut File) -> Option<String> {
    let interpreter = first_line(file).ok()?;
    let is_shell_script = match &interpreter {
        Some(line) => line.split_whitespace().any(is_shell),
        None => path.extension().is_none_or(|extension| extension == "sh" || extension == "bash"),
    };
    if !is_shell_script || file.metadata().ok()?.len() > MOST_BYTES {
        return None;
    }
    let mut text = String::new();
    let read = file.take(MOST_BYTES).read_to_string(&mut text);
    file.rewind().ok()?;
    read.ok().filter(|_| !text.contains('\0'))?;
    Some(without_comments(&text))
}

/// The text without its comments, as a shell reads it: `#` begins one at the start of a word and outside of quotes.
fn without_comments(text: &str) -> String {
    let (mut kept, mut quote, mut before) = (String::with_capacity(text.len()), None, '\n');
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let begins_word = before.is_whitespace() || ";&|()".contains(before);
        before = letter;
        match (quote, letter) {
            (None, '#') if begins_word => {
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

/// Whether the text names everything that the script starts: each command is a program that starts no other one, or a
/// named file, alone or behind an interpreter: such a file is bound and read itself.
pub(super) fn is_checked(text: &str) -> bool {
    unheld::why(text, DEPTH).is_none() && commands(text).iter().all(is_plain)
}

fn is_plain(command: &Command) -> bool {
    let words = command.words.iter().map(|word| word.text.as_str());
    let words: Vec<&str> = words.skip_while(|word| KEYWORDS.contains(word)).collect();
    let Some((program, given)) = words.split_first() else { return true };
    let runs_file = is_interpreter(program) && interpreters::script(program, given).is_some();
    let starts_nothing = starts_nothing(program) && !CHANGE_FOLDER.contains(program);
    runs_file || program.contains('/') || starts_nothing || ALSO_PLAIN.contains(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(name: &str, content: &str) -> Option<String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        std::fs::write(&path, content).expect("written");
        text(&path, &mut File::open(&path).expect("opened"))
    }

    #[test]
    fn shell_script_is_read_without_comments() {
        let text = text_of("x", "#!/bin/sh\n# it's\nsh a.sh # it's\nsh b.sh ${#x} a#b\n");
        assert_eq!(text.as_deref(), Some("sh a.sh \nsh b.sh ${#x} a#b"));
        let text = text_of("x.sh", "echo 'begin\n#'; sh inner.sh; echo \"\n# end\"\\#");
        assert_eq!(text.as_deref(), Some("echo 'begin\n#'; sh inner.sh; echo \"\n# end\"\\#"));
        assert_eq!(text_of("x.sh", "ls").as_deref(), Some("ls"));
        assert_eq!(text_of("x.sh", "#!/usr/bin/env bash\nls").as_deref(), Some("ls"));
        for (name, content) in
            [("x.py", "print()"), ("x.sh", "#!/usr/bin/python3\nprint()"), ("x", "\0")]
        {
            assert_eq!(text_of(name, content), None, "{name}: {content}");
        }
    }

    #[test]
    fn script_that_works_its_commands_out_is_not_checked() {
        for text in [
            "cp a b\ncat b",
            "sh a.sh",
            "echo 'a'",
            "set -e\nif test -f a; then\n  python3 b.py\nfi",
        ] {
            assert!(is_checked(text), "{text}");
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
            assert!(!is_checked(text), "{text}");
        }
    }
}
