//! Matches the parameters in a statement's text with those that are given.

use folio_compute::{Error, Result, Span};
use folio_engine::Signature;

/// The parameters that a statement uses.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// Names by position, in order of first use, if the given names are not known.
    names: Vec<String>,
    /// Whether one goes by its position.
    is_by_position: bool,
    /// Which of the parameters given by name are used.
    used: Vec<bool>,
    /// One more than the highest position.
    count: usize,
    /// The first that has no value, if they go by position: its number from 0, and its place.
    missing: Option<(usize, Span)>,
}

impl Taken {
    /// The position of a parameter in the parser's form: `?1`, `$2` or `:name`. A plain `?` was
    /// numbered by its place in the text.
    pub(crate) fn position(&mut self, text: &str, given: &Signature, span: Span) -> Result<usize> {
        let name = text.trim_start_matches([':', '$', '@']);
        let number = text.strip_prefix(['$', '?']).and_then(|number| number.parse::<usize>().ok());
        if !given.names.is_empty() {
            if number.is_some() {
                let text = if text.starts_with('?') { "?" } else { text };
                let error = format!("parameters were given by name, and {text} has none");
                return Err(Error::invalid(error).at(span).help("write :name"));
            }
            return self.position_of_given(name, given, span);
        }
        let position = if let Some(number) = number {
            self.is_by_position = true;
            number.checked_sub(1).ok_or_else(|| {
                Error::syntax("parameters count from $1").at(span).help("write $1 for the first")
            })?
        } else {
            self.names.iter().position(|known| known == name).unwrap_or_else(|| {
                self.names.push(name.to_owned());
                self.names.len() - 1
            })
        };
        if self.is_by_position && !self.names.is_empty() {
            let error = Error::invalid("some parameters go by position, and some by name");
            return Err(error.at(span).help("write $1 and $2, or :a and :b"));
        }
        self.count = self.count.max(position + 1);
        if position >= given.types.len() {
            self.missing.get_or_insert((position, span));
        }
        Ok(position)
    }

    fn position_of_given(&mut self, name: &str, given: &Signature, span: Span) -> Result<usize> {
        let Some(position) = given.names.iter().position(|known| known == name) else {
            let names = given.names.iter().map(String::as_str);
            let error = Error::invalid(format!("parameter :{name} has no value"))
                .help("give it by its name");
            return Err(error.near(name, names).at(span));
        };
        self.used.resize(given.names.len(), false);
        self.used[position] = true;
        Ok(position)
    }

    fn missing_at(&self, position: usize, given: usize) -> Error {
        if let Some(name) = self.names.get(position) {
            let error = format!("parameter :{name} has no value");
            return Error::invalid(error).help("give it by its name");
        }
        let (number, were) = (position + 1, if given == 1 { "was" } else { "were" });
        let error = format!("parameter {number} has no value: {given} {were} given");
        Error::invalid(error).help("give a value for each parameter")
    }

    /// Refuses given parameters that are not used, and used ones that are not given.
    pub(crate) fn check(&self, given: &Signature) -> Result<()> {
        if given.names.is_empty() {
            let (given, taken) = (given.types.len(), self.count);
            if let Some((position, span)) = self.missing {
                return Err(self.missing_at(position, given).at(span));
            }
            if given > taken {
                let error = format!("{given} values were given to a statement that takes {taken}");
                return Err(Error::invalid(error).help("give a value for each parameter"));
            }
            return Ok(());
        }
        for (position, name) in given.names.iter().enumerate() {
            if !self.used.get(position).is_some_and(|is_used| *is_used) {
                let error = format!("a value was given for :{name}, which is not in the statement");
                return Err(Error::invalid(error).help("leave it out"));
            }
        }
        Ok(())
    }
}
