//! The computer of `--on`: an address for ssh, or a name of `[computers.NAME]` in the settings of this computer.

use rouse_core::Clock as _;
use rouse_core::settings::{ComputerSection, SshAddress};
use rouse_gateway::RemoteComputer;
use rouse_host::{ConfigFile, Home, MachineFacts, SystemClock};

use super::error::CliError;

/// The variable with the `ssh` program.
const SSH_PROGRAM: &str = "ROUSE_SSH";

/// The computer that `text` names, with its address.
pub(crate) fn find_computer(
    text: &str,
    home: &Home,
    clock: &SystemClock,
) -> Result<(SshAddress, RemoteComputer), CliError> {
    let is_address = text.contains(['@', ':']);
    let section = if is_address { None } else { configured_computer(text, home, clock)? };
    let written = section.as_ref().map_or(text, |section| &section.address);
    let address = SshAddress::parse(written).map_err(|problem| {
        CliError::input(format!("--on: {problem}, or a name of your settings"))
    })?;
    let program = section.and_then(|section| section.program);
    let computer = RemoteComputer::new(address.clone(), program, std::env::var_os(SSH_PROGRAM));
    Ok((address, computer))
}

/// The section of `name` in the settings file of this computer.
fn configured_computer(
    name: &str,
    home: &Home,
    clock: &SystemClock,
) -> Result<Option<ComputerSection>, CliError> {
    let (env, zones) = (|name: &str| std::env::var(name).ok(), clock.zones());
    let machine = MachineFacts { env: &env, zones: &zones, secrets: None, recipients: None };
    let file = ConfigFile::open(&home.config(), &home.workspace(), machine)
        .map_err(anyhow::Error::from)?;
    Ok(file.config().computers.get(name).cloned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_the_settings_has_priority_over_a_host() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path());
        let table = "[computers.box]\naddress = \"ssh://anna@box.example.org:2222\"\n";
        std::fs::write(home.config(), table).expect("a file");
        let address = |text: &str| {
            find_computer(text, &home, &SystemClock::default())
                .map(|(address, _)| address.to_string())
                .map_err(|error| error.lines().join(" "))
        };
        assert_eq!(address("box").as_deref(), Ok("-p 2222 anna@box.example.org"));
        assert_eq!(address("nas").as_deref(), Ok("nas"));
        assert_eq!(address("ssh://box").as_deref(), Ok("box"));
        let refused = address("-oProxyCommand=id").expect_err("an option");
        assert!(refused.starts_with("--on: expected user@host"), "{refused}");
        std::fs::write(home.config(), "[computers.box]\naddress = \"-v\"\n").expect("a file");
        assert!(address("box").is_err_and(|error| error.contains("computers.box.address")));
    }
}
