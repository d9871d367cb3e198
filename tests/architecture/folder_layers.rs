//! Import directions between the folders of a crate.
//!
//! Owns the table of layers. Never limits other folders. Pitfall: an item behind a re-export belongs to the folder that
//! declares the item.

use crate::import_cycles::{imports_of, modules_of};
use crate::source_files::SourceFile;

/// The layers of a crate. A layer imports only layers to the right.
const LAYERS: [(&str, &[&str]); 5] = [
    ("agent", &["runs", "turn", "context", "gate", "safety"]),
    ("cli", &["commands", "render", "resolve"]),
    ("gateway", &["server", "table", "handlers", "convert", "wire"]),
    ("scheduler", &["engine", "state"]),
    ("store", &["tx", "tables", "sql"]),
];

/// Imports of a layer to the left.
pub(crate) fn upward_imports(sources: &[SourceFile]) -> Vec<String> {
    let modules = modules_of(sources);
    let mut upward = Vec::new();
    for module in modules.keys() {
        let Some((package, layer)) = layer_of(module) else { continue };
        for import in imports_of(&modules, module) {
            let is_upward =
                layer_of(&import).is_some_and(|(other, to)| other == package && to < layer);
            if is_upward {
                upward.push(format!("{module} imports {import}"));
            }
        }
    }
    upward
}

/// Crate and position of the module's layer; none outside the table.
fn layer_of(module: &str) -> Option<(&str, usize)> {
    let (package, path) = module.strip_prefix("src-tauri/crates/")?.split_once("::")?;
    let (_, layers) = LAYERS.iter().find(|(name, _)| *name == package)?;
    let folder = path.split("::").next()?;
    layers.iter().position(|layer| *layer == folder).map(|position| (package, position))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn import_of_layer_to_the_left_is_found() {
        let source = |file: &str, text: &str| SourceFile {
            path: format!("src-tauri/crates/store/src/{file}.rs"),
            text: text.to_owned(),
        };
        let sources = [
            source("tx/mod", "use crate::tables::Row;\npub struct Tx;\n"),
            source("tables/mod", "use crate::tx::Tx;\npub struct Row;\n"),
        ];
        let prefix = "src-tauri/crates/store";
        assert_eq!(upward_imports(&sources), [format!("{prefix}::tables imports {prefix}::tx")]);
    }
}
