//! What an expression may name, and how much it may loop.
//!
//! The ranges of all loops are led through a counter, which a source cannot name: loops inside loops begin their ranges
//! again and again, so the sum of what they begin is what all of them together do. `exists` and `all` go on after an
//! error, because a later element may decide; so once the counter is at its end, no range is even looked at.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cel::common::ast::{CallExpr, EntryExpr, Expr, ListExpr, operators};
use cel::parser::Expression;
use cel::{Context, ExecutionError, Value};

/// Steps of all loops together.
const MOST_STEPS: usize = 10_000;
/// Whether the counter is not at its end yet. No source can write a name that begins like this.
const GOES_ON: &str = "@goesOn";
/// The counter.
const COUNTED: &str = "@counted";
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

/// Refuses unknown names and puts the counter before every loop.
pub(super) fn apply(expression: &mut Expression) -> Result<(), String> {
    walk(expression, &mut Vec::new())
}

/// The counter itself, fresh for one evaluation.
pub(super) fn add_functions(context: &mut Context<'_, '_>) {
    let steps = Arc::new(AtomicUsize::new(0));
    let spent = Arc::clone(&steps);
    let goes_on = move || -> Result<bool, ExecutionError> {
        if spent.load(Ordering::Relaxed) > MOST_STEPS { Err(too_many()) } else { Ok(true) }
    };
    let counted = move |range: Value| -> Result<Value, ExecutionError> {
        let length = match &range {
            Value::List(items) => items.len(),
            Value::Map(map) => map.map.len(),
            _ => 0,
        };
        if steps.fetch_add(length, Ordering::Relaxed).saturating_add(length) > MOST_STEPS {
            return Err(too_many());
        }
        Ok(range)
    };
    context.add_function(GOES_ON, goes_on).expect("BUG: nothing else has this name");
    context.add_function(COUNTED, counted).expect("BUG: nothing else has this name");
}

fn too_many() -> ExecutionError {
    let message = format!("it loops over more than {MOST_STEPS} things");
    ExecutionError::function_error(COUNTED, message)
}

/// `@goesOn() ? @counted(range) : []`
fn led_through_the_counter(range: Expression) -> Expression {
    let id = range.id;
    let call = |name: &str, args| {
        let call = CallExpr { func_name: name.to_owned(), target: None, args };
        Expression { id, expr: Expr::Call(call) }
    };
    let nothing = Expression { id, expr: Expr::List(ListExpr::new(Vec::new())) };
    let counted = call(COUNTED, vec![range]);
    call(operators::CONDITIONAL, vec![call(GOES_ON, Vec::new()), counted, nothing])
}

/// `inner` are the variables of the loops around.
fn walk(expression: &mut Expression, inner: &mut Vec<String>) -> Result<(), String> {
    match &mut expression.expr {
        Expr::Unspecified | Expr::Literal(_) => Ok(()),
        Expr::Ident(name) => known(name, inner),
        Expr::Select(select) => walk(&mut select.operand, inner),
        Expr::Call(call) => {
            known_function(&call.func_name)?;
            let target = call.target.iter_mut().map(|target| &mut **target);
            target.chain(&mut call.args).try_for_each(|part| walk(part, inner))
        }
        Expr::List(list) => list.elements.iter_mut().try_for_each(|part| walk(part, inner)),
        Expr::Map(map) => map.entries.iter_mut().try_for_each(|entry| match &mut entry.expr {
            EntryExpr::MapEntry(entry) => {
                walk(&mut entry.key, inner)?;
                walk(&mut entry.value, inner)
            }
            EntryExpr::StructField(field) => walk(&mut field.value, inner),
        }),
        Expr::Struct(made) => Err(format!("there is no type `{}` to make", made.type_name)),
        Expr::Comprehension(made) => {
            walk(&mut made.iter_range, inner)?;
            made.iter_range = led_through_the_counter(std::mem::take(&mut made.iter_range));
            walk(&mut made.accu_init, inner)?;
            let before = inner.len();
            inner.extend([made.iter_var.clone(), made.accu_var.clone()]);
            inner.extend(made.iter_var2.clone());
            let walked = [&mut made.loop_cond, &mut made.loop_step, &mut made.result]
                .into_iter()
                .try_for_each(|part| walk(part, inner));
            inner.truncate(before);
            walked
        }
    }
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
