//! Bundles (`.mcpb` files): their plan, and the unpacking of an accepted file.
//!
//! Owns the copy of a file while its hash is computed: the copy is unpacked, so a later change of the file changes
//! nothing. Never unpacks before the consent.

use std::fs::File;
use std::io::{Read as _, copy};
use std::path::Path;

use rouse_core::extension::package::{
    BundleManifest, BundlePlace, BundleStart, FileList, MAX_MANIFEST_BYTES, PackageSize,
};
use rouse_core::text::{escape_line, hex_digits};
use sha2::{Digest as _, Sha256};

use super::files::hash_of;
use super::registry::home_folder;
use super::site::{PackageSite, path_text};
use crate::options::EnvReader;
use crate::zip_archive::BoundedArchive;
use rouse_tools::find_program;

/// The maximum bytes of a bundle, and of its unpacked files.
const MAX_BYTES: u64 = 200 << 20;
/// The system's name in manifests.
const PLATFORM: &str = if cfg!(windows) {
    "win32"
} else if cfg!(target_os = "macos") {
    "darwin"
} else {
    "linux"
};

/// What a page shows about a bundle.
pub(super) struct BundleFacts {
    pub(super) sha256: String,
    pub(super) size: PackageSize,
    /// Name, version and author, as the manifest says.
    pub(super) claims: String,
    /// The start command with the absolute path of its program.
    pub(super) start: BundleStart,
    pub(super) archive: BoundedArchive<File>,
}

/// The values of a bundle's settings.
pub(super) type BundleConfig = std::collections::BTreeMap<String, Vec<String>>;

/// Reads a bundle without unpacking it.
pub(super) fn bundle_facts(
    file: &str,
    config: &BundleConfig,
    site: &PackageSite,
    env: &EnvReader,
) -> Result<BundleFacts, String> {
    let shown = escape_line(file);
    let unreadable = |error: std::io::Error| format!("{shown} cannot be read: {error}.");
    let content = File::open(file).map_err(unreadable)?;
    let sha256 = hash_of(&mut (&content).take(MAX_BYTES + 1)).map_err(unreadable)?;
    let mut archive =
        BoundedArchive::open(content, MAX_BYTES).map_err(|error| error.to_string())?;
    let text = archive.read_text("manifest.json", MAX_MANIFEST_BYTES);
    let manifest = BundleManifest::parse(&text.map_err(|error| error.to_string())?)
        .map_err(|error| error.to_string())?;
    let folder = path_text(&site.folder)?;
    let home = home_folder(env).unwrap_or_default();
    let place = BundlePlace { folder: &folder, home: &home, platform: PLATFORM };
    let mut start = manifest.start(place, config).map_err(|error| error.to_string())?;
    start.command = program_of(&start.command, &site.folder, env)?;
    let (size, claims) = (archive.size(), manifest.claims());
    Ok(BundleFacts { sha256, size, claims, start, archive })
}

/// The files of a bundle with their hashes, as they will be installed.
pub(super) fn bundle_list(archive: &mut BoundedArchive<File>) -> Result<FileList, String> {
    let files = archive.read_files().map_err(|error| error.to_string())?;
    let mut list = FileList::default();
    for (path, content) in files {
        list.insert(path, hex_digits(&Sha256::digest(&content)));
    }
    Ok(list)
}

/// The absolute path of a program: a file of the bundle, or a program of this computer.
fn program_of(command: &str, folder: &Path, env: &EnvReader) -> Result<String, String> {
    let path = Path::new(command);
    if path.starts_with(folder) {
        let is_plain = path.components().all(|part| part != std::path::Component::ParentDir);
        return if is_plain {
            Ok(command.to_owned())
        } else {
            Err(format!("The bundle starts {}, which leaves its folder.", escape_line(command)))
        };
    }
    let variable = env("PATH");
    let found = find_program(command, variable.as_deref());
    if command == "python" {
        return found.or_else(|_| find_program("python3", variable.as_deref()));
    }
    found
}

/// Copies the accepted file and unpacks the copy into the folder of the new files.
pub(super) fn unpack_bundle(file: &str, sha256: &str, site: &PackageSite) -> Result<(), String> {
    let shown = escape_line(file);
    let failed = |error: std::io::Error| format!("{shown} cannot be copied: {error}.");
    let copied = site.cache.join("bundle.mcpb");
    let mut source = File::open(file).map_err(failed)?.take(MAX_BYTES + 1);
    let mut target = File::create_new(&copied).map_err(failed)?;
    copy(&mut source, &mut target).map_err(failed)?;
    drop(target);
    let mut content = File::open(&copied).map_err(failed)?;
    let found = hash_of(&mut (&content).take(MAX_BYTES + 1)).map_err(failed)?;
    if found != sha256 {
        return Err(format!("{shown} has changed since you read its page. Read the page again."));
    }
    std::fs::create_dir_all(&site.new).map_err(failed)?;
    let mut archive =
        BoundedArchive::open(&mut content, MAX_BYTES).map_err(|error| error.to_string())?;
    archive.unpack(&site.new).map_err(|error| error.to_string())
}

/// Lets the person run the program of a bundle, whose archive may lack the permission.
#[cfg(unix)]
pub(super) fn allow_program(command: &str, site: &PackageSite) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    match Path::new(command).strip_prefix(&site.folder) {
        Ok(inside) => {
            let program = site.new.join(inside);
            std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o700))
        }
        // A program of this computer.
        Err(_) => Ok(()),
    }
}

#[cfg(not(unix))]
pub(super) fn allow_program(_: &str, _: &PackageSite) -> std::io::Result<()> {
    Ok(())
}
