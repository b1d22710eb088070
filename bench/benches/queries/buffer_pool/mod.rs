//! The buffer pool by itself: latency, access patterns, scaling, hit rates,
//! concurrency, for each eviction policy.
//!
//! ```text
//! cargo bench --bench queries -- buffer_pool <iterations> <num_buffers> [filter] [--json]
//!                                    [--policy lru|clock|sieve|s3_fifo|all]
//! ```
//!
//! A filter is part of a case's name, or the whole of a case's token (`pin:t8` is
//! not `pin:t80`). With `--json` every case is reported, filter or not, as
//! `[{"name","unit","value"}]`; times are nanoseconds per operation, over the wall
//! time of the whole phase.

mod cases;
mod patterns;
mod phases;
mod pool;

use folio_bench::Result;
use folio_table::buffer::Policy;

use cases::{Case, Cases};

const USAGE: &str = "\
usage: cargo bench --bench queries -- buffer_pool [iterations] [num_buffers] [filter] [options]

  iterations       how often a pattern is run (default 50)
  num_buffers      frames of the pool in phases 1, 2 and 4 (default 12)
  filter           part of a case's name, or a token: pin:t8, hotset:t8_k4
  --policy NAME    lru, clock, sieve, s3_fifo (default) or all
  --json           every case as [{\"name\",\"unit\",\"value\"}], and nothing else";

/// What was asked for.
#[derive(Debug, Clone)]
pub(crate) struct Arguments {
    pub(crate) iterations: usize,
    pub(crate) num_buffers: usize,
    pub(crate) filter: Option<String>,
    pub(crate) json: bool,
    pub(crate) policies: Vec<Policy>,
}

impl Arguments {
    fn parse(words: impl IntoIterator<Item = String>) -> Result<Self> {
        let mut parsed = Self {
            iterations: 50,
            num_buffers: 12,
            filter: None,
            json: false,
            policies: vec![Policy::default()],
        };
        let mut numbers = 0;
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            match (&word[..], word.parse::<usize>()) {
                ("--json", _) => parsed.json = true,
                ("--policy", _) => {
                    let name = words.next().ok_or("--policy needs a name")?;
                    parsed.policies = match &name[..] {
                        "all" => Policy::ALL.to_vec(),
                        name => vec![name.parse()?],
                    };
                }
                (other, _) if other.starts_with("--") => {
                    return Err(format!("{other} is not an option\n\n{USAGE}").into());
                }
                (_, Ok(number)) if numbers < 2 && number > 0 => {
                    *[&mut parsed.iterations, &mut parsed.num_buffers][numbers] = number;
                    numbers += 1;
                }
                _ => parsed.filter = Some(word),
            }
        }
        Ok(parsed)
    }
}

pub(crate) fn run(words: Vec<String>) -> Result<()> {
    if let Some("--help" | "-h") = words.first().map(String::as_str) {
        println!("{USAGE}");
        return Ok(());
    }
    measure(&Arguments::parse(words)?)
}

fn measure(arguments: &Arguments) -> Result<()> {
    let mut all: Vec<(Policy, Case)> = Vec::new();
    for &policy in &arguments.policies {
        if !arguments.json {
            println!(
                "policy {policy}, {} iterations, {} buffers of 4 KiB",
                arguments.iterations, arguments.num_buffers
            );
        }
        let mut cases = Cases::new(arguments);
        phases::latency(policy, &mut cases)?;
        phases::access_patterns(policy, &mut cases)?;
        phases::scaling(policy, &mut cases)?;
        phases::hit_rates(policy, &mut cases)?;
        phases::concurrency(policy, &mut cases)?;
        phases::mixes(policy, &mut cases)?;
        all.extend(cases.finish().into_iter().map(|case| (policy, case)));
    }
    if arguments.json {
        let names_policy = arguments.policies.len() > 1;
        let all = all.iter().map(|(policy, case)| {
            let name =
                if names_policy { format!("{policy}: {}", case.name) } else { case.name.clone() };
            serde_json::json!({"name": name, "unit": case.unit, "value": case.value})
        });
        println!("{}", serde_json::to_string_pretty(&all.collect::<Vec<_>>())?);
    }
    Ok(())
}
