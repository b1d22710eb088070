//! The fields of an answer, and those among them that are members of objects: `geo.city`,
//! `address [street, geo [lat]]`.
//!
//! Members are answered where their document has them, all that are below one object together:
//! `[geo.city, geo.lat]` gives `{"geo": {"city": …, "lat": …}}`, as `fields` of a scan does. A
//! field with a name of its own is at the top: `[city: geo.city]`. Such an object is always in
//! the answer, and a member that the document lacks is none: the answer has the shape of the
//! question, and no object is read only to see that it is there.
//!
//! What is within a list has no path here: conditions and SQL reach it.

use std::sync::Arc;

use folio_compute::{Error, Result, Span, member_type_name};
use folio_engine::expression::{Expr, Function};
use folio_types::ColumnType;

use super::expression::member_of;
use super::shape::no_link;
use crate::ast::{Field, Name, Nested, Path};

/// Output columns: names and expressions over the rows.
pub(super) type Outputs = Vec<(String, Expr)>;

/// Maximum number of fields in a shape.
const FIELDS_MAX: usize = 4096;

/// The fields of a shape while it is bound.
#[derive(Default)]
pub(super) struct Fields {
    top: Vec<(String, Answered)>,
    count: usize,
}

enum Answered {
    Value(Expr),
    Object(Vec<(String, Answered)>),
}

impl Fields {
    /// Adds a field at the top.
    ///
    /// # Errors
    /// `invalid_input` if the name is taken.
    pub(super) fn push(&mut self, name: &str, value: Expr, span: Span) -> Result<()> {
        self.push_at(&[name], value, span)
    }

    /// Adds a field below these objects: the last name is its own.
    ///
    /// # Errors
    /// As [`Fields::push`].
    pub(super) fn push_at(&mut self, names: &[&str], value: Expr, span: Span) -> Result<()> {
        self.count += 1;
        if self.count > FIELDS_MAX {
            let error = Error::unsupported(format!("a shape has more than {FIELDS_MAX} fields"));
            return Err(error.at(span).help("split it"));
        }
        let twice = || {
            let name = names.join(".");
            let error = Error::invalid(format!("`{name}` is in the shape twice")).at(span);
            Err(error.help(format!("give one of them another name: `other: {name}`")))
        };
        let Some((last, objects)) = names.split_last() else { return Ok(()) };
        let mut fields = &mut self.top;
        for name in objects {
            let known = fields.iter().position(|(known, _)| known == name);
            let at = known.unwrap_or_else(|| {
                fields.push(((*name).to_owned(), Answered::Object(Vec::new())));
                fields.len() - 1
            });
            match &mut fields[at].1 {
                Answered::Object(below) => fields = below,
                Answered::Value(_) => return twice(),
            }
        }
        if fields.iter().any(|(known, _)| known == last) {
            return twice();
        }
        fields.push(((*last).to_owned(), Answered::Value(value)));
        Ok(())
    }

    /// Adds the members of an object that a shape names.
    ///
    /// # Errors
    /// Unknown members; what a shape of an object does not take.
    pub(super) fn push_members(
        &mut self,
        names: &[&str],
        (path, object): (&Path, &Expr),
        nested: &Nested,
    ) -> Result<()> {
        let ty = object.ty();
        if !matches!(ty, ColumnType::Struct(_) | ColumnType::Map(_) | ColumnType::Json) {
            return Err(no_link(path, &ty));
        }
        let is_plain = nested.filter.is_none() && nested.order.is_empty();
        let shape = nested.shape.as_ref().filter(|shape| is_plain && shape.limit.is_none());
        let Some(fields) = shape.and_then(|shape| shape.fields.as_deref()) else {
            return Err(only_members(path));
        };
        let within = |own: &[&str]| -> Vec<String> {
            names.iter().chain(own).map(|name| (*name).to_owned()).collect()
        };
        for field in fields {
            match field {
                Field::All(span) => {
                    let ColumnType::Struct(members) = &ty else {
                        let (name, ty) = (path.text(), member_type_name(&ty));
                        let error = Error::mismatch(format!("`{name}` is {ty}"));
                        return Err(error.at(*span).help("name its members"));
                    };
                    for (name, _) in members {
                        let name = Name { text: name.clone(), span: *span };
                        let value = member_of(object.clone(), &name)?;
                        self.push_at(&refs(&within(&[&name.text])), value, *span)?;
                    }
                }
                Field::Value { alias, .. } => {
                    let error = Error::unsupported("the shape of an object takes its members");
                    let help = "compute it beside the object: `name: …`";
                    return Err(error.at(alias.span).help(help));
                }
                Field::Path { alias, path, nested } => {
                    let value = path.members.iter().try_fold(object.clone(), member_of)?;
                    let own: Vec<&str> = match alias {
                        Some(alias) => vec![&alias.text],
                        None => path.members.iter().map(|name| &*name.text).collect(),
                    };
                    let own = within(&own);
                    match nested.is_empty() {
                        true => self.push_at(&refs(&own), value, path.span())?,
                        false => self.push_members(&refs(&own), (path, &value), nested)?,
                    }
                }
            }
        }
        Ok(())
    }

    /// The output columns.
    pub(super) fn finish(self) -> Outputs {
        let top = self.top.into_iter();
        top.map(|(name, answered)| (name, answered.into_expression())).collect()
    }
}

impl Answered {
    fn into_expression(self) -> Expr {
        let fields = match self {
            Self::Value(value) => return value,
            Self::Object(fields) => fields,
        };
        let values: Outputs =
            fields.into_iter().map(|(name, answered)| (name, answered.into_expression())).collect();
        let types = values.iter().map(|(name, value)| (name.clone(), value.ty())).collect();
        let arguments = values.into_iter().map(|(_, value)| value).collect();
        let function = Arc::new(Function::row(types));
        Expr::Function { function, arguments, span: Span::NONE }
    }
}

fn refs(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

fn only_members(path: &Path) -> Error {
    let name = path.text();
    let error = Error::mismatch(format!("`{name}` is an object, not a link")).at(path.span());
    error.help(
        "the shape of an object names members: only links take a limit, a condition or an order",
    )
}
