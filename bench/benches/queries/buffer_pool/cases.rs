//! Cases: what they are called, whether they are wanted, what they measured.

use folio_bench::Result;

use super::Arguments;

/// One measured case.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) value: f64,
}

/// The cases of one policy.
#[derive(Debug)]
pub(crate) struct Cases<'a> {
    pub(crate) arguments: &'a Arguments,
    done: Vec<Case>,
}

impl<'a> Cases<'a> {
    pub(crate) fn new(arguments: &'a Arguments) -> Self {
        Self { arguments, done: Vec::new() }
    }

    /// Prints the heading of a phase.
    pub(crate) fn phase(&self, heading: &str) {
        if !self.arguments.json {
            println!("\n{heading}");
        }
    }

    /// Measures a case if it is wanted. A case has a name, or is its token.
    pub(crate) fn measure(
        &mut self,
        name: impl Into<String>,
        unit: &'static str,
        measure: impl FnOnce() -> Result<f64>,
    ) -> Result<()> {
        let name = name.into();
        if !self.wants(&name) {
            return Ok(());
        }
        let value = (measure()? * 100.0).round() / 100.0;
        if !self.arguments.json {
            let rate = match unit {
                "ns" if value > 0.0 => format!("{:>10.3} M ops/s", 1000.0 / value),
                _ => String::new(),
            };
            println!("  {name:<44} {value:>12.1} {unit:<3} {rate}");
        }
        self.done.push(Case { name, unit, value });
        Ok(())
    }

    fn wants(&self, name: &str) -> bool {
        let Some(filter) = self.arguments.filter.as_deref().filter(|_| !self.arguments.json) else {
            return true;
        };
        // A token is a word with a colon; it stands for itself alone.
        let is_token = |text: &str| text.contains(':') && !text.contains(' ');
        if is_token(filter) { name == filter } else { name.contains(filter) }
    }

    pub(crate) fn finish(self) -> Vec<Case> {
        self.done
    }
}
