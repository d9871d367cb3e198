//! The addresses of the registries, the proxies and the certificates, from the person's settings.
//!
//! Owns the few settings that Rouse reads: one address of npm, one of PyPI, the proxies, and the paths of certificates.
//! Never reads a token or a password, and refuses an address that holds one. Pitfall: an installer that reads its own
//! settings; its commands name empty files instead.

use std::collections::BTreeMap;
use std::path::Path;

use crate::options::EnvReader;

/// The variables of proxies.
const PROXIES: [&str; 6] =
    ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"];
/// The variables with paths of certificates, for a network whose proxy signs connections anew.
const CERTIFICATES: [&str; 5] =
    ["NODE_EXTRA_CA_CERTS", "PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE"];

/// The address of npm's registry; none for the default of npm.
pub(super) fn npm_registry(env: &EnvReader) -> Result<Option<String>, String> {
    let set = ["npm_config_registry", "NPM_CONFIG_REGISTRY"].into_iter().find_map(|name| env(name));
    let found = set.or_else(|| setting_in_home(env, &[".npmrc"], "registry"));
    found.map(|address| checked("npm", address)).transpose()
}

/// The address of the Python index; none for the default of the installer.
pub(super) fn python_index(env: &EnvReader) -> Result<Option<String>, String> {
    let set = ["UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"];
    let set = set.into_iter().find_map(|name| env(name));
    let files = [".config/pip/pip.conf", ".pip/pip.conf", "pip/pip.ini"];
    let found = set.or_else(|| setting_in_home(env, &files, "index-url"));
    found.map(|address| checked("pip", address)).transpose()
}

/// The variables of the network: the certificates, and the proxies without those that hold a password.
pub(super) fn network_variables(env: &EnvReader) -> BTreeMap<String, String> {
    let set = |name: &'static str| Some((name.to_owned(), env(name)?));
    let proxies = PROXIES.into_iter().filter_map(set);
    let proxies = proxies.filter(|(_, address)| !address.contains('@'));
    proxies.chain(CERTIFICATES.into_iter().filter_map(set)).collect()
}

/// The home folder of the person.
pub(super) fn home_folder(env: &EnvReader) -> Option<String> {
    ["HOME", "USERPROFILE"].into_iter().find_map(|name| env(name))
}

/// A setting of the first of these files in the home folder that has the setting.
fn setting_in_home(env: &EnvReader, files: &[&str], key: &str) -> Option<String> {
    let home = home_folder(env)?;
    files.iter().find_map(|file| {
        // silent-ok: a missing or unreadable file has no setting, and the page shows the address that is used.
        let text = std::fs::read_to_string(Path::new(&home).join(file)).ok()?;
        setting_of(&text, key)
    })
}

/// The value of `key` in lines of `key = value`.
fn setting_of(text: &str, key: &str) -> Option<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';']));
    let mut pairs = lines.filter_map(|line| line.split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.trim() == key)?;
    let value = value.trim().trim_matches(['"', '\'']);
    (!value.is_empty()).then(|| value.to_owned())
}

/// Refuses an address with a password or a placeholder.
fn checked(program: &str, address: String) -> Result<String, String> {
    let rest = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"));
    let host = rest.unwrap_or_default().split(['/', '?', '#']).next().unwrap_or_default();
    let is_plain = address.chars().all(|c| c.is_ascii_graphic() && !"$`'\"\\".contains(c));
    if host.contains('@') {
        return Err(format!(
            "The settings of {program} name a registry with a password, which Rouse does not pass on. Write the address without the password."
        ));
    }
    if host.is_empty() || !is_plain {
        return Err(format!(
            "The settings of {program} name a registry that is no plain address. Correct the address there."
        ));
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn env(pairs: &[(&str, &str)]) -> EnvReader {
        let pairs: BTreeMap<String, String> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Arc::new(move |name: &str| pairs.get(name).cloned())
    }

    #[test]
    fn only_the_address_of_a_settings_file_is_read() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().to_str().expect("UTF-8");
        let env = env(&[("HOME", path)]);
        assert_eq!(npm_registry(&env), Ok(None));
        let text = "# registry=https://no.example\n//npm.example/:_authToken=s3cret\nregistry = \"https://npm.example/\"\n";
        std::fs::write(home.path().join(".npmrc"), text).expect("written");
        assert_eq!(npm_registry(&env), Ok(Some("https://npm.example/".to_owned())));
        assert_eq!(python_index(&env), Ok(None));
    }

    #[test]
    fn address_with_a_password_is_refused() {
        let error = |address| npm_registry(&env(&[("npm_config_registry", address)]));
        assert!(error("https://me:pw@npm.example/").expect_err("a password").contains("password"));
        for address in ["https://npm.example/${TOKEN}", "file:///srv/npm", "https://"] {
            assert!(error(address).expect_err(address).contains("no plain address"));
        }
    }

    #[test]
    fn network_variables_have_certificates_and_no_password() {
        let env = env(&[
            ("HTTPS_PROXY", "http://me:pw@proxy.example:3128"),
            ("http_proxy", "http://proxy.example:3128"),
            ("NODE_EXTRA_CA_CERTS", "/etc/ssl/own.pem"),
            ("API_KEY", "hunter2"),
        ]);
        let expected = [
            ("NODE_EXTRA_CA_CERTS", "/etc/ssl/own.pem"),
            ("http_proxy", "http://proxy.example:3128"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(network_variables(&env), BTreeMap::from(expected));
    }
}
