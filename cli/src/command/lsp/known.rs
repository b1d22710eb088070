//! The database that texts are about, if there is one: opened when it is there, never changed.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use folio::{Database, OpenOptions, Session};

use crate::language::{Language, Relations};

/// How long names are taken for true. Others may create tables meanwhile.
const FRESH: Duration = Duration::from_secs(2);

/// The most time that one statement may take to be compiled: a file that it names may be large.
const CHECK_TIME_MAX: Duration = Duration::from_secs(2);

/// A database, or the hope of one.
#[derive(Default)]
pub(super) struct Known {
    path: Option<PathBuf>,
    open: Option<(Database, Session)>,
    relations: Relations,
    looked_at: Option<Instant>,
    /// Why it cannot be read, if that is news.
    problem: Option<String>,
    is_reported: bool,
}

impl Known {
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self { path, ..Self::default() }
    }

    /// A session of the database, if it can be read.
    pub(super) fn session(&mut self) -> Option<&mut Session> {
        self.refresh();
        self.open.as_mut().map(|(_, session)| session)
    }

    /// What can be named, with the columns of what a statement names.
    pub(super) fn relations_of(&mut self, text: &str, language: Language) -> &Relations {
        self.refresh();
        if let Some((database, session)) = &mut self.open {
            self.relations.know_named(text, language, (database, session));
        }
        &self.relations
    }

    /// Why the database cannot be read; once.
    pub(super) fn take_problem(&mut self) -> Option<String> {
        self.problem.take()
    }

    fn refresh(&mut self) {
        if self.looked_at.is_some_and(|time| time.elapsed() < FRESH) {
            return;
        }
        if let Err(error) = self.look() {
            (self.open, self.relations) = (None, Relations::default());
            if !std::mem::replace(&mut self.is_reported, true) {
                self.problem = Some(error.to_string());
            }
        }
        self.looked_at = Some(Instant::now());
    }

    fn look(&mut self) -> folio::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        if self.open.is_none() {
            let database = Database::open_with(path, &OpenOptions::read_only())?;
            let mut session = database.session()?;
            session.set_timeout(Some(CHECK_TIME_MAX));
            self.open = Some((database, session));
        }
        let Some((database, session)) = &mut self.open else { return Ok(()) };
        for name in database.collections()? {
            database.existing_collection(&name)?.refresh()?;
        }
        self.relations = Relations::read(database, session)?;
        Ok(())
    }
}
