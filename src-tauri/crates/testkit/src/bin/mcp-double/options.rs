//! The arguments of the program.

use std::path::PathBuf;

use strum::{EnumString, VariantNames};

/// A fault of the server. The module doc of the program says what each does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum DoubleFault {
    Silent,
    ExitAtStart,
    Noise,
    Crlf,
    LongLine,
    FloodStderr,
    RepeatCursor,
    ManyTools,
    ChangedDescription,
    ListChanged,
    NewTool,
    MissingTool,
    OddNames,
    BadSchema,
    IgnoreEof,
    Elicit,
    AskInput,
    AskPassword,
    PoisonedDescription,
    Sample,
    ModernOnly,
}

/// The arguments of the program.
#[derive(Debug)]
pub(crate) struct DoubleOptions {
    faults: Vec<DoubleFault>,
    /// The version that the server reports.
    pub(crate) version: String,
    /// The file of `write_note`.
    pub(crate) notes: Option<PathBuf>,
    /// Whether the program was started with SIGTERM ignored.
    pub(crate) is_sigterm_ignored: bool,
}

impl DoubleOptions {
    /// Reads the arguments after the program's name.
    ///
    /// # Errors
    /// An unknown or incomplete argument, as a sentence.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            faults: Vec::new(),
            version: "1.0.0".to_owned(),
            notes: None,
            is_sigterm_ignored: false,
        };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--stdio" => {}
                "--sigterm-ignored" => options.is_sigterm_ignored = true,
                "--fault" | "--version" | "--notes" => {
                    let value = arguments.next();
                    let value = value.ok_or_else(|| format!("{argument} needs a value."))?;
                    options.set(&argument, value)?;
                }
                _ => return Err(format!("{argument} is not an argument of mcp-double.")),
            }
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), String> {
        match name {
            "--version" => self.version = value,
            "--notes" => self.notes = Some(value.into()),
            _ => {
                let unknown =
                    |_| format!("{value} is not a fault. Use one of {:?}.", DoubleFault::VARIANTS);
                self.faults.push(value.parse().map_err(unknown)?);
            }
        }
        Ok(())
    }

    /// Whether the server has this fault.
    pub(crate) fn has(&self, fault: DoubleFault) -> bool {
        self.faults.contains(&fault)
    }
}
