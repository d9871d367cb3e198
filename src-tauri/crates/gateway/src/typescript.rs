//! TypeScript from the method table: one file a type, and `methods.ts` with the map of all methods.
//!
//! Called by the `export-types` example; the result is committed and checked for drift by `cargo xtask test`.

use std::collections::BTreeSet;
use std::path::Path;

use ts_rs::{Config, TS};

use crate::table::{TypeVisit, visit_types};
use crate::wire::{EventKind, EventView};

/// Writes all types into `directory`, which must exist and holds nothing else.
///
/// # Errors
/// The first file that could not be written.
pub fn export_types(directory: &Path) -> Result<(), ts_rs::ExportError> {
    let config = Config::new().with_large_int("number").with_out_dir(directory);
    EventView::export_all(&config)?;
    EventKind::export_all(&config)?;
    let mut export = Export { config, lines: Vec::new(), imports: BTreeSet::new(), failure: None };
    visit_types(&mut export);
    if let Some(failure) = export.failure {
        return Err(failure);
    }
    std::fs::write(directory.join("methods.ts"), export.methods_file())?;
    Ok(())
}

struct Export {
    config: Config,
    lines: Vec<String>,
    imports: BTreeSet<String>,
    failure: Option<ts_rs::ExportError>,
}

impl TypeVisit for Export {
    fn method<P: TS + 'static, R: TS + 'static>(&mut self, name: &'static str) {
        let (params, result) = (P::name(&self.config), R::name(&self.config));
        self.lines.push(format!("  \"{name}\": {{ params: {params}; result: {result} }};"));
        self.imports.extend([params, result]);
        for exported in [P::export_all(&self.config), R::export_all(&self.config)] {
            if let Err(error) = exported {
                self.failure.get_or_insert(error);
            }
        }
    }
}

impl Export {
    fn methods_file(&self) -> String {
        let mut text = String::from(
            "// Written by `cargo xtask types` from the gateway's method table. Do not edit.\n",
        );
        for name in &self.imports {
            text.push_str(&format!("import type {{ {name} }} from \"./{name}\";\n"));
        }
        text.push_str("\n/** Every method of the gateway with its parameters and its result. */\n");
        text.push_str(&format!("export type Methods = {{\n{}\n}};\n", self.lines.join("\n")));
        text
    }
}
