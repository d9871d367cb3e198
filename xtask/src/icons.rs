//! `cargo xtask icons`: every icon file, from the drawings in `icons/src`.
//!
//! Owns which sizes and variants exist. The files are committed, so that a build needs no drawing tools. Refuses retouching:
//! what is wrong in a file is mended in its drawing. One could get it wrong by letting states differ by colour alone;
//! the templates for macOS are drawn in one colour and show at once when that happens.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::failure::{Doing, Failure};
use crate::progress::{Done, Steps};
use crate::{bundle, house, process};

/// What the Tauri command line makes of the app icon and we keep; the rest is for stores and phones.
const KEPT: [&str; 5] = ["32x32.png", "128x128.png", "128x128@2x.png", "icon.png", "icon.ico"];

const TRAY_STATES: [&str; 5] = ["idle", "running", "attention", "paused", "error"];

/// 22 points on a display with two pixels a point; panels scale it down from there.
const TRAY_SIZE: &str = "44";

/// The canvas of the app icon, and the wider one that leaves the margin macOS expects around it.
const CANVAS: &str = r#"viewBox="0 0 1024 1024""#;
const CANVAS_ON_MACOS: &str = r#"viewBox="-124 -124 1272 1272""#;

pub(crate) fn run() -> Result<ExitCode, Failure> {
    let scratch = house::target().join("xtask").join("icons");
    let mut steps = Steps::of(3);
    steps.step("App icon", || {
        let full = draw(&house::icons().join("src/app.svg"), &scratch.join("app"), &[])?;
        KEPT.iter().try_for_each(|name| keep(&full.join(name), &house::icons().join(name)))?;
        Ok(Done::Made)
    })?;
    steps.step("App icon for macOS", || {
        let wide = with(&house::icons().join("src/app.svg"), CANVAS, CANVAS_ON_MACOS, &scratch)?;
        let made = draw(&wide, &scratch.join("macos"), &[])?;
        keep(&made.join("icon.icns"), &house::icons().join("icon.icns"))?;
        Ok(Done::Made)
    })?;
    steps.step("Tray icons", || {
        TRAY_STATES.iter().try_for_each(|state| tray(state, &scratch))?;
        Ok(Done::Made)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// One state of the tray icon: in its colour, and as a black template.
fn tray(state: &str, scratch: &Path) -> Result<(), Failure> {
    let drawing = house::icons().join("src/tray").join(format!("{state}.svg"));
    let text = fs::read_to_string(&drawing).doing(|| format!("read {}", drawing.display()))?;
    let colour = colour_of(&text)
        .ok_or_else(|| Failure::new(format!("{} has no color=\"…\"", drawing.display())))?;
    let black = with(&drawing, colour, r##"color="#000000""##, scratch)?;
    for (source, place) in [(&drawing, "tray"), (&black, "tray/template")] {
        let made = draw(source, &scratch.join(place), &["--png", TRAY_SIZE])?;
        let file = house::icons().join(place).join(format!("{state}.png"));
        keep(&made.join(format!("{TRAY_SIZE}x{TRAY_SIZE}.png")), &file)?;
    }
    Ok(())
}

/// The one colour attribute of a tray drawing.
fn colour_of(drawing: &str) -> Option<&str> {
    let start = drawing.find(r#"color=""#)?;
    let length = drawing[start..].find(r#"" "#)? + 1;
    Some(&drawing[start..start + length])
}

/// A copy of a drawing with one part of its text exchanged.
fn with(drawing: &Path, part: &str, other: &str, scratch: &Path) -> Result<PathBuf, Failure> {
    let text = fs::read_to_string(drawing).doing(|| format!("read {}", drawing.display()))?;
    if !text.contains(part) {
        return Err(Failure::new(format!("{} no longer contains {part}", drawing.display())));
    }
    let copy = scratch.join(drawing.file_name().unwrap_or(OsStr::new("drawing.svg")));
    fs::create_dir_all(scratch).doing(|| format!("make {}", scratch.display()))?;
    fs::write(&copy, text.replace(part, other)).doing(|| format!("write {}", copy.display()))?;
    Ok(copy)
}

fn draw(drawing: &Path, into: &Path, options: &[&str]) -> Result<PathBuf, Failure> {
    let mut command = bundle::tauri();
    command.arg("icon").arg(drawing).arg("--output").arg(into).args(options);
    let drawn = process::watch(command, |_| ())?;
    if drawn {
        Ok(into.to_path_buf())
    } else {
        Err(Failure::new(format!("could not draw {}", drawing.display())))
    }
}

fn keep(made: &Path, file: &Path) -> Result<(), Failure> {
    let folder = file.parent().expect("BUG: an icon lies in a folder");
    fs::create_dir_all(folder).doing(|| format!("make {}", folder.display()))?;
    fs::copy(made, file).doing(|| format!("copy {} to {}", made.display(), file.display()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_a_drawing_in_one_colour() {
        for state in TRAY_STATES {
            let file = house::icons().join("src/tray").join(format!("{state}.svg"));
            let text = fs::read_to_string(&file).expect("a drawing");
            assert!(colour_of(&text).is_some(), "{state}");
            assert_eq!(text.matches('#').count(), 1, "{state} has a second colour");
        }
    }

    #[test]
    fn the_app_icon_keeps_the_canvas_that_macos_widens() {
        let text = fs::read_to_string(house::icons().join("src/app.svg")).expect("a drawing");
        assert!(text.contains(CANVAS));
    }
}
