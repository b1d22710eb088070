//! The buffer pool's policies side by side: a Markdown page and a chart of lines.

use std::fmt::Write as _;

use serde::Deserialize;

use crate::chart::escape;
use crate::{Result, console};

/// One measured case, as the suite prints it with `--json`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PoolCase {
    /// Its name, or its token.
    pub name: String,
    /// `ns` per operation, or `%`.
    pub unit: String,
    /// The value.
    pub value: f64,
}

/// What one policy measured.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyRun {
    /// The policy's name.
    pub policy: String,
    /// Its cases, in the order of the suite.
    pub cases: Vec<PoolCase>,
}

/// What the report that the suite continues says of its own engine on Linux, the
/// best of three policies: nanoseconds per operation.
const EARLIER: [(&str, f64); 17] = [
    ("Pin/Unpin (hit)", 798.0),
    ("Cold Pin (miss)", 4045.0),
    ("Sequential Scan (100 blocks)", 3731.0),
    ("Repeated Access (1000 ops)", 876.0),
    ("Random (K=10, 500 ops)", 811.0),
    ("Random (K=50, 500 ops)", 3155.0),
    ("Random (K=100, 500 ops)", 3521.0),
    ("Zipfian (80/20, 500 ops)", 1595.0),
    ("pin:t1", 860.0),
    ("pin:t2", 548.0),
    ("pin:t8", 1181.0),
    ("pin:t64", 1266.0),
    ("pin:t256", 1460.0),
    ("hotset:t1_k4", 861.0),
    ("hotset:t8_k4", 1013.0),
    ("hotset:t64_k4", 895.0),
    ("hotset:t256_k4", 1082.0),
];

impl PolicyRun {
    /// Reads what the suite printed.
    ///
    /// # Errors
    /// When it is no list of cases.
    pub fn parse(policy: &str, json: &str) -> Result<Self> {
        Ok(Self { policy: policy.to_owned(), cases: serde_json::from_str(json)? })
    }

    fn value(&self, name: &str) -> Option<f64> {
        self.cases.iter().find(|case| case.name == name).map(|case| case.value)
    }
}

/// The page: a table of all cases, the best of each row in bold.
#[must_use]
pub fn pool_page(runs: &[PolicyRun], machine: &str) -> String {
    let mut page = format!(
        "# Buffer pool: the policies side by side\n\nMade by `bench/buffer_pool`; not edited by hand. {machine}\n\n\
         Times are per operation, over the wall time of a whole phase and all its threads. *Earlier* is what the report that the suite \
         continues says of its own engine on its own machine (i7-8650U), the best of its three policies.\n\n\
         ![Time per pin by threads](buffer_pool.png)\n\n"
    );
    page.push_str(&bars(runs));
    let names: Vec<&str> = runs.iter().map(|run| &*run.policy).collect();
    let _ = writeln!(page, "| case | {} | earlier |", names.join(" | "));
    let _ = writeln!(page, "|---|{}---|", "---|".repeat(names.len()));
    for case in runs.first().map_or(&[][..], |run| &run.cases) {
        let values: Vec<Option<f64>> = runs.iter().map(|run| run.value(&case.name)).collect();
        let _ = write!(page, "| {}", case.name);
        let best = best(&values, &case.unit);
        for value in &values {
            let text = value.map_or_else(|| "-".to_owned(), |value| text(value, &case.unit));
            let mark = if *value == best && values.len() > 1 { "**" } else { "" };
            let _ = write!(page, " | {mark}{text}{mark}");
        }
        let earlier = EARLIER.iter().find(|(name, _)| *name == case.name);
        let earlier = earlier.map_or_else(String::new, |(_, value)| text_of_ns(*value));
        let _ = writeln!(page, " | {earlier} |");
    }
    page
}

/// What the page promises at its head, each with the policy that does worst in it.
fn bars(runs: &[PolicyRun]) -> String {
    let earlier = |name: &str| EARLIER.iter().find(|(case, _)| *case == name).map(|(_, ns)| *ns);
    let ratio = |name: &'static str| move |run: &PolicyRun| Some(earlier(name)? / run.value(name)?);
    let hit = |run: &PolicyRun| run.value("Pin/Unpin (hit)");
    let threads = |run: &PolicyRun| Some(run.value("pin:t64")? / run.value("pin:t1")?);
    let worst = |value: &dyn Fn(&PolicyRun) -> Option<f64>, is_most: bool| {
        let values = runs.iter().filter_map(|run| Some((value(run)?, &*run.policy)));
        let found = if is_most {
            values.max_by(|one, other| one.0.total_cmp(&other.0))
        } else {
            values.min_by(|one, other| one.0.total_cmp(&other.0))
        };
        found.unwrap_or((f64::NAN, "-"))
    };
    let scan = "Sequential Scan (100 blocks)";
    let rows = [
        ("pin of a page that is there", "at most 30 ns", worst(&hit, true), " ns"),
        ("the same, earlier / now", "at least 15x", worst(&ratio("Pin/Unpin (hit)"), false), "x"),
        ("pins at 64 threads / at 1", "at most 1.0x", worst(&threads, true), "x"),
        ("scan of 100 blocks, earlier / now", "at least 5x", worst(&ratio(scan), false), "x"),
    ];
    let mut table = String::from("| bar | wanted | the worst policy |\n|---|---|---|\n");
    for (name, wanted, (value, policy), unit) in rows {
        let _ = writeln!(table, "| {name} | {wanted} | {value:.2}{unit} ({policy}) |");
    }
    table.push('\n');
    table
}

fn best(values: &[Option<f64>], unit: &str) -> Option<f64> {
    let values = values.iter().flatten().copied();
    if unit == "%" { values.reduce(f64::max) } else { values.reduce(f64::min) }
}

fn text(value: f64, unit: &str) -> String {
    if unit == "%" { format!("{value:.1} %") } else { text_of_ns(value) }
}

fn text_of_ns(value: f64) -> String {
    if value < 1000.0 { format!("{value:.1} ns") } else { console::duration(value) }
}

/// Threads on the charts.
const THREADS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

const COLOURS: [&str; 6] = ["#1f6f5c", "#c2571a", "#3b5bb5", "#a23b72", "#6b7280", "#8a6d1d"];

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 260.0;
const MARGIN: f64 = 54.0;

/// Scaling by threads: a panel for blocks of each thread's own and one for four
/// blocks that all share, a line per policy.
#[must_use]
pub fn pool_chart(runs: &[PolicyRun]) -> String {
    let own = panel(runs, "Blocks of each thread's own: ns per pin", |n| format!("pin:t{n}"));
    let hot = panel(runs, "Four blocks for all: ns per pin", |n| format!("hotset:t{n}_k4"));
    let width = 2.0 * (WIDTH + MARGIN) + 40.0;
    let height = HEIGHT + 2.0 * MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" font-family=\"DejaVu Sans, Verdana, sans-serif\" \
         font-size=\"12\" fill=\"#1d2330\"><rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\
         <g transform=\"translate({MARGIN} {MARGIN})\">{own}</g>\
         <g transform=\"translate({} {MARGIN})\">{hot}</g></svg>\n",
        WIDTH + 2.0 * MARGIN
    )
}

fn panel(runs: &[PolicyRun], title: &str, name: impl Fn(u32) -> String) -> String {
    let top = runs
        .iter()
        .flat_map(|run| THREADS.iter().filter_map(|&n| run.value(&name(n))))
        .fold(1.0, f64::max);
    let x = |place: usize| place as f64 * WIDTH / (THREADS.len() - 1) as f64;
    let y = |value: f64| HEIGHT - value / top * HEIGHT;
    let mut drawing = format!(
        "<text x=\"0\" y=\"-20\" font-size=\"14\" font-weight=\"bold\">{}</text>\
         <path d=\"M0 0V{HEIGHT}H{WIDTH}\" fill=\"none\" stroke=\"#6b7280\"/>\
         <text x=\"-8\" y=\"4\" text-anchor=\"end\">{top:.0}</text>\
         <text x=\"-8\" y=\"{HEIGHT}\" text-anchor=\"end\">0</text>",
        escape(title)
    );
    for (place, threads) in THREADS.iter().enumerate() {
        let _ = write!(
            drawing,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{threads}</text>",
            x(place),
            HEIGHT + 18.0
        );
    }
    for (place, run) in runs.iter().enumerate() {
        let points = THREADS.iter().enumerate().filter_map(|(at, &threads)| {
            run.value(&name(threads)).map(|value| format!("{:.1},{:.1}", x(at), y(value)))
        });
        let colour = COLOURS[place % COLOURS.len()];
        let _ = write!(
            drawing,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\
             <text x=\"{}\" y=\"{}\" fill=\"{colour}\">{}</text>",
            points.collect::<Vec<_>>().join(" "),
            WIDTH - 70.0,
            16.0 + 16.0 * place as f64,
            escape(&run.policy)
        );
    }
    drawing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_a_row_is_bold() {
        let run = |policy: &str, ns: f64, rate: f64| {
            let json = format!(
                "[{{\"name\":\"pin:t1\",\"unit\":\"ns\",\"value\":{ns}}},\
                 {{\"name\":\"Hit Rate: x\",\"unit\":\"%\",\"value\":{rate}}}]"
            );
            PolicyRun::parse(policy, &json).expect("a list of cases")
        };
        let runs = [run("lru", 12.0, 80.0), run("sieve", 11.0, 70.0)];
        let page = pool_page(&runs, "A machine.");
        assert!(page.contains("| pin:t1 | 12.0 ns | **11.0 ns** | 860.0 ns |"), "{page}");
        assert!(page.contains("| Hit Rate: x | **80.0 %** | 70.0 % |  |"), "{page}");
        assert!(pool_chart(&runs).contains("<polyline points=\"0.0,0.0\""));
    }
}
