//! Words and signs of other languages, and how ZiQL says the same: help for syntax errors.
//! None of the words is reserved; all may be names.

use super::Parser;
use crate::token::{Keyword, Token};

/// Words in lower case, and the ZiQL for them.
const WORDS: [(&str, &str); 13] = [
    ("select", "GRAB reads: `GRAB User [name] {age > 18}`"),
    ("get", "GRAB reads: `GRAB User [name] {age > 18}`"),
    ("find", "GRAB reads: `GRAB User [name] {age > 18}`"),
    ("insert", "ADD makes entities: `ADD User (name = 'Bob')`"),
    ("create", "ADD makes entities; a schema makes structs"),
    ("where", "a condition stands in braces: `{age > 18}`"),
    ("limit", "a limit stands in brackets: `[10]`, or `[10 + 20]` to skip 20"),
    ("offset", "rows to skip stand behind the limit: `[10 + 20]`"),
    ("order", "an order stands between bars: `|DESC age|`"),
    ("group", "groups are written `BY member`"),
    ("is", "absence is asked for with `= none` and `!= none`"),
    ("between", "write `age >= 18 AND age <= 65`"),
    ("contains", "write `member IN ['value']`"),
];

impl Parser {
    /// What to write instead of the current token.
    pub(super) fn hint(&self) -> Option<&'static str> {
        let before = self.at.checked_sub(1).map(|at| &self.tokens[at].token);
        let is_after_value = matches!(
            before,
            Some(Token::Text(_) | Token::Integer(_) | Token::Float(_) | Token::Parameter(_))
        );
        let is_after_name = matches!(before, Some(Token::Name(..)));
        match self.peek() {
            Token::Name(word, false) => {
                let found = WORDS.iter().find(|(known, _)| word.eq_ignore_ascii_case(known));
                found.map(|(_, instead)| *instead)
            }
            Token::Sign("=") if before == Some(&Token::Sign("=")) => Some("equal is one `=`"),
            Token::Sign(">") if before == Some(&Token::Sign("<")) => Some("unequal is `!=`"),
            Token::Keyword(Keyword::Not) if self.is_test(1) => {
                Some("behind a member it is `!IN`, `!ALLIN`, `!LIKE`")
            }
            Token::Keyword(Keyword::In) if is_after_value => {
                Some("the member stands in front: `tags IN ['red']`")
            }
            Token::Keyword(Keyword::Asc | Keyword::Desc) if is_after_name => {
                Some("the direction stands in front of its member: `|DESC age|`")
            }
            _ => None,
        }
    }

    fn is_test(&self, ahead: usize) -> bool {
        matches!(self.peek_at(ahead), Token::Keyword(Keyword::In | Keyword::AllIn | Keyword::Like))
    }
}
