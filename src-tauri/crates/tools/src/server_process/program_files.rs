//! Files outside the system's folders that a confined server must read to start.
//!
//! Owns the rules: the folder of the program with its libraries, the targets of links, the interpreter of a script, and
//! the project of a script among the arguments. Never names a data file: an argument without the ending of a script
//! adds nothing. Pitfall: the prefix of a program, such as `~/.local`, also holds data of the person.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::workspace::home_folder;

/// Folders that every sandboxed program can read.
const SYSTEM_FOLDERS: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/System",
    "/etc/alternatives",
];
/// Folders beside a `bin` folder that a runtime reads.
const RUNTIME_FOLDERS: &[&str] = &["lib", "lib64", "libexec", "conf"];
/// Endings of scripts and program archives.
const SCRIPT_ENDINGS: &[&str] = &[
    "js", "mjs", "cjs", "ts", "mts", "cts", "tsx", "jsx", "py", "pyz", "rb", "pl", "php", "lua",
    "sh", "bash", "jar", "wasm",
];
/// Files that mark the root of a script's project.
const PROJECT_FILES: &[&str] =
    &["package.json", "pyproject.toml", "deno.json", "deno.jsonc", "Gemfile", "composer.json"];
const MODULES: &str = "node_modules";
/// The most links from one file to the next.
const MAX_LINKS: usize = 16;
/// The most bytes of a script's first line.
const MAX_FIRST_LINE: usize = 256;

/// The files of a server, by real folders.
#[derive(Debug, Default)]
pub(super) struct ProgramFiles {
    /// Folders to read, with the files for which they are needed.
    pub(super) folders: Vec<NeededFolder>,
    /// Links to folders on the way to a program.
    pub(super) links: Vec<PathBuf>,
}

/// A folder that a program needs.
#[derive(Debug)]
pub(super) struct NeededFolder {
    pub(super) path: PathBuf,
    /// The file that is enough in need, if the folder cannot be shown.
    pub(super) file: PathBuf,
}

impl ProgramFiles {
    /// The files of a program with these arguments.
    pub(super) fn new(program: &Path, arguments: &[String]) -> Self {
        let mut files = Self::default();
        files.add_program(program);
        if let Some(interpreter) = interpreter_of(program) {
            files.add_program(&interpreter);
        }
        for script in arguments.iter().map(Path::new).filter(|path| is_script(path)) {
            files.follow_links(script, script_folders);
        }
        files
    }

    fn add_program(&mut self, program: &Path) {
        self.follow_links(program, program_folders);
    }

    /// Adds the folders of a file, and of every link on the way to its content.
    fn follow_links(&mut self, file: &Path, folders_of: fn(&Path) -> Vec<PathBuf>) {
        let mut next = with_real_folder(file);
        for _ in 0..MAX_LINKS {
            let Some(file) = next.take() else { return };
            let is_outside =
                |path: &PathBuf| !SYSTEM_FOLDERS.iter().any(|folder| path.starts_with(folder));
            let folders = file.parent().map(folders_of).unwrap_or_default();
            for path in folders.into_iter().filter(is_outside) {
                self.folders.push(NeededFolder { path, file: file.clone() });
            }
            // An error means that the file is no link.
            let Ok(target) = std::fs::read_link(&file) else { return };
            let target = file.with_file_name(target);
            self.links.extend(linked_folders(&target));
            next = with_real_folder(&target);
        }
    }
}

/// The path of a file with the real path of its folder. The file itself may be a link.
pub(super) fn with_real_folder(file: &Path) -> Option<PathBuf> {
    let folder = file.parent()?.canonicalize().ok()?;
    Some(folder.join(file.file_name()?))
}

/// The folders on the way to a file that are links.
fn linked_folders(file: &Path) -> Vec<PathBuf> {
    let folders = file.ancestors().skip(1).filter(|folder| folder.is_symlink());
    folders.filter_map(with_real_folder).collect()
}

/// The folder of a program with the libraries beside it.
fn program_folders(folder: &Path) -> Vec<PathBuf> {
    if let Some(modules) = modules_folder(folder) {
        return vec![modules];
    }
    let mut folders = vec![folder.to_owned()];
    let prefix = folder.parent().filter(|prefix| folder.ends_with("bin") && !holds_home(prefix));
    if let Some(prefix) = prefix {
        if prefix.join("pyvenv.cfg").is_file() {
            return vec![prefix.to_owned()];
        }
        let libraries = RUNTIME_FOLDERS.iter().map(|name| prefix.join(name));
        folders.extend(libraries.filter(|path| path.is_dir() && !path.is_symlink()));
    }
    folders
}

/// The root of a script's project, or the script's folder.
fn script_folders(folder: &Path) -> Vec<PathBuf> {
    if let Some(modules) = modules_folder(folder) {
        return vec![modules];
    }
    let is_project = |path: &&Path| PROJECT_FILES.iter().any(|name| path.join(name).is_file());
    let root = folder.ancestors().take_while(|path| !holds_home(path)).find(is_project);
    vec![root.unwrap_or(folder).to_owned()]
}

/// Whether the person's home is `folder` or lies in it.
fn holds_home(folder: &Path) -> bool {
    let real = |home: PathBuf| home.canonicalize().unwrap_or(home);
    home_folder().map(real).is_some_and(|home| home.starts_with(folder))
}

/// The outermost `node_modules`, because packages import each other.
fn modules_folder(folder: &Path) -> Option<PathBuf> {
    let modules = folder.ancestors().filter(|path| path.ends_with(MODULES));
    modules.last().map(Path::to_owned)
}

fn is_script(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    path.is_absolute()
        && ending.is_some_and(|ending| SCRIPT_ENDINGS.contains(&ending))
        && path.is_file()
}

/// The interpreter in the first line of a script.
fn interpreter_of(script: &Path) -> Option<PathBuf> {
    let mut bytes = [0; MAX_FIRST_LINE];
    let count = File::open(script).and_then(|mut file| file.read(&mut bytes)).unwrap_or_default();
    let line = bytes[..count].strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let interpreter = std::str::from_utf8(line).ok()?.split_whitespace().next()?;
    Some(PathBuf::from(interpreter)).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates empty files below a folder; returns its real path.
    fn create(names: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let real = folder.path().canonicalize().expect("there");
        for name in names {
            let file = real.join(name);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            std::fs::write(file, "").expect("written");
        }
        (folder, real)
    }

    fn needed(root: &Path, program: &str, arguments: &[&str]) -> Vec<String> {
        let arguments: Vec<_> =
            arguments.iter().map(|name| root.join(name).display().to_string()).collect();
        let files = ProgramFiles::new(&root.join(program), &arguments);
        let below = |folder: &NeededFolder| {
            folder.path.strip_prefix(root).expect("below").display().to_string()
        };
        files.folders.iter().map(below).collect()
    }

    #[test]
    fn runtime_needs_its_libraries_but_not_its_prefix() {
        let (_folder, root) = create(&["bin/node", "lib/node_modules/npm/cli.js", "share/keys"]);
        assert_eq!(needed(&root, "bin/node", &[]), ["bin", "lib"]);
        std::os::unix::fs::symlink("../lib/node_modules/npm/cli.js", root.join("bin/npx"))
            .expect("a link");
        assert_eq!(needed(&root, "bin/npx", &[]), ["bin", "lib", "lib/node_modules"]);
    }

    #[test]
    fn virtual_environment_is_needed_as_a_whole() {
        let (_folder, root) = create(&["venv/bin/server", "venv/pyvenv.cfg"]);
        assert_eq!(needed(&root, "venv/bin/server", &[]), ["venv"]);
    }

    #[test]
    fn script_needs_its_project_and_data_file_adds_nothing() {
        let (_folder, root) =
            create(&["app/package.json", "app/dist/server.js", "data/private.db", "a/b.py"]);
        let arguments = ["app/dist/server.js", "data/private.db", "a/b.py", "absent/c.js"];
        assert_eq!(needed(&root, "none", &arguments)[1..], ["app", "a"]);
    }

    #[test]
    fn interpreter_of_a_script_is_needed() {
        let (_folder, root) = create(&["bin/server", "runtime/bin/python"]);
        let line = format!("#!{} -u\nimport x\n", root.join("runtime/bin/python").display());
        std::fs::write(root.join("bin/server"), line).expect("written");
        assert_eq!(needed(&root, "bin/server", &[]), ["bin", "runtime/bin"]);
    }
}
