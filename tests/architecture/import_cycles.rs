//! Import cycles between the files of a crate.
//!
//! Owns the graph of the `use` declarations: each path leads to the file that declares the item, behind re-exports. Two
//! files may import each other. Never reads paths inside functions. Pitfall: a type in `mod.rs` that several child
//! modules import; the re-exports of `mod.rs` close a cycle, so the type needs a module of its own.

use std::collections::{BTreeMap, BTreeSet};

use crate::rust_style::{code_lines, is_test};
use crate::source_files::SourceFile;

const MAX_FILES: usize = 2;

/// The modules, each with the imported names and their paths.
pub(crate) type Modules = BTreeMap<String, Vec<(String, String)>>;

/// Cycles over the limit, each as a list of modules.
pub(crate) fn long_cycles(sources: &[SourceFile]) -> Vec<String> {
    let modules = modules_of(sources);
    let reachable: BTreeMap<&String, BTreeSet<String>> =
        modules.keys().map(|module| (module, reachable_from(&modules, module))).collect();
    let cycles: BTreeSet<Vec<&str>> = reachable
        .iter()
        .map(|(module, imports)| {
            let cycle = imports.iter().filter(|import| reachable[*import].contains(*module));
            cycle.map(String::as_str).collect()
        })
        .collect();
    let long = cycles.into_iter().filter(|cycle| cycle.len() > MAX_FILES);
    long.map(|cycle| cycle.join(", ")).collect()
}

/// The modules of the sources, without tests.
pub(crate) fn modules_of(sources: &[SourceFile]) -> Modules {
    let mut modules = Modules::new();
    for source in sources.iter().filter(|source| !is_test(&source.path)) {
        if let Some(module) = module_of(&source.path) {
            let names = names_in(&code_lines(source), &module);
            modules.entry(module).or_default().extend(names);
        }
    }
    modules
}

/// `src-tauri/crates/core::run::state` for a file below the folder `src`.
fn module_of(path: &str) -> Option<String> {
    let (package, file) = path.split_once("/src/")?;
    let file = file.strip_suffix(".rs")?;
    match file.strip_suffix("/mod").unwrap_or(file) {
        "lib" | "main" => Some(package.to_owned()),
        module => Some(format!("{package}::{}", module.replace('/', "::"))),
    }
}

/// The names that a module imports or declares as modules, with their paths.
fn names_in(lines: &[&str], module: &str) -> Vec<(String, String)> {
    let mut names = Vec::new();
    let mut lines = lines.iter();
    while let Some(line) = lines.next() {
        let item = match line.strip_prefix("pub") {
            Some(rest) => rest.split_once(") ").map_or(rest.trim_start(), |(_, item)| item),
            None => *line,
        };
        if let Some(name) = item.strip_prefix("mod ").and_then(|name| name.strip_suffix(';')) {
            names.push((name.to_owned(), format!("{module}::{name}")));
        } else if let Some(tree) = item.strip_prefix("use ") {
            let mut tree = tree.to_owned();
            while !tree.ends_with(';') {
                tree.push_str(lines.next().expect("the end of the import").trim());
            }
            add_names(module, "", tree.trim_end_matches(';'), &mut names);
        }
    }
    names
}

/// Adds the names of a tree such as `super::{Run, state::{self, RunState as State}}`.
fn add_names(module: &str, prefix: &str, tree: &str, names: &mut Vec<(String, String)>) {
    let Some((begin, rest)) = tree.split_once('{') else {
        let (path, alias) = tree.split_once(" as ").unwrap_or((tree, ""));
        let path = absolute_path(module, format!("{prefix}{path}").trim_end_matches("::self"));
        let name = if alias.is_empty() { path.rsplit("::").next() } else { Some(alias) };
        names.push((name.unwrap_or_default().to_owned(), path));
        return;
    };
    let prefix = format!("{prefix}{begin}");
    let mut depth = 0;
    let branches = rest.strip_suffix('}').expect("a closing brace").split(|letter: char| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        letter == ',' && depth == 0
    });
    for branch in branches.map(str::trim).filter(|branch| !branch.is_empty()) {
        add_names(module, &prefix, branch, names);
    }
}

/// The path from the crate. The path of a library stays below `module`.
fn absolute_path(module: &str, path: &str) -> String {
    if let Some(rest) = path.strip_prefix("crate::") {
        return format!("{}::{rest}", module.split("::").next().unwrap_or(module));
    }
    let mut base = module;
    let mut rest = path.strip_prefix("self::").unwrap_or(path);
    while let Some(after) = rest.strip_prefix("super::") {
        base = base.rsplit_once("::").expect("a parent module").0;
        rest = after;
    }
    format!("{base}::{rest}")
}

/// The module that declares the item at `path`; none if the module has no file of its name.
fn declaring_module(modules: &Modules, path: &str) -> Option<String> {
    let mut module = path;
    while !modules.contains_key(module) {
        module = module.rsplit_once("::")?.0;
    }
    let Some(rest) = path[module.len()..].strip_prefix("::") else { return Some(path.to_owned()) };
    let item = rest.split("::").next().unwrap_or(rest);
    let Some((_, target)) = modules[module].iter().find(|(name, _)| name == item) else {
        return Some(module.to_owned());
    };
    if format!("{target}::").starts_with(&format!("{module}::{item}::")) {
        return None;
    }
    declaring_module(modules, &format!("{target}{}", &rest[item.len()..]))
}

/// The modules that declare the imports of `module`. The declaration of a child module is no import.
pub(crate) fn imports_of(modules: &Modules, module: &str) -> BTreeSet<String> {
    let names = modules[module].iter();
    let paths = names.filter(|(name, path)| *path != format!("{module}::{name}"));
    let imports = paths.filter_map(|(_, path)| declaring_module(modules, path));
    imports.filter(|import| import != module).collect()
}

/// The modules that `module` imports, with their imports.
fn reachable_from(modules: &Modules, module: &str) -> BTreeSet<String> {
    let mut reachable = BTreeSet::new();
    let mut open = vec![module.to_owned()];
    while let Some(importer) = open.pop() {
        for import in imports_of(modules, &importer) {
            if reachable.insert(import.clone()) {
                open.push(import);
            }
        }
    }
    reachable
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycles(files: &[(&str, &str)]) -> Vec<String> {
        let source = |(file, text): &(&str, &str)| SourceFile {
            path: format!("src-tauri/crates/core/src/{file}.rs"),
            text: (*text).to_owned(),
        };
        long_cycles(&files.iter().map(source).collect::<Vec<_>>())
    }

    #[test]
    fn cycle_of_three_files_is_found_behind_re_exports() {
        let files = [
            ("lib", "mod access;\npub mod run;\npub use access::{\n    tool::{self, Tool},\n};\n"),
            ("access/mod", "pub(crate) mod tool;\n"),
            ("access/tool", "use crate::run::Usage;\n"),
            ("run/mod", "mod step;\npub use step::Step;\npub struct Usage;\n"),
            ("run/step", "use crate::Tool;\n"),
        ];
        let [tool, run] = ["src-tauri/crates/core::access::tool", "src-tauri/crates/core::run"];
        assert_eq!(cycles(&files), [format!("{tool}, {run}, {run}::step")]);
    }

    #[test]
    fn two_files_and_re_exporting_parent_are_no_long_cycle() {
        let files = [
            ("lib", "mod system;\npub use run::{Run, RunState as State};\n"),
            ("run", "use super::step::Step;\nuse serde_json::{self, Value};\nuse glob::glob;\n"),
            ("step", "use crate::{Run, State};\nuse super::system;\n"),
            ("step_tests", "use crate::Run;\n"),
        ];
        assert_eq!(cycles(&files), Vec::<String>::new());
    }
}
