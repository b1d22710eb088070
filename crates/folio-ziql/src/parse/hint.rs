//! Words and signs of other languages, and how ZiQL says the same: help for syntax errors.
//! None of the words is reserved; all may be names.

use super::Parser;
use crate::token::{Keyword, Token};

/// Words in lower case, and the ZiQL for them.
const WORDS: [(&str, &str); 13] = [
    ("select", "GRAB reads: `GRAB User [name] {age > 18}`"),
    ("get", "GRAB reads: `GRAB User [name] {age > 18}`"),
    ("find", "GRAB reads: `GRAB User [name] {age > 18}`"),
    ("insert", "ADD creates entities: `ADD User (name = 'Bob')`"),
    ("create", "ADD creates entities; a schema declares structs"),
    ("where", "write a condition in braces: `{age > 18}`"),
    ("limit", "write a limit in brackets: `[10]`, or `[10 + 20]` to skip 20"),
    ("offset", "write the rows to skip after the limit: `[10 + 20]`"),
    ("order", "write an order between bars: `|DESC age|`"),
    ("group", "write groups as `BY member`"),
    ("is", "test for a missing value with `= none` and `!= none`"),
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
            Token::Sign("=") if before == Some(&Token::Sign("=")) => {
                Some("write equality as one `=`")
            }
            Token::Sign(">") if before == Some(&Token::Sign("<")) => {
                Some("write inequality as `!=`")
            }
            Token::Keyword(Keyword::Not) if self.is_test(1) => {
                Some("after a member write `!IN`, `!ALLIN`, `!LIKE`")
            }
            Token::Keyword(Keyword::In) if is_after_value => {
                Some("write the member first: `tags IN ['red']`")
            }
            Token::Keyword(Keyword::Asc | Keyword::Desc) if is_after_name => {
                Some("write the direction before its member: `|DESC age|`")
            }
            _ => None,
        }
    }

    fn is_test(&self, ahead: usize) -> bool {
        matches!(self.peek_at(ahead), Token::Keyword(Keyword::In | Keyword::AllIn | Keyword::Like))
    }
}
