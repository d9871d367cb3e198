//! The engine of JavaScript tools, which comes with Rouse.
//!
//! Owns the bytes of the component, as built by `cargo xtask script-engine`. Pitfall: a copy of the bytes for each
//! call; clones of `ComponentBytes` share them.

use std::sync::LazyLock;

use crate::cache::ComponentBytes;

static BYTES: &[u8] = include_bytes!("../engine/script_engine.wasm");

/// The component of the world `script-engine`.
#[must_use]
pub fn script_engine() -> ComponentBytes {
    static ENGINE: LazyLock<ComponentBytes> = LazyLock::new(|| BYTES.into());
    ENGINE.clone()
}
