//! A signal right after the ready line stops the engine in order.

use std::process::{Command, Stdio};

use crate::engine::{CommandOutput, TestHome};

/// Starts the engine and sends a signal after the ready line, with only shell builtins in between.
const SCRIPT: &str = r#"
mkfifo "$1"
"$0" serve --port 0 --ready-json > "$1" &
pid=$!
read -r line < "$1"
kill -s "$2" "$pid"
wait "$pid"
"#;

#[test]
fn signal_right_after_ready_stops_engine_orderly() {
    let home = TestHome::new();
    let engine = home.command(["serve"]);
    for round in 0..10 {
        for signal in ["TERM", "HUP"] {
            let pipe = home.sibling(&format!("ready-{signal}-{round}"));
            let mut shell = Command::new("sh");
            shell.args(["-c", SCRIPT]).arg(engine.get_program()).arg(pipe).arg(signal);
            shell.env_clear().stdin(Stdio::null());
            shell.envs(engine.get_envs().filter_map(|(name, value)| Some((name, value?))));
            let output = CommandOutput::from(shell.output().expect("a shell"));
            assert_eq!(output.code, 0, "{signal}, round {round}: {output:#?}");
            let address_file = home.data().join("gateway.json");
            assert!(!address_file.exists(), "{signal}, round {round}");
        }
    }
}
