//! Limits of an expression: names, loop steps, the size of values.
//!
//! Rewrites the tree before evaluation. Each created value passes through `@measured`, which limits the bytes of a value and
//! of all. Each loop range passes through `@counted`: nested loops start their ranges again and again, so the sum of all
//! ranges bounds the steps. Lists and objects are copied at each use, so their computed parts are few. Pitfall: `exists` and
//! `all` continue after an error, so `@continue` is evaluated before each range and in each iteration, and fails once a limit
//! is reached or the caller is gone.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, ListExpr, operators};
use cel::parser::Expression;
use cel::{Context, ExecutionError, Value};
use rouse_core::cause::{Pattern, SearchBudget};

/// The most steps of all loops together.
const MAX_STEPS: usize = 10_000;
/// Fails once a limit is reached. No source can write a name with `@`.
const CONTINUE: &str = "@continue";
/// Counts the elements of a loop range.
const COUNTED: &str = "@counted";
/// Measures a created value.
const MEASURED: &str = "@measured";
/// `matches` with a bounded regex engine.
const MATCHES: &str = "@matches";
/// The most bytes of a value.
const MAX_VALUE: usize = 8 << 20;
/// The most bytes of all created values.
const MAX_TOTAL: usize = 64 << 20;
/// Bytes of a value besides the text.
const NODE: usize = 32;
/// The most computed parts of lists and objects.
const MAX_PARTS: usize = 20;
/// Functions with a possibly large result.
const LARGE_RESULTS: [&str; 4] = ["json", "string", "bytes", "optional.of"];
const VARIABLES: [&str; 4] = ["result", "previous", "state", "event"];
/// Type names are values too: `type(result) == int`.
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

/// Cancels an evaluation without a caller.
#[derive(Debug, Clone, Default)]
pub(super) struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    pub(super) fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Refuses unknown names, and inserts the counting and measuring functions.
pub(super) fn apply(expression: &mut Expression) -> Result<(), String> {
    let mut parts = 0;
    Rewriter { loop_variables: Vec::new(), parts: &mut parts }.rewrite(expression)?;
    if parts > MAX_PARTS {
        return Err(format!("too large: lists or objects of more than {MAX_PARTS} parts"));
    }
    Ok(())
}

/// The usage of an evaluation.
#[derive(Debug, Clone)]
struct EvaluationUsage {
    steps: Arc<AtomicUsize>,
    bytes: Arc<AtomicUsize>,
    cancel: CancelFlag,
}

impl EvaluationUsage {
    fn check(&self) -> Result<bool, ExecutionError> {
        if self.cancel.is_set() {
            return Err(ExecutionError::function_error(CONTINUE, "cancelled"));
        }
        if self.steps.load(Ordering::Relaxed) > MAX_STEPS {
            return Err(too_many_steps());
        }
        if self.bytes.load(Ordering::Relaxed) > MAX_TOTAL { Err(too_large()) } else { Ok(true) }
    }

    fn counted(&self, range: Value) -> Result<Value, ExecutionError> {
        let length = match &range {
            Value::List(items) => items.len(),
            Value::Map(map) => map.map.len(),
            _ => 0,
        };
        if self.steps.fetch_add(length, Ordering::Relaxed).saturating_add(length) > MAX_STEPS {
            return Err(too_many_steps());
        }
        Ok(range)
    }

    fn measured(&self, value: Value) -> Result<Value, ExecutionError> {
        let bytes = size(&value);
        let all = self.bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if bytes > MAX_VALUE || all > MAX_TOTAL { Err(too_large()) } else { Ok(value) }
    }
}

/// Adds the functions of an evaluation that no source can name.
pub(super) fn add_functions(context: &mut Context<'_, '_>, cancel: &CancelFlag) {
    let usage =
        EvaluationUsage { steps: Arc::default(), bytes: Arc::default(), cancel: cancel.clone() };
    let [for_check, for_count, for_measure, for_search] = std::array::from_fn(|_| usage.clone());
    let patterns = Mutex::new((HashMap::new(), SearchBudget::default()));
    let matches = move |text: Arc<String>, pattern: Arc<String>| -> Result<bool, ExecutionError> {
        for_search.check()?;
        let mut patterns = patterns.lock().expect("BUG: a search does not panic");
        let (known, effort) = &mut *patterns;
        is_match(known, effort, &text, &pattern)
            .map_err(|reason| ExecutionError::function_error("matches", reason))
    };
    let is_unique = "BUG: the name is unique";
    context.add_function(CONTINUE, move || for_check.check()).expect(is_unique);
    context.add_function(COUNTED, move |range: Value| for_count.counted(range)).expect(is_unique);
    context
        .add_function(MEASURED, move |value: Value| for_measure.measured(value))
        .expect(is_unique);
    context.add_function(MATCHES, matches).expect(is_unique);
}

/// Compiles each pattern once: a loop uses the same pattern again and again.
fn is_match(
    known: &mut HashMap<String, Pattern>,
    effort: &mut SearchBudget,
    text: &str,
    pattern: &str,
) -> Result<bool, String> {
    if !known.contains_key(pattern) {
        if known.len() > MAX_PARTS {
            return Err(format!("more than {MAX_PARTS} patterns"));
        }
        let compiled =
            Pattern::compile(pattern).map_err(|reason| format!("the pattern {reason}"))?;
        known.insert(pattern.to_owned(), compiled);
    }
    known.get(pattern).map_or(Ok(false), |pattern| pattern.is_found_in(text, effort))
}

/// The approximate bytes of a value. Stops counting beyond the largest size.
fn size(value: &Value) -> usize {
    fn add(value: &Value, sum: &mut usize) {
        *sum = sum.saturating_add(match value {
            Value::String(text) => NODE + text.len(),
            Value::Bytes(bytes) => NODE + bytes.len(),
            _ => NODE,
        });
        if *sum > MAX_VALUE {
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

fn too_large() -> ExecutionError {
    let most = MAX_VALUE >> 20;
    let message = format!("too large: a value of more than {most} MB, or too many large values");
    ExecutionError::function_error(MEASURED, message)
}

fn too_many_steps() -> ExecutionError {
    let message = format!("more than {MAX_STEPS} loop steps");
    ExecutionError::function_error(COUNTED, message)
}

/// `@continue() ? function(argument) : []`
fn wrapped(function: &str, argument: Expression) -> Expression {
    let id = argument.id;
    let empty = Expression { id, expr: Expr::List(ListExpr::new(Vec::new())) };
    let wrapped = call(id, function, vec![argument]);
    call(id, operators::CONDITIONAL, vec![call(id, CONTINUE, Vec::new()), wrapped, empty])
}

fn call(id: u64, name: &str, args: Vec<Expression>) -> Expression {
    let call = CallExpr { func_name: name.to_owned(), target: None, args };
    Expression { id, expr: Expr::Call(call) }
}

fn wrap(function: &str, expression: &mut Expression) {
    *expression = wrapped(function, std::mem::take(expression));
}

/// A pass over the tree.
struct Rewriter<'p> {
    /// The variables of the loops around.
    loop_variables: Vec<String>,
    /// Computed parts of lists and objects.
    parts: &'p mut usize,
}

impl Rewriter<'_> {
    fn rewrite(&mut self, expression: &mut Expression) -> Result<(), String> {
        self.rewrite_inside(expression)?;
        let creates_value = match &expression.expr {
            Expr::Call(call) => {
                LARGE_RESULTS.contains(&call.func_name.as_str())
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
        if creates_value {
            wrap(MEASURED, expression);
        }
        Ok(())
    }

    fn rewrite_inside(&mut self, expression: &mut Expression) -> Result<(), String> {
        match &mut expression.expr {
            Expr::Unspecified | Expr::Literal(_) => Ok(()),
            Expr::Ident(name) => check_variable(name, &self.loop_variables),
            Expr::Select(select) => self.rewrite(&mut select.operand),
            Expr::Call(call) => self.rewrite_call(call),
            Expr::List(list) => {
                list.elements.iter_mut().try_for_each(|part| self.rewrite_part(part))
            }
            Expr::Map(map) => map.entries.iter_mut().try_for_each(|entry| match &mut entry.expr {
                EntryExpr::MapEntry(entry) => {
                    self.rewrite_part(&mut entry.key)?;
                    self.rewrite_part(&mut entry.value)
                }
                EntryExpr::StructField(field) => self.rewrite_part(&mut field.value),
            }),
            Expr::Struct(made) => Err(format!("there is no type `{}` to make", made.type_name)),
            Expr::Comprehension(made) => self.rewrite_loop(made),
        }
    }

    fn rewrite_part(&mut self, part: &mut Expression) -> Result<(), String> {
        *self.parts += usize::from(!matches!(part.expr, Expr::Literal(_)));
        self.rewrite(part)
    }

    fn rewrite_call(&mut self, call: &mut CallExpr) -> Result<(), String> {
        check_function(&call.func_name)?;
        if is_collecting(call) {
            // The interpreter recognises this form and appends in place, so only the appended part is measured.
            return call.args.iter_mut().skip(1).try_for_each(|part| self.rewrite_collected(part));
        }
        if call.func_name == "matches" {
            call.func_name = MATCHES.to_owned();
            let target = call.target.take().map(|target| *target);
            call.args.splice(0..0, target);
        }
        let target = call.target.iter_mut().map(|target| &mut **target);
        target.chain(&mut call.args).try_for_each(|part| self.rewrite(part))
    }

    fn rewrite_collected(&mut self, part: &mut Expression) -> Result<(), String> {
        let Expr::List(list) = &mut part.expr else { return self.rewrite(part) };
        list.elements.iter_mut().try_for_each(|element| {
            self.rewrite(element)?;
            wrap(MEASURED, element);
            Ok(())
        })
    }

    fn rewrite_loop(&mut self, made: &mut ComprehensionExpr) -> Result<(), String> {
        self.rewrite(&mut made.iter_range)?;
        wrap(COUNTED, &mut made.iter_range);
        self.rewrite(&mut made.accu_init)?;
        let before = self.loop_variables.len();
        self.loop_variables.extend([made.iter_var.clone(), made.accu_var.clone()]);
        self.loop_variables.extend(made.iter_var2.clone());
        let rewritten = [&mut made.loop_cond, &mut made.loop_step, &mut made.result]
            .into_iter()
            .try_for_each(|part| self.rewrite(part));
        self.loop_variables.truncate(before);
        check_each_iteration(made);
        rewritten
    }
}

/// Inserts a check into each iteration, which may take long without creating a value. The interpreter recognises collecting
/// loops by their form, so there the check stands before the filter; without a filter each iteration creates a value, which
/// is measured.
fn check_each_iteration(made: &mut ComprehensionExpr) {
    let collects = matches!(made.accu_init.expr, Expr::List(_));
    match &mut made.loop_step.expr {
        Expr::Call(step) if collects && step.func_name == operators::CONDITIONAL => {
            step.args.iter_mut().take(1).for_each(check_first);
        }
        _ if collects => {}
        _ => check_first(&mut made.loop_cond),
    }
}

/// `@continue() ? expression : @continue()`. The last is never reached, because the first fails or is true.
fn check_first(expression: &mut Expression) {
    let check = call(expression.id, CONTINUE, Vec::new());
    let inside = std::mem::take(expression);
    *expression = call(check.id, operators::CONDITIONAL, vec![check.clone(), inside, check]);
}

/// Whether a loop appends to the accumulator. No source can write a name with `@`.
fn is_collecting(call: &CallExpr) -> bool {
    let first = call.args.first().map(|first| &first.expr);
    call.func_name == operators::ADD
        && matches!(first, Some(Expr::Ident(name)) if name.starts_with('@'))
}

fn check_variable(name: &str, loop_variables: &[String]) -> Result<(), String> {
    let is_known = VARIABLES.contains(&name)
        || TYPES.contains(&name)
        || name == "optional"
        || loop_variables.iter().any(|variable| variable == name);
    if is_known {
        return Ok(());
    }
    Err(format!("there is no `{name}` here; there are {}", VARIABLES.join(", ")))
}

/// Operators are functions too; their names begin with no letter.
fn check_function(name: &str) -> Result<(), String> {
    let is_operator = !name.starts_with(|first: char| first.is_ascii_alphabetic());
    if is_operator || FUNCTIONS.contains(&name) {
        return Ok(());
    }
    Err(format!("there is no function `{name}`"))
}
