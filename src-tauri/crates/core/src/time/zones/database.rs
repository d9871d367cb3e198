//! The zones of a machine: the source, and the local zone.
//!
//! Owns the choice of the source. Zone files of the system are used when newer than chrono-tz, zone by zone: a missing
//! or invalid file falls back to the built-in rules. Never reads a file; `ZoneFiles` is the port. Zones load on first
//! use.
//! Pitfall: comparing versions as text; `2025z` is older than `2025aa`.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use chrono_tz::Tz;

use serde_json::Value;

use super::tzif;
use super::zone::Zone;
use crate::text::nearest;

/// The port to the zone files of the system.
pub trait ZoneFiles: Send + Sync {
    /// The content of the zone `name`, a checked relative path such as `Europe/Berlin`; none when missing.
    fn read(&self, name: &str) -> Option<Vec<u8>>;
}

/// The zones of a machine. Cheap to clone.
#[derive(Clone)]
pub struct Zones {
    local: Zone,
    local_problem: Option<Arc<str>>,
    data: Arc<ZoneData>,
}

/// The source of the rules, with the version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneSource {
    /// The IANA version, such as `2025b`.
    pub version: ZoneVersion,
    /// The folder of the system's files; none for the built-in rules.
    pub folder: Option<String>,
}

enum ZoneData {
    BuiltIn,
    System {
        source: ZoneSource,
        files: Box<dyn ZoneFiles>,
        known: Mutex<HashMap<String, Option<Zone>>>,
    },
    /// Stored rules for some zones, and another source for the rest.
    Stored {
        zones: HashMap<String, Zone>,
        rest: Arc<ZoneData>,
    },
}

impl Zones {
    /// The built-in rules, with this local zone.
    #[must_use]
    pub fn built_in(local: Tz) -> Self {
        Self { local: local.into(), local_problem: None, data: Arc::new(ZoneData::BuiltIn) }
    }

    /// The files of the system if newer than the built-in rules, else the built-in rules. The local zone is UTC until
    /// `with_local`.
    #[must_use]
    pub fn newest(source: ZoneSource, files: Box<dyn ZoneFiles>) -> Self {
        if source.version <= ZoneVersion::built_in() {
            return Self::built_in(Tz::UTC);
        }
        let data = ZoneData::System { source, files, known: Mutex::default() };
        Self { local: Zone::UTC, local_problem: None, data: Arc::new(data) }
    }

    /// The same source with the local zone `name`; UTC when unknown.
    #[must_use]
    pub fn with_local(&self, name: &str) -> Self {
        let local = self.zone(name).unwrap_or(Zone::UTC);
        Self { local, local_problem: None, data: Arc::clone(&self.data) }
    }

    /// The same with the reason why the local zone is not the configured zone.
    #[must_use]
    pub fn with_local_problem(self, problem: String) -> Self {
        Self { local_problem: Some(problem.into()), ..self }
    }

    /// Why the local zone is not the configured zone, as a sentence.
    #[must_use]
    pub fn local_problem(&self) -> Option<&str> {
        self.local_problem.as_deref()
    }

    /// The local zone.
    #[must_use]
    pub const fn local(&self) -> Zone {
        self.local
    }

    /// The zone with this IANA name.
    #[must_use]
    pub fn zone(&self, name: &str) -> Option<Zone> {
        self.data.zone(name)
    }

    /// The rules of these zones as JSON, for `with_stored_rules`.
    pub fn rules_json<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Value {
        let zones = names.into_iter().filter_map(|name| Some((name, self.zone(name)?)));
        zones.map(|(name, zone)| (name.to_owned(), zone.to_json())).collect()
    }

    /// The same with stored rules for some zones; none when invalid.
    #[must_use]
    pub fn with_stored_rules(&self, stored: &Value) -> Option<Self> {
        let zones: Option<HashMap<String, Zone>> = stored
            .as_object()?
            .iter()
            .map(|(name, rules)| Some((name.clone(), Zone::from_json(name, rules)?)))
            .collect();
        let data = ZoneData::Stored { zones: zones?, rest: Arc::clone(&self.data) };
        Some(Self { data: Arc::new(data), ..self.clone() })
    }

    /// The source of the rules.
    #[must_use]
    pub fn source(&self) -> ZoneSource {
        self.data.source()
    }

    /// Whether both are the same load of the same source.
    #[must_use]
    pub fn has_same_data(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.data, &other.data)
            || matches!((&*self.data, &*other.data), (ZoneData::BuiltIn, ZoneData::BuiltIn))
    }
}

impl ZoneData {
    fn zone(&self, name: &str) -> Option<Zone> {
        match self {
            Self::BuiltIn => built_in(name),
            Self::Stored { zones, rest } => zones.get(name).copied().or_else(|| rest.zone(name)),
            Self::System { files, known, .. } => {
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(zone) = known.get(name) {
                    return *zone;
                }
                let read = is_zone_name(name).then(|| files.read(name)).flatten();
                let zone =
                    read.and_then(|bytes| tzif::zone(name, &bytes)).or_else(|| built_in(name));
                // Unknown names are not cached: any caller can send such names.
                if zone.is_some() {
                    known.insert(name.to_owned(), zone);
                }
                zone
            }
        }
    }

    fn source(&self) -> ZoneSource {
        match self {
            Self::BuiltIn => ZoneSource { version: ZoneVersion::built_in(), folder: None },
            Self::Stored { rest, .. } => rest.source(),
            Self::System { source, .. } => source.clone(),
        }
    }
}

/// The built-in rules with this local zone.
impl From<Tz> for Zones {
    fn from(local: Tz) -> Self {
        Self::built_in(local)
    }
}

impl From<&Self> for Zones {
    fn from(zones: &Self) -> Self {
        zones.clone()
    }
}

impl fmt::Debug for Zones {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Zones").field("local", &self.local).field("source", &self.source()).finish()
    }
}

/// "2026a from /usr/share/zoneinfo", "2025b, built in".
impl fmt::Display for ZoneSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.folder {
            Some(folder) => write!(f, "{} from {folder}", self.version),
            None => write!(f, "{}, built in", self.version),
        }
    }
}

fn built_in(name: &str) -> Option<Zone> {
    name.parse::<Tz>().ok().map(Zone::from)
}

/// Whether `name` may be a zone: segments of letters, digits, `_`, `+` and `-`, beginning with a capital. Excludes `..`,
/// absolute paths, and files beside the zones such as `posixrules`.
fn is_zone_name(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_+-".contains(&b))
    };
    name.len() <= 64
        && name.as_bytes().first().is_some_and(u8::is_ascii_uppercase)
        && name.split('/').all(is_part)
}

/// The version of a zone database: a year and a letter, after `z` two letters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ZoneVersion {
    year: u16,
    /// Compared before the letters, so that `aa` follows `z`.
    letter_count: usize,
    letters: String,
}

impl ZoneVersion {
    /// The version of chrono-tz.
    #[must_use]
    pub fn built_in() -> Self {
        Self::parse(chrono_tz::IANA_TZDB_VERSION).expect("BUG: chrono-tz names its version")
    }

    /// Parses the first line of `tzdata.zi` (`# version 2026a`) or a `+VERSION` file (`2026a`), variants such as
    /// `2026a-rearguard` included.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let line = text.lines().next()?.trim();
        let word = line.strip_prefix("# version").unwrap_or(line).trim_start();
        let (year, rest) = word.split_at_checked(4)?;
        let letters: String = rest.chars().take_while(char::is_ascii_lowercase).collect();
        let after = rest[letters.len()..].chars().next();
        let ends = after.is_none_or(|c| c == '-' || c.is_whitespace());
        let is_year = year.bytes().all(|b| b.is_ascii_digit());
        (is_year && ends && (1..=2).contains(&letters.len())).then_some(())?;
        Some(Self { year: year.parse().ok()?, letter_count: letters.len(), letters })
    }
}

impl fmt::Display for ZoneVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.year, self.letters)
    }
}

/// The error about an unknown zone name.
#[must_use]
pub fn no_zone(name: &str) -> String {
    if is_offset_or_abbreviation(name.trim()) {
        return format!(
            "expected an IANA zone, found `{name}`; name the zone of a city, such as Europe/Berlin"
        );
    }
    let meant = zone_meant(name).map(|zone| format!("; did you mean {zone}?")).unwrap_or_default();
    format!("expected an IANA zone such as Europe/Berlin, found `{name}`{meant}")
}

/// Whether `name` is an offset or abbreviation: `GMT+1`, `CEST`, `pst`. A similarly spelled zone would be wrong:
/// `Etc/GMT+1` is behind UTC.
fn is_offset_or_abbreviation(name: &str) -> bool {
    let has_offset = name.chars().any(|c| c.is_numeric() || c == '+');
    let is_short =
        |most: usize| name.len() <= most && name.bytes().all(|b| b.is_ascii_alphabetic());
    let is_in_capitals = name.bytes().all(|b| b.is_ascii_uppercase());
    let is_city = || cities().any(|(city, _)| city.eq_ignore_ascii_case(name));
    has_offset || is_in_capitals && is_short(5) || is_short(4) && !is_city()
}

/// The cities in zone names, with their zones.
fn cities() -> impl Iterator<Item = (&'static str, &'static str)> {
    let names = chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name());
    names.filter_map(|name| Some((name.rsplit_once('/')?.1, name)))
}

/// The zone meant by a misspelled name or city: `Europe/Berln`, `new york`, `Berln`.
fn zone_meant(name: &str) -> Option<&'static str> {
    let wanted = name.trim().replace(' ', "_");
    if wanted.contains('/') {
        return nearest(&wanted, chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name()));
    }
    let near = nearest(&wanted, cities().map(|(city, _)| city))?;
    cities().find_map(|(city, name)| (city == near).then_some(name))
}

#[cfg(test)]
mod tests {
    use super::no_zone;

    #[test]
    fn misspelled_zone_is_suggested() {
        for (typed, zone) in [
            ("Europe/Berln", "Europe/Berlin"),
            ("America/New_Yrok", "America/New_York"),
            ("berln", "Europe/Berlin"),
            ("new york", "America/New_York"),
            ("europe/berlin", "Europe/Berlin"),
            ("utc", "Etc/UTC"),
            ("BERLIN", "Europe/Berlin"),
            ("etc/utc", "Etc/UTC"),
        ] {
            let message = no_zone(typed);
            assert!(message.ends_with(&format!("did you mean {zone}?")), "{message}");
        }
        assert!(!no_zone("Mars/Olympus").contains("did you mean"));
    }

    #[test]
    fn offset_or_abbreviation_suggests_no_zone() {
        for typed in [
            "GMT+1",
            "GMT-8",
            "UTC+2",
            "utc-05:00",
            "+02:00",
            "Etc/GMT+15",
            "PST",
            "IST",
            "JST",
            "BST",
            "CEST",
            "AEST",
            "pst",
            "cest",
            "est",
        ] {
            assert_eq!(
                no_zone(typed),
                format!(
                    "expected an IANA zone, found `{typed}`; name the zone of a city, such as Europe/Berlin"
                ),
            );
        }
    }
}
