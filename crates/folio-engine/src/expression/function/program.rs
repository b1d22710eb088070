//! Calls of the program's own functions ([`ScalarFunction`]).

use std::sync::Arc;

use folio_compute::{Error, Result, Span, type_name};

use super::{Body, Function};
use crate::expression::display::types_of;
use crate::expression::{Expr, coerce};
use crate::source::ScalarFunction;

impl ScalarFunction {
    /// Makes a call of this function.
    ///
    /// # Errors
    /// `type_mismatch` for arguments of the wrong types or number.
    pub fn call(self: &Arc<Self>, arguments: Vec<Expr>, span: Span) -> Result<Expr> {
        if arguments.len() != self.parameters.len() {
            let given = types_of(&arguments);
            let takes: Vec<_> = self.parameters.iter().map(type_name).collect();
            let text = format!("function {} does not take ({given})", self.name);
            let help = format!("available: {}({})", self.name, takes.join(", "));
            return Err(Error::mismatch(text).at(span).help(help));
        }
        let place = format!("function {}", self.name);
        let cast = |(argument, ty)| {
            coerce::coerce(argument, ty, &place).map_err(|error: Error| error.at(span))
        };
        let arguments = arguments.into_iter().zip(&self.parameters).map(cast);
        let function = Function {
            name: self.name.clone().into(),
            parameters: self.parameters.clone(),
            returns: self.returns.clone(),
            body: Body::Program(Arc::clone(self)),
            is_volatile: self.is_volatile,
            is_stable: false,
        };
        let arguments = arguments.collect::<Result<_>>()?;
        Ok(Expr::Function { function: Arc::new(function), arguments, span })
    }
}
