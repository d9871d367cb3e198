//! The worlds of `wit/tool.wit`: what a component must export.
//!
//! Owns the type of `run` in both worlds. Imports belong to `host`. Pitfall: an `async` function, which this engine
//! does not call.

use wasmtime::Engine;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Type};

/// The function of both worlds.
pub(crate) const RUN: &str = "run";

/// Why `component` is not of the world whose `run` has this many texts as parameters.
pub(crate) fn world_problem(
    engine: &Engine,
    component: &Component,
    parameters: usize,
) -> Option<String> {
    let exports = component.component_type();
    let is_run = match exports.get_export(engine, RUN).map(|export| export.ty) {
        Some(ComponentItem::ComponentFunc(run)) => {
            !run.async_()
                && run.params().len() == parameters
                && run.params().all(|(_, kind)| kind == Type::String)
                && run.results().len() == 1
                && run.results().all(|kind| is_text_or_error(&kind))
        }
        _ => false,
    };
    (!is_run).then(|| {
        "The component does not export `run: func(arguments-json: string) -> result<string, \
         string>`. Build it for the world `tool` of `rouse:tool@0.1.0`."
            .to_owned()
    })
}

fn is_text_or_error(kind: &Type) -> bool {
    let Type::Result(result) = kind else { return false };
    result.ok() == Some(Type::String) && result.err() == Some(Type::String)
}
