//! `cargo xtask icons`: every icon file, from the drawings in `icons/src`.
//!
//! Owns the sizes and variants. The files are committed, so a build needs no drawing tools. Never edits generated
//! files; fix the drawing instead. Pitfall: states that differ only by colour; the monochrome templates for macOS
//! reveal that.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::error::{ChoreError, ErrorContext};
use crate::progress::{ChoreOutcome, Steps};
use crate::{bundle, paths, process};

/// The kept output of the Tauri command line; the other files are for stores and phones.
const KEPT_FILES: [&str; 5] =
    ["32x32.png", "128x128.png", "128x128@2x.png", "icon.png", "icon.ico"];

const TRAY_STATES: [&str; 5] = ["idle", "running", "attention", "paused", "error"];

/// 22 points on a display with two pixels per point; panels scale it down.
const TRAY_SIZE: &str = "44";

/// The canvas of the app icon, and the wider canvas with the margin for macOS.
const CANVAS: &str = r#"viewBox="0 0 1024 1024""#;
const CANVAS_ON_MACOS: &str = r#"viewBox="-124 -124 1272 1272""#;

pub(crate) fn run() -> Result<ExitCode, ChoreError> {
    let scratch = paths::target().join("xtask").join("icons");
    let mut steps = Steps::of(3);
    steps.step("App icon", || {
        let full = draw(&paths::icons().join("src/app.svg"), &scratch.join("app"), &[])?;
        KEPT_FILES
            .iter()
            .try_for_each(|name| copy_icon(&full.join(name), &paths::icons().join(name)))?;
        Ok(ChoreOutcome::Done)
    })?;
    steps.step("App icon for macOS", || {
        let wide =
            edit_drawing(&paths::icons().join("src/app.svg"), CANVAS, CANVAS_ON_MACOS, &scratch)?;
        let made = draw(&wide, &scratch.join("macos"), &[])?;
        copy_icon(&made.join("icon.icns"), &paths::icons().join("icon.icns"))?;
        Ok(ChoreOutcome::Done)
    })?;
    steps.step("Tray icons", || {
        TRAY_STATES.iter().try_for_each(|state| draw_tray_icon(state, &scratch))?;
        Ok(ChoreOutcome::Done)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Draws a tray state in colour and as a black template.
fn draw_tray_icon(state: &str, scratch: &Path) -> Result<(), ChoreError> {
    let drawing = paths::icons().join("src/tray").join(format!("{state}.svg"));
    let text =
        fs::read_to_string(&drawing).with_context(|| format!("read {}", drawing.display()))?;
    let colour = find_colour(&text)
        .ok_or_else(|| ChoreError::new(format!("{} has no color=\"…\"", drawing.display())))?;
    let black = edit_drawing(&drawing, colour, r##"color="#000000""##, scratch)?;
    for (source, place) in [(&drawing, "tray"), (&black, "tray/template")] {
        let made = draw(source, &scratch.join(place), &["--png", TRAY_SIZE])?;
        let file = paths::icons().join(place).join(format!("{state}.png"));
        copy_icon(&made.join(format!("{TRAY_SIZE}x{TRAY_SIZE}.png")), &file)?;
    }
    Ok(())
}

/// The only colour attribute of a tray drawing.
fn find_colour(drawing: &str) -> Option<&str> {
    let start = drawing.find(r#"color=""#)?;
    let length = drawing[start..].find(r#"" "#)? + 1;
    Some(&drawing[start..start + length])
}

/// Copies a drawing and replaces a part of its text.
fn edit_drawing(
    drawing: &Path,
    part: &str,
    other: &str,
    scratch: &Path,
) -> Result<PathBuf, ChoreError> {
    let text =
        fs::read_to_string(drawing).with_context(|| format!("read {}", drawing.display()))?;
    if !text.contains(part) {
        return Err(ChoreError::new(format!("{} no longer contains {part}", drawing.display())));
    }
    let copy = scratch.join(drawing.file_name().unwrap_or(OsStr::new("drawing.svg")));
    fs::create_dir_all(scratch).with_context(|| format!("make {}", scratch.display()))?;
    fs::write(&copy, text.replace(part, other))
        .with_context(|| format!("write {}", copy.display()))?;
    Ok(copy)
}

fn draw(drawing: &Path, into: &Path, options: &[&str]) -> Result<PathBuf, ChoreError> {
    let mut command = bundle::tauri();
    command.arg("icon").arg(drawing).arg("--output").arg(into).args(options);
    let drawn = process::watch(command, |_| ())?;
    if drawn {
        Ok(into.to_path_buf())
    } else {
        Err(ChoreError::new(format!("could not draw {}", drawing.display())))
    }
}

fn copy_icon(made: &Path, file: &Path) -> Result<(), ChoreError> {
    let folder = file.parent().expect("BUG: an icon lies in a folder");
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    fs::copy(made, file)
        .with_context(|| format!("copy {} to {}", made.display(), file.display()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_drawing_has_one_colour() {
        for state in TRAY_STATES {
            let file = paths::icons().join("src/tray").join(format!("{state}.svg"));
            let text = fs::read_to_string(&file).expect("a drawing");
            assert!(find_colour(&text).is_some(), "{state}");
            assert_eq!(text.matches('#').count(), 1, "{state} has a second colour");
        }
    }

    #[test]
    fn app_icon_has_the_expected_canvas() {
        let text = fs::read_to_string(paths::icons().join("src/app.svg")).expect("a drawing");
        assert!(text.contains(CANVAS));
    }
}
