//! A signal ends the engine in order from the moment on at which it says that it is ready.

use std::process::{Command, Stdio};

use crate::engine::{Home, Said};

/// Starts the engine and sends it a signal with nothing but a shell's own `read` and `kill` in between.
const SCRIPT: &str = r#"
mkfifo "$1"
"$0" serve --port 0 --ready-json > "$1" &
pid=$!
read -r line < "$1"
kill -s "$2" "$pid"
wait "$pid"
"#;

#[test]
fn a_signal_in_the_first_moment_ends_it_in_order() {
    let home = Home::new();
    let engine = home.command(["serve"]);
    for round in 0..10 {
        for signal in ["TERM", "HUP"] {
            let pipe = home.beside(&format!("ready-{signal}-{round}"));
            let mut shell = Command::new("sh");
            shell.args(["-c", SCRIPT]).arg(engine.get_program()).arg(pipe).arg(signal);
            shell.env_clear().stdin(Stdio::null());
            shell.envs(engine.get_envs().filter_map(|(name, value)| Some((name, value?))));
            let said = Said::from(shell.output().expect("a shell"));
            assert_eq!(said.code, 0, "{signal}, round {round}: {said:#?}");
            let told = home.data().join("gateway.json");
            assert!(!told.exists(), "{signal}, round {round}: it was left behind");
        }
    }
}
