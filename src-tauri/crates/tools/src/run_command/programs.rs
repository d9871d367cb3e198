//! Programs that a line starts, and what is known of them: data, each with its reason.
//!
//! Some read files that no line names: what `make` does stands in a Makefile. Those files are bound like named ones. Most
//! of these programs go on from there to more than one file, so a yes to them cannot be held to all that they run
//! (`unheld`). Others do nothing but look at files or write them, whatever the files hold; what a line of them works on is
//! no program. One could get it wrong by adding a program to the second list that runs what it is given.

use super::interpreters::program;
use super::line::{Command, commands};

/// A program that reads what no line names.
pub(super) struct Reader {
    /// How it is called.
    names: &'static [&'static str],
    /// What it reads, in the folder that it works in.
    files: &'static [&'static str],
    /// What it runs beyond these files, as the end of a sentence; none where they are all there is.
    pub(super) runs: Option<&'static str>,
}

const fn reader(
    names: &'static [&'static str],
    files: &'static [&'static str],
    runs: &'static str,
) -> Reader {
    Reader { names, files, runs: Some(runs) }
}

const READERS: &[Reader] = &[
    reader(
        &["make", "gmake", "bmake"],
        &["GNUmakefile", "makefile", "Makefile", "BSDmakefile"],
        "runs what its Makefile says and what that includes",
    ),
    reader(
        &["npm", "npx", "pnpm", "pnpx", "yarn", "yarnpkg", "bun", "bunx", "corepack"],
        &["package.json", ".npmrc"],
        "runs the scripts of package.json and of packages",
    ),
    reader(
        &["deno"],
        &["deno.json", "deno.jsonc", "package.json"],
        "runs what a script imports and what its tasks say",
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
        "builds and runs a whole package and what that depends on",
    ),
    reader(&["go"], &["go.mod", "go.work"], "builds and runs a whole module"),
    reader(
        &["docker", "docker-compose", "podman", "podman-compose", "nerdctl"],
        &["compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml", "Dockerfile"],
        "runs what its files and images say",
    ),
    reader(
        &["pip", "pipx", "poetry", "uv", "uvx", "hatch", "pdm", "pytest", "py.test", "tox", "nox"],
        &["pyproject.toml", "setup.py", "setup.cfg", "conftest.py", "tox.ini", "noxfile.py"],
        "runs what the project and its packages say",
    ),
    reader(&["rake"], &["Rakefile", "rakefile", "Rakefile.rb"], "runs the tasks of its Rakefile"),
    reader(&["bundle", "bundler"], &["Gemfile"], "runs what its Gemfile and gems say"),
    reader(&["composer"], &["composer.json"], "runs the scripts of composer.json and of packages"),
    reader(&["mvn", "mvnw"], &["pom.xml"], "runs what its pom.xml and plugins say"),
    reader(
        &["gradle", "gradlew"],
        &["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"],
        "runs what its build files and plugins say",
    ),
    reader(&["ant"], &["build.xml"], "runs what its build.xml says"),
    reader(&["mix"], &["mix.exs"], "runs what its mix.exs says"),
    reader(&["ninja"], &["build.ninja"], "runs what its build.ninja says"),
    reader(&["cmake", "ctest"], &["CMakeLists.txt"], "runs what its CMakeLists.txt says"),
    reader(&["meson"], &["meson.build"], "runs what its meson.build says"),
    reader(&["dotnet", "msbuild"], &["Directory.Build.props"], "builds and runs a whole project"),
    reader(&["git"], &[".git/config"], "runs the hooks and settings of its repository"),
    reader(&["pre-commit"], &[".pre-commit-config.yaml"], "runs the hooks of its repository"),
    reader(&["run-parts"], &[], "runs every program of a folder"),
    reader(&["ssh", "rsh", "mosh"], &[], "runs what is on another machine"),
    reader(&["pipenv"], &["Pipfile"], "runs what the project and its packages say"),
    reader(&["ipython", "jupyter"], &[], "runs what its settings and notebooks say"),
    reader(&["invoke", "fab"], &["tasks.py", "fabfile.py"], "runs the tasks of its project"),
    reader(&["scons"], &["SConstruct"], "runs what its SConstruct says"),
    reader(&["bazel", "bazelisk"], &["MODULE.bazel", "WORKSPACE"], "runs what its build files say"),
    reader(
        &["nix", "nix-shell", "nix-build"],
        &["flake.nix", "shell.nix"],
        "runs what its files say",
    ),
    reader(
        &[
            "gulp", "grunt", "vite", "webpack", "jest", "vitest", "mocha", "eslint", "tsx",
            "ts-node", "turbo", "nx",
        ],
        &["package.json", "gulpfile.js", "Gruntfile.js"],
        "runs what the settings of its project say",
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
    reader(&["latexmk"], &[".latexmkrc", "latexmkrc"], "runs what its settings say"),
    reader(&["sphinx-build", "mkdocs", "jekyll"], &["conf.py"], "runs what its settings say"),
    reader(
        &["ansible", "ansible-playbook", "terraform", "vagrant", "helm", "kubectl"],
        &["ansible.cfg", "Vagrantfile"],
        "runs what its files and other machines say",
    ),
    reader(&["hg"], &[".hg/hgrc"], "runs the hooks and settings of its repository"),
    // What these are given may be a folder, of which they run one file.
    Reader { names: &["python"], files: &["__main__.py"], runs: None },
    Reader { names: &["node"], files: &["index.js", "package.json"], runs: None },
];

/// Programs that run nothing of what they are given. Each does the same with it whatever it holds.
const ONLY_TREAT: &[&str] = &[
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

/// Of those, the options that name a file of further options, addresses or orders: their letters, and how the long ones
/// begin, which may be shortened.
const TAKES_ORDERS: &[(&str, &str, &[&str])] = &[
    ("curl", "K", &["--conf", "--url", "--expand", "--engine"]),
    ("jq", "fL", &["--from-file", "--library-path"]),
    ("wget", "ei", &["--conf", "--exe", "--inp", "--use-a"]),
];

/// Variables that say how words look, and not what is done.
const OF_LANGUAGE: &[&str] = &["LANG", "LANGUAGE", "TZ"];

/// Variables by which programs find other programs, or settings that name some.
const LEAD_ELSEWHERE: &[&str] = &[
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

/// Programs whose quoted words are a text of their own language, and no line of a shell.
const OF_OWN_LANGUAGE: &[&str] =
    &["awk", "gawk", "mawk", "sed", "perl", "python", "ruby", "node", "php", "lua"];

/// Whether nothing that the line names is run by it: all its programs only look at files, or write them. One that is named
/// by a path, or looked for where the line says, may be any.
pub(super) fn only_treats(line: &str) -> bool {
    commands(line).iter().all(|command| {
        let is_of_language =
            |name: &String| name.starts_with("LC_") || OF_LANGUAGE.contains(&name.as_str());
        command.sets.iter().all(is_of_language)
            && (command.words.is_empty() || (treats(command) && !takes_orders(command)))
    })
}

/// Whether its program runs nothing of what it is given.
pub(super) fn treats(command: &Command) -> bool {
    command.words.first().is_some_and(|word| starts_nothing(&word.text))
}

/// Whether a program of this name runs nothing of what it is given.
pub(super) fn starts_nothing(name: &str) -> bool {
    ONLY_TREAT.contains(&name)
}

fn takes_orders(command: &Command) -> bool {
    let words = || command.words.iter().skip(1).map(|word| word.text.as_str());
    TAKES_ORDERS.iter().filter(|(name, ..)| *name == command.program()).any(|(_, letters, long)| {
        words().any(|word| match word.starts_with("--") {
            true => long.iter().any(|long| word.starts_with(long)),
            false => word.starts_with('-') && word.contains(|c| letters.contains(c)),
        })
    })
}

/// Whether what a variable is set to decides which programs others run.
pub(super) fn leads_elsewhere(name: &str) -> bool {
    let begins = ["LD_", "DYLD_", "GIT_", "BUNDLE_"].iter().any(|begin| name.starts_with(begin));
    begins || LEAD_ELSEWHERE.contains(&name)
}

/// Whether a quoted word of the command is no line of a shell.
pub(super) fn takes_text(command: &Command) -> bool {
    treats(command) || OF_OWN_LANGUAGE.contains(&command.program())
}

/// The programs of a command that read what nobody names. A program that starts another one is known by no list, so every
/// word is looked at, but for those of programs that start nothing.
pub(super) fn readers(command: &Command) -> impl Iterator<Item = (&str, &'static Reader)> {
    let starts_none = treats(command);
    let words = command.words.iter().filter(move |_| !starts_none);
    words.filter_map(|word| {
        let name = program(&word.text);
        READERS.iter().find(|reader| reader.names.contains(&name)).map(|reader| (name, reader))
    })
}

/// The names of files that the programs of a line read without being told to.
pub(super) fn implied(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for command in commands(line) {
        for (_, reader) in readers(&command) {
            found.extend(reader.files.iter().map(|file| (*file).to_owned()));
        }
        if let Some(module) = module(&command) {
            let path = module.replace('.', "/");
            found.extend(["", "/__main__", "/__init__"].map(|end| format!("{path}{end}.py")));
        }
        for word in command.words.iter().filter(|word| word.text.contains(char::is_whitespace)) {
            found.extend(implied(&word.text));
        }
    }
    found
}

/// The module that Python is told to run.
pub(super) fn module(command: &Command) -> Option<&str> {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let python = words.iter().position(|word| matches!(program(word), "python" | "pypy"))?;
    // What follows a script or a text is told to that.
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
