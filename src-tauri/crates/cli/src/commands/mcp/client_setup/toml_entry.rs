//! The entry in a TOML file, which keeps comments and order.

use rouse_host::PROCESS_MARKER;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TomlError, value};

use super::entry_change::EntryChange;
use super::server_entry::{ARGUMENTS, ENTRY_NAME, HOME_VARIABLE, ServerEntry};

const SERVERS: &str = "mcp_servers";

/// Sets the entry in `text`. An error says why the file cannot be changed.
pub(super) fn set_entry(text: Option<&str>, entry: &ServerEntry) -> Result<EntryChange, String> {
    let mut document: DocumentMut = text
        .unwrap_or_default()
        .parse()
        .map_err(|error: TomlError| format!("the file is no TOML document ({error})"))?;
    let empty_table = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    let servers = document.entry(SERVERS).or_insert_with(empty_table);
    let Some(servers) = servers.as_table_like_mut() else {
        return Err(format!("`{SERVERS}` is no table"));
    };
    let mut table = Table::new();
    table.insert("command", value(entry.command.as_str()));
    table.insert("args", value(Array::from_iter(ARGUMENTS)));
    // Codex hides other variables from its servers, and this one tells a run of Rouse.
    table.insert("env_vars", value(Array::from_iter([PROCESS_MARKER])));
    if let Some(home) = &entry.home {
        table.insert("env", value(InlineTable::from_iter([(HOME_VARIABLE, home.as_str())])));
    }
    let after = shown(&table.to_string());
    let before = servers.get(ENTRY_NAME).map(|item| shown(&item.to_string()));
    servers.insert(ENTRY_NAME, Item::Table(table));
    // The library writes all line ends as LF.
    let has_crlf = text.is_some_and(|text| text.contains("\r\n"));
    let changed = document.to_string();
    let text = if has_crlf { changed.replace('\n', "\r\n") } else { changed };
    Ok(EntryChange { before, after, text })
}

/// An entry with its head.
fn shown(table: &str) -> String {
    format!("[{SERVERS}.{ENTRY_NAME}]\n{}", table.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> ServerEntry {
        ServerEntry { command: "/opt/rouse".to_owned(), home: Some("/data".to_owned()) }
    }

    #[test]
    fn entry_is_added_beside_the_others() {
        let text = "# mine\nmodel = \"x\"\n\n[mcp_servers.other]\ncommand = \"o\" # keep\n";
        let change = set_entry(Some(text), &entry()).expect("a change");
        assert_eq!(change.before, None);
        assert!(change.text.starts_with(text), "{}", change.text);
        let document: DocumentMut = change.text.parse().expect("TOML");
        let servers = &document[SERVERS];
        assert_eq!(servers["rouse"]["command"].as_str(), Some("/opt/rouse"));
        assert_eq!(servers["rouse"]["env"]["ROUSE_HOME"].as_str(), Some("/data"));
        assert_eq!(servers["other"]["command"].as_str(), Some("o"));
        let again = set_entry(Some(&change.text), &entry()).expect("a change");
        assert!(again.is_done(), "{again:?}");
    }

    #[test]
    fn windows_line_ends_are_kept() {
        let text = "# mine\r\nmodel = \"x\"\r\n";
        let change = set_entry(Some(text), &entry()).expect("a change");
        assert!(change.text.starts_with(text), "{:?}", change.text);
        assert_eq!(change.text.matches('\n').count(), change.text.matches("\r\n").count());
    }

    #[test]
    fn missing_file_gets_only_the_entry() {
        let change = set_entry(None, &entry()).expect("a change");
        assert!(change.text.trim_start().starts_with("[mcp_servers.rouse]"), "{}", change.text);
    }

    #[test]
    fn old_entry_is_replaced() {
        let text = "[mcp_servers.rouse]\ncommand = \"/old\"\n\n[other]\na = 1\n";
        let change = set_entry(Some(text), &entry()).expect("a change");
        assert!(change.before.as_ref().is_some_and(|before| before.contains("/old")));
        assert!(!change.text.contains("/old") && change.text.contains("[other]\na = 1\n"));
    }

    #[test]
    fn unusable_file_is_refused() {
        assert!(set_entry(Some("model ="), &entry()).is_err());
        assert!(set_entry(Some("mcp_servers = 7"), &entry()).is_err());
    }
}
