//! Hands Tauri its configuration, permissions and capabilities, which stand at places of our own choosing.
//!
//! The page is built into the program, so `ui/dist` has to exist before anything compiles. On a tree whose UI was
//! never built a page that says so takes its place; a built UI is never touched.

use std::error::Error;
use std::fs;
use std::path::Path;

const UI: &str = "ui/dist";
const NOT_BUILT: &str = "<!doctype html><meta charset=\"utf-8\"><title>Rouse</title>\
    <p>The pages of Rouse have not been built yet. Run <code>cargo xtask run</code>.</p>\n";

fn main() -> Result<(), Box<dyn Error>> {
    stand_in_for_ui()?;
    for watched in [UI, "icons", "src-tauri/permissions"] {
        println!("cargo:rerun-if-changed={watched}");
    }
    tauri_build::try_build(
        tauri_build::Attributes::new()
            .capabilities_path_pattern("src-tauri/capabilities/*.json")
            .app_manifest(
                tauri_build::AppManifest::new()
                    .permissions_path_pattern("src-tauri/permissions/*.toml"),
            ),
    )?;
    Ok(())
}

fn stand_in_for_ui() -> Result<(), Box<dyn Error>> {
    let page = Path::new(UI).join("index.html");
    if !page.exists() {
        fs::create_dir_all(UI)?;
        fs::write(page, NOT_BUILT)?;
    }
    Ok(())
}
