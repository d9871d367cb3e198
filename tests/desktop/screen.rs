//! The virtual screen: its windows by X events, and its screenshots.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ChangeWindowAttributesAux, ClientMessageEvent, ConnectionExt as _, EventMask,
    ImageFormat, Window,
};
use x11rb::rust_connection::RustConnection;

use crate::session::with_timeout;

/// The windows on a screen, updated by a thread.
pub(crate) struct X11Screen {
    x: Arc<RustConnection>,
    root: Window,
    atoms: Atoms,
    windows: watch::Receiver<Vec<VisibleWindow>>,
}

/// A visible window.
#[derive(Debug, Clone, PartialEq, Eq)]
struct VisibleWindow {
    id: Window,
    title: String,
}

#[derive(Debug, Clone, Copy)]
struct Atoms {
    title: Atom,
    utf8: Atom,
    protocols: Atom,
    delete: Atom,
}

impl X11Screen {
    pub(crate) fn watch(display: &str) -> Self {
        let (x, number) = x11rb::connect(Some(display)).expect("the screen answers");
        let x = Arc::new(x);
        let root = x.setup().roots[number].root;
        let atom = |name: &str| {
            x.intern_atom(false, name.as_bytes()).expect("sent").reply().expect("an atom").atom
        };
        let atoms = Atoms {
            title: atom("_NET_WM_NAME"),
            utf8: atom("UTF8_STRING"),
            protocols: atom("WM_PROTOCOLS"),
            delete: atom("WM_DELETE_WINDOW"),
        };
        listen(&x, root, EventMask::SUBSTRUCTURE_NOTIFY);
        let (windows_tx, windows) = watch::channel(Vec::new());
        let thread_x = Arc::clone(&x);
        std::thread::spawn(move || track_windows(&thread_x, atoms, &windows_tx));
        Self { x, root, atoms, windows }
    }

    /// Waits for a visible window with that title.
    pub(crate) async fn wait_for_title(&self, title: &str) {
        let mut windows = self.windows.clone();
        let there = windows.wait_for(|windows| windows.iter().any(|window| window.title == title));
        match tokio::time::timeout(std::time::Duration::from_secs(60), there).await {
            Ok(there) => drop(there.expect("the screen lives")),
            Err(_) => {
                self.save("missing-window");
                panic!("no window is titled {title:?}; there are {:?}", self.windows.borrow());
            }
        }
    }

    /// Waits for any window.
    pub(crate) async fn wait_for_window(&self) {
        let mut windows = self.windows.clone();
        drop(
            with_timeout("a window", windows.wait_for(|windows| !windows.is_empty()))
                .await
                .expect("the screen lives"),
        );
    }

    pub(crate) fn assert_empty(&self, why: &str) {
        assert_eq!(*self.windows.borrow(), [], "{why}");
    }

    /// The titles of all windows.
    pub(crate) fn titles(&self) -> Vec<String> {
        self.windows.borrow().iter().map(|window| window.title.clone()).collect()
    }

    /// Closes the window by its protocol and waits until it is gone.
    pub(crate) async fn close_window(&self) {
        let window = self.windows.borrow().first().expect("a window to close").id;
        let message = ClientMessageEvent::new(
            32,
            window,
            self.atoms.protocols,
            [self.atoms.delete, 0, 0, 0, 0],
        );
        self.x.send_event(false, window, EventMask::NO_EVENT, message).expect("sent");
        self.x.flush().expect("sent");
        let mut windows = self.windows.clone();
        let gone = windows.wait_for(|windows| windows.iter().all(|other| other.id != window));
        drop(with_timeout("the window to close", gone).await.expect("the screen lives"));
    }

    /// Saves a screenshot as `target/desktop-screenshots/<name>.png`.
    pub(crate) fn save(&self, name: &str) {
        let size = self.x.get_geometry(self.root).expect("sent").reply().expect("a size");
        let (width, height) = (size.width, size.height);
        let image =
            self.x.get_image(ImageFormat::Z_PIXMAP, self.root, 0, 0, width, height, u32::MAX);
        let pixels = image.expect("sent").reply().expect("a picture").data;
        let rgb: Vec<u8> =
            pixels.chunks_exact(4).flat_map(|pixel| [pixel[2], pixel[1], pixel[0]]).collect();
        let path = folder().join(format!("{name}.png"));
        let file = fs::File::create(&path).expect("a file");
        let mut encoder = png::Encoder::new(file, width.into(), height.into());
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().expect("a header");
        writer.write_image_data(&rgb).expect("pixels");
    }
}

fn folder() -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    let target = test.ancestors().find(|path| path.ends_with("target")).expect("target").to_owned();
    let folder = target.join("desktop-screenshots");
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn listen(x: &RustConnection, window: Window, mask: EventMask) {
    let attributes = ChangeWindowAttributesAux::new().event_mask(mask);
    // The window may be gone already; then no events follow.
    if let Ok(cookie) = x.change_window_attributes(window, &attributes) {
        cookie.ignore_error();
    }
    x.flush().expect("the screen lives");
}

fn track_windows(x: &RustConnection, atoms: Atoms, windows_tx: &watch::Sender<Vec<VisibleWindow>>) {
    while let Ok(event) = x.wait_for_event() {
        match event {
            Event::MapNotify(event) => {
                listen(x, event.window, EventMask::PROPERTY_CHANGE);
                let title = read_title(x, atoms, event.window);
                windows_tx.send_modify(|windows| {
                    windows.retain(|window| window.id != event.window);
                    windows.push(VisibleWindow { id: event.window, title });
                });
            }
            Event::UnmapNotify(event) => remove_window(windows_tx, event.window),
            Event::DestroyNotify(event) => remove_window(windows_tx, event.window),
            Event::PropertyNotify(event) if event.atom == atoms.title => {
                let title = read_title(x, atoms, event.window);
                windows_tx.send_modify(|windows| {
                    if let Some(window) =
                        windows.iter_mut().find(|window| window.id == event.window)
                    {
                        window.title = title;
                    }
                });
            }
            _ => {}
        }
    }
}

fn remove_window(windows_tx: &watch::Sender<Vec<VisibleWindow>>, id: Window) {
    windows_tx.send_modify(|windows| windows.retain(|window| window.id != id));
}

fn read_title(x: &RustConnection, atoms: Atoms, window: Window) -> String {
    let read = |name: Atom, kind: Atom| {
        let reply = x.get_property(false, window, name, kind, 0, 256).ok()?.reply().ok()?;
        String::from_utf8(reply.value).ok().filter(|title| !title.is_empty())
    };
    read(atoms.title, atoms.utf8)
        .or_else(|| read(AtomEnum::WM_NAME.into(), AtomEnum::ANY.into()))
        .unwrap_or_default()
}
