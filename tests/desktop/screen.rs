//! The virtual screen: which windows are on it, by the X server's own events, and what it looks like.

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

use crate::session::soon;

/// The windows on a screen, kept up to date by a thread of its own.
pub(crate) struct Screen {
    x: Arc<RustConnection>,
    root: Window,
    atoms: Atoms,
    windows: watch::Receiver<Vec<Titled>>,
}

/// A window that can be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Titled {
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

impl Screen {
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
        let (tell, windows) = watch::channel(Vec::new());
        let thread_x = Arc::clone(&x);
        std::thread::spawn(move || follow(&thread_x, atoms, &tell));
        Self { x, root, atoms, windows }
    }

    /// Waits until a window with that title can be seen.
    pub(crate) async fn until_titled(&self, title: &str) {
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

    /// Waits until there is a window at all.
    pub(crate) async fn until_shown(&self) {
        let mut windows = self.windows.clone();
        drop(
            soon("a window", windows.wait_for(|windows| !windows.is_empty()))
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

    /// Closes the window as its frame's button would, and waits until it has gone.
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
        drop(soon("the window to close", gone).await.expect("the screen lives"));
    }

    /// Saves what the screen shows as a picture: `target/desktop-screenshots/<name>.png`.
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
    let wish = ChangeWindowAttributesAux::new().event_mask(mask);
    // A window may be gone again before it can be listened to; then there is nothing to hear from it.
    if let Ok(cookie) = x.change_window_attributes(window, &wish) {
        cookie.ignore_error();
    }
    x.flush().expect("the screen lives");
}

fn follow(x: &RustConnection, atoms: Atoms, tell: &watch::Sender<Vec<Titled>>) {
    while let Ok(event) = x.wait_for_event() {
        match event {
            Event::MapNotify(event) => {
                listen(x, event.window, EventMask::PROPERTY_CHANGE);
                let title = title_of(x, atoms, event.window);
                tell.send_modify(|windows| {
                    windows.retain(|window| window.id != event.window);
                    windows.push(Titled { id: event.window, title });
                });
            }
            Event::UnmapNotify(event) => forget(tell, event.window),
            Event::DestroyNotify(event) => forget(tell, event.window),
            Event::PropertyNotify(event) if event.atom == atoms.title => {
                let title = title_of(x, atoms, event.window);
                tell.send_modify(|windows| {
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

fn forget(tell: &watch::Sender<Vec<Titled>>, id: Window) {
    tell.send_modify(|windows| windows.retain(|window| window.id != id));
}

fn title_of(x: &RustConnection, atoms: Atoms, window: Window) -> String {
    let read = |name: Atom, kind: Atom| {
        let reply = x.get_property(false, window, name, kind, 0, 256).ok()?.reply().ok()?;
        String::from_utf8(reply.value).ok().filter(|title| !title.is_empty())
    };
    read(atoms.title, atoms.utf8)
        .or_else(|| read(AtomEnum::WM_NAME.into(), AtomEnum::ANY.into()))
        .unwrap_or_default()
}
