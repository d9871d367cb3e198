//! The ClawHub API: `GET /api/v1/search`, `GET /api/v1/skills/SLUG`, `GET /api/v1/download`.
//!
//! Owns the reading of skills and of their moderation. A skill that the registry blocks is not downloaded; for a
//! suspicious one the person gets a warning. Never unpacks a download. Pitfall: a moderation in an unknown form; the
//! answer is then invalid, and nothing is downloaded.

use rouse_core::text::percent_encode;
use rouse_gateway::wire::{
    RegistrySkillView, SkillDownload, SkillDownloadParams, SkillSearchParams, SkillSearchResult,
};
use serde::Deserialize;
use serde_json::Value;

use super::connection::RegistryConnection;
use super::download::{DownloadFolder, SkillArchive};
use super::error::RegistryError;
use super::query::{MAX_RESULTS, checked_query};
use super::untrusted_text::{one_line, shown};

/// Maximum characters of a slug or a version.
const MAX_SLUG: usize = 64;
/// Maximum characters of a description.
const MAX_DESCRIPTION: usize = 500;
/// Maximum characters of a name.
const MAX_NAME: usize = 100;
/// Maximum characters of the reason of a moderation.
const MAX_REASON: usize = 300;

/// Verdicts of a moderation without a finding.
const GOOD_VERDICTS: [&str; 2] = ["benign", "clean"];

#[derive(Deserialize)]
struct SearchAnswer {
    results: Option<Vec<Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SearchHit {
    slug: String,
    display_name: Option<String>,
    summary: Option<String>,
    version: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SkillAnswer {
    latest_version: Option<LatestVersion>,
    moderation: Option<Moderation>,
}

#[derive(Deserialize)]
struct LatestVersion {
    version: Option<String>,
}

/// What the registry says about the safety of a skill.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Moderation {
    is_suspicious: Option<bool>,
    is_malware_blocked: Option<bool>,
    verdict: Option<String>,
    summary: Option<String>,
    reason: Option<String>,
    reason_codes: Option<Vec<String>>,
}

/// The skills that match the words.
pub(super) async fn search(
    registry: &RegistryConnection,
    params: &SkillSearchParams,
) -> Result<SkillSearchResult, RegistryError> {
    let words = percent_encode(checked_query(&params.query)?);
    let path = format!("/api/v1/search?q={words}&limit={MAX_RESULTS}");
    let answer: SearchAnswer = registry.get_json(&path).await?;
    let hits = answer.results.unwrap_or_default().into_iter().take(MAX_RESULTS);
    // silent-ok: a skill without a valid slug cannot be downloaded.
    let hits = hits.filter_map(|hit| serde_json::from_value::<SearchHit>(hit).ok());
    let skills = hits.filter(|hit| is_slug(&hit.slug)).map(view).collect();
    Ok(SkillSearchResult { registry: registry.address().to_owned(), skills })
}

/// Downloads a version of a skill, or its latest version.
pub(super) async fn download(
    registry: &RegistryConnection,
    folder: &DownloadFolder,
    params: &SkillDownloadParams,
) -> Result<SkillDownload, RegistryError> {
    let SkillDownloadParams { slug, version } = params;
    if !is_slug(slug) {
        let message =
            format!("expected 1 to {MAX_SLUG} lowercase letters, digits and `-`, such as my-skill");
        return Err(RegistryError::Input { field: "slug", message });
    }
    if version.as_deref().is_some_and(|version| !is_version(version)) {
        let message = "expected a version, such as 1.2.3".to_owned();
        return Err(RegistryError::Input { field: "version", message });
    }
    let path = format!("/api/v1/skills/{slug}");
    let skill: SkillAnswer = registry.get_json(&path).await.map_err(|error| {
        error.for_missing(|| format!("{} has no skill {slug}.", registry.host()))
    })?;
    let warning = match &skill.moderation {
        Some(moderation) => moderation.judge(slug, registry.host())?,
        None => None,
    };
    let latest = skill.latest_version.and_then(|latest| latest.version);
    let version = version.clone().or(latest);
    if version.as_deref().is_some_and(|version| !is_version(version)) {
        return Err(registry.invalid("the version of the skill"));
    }
    let mut path = format!("/api/v1/download?slug={slug}");
    if let Some(version) = &version {
        path.push_str("&version=");
        path.push_str(&percent_encode(version));
    }
    let archive = SkillArchive { slug, version: version.as_deref(), path: &path };
    let saved = folder.save(registry, &archive).await.map_err(|error| {
        let version = version.as_deref().unwrap_or("latest");
        error.for_missing(|| format!("{} has no version {version} of {slug}.", registry.host()))
    })?;
    Ok(SkillDownload { path: saved, warning })
}

impl Moderation {
    /// The warning for the person; none for a skill without a finding.
    fn judge(&self, slug: &str, host: &str) -> Result<Option<String>, RegistryError> {
        let verdict = self.verdict.as_deref().unwrap_or_default();
        let reason = match self.reason() {
            reason if reason.is_empty() => String::new(),
            reason => format!(" ({reason})"),
        };
        if self.is_malware_blocked == Some(true) || verdict == "malicious" {
            return Err(RegistryError::Refused(format!(
                "{host} blocks the skill {slug} as malware{reason}. Rouse does not download the skill."
            )));
        }
        let is_good = verdict.is_empty() || GOOD_VERDICTS.contains(&verdict);
        if is_good && self.is_suspicious != Some(true) {
            return Ok(None);
        }
        let verdict = if is_good { "suspicious" } else { verdict };
        let verdict = shown(verdict, MAX_NAME);
        Ok(Some(format!(
            "{host} marks the skill {slug} as {verdict}{reason}. Read all of its files before you install the skill."
        )))
    }

    /// The reason on one line, or nothing.
    fn reason(&self) -> String {
        let codes = self.reason_codes.as_ref().map(|codes| codes.join(", "));
        let texts = [self.summary.clone(), self.reason.clone(), codes];
        let found = texts.into_iter().flatten().find(|text| !text.trim().is_empty());
        let shown = shown(&found.unwrap_or_default(), MAX_REASON);
        shown.trim_end_matches('.').to_owned()
    }
}

fn view(hit: SearchHit) -> RegistrySkillView {
    let SearchHit { slug, display_name, summary, version } = hit;
    let name = display_name.filter(|name| !name.trim().is_empty());
    RegistrySkillView {
        name: one_line(name.as_deref().unwrap_or(&slug), MAX_NAME),
        description: one_line(&summary.unwrap_or_default(), MAX_DESCRIPTION),
        version: version.filter(|version| is_version(version)),
        slug,
    }
}

fn is_slug(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=MAX_SLUG).contains(&text.len()) && text.chars().all(is_allowed)
}

fn is_version(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || ".-_+".contains(c);
    text.len() <= MAX_SLUG
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(is_allowed)
}
