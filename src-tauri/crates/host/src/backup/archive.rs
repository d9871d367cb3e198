//! The backup file: a gzipped tar of database, settings, extensions, skills and workspace text.
//!
//! Owns the layout and the bounds, and counts files beyond the bounds. Never contains a secret: `secrets.json`, the
//! token, the sign-ins and the keyring are excluded, as are packages of extensions, links and binary files of the
//! workspace. Pitfall: a name in an archive may lead out of its folder; only plain relative names are unpacked.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write};
use std::path::{Component, Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

/// The names inside an archive.
pub(super) const MANIFEST: &str = "backup.json";
pub(super) const DATABASE: &str = "rouse.db";
pub(super) const CONFIG: &str = "config.toml";
pub(super) const EXTENSIONS: &str = "extensions.lock";
pub(super) const SKILLS: &str = "skills";
pub(super) const WORKSPACE: &str = "workspace";
/// The layout version.
const FORMAT: u32 = 1;
/// The maximum size of a text file, and the maximum bytes and files of a folder.
const FILE_BYTES: u64 = 1024 * 1024;
/// The maximum size of the file of the extensions, which holds the definitions of all accepted tools.
const EXTENSIONS_BYTES: u64 = 64 * 1024 * 1024;
const FOLDER_BYTES: u64 = 100 * 1024 * 1024;
const FOLDER_FILES: usize = 10_000;

/// The description of a backup; its first entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifest {
    /// The layout version.
    pub(super) format: u32,
    /// The creation time.
    pub(super) made_at_ms: i64,
    /// The version of Rouse.
    pub(super) version: String,
    /// The number of skill and workspace files that exceed the size limits.
    #[serde(default, rename = "leftOut")]
    pub(super) omitted_files: u64,
}

impl Manifest {
    pub(super) fn new(made_at_ms: i64) -> Self {
        Self {
            format: FORMAT,
            made_at_ms,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            omitted_files: 0,
        }
    }
}

/// The contents of a backup.
pub(super) struct BackupSources<'a> {
    /// A copy of the database.
    pub(super) database: &'a Path,
    pub(super) config: &'a Path,
    pub(super) extensions: &'a Path,
    pub(super) skills: &'a Path,
    pub(super) workspace: &'a Path,
}

/// Writes the archive atomically with mode 0600. Returns its manifest.
pub(super) fn write(
    to: &Path,
    manifest: Manifest,
    sources: &BackupSources<'_>,
) -> io::Result<Manifest> {
    let temporary = to.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&temporary).and_then(|file| fill(file, manifest, sources));
    let moved = written.and_then(|manifest| fs::rename(&temporary, to).map(|()| manifest));
    moved.inspect_err(|_| {
        // The first failure is the one to report.
        drop(fs::remove_file(&temporary));
    })
}

fn fill(file: File, manifest: Manifest, sources: &BackupSources<'_>) -> io::Result<Manifest> {
    let folders = [(SKILLS, sources.skills), (WORKSPACE, sources.workspace)];
    let folders = folders.map(|(name, folder)| (name, folder, FolderFiles::below(folder)));
    let omitted_files = folders.iter().map(|(_, _, files)| files.omitted_files).sum();
    let manifest = Manifest { omitted_files, ..manifest };
    let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::fast()));
    let text = serde_json::to_vec(&manifest).map_err(io::Error::other)?;
    append(&mut archive, Path::new(MANIFEST), text.as_slice(), text.len() as u64)?;
    let database = File::open(sources.database)?;
    let length = database.metadata()?.len();
    append(&mut archive, Path::new(DATABASE), database, length)?;
    let files = [
        (CONFIG, read_text(sources.config, FILE_BYTES)?),
        (EXTENSIONS, read_text(sources.extensions, EXTENSIONS_BYTES)?),
    ];
    for (name, text) in files {
        if let Some(text) = text {
            append(&mut archive, Path::new(name), text.as_slice(), text.len() as u64)?;
        }
    }
    for (name, folder, files) in folders {
        for path in files.found {
            let relative = path.strip_prefix(folder).map_err(io::Error::other)?;
            // A file may have changed or disappeared since the listing.
            if let Some(text) = read_text(&path, FILE_BYTES)? {
                let name = Path::new(name).join(relative);
                append(&mut archive, &name, text.as_slice(), text.len() as u64)?;
            }
        }
    }
    archive.into_inner()?.finish()?.sync_all()?;
    Ok(manifest)
}

fn append(
    archive: &mut tar::Builder<impl Write>,
    name: &Path,
    content: impl io::Read,
    length: u64,
) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(length);
    header.set_mode(0o600);
    header.set_mtime(0);
    archive.append_data(&mut header, name, content.take(length))
}

/// A file's text; none for a missing or binary file, and for one over `limit` bytes.
fn read_text(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    let is_text =
        bytes.len() as u64 <= limit && !bytes.contains(&0) && std::str::from_utf8(&bytes).is_ok();
    Ok(is_text.then_some(bytes))
}

/// The candidate files of a folder.
struct FolderFiles {
    found: Vec<PathBuf>,
    /// The number of files that exceed the size limits.
    omitted_files: u64,
}

impl FolderFiles {
    /// Lists the files below `folder` without following links. Outer files come first, so the bounds drop package
    /// files before notes.
    fn below(folder: &Path) -> Self {
        let (mut files, mut bytes) = (Self { found: Vec::new(), omitted_files: 0 }, 0_u64);
        let mut folders = VecDeque::from([folder.to_owned()]);
        while let Some(folder) = folders.pop_front() {
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            let mut entries: Vec<_> = entries.flatten().collect();
            entries.sort_by_key(fs::DirEntry::file_name);
            for entry in entries {
                let Ok(data) = entry.metadata() else { continue };
                if data.is_dir() {
                    folders.push_back(entry.path());
                } else if data.is_file() {
                    let total = bytes.saturating_add(data.len());
                    let fits = data.len() <= FILE_BYTES
                        && total <= FOLDER_BYTES
                        && files.found.len() < FOLDER_FILES;
                    if fits {
                        bytes = total;
                        files.found.push(entry.path());
                    } else {
                        files.omitted_files += 1;
                    }
                }
            }
        }
        files
    }
}

/// Reads the manifest of a backup.
pub(super) fn manifest(path: &Path) -> io::Result<Manifest> {
    let mut archive = tar::Archive::new(GzDecoder::new(File::open(path)?));
    let mut first = archive.entries()?.next().ok_or_else(not_a_backup)??;
    read_manifest(&mut first)
}

fn read_manifest(entry: &mut tar::Entry<'_, impl io::Read>) -> io::Result<Manifest> {
    if entry.path()?.as_ref() != Path::new(MANIFEST) {
        return Err(not_a_backup());
    }
    let mut text = String::new();
    entry.take(64 * 1024).read_to_string(&mut text)?;
    let manifest: Manifest = serde_json::from_str(&text).map_err(|_| not_a_backup())?;
    if manifest.format != FORMAT {
        let reason = format!("made by Rouse {}, which is newer", manifest.version);
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    }
    Ok(manifest)
}

fn not_a_backup() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "not a Rouse backup")
}

/// Unpacks the archive into the empty folder `into`.
pub(super) fn unpack(path: &Path, into: &Path) -> io::Result<Manifest> {
    let mut archive = tar::Archive::new(GzDecoder::new(File::open(path)?));
    let mut entries = archive.entries()?;
    let manifest = read_manifest(&mut entries.next().ok_or_else(not_a_backup)??)?;
    for (number, entry) in entries.enumerate() {
        let mut entry = entry?;
        let name = entry.path()?.into_owned();
        let is_plain = name.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_plain || !entry.header().entry_type().is_file() {
            let reason = format!("contains {}, which is not part of a backup", name.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        let limit = if name == Path::new(DATABASE) {
            u64::MAX
        } else if name == Path::new(EXTENSIONS) {
            EXTENSIONS_BYTES
        } else {
            FILE_BYTES
        };
        if entry.size() > limit || number > 2 * FOLDER_FILES + 2 {
            let reason = format!("{} exceeds the limits of a backup", name.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        let to = into.join(&name);
        if let Some(folder) = to.parent() {
            crate::home::make_private_dir(folder)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&to)?;
        io::copy(&mut entry, &mut file)?;
        file.sync_all()?;
    }
    Ok(manifest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archive_holds_text_and_leaves_out_binary_and_links() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("workspace/notes")).expect("made");
        fs::write(at("db"), [0, 1, 2]).expect("written");
        let lock = "x".repeat(2 * 1024 * 1024);
        fs::write(at("lock"), &lock).expect("written");
        fs::write(at("workspace/notes/day.md"), "Tea").expect("written");
        fs::write(at("workspace/photo"), [0, 255]).expect("written");
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/passwd", at("workspace/link")).expect("a link");
        let sources = BackupSources {
            database: &at("db"),
            config: &at("missing.toml"),
            extensions: &at("lock"),
            skills: &at("missing"),
            workspace: &at("workspace"),
        };
        let (to, manifest) = (at("backup.tar.gz"), Manifest::new(7));
        let written = write(&to, manifest.clone(), &sources).expect("written");
        assert_eq!(written, manifest);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&to).expect("there").permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(super::manifest(&to).expect("read"), manifest);
        let into = at("into");
        fs::create_dir(&into).expect("made");
        assert_eq!(unpack(&to, &into).expect("unpacked"), manifest);
        assert_eq!(fs::read(into.join("rouse.db")).expect("there"), [0, 1, 2]);
        let restored = fs::read_to_string(into.join("extensions.lock")).expect("there");
        assert!(restored == lock, "a file over 1 MB is whole");
        assert_eq!(fs::read_to_string(into.join("workspace/notes/day.md")).expect("there"), "Tea");
        assert!(!into.join("workspace/photo").exists() && !into.join("workspace/link").exists());
    }

    #[test]
    fn files_beyond_the_bounds_are_counted_and_inner_ones_go_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("z_package/inner")).expect("made");
        fs::create_dir_all(at("memory")).expect("made");
        for number in 0..FOLDER_FILES {
            File::create(at(&format!("z_package/inner/{number}"))).expect("made");
        }
        fs::write(at("memory/day.md"), "Tea").expect("written");
        let length = FILE_BYTES + 1;
        File::create(at("log.txt")).and_then(|file| file.set_len(length)).expect("made");
        let files = FolderFiles::below(folder.path());
        assert_eq!(files.omitted_files, 2, "the large file, and the last of the package");
        assert!(files.found.contains(&at("memory/day.md")));
    }

    #[test]
    fn archive_name_outside_the_folder_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("evil.tar.gz");
        let file = File::create(&path).expect("made");
        let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::fast()));
        let text = serde_json::to_vec(&Manifest::new(7)).expect("text");
        append(&mut archive, Path::new(MANIFEST), text.as_slice(), text.len() as u64).expect("ok");
        let mut header = tar::Header::new_gnu();
        header.as_gnu_mut().expect("gnu").name[..11].copy_from_slice(b"../evil.txt");
        header.set_size(1);
        header.set_cksum();
        archive.append(&header, &b"x"[..]).expect("appended");
        archive.into_inner().expect("whole").finish().expect("whole");
        let into = folder.path().join("into");
        fs::create_dir(&into).expect("made");
        let refused = unpack(&path, &into).expect_err("refused");
        assert!(refused.to_string().contains("evil.txt"), "{refused}");
        assert!(!folder.path().join("evil.txt").exists());
        fs::write(&path, "text").expect("written");
        assert!(unpack(&path, &into).is_err(), "not an archive");
    }
}
