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
    "ipython",
    "julia",
    "octave",
    "perl",
    "raku",
    "ruby",
    "irb",
    "guile",
    "elixir",
    "groovy",
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

/// The letters of options that have the program itself in the next word, by the programs; shells may have more behind it.
const TEXTS: &[(&[&str], &str)] = &[
    (&["python", "pypy", "ipython", "fish", "guile"], "cm"),
    (&["perl", "ruby", "raku"], "eE"),
    (&["node", "nodejs"], "ep"),
    (&["lua", "luajit", "julia", "elixir", "groovy", "osascript", "Rscript"], "e"),
    (&["php"], "r"),
];

/// Long options that have the program itself as their value.
const LONG_TEXTS: &[&str] = &["--eval", "--print", "--execute", "--command"];

/// How the options begin that name what is loaded before the program, by the programs.
const LOADS: &[(&[&str], &[&str])] = &[
    (&["perl", "raku"], &["-M", "-m"]),
    (&["ruby"], &["-r", "--require"]),
    (&["lua", "luajit"], &["-l"]),
    (&["node", "nodejs", "bun", "deno"], &["-r", "--require", "--import", "--loader", "--preload"]),
];

/// Words of a program that may run what stands elsewhere.
const LOADERS: &[&str] = &[
    "__import__",
    "dlopen",
    "do",
    "dofile",
    "eval",
    "exec",
    "execfile",
    "import",
    "import_module",
    "importlib",
    "include",
    "include_once",
    "load",
    "load_file",
    "loadfile",
    "open",
    "os",
    "popen",
    "process",
    "read",
    "require",
    "require_once",
    "require_relative",
    "run",
    "runpy",
    "source",
    "spawn",
    "subprocess",
    "system",
    "use",
];

/// Interpreters whose first word is a text of their own, unless an option names a file.
const OF_TEXTS: &[&str] = &["awk", "gawk", "mawk", "sed"];

/// What runs other programs by what the rest of its words say.
const OF_NO_FILE: &[&str] = &["make", "deno", "bun", "busybox", "toybox", "pwsh"];

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

/// Whether it is a shell.
pub(super) fn is_shell(word: &str) -> bool {
    SHELLS.contains(&program(word))
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

/// The file that an interpreter is told to run by these words; none where it is a text, or its input.
pub(super) fn script<'w>(interpreter: &str, given: &[&'w str]) -> Option<&'w str> {
    let name = program(interpreter);
    if OF_TEXTS.contains(&name) {
        return named_by_option(given);
    }
    if OF_NO_FILE.contains(&name) {
        return None;
    }
    let mut words = given.iter();
    while let Some(word) = words.next() {
        if !is_option(word) {
            return Some(word);
        }
        if tells_text(name, word) {
            return None;
        }
        if takes_value(interpreter, word) {
            words.next();
        }
    }
    None
}

/// Whether an interpreter that is given these words runs files that it looks for itself: what an option tells it to load,
/// or what the program that stands in its words loads. A shell's program is taken apart like any line.
pub(super) fn may_load(interpreter: &str, given: &[&str]) -> bool {
    let name = program(interpreter);
    let of = |table: &[(&[&str], &'static [&'static str])]| {
        table.iter().find(|(names, _)| names.contains(&name)).map(|(_, words)| *words)
    };
    let own = given.iter().take_while(|word| is_option(word));
    let loads = of(LOADS).unwrap_or_default();
    if own.clone().any(|word| loads.iter().any(|option| word.starts_with(option))) {
        return true;
    }
    let letters = TEXTS.iter().find(|(names, _)| names.contains(&name)).map(|(_, all)| *all);
    let Some(letters) = letters else { return false };
    let is_text = |word: &&&str| match word.strip_prefix("--") {
        Some(_) => LONG_TEXTS.iter().any(|text| word.starts_with(text)),
        None => word.contains(|c| letters.contains(c)),
    };
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let names_a_loader =
        |word: &&str| word.split(|c| !is_word(c)).any(|word| LOADERS.contains(&word));
    own.clone().any(|word| is_text(&word)) && given.iter().any(names_a_loader)
}

/// What `-f` or `--file` names.
fn named_by_option<'w>(given: &[&'w str]) -> Option<&'w str> {
    let at = given.iter().position(|word| word.starts_with("-f") || word.starts_with("--file"))?;
    let value = given[at].strip_prefix("-f").or_else(|| given[at].strip_prefix("--file="));
    value.filter(|value| !value.is_empty()).or_else(|| given.get(at + 1).copied())
}

fn tells_text(name: &str, option: &str) -> bool {
    if option.starts_with("--") {
        return LONG_TEXTS.iter().any(|text| option.starts_with(text));
    }
    let letters = TEXTS.iter().find(|(names, _)| names.contains(&name)).map(|(_, all)| *all);
    let is_text = letters.is_some_and(|letters| option.ends_with(|c| letters.contains(c)));
    is_text || (SHELLS.contains(&name) && option.contains('c'))
}
