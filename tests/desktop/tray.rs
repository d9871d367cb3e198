//! A tray item from the host's side: its properties, and its menu over `com.canonical.dbusmenu`.

use std::collections::HashMap;
use std::fmt;

use futures_util::StreamExt as _;
use zbus::message::Type;
use zbus::{Connection, MatchRule, Message, MessageStream, OwnedObjectPath, OwnedVariant, Variant};

use crate::session::with_timeout;

const ITEM: (&str, &str) = ("org.kde.StatusNotifierItem", "/StatusNotifierItem");
const MENU: &str = "com.canonical.dbusmenu";
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";

/// The app's tray item.
pub(crate) struct TrayItem {
    bus: Connection,
    service: String,
    menu_path: OwnedObjectPath,
}

/// An icon: width, height, pixels.
type IconPixmap = (i32, i32, Vec<u8>);
/// Icon name, icons, title, description.
type ToolTip = (String, Vec<IconPixmap>, String, String);

/// A menu node: id, properties, children.
type MenuNode = (i32, HashMap<String, OwnedVariant>, Vec<OwnedVariant>);

/// The flattened menu.
#[derive(Debug, Clone)]
pub(crate) struct Menu(Vec<MenuLine>);

#[derive(Debug, Clone)]
struct MenuLine {
    id: i32,
    depth: usize,
    label: String,
    enabled: bool,
}

impl TrayItem {
    pub(crate) async fn at(bus: &Connection, service: String) -> Self {
        let path = property(bus, &service, "Menu").await;
        let menu_path = OwnedObjectPath::try_from(path).expect("the menu's path");
        Self { bus: bus.clone(), service, menu_path }
    }

    /// A property as text; for the tooltip, its description.
    pub(crate) async fn text(&self, name: &str) -> String {
        let value = property(&self.bus, &self.service, name).await;
        if name == "ToolTip" {
            let (_, _, _, text) = ToolTip::try_from(value).expect("a tooltip");
            return text;
        }
        String::try_from(value).expect("text")
    }

    /// The pixels of the icon.
    pub(crate) async fn icon(&self) -> Vec<u8> {
        let value = property(&self.bus, &self.service, "IconPixmap").await;
        let pictures: Vec<IconPixmap> = value.try_into().expect("pictures");
        pictures.into_iter().next().map(|(_, _, bytes)| bytes).unwrap_or_default()
    }

    /// Clicks the item.
    pub(crate) async fn activate(&self) {
        let call = self.bus.call_method(
            Some(self.service.as_str()),
            ITEM.1,
            Some(ITEM.0),
            "Activate",
            &(0_i32, 0_i32),
        );
        call.await.expect("the item takes clicks");
    }

    /// Waits until the menu satisfies the condition, reading the menu after each change signal.
    pub(crate) async fn wait_for_menu(&self, condition: impl Fn(&Menu) -> bool) -> Menu {
        let rule =
            MatchRule::builder().msg_type(Type::Signal).interface(MENU).build().expect("a rule");
        let mut changes =
            MessageStream::for_match_rule(rule, &self.bus, None).await.expect("signals");
        let mut menu = self.menu().await;
        let watching = async {
            while !condition(&menu) {
                changes.next().await;
                menu = self.menu().await;
            }
        };
        if tokio::time::timeout(std::time::Duration::from_secs(60), watching).await.is_err() {
            panic!("the menu condition was not met:\n{}", self.menu().await);
        }
        self.menu().await
    }

    /// Chooses `label` in the submenu `parent`.
    pub(crate) async fn choose(&self, parent: &str, label: &str) {
        loop {
            let menu =
                self.wait_for_menu(|menu| menu.under(parent).contains(&label.to_owned())).await;
            if self.press(menu.find_under(parent, label)).await {
                return;
            }
        }
    }

    /// Chooses `label` in the top menu.
    pub(crate) async fn choose_top(&self, label: &str) {
        loop {
            let menu = self.wait_for_menu(|menu| menu.has(label)).await;
            let line = menu.0.iter().find(|line| line.label == label);
            if self.press(line.map(|line| line.id)).await {
                return;
            }
        }
    }

    /// Returns false if the menu was rebuilt meanwhile, which changes the ids.
    async fn press(&self, id: Option<i32>) -> bool {
        let event = (id.expect("the entry exists"), "clicked", Variant::from(0_i32), 0_u32);
        let path = self.menu_path.as_ref();
        let call =
            self.bus.call_method(Some(self.service.as_str()), path, Some(MENU), "Event", &event);
        match call.await {
            Ok(_) => true,
            Err(zbus::Error::FDO(error)) if matches!(*error, zbus::fdo::Error::InvalidArgs(_)) => {
                false
            }
            Err(error) => panic!("the menu takes no clicks: {error}"),
        }
    }

    async fn menu(&self) -> Menu {
        let arguments = (0_i32, -1_i32, Vec::<String>::new());
        let path = self.menu_path.as_ref();
        let call = self.bus.call_method(
            Some(self.service.as_str()),
            path,
            Some(MENU),
            "GetLayout",
            &arguments,
        );
        let reply: Message = with_timeout("the menu", call).await.expect("a menu");
        let (_, root): (u32, MenuNode) = reply.body().deserialize().expect("a layout");
        let mut lines = Vec::new();
        collect(root, 0, &mut lines);
        Menu(lines)
    }
}

impl Menu {
    pub(crate) fn has(&self, label: &str) -> bool {
        self.0.iter().any(|line| line.label == label)
    }

    /// The first line, with the overall state.
    pub(crate) fn headline(&self) -> &str {
        self.0.first().map_or("", |line| line.label.as_str())
    }

    /// The labels in the submenu `parent`.
    pub(crate) fn under(&self, parent: &str) -> Vec<String> {
        self.lines_under(parent)
            .map(|line| line.label.clone())
            .filter(|label| !label.is_empty())
            .collect()
    }

    fn find_under(&self, parent: &str, label: &str) -> Option<i32> {
        self.lines_under(parent).find(|line| line.label == label).map(|line| line.id)
    }

    fn lines_under(&self, parent: &str) -> impl Iterator<Item = &MenuLine> {
        let at = self.0.iter().position(|line| line.label == parent);
        let (rest, depth) = at.map_or((&[][..], 0), |at| (&self.0[at + 1..], self.0[at].depth));
        rest.iter().take_while(move |line| line.depth > depth)
    }
}

impl fmt::Display for Menu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.0 {
            let label = if line.label.is_empty() { "--" } else { &line.label };
            let off = if line.enabled { "" } else { " (off)" };
            writeln!(f, "{}{label}{off}", "  ".repeat(line.depth))?;
        }
        Ok(())
    }
}

fn collect((_, _, children): MenuNode, depth: usize, lines: &mut Vec<MenuLine>) {
    for child in children {
        let child = MenuNode::try_from(child).expect("a node");
        let label = child.1.get("label").and_then(|label| String::try_from(label.clone()).ok());
        let enabled =
            child.1.get("enabled").is_none_or(|enabled| bool::try_from(enabled).unwrap_or(true));
        // `__` is an underscore; a single `_` marks the access key.
        let label =
            label.unwrap_or_default().replace("__", "\u{0}").replace('_', "").replace('\u{0}', "_");
        lines.push(MenuLine { id: child.0, depth, label, enabled });
        collect(child, depth + 1, lines);
    }
}

async fn property(bus: &Connection, service: &str, name: &str) -> OwnedVariant {
    let arguments = (ITEM.0, name);
    let call = bus.call_method(Some(service), ITEM.1, Some(PROPERTIES), "Get", &arguments);
    let reply =
        with_timeout("a property", call).await.unwrap_or_else(|error| panic!("{name}: {error}"));
    reply.body().deserialize::<OwnedVariant>().expect("a value")
}
