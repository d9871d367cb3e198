//! Builds the real menu from menu entries.
//!
//! Each state gets a complete new menu; patching could show a mix of two states. Items carry their
//! command as id.

use tauri::menu::{IsMenuItem, Menu, MenuItem, PredefinedMenuItem, Submenu};
use tauri::{AppHandle, Wry};

use super::state::MenuEntry;

/// Builds the menu.
pub(crate) fn build(app: &AppHandle, entries: &[MenuEntry]) -> tauri::Result<Menu<Wry>> {
    let items = items(app, entries)?;
    Menu::with_items(app, &refs(&items))
}

type Item = Box<dyn IsMenuItem<Wry>>;

fn items(app: &AppHandle, entries: &[MenuEntry]) -> tauri::Result<Vec<Item>> {
    entries.iter().map(|entry| item(app, entry)).collect()
}

fn item(app: &AppHandle, entry: &MenuEntry) -> tauri::Result<Item> {
    Ok(match entry {
        MenuEntry::Label(label) => {
            Box::new(MenuItem::new(app, escape_ampersand(label), false, None::<&str>)?)
        }
        MenuEntry::Choice(label, command) => Box::new(MenuItem::with_id(
            app,
            command.to_id(),
            escape_ampersand(label),
            true,
            None::<&str>,
        )?),
        MenuEntry::Submenu(label, inner) => {
            let inner = items(app, inner)?;
            Box::new(Submenu::with_items(app, escape_ampersand(label), true, &refs(&inner))?)
        }
        MenuEntry::Separator => Box::new(PredefinedMenuItem::separator(app)?),
    })
}

fn refs(items: &[Item]) -> Vec<&dyn IsMenuItem<Wry>> {
    items.iter().map(Box::as_ref).collect()
}

/// Escapes `&`, which would underline the next letter.
fn escape_ampersand(label: &str) -> String {
    label.replace('&', "&&")
}
