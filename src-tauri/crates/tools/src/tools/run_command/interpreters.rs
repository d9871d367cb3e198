//! Interpreters: programs that execute a file or code in their arguments.
//!
//! Owns the rule which argument an interpreter executes: the first argument that is neither an option nor an option's
//! value. Without such an argument, the interpreter executes the standard input. Pitfall: an option's value taken for a
//! script (`bash -o pipefail` reads standard input), so an unknown option counts as an option with a value.

/// Programs that execute the first file among their arguments.
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

/// Short options with a value in the next argument, by program.
const VALUE_OPTIONS: &[(&[&str], &str)] = &[
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

/// Short options with code in the next argument, by program. Shells allow options in between.
const CODE_OPTIONS: &[(&[&str], &str)] = &[
    (&["python", "pypy", "ipython", "fish", "guile"], "cm"),
    (&["perl", "ruby", "raku"], "eE"),
    (&["node", "nodejs"], "ep"),
    (&["lua", "luajit", "julia", "elixir", "groovy", "osascript", "Rscript"], "e"),
    (&["php"], "r"),
];

/// Long options with code as their value.
const LONG_CODE_OPTIONS: &[&str] = &["--eval", "--print", "--execute", "--command"];

/// Prefixes of options that load files before the script, by program.
const PRELOAD_OPTIONS: &[(&[&str], &[&str])] = &[
    (&["perl", "raku"], &["-M", "-m"]),
    (&["ruby"], &["-r", "--require"]),
    (&["lua", "luajit"], &["-l"]),
    (&["node", "nodejs", "bun", "deno"], &["-r", "--require", "--import", "--loader", "--preload"]),
];

/// Words in code that may load other files.
const LOADING_WORDS: &[&str] = &[
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

/// Interpreters whose first argument is code, unless an option names a file.
const CODE_FIRST: &[&str] = &["awk", "gawk", "mawk", "sed"];

/// Interpreters whose arguments name no script.
const WITHOUT_SCRIPT: &[&str] = &["make", "deno", "bun", "busybox", "toybox", "pwsh"];

/// Shells, which read their input if any short option is `s`.
const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "csh", "tcsh"];

/// Prefixes of long options without a value.
const FLAGS: &[&str] = &["--no", "--login", "--posix", "--verbose"];

/// The name of a program, without folder and version.
pub(super) fn program_name(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or_default();
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}

pub(super) fn is_interpreter(word: &str) -> bool {
    INTERPRETERS.contains(&program_name(word)) || INTERPRETERS.contains(&word)
}

pub(super) fn is_shell(word: &str) -> bool {
    SHELLS.contains(&program_name(word))
}

pub(super) fn is_option(word: &str) -> bool {
    word.starts_with(['-', '+'])
}

/// Whether the argument after this option may be the option's value.
pub(super) fn takes_value(interpreter: &str, option: &str) -> bool {
    if option.starts_with("--") {
        let is_flag = FLAGS.iter().any(|flag| option.starts_with(flag));
        return option.len() > 2 && !option.contains('=') && !is_flag;
    }
    let name = program_name(interpreter);
    let letters = letters_of(VALUE_OPTIONS, name);
    letters.is_some_and(|letters| option.len() > 1 && option.ends_with(|c| letters.contains(c)))
}

fn letters_of(table: &[(&[&str], &'static str)], name: &str) -> Option<&'static str> {
    table.iter().find(|(names, _)| names.contains(&name)).map(|(_, letters)| *letters)
}

/// Whether an interpreter with these arguments executes the standard input.
pub(super) fn reads_stdin(interpreter: &str, given: &[&str]) -> bool {
    if matches!(given, ["--version" | "--help"]) {
        return false;
    }
    let is_shell = is_shell(interpreter);
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

/// The script among an interpreter's arguments; `None` for code or standard input.
pub(super) fn script_argument<'w>(interpreter: &str, given: &[&'w str]) -> Option<&'w str> {
    let name = program_name(interpreter);
    if CODE_FIRST.contains(&name) {
        return file_option(given);
    }
    if WITHOUT_SCRIPT.contains(&name) {
        return None;
    }
    let mut words = given.iter();
    while let Some(word) = words.next() {
        if !is_option(word) {
            return Some(word);
        }
        if is_code_option(name, word) {
            return None;
        }
        if takes_value(interpreter, word) {
            words.next();
        }
    }
    None
}

/// Whether an interpreter with these arguments may load further files, by an option or by code. A shell's code is
/// parsed like any line instead.
pub(super) fn may_load_files(interpreter: &str, given: &[&str]) -> bool {
    let name = program_name(interpreter);
    let preload = PRELOAD_OPTIONS.iter().find(|(names, _)| names.contains(&name));
    let preload = preload.map(|(_, options)| *options).unwrap_or_default();
    let options = given.iter().take_while(|word| is_option(word));
    if options.clone().any(|word| preload.iter().any(|option| word.starts_with(option))) {
        return true;
    }
    let Some(letters) = letters_of(CODE_OPTIONS, name) else { return false };
    let has_code = |word: &&str| match word.strip_prefix("--") {
        Some(_) => LONG_CODE_OPTIONS.iter().any(|option| word.starts_with(option)),
        None => word.contains(|c| letters.contains(c)),
    };
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let has_loading_word =
        |word: &&str| word.split(|c| !is_word(c)).any(|word| LOADING_WORDS.contains(&word));
    options.clone().any(has_code) && given.iter().any(has_loading_word)
}

/// The value of `-f` or `--file`.
fn file_option<'w>(given: &[&'w str]) -> Option<&'w str> {
    let at = given.iter().position(|word| word.starts_with("-f") || word.starts_with("--file"))?;
    let value = given[at].strip_prefix("-f").or_else(|| given[at].strip_prefix("--file="));
    value.filter(|value| !value.is_empty()).or_else(|| given.get(at + 1).copied())
}

fn is_code_option(name: &str, option: &str) -> bool {
    if option.starts_with("--") {
        return LONG_CODE_OPTIONS.iter().any(|code| option.starts_with(code));
    }
    let letters = letters_of(CODE_OPTIONS, name);
    let is_code = letters.is_some_and(|letters| option.ends_with(|c| letters.contains(c)));
    is_code || (SHELLS.contains(&name) && option.contains('c'))
}
