//! Passes Tauri the paths of its permissions and capabilities.
//!
//! The UI is compiled into the program, so `ui/dist` must exist. Without a built UI, writes a placeholder page that
//! explains how to build it; never changes a built UI.

use std::error::Error;
use std::fs;
use std::path::Path;

const UI_FOLDER: &str = "ui/dist";
const PLACEHOLDER: &str = "<!doctype html><meta charset=\"utf-8\"><title>Rouse</title>\
    <p>The pages of Rouse have not been built yet. Run <code>cargo xtask run</code>.</p>\n";

fn main() -> Result<(), Box<dyn Error>> {
    write_placeholder_page()?;
    for path in [UI_FOLDER, "icons", "src-tauri/permissions"] {
        println!("cargo:rerun-if-changed={path}");
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

fn write_placeholder_page() -> Result<(), Box<dyn Error>> {
    let page = Path::new(UI_FOLDER).join("index.html");
    if !page.exists() {
        fs::create_dir_all(UI_FOLDER)?;
        fs::write(page, PLACEHOLDER)?;
    }
    Ok(())
}
