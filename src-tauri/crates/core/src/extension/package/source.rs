//! The sources of packages.
//!
//! Owns the fields that name exactly one content: a version, a hash, or a path with a hash. A server without a source
//! is a command or an address of the person. Hashes are facts that Rouse adds; a hash that a person gives is a demand.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::version::{ExactPackage, PackageRegistry, PackageSpecError};
use crate::text::escape_line;

/// Where the files of a server come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ExtensionSource {
    /// A package of npm.
    Npm {
        /// The name of the package.
        package: String,
        /// The exact version.
        version: String,
        /// The program of the package; needed when the package has several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        program: Option<String>,
        /// The hash of the archive, as npm writes it (`sha512-…`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        integrity: Option<String>,
    },
    /// A package of the Python Package Index.
    Pypi {
        /// The name of the package.
        package: String,
        /// The exact version.
        version: String,
        /// The program of the package; needed when the package has several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        program: Option<String>,
        /// The SHA-256 of the requirements file, which has the version and the SHA-256 of every package inside.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        requirements: Option<String>,
    },
    /// A bundle: a zip archive with a manifest.
    Mcpb {
        /// The absolute path of the file.
        file: String,
        /// The SHA-256 of the file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        sha256: Option<String>,
        /// The values of the settings that the bundle asks for. A secret is a handle (`{{secret:NAME}}`).
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        config: BTreeMap<String, Vec<String>>,
    },
    /// A folder, used in place and read-only.
    Folder {
        /// The absolute path.
        path: String,
        /// The SHA-256 of the list of files.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        sha256: Option<String>,
    },
    /// The folder of a tool: a manifest (`tool.toml`) with `tool.js` or `tool.wasm`. Its files are copied.
    Tool {
        /// The absolute path.
        path: String,
        /// The SHA-256 of the list of files.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        sha256: Option<String>,
    },
}

impl ExtensionSource {
    /// The npm package of a text such as `@scope/name@1.2.3`.
    ///
    /// # Errors
    /// The name is invalid, or the version is not exact.
    pub fn npm(text: &str, program: Option<String>) -> Result<Self, PackageSpecError> {
        let ExactPackage { name, version } = ExactPackage::from_npm(text)?;
        Ok(Self::Npm { package: name, version, program, integrity: None })
    }

    /// The PyPI package of a text such as `name==1.2.3` or `name@1.2.3`.
    ///
    /// # Errors
    /// The name is invalid, or the version is not exact.
    pub fn pypi(text: &str, program: Option<String>) -> Result<Self, PackageSpecError> {
        let ExactPackage { name, version } = ExactPackage::from_pypi(text)?;
        Ok(Self::Pypi { package: name, version, program, requirements: None })
    }

    /// Refuses a source that does not name one exact content.
    ///
    /// # Errors
    /// What is wrong, as sentences.
    pub fn check(&self) -> Result<(), PackageSpecError> {
        match self {
            Self::Npm { package, version, program, .. } => {
                ExactPackage::new(PackageRegistry::Npm, package, version)?;
                check_program(program.as_deref())
            }
            Self::Pypi { package, version, program, .. } => {
                ExactPackage::new(PackageRegistry::Pypi, package, version)?;
                check_program(program.as_deref())
            }
            Self::Mcpb { file, .. } => check_absolute(file),
            Self::Folder { path, .. } | Self::Tool { path, .. } => check_absolute(path),
        }
    }

    /// The same source without the facts that an installation adds, in another version if given. None if the source has
    /// no version to choose.
    #[must_use]
    pub fn renewed(&self, version: Option<&str>) -> Option<Self> {
        let mut renewed = self.clone();
        match (&mut renewed, version) {
            (Self::Npm { version: own, integrity, .. }, version) => {
                *integrity = None;
                if let Some(version) = version {
                    version.clone_into(own);
                }
            }
            (Self::Pypi { version: own, requirements, .. }, version) => {
                *requirements = None;
                if let Some(version) = version {
                    version.clone_into(own);
                }
            }
            (
                Self::Mcpb { sha256, .. } | Self::Folder { sha256, .. } | Self::Tool { sha256, .. },
                None,
            ) => *sha256 = None,
            (Self::Mcpb { .. } | Self::Folder { .. } | Self::Tool { .. }, Some(_)) => return None,
        }
        Some(renewed)
    }

    /// The source for people: kind, name and version.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Npm { package, version, .. } => format!("npm package {package}@{version}"),
            Self::Pypi { package, version, .. } => format!("PyPI package {package}=={version}"),
            Self::Mcpb { file, .. } => format!("bundle {file}"),
            Self::Folder { path, .. } => format!("folder {path}"),
            Self::Tool { path, .. } => format!("tool in {path}"),
        }
    }
}

/// Refuses a path in the place of a name.
fn check_program(program: Option<&str>) -> Result<(), PackageSpecError> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let is_name = |name: &str| {
        !name.is_empty() && !name.starts_with(['.', '-']) && name.chars().all(is_allowed)
    };
    match program.filter(|name| !is_name(name)) {
        Some(name) => Err(PackageSpecError::Program(escape_line(name))),
        None => Ok(()),
    }
}

fn check_absolute(path: &str) -> Result<(), PackageSpecError> {
    if Path::new(path).is_absolute() {
        Ok(())
    } else {
        Err(PackageSpecError::RelativePath(escape_line(path)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn source_of_a_client_is_checked() {
        let checked = |value: serde_json::Value| {
            let source: ExtensionSource = serde_json::from_value(value).expect("a source");
            source.check().err().map(|error| error.to_string()).unwrap_or_default()
        };
        let npm = |version: &str, program: &str| json!({ "kind": "npm", "package": "files", "version": version, "program": program });
        assert_eq!(checked(npm("1.2.3", "files-mcp")), "");
        assert!(checked(npm("latest", "files")).contains("is no exact version"));
        assert!(checked(npm("1.2.3", "../bin/sh")).contains("is no name of a program"));
        let bundle = json!({ "kind": "mcpb", "file": "files.mcpb" });
        assert!(checked(bundle).contains("is a relative path"));
    }

    #[test]
    fn renewed_source_has_no_facts_of_an_installation() {
        let integrity = Some("sha512-x".to_owned());
        let npm = |version: &str, integrity| ExtensionSource::Npm {
            package: "files".to_owned(),
            version: version.to_owned(),
            program: None,
            integrity,
        };
        let installed = npm("1.2.3", integrity);
        assert_eq!(installed.renewed(Some("1.2.4")), Some(npm("1.2.4", None)));
        assert_eq!(installed.renewed(None), Some(npm("1.2.3", None)));
        let pypi = |version: &str, requirements| ExtensionSource::Pypi {
            package: "files".to_owned(),
            version: version.to_owned(),
            program: None,
            requirements,
        };
        let installed = pypi("1.2", Some("0".to_owned()));
        assert_eq!(installed.renewed(Some("1.3")), Some(pypi("1.3", None)));
        assert_eq!(installed.renewed(None), Some(pypi("1.2", None)));
        let folder = |sha256| ExtensionSource::Folder { path: "/srv/files".to_owned(), sha256 };
        let installed = folder(Some("0".to_owned()));
        assert_eq!(installed.renewed(None), Some(folder(None)));
        assert_eq!(installed.renewed(Some("1.2.4")), None);
        let tool = |sha256| ExtensionSource::Tool { path: "/srv/weather".to_owned(), sha256 };
        assert_eq!(tool(Some("0".to_owned())).renewed(None), Some(tool(None)));
        assert_eq!(tool(None).renewed(Some("2")), None);
    }
}
