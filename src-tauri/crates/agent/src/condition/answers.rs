//! What an expression answers, as far as its form alone says it.
//!
//! Owns the refusal of what can never be true or false: it would fail at each run, and only then. It refuses to guess: what
//! hangs on the result is found out by the run. One could get it wrong by the choice `a ? b : c`, which is none only where
//! neither of its ways is one.

use cel::common::ast::{ComprehensionExpr, Expr, LiteralValue, operators};
use cel::parser::Expression;

/// That `expression` is one that may be true or false.
///
/// # Errors
/// What it answers instead, as a sentence.
pub(super) fn check(expression: &Expression) -> Result<(), String> {
    kind(&expression.expr).map_or(Ok(()), |kind| Err(no_condition(kind)))
}

/// That an answer is of the wrong kind.
pub(super) fn no_condition(kind: &str) -> String {
    format!("it answers {kind}, not true or false; compare it with something")
}

/// The kind of answer where it is surely neither true nor false.
fn kind(expression: &Expr) -> Option<&'static str> {
    match expression {
        Expr::Literal(literal) => match literal {
            LiteralValue::Boolean(_) => None,
            LiteralValue::Int(_) | LiteralValue::UInt(_) | LiteralValue::Double(_) => {
                Some("a number")
            }
            LiteralValue::String(_) => Some("a text"),
            LiteralValue::Null => Some("nothing"),
            LiteralValue::Bytes(_) => Some("a value"),
        },
        Expr::List(_) => Some("a list"),
        Expr::Map(_) => Some("an object"),
        Expr::Call(call) if call.func_name == operators::CONDITIONAL => {
            let [_, yes, no] = call.args.as_slice() else { return None };
            kind(&yes.expr).filter(|_| kind(&no.expr).is_some())
        }
        Expr::Call(call) => kind_of_function(&call.func_name),
        Expr::Comprehension(made) => kind_of_loop(made),
        Expr::Unspecified | Expr::Ident(_) | Expr::Select(_) | Expr::Struct(_) => None,
    }
}

/// `map` and `filter` answer what they have collected; `exists` and its like answer a comparison or begin with one.
fn kind_of_loop(made: &ComprehensionExpr) -> Option<&'static str> {
    let is_collected = matches!(&made.result.expr, Expr::Ident(name) if *name == made.accu_var);
    kind(if is_collected { &made.accu_init.expr } else { &made.result.expr })
}

fn kind_of_function(name: &str) -> Option<&'static str> {
    match name {
        operators::ADD => Some("a number or a text"),
        operators::SUBSTRACT
        | operators::MULTIPLY
        | operators::DIVIDE
        | operators::MODULO
        | operators::NEGATE
        | "size"
        | "int"
        | "uint"
        | "double" => Some("a number"),
        "string" => Some("a text"),
        "bytes" | "duration" | "timestamp" | "type" => Some("a value"),
        name if name.starts_with("get") => Some("a number"),
        _ => None,
    }
}
