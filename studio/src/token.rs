//! The token: the secret part of the address, which opens the pages.

use std::path::Path;
use std::{fmt, fs};

use uuid::Uuid;

use crate::failure::StartError;

/// The fewest characters of a token that somebody made. Of hexadecimal digits, these are 128 bits.
const LENGTH_MIN: usize = 32;

/// The most: it is in every address.
const LENGTH_MAX: usize = 256;

/// What opens the pages.
#[derive(Clone)]
pub struct Token(String);

impl fmt::Debug for Token {
    /// Without the token.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Token(…)")
    }
}

impl Token {
    /// The token in a file, without white space around it.
    ///
    /// # Errors
    /// The file cannot be read; what is in it is too short, or would not stay the same in an
    /// address.
    pub fn read(path: &Path) -> Result<Self, StartError> {
        let text =
            fs::read_to_string(path).map_err(|error| StartError::file(path, error.to_string()))?;
        let text = text.trim();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if (LENGTH_MIN..=LENGTH_MAX).contains(&text.len()) && text.bytes().all(is_plain) {
            return Ok(Self(text.to_owned()));
        }
        let reason = format!(
            "this is no token: {LENGTH_MIN} to {LENGTH_MAX} letters, digits, - and _; \
             `openssl rand -hex 16` makes one"
        );
        Err(StartError::file(path, reason))
    }

    /// 122 random bits.
    pub(crate) fn random() -> Self {
        Self(Uuid::new_v4().simple().to_string())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a text is the token. Takes as long wherever the first difference is.
    pub(crate) fn is(&self, text: &str) -> bool {
        let pairs = text.bytes().zip(self.0.bytes());
        let differences = pairs.fold(0, |sum, (one, other)| sum | (one ^ other));
        text.len() == self.0.len() && differences == 0
    }
}
