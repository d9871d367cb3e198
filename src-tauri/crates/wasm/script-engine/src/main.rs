//! `rouse-script-engine <file>`: builds the engine of JavaScript tools as one WebAssembly component.
//!
//! Owns the choice of the runtime, and the smaller form of its input and output. The engine itself is `engine.js`
//! beside `src`. Never part of an ordinary build: the component is committed. Builds differ in a few random bytes, so
//! each has its own hash. Pitfall: a WASI import that is not stubbed would need a host with ambient rights.

mod minify;
mod shrink;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use componentize_qjs::{ComponentizeOpts, Runtime, componentize};

fn main() -> Result<()> {
    let output = std::env::args_os().nth(1).context("Name the output file.")?;
    let component = tokio::runtime::Builder::new_current_thread().build()?.block_on(build())?;
    let component = shrink::shrink(&component).context("could not shrink the component")?;
    let output = PathBuf::from(output);
    std::fs::write(&output, component)
        .with_context(|| format!("could not write {}", output.display()))
}

/// The component, before it is shrunk.
async fn build() -> Result<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let modules = tempfile::tempdir().context("could not create a folder")?;
    minify::copy_modules(folder, modules.path())?;
    let entry = modules.path().join("engine.js");
    let source = std::fs::read_to_string(&entry).context("could not read engine.js")?;
    let options = ComponentizeOpts {
        wit_path: &folder.join("../wit/tool.wit"),
        js_source: &source,
        js_path: Some(&entry),
        module_root: Some(modules.path()),
        world_name: Some("script-engine"),
        stub_wasi: true,
        disable_gc: false,
        runtime: Runtime::DefaultSync,
    };
    componentize(&options).await.context("could not build the component")
}
