//! The imports of a guest.
//!
//! Owns the functions of `wit/tool.wit` and the check of a component's imports. A function without a permission
//! answers with an error. Never gives a guest WASI: of the few interfaces that a standard library imports, only the
//! seed for hash maps answers; the others are traps. Pitfall: an import that is defined because a component wants it.

mod files;
mod http;
mod log;
mod secrets;
mod state;
mod url;

use std::sync::OnceLock;

use rouse_core::extension::ToolFileAccess;
use wasmtime::component::{Component, Linker};
use wasmtime::{Engine, StoreContextMut};

use http::GuestHttpRequest;
pub(crate) use http::METHODS as HTTP_METHODS;
pub use log::{ToolLog, ToolLogLevel, ToolLogLine};
pub(crate) use secrets::replace_handles;
pub use secrets::{SecretFill, ToolSecrets};
pub use state::GuestPorts;
pub(crate) use state::{CallRecord, CallState};

use crate::permissions::ToolPermissions;

const LOG: &str = "rouse:tool/log@0.1.0";
const CLOCK: &str = "rouse:tool/clock@0.1.0";
const RANDOM: &str = "rouse:tool/random@0.1.0";
const HTTP: &str = "rouse:tool/http@0.1.0";
const FILES: &str = "rouse:tool/files@0.1.0";

/// Random bytes of one call of the import.
const MAX_RANDOM_BYTES: u32 = 4_096;

/// The interface from which the standard library of Rust seeds its hash maps, in any version.
const HASH_SEED: &str = "wasi:random/insecure-seed";

/// Interfaces that the standard library of Rust imports, used or not. Every function is a trap, except the hash seed.
const STANDARD_WASI: [&str; 20] = [
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stderr",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stderr",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:filesystem/preopens",
    "wasi:filesystem/types",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:random/insecure",
    HASH_SEED,
    "wasi:random/random",
];

/// The imports of `component` that `grants` do not include.
pub(crate) fn ungranted_imports(
    engine: &Engine,
    component: &Component,
    grants: &ToolPermissions,
) -> Vec<String> {
    let is_granted = |name: &str| match name {
        LOG | CLOCK | RANDOM => true,
        HTTP => !grants.hosts.is_empty(),
        FILES => grants.files != ToolFileAccess::None,
        _ => STANDARD_WASI.contains(&unversioned(name)),
    };
    let component = component.component_type();
    let imports = component.imports(engine).map(|(name, _)| name.to_owned());
    imports.filter(|name| !is_granted(name)).collect()
}

/// The name of an interface without its version.
fn unversioned(name: &str) -> &str {
    name.split_once('@').map_or(name, |(name, _)| name)
}

/// The linker for a component whose imports were checked.
pub(crate) fn linker_for(
    engine: &Engine,
    component: &Component,
) -> wasmtime::Result<Linker<CallState>> {
    static IMPORTS: OnceLock<Linker<CallState>> = OnceLock::new();
    let imports = match IMPORTS.get() {
        Some(imports) => imports,
        None => {
            let made = define_imports(engine)?;
            IMPORTS.get_or_init(|| made)
        }
    };
    let mut linker = imports.clone();
    for (name, _) in component.component_type().imports(engine) {
        if unversioned(name) == HASH_SEED {
            linker.instance(name)?.func_wrap("insecure-seed", hash_seed)?;
        }
    }
    linker.define_unknown_imports_as_traps(component)?;
    Ok(linker)
}

fn define_imports(engine: &Engine) -> wasmtime::Result<Linker<CallState>> {
    let mut linker = Linker::new(engine);
    linker.instance(LOG)?.func_wrap("write", write_log)?;
    linker.instance(CLOCK)?.func_wrap("now-ms", now_ms)?;
    linker.instance(RANDOM)?.func_wrap("bytes", random_bytes)?;
    linker.instance(HTTP)?.func_wrap_async("send", |store, (request,): (GuestHttpRequest,)| {
        Box::new(async move { Ok((http::send(store.data(), request).await,)) })
    })?;
    let mut files = linker.instance(FILES)?;
    files.func_wrap_async("read", |store, (path,): (String,)| {
        Box::new(async move { Ok((files::read(store.data(), path).await,)) })
    })?;
    files.func_wrap_async("write", |store, (path, content): (String, Vec<u8>)| {
        Box::new(async move { Ok((files::write(store.data(), path, content).await,)) })
    })?;
    Ok(linker)
}

fn write_log(
    store: StoreContextMut<'_, CallState>,
    (level, message): (ToolLogLevel, String),
) -> wasmtime::Result<()> {
    let mut record = store.data().record();
    let message = record.secrets.redact(&message);
    record.log.add(level, &message);
    Ok(())
}

fn now_ms(store: StoreContextMut<'_, CallState>, (): ()) -> wasmtime::Result<(u64,)> {
    let now = store.data().ports.clock.now();
    Ok((u64::try_from(now.0).unwrap_or(0),))
}

fn random_bytes(
    _: StoreContextMut<'_, CallState>,
    (count,): (u32,),
) -> wasmtime::Result<(Vec<u8>,)> {
    let mut bytes = vec![0; count.min(MAX_RANDOM_BYTES) as usize];
    fill_random(&mut bytes)?;
    Ok((bytes,))
}

fn hash_seed(_: StoreContextMut<'_, CallState>, (): ()) -> wasmtime::Result<((u64, u64),)> {
    let (mut first, mut second) = ([0; 8], [0; 8]);
    fill_random(&mut first)?;
    fill_random(&mut second)?;
    Ok(((u64::from_ne_bytes(first), u64::from_ne_bytes(second)),))
}

fn fill_random(bytes: &mut [u8]) -> wasmtime::Result<()> {
    getrandom::fill(bytes).map_err(|error| wasmtime::format_err!("{error}"))
}
