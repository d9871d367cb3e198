//! TypeScript export: one file with all wire types, the labels of runs and the map of all methods.
//!
//! The `export-types` example writes the file, which is committed; `cargo xtask test` checks that the file is up to date.

use std::any::TypeId;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use ts_rs::{Config, TS, TypeVisitor};

use crate::caller::MethodScope;
use crate::table::{METHOD_SCOPES, TypeVisit, visit_types};
use crate::wire::{EventView, PairingOffer, RunState, RunTrigger, WaitsFor};

/// Writes `index.ts` into `directory`, which must exist.
///
/// # Errors
/// If the file cannot be written.
pub fn export_types(directory: &Path) -> std::io::Result<()> {
    let mut export = Export {
        config: Config::new().with_large_int("number"),
        seen: HashSet::new(),
        types: BTreeMap::new(),
        methods: Vec::new(),
    };
    export.visit::<EventView>();
    export.visit::<PairingOffer>();
    export.visit::<MethodScope>();
    visit_types(&mut export);
    std::fs::write(directory.join("index.ts"), export.into_text())
}

struct Export {
    config: Config,
    seen: HashSet<TypeId>,
    /// Declarations by type name.
    types: BTreeMap<String, String>,
    methods: Vec<String>,
}

impl TypeVisitor for Export {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        if !self.seen.insert(TypeId::of::<T>()) {
            return;
        }
        // Built-in types of TypeScript have no output path and no declaration.
        if T::output_path().is_some() {
            let docs = T::docs().unwrap_or_default();
            let declaration = format!("{docs}export {}", T::decl(&self.config));
            self.types.insert(T::ident(&self.config), declaration);
        }
        T::visit_dependencies(self);
        T::visit_generics(self);
    }
}

impl TypeVisit for Export {
    fn method<P: TS + 'static, R: TS + 'static>(&mut self, name: &'static str) {
        let (params, result) = (P::name(&self.config), R::name(&self.config));
        self.methods.push(format!("  \"{name}\": {{ params: {params}; result: {result} }};"));
        self.visit::<P>();
        self.visit::<R>();
    }
}

impl Export {
    fn into_text(self) -> String {
        let types: Vec<String> = self.types.into_values().collect();
        format!(
            "// Written by `cargo xtask types` from the gateway's method table. Do not edit.\n\n{}\n\n{}\n\n\
             /** Every method of the gateway with its parameters and its result. */\n\
             export type Methods = {{\n{}\n}};\n\n\
             /** The scope that each method needs. */\n\
             export const methodScopes: Record<keyof Methods, MethodScope> = {{\n{}\n}};\n",
            types.join("\n\n"),
            label_tables().join("\n\n"),
            self.methods.join("\n"),
            scope_lines().join("\n")
        )
    }
}

/// The entries of `methodScopes`.
fn scope_lines() -> Vec<String> {
    let line =
        |(method, scope): &(&str, MethodScope)| format!("  \"{method}\": \"{}\",", scope.name());
    METHOD_SCOPES.iter().map(line).collect()
}

/// The labels of the closed sets that CLI and UI show.
fn label_tables() -> [String; 3] {
    let states = RunState::ALL.iter().map(|state| label_line(state.name(), state.label()));
    let triggers =
        RunTrigger::ALL.iter().map(|trigger| label_line(trigger.name(), trigger.label()));
    let waits = WaitsFor::ALL.iter().map(|wait| label_line(wait.name(), wait.label()));
    [
        label_table("runStateLabels", "RunState", &states.collect::<String>()),
        label_table("runTriggerLabels", "RunTrigger", &triggers.collect::<String>()),
        label_table("waitLabels", "WaitsFor", &waits.collect::<String>()),
    ]
}

fn label_line(name: &str, label: &str) -> String {
    format!("  {name}: {label:?},\n")
}

fn label_table(constant: &str, keys: &str, lines: &str) -> String {
    format!("export const {constant}: Record<{keys}, string> = {{\n{lines}}};")
}
