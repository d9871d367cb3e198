//! The engine's JavaScript in a smaller form.
//!
//! Owns the copy of `engine.js` and `engine/` in a folder of its own: without comments and spaces, with short names
//! of variables. The engine keeps the source of each function in memory, so shorter source is a smaller component.
//! Never simplifies code: no rule of the minifier can change behaviour.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use oxc_allocator::Allocator;
use oxc_codegen::{Codegen, CodegenOptions};
use oxc_minifier::{MangleOptions, MangleOptionsKeepNames, Minifier, MinifierOptions};
use oxc_parser::Parser;
use oxc_span::SourceType;

/// Copies the engine's modules from one folder to another.
pub(crate) fn copy_modules(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.join("engine"))?;
    copy_module(&from.join("engine.js"), &to.join("engine.js"))?;
    for entry in fs::read_dir(from.join("engine"))? {
        let entry = entry?;
        copy_module(&entry.path(), &to.join("engine").join(entry.file_name()))?;
    }
    Ok(())
}

fn copy_module(from: &Path, to: &Path) -> Result<()> {
    let source =
        fs::read_to_string(from).with_context(|| format!("could not read {}", from.display()))?;
    let smaller =
        minify(&source).with_context(|| format!("could not minify {}", from.display()))?;
    fs::write(to, smaller).with_context(|| format!("could not write {}", to.display()))
}

fn minify(source: &str) -> Result<String> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, source, SourceType::mjs()).parse();
    if let Some(problem) = parsed.diagnostics.first() {
        bail!("{problem}");
    }
    let mut program = parsed.program;
    // Tools print the names of classes.
    let keep_names = MangleOptionsKeepNames { class: true, function: false };
    let mangle = MangleOptions { keep_names, ..MangleOptions::default() };
    let minifier = Minifier::new(MinifierOptions { mangle: Some(mangle), compress: None });
    let names = minifier.minify(&allocator, &mut program).scoping;
    let options = CodegenOptions::minify();
    Ok(Codegen::new().with_options(options).with_scoping(names).build(&program).code)
}
