//! The menu entries as a real menu.
//!
//! A new state gets a new menu, whole: menus are small, and a menu that is patched entry by entry can end up showing
//! half of two states. Choices carry their command as the item's id, so nothing has to be remembered between menus.

use tauri::menu::{IsMenuItem, Menu, MenuItem, PredefinedMenuItem, Submenu};
use tauri::{AppHandle, Wry};

use super::state::Entry;

/// Builds the menu of `entries`.
pub(crate) fn build(app: &AppHandle, entries: &[Entry]) -> tauri::Result<Menu<Wry>> {
    let items = items(app, entries)?;
    Menu::with_items(app, &refs(&items))
}

type Item = Box<dyn IsMenuItem<Wry>>;

fn items(app: &AppHandle, entries: &[Entry]) -> tauri::Result<Vec<Item>> {
    entries.iter().map(|entry| item(app, entry)).collect()
}

fn item(app: &AppHandle, entry: &Entry) -> tauri::Result<Item> {
    Ok(match entry {
        Entry::Words(words) => Box::new(MenuItem::new(app, plain(words), false, None::<&str>)?),
        Entry::Choice(label, command) => {
            Box::new(MenuItem::with_id(app, command.to_id(), plain(label), true, None::<&str>)?)
        }
        Entry::Submenu(label, inner) => {
            let inner = items(app, inner)?;
            Box::new(Submenu::with_items(app, plain(label), true, &refs(&inner))?)
        }
        Entry::Separator => Box::new(PredefinedMenuItem::separator(app)?),
    })
}

fn refs(items: &[Item]) -> Vec<&dyn IsMenuItem<Wry>> {
    items.iter().map(Box::as_ref).collect()
}

/// The words with `&` as a letter: alone it would underline the next one.
fn plain(words: &str) -> String {
    words.replace('&', "&&")
}
