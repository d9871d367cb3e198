//! The result type of an expression, as far as the form determines the type.
//!
//! Owns the refusal of expressions that can never be true or false: each evaluation would fail. Never guesses: a type that
//! depends on the input is left to the evaluation. Pitfall: `a ? b : c` is refused only if neither branch can be a boolean.

use cel::common::ast::{ComprehensionExpr, Expr, LiteralValue, operators};
use cel::parser::Expression;

/// Checks that `expression` may be true or false.
///
/// # Errors
/// The type of its result, as a sentence.
pub(super) fn check(expression: &Expression) -> Result<(), String> {
    type_name(&expression.expr).map_or(Ok(()), |name| Err(not_a_condition(name)))
}

/// The error of a result that is no boolean.
pub(super) fn not_a_condition(type_name: &str) -> String {
    format!("the result is {type_name}, not true or false; add a comparison")
}

/// The type of a result that is certainly no boolean.
fn type_name(expression: &Expr) -> Option<&'static str> {
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
            type_name(&yes.expr).filter(|_| type_name(&no.expr).is_some())
        }
        Expr::Call(call) => function_type(&call.func_name),
        Expr::Comprehension(made) => loop_type(made),
        Expr::Unspecified | Expr::Ident(_) | Expr::Select(_) | Expr::Struct(_) => None,
    }
}

/// `map` and `filter` return their accumulator; `exists` and `all` return a boolean.
fn loop_type(made: &ComprehensionExpr) -> Option<&'static str> {
    let is_collected = matches!(&made.result.expr, Expr::Ident(name) if *name == made.accu_var);
    type_name(if is_collected { &made.accu_init.expr } else { &made.result.expr })
}

fn function_type(name: &str) -> Option<&'static str> {
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
