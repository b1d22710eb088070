//! What can be named, and the language that is being typed: the editor looks at them while the shell
//! keeps them true.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use folio::{Database, Session};

use crate::language::{Language, Relations};

/// All that can be named, and the language that is being typed.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) language: Language,
    pub(super) relations: Relations,
}

/// Names that the editor looks at while the shell keeps them true.
#[derive(Debug, Clone)]
pub(super) struct SharedNames(Arc<Mutex<Names>>);

impl SharedNames {
    pub(super) fn new(language: Language) -> Self {
        Self(Arc::new(Mutex::new(Names { language, relations: Relations::default() })))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Names> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the catalog again. Names are a comfort: what cannot be read is left out.
    pub(super) fn refresh(&self, database: &Database, session: &mut Session) {
        let relations = Relations::read(database, session).unwrap_or_default();
        self.lock().relations = relations;
    }
}
