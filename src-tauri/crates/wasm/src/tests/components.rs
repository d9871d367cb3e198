//! Components as text. Each has the canonical ABI by hand: a memory, `realloc`, and `run`.

use crate::ComponentBytes;

/// The imports of a component: as types, as lowered functions, and in the core module.
#[derive(Default)]
pub(super) struct Imports {
    pub(super) types: &'static str,
    pub(super) lowered: &'static str,
    pub(super) core: &'static str,
}

const LOG: Imports = Imports {
    types: r#"(import "rouse:tool/log@0.1.0" (instance $log
      (type $level-type (enum "debug" "info" "warn" "error"))
      (export "level" (type $level (eq $level-type)))
      (export "write" (func (param "level" $level) (param "message" string)))))"#,
    lowered: r#"(core func $log (canon lower (func $log "write") (memory $libc "memory")))
      (core instance $host (export "log" (func $log)))"#,
    core: r#"(import "host" "log" (func $log (param i32 i32 i32)))"#,
};

const HTTP: Imports = Imports {
    types: r#"(import "rouse:tool/http@0.1.0" (instance $http
      (type $request-type (record (field "method" string) (field "url" string)
        (field "headers" (list (tuple string string))) (field "body" (option (list u8)))))
      (export "request" (type $request (eq $request-type)))
      (type $response-type (record (field "status" u16)
        (field "headers" (list (tuple string string))) (field "body" (list u8))))
      (export "response" (type $response (eq $response-type)))
      (export "send" (func (param "request" $request)
        (result (result $response (error string)))))))"#,
    lowered: r#"(core func $send (canon lower (func $http "send") (memory $libc "memory")
        (realloc (func $libc "realloc"))))
      (core instance $host (export "send" (func $send)))"#,
    core: r#"(import "host" "send" (func $send
        (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))"#,
};

const FILES: Imports = Imports {
    types: r#"(import "rouse:tool/files@0.1.0" (instance $files
      (export "read" (func (param "path" string) (result (result (list u8) (error string)))))
      (export "write" (func (param "path" string) (param "content" (list u8))
        (result (result (error string)))))))"#,
    lowered: r#"(core func $read (canon lower (func $files "read") (memory $libc "memory")
        (realloc (func $libc "realloc"))))
      (core func $write (canon lower (func $files "write") (memory $libc "memory")
        (realloc (func $libc "realloc"))))
      (core instance $host (export "read" (func $read)) (export "write" (func $write)))"#,
    core: r#"(import "host" "read" (func $read (param i32 i32 i32)))
      (import "host" "write" (func $write (param i32 i32 i32 i32 i32)))"#,
};

const CLOCK_AND_RANDOM: Imports = Imports {
    types: r#"(import "rouse:tool/clock@0.1.0" (instance $clock
        (export "now-ms" (func (result u64)))))
      (import "rouse:tool/random@0.1.0" (instance $random
        (export "bytes" (func (param "count" u32) (result (list u8))))))"#,
    lowered: r#"(core func $now (canon lower (func $clock "now-ms")))
      (core func $bytes (canon lower (func $random "bytes") (memory $libc "memory")
        (realloc (func $libc "realloc"))))
      (core instance $host (export "now" (func $now)) (export "bytes" (func $bytes)))"#,
    core: r#"(import "host" "now" (func $now (result i64)))
      (import "host" "bytes" (func $bytes (param i32 i32)))"#,
};

const SOCKETS: Imports = Imports {
    types: r#"(import "wasi:sockets/network@0.2.6" (instance))"#,
    lowered: "(core instance $host)",
    core: "",
};

const WASI: Imports = Imports {
    types: r#"(import "wasi:cli/exit@0.2.6" (instance $exit
      (export "exit" (func (param "status" (result))))))"#,
    lowered: r#"(core func $exit (canon lower (func $exit "exit")))
      (core instance $host (export "exit" (func $exit)))"#,
    core: r#"(import "host" "exit" (func $exit (param i32)))"#,
};

/// As the standard library of Rust imports it for a `HashMap`.
const HASH_SEED: Imports = Imports {
    types: r#"(import "wasi:random/insecure-seed@0.2.4" (instance $seed
      (export "insecure-seed" (func (result (tuple u64 u64))))))"#,
    lowered: r#"(core func $seed (canon lower (func $seed "insecure-seed") (memory $libc "memory")))
      (core instance $host (export "seed" (func $seed)))"#,
    core: r#"(import "host" "seed" (func $seed (param i32)))"#,
};

/// `realloc` never frees: each call has an instance of its own.
const LIBC: &str = r#"(core module $libc
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
  (core instance $libc (instantiate $libc))"#;

/// A component whose core module has `body`: functions, and `run` with pointer and length of the arguments, which
/// returns the address of a result: 0 or 1, the pointer of the text, and its length.
fn component(imports: &Imports, body: &str) -> ComponentBytes {
    let Imports { types, lowered, core } = imports;
    let host = if lowered.is_empty() { "" } else { r#"(with "host" (instance $host))"# };
    encode(&format!(
        r#"(component
  {types}
  {LIBC}
  {lowered}
  (core module $tool
    (import "libc" "memory" (memory 2))
    {core}
    {body})
  (core instance $tool (instantiate $tool (with "libc" (instance $libc)) {host}))
  (func (export "run") (param "arguments-json" string) (result (result string (error string)))
    (canon lift (core func $tool "run") (memory $libc "memory")
      (realloc (func $libc "realloc")))))"#,
    ))
}

pub(super) fn encode(text: &str) -> ComponentBytes {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}\n{text}")).into()
}

/// Returns its arguments.
pub(super) fn echo() -> ComponentBytes {
    returning(0, "(local.get 0)", "(local.get 1)")
}

/// Reports its arguments as an error.
pub(super) fn failing() -> ComponentBytes {
    returning(1, "(local.get 0)", "(local.get 1)")
}

/// Returns the text at `pointer` with `length`, where the memory has 3 MB of zeros.
pub(super) fn returning(is_error: u8, pointer: &str, length: &str) -> ComponentBytes {
    component(
        &Imports::default(),
        &format!(
            r#"(func (export "run") (param i32 i32) (result i32)
      (drop (memory.grow (i32.const 48)))
      (i32.store (i32.const 16) (i32.const {is_error}))
      (i32.store (i32.const 20) {pointer})
      (i32.store (i32.const 24) {length})
      (i32.const 16))"#,
        ),
    )
}

/// Runs `instructions`, which leave nothing, and then returns `null`.
pub(super) fn doing(instructions: &str) -> ComponentBytes {
    component(&Imports::default(), &body_doing(instructions))
}

fn body_doing(instructions: &str) -> String {
    format!(
        r#"(data (i32.const 64) "null")
    (table $table 0 funcref)
    (func $again (call $again))
    (func (export "run") (param i32 i32) (result i32)
      (local $n i32)
      {instructions}
      (i32.store (i32.const 16) (i32.const 0))
      (i32.store (i32.const 20) (i32.const 64))
      (i32.store (i32.const 24) (i32.const 4))
      (i32.const 16))"#,
    )
}

/// Logs 10,000 bytes 1,000 times.
pub(super) fn logging() -> ComponentBytes {
    let instructions = r#"(memory.fill (i32.const 1024) (i32.const 120) (i32.const 10000))
      (loop $more
        (call $log (i32.const 2) (i32.const 1024) (i32.const 10000))
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (br_if $more (i32.lt_u (local.get $n) (i32.const 1000))))"#;
    component(&LOG, &body_doing(instructions))
}

/// Logs its arguments as a warning, and then runs `instructions`.
pub(super) fn logging_then(instructions: &str) -> ComponentBytes {
    let log = "(call $log (i32.const 2) (local.get 0) (local.get 1))";
    component(&LOG, &body_doing(&format!("{log} {instructions}")))
}

/// Gets the URL in its arguments, a JSON string, with `Authorization: Bearer {{secret:key}}`. Returns the body, which
/// must be JSON, or the error.
pub(super) fn getting() -> ComponentBytes {
    getting_at("", "(i32.add (local.get 0) (i32.const 1))", "(i32.sub (local.get 1) (i32.const 2))")
}

/// Gets `url` as `getting` does.
pub(super) fn getting_from(url: &str) -> ComponentBytes {
    let data = format!("(data (i32.const 512) {url:?})");
    getting_at(&data, "(i32.const 512)", &format!("(i32.const {})", url.len()))
}

fn getting_at(data: &str, pointer: &str, length: &str) -> ComponentBytes {
    let body = format!(
        r#"{data}
    (data (i32.const 64) "GET")
    (data (i32.const 128) "Authorization")
    (data (i32.const 192) "Bearer {{{{secret:key}}}}")
    (func (export "run") (param i32 i32) (result i32)
      (i32.store (i32.const 256) (i32.const 128))
      (i32.store (i32.const 260) (i32.const 13))
      (i32.store (i32.const 264) (i32.const 192))
      (i32.store (i32.const 268) (i32.const 21))
      (call $send (i32.const 64) (i32.const 3) {pointer} {length}
        (i32.const 256) (i32.const 1)
        (i32.const 0) (i32.const 0) (i32.const 0)
        (i32.const 300))
      (if (i32.load8_u (i32.const 300))
        (then
          (i32.store (i32.const 16) (i32.const 1))
          (i32.store (i32.const 20) (i32.load (i32.const 304)))
          (i32.store (i32.const 24) (i32.load (i32.const 308))))
        (else
          (i32.store (i32.const 16) (i32.const 0))
          (i32.store (i32.const 20) (i32.load (i32.const 316)))
          (i32.store (i32.const 24) (i32.load (i32.const 320)))))
      (i32.const 16))"#,
    );
    component(&HTTP, &body)
}

/// Returns the content of the file in its arguments, a JSON string.
pub(super) fn reading() -> ComponentBytes {
    let body = r#"(func (export "run") (param i32 i32) (result i32)
      (call $read (i32.add (local.get 0) (i32.const 1)) (i32.sub (local.get 1) (i32.const 2))
        (i32.const 16))
      (i32.const 16))"#;
    component(&FILES, body)
}

/// Writes `[1]` to the file in its arguments, a JSON string, and returns the same.
pub(super) fn writing() -> ComponentBytes {
    let body = r#"(data (i32.const 64) "[1]")
    (func (export "run") (param i32 i32) (result i32)
      (call $write (i32.add (local.get 0) (i32.const 1)) (i32.sub (local.get 1) (i32.const 2))
        (i32.const 64) (i32.const 3)
        (i32.const 16))
      (if (i32.eqz (i32.load8_u (i32.const 16)))
        (then
          (i32.store (i32.const 20) (i32.const 64))
          (i32.store (i32.const 24) (i32.const 3))))
      (i32.const 16))"#;
    component(&FILES, body)
}

/// Traps unless the clock shows 2026-01-01 and 5,000 random bytes are 4,096 that differ.
pub(super) fn asking_clock_and_random() -> ComponentBytes {
    let instructions = r#"(if (i64.ne (call $now) (i64.const 1767225600000)) (then (unreachable)))
      (call $bytes (i32.const 5000) (i32.const 512))
      (if (i32.ne (i32.load (i32.const 516)) (i32.const 4096)) (then (unreachable)))
      (local.set $n (i32.load (i32.const 512)))
      (if (i64.eq (i64.load (local.get $n)) (i64.load offset=8 (local.get $n)))
        (then (unreachable)))"#;
    component(&CLOCK_AND_RANDOM, &body_doing(instructions))
}

/// Traps unless the two halves of a hash seed differ from each other and from those of a second seed.
pub(super) fn asking_hash_seeds() -> ComponentBytes {
    let instructions = r#"(call $seed (i32.const 512))
      (call $seed (i32.const 528))
      (if (i64.eq (i64.load (i32.const 512)) (i64.load (i32.const 520))) (then (unreachable)))
      (if (i64.eq (i64.load (i32.const 512)) (i64.load (i32.const 528))) (then (unreachable)))
      (if (i64.eq (i64.load (i32.const 520)) (i64.load (i32.const 536))) (then (unreachable)))"#;
    component(&HASH_SEED, &body_doing(instructions))
}

/// Imports sockets of WASI.
pub(super) fn importing_sockets() -> ComponentBytes {
    component(&SOCKETS, &body_doing(""))
}

/// Imports `exit` of WASI, and calls it if the arguments have 4 bytes or more.
pub(super) fn importing_exit() -> ComponentBytes {
    let exit = "(if (i32.ge_u (local.get 1) (i32.const 4)) (then (call $exit (i32.const 1))))";
    component(&WASI, &body_doing(exit))
}

/// Has `count` core modules with an instance each.
pub(super) fn with_modules(count: usize) -> ComponentBytes {
    let modules = (0..count)
        .map(|n| format!("(core module $m{n}) (core instance (instantiate $m{n}))"))
        .collect::<String>();
    encode(&format!("(component {modules})"))
}

/// Has a memory of 128 MB at the start.
pub(super) fn with_large_memory() -> ComponentBytes {
    encode("(component (core module $m (memory 2048)) (core instance (instantiate $m)))")
}

/// Loops at its start.
pub(super) fn looping_at_start() -> ComponentBytes {
    encode(
        "(component (core module $m (func $f (loop $l (br $l))) (start $f))
          (core instance (instantiate $m)))",
    )
}
