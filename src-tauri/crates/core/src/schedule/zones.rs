//! The zones of a machine: which data they follow, and which one is its own.
//!
//! Owns the choice between the two sources. The zone files of the system are asked when they are newer than the tables
//! inside chrono-tz, zone by zone: one that is missing there or cannot be read has the built-in rules. It reads no file
//! itself; `ZoneFiles` is the port. Zones are read when they are first asked for, since a person uses a handful of six
//! hundred. One could get it wrong by comparing versions as text: `2025z` is older than `2025aa`.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use chrono_tz::Tz;

use serde_json::Value;

use super::rules::Zone;
use super::tzif;
use crate::near::nearest;

/// The zone files of a system.
pub trait ZoneFiles: Send + Sync {
    /// The bytes of the zone `name`, a checked relative path such as `Europe/Berlin`; none when there is no such file.
    fn read(&self, name: &str) -> Option<Vec<u8>>;
}

/// The zones of a machine. Cheap to clone.
#[derive(Clone)]
pub struct Zones {
    local: Zone,
    local_problem: Option<Arc<str>>,
    data: Arc<Data>,
}

/// Where the rules come from, and how old they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneSource {
    /// The IANA version, such as `2025b`.
    pub version: ZoneVersion,
    /// The folder of the system's files; none for the built-in tables.
    pub folder: Option<String>,
}

enum Data {
    BuiltIn,
    System {
        source: ZoneSource,
        files: Box<dyn ZoneFiles>,
        known: Mutex<HashMap<String, Option<Zone>>>,
    },
    /// Rules that an earlier life has written down, and what there is now for every other zone.
    Kept {
        zones: HashMap<String, Zone>,
        rest: Arc<Data>,
    },
}

impl Zones {
    /// The tables inside chrono-tz, on a machine in `local`.
    #[must_use]
    pub fn built_in(local: Tz) -> Self {
        Self { local: local.into(), local_problem: None, data: Arc::new(Data::BuiltIn) }
    }

    /// The files of a system where they are newer than the built-in tables, else those. The machine is in UTC until
    /// `with_local` says more.
    #[must_use]
    pub fn newest(source: ZoneSource, files: Box<dyn ZoneFiles>) -> Self {
        if source.version <= ZoneVersion::built_in() {
            return Self::built_in(Tz::UTC);
        }
        let data = Data::System { source, files, known: Mutex::default() };
        Self { local: Zone::UTC, local_problem: None, data: Arc::new(data) }
    }

    /// The same data on a machine in the zone `name`; in UTC when there is no such zone.
    #[must_use]
    pub fn with_local(&self, name: &str) -> Self {
        let local = self.zone(name).unwrap_or(Zone::UTC);
        Self { local, local_problem: None, data: Arc::clone(&self.data) }
    }

    /// The same where the zone that was wanted for the machine is not its own, in words.
    #[must_use]
    pub fn with_local_problem(self, problem: String) -> Self {
        Self { local_problem: Some(problem.into()), ..self }
    }

    /// Why the machine's own zone is not the one that was wanted, in words.
    #[must_use]
    pub fn local_problem(&self) -> Option<&str> {
        self.local_problem.as_deref()
    }

    /// The machine's own zone.
    #[must_use]
    pub const fn local(&self) -> Zone {
        self.local
    }

    /// The zone with this IANA name.
    #[must_use]
    pub fn zone(&self, name: &str) -> Option<Zone> {
        self.data.zone(name)
    }

    /// The rules of the zones with these names, for `with_written`.
    pub fn written<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Value {
        let zones = names.into_iter().filter_map(|name| Some((name, self.zone(name)?)));
        zones.map(|(name, zone)| (name.to_owned(), zone.written())).collect()
    }

    /// The same with the rules that were `written` down for some zones; none when they cannot be read.
    #[must_use]
    pub fn with_written(&self, written: &Value) -> Option<Self> {
        let zones: Option<HashMap<String, Zone>> = written
            .as_object()?
            .iter()
            .map(|(name, rules)| Some((name.clone(), Zone::read(name, rules)?)))
            .collect();
        let data = Data::Kept { zones: zones?, rest: Arc::clone(&self.data) };
        Some(Self { data: Arc::new(data), ..self.clone() })
    }

    /// Where the rules come from.
    #[must_use]
    pub fn source(&self) -> ZoneSource {
        self.data.source()
    }

    /// Whether both are the same reading of the same data.
    #[must_use]
    pub fn has_data_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.data, &other.data)
            || matches!((&*self.data, &*other.data), (Data::BuiltIn, Data::BuiltIn))
    }
}

impl Data {
    fn zone(&self, name: &str) -> Option<Zone> {
        match self {
            Self::BuiltIn => built_in(name),
            Self::Kept { zones, rest } => zones.get(name).copied().or_else(|| rest.zone(name)),
            Self::System { files, known, .. } => {
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(zone) = known.get(name) {
                    return *zone;
                }
                let read = is_zone_name(name).then(|| files.read(name)).flatten();
                let zone =
                    read.and_then(|bytes| tzif::zone(name, &bytes)).or_else(|| built_in(name));
                // Names that are no zone are not kept: anybody can send them.
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
            Self::Kept { rest, .. } => rest.source(),
            Self::System { source, .. } => source.clone(),
        }
    }
}

/// A machine with the built-in tables, in this zone.
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

/// Whether `name` can be a zone: parts of letters, digits, `_`, `+` and `-`, the first with a capital. That leaves out
/// `..`, absolute paths and the files beside the zones, such as `posixrules` and the folder `right`.
fn is_zone_name(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_+-".contains(&b))
    };
    name.len() <= 64
        && name.as_bytes().first().is_some_and(u8::is_ascii_uppercase)
        && name.split('/').all(is_part)
}

/// The version of a zone database: a year and a letter, or after `z` two.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ZoneVersion {
    year: u16,
    /// Before the letters, so that `aa` comes after `z`.
    letter_count: usize,
    letters: String,
}

impl ZoneVersion {
    /// That of the tables inside chrono-tz.
    #[must_use]
    pub fn built_in() -> Self {
        Self::parse(chrono_tz::IANA_TZDB_VERSION).expect("BUG: chrono-tz names its version")
    }

    /// Reads the first line of `tzdata.zi` (`# version 2026a`) or of a `+VERSION` file (`2026a`); a variant such as
    /// `2026a-rearguard` is that version.
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

/// What to say of a name that no zone has.
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

/// `GMT+1`, `CEST`, `pst`. Among the zones, what is spelled like it is somewhere else: `Etc/GMT+1` is behind UTC, and an
/// abbreviation is a letter away from another one.
fn is_offset_or_abbreviation(name: &str) -> bool {
    let has_offset = name.chars().any(|c| c.is_numeric() || c == '+');
    let is_short =
        |most: usize| name.len() <= most && name.bytes().all(|b| b.is_ascii_alphabetic());
    let is_in_capitals = name.bytes().all(|b| b.is_ascii_uppercase());
    let is_city = || cities().any(|(city, _)| city.eq_ignore_ascii_case(name));
    has_offset || is_in_capitals && is_short(5) || is_short(4) && !is_city()
}

/// The last part of each zone that has a place before it, with the zone.
fn cities() -> impl Iterator<Item = (&'static str, &'static str)> {
    let names = chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name());
    names.filter_map(|name| Some((name.rsplit_once('/')?.1, name)))
}

/// `Europe/Berln`, `new york`, `Berln`: by its whole name, or by its city.
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
    fn a_slip_in_a_zone_names_the_zone() {
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
            let said = no_zone(typed);
            assert!(said.ends_with(&format!("did you mean {zone}?")), "{said}");
        }
        assert!(!no_zone("Mars/Olympus").contains("did you mean"));
    }

    #[test]
    fn an_offset_or_an_abbreviation_suggests_no_zone_that_is_hours_away() {
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
