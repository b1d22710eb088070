//! Binds `SET`, `RESET` and `SHOW` of session settings.

use folio_compute::{Error, Result, Span};
use folio_engine::bound::{Control, Setting, Statement};
use sqlparser::ast;

use super::last_name;
use crate::place::Place;

/// SET, RESET or SHOW, if the statement is one of them.
pub(super) fn setting(syntax: &ast::Statement) -> Option<Result<Statement>> {
    use ast::Statement as Sql;
    match syntax {
        Sql::Set(ast::Set::SingleAssignment { scope, hivevar: false, variable, values }) => {
            Some(set(*scope, variable, values))
        }
        Sql::Reset(ast::ResetStatement { reset: ast::Reset::ConfigurationParameter(name) }) => {
            Some(named(name).map(|setting| Statement::Control(Control::Set(setting, None))))
        }
        Sql::ShowVariable { variable } => match &variable[..] {
            [name] if !name.value.eq_ignore_ascii_case("tables") => {
                Some(of_name(&name.value, name.span.to_span()).map(Statement::Show))
            }
            _ => None,
        },
        _ => None,
    }
}

fn set(
    scope: Option<ast::ContextModifier>,
    variable: &ast::ObjectName,
    values: &[ast::Expr],
) -> Result<Statement> {
    let setting = named(variable)?;
    if scope.is_some_and(|scope| scope != ast::ContextModifier::Session) {
        let error = Error::unsupported("settings belong to the session, not to transactions");
        return Err(error.help(format!("write SET {}", setting.name())));
    }
    let value = match values {
        [ast::Expr::Identifier(word)] if word.value.eq_ignore_ascii_case("default") => None,
        [ast::Expr::Value(value)] => given(setting, value)?,
        [ast::Expr::Identifier(word)] => measure(setting, &word.value)
            .ok_or_else(|| no_value(setting).at(word.span.to_span()))?,
        _ => return Err(no_value(setting)),
    };
    Ok(Statement::Control(Control::Set(setting, value)))
}

fn given(setting: Setting, value: &ast::ValueWithSpan) -> Result<Option<usize>> {
    let text = match &value.value {
        ast::Value::Number(text, _) | ast::Value::SingleQuotedString(text) => text,
        _ => return Err(no_value(setting).at(value.span.to_span())),
    };
    measure(setting, text).ok_or_else(|| no_value(setting).at(value.span.to_span()))
}

/// A number with an optional unit. 0 means no limit, so no value.
fn measure(setting: Setting, text: &str) -> Option<Option<usize>> {
    let text = text.trim();
    let digits = text.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = (text[..digits].parse::<usize>().ok()?, text[digits..].trim());
    let units = setting.units();
    let (_, factor) = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
    let value = number.checked_mul(*factor)?;
    match (setting, value) {
        (Setting::Threads, 0) => None,
        (Setting::Threads, count) => Some(Some(count)),
        (_, 0) => Some(None),
        (_, value) => Some(Some(value)),
    }
}

fn no_value(setting: Setting) -> Error {
    Error::invalid(format!("{} is {}", setting.name(), setting.wanted()))
}

fn named(name: &ast::ObjectName) -> Result<Setting> {
    let (name, span) = last_name(name)?;
    of_name(&name, span)
}

fn of_name(name: &str, span: Span) -> Result<Setting> {
    let found = Setting::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        let error = Error::not_found(format!("there is no setting {name:?}")).at(span);
        error.near_or_all(name, Setting::ALL.into_iter().map(Setting::name))
    })
}
