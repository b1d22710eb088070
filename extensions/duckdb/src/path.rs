//! Paths into a value, as `ion_extract` takes them: `a.b[0]."with space"`, with or without `$.`.

use folio_ion::Element;

/// Steps from a value to one inside it.
pub(crate) struct Path(Vec<Step>);

enum Step {
    Field(String),
    /// From the front, or from the back if negative.
    Index(i64),
}

impl Path {
    /// The path written `text`.
    pub(crate) fn parse(text: &str) -> Result<Path, String> {
        let wrong = || format!("'{text}' is not a path; write one such as a.b[0] or a.\"b c\"");
        let mut rest = text.strip_prefix('$').unwrap_or(text);
        let mut steps = Vec::new();
        while !rest.is_empty() {
            if let Some(index) = rest.strip_prefix('[') {
                let (digits, after) = index.split_once(']').ok_or_else(wrong)?;
                steps.push(Step::Index(digits.trim().parse().map_err(|_| wrong())?));
                rest = after;
                continue;
            }
            rest = rest.strip_prefix('.').unwrap_or(rest);
            if let Some(quoted) = rest.strip_prefix('"') {
                let (name, after) = quoted.split_once('"').ok_or_else(wrong)?;
                steps.push(Step::Field(name.to_owned()));
                rest = after;
                continue;
            }
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            if end == 0 {
                return Err(wrong());
            }
            steps.push(Step::Field(rest[..end].to_owned()));
            rest = &rest[end..];
        }
        Ok(Path(steps))
    }

    /// The value at the path.
    pub(crate) fn find<'a>(&self, value: &'a Element) -> Option<&'a Element> {
        self.0.iter().try_fold(value, |value, step| match step {
            Step::Field(name) => value.get(name),
            Step::Index(index) => {
                let elements = value.elements()?;
                let index = if *index < 0 { *index + elements.len() as i64 } else { *index };
                elements.get(usize::try_from(index).ok()?)
            }
        })
    }
}
