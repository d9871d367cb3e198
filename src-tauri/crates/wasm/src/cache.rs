//! Compiled components, in files and in memory.
//!
//! Owns the folder of `.cwasm` files. A file is machine code, so only bytes whose hash the host keeps elsewhere are
//! loaded; any other file is compiled again. Never compiles in this process. Pitfall: loading by path after a check of
//! the file; the bytes that were checked are the bytes that are loaded.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use rouse_core::extension::CompiledHashes;
use rouse_core::text::hex_digits;
use sha2::{Digest as _, Sha256};
use wasmtime::component::Component;

use crate::compile::{CompilerProgram, MAX_COMPONENT_BYTES, private_file};
use crate::engine::{ENGINE_VERSION, running_engine};
use crate::error::{CompileError, GuestError};

/// Loaded components that stay in memory; the least recently used leaves first.
const MAX_LOADED: usize = 4;

/// Files that stay in the folder; the oldest leave first.
const MAX_FILES: usize = 64;

/// Changes with the settings of the engine, so that older files are not tried.
const SETTINGS_REVISION: &str = "1";

/// The bytes of a component, with the name of its compiled form. Clones share both.
#[derive(Clone)]
pub struct ComponentBytes {
    bytes: Bytes,
    /// Computed once: a hash of some megabytes.
    key: Arc<OnceLock<String>>,
}

impl<B: Into<Bytes>> From<B> for ComponentBytes {
    fn from(bytes: B) -> Self {
        Self { bytes: bytes.into(), key: Arc::default() }
    }
}

impl fmt::Debug for ComponentBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ComponentBytes({} bytes)", self.bytes.len())
    }
}

impl ComponentBytes {
    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn key(&self) -> &str {
        self.key.get_or_init(|| cache_key(&self.bytes))
    }
}

/// Compiled components. One compilation at a time in this process.
pub struct ComponentCache {
    folder: PathBuf,
    program: CompilerProgram,
    hashes: Arc<dyn CompiledHashes>,
    loaded: Mutex<Vec<LoadedComponent>>,
    compilation: tokio::sync::Mutex<()>,
    files: AtomicU64,
}

struct LoadedComponent {
    key: String,
    component: Component,
}

impl ComponentCache {
    /// A cache in `folder`, which is created when needed. The folder must be outside of every workspace.
    #[must_use]
    pub fn new(folder: PathBuf, program: CompilerProgram, hashes: Arc<dyn CompiledHashes>) -> Self {
        let (loaded, compilation) = (Mutex::default(), tokio::sync::Mutex::new(()));
        Self { folder, program, hashes, loaded, compilation, files: AtomicU64::new(0) }
    }

    /// The compiled form of a component: from memory, from its file, or compiled now.
    ///
    /// # Errors
    /// The component is too large or not valid, or the compiler failed.
    pub async fn get(&self, component: &ComponentBytes) -> Result<Component, GuestError> {
        let (bytes, limit) = (component.bytes.len(), MAX_COMPONENT_BYTES);
        if bytes > limit {
            return Err(CompileError::TooLarge { bytes, limit }.into());
        }
        let key = component.key();
        if let Some(loaded) = self.loaded(key) {
            return Ok(loaded);
        }
        if let Some(loaded) = self.load_file(key).await {
            return Ok(self.remember(key, loaded));
        }
        let _compilation = self.compilation.lock().await;
        // Another call may have compiled it while this call waited.
        if let Some(loaded) = self.loaded(key) {
            return Ok(loaded);
        }
        let compiled = self.compile(key, component.bytes.clone()).await?;
        Ok(self.remember(key, compiled))
    }

    /// Frees the loaded components. One that a call uses is freed with the end of that call.
    pub fn unload(&self) {
        self.lock_loaded().clear();
    }

    fn loaded(&self, key: &str) -> Option<Component> {
        let mut loaded = self.lock_loaded();
        let at = loaded.iter().position(|entry| entry.key == key)?;
        let entry = loaded.remove(at);
        let component = entry.component.clone();
        loaded.push(entry);
        Some(component)
    }

    fn remember(&self, key: &str, component: Component) -> Component {
        let mut loaded = self.lock_loaded();
        loaded.retain(|entry| entry.key != key);
        loaded.push(LoadedComponent { key: key.to_owned(), component: component.clone() });
        let excess = loaded.len().saturating_sub(MAX_LOADED);
        loaded.drain(..excess);
        component
    }

    fn lock_loaded(&self) -> MutexGuard<'_, Vec<LoadedComponent>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file_of(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.cwasm"))
    }

    /// The component in the file of `key`, if the host knows the hash of exactly these bytes.
    async fn load_file(&self, key: &str) -> Option<Component> {
        let recorded = self.hashes.get(key).await?;
        let path = self.file_of(key);
        let loaded = run_blocking(move || {
            let bytes = read_regular_file(&path)?;
            if sha256(&bytes) != recorded {
                tracing::warn!(path = %path.display(), "a compiled component was changed");
                return Err(CompileError::Crashed.into());
            }
            load(&bytes)
        });
        loaded.await.ok()
    }

    async fn compile(&self, key: &str, component: Bytes) -> Result<Component, GuestError> {
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}", std::process::id());
        let input = TemporaryFile(self.folder.join(format!("{name}.wasm")));
        let output = TemporaryFile(self.folder.join(format!("{name}.tmp")));
        let (folder, input_path) = (self.folder.clone(), input.0.clone());
        run_blocking(move || {
            create_private_folder(&folder).map_err(CompileError::from)?;
            remove_unfinished_files(&folder);
            let file = private_file().open(&input_path);
            let written = file.and_then(|mut file| file.write_all(&component));
            Ok(written.map_err(CompileError::from)?)
        })
        .await?;
        self.program.compile(&input.0, &output.0).await?;
        let (from, to, folder) = (output.0.clone(), self.file_of(key), self.folder.clone());
        let (loaded, hash) = run_blocking(move || {
            let bytes = read_regular_file(&from)?;
            let loaded = load(&bytes)?;
            std::fs::rename(&from, to).map_err(CompileError::from)?;
            remove_oldest_files(&folder);
            Ok((loaded, sha256(&bytes)))
        })
        .await?;
        self.hashes.record(key, &hash).await;
        Ok(loaded)
    }
}

/// Names a compiled component: its bytes, the engine, and the processor.
fn cache_key(component: &[u8]) -> String {
    let mut hash = Sha256::new();
    for part in [ENGINE_VERSION, SETTINGS_REVISION, std::env::consts::ARCH, std::env::consts::OS] {
        hash.update(part);
        hash.update([0]);
    }
    hash.update(processor_features());
    hash.update([0]);
    hash.update(component);
    format!("{ENGINE_VERSION}-{}", hex_digits(&hash.finalize()))
}

/// The features of the processor that the compiler uses. A disk may move to another computer.
#[cfg(target_arch = "x86_64")]
fn processor_features() -> String {
    macro_rules! detected {
        ($($name:tt),*) => {
            [$(($name, std::arch::is_x86_feature_detected!($name))),*]
        };
    }
    let features = detected![
        "sse3",
        "ssse3",
        "sse4.1",
        "sse4.2",
        "popcnt",
        "avx",
        "avx2",
        "fma",
        "bmi1",
        "bmi2",
        "lzcnt",
        "avx512f",
        "avx512dq",
        "avx512vl",
        "avx512bitalg",
        "avx512vbmi"
    ];
    features.iter().filter(|(_, has)| *has).map(|(name, _)| format!("{name},")).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn processor_features() -> String {
    String::new()
}

fn sha256(bytes: &[u8]) -> String {
    hex_digits(&Sha256::digest(bytes))
}

fn load(bytes: &[u8]) -> Result<Component, GuestError> {
    let engine = running_engine()?;
    // SAFETY: the compiler process of this program wrote exactly these bytes: they come from that process just now, or
    // their hash is the recorded one.
    #[expect(unsafe_code, reason = "only this call loads machine code")]
    let loaded = unsafe { Component::deserialize(engine, bytes) };
    loaded.map_err(|error| GuestError::Engine(format!("{error:#}")))
}

/// The bytes of a file that is no link and no device.
fn read_regular_file(path: &Path) -> Result<Vec<u8>, CompileError> {
    if !std::fs::symlink_metadata(path)?.is_file() {
        return Err(CompileError::Io(format!("{} is no regular file", path.display())));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Removes what a compilation left that did not end. One compilation runs at a time.
fn remove_unfinished_files(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|extension| extension == "wasm" || extension == "tmp") {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Removes the oldest compiled components; those of another engine are the oldest after an update.
fn remove_oldest_files(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let files = entries.flatten().filter_map(|entry| {
        let path = entry.path();
        let is_compiled = path.extension().is_some_and(|extension| extension == "cwasm");
        is_compiled.then_some(())?;
        Some((entry.metadata().ok()?.modified().ok()?, path))
    });
    let mut files: Vec<_> = files.collect();
    files.sort();
    let excess = files.len().saturating_sub(MAX_FILES);
    for (_, path) in files.drain(..excess) {
        let _ = std::fs::remove_file(path);
    }
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, GuestError> + Send + 'static,
) -> Result<T, GuestError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(GuestError::Engine(error.to_string())))
}

/// A file that is removed with this value.
struct TemporaryFile(PathBuf);

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
