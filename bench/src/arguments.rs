//! The command line that all suites share.

use std::path::PathBuf;

use crate::Result;

/// What every suite prints for `--help`.
pub const HELP: &str = "\
usage: cargo bench --bench PROGRAM -- SUITE [FILTER] [options]

  FILTER             run only rows whose suite/workload/system/documents contains this text
  -n, --sizes LIST   documents, for example 10k,100k,1M (default 100k, or the suite's own)
  -r, --lookups N    point lookups per sample (default 1k)
  --repetitions N    samples per row, after one warm-up (default 7)
  --quick            10k documents, 3 repetitions: to see that it runs, not to quote
  --json FILE        write the results here
  --dir DIR          where the stores go (default: the build directory)";

/// What a suite was asked to do.
#[derive(Debug, Clone)]
pub struct Arguments {
    /// Only rows that contain this.
    pub filter: String,
    /// Documents; empty for the suite's own sizes.
    pub sizes: Vec<u64>,
    /// Lookups per sample.
    pub lookups: u64,
    /// Samples per row.
    pub repetitions: usize,
    /// Small and few.
    pub quick: bool,
    /// Where the results go.
    pub json: Option<PathBuf>,
    /// Where the stores go.
    pub directory: Option<PathBuf>,
}

impl Default for Arguments {
    fn default() -> Self {
        Self {
            filter: String::new(),
            sizes: Vec::new(),
            lookups: 1_000,
            repetitions: 7,
            quick: false,
            json: None,
            directory: None,
        }
    }
}

impl Arguments {
    /// Reads the arguments behind the name of the suite.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self> {
        let mut parsed = Self::default();
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let mut value =
                || arguments.next().ok_or_else(|| format!("{argument} needs a value\n\n{HELP}"));
            match argument.as_str() {
                "-n" | "--sizes" => {
                    parsed.sizes = value()?.split(',').map(count).collect::<Result<_>>()?;
                }
                "-r" | "--lookups" => parsed.lookups = count(&value()?)?,
                "--repetitions" => parsed.repetitions = count(&value()?)? as usize,
                "--quick" => parsed.quick = true,
                "--json" => parsed.json = Some(value()?.into()),
                "--dir" => parsed.directory = Some(value()?.into()),
                other if other.starts_with('-') => {
                    return Err(format!("{other} is not an option\n\n{HELP}").into());
                }
                filter => filter.clone_into(&mut parsed.filter),
            }
        }
        if parsed.quick {
            parsed.repetitions = parsed.repetitions.min(3);
        }
        Ok(parsed)
    }

    /// The sizes to run, where `default` are the suite's own.
    #[must_use]
    pub fn sizes_or(&self, default: &[u64]) -> Vec<u64> {
        match (&self.sizes[..], self.quick) {
            ([], true) => vec![10_000],
            ([], false) => default.to_vec(),
            (sizes, _) => sizes.to_vec(),
        }
    }
}

/// A count as people write it: `1000`, `10k`, `1M`.
fn count(text: &str) -> Result<u64> {
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1_000),
        None => text.strip_suffix(['m', 'M']).map_or((text, 1), |digits| (digits, 1_000_000)),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    match number {
        Some(number) if number > 0 => Ok(number),
        _ => Err(format!("{text:?} is not a count; write 10000, 10k or 1M").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments> {
        Arguments::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn reads_what_the_help_promises() {
        let parsed = parse("write -n 10k,1M -r 5000 --repetitions 9 --json out.json")
            .expect("valid arguments");
        assert_eq!(parsed.filter, "write");
        assert_eq!(parsed.sizes, [10_000, 1_000_000]);
        assert_eq!((parsed.lookups, parsed.repetitions), (5_000, 9));
        assert_eq!(parsed.sizes_or(&[1]), [10_000, 1_000_000]);
        assert_eq!(parse("--quick").expect("valid").sizes_or(&[1]), [10_000]);
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        for line in ["-n", "-n ten", "-n 0", "--sizes 1G", "--fast"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
