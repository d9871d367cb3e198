//! Packages with an exact version: `@scope/name@1.2.3` of npm, `name@1.2.3` or `name==1.2.3` of PyPI.
//!
//! Owns the rules for names and versions, and the sentences about a version that is not exact. A range, a tag and a
//! missing version are refused: each of them can name other code tomorrow.

use std::fmt;

use crate::text::escape_line;

/// The maximum characters of a package's name; npm's own limit.
const MAX_NAME: usize = 214;

/// The maximum characters of a version.
const MAX_VERSION: usize = 64;

/// A public registry of packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackageRegistry {
    /// npm.
    Npm,
    /// The Python Package Index.
    Pypi,
}

/// A package with its exact version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExactPackage {
    /// The name in its registry.
    pub name: String,
    /// The version.
    pub version: String,
}

/// Why a text names no package with an exact version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PackageSpecError {
    /// The name is not valid in the registry.
    #[error("`{name}` is no name of a package on {registry}.")]
    Name {
        /// The text, escaped.
        name: String,
        /// The registry.
        registry: PackageRegistry,
    },
    /// The version is missing.
    #[error("{name} has no version. Write the exact version, such as {name}@1.2.3. {hint}")]
    MissingVersion {
        /// The package.
        name: String,
        /// How to find the version, as a sentence.
        hint: String,
    },
    /// The version is a range, a tag or a wildcard.
    #[error(
        "`{version}` is no exact version of {name}: it can name other code tomorrow. Write the exact version, such as {name}@1.2.3. {hint}"
    )]
    NotExact {
        /// The package.
        name: String,
        /// The version, escaped.
        version: String,
        /// How to find the version, as a sentence.
        hint: String,
    },
    /// The name of the program is a path or empty.
    #[error("`{0}` is no name of a program. Write the name without a path.")]
    Program(String),
    /// The path is not absolute.
    #[error("`{0}` is a relative path. Write the absolute path.")]
    RelativePath(String),
}

impl fmt::Display for PackageRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Npm => "npm",
            Self::Pypi => "PyPI",
        })
    }
}

impl PackageRegistry {
    /// How a person finds the exact version, as a sentence.
    fn version_hint(self, name: &str) -> String {
        match self {
            Self::Npm => format!("`npm view {name} version` prints the newest version."),
            Self::Pypi => format!("`pip index versions {name}` lists the versions."),
        }
    }

    fn is_name(self, name: &str) -> bool {
        let is_word = |word: &str, others: &str| {
            let is_allowed = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
            !word.is_empty() && word.chars().all(is_allowed)
        };
        let is_known = match self {
            Self::Npm => {
                let is_part =
                    |part: &str| is_word(part, "-._~") && !part.starts_with(['.', '_', '-']);
                match name.strip_prefix('@') {
                    Some(scoped) => scoped
                        .split_once('/')
                        .is_some_and(|(scope, name)| is_part(scope) && is_part(name)),
                    None => is_part(name),
                }
            }
            Self::Pypi => {
                let is_end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
                is_word(name, "-._") && is_end(name.chars().next()) && is_end(name.chars().last())
            }
        };
        is_known && name.len() <= MAX_NAME
    }

    fn is_exact(self, version: &str) -> bool {
        let is_exact = match self {
            Self::Npm => is_semantic_version(version),
            Self::Pypi => {
                let is_allowed = |c: char| c.is_ascii_alphanumeric() || ".!+-_".contains(c);
                version.starts_with(|c: char| c.is_ascii_digit())
                    && version.ends_with(|c: char| c.is_ascii_alphanumeric())
                    && version.chars().all(is_allowed)
                    && !version.split('.').any(|part| part == "x")
            }
        };
        is_exact && version.len() <= MAX_VERSION
    }
}

impl ExactPackage {
    /// Parses `name@1.2.3` of npm.
    ///
    /// # Errors
    /// The name is invalid, or the version is not exact.
    pub fn from_npm(text: &str) -> Result<Self, PackageSpecError> {
        let (name, version) = match text.rsplit_once('@') {
            // The `@` of a scope begins the package.
            Some((name, version)) if !name.is_empty() => (name, version),
            _ => (text, ""),
        };
        Self::new(PackageRegistry::Npm, name, version)
    }

    /// Parses `name@1.2.3` or `name==1.2.3` of PyPI.
    ///
    /// # Errors
    /// The name is invalid, or the version is not exact.
    pub fn from_pypi(text: &str) -> Result<Self, PackageSpecError> {
        let end = text.find(['=', '@', '<', '>', '~', '!']).unwrap_or(text.len());
        let (name, requirement) = text.split_at(end);
        let version = requirement.strip_prefix("==").or_else(|| requirement.strip_prefix('@'));
        Self::new(PackageRegistry::Pypi, name, version.unwrap_or(requirement))
    }

    /// The package `name` in the exact version `version`.
    ///
    /// # Errors
    /// The name is invalid, or the version is missing or not exact.
    pub fn new(
        registry: PackageRegistry,
        name: &str,
        version: &str,
    ) -> Result<Self, PackageSpecError> {
        if !registry.is_name(name) {
            return Err(PackageSpecError::Name { name: escape_line(name), registry });
        }
        let (name, hint) = (name.to_owned(), registry.version_hint(name));
        if version.is_empty() {
            return Err(PackageSpecError::MissingVersion { name, hint });
        }
        if !registry.is_exact(version) {
            let version = escape_line(version);
            return Err(PackageSpecError::NotExact { name, version, hint });
        }
        Ok(Self { name, version: version.to_owned() })
    }
}

/// Whether a text is a whole version by semver.org.
fn is_semantic_version(version: &str) -> bool {
    let is_list = |text: &str| {
        let is_part = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        text.split('.').all(is_part)
    };
    let (version, build) = match version.split_once('+') {
        Some((version, build)) => (version, Some(build)),
        None => (version, None),
    };
    let (numbers, prerelease) = match version.split_once('-') {
        Some((numbers, prerelease)) => (numbers, Some(prerelease)),
        None => (version, None),
    };
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let numbers: Vec<&str> = numbers.split('.').collect();
    numbers.len() == 3
        && numbers.into_iter().all(is_number)
        && prerelease.is_none_or(is_list)
        && build.is_none_or(is_list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_versions_are_parsed() {
        for (text, name, version) in [
            ("files@1.2.3", "files", "1.2.3"),
            ("@scope/files@2025.11.25", "@scope/files", "2025.11.25"),
            ("@scope/files@1.0.0-beta.1+b7", "@scope/files", "1.0.0-beta.1+b7"),
        ] {
            let package = ExactPackage::from_npm(text).expect(text);
            assert_eq!((package.name.as_str(), package.version.as_str()), (name, version));
        }
        for (text, name, version) in [
            ("mcp-server-time==2025.9.25", "mcp-server-time", "2025.9.25"),
            ("mcp.time@1.0rc1", "mcp.time", "1.0rc1"),
            ("time==1!2.0.post1", "time", "1!2.0.post1"),
        ] {
            let package = ExactPackage::from_pypi(text).expect(text);
            assert_eq!((package.name.as_str(), package.version.as_str()), (name, version));
        }
    }

    #[test]
    fn missing_version_names_the_way_to_find_one() {
        let npm = ExactPackage::from_npm("@scope/files").expect_err("no version").to_string();
        assert!(npm.starts_with("@scope/files has no version."), "{npm}");
        assert!(npm.ends_with("`npm view @scope/files version` prints the newest version."));
        let pypi = ExactPackage::from_pypi("mcp-time").expect_err("no version").to_string();
        assert!(pypi.contains("`pip index versions mcp-time`"), "{pypi}");
    }

    #[test]
    fn range_tag_and_wildcard_are_refused() {
        for text in [
            "files@latest",
            "files@^1.2.3",
            "files@1.2",
            "files@1.x.0",
            "files@>=1.0.0",
            "files@1.2.3 || 2",
            "files@v1.2.3",
            "files@1.2.3-",
        ] {
            let error = ExactPackage::from_npm(text).expect_err(text);
            assert!(matches!(error, PackageSpecError::NotExact { .. }), "{text}: {error}");
        }
        for text in [
            "time==1.*",
            "time==latest",
            "time@~=1.2",
            "time==1.x",
            "time==1.2,<2",
            "time>=1",
            "time~=1.2",
            "time!=1.2",
            "time<2,==1",
        ] {
            let error = ExactPackage::from_pypi(text).expect_err(text);
            assert!(matches!(error, PackageSpecError::NotExact { .. }), "{text}: {error}");
        }
    }

    #[test]
    fn name_that_is_a_path_address_or_flag_is_refused() {
        for text in [
            "../files@1.2.3",
            "https://a.example/x@1.2.3",
            "-g@1.2.3",
            "@scope@1.2.3",
            "@scope/a/b@1.2.3",
            "x@npm:files@1.2.3",
            "a b@1.2.3",
            "",
        ] {
            let error = ExactPackage::from_npm(text).expect_err(text);
            assert!(matches!(error, PackageSpecError::Name { .. }), "{text}: {error}");
        }
        for text in ["-r==1", "time[cli]==1", "./time==1", "time-==1", "a;b==1"] {
            let error = ExactPackage::from_pypi(text).expect_err(text);
            assert!(matches!(error, PackageSpecError::Name { .. }), "{text}: {error}");
        }
    }
}
