//! What an expression may name, how much it may loop and how much it may make.
//!
//! A text that is added to itself thirty times would fill any memory: every value that is made is led through a scale,
//! and so is each thing that a loop keeps. Lists and objects are copied wherever they are named, so few may be made of
//! what is not written out. When nobody waits for the answer any more, or the scale is full, nothing more is made.
//!
//! The ranges of all loops are led through a counter, which a source cannot name: loops inside loops begin their ranges
//! again and again, so the sum of what they begin is what all of them together do. `exists` and `all` go on after an
//! error, because a later element may decide; so once the counter is at its end, no range is even looked at. Every round
//! begins with the same question, or a loop whose rounds take long and make nothing would keep its thread from others.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, ListExpr, operators};
use cel::parser::Expression;
use cel::{Context, ExecutionError, Value};
use rouse_core::cause::{Effort, Pattern};

/// Steps of all loops together.
const MOST_STEPS: usize = 10_000;
/// Whether the counter is not at its end yet. No source can write a name that begins like this.
const GOES_ON: &str = "@goesOn";
/// The counter.
const COUNTED: &str = "@counted";
/// The scale.
const MADE: &str = "@made";
/// `matches`, with patterns that cannot be slow.
const MATCHES: &str = "@matches";
/// Bytes of one value.
const LARGEST: usize = 8 << 20;
/// Bytes of all values that are made.
const MOST_MADE: usize = 64 << 20;
/// What a value takes besides its text.
const NODE: usize = 32;
/// Parts of lists and objects that are not written out.
const MOST_PARTS: usize = 20;
/// Functions whose answer can be large.
const MAKERS: [&str; 4] = ["json", "string", "bytes", "optional.of"];
const VARIABLES: [&str; 4] = ["result", "previous", "state", "event"];
/// Names of types are values, too: `type(result) == int`.
const TYPES: [&str; 12] = [
    "bool",
    "bytes",
    "double",
    "duration",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "timestamp",
    "type",
    "uint",
];
const FUNCTIONS: [&str; 37] = [
    "json",
    "size",
    "contains",
    "startsWith",
    "endsWith",
    "matches",
    "has",
    "bool",
    "bytes",
    "double",
    "duration",
    "dyn",
    "int",
    "string",
    "timestamp",
    "type",
    "uint",
    "min",
    "max",
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getFullYear",
    "getHours",
    "getMilliseconds",
    "getMinutes",
    "getMonth",
    "getSeconds",
    "all",
    "exists",
    "exists_one",
    "map",
    "filter",
    "existsOne",
    "optional.of",
    "optional.none",
];

/// Whether the answer is still waited for.
#[derive(Debug, Clone, Default)]
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Nobody waits any more.
    pub(super) fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Refuses unknown names, and puts the counter before every loop and the scale around all that is made.
pub(super) fn apply(expression: &mut Expression) -> Result<(), String> {
    let mut parts = 0;
    Walk { inner: Vec::new(), parts: &mut parts }.walk(expression)?;
    if parts > MOST_PARTS {
        return Err(format!("it makes lists or objects of more than {MOST_PARTS} parts"));
    }
    Ok(())
}

/// What one evaluation has used up.
#[derive(Debug, Clone)]
struct Used {
    steps: Arc<AtomicUsize>,
    bytes: Arc<AtomicUsize>,
    stop: Stop,
}

impl Used {
    fn goes_on(&self) -> Result<bool, ExecutionError> {
        if self.stop.is_set() {
            return Err(ExecutionError::function_error(GOES_ON, "nobody waits for it any more"));
        }
        if self.steps.load(Ordering::Relaxed) > MOST_STEPS {
            return Err(too_many());
        }
        if self.bytes.load(Ordering::Relaxed) > MOST_MADE { Err(too_much()) } else { Ok(true) }
    }

    fn counted(&self, range: Value) -> Result<Value, ExecutionError> {
        let length = match &range {
            Value::List(items) => items.len(),
            Value::Map(map) => map.map.len(),
            _ => 0,
        };
        if self.steps.fetch_add(length, Ordering::Relaxed).saturating_add(length) > MOST_STEPS {
            return Err(too_many());
        }
        Ok(range)
    }

    fn made(&self, value: Value) -> Result<Value, ExecutionError> {
        let bytes = size(&value);
        let all = self.bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if bytes > LARGEST || all > MOST_MADE { Err(too_much()) } else { Ok(value) }
    }
}

/// The functions that a source cannot name, fresh for one evaluation.
pub(super) fn add_functions(context: &mut Context<'_, '_>, stop: &Stop) {
    let used = Used { steps: Arc::default(), bytes: Arc::default(), stop: stop.clone() };
    let [goes_on, counted, made, searching] = std::array::from_fn(|_| used.clone());
    let patterns = Mutex::new((HashMap::new(), Effort::default()));
    let matches = move |text: Arc<String>, pattern: Arc<String>| -> Result<bool, ExecutionError> {
        searching.goes_on()?;
        let mut patterns = patterns.lock().expect("BUG: a search does not panic");
        let (known, effort) = &mut *patterns;
        is_match(known, effort, &text, &pattern)
            .map_err(|reason| ExecutionError::function_error("matches", reason))
    };
    let is_new = "BUG: nothing else has this name";
    context.add_function(GOES_ON, move || goes_on.goes_on()).expect(is_new);
    context.add_function(COUNTED, move |range: Value| counted.counted(range)).expect(is_new);
    context.add_function(MADE, move |value: Value| made.made(value)).expect(is_new);
    context.add_function(MATCHES, matches).expect(is_new);
}

/// Each pattern is read once: a loop looks for the same one again and again.
fn is_match(
    known: &mut HashMap<String, Pattern>,
    effort: &mut Effort,
    text: &str,
    pattern: &str,
) -> Result<bool, String> {
    if !known.contains_key(pattern) {
        if known.len() > MOST_PARTS {
            return Err(format!("it looks for more than {MOST_PARTS} patterns"));
        }
        let read = Pattern::compile(pattern).map_err(|reason| format!("its pattern {reason}"))?;
        known.insert(pattern.to_owned(), read);
    }
    known.get(pattern).map_or(Ok(false), |pattern| pattern.is_found_in(text, effort))
}

/// Bytes of a value, about; those beyond the largest are not looked at.
fn size(value: &Value) -> usize {
    fn add(value: &Value, sum: &mut usize) {
        *sum = sum.saturating_add(match value {
            Value::String(text) => NODE + text.len(),
            Value::Bytes(bytes) => NODE + bytes.len(),
            _ => NODE,
        });
        if *sum > LARGEST {
            return;
        }
        match value {
            Value::List(items) => items.iter().for_each(|item| add(item, sum)),
            Value::Map(map) => map.map.iter().for_each(|(key, value)| {
                *sum = sum.saturating_add(NODE + key.to_string().len());
                add(value, sum);
            }),
            _ => {}
        }
    }
    let mut sum = 0;
    add(value, &mut sum);
    sum
}

fn too_much() -> ExecutionError {
    let most = LARGEST >> 20;
    let message = format!("it makes a value of more than {most} MB, or too many large ones");
    ExecutionError::function_error(MADE, message)
}

fn too_many() -> ExecutionError {
    let message = format!("it loops over more than {MOST_STEPS} things");
    ExecutionError::function_error(COUNTED, message)
}

/// `@goesOn() ? name(inside) : []`
fn led_through(name: &str, inside: Expression) -> Expression {
    let id = inside.id;
    let nothing = Expression { id, expr: Expr::List(ListExpr::new(Vec::new())) };
    let led = call(id, name, vec![inside]);
    call(id, operators::CONDITIONAL, vec![call(id, GOES_ON, Vec::new()), led, nothing])
}

fn call(id: u64, name: &str, args: Vec<Expression>) -> Expression {
    let call = CallExpr { func_name: name.to_owned(), target: None, args };
    Expression { id, expr: Expr::Call(call) }
}

fn lead_through(name: &str, expression: &mut Expression) {
    *expression = led_through(name, std::mem::take(expression));
}

/// One way through the tree.
struct Walk<'p> {
    /// The variables of the loops around.
    inner: Vec<String>,
    /// Parts of lists and objects that are not written out.
    parts: &'p mut usize,
}

impl Walk<'_> {
    fn walk(&mut self, expression: &mut Expression) -> Result<(), String> {
        self.walk_inside(expression)?;
        let makes = match &expression.expr {
            Expr::Call(call) => {
                MAKERS.contains(&call.func_name.as_str())
                    || (call.func_name == operators::ADD && !is_collecting(call))
            }
            Expr::List(list) => !list.elements.is_empty(),
            Expr::Map(_) | Expr::Comprehension(_) => true,
            Expr::Unspecified
            | Expr::Literal(_)
            | Expr::Ident(_)
            | Expr::Select(_)
            | Expr::Struct(_) => false,
        };
        if makes {
            lead_through(MADE, expression);
        }
        Ok(())
    }

    fn walk_inside(&mut self, expression: &mut Expression) -> Result<(), String> {
        match &mut expression.expr {
            Expr::Unspecified | Expr::Literal(_) => Ok(()),
            Expr::Ident(name) => known(name, &self.inner),
            Expr::Select(select) => self.walk(&mut select.operand),
            Expr::Call(call) => self.call(call),
            Expr::List(list) => list.elements.iter_mut().try_for_each(|part| self.part(part)),
            Expr::Map(map) => map.entries.iter_mut().try_for_each(|entry| match &mut entry.expr {
                EntryExpr::MapEntry(entry) => {
                    self.part(&mut entry.key)?;
                    self.part(&mut entry.value)
                }
                EntryExpr::StructField(field) => self.part(&mut field.value),
            }),
            Expr::Struct(made) => Err(format!("there is no type `{}` to make", made.type_name)),
            Expr::Comprehension(made) => self.comprehension(made),
        }
    }

    fn part(&mut self, part: &mut Expression) -> Result<(), String> {
        *self.parts += usize::from(!matches!(part.expr, Expr::Literal(_)));
        self.walk(part)
    }

    fn call(&mut self, call: &mut CallExpr) -> Result<(), String> {
        known_function(&call.func_name)?;
        if is_collecting(call) {
            // The interpreter knows this form and adds in place; so only what is added goes over the scale.
            return call.args.iter_mut().skip(1).try_for_each(|part| self.collected(part));
        }
        if call.func_name == "matches" {
            call.func_name = MATCHES.to_owned();
            let target = call.target.take().map(|target| *target);
            call.args.splice(0..0, target);
        }
        let target = call.target.iter_mut().map(|target| &mut **target);
        target.chain(&mut call.args).try_for_each(|part| self.walk(part))
    }

    fn collected(&mut self, part: &mut Expression) -> Result<(), String> {
        let Expr::List(list) = &mut part.expr else { return self.walk(part) };
        list.elements.iter_mut().try_for_each(|element| {
            self.walk(element)?;
            lead_through(MADE, element);
            Ok(())
        })
    }

    fn comprehension(&mut self, made: &mut ComprehensionExpr) -> Result<(), String> {
        self.walk(&mut made.iter_range)?;
        lead_through(COUNTED, &mut made.iter_range);
        self.walk(&mut made.accu_init)?;
        let before = self.inner.len();
        self.inner.extend([made.iter_var.clone(), made.accu_var.clone()]);
        self.inner.extend(made.iter_var2.clone());
        let walked = [&mut made.loop_cond, &mut made.loop_step, &mut made.result]
            .into_iter()
            .try_for_each(|part| self.walk(part));
        self.inner.truncate(before);
        end_with_nobody_waiting(made);
        walked
    }
}

/// Each round of a loop begins with a look whether anybody waits: what it does in a round may take long and make nothing.
/// The interpreter knows loops that collect by their form, so there the look is before what they ask of each thing; those
/// that ask nothing make something in each round, and what is made is looked at.
fn end_with_nobody_waiting(made: &mut ComprehensionExpr) {
    let collects = matches!(made.accu_init.expr, Expr::List(_));
    match &mut made.loop_step.expr {
        Expr::Call(step) if collects && step.func_name == operators::CONDITIONAL => {
            step.args.iter_mut().take(1).for_each(look_first);
        }
        _ if collects => {}
        _ => look_first(&mut made.loop_cond),
    }
}

/// `@goesOn() ? asked : @goesOn()`; the last is never reached, because the first refuses or is true.
fn look_first(asked: &mut Expression) {
    let goes_on = call(asked.id, GOES_ON, Vec::new());
    let inside = std::mem::take(asked);
    *asked = call(goes_on.id, operators::CONDITIONAL, vec![goes_on.clone(), inside, goes_on]);
}

/// Whether a loop adds to what it collects. No source can write a name that begins like this.
fn is_collecting(call: &CallExpr) -> bool {
    let first = call.args.first().map(|first| &first.expr);
    call.func_name == operators::ADD
        && matches!(first, Some(Expr::Ident(name)) if name.starts_with('@'))
}

fn known(name: &str, inner: &[String]) -> Result<(), String> {
    let is_known = VARIABLES.contains(&name)
        || TYPES.contains(&name)
        || name == "optional"
        || inner.iter().any(|variable| variable == name);
    if is_known {
        return Ok(());
    }
    Err(format!("there is no `{name}` here; there are {}", VARIABLES.join(", ")))
}

/// Operators are functions as well; their names are no words.
fn known_function(name: &str) -> Result<(), String> {
    let is_operator = !name.starts_with(|first: char| first.is_ascii_alphabetic());
    if is_operator || FUNCTIONS.contains(&name) {
        return Ok(());
    }
    Err(format!("there is no function `{name}`"))
}
