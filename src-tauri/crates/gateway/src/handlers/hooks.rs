//! `hooks.*`: the person's commands that are told of runs or asked about them. They are shown here and written nowhere but
//! in the settings file: whoever could name one could run anything.

use std::time::Duration;

use rouse_agent::{HookReport, LastCall};

use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{Empty, HookCallView, HookView, HooksListResult};

pub(crate) async fn list(context: &Context, _: Empty) -> Result<HooksListResult, RpcError> {
    let hooks = context.gate.hooks().reports().into_iter().map(view).collect();
    Ok(HooksListResult { hooks })
}

fn view(HookReport { hook, record }: HookReport) -> HookView {
    HookView {
        on: hook.on.name().to_owned(),
        is_asked: hook.on.is_asked(),
        command: hook.command,
        timeout_ms: millis(hook.timeout),
        calls: record.calls,
        failures: record.failures,
        last: record.last.map(call),
    }
}

fn call(LastCall { at, took, problem }: LastCall) -> HookCallView {
    HookCallView { at_ms: at.0, took_ms: millis(took), problem }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
