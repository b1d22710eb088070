//! Limits what an error quotes of user input: names, literals, words of a statement.

/// Maximum characters quoted of one name or literal.
const QUOTED_MAX: usize = 200;

/// Makes an error sentence safe to display. Control characters are escaped, so that no name
/// controls a terminal. Quoted text and single long words are cut to 200 characters, so that they
/// do not hide the sentence.
#[must_use]
pub fn legible(sentence: String) -> String {
    let has_control = || sentence.bytes().any(|byte| byte.is_ascii_control() || byte >= 0x80);
    if sentence.len() <= QUOTED_MAX && !has_control() {
        return sentence;
    }
    let mut out = String::with_capacity(sentence.len().min(4 * QUOTED_MAX));
    let mut characters = sentence.chars().peekable();
    // The open quote, and the characters since it or since the last space.
    let (mut quote, mut count, mut before) = (None, 0, ' ');
    while let Some(character) = characters.next() {
        let is_quote = matches!(character, '"' | '`' | '\'');
        let ends_word = characters.peek().is_none_or(|next| !next.is_alphanumeric());
        if quote == Some(character) && before != '\\' && ends_word {
            (quote, count) = (None, 0);
        } else if quote.is_none() && is_quote && !before.is_alphanumeric() {
            (quote, count) = (Some(character), 0);
        } else if quote.is_none() && character.is_whitespace() {
            count = 0;
        } else {
            count += 1;
        }
        match count {
            _ if count > QUOTED_MAX + 1 => {}
            _ if count > QUOTED_MAX => out.push('…'),
            _ if character.is_control() => out.extend(character.escape_debug()),
            _ => out.push(character),
        }
        before = character;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::legible;

    #[test]
    fn a_name_is_cut_and_the_sentence_stays() {
        let long = "x".repeat(1_000);
        for quote in ['"', '`', '\''] {
            let text = format!("there is no table {quote}{long}{quote} here");
            let cut = format!("there is no table {quote}{}…{quote} here", &long[..200]);
            assert_eq!(legible(text), cut);
        }
        assert_eq!(legible(format!("found {long} instead")).chars().count(), 215);
        let quoted = format!("column {:?} is text", format!("a\"b'c`d{}", "y".repeat(300)));
        assert!(legible(quoted).ends_with("y…\" is text"));
    }

    #[test]
    fn control_characters_are_shown() {
        let text = "there is no set `a\u{1b}[31m\r\nb\u{9b}c`".to_owned();
        assert_eq!(legible(text), "there is no set `a\\u{1b}[31m\\r\\nb\\u{9b}c`");
        let plain = "the table's key is \"naïve\", isn't it".to_owned();
        assert_eq!(legible(plain.clone()), plain);
    }
}
