//! Pictures of the tray icons, decoded at build time. `state` decides the kind of icon.
//!
//! macOS gets a template image; shapes differ per state, because color alone must not.

use tauri::image::Image;
use tauri::include_image;

use super::state::IconKind;

/// The system tints the icon.
pub(crate) const IS_TEMPLATE: bool = cfg!(target_os = "macos");

/// Icon of a kind.
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
    fn icon_kinds_differ_and_are_visible() {
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
