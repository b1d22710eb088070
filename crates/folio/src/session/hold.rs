//! Handles a failed BEGIN in a script. The statements after it were meant for the transaction, so
//! they are skipped with an error until COMMIT, ROLLBACK or another BEGIN.

use folio_types::ErrorCode;

use super::{QueryError, Session};
use crate::error::{Error, Result};

/// Whether a script is running, and how its last BEGIN went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Hold {
    /// Not a script: the receiver of a BEGIN's error decides.
    #[default]
    Off,
    /// Statements run.
    Ready,
    /// BEGIN failed.
    Held,
}

/// What a statement does to a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Control {
    Begin,
    Commit,
    Rollback,
    None,
}

impl Control {
    fn of(text: &str) -> Self {
        let mut words = words(text);
        let first = words.next().unwrap_or_default();
        let is = |word: &str| first.eq_ignore_ascii_case(word);
        if is("begin") || is("start") {
            Self::Begin
        } else if is("commit") || is("end") {
            Self::Commit
        } else if (is("rollback") || is("abort"))
            && !words.any(|word| word.eq_ignore_ascii_case("to"))
        {
            Self::Rollback
        } else {
            Self::None
        }
    }
}

/// The first words of a statement, without comments.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim_start();
    loop {
        let comment = match rest.as_bytes() {
            [b'-', b'-', ..] => rest.find('\n').map(|end| end + 1),
            [b'/', b'*', ..] => rest.find("*/").map(|end| end + 2),
            _ => break,
        };
        rest = rest[comment.unwrap_or(rest.len())..].trim_start();
    }
    rest.split(|character: char| !character.is_ascii_alphabetic())
}

impl Session {
    /// Runs a script, statement by statement, continuing after errors. If a BEGIN fails, everything
    /// up to its COMMIT or ROLLBACK is refused instead of being committed statement by statement.
    pub fn set_script(&mut self, is_script: bool) {
        self.hold = if is_script { Hold::Ready } else { Hold::Off };
    }

    /// Runs a statement unless it is refused; `None` for the statement that ends the refusal.
    pub(super) fn held<T>(
        &mut self,
        text: &str,
        run: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<Option<T>> {
        if self.hold == Hold::Off {
            return run(self).map(Some);
        }
        let control = Control::of(text);
        if self.hold == Hold::Held && control != Control::Begin {
            if control != Control::None {
                self.hold = Hold::Ready;
            }
            return match control {
                Control::Rollback => Ok(None),
                Control::Commit => {
                    let error = "nothing was committed: the transaction did not begin";
                    Err(QueryError::new(ErrorCode::Conflict, error).into())
                }
                _ => Err(left_out()),
            };
        }
        let result = run(self);
        if control == Control::Begin {
            let is_held = result.is_err() && self.transaction.is_none();
            self.hold = if is_held { Hold::Held } else { Hold::Ready };
        }
        result.map(Some)
    }

    /// Refuses a text that is not an SQL statement and so cannot end the refusal.
    pub(super) fn check_begun(&self) -> Result<()> {
        if self.hold == Hold::Held { Err(left_out()) } else { Ok(()) }
    }
}

fn left_out() -> Error {
    let error = "the statement was skipped: its transaction did not begin";
    let help = "ROLLBACK continues without one, BEGIN tries again";
    QueryError::new(ErrorCode::Conflict, error).help(help).into()
}
