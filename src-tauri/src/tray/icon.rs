//! The pictures of the tray, decoded when the app is built.
//!
//! macOS gets the one-colour set and tints it itself; the shapes are the same everywhere, because colour alone must
//! never tell a state.

use tauri::image::Image;
use tauri::include_image;

use super::state::IconKind;

/// Whether the system tints the picture.
pub(crate) const IS_TEMPLATE: bool = cfg!(target_os = "macos");

/// The picture of `kind`.
#[cfg(not(target_os = "macos"))]
pub(crate) fn picture(kind: IconKind) -> Image<'static> {
    match kind {
        IconKind::Idle => include_image!("./icons/tray/idle.png"),
        IconKind::Running => include_image!("./icons/tray/running.png"),
        IconKind::Attention => include_image!("./icons/tray/attention.png"),
        IconKind::Paused => include_image!("./icons/tray/paused.png"),
        IconKind::Error => include_image!("./icons/tray/error.png"),
    }
}

/// The picture of `kind`.
#[cfg(target_os = "macos")]
pub(crate) fn picture(kind: IconKind) -> Image<'static> {
    match kind {
        IconKind::Idle => include_image!("./icons/tray/template/idle.png"),
        IconKind::Running => include_image!("./icons/tray/template/running.png"),
        IconKind::Attention => include_image!("./icons/tray/template/attention.png"),
        IconKind::Paused => include_image!("./icons/tray/template/paused.png"),
        IconKind::Error => include_image!("./icons/tray/template/error.png"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_a_picture_of_its_own_that_is_no_blank() {
        let kinds = [
            IconKind::Idle,
            IconKind::Running,
            IconKind::Attention,
            IconKind::Paused,
            IconKind::Error,
        ];
        let pictures = kinds.map(|kind| picture(kind).rgba().to_vec());
        for (n, pixels) in pictures.iter().enumerate() {
            let opaque = pixels.chunks_exact(4).filter(|pixel| pixel[3] > 128).count();
            assert!(opaque > 0 && opaque < pixels.len() / 4, "{:?} is a shape", kinds[n]);
            assert!(!pictures[..n].contains(pixels), "{:?} looks like another", kinds[n]);
        }
    }
}
