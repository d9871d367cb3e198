//! The requirements of a PyPI package: the exact version and the SHA-256 of every package inside.
//!
//! Owns the requirements file. Writes it from the answer of `pip` or `uv`, keeps it among the installed files, and gives
//! it to an update of the same version. Never resolves and never downloads. Pitfall: an option or an address in a file
//! that an installer reads; only names, versions and hashes of an answer get into the file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use rouse_core::text::escape_line;
use serde::Deserialize;

use super::files::hash_of;
use super::site::PackageSite;

/// The package with its version, which `uv` resolves. In the folder of an installation, as the next three.
pub(super) const WANTED: &str = "wanted.txt";
/// The answer of `pip`.
pub(super) const PIP_REPORT: &str = "report.json";
/// The answer of `uv`.
pub(super) const UV_ANSWER: &str = "resolved.txt";
/// The requirements file of the installation.
pub(super) const REQUIREMENTS: &str = "requirements.txt";
/// The requirements file among the installed files. The list of the accepted files has it too.
const KEPT: &str = "rouse-requirements.txt";
/// The maximum bytes of an answer. The report of `pip` has the description of every package.
const MAX_ANSWER_BYTES: u64 = 16 << 20;
/// The digits of a SHA-256.
const HASH_DIGITS: usize = 64;

/// The part of pip's report that Rouse reads.
#[derive(Deserialize)]
struct PipReport {
    install: Vec<ReportedPackage>,
}

#[derive(Deserialize)]
struct ReportedPackage {
    metadata: ReportedMetadata,
    download_info: DownloadInfo,
}

#[derive(Deserialize)]
struct ReportedMetadata {
    name: String,
    version: String,
}

/// The downloaded file; without an archive for a folder or a repository.
#[derive(Deserialize)]
struct DownloadInfo {
    archive_info: Option<ArchiveInfo>,
}

#[derive(Deserialize)]
struct ArchiveInfo {
    /// `sha256=DIGITS`, from pip before 23.
    hash: Option<String>,
    #[serde(default)]
    hashes: BTreeMap<String, String>,
}

/// Whether the requirements with this hash are among the installed files.
pub(super) fn has_requirements(site: &PackageSite, sha256: &str) -> bool {
    // silent-ok: without a readable file the page says that the packages are resolved anew.
    file_hash(&site.folder.join(KEPT)).is_ok_and(|found| found == sha256)
}

/// Copies the accepted requirements with the hash `accepted`, or writes what `uv` resolves. `package` is
/// `name==version`.
///
/// # Errors
/// The accepted requirements have changed, or a file cannot be written: cause and remedy as sentences.
pub(super) fn prepare_requirements(
    site: &PackageSite,
    package: &str,
    accepted: Option<&str>,
) -> Result<(), String> {
    let Some(accepted) = accepted else {
        let wanted = site.staging.join(WANTED);
        return std::fs::write(wanted, format!("{package}\n")).map_err(|error| unwritable(&error));
    };
    let copy = site.staging.join(REQUIREMENTS);
    let copied = std::fs::copy(site.folder.join(KEPT), &copy).and_then(|_| file_hash(&copy));
    match copied {
        Ok(found) if found == accepted => Ok(()),
        Ok(_) | Err(_) => Err(format!(
            "The requirements of {package} have changed since you read its page. Read the page again."
        )),
    }
}

/// Writes the requirements file from the answer of `pip` or `uv`.
///
/// # Errors
/// The answer is invalid, or a package has no SHA-256: cause and remedy as sentences.
pub(super) fn write_requirements(site: &PackageSite) -> Result<(), String> {
    let report = site.staging.join(PIP_REPORT);
    let requirements = if report.is_file() {
        requirements_of_report(&read_answer(&report)?)?
    } else {
        requirements_of_uv(&read_answer(&site.staging.join(UV_ANSWER))?)?
    };
    std::fs::write(site.staging.join(REQUIREMENTS), requirements)
        .map_err(|error| unwritable(&error))
}

/// Moves the requirements file to the new files. Returns its hash.
///
/// # Errors
/// The file cannot be moved: cause and remedy as sentences.
pub(super) fn keep_requirements(site: &PackageSite) -> Result<String, String> {
    let file = site.staging.join(REQUIREMENTS);
    let sha256 = file_hash(&file).map_err(|error| unwritable(&error))?;
    // A package can bring a file of this name; the move replaces the file.
    std::fs::rename(&file, site.new.join(KEPT)).map_err(|error| unwritable(&error))?;
    Ok(sha256)
}

/// The requirements of pip's report.
fn requirements_of_report(text: &str) -> Result<String, String> {
    let report: PipReport = serde_json::from_str(text)
        .map_err(|error| format!("The report of pip is invalid: {error}. Update pip."))?;
    let mut lines = BTreeSet::new();
    for ReportedPackage { metadata, download_info } in &report.install {
        let mut hashes: BTreeSet<&str> = BTreeSet::new();
        if let Some(ArchiveInfo { hash, hashes: named }) = &download_info.archive_info {
            let old = hash.as_deref().and_then(|hash| hash.strip_prefix("sha256="));
            hashes.extend(named.get("sha256").map(String::as_str).or(old));
        }
        lines.insert(requirement_line(&metadata.name, &metadata.version, &hashes)?);
    }
    requirements_text(&lines)
}

/// The requirements of the file that `uv` writes.
fn requirements_of_uv(text: &str) -> Result<String, String> {
    let text = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let mut lines = BTreeSet::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let unknown = || format!("uv resolved an unknown requirement: {}.", escape_line(line));
        if line.starts_with('#') {
            continue;
        }
        let mut words = line.split_whitespace();
        let package = words.next().and_then(|word| word.split_once("=="));
        let (name, version) = package.ok_or_else(unknown)?;
        let mut hashes: BTreeSet<&str> = BTreeSet::new();
        for word in words {
            let hash = word.strip_prefix("--hash=").ok_or_else(unknown)?;
            // A hash of another kind is not needed.
            hashes.extend(hash.strip_prefix("sha256:"));
        }
        lines.insert(requirement_line(name, version, &hashes)?);
    }
    requirements_text(&lines)
}

/// A line of the requirements file.
fn requirement_line(name: &str, version: &str, hashes: &BTreeSet<&str>) -> Result<String, String> {
    let is_word = |text: &str, marks: &str| {
        text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || marks.contains(c))
    };
    let (shown_name, shown_version) = (escape_line(name), escape_line(version));
    if !is_word(name, "-_.") || !is_word(version, "-_.+!") {
        return Err(format!(
            "The packages inside have an invalid name or version: {shown_name}=={shown_version}. Choose another package."
        ));
    }
    let is_hash = |hash: &&str| {
        hash.len() == HASH_DIGITS
            && hash.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c))
    };
    if hashes.is_empty() || !hashes.iter().all(is_hash) {
        return Err(format!(
            "The registry names no SHA-256 of {shown_name}=={shown_version}, so the package was not installed. Use a registry with hashes."
        ));
    }
    let hashes: Vec<String> = hashes.iter().map(|hash| format!(" --hash=sha256:{hash}")).collect();
    Ok(format!("{name}=={version}{}\n", hashes.concat()))
}

fn requirements_text(lines: &BTreeSet<String>) -> Result<String, String> {
    if lines.is_empty() {
        return Err("The registry resolved no package. Try again.".to_owned());
    }
    Ok(lines.iter().map(String::as_str).collect())
}

/// The text of an answer, at most `MAX_ANSWER_BYTES`.
fn read_answer(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let read =
        File::open(path).and_then(|file| file.take(MAX_ANSWER_BYTES + 1).read_to_string(&mut text));
    match read {
        Ok(bytes) if bytes as u64 <= MAX_ANSWER_BYTES => Ok(text),
        Ok(_) => Err(format!(
            "The list of the packages inside has more than {} MB. Choose another package.",
            MAX_ANSWER_BYTES >> 20
        )),
        Err(error) => Err(format!("The list of the packages inside cannot be read: {error}.")),
    }
}

/// The SHA-256 of a file, which is no link.
fn file_hash(path: &Path) -> io::Result<String> {
    if !std::fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::other("no file"));
    }
    hash_of(&mut File::open(path)?)
}

fn unwritable(error: &io::Error) -> String {
    format!("The requirements file cannot be written: {error}. Check the disk.")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn report(archive: &Value) -> String {
        let package = json!({
            "metadata": { "name": "mcp-time", "version": "1.2", "summary": "x" },
            "download_info": { "url": "https://files.example.org/a.whl", "archive_info": archive },
        });
        json!({ "version": "1", "install": [package] }).to_string()
    }

    #[test]
    fn report_of_pip_becomes_requirements() {
        let hash = "a1".repeat(32);
        let expected = format!("mcp-time==1.2 --hash=sha256:{hash}\n");
        let new = json!({ "hashes": { "sha256": &hash, "md5": "0" } });
        let old = json!({ "hash": format!("sha256={hash}") });
        for archive in [new, old] {
            assert_eq!(requirements_of_report(&report(&archive)), Ok(expected.clone()));
        }
    }

    #[test]
    fn report_without_a_sha256_is_refused() {
        let md5 = json!({ "hashes": { "md5": "0" } });
        let short = json!({ "hashes": { "sha256": "a1" } });
        for archive in [md5, short, json!({}), Value::Null] {
            let error = requirements_of_report(&report(&archive)).expect_err("no hash");
            assert!(
                error.starts_with("The registry names no SHA-256 of mcp-time==1.2,"),
                "{error}"
            );
        }
        let error = requirements_of_report("{\"install\":[]}").expect_err("no package");
        assert!(error.contains("resolved no package"), "{error}");
    }

    #[test]
    fn answer_of_uv_becomes_requirements() {
        let (first, second) = ("a1".repeat(32), "b2".repeat(32));
        let text = format!(
            "# uv\npytz==2025.2 \\\n    --hash=sha256:{second} \\\n    --hash=sha256:{first}\nmcp-time==1.2 \\\n    --hash=sha256:{first}\n"
        );
        let expected = format!(
            "mcp-time==1.2 --hash=sha256:{first}\npytz==2025.2 --hash=sha256:{first} --hash=sha256:{second}\n"
        );
        assert_eq!(requirements_of_uv(&text), Ok(expected));
    }

    #[test]
    fn answer_of_uv_holds_only_hashed_versions() {
        let hash = "a1".repeat(32);
        for line in [
            "--index-url https://example.org/simple".to_owned(),
            format!("mcp-time @ https://example.org/a.whl --hash=sha256:{hash}"),
            format!("mcp-time==1.2 ; extra --hash=sha256:{hash}"),
            format!("--pre==1 --hash=sha256:{hash}"),
            "mcp-time==1.2".to_owned(),
            "mcp-time==1.2 --hash=md5:00".to_owned(),
        ] {
            assert!(requirements_of_uv(&line).is_err(), "{line}");
        }
    }
}
