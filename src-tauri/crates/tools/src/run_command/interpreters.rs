//! Programs that run what they read: their names, and what of their words is no program.
//!
//! Owns how it is told what an interpreter runs: the first word that is no option and no value of one. Where none is, it
//! runs its input, which nobody has seen. One could get it wrong by taking the value of an option for a program: `bash -o
//! pipefail` reads its input. So an option whose shape is not known counts as one with a value.

/// Programs that read and run the first file that they are given.
const INTERPRETERS: &[&str] = &[
    ".",
    "source",
    "sh",
    "bash",
    "dash",
    "ash",
    "zsh",
    "ksh",
    "mksh",
    "csh",
    "tcsh",
    "fish",
    "python",
    "pypy",
    "perl",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "php",
    "lua",
    "luajit",
    "tclsh",
    "expect",
    "Rscript",
    "awk",
    "gawk",
    "mawk",
    "sed",
    "make",
    "busybox",
    "toybox",
    "osascript",
    "pwsh",
];

/// The letters of options that have their value in the next word, by the programs.
const VALUES: &[(&[&str], &str)] = &[
    (&["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh"], "oO"),
    (&["fish"], "CdDfo"),
    (&["python", "pypy"], "QWX"),
    (&["perl"], "I"),
    (&["ruby"], "CEIrX"),
    (&["node", "nodejs", "bun", "deno"], "Cr"),
    (&["php"], "cdz"),
    (&["lua", "luajit"], "l"),
    (&["osascript"], "l"),
];

/// Shells that read their input when one of their letters is an `s`, whatever else they are given.
const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "csh", "tcsh"];

/// How long options begin that have no value.
const FLAGS: &[&str] = &["--no", "--login", "--posix", "--verbose"];

/// The name of a program, without its folder and its version.
pub(super) fn program(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or_default();
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}

/// Whether it reads and runs the first file that it is given.
pub(super) fn is_interpreter(word: &str) -> bool {
    INTERPRETERS.contains(&program(word)) || INTERPRETERS.contains(&word)
}

/// Whether it is an option.
pub(super) fn is_option(word: &str) -> bool {
    word.starts_with(['-', '+'])
}

/// Whether the word after this option of an interpreter may be its value.
pub(super) fn takes_value(interpreter: &str, option: &str) -> bool {
    if option.starts_with("--") {
        let is_flag = FLAGS.iter().any(|flag| option.starts_with(flag));
        return option.len() > 2 && !option.contains('=') && !is_flag;
    }
    let name = program(interpreter);
    let letters = VALUES.iter().find(|(names, _)| names.contains(&name)).map(|(_, all)| *all);
    letters.is_some_and(|letters| option.len() > 1 && option.ends_with(|c| letters.contains(c)))
}

/// Whether an interpreter that is given these words runs what comes to it as its input.
pub(super) fn reads_input(interpreter: &str, given: &[&str]) -> bool {
    if matches!(given, ["--version" | "--help"]) {
        return false;
    }
    let is_shell = SHELLS.contains(&program(interpreter));
    let mut words = given.iter();
    while let Some(word) = words.next() {
        if !is_option(word) {
            return false;
        }
        if is_shell && !word.starts_with("--") && word.contains('s') {
            return true;
        }
        if takes_value(interpreter, word) {
            words.next();
        }
    }
    true
}
