//! Statements and schemas checked without being run: for editors, while somebody types.

use std::sync::atomic::Ordering;

use folio_engine::{Limits, Signature};
use folio_ziql::check_declarations;

use super::Session;
use super::deep::on_large_stack;
use super::script::{Language, Request, Script};
use crate::error::{Error, Result};
use crate::saved::StatementLanguage;

impl Session {
    /// Compiles the statements of a text and runs none. The values of its parameters need not be
    /// known. All statements are compiled for what exists now, so one that uses what an earlier one
    /// would create is an error.
    ///
    /// # Errors
    /// The first statement that is wrong, with the position; errors of the stores.
    pub fn check(&mut self, text: &str, language: StatementLanguage) -> Result<()> {
        self.interrupt.store(false, Ordering::Relaxed);
        let (request, limits) = (request_of(text, language), self.limits());
        let check = |session: &mut Self, limits: &Limits| -> Result<()> {
            let view = session.view()?;
            Ok(Script::parse(request, limits)?.check(&view, (session.level, limits))?)
        };
        match check(self, &limits) {
            Err(Error::Query(error)) if error.wants_stack() => self.deep(request, &limits, check),
            checked => checked,
        }
    }
}

/// Checks the syntax of the statements of a text, whatever exists.
///
/// # Errors
/// `syntax`, with the position.
pub fn check_syntax(text: &str, language: StatementLanguage) -> Result<()> {
    let (request, limits) = (request_of(text, language), Limits::default());
    let check = |limits: &Limits| -> Result<()> { Ok(Script::parse(request, limits).map(drop)?) };
    match check(&limits) {
        Err(Error::Query(error)) if error.wants_stack() => on_large_stack(request, &limits, check),
        checked => checked,
    }
}

/// Checks the syntax of a schema, whatever exists.
///
/// # Errors
/// `syntax`, with the position.
pub fn check_schema_syntax(text: &str) -> Result<()> {
    Ok(check_declarations(text)?)
}

pub(super) fn request_of(text: &str, language: StatementLanguage) -> Request<'_> {
    let language = match language {
        StatementLanguage::Sql => Language::Sql,
        StatementLanguage::Ziql => Language::Ziql,
    };
    Request { language, text, values: &[], signature: Signature::NONE }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Database, ErrorCode};

    #[test]
    fn texts_are_checked_and_nothing_runs() {
        use StatementLanguage::{Sql, Ziql};
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(folder.path().join("data")).unwrap();
        database.apply_schema("User ( name: str, friend: User )", false).unwrap();
        let mut session = database.session().unwrap();
        for (language, text, expected) in [
            (Sql, "select name from \"User\" where name = $1", None),
            (Sql, "select name from \"User\" where name = :name and id = :id", None),
            (Sql, "create table t (a int); delete from \"User\"", None),
            (Sql, "begin; rollback", None),
            (Sql, "select nam from \"User\"", Some((ErrorCode::NotFound, 8, 11))),
            (Sql, "select 1; selec", Some((ErrorCode::Syntax, 11, 16))),
            (Ziql, "GRAB User [$n; name] {name = $a OR name IN $all}", None),
            (Ziql, "GRAB User {friend.nam = 1}", Some((ErrorCode::NotFound, 19, 22))),
            (Ziql, "GRAB User {", Some((ErrorCode::Syntax, 12, 13))),
        ] {
            let found = session.check(text, language).err().map(|error| match error {
                Error::Query(error) => (error.code(), error.span().column, error.span().end_column),
                other => panic!("{text}: {other}"),
            });
            assert_eq!(found, expected, "{text}");
            let is_syntax = expected.is_some_and(|(code, ..)| code == ErrorCode::Syntax);
            assert_eq!(check_syntax(text, language).is_err(), is_syntax, "{text}");
        }
        let names: Vec<String> =
            session.relations().unwrap().into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["User"], "nothing was created");
        let deep = format!("select {}1{}", "(".repeat(20_000), ")".repeat(20_000));
        session.check(&deep, Sql).unwrap();
        check_syntax(&deep, Sql).unwrap();
        assert!(check_schema_syntax("User ( name str )").is_err());
        assert!(check_schema_syntax("User ( other: Missing )").is_ok());
    }
}
