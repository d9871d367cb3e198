//! Components as text. Each has the canonical ABI by hand: a memory, `realloc`, and `run`.

use std::sync::Arc;

/// The types of the world, as imports of a component.
const IMPORTS: &str = r#"
  (import "rouse:tool/log@0.1.0" (instance $log
    (type $level' (enum "debug" "info" "warn" "error"))
    (export "level" (type $level (eq $level')))
    (export "write" (func (param "level" $level) (param "message" string)))))
"#;

/// A component whose core module has `body`: functions, and `run` with (pointer, length) of the arguments, which
/// returns the address of a result (`ok` with the text at the pointer and length behind it).
pub(super) fn component(imports: &str, lowered: &str, core_imports: &str, body: &str) -> Arc<[u8]> {
    let text = format!(
        r#"(component
  {imports}
  (core module $libc
    (memory (export "memory") 2)
    (global $next (mut i32) (i32.const 4096))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (local $at i32)
      (local.set $at (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
      (global.set $next (i32.add (local.get $at) (local.get 3)))
      (block $enough
        (loop $grow
          (br_if $enough (i32.le_u (global.get $next) (i32.mul (memory.size) (i32.const 65536))))
          (br_if $grow (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))
          (unreachable)))
      (local.get $at)))
  (core instance $libc (instantiate $libc))
  {lowered}
  (core module $tool
    (import "libc" "memory" (memory 2))
    (import "libc" "realloc" (func $realloc (param i32 i32 i32 i32) (result i32)))
    {core_imports}
    {body})
  (core instance $tool (instantiate $tool
    (with "libc" (instance $libc))
    {with}))
  (func (export "run") (param "arguments-json" string) (result (result string (error string)))
    (canon lift (core func $tool "run") (memory $libc "memory")
      (realloc (func $libc "realloc")))))"#,
        with = if lowered.is_empty() { "" } else { r#"(with "host" (instance $host))"# },
    );
    wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}")).into()
}

/// A component without imports.
pub(super) fn plain(body: &str) -> Arc<[u8]> {
    component("", "", "", body)
}

/// Returns its arguments.
pub(super) fn echo() -> Arc<[u8]> {
    plain(
        r#"(func (export "run") (param i32 i32) (result i32)
      (i32.store (i32.const 16) (i32.const 0))
      (i32.store (i32.const 20) (local.get 0))
      (i32.store (i32.const 24) (local.get 1))
      (i32.const 16))"#,
    )
}

/// Runs `instructions`, which leave nothing, and then returns `null`.
pub(super) fn doing(instructions: &str) -> Arc<[u8]> {
    plain(&format!(
        r#"(data (i32.const 64) "null")
    (func $again (call $again))
    (func (export "run") (param i32 i32) (result i32)
      (local $n i32)
      {instructions}
      (i32.store (i32.const 16) (i32.const 0))
      (i32.store (i32.const 20) (i32.const 64))
      (i32.store (i32.const 24) (i32.const 4))
      (i32.const 16))"#,
    ))
}
