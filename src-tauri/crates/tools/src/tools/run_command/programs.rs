//! Known programs of a command line.
//!
//! Implicit readers read files that no line names, such as `make` its Makefile. These files are bound too; but most such programs
//! execute more than one file, so their commands cannot be granted (`unbound_code`). Passive programs only read or write files and
//! execute none. Pitfall: a program in the passive list that executes an argument.

use super::command_line::{ParsedCommand, parse_commands};
use super::interpreters::program_name;

/// A program that reads unnamed files.
pub(super) struct ImplicitReader {
    names: &'static [&'static str],
    /// Read from the working directory.
    files: &'static [&'static str],
    /// Further executed code, as the predicate of a sentence.
    pub(super) runs: Option<&'static str>,
}

const fn reader(
    names: &'static [&'static str],
    files: &'static [&'static str],
    runs: &'static str,
) -> ImplicitReader {
    ImplicitReader { names, files, runs: Some(runs) }
}

const IMPLICIT_READERS: &[ImplicitReader] = &[
    reader(
        &["make", "gmake", "bmake"],
        &["GNUmakefile", "makefile", "Makefile", "BSDmakefile"],
        "runs its Makefile and the files that it includes",
    ),
    reader(
        &["npm", "npx", "pnpm", "pnpx", "yarn", "yarnpkg", "bun", "bunx", "corepack"],
        &["package.json", ".npmrc"],
        "runs the scripts of package.json and of packages",
    ),
    reader(
        &["deno"],
        &["deno.json", "deno.jsonc", "package.json"],
        "runs the imports of a script and its tasks",
    ),
    reader(&["just"], &["justfile", "Justfile", ".justfile"], "runs the recipes of its justfile"),
    reader(
        &["task", "go-task"],
        &["Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml"],
        "runs the tasks of its Taskfile",
    ),
    reader(
        &["cargo"],
        &["Cargo.toml", "build.rs", ".cargo/config.toml", ".cargo/config"],
        "builds and runs a whole package and its dependencies",
    ),
    reader(&["go"], &["go.mod", "go.work"], "builds and runs a whole module"),
    reader(
        &["docker", "docker-compose", "podman", "podman-compose", "nerdctl"],
        &["compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml", "Dockerfile"],
        "runs its files and images",
    ),
    reader(
        &["pip", "pipx", "poetry", "uv", "uvx", "hatch", "pdm", "pytest", "py.test", "tox", "nox"],
        &["pyproject.toml", "setup.py", "setup.cfg", "conftest.py", "tox.ini", "noxfile.py"],
        "runs the project and its packages",
    ),
    reader(&["rake"], &["Rakefile", "rakefile", "Rakefile.rb"], "runs the tasks of its Rakefile"),
    reader(&["bundle", "bundler"], &["Gemfile"], "runs its Gemfile and gems"),
    reader(&["composer"], &["composer.json"], "runs the scripts of composer.json and of packages"),
    reader(&["mvn", "mvnw"], &["pom.xml"], "runs its pom.xml and plugins"),
    reader(
        &["gradle", "gradlew"],
        &["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"],
        "runs its build files and plugins",
    ),
    reader(&["ant"], &["build.xml"], "runs its build.xml"),
    reader(&["mix"], &["mix.exs"], "runs its mix.exs"),
    reader(&["ninja"], &["build.ninja"], "runs its build.ninja"),
    reader(&["cmake", "ctest"], &["CMakeLists.txt"], "runs its CMakeLists.txt"),
    reader(&["meson"], &["meson.build"], "runs its meson.build"),
    reader(&["dotnet", "msbuild"], &["Directory.Build.props"], "builds and runs a whole project"),
    reader(&["git"], &[".git/config"], "runs the hooks and settings of its repository"),
    reader(&["pre-commit"], &[".pre-commit-config.yaml"], "runs the hooks of its repository"),
    reader(&["run-parts"], &[], "runs every program of a folder"),
    reader(&["ssh", "rsh", "mosh"], &[], "runs programs of another machine"),
    reader(&["pipenv"], &["Pipfile"], "runs the project and its packages"),
    reader(&["ipython", "jupyter"], &[], "runs its settings and notebooks"),
    reader(&["invoke", "fab"], &["tasks.py", "fabfile.py"], "runs the tasks of its project"),
    reader(&["scons"], &["SConstruct"], "runs its SConstruct"),
    reader(&["bazel", "bazelisk"], &["MODULE.bazel", "WORKSPACE"], "runs its build files"),
    reader(&["nix", "nix-shell", "nix-build"], &["flake.nix", "shell.nix"], "runs its files"),
    reader(
        &[
            "gulp", "grunt", "vite", "webpack", "jest", "vitest", "mocha", "eslint", "tsx",
            "ts-node", "turbo", "nx",
        ],
        &["package.json", "gulpfile.js", "Gruntfile.js"],
        "runs the settings of its project",
    ),
    reader(
        &["sbt", "lein", "stack", "cabal", "zig", "swift"],
        &[],
        "builds and runs a whole project",
    ),
    reader(&["rspec", "phpunit"], &[".rspec", "phpunit.xml"], "runs the tests of its project"),
    reader(
        &["flask", "gunicorn", "uvicorn", "celery"],
        &["app.py"],
        "runs the modules of its project",
    ),
    reader(&["latexmk"], &[".latexmkrc", "latexmkrc"], "runs its settings"),
    reader(&["sphinx-build", "mkdocs", "jekyll"], &["conf.py"], "runs its settings"),
    reader(
        &["ansible", "ansible-playbook", "terraform", "vagrant", "helm", "kubectl"],
        &["ansible.cfg", "Vagrantfile"],
        "runs its files and programs of other machines",
    ),
    reader(&["hg"], &[".hg/hgrc"], "runs the hooks and settings of its repository"),
    // These execute a file of a folder in the arguments.
    ImplicitReader { names: &["python"], files: &["__main__.py"], runs: None },
    ImplicitReader { names: &["node"], files: &["index.js", "package.json"], runs: None },
];

/// Programs that execute none of their arguments.
const PASSIVE_PROGRAMS: &[&str] = &[
    "[",
    "basename",
    "cat",
    "cd",
    "chmod",
    "cmp",
    "cp",
    "curl",
    "cut",
    "date",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "exit",
    "expr",
    "false",
    "fold",
    "free",
    "grep",
    "egrep",
    "fgrep",
    "gzip",
    "gunzip",
    "head",
    "hostname",
    "id",
    "jq",
    "ln",
    "ls",
    "md5sum",
    "mkdir",
    "mktemp",
    "mv",
    "nl",
    "paste",
    "popd",
    "printf",
    "ps",
    "pushd",
    "pwd",
    "rev",
    "rm",
    "rmdir",
    "seq",
    "sha256sum",
    "sleep",
    "stat",
    "tac",
    "tail",
    "tee",
    "test",
    "touch",
    "tr",
    "true",
    "uname",
    "uniq",
    "uptime",
    "wc",
    "wget",
    "whoami",
];

/// Options of passive programs that name a file of further options, addresses or code: short letters, and prefixes of long options.
const INDIRECT_OPTIONS: &[(&str, &str, &[&str])] = &[
    ("curl", "K", &["--conf", "--url", "--expand", "--engine"]),
    ("jq", "fL", &["--from-file", "--library-path"]),
    ("wget", "ei", &["--conf", "--exe", "--inp", "--use-a"]),
];

const LOCALE_VARIABLES: &[&str] = &["LANG", "LANGUAGE", "TZ"];

/// Variables by which programs find other programs, or settings that name some.
const PROGRAM_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "ENV",
    "BASH_ENV",
    "ZDOTDIR",
    "CDPATH",
    "IFS",
    "SHELL",
    "PS4",
    "PROMPT_COMMAND",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "BROWSER",
    "LESSOPEN",
    "MAKEFLAGS",
    "MAKEFILES",
    "CURL_HOME",
    "WGETRC",
    "AWKPATH",
    "AWKLIBPATH",
    "CLASSPATH",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "GCONV_PATH",
    "OPENSSL_CONF",
    "OPENSSL_MODULES",
    "OPENSSL_ENGINES",
    "XDG_CONFIG_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_DATA_HOME",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PERL5LIB",
    "PERLLIB",
    "PERL5OPT",
    "PERL5DB",
    "RUBYLIB",
    "RUBYOPT",
    "GEM_HOME",
    "GEM_PATH",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "PYTHONPLATLIBDIR",
    "PYTHONPYCACHEPREFIX",
    "PYTHONBREAKPOINT",
    "LUA_PATH",
    "LUA_CPATH",
    "LUA_INIT",
];

/// Programs with quoted arguments in another language, not a shell's line.
const CODE_PROGRAMS: &[&str] =
    &["awk", "gawk", "mawk", "sed", "perl", "python", "ruby", "node", "php", "lua"];

/// Whether a line executes none of the named files: all programs are passive. A program named by a path, or searched by
/// changed variables, may be any.
pub(super) fn is_passive_line(line: &str) -> bool {
    parse_commands(line).iter().all(|command| {
        let is_locale =
            |name: &String| name.starts_with("LC_") || LOCALE_VARIABLES.contains(&name.as_str());
        command.assigned.iter().all(is_locale)
            && (command.words.is_empty() || (is_passive(command) && !has_indirect_option(command)))
    })
}

pub(super) fn is_passive(command: &ParsedCommand) -> bool {
    command.words.first().is_some_and(|word| is_passive_program(&word.text))
}

pub(super) fn is_passive_program(name: &str) -> bool {
    PASSIVE_PROGRAMS.contains(&name)
}

fn has_indirect_option(command: &ParsedCommand) -> bool {
    let mut options = INDIRECT_OPTIONS.iter().filter(|(name, ..)| *name == command.program());
    options.any(|(_, letters, long)| {
        command.words.iter().skip(1).map(|word| word.text.as_str()).any(|word| {
            if word.starts_with("--") {
                long.iter().any(|long| word.starts_with(long))
            } else {
                word.starts_with('-') && word.contains(|c| letters.contains(c))
            }
        })
    })
}

/// Whether a variable affects which programs run.
pub(super) fn selects_programs(name: &str) -> bool {
    let has_prefix =
        ["LD_", "DYLD_", "GIT_", "BUNDLE_"].iter().any(|prefix| name.starts_with(prefix));
    has_prefix || PROGRAM_VARIABLES.contains(&name)
}

/// Whether a quoted argument of the command is not a shell's line.
pub(super) fn takes_code(command: &ParsedCommand) -> bool {
    is_passive(command) || CODE_PROGRAMS.contains(&command.program())
}

/// The implicit readers of a command. Every word is checked, because any program may start another, except for passive
/// programs.
pub(super) fn implicit_readers(
    command: &ParsedCommand,
) -> impl Iterator<Item = (&str, &'static ImplicitReader)> {
    let is_passive = is_passive(command);
    let words = command.words.iter().filter(move |_| !is_passive);
    words.filter_map(|word| {
        let name = program_name(&word.text);
        let mut readers = IMPLICIT_READERS.iter();
        readers.find(|reader| reader.names.contains(&name)).map(|reader| (name, reader))
    })
}

/// The files that the programs of a line read implicitly.
pub(super) fn implied_files(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for command in parse_commands(line) {
        for (_, reader) in implicit_readers(&command) {
            found.extend(reader.files.iter().map(|file| (*file).to_owned()));
        }
        if let Some(module) = python_module(&command) {
            let path = module.replace('.', "/");
            found.extend(["", "/__main__", "/__init__"].map(|end| format!("{path}{end}.py")));
        }
        for word in command.words.iter().filter(|word| word.text.contains(char::is_whitespace)) {
            found.extend(implied_files(&word.text));
        }
    }
    found
}

/// The module of `python -m`.
pub(super) fn python_module(command: &ParsedCommand) -> Option<&str> {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let python = words.iter().position(|word| matches!(program_name(word), "python" | "pypy"))?;
    // Arguments behind a script or code are for that.
    let is_own = |word: &&&str| !word.ends_with(".py") && **word != "-c";
    let own = words[python + 1..].iter().take_while(is_own);
    let is_flag = |word: &&str| word.starts_with('-') && !word.starts_with("--");
    own.enumerate().filter(|(_, word)| is_flag(word)).find_map(|(at, word)| {
        match word.split_once('m')? {
            (_, "") => words.get(python + at + 2).copied(),
            (_, rest) => Some(rest),
        }
    })
}
