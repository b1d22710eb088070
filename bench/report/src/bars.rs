//! The bars the project sets itself, and whether a run met them.
//!
//! Each is a ratio of two rows of the same run, or a limit on one row. A bar is
//! judged against the better of a peer's rows where it has several.

use crate::OURS;
use crate::console;
use crate::results::{Key, Memory, Results, Timing};

/// The size at which the bars are judged unless they say otherwise.
const DOCUMENTS: u64 = 100_000;

/// Name of the rows in which lines are not validated.
const TRUSTED: &str = "FolioDB (trusted)";

/// SQLite with a page cache as large as our block cache.
const CACHED_SQLITE: &str = "SQLite (64 MiB cache)";

/// One bar, judged.
#[derive(Debug, Clone)]
pub(super) struct Judged {
    /// What is measured.
    pub(super) what: String,
    /// The bar in words; empty for a row that is shown for comparison only.
    pub(super) bar: String,
    /// Our figure.
    pub(super) ours: String,
    /// The figure it is held against.
    pub(super) against: String,
    /// How they compare.
    pub(super) ratio: String,
    /// Whether it was met; `None` when there is no bar or a figure is missing.
    pub(super) met: Option<bool>,
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Limit {
    /// The ratio of speeds is at least this.
    AtLeast(f64),
    /// The ratio of times or sizes is at most this.
    AtMost(f64),
    /// No bar: shown because a reader would ask.
    Shown,
}

/// All bars of the document engine, judged on these results.
pub(super) fn judge(results: &Results) -> Vec<Judged> {
    let judge = Judge { results };
    let mut judged = Vec::new();
    judge.writes(&mut judged);
    judge.reads(&mut judged);
    judge.opens(&mut judged);
    judge.durable(&mut judged);
    judge.sizes(&mut judged);
    judge.memory(&mut judged);
    judged
}

struct Judge<'r> {
    results: &'r Results,
}

/// A row by suite, workload and mode; the system is filled in.
#[derive(Debug, Clone, Copy)]
struct Work(&'static str, &'static str, &'static str);

impl Judge<'_> {
    fn writes(&self, judged: &mut Vec<Judged>) {
        let values = [Work("ingestion", "write_values", "")];
        let either =
            [Work("ingestion", "write_values", ""), Work("ingestion", "write_values_plain", "")];
        let lines = [Work("ingestion", "write_lines", "")];
        let what = "bulk write from parsed values";
        judged.push(self.speed(what, (OURS, &values), ("SQLite", &either), Limit::AtLeast(3.0)));
        judged.push(self.speed(what, (OURS, &values), ("LMDB", &either), Limit::AtLeast(1.0)));
        let what = "bulk write of ready lines, each validated";
        judged.push(self.speed(what, (OURS, &lines), ("SQLite", &lines), Limit::AtLeast(4.0)));
        let what = "bulk write of ready lines, trusted";
        judged.push(self.speed(what, (TRUSTED, &lines), ("SQLite", &lines), Limit::AtLeast(8.0)));
    }

    fn reads(&self, judged: &mut Vec<Judged>) {
        let scan = [Work("scan", "scan_raw", "warm")];
        let what = "scan to raw lines, warm";
        judged.push(self.speed(what, (OURS, &scan), ("SQLite", &scan), Limit::AtLeast(3.0)));
        judged.push(self.speed(what, (OURS, &scan), ("LMDB", &scan), Limit::AtLeast(1.0)));

        let native = [Work("scan", "scan_native", "warm")];
        let serde = [
            Work("scan", "scan_serde_json", "warm"),
            Work("scan", "scan_serde_json_plain", "warm"),
        ];
        let sonic = [Work("scan", "scan_sonic_rs", "warm")];
        let parts = [Work("scan", "scan_sonic_rs_parts", "warm")];
        let what = "scan to sonic-rs values, ours in parts on every core";
        let peer = self.best_peer(&sonic);
        judged.push(self.speed(what, (OURS, &parts), (&peer, &sonic), Limit::AtLeast(2.0)));
        let what = "the same, ours on one core";
        judged.push(self.speed(what, (OURS, &sonic), (&peer, &sonic), Limit::Shown));
        let what = "scan to our own documents, peers to serde_json values";
        let peer = self.best_peer(&serde);
        judged.push(self.speed(what, (OURS, &native), (&peer, &serde), Limit::Shown));

        let get = [Work("random_access", "get_all", "warm")];
        let together = [Work("random_access", "get_all_together", "warm")];
        let what = "100k random gets in one call, raw, warm";
        judged.push(self.speed(what, (OURS, &together), ("SQLite", &get), Limit::AtLeast(10.0)));
        judged.push(self.speed(what, (OURS, &together), ("LMDB", &get), Limit::AtLeast(2.0)));
        let what = "100k random gets one by one, raw, warm";
        judged.push(self.speed(what, (OURS, &get), ("SQLite", &get), Limit::AtLeast(10.0)));
        judged.push(self.speed(what, (OURS, &get), (CACHED_SQLITE, &get), Limit::Shown));
        judged.push(self.speed(what, (OURS, &get), ("LMDB", &get), Limit::AtLeast(2.0)));

        let open_get = [Work("random_access", "open_get", "cold")];
        let what = "new open + 1,000 gets";
        judged.push(self.time(what, (OURS, &open_get), ("SQLite", &open_get), Limit::AtMost(0.2)));
        judged.push(self.time(what, (OURS, &open_get), ("LMDB", &open_get), Limit::AtMost(1.0)));
        let together = [Work("random_access", "open_get_together", "cold")];
        let what = "new open + 1,000 gets in one call";
        judged.push(self.time(what, (OURS, &together), ("SQLite", &open_get), Limit::Shown));
    }

    fn opens(&self, judged: &mut Vec<Judged>) {
        let key = |workload, system, documents| Key {
            suite: "open",
            workload,
            system,
            mode: "cold",
            documents,
        };
        let sizes = self.sizes_of("open");
        for &documents in &sizes {
            let ours = self.results.timing(&key("open_get_1", OURS, documents));
            let ours = ours.map(|timing| timing.each_ns());
            let what = format!("new open + 1 get at {} documents", console::count(documents));
            judged.push(limit(what, "≤ 100 µs", ours, Some(100_000.0), Limit::AtMost(1.0), false));
        }
        if let (Some(&few), Some(&many)) = (sizes.first(), sizes.last())
            && few < many
        {
            let time = |documents| {
                self.results.timing(&key("open_get_1", OURS, documents)).map(|row| row.each_ns())
            };
            let (few_count, many_count) = (console::count(few), console::count(many));
            let what = format!("new open + 1 get at {many_count}, against {few_count}");
            let bar = "≤ 1.5× (the same)";
            judged.push(limit(what, bar, time(many), time(few), Limit::AtMost(1.5), true));
        }
        for &documents in &sizes {
            let time = |system| {
                self.results
                    .timing(&key("process_get_1", system, documents))
                    .map(|timing| timing.each_ns())
            };
            let count = console::count(documents);
            let what = format!("a whole process that opens and gets 1, {count} documents");
            let bar = "≤ 1× SQLite";
            judged.push(limit(what, bar, time(OURS), time("SQLite"), Limit::AtMost(1.0), true));
        }
    }

    fn durable(&self, judged: &mut Vec<Judged>) {
        let row = |workload: &str, system: &str| {
            let rows = self.results.timings.iter().filter(|row| row.suite == "durable");
            rows.filter(|row| row.workload == workload)
                .find(|row| row.system == system)
                .map(|row| row.each_ns())
        };
        let (one, eight) = (row("put_1", OURS), row("put_8", OURS));
        let what = "durable put, one by one".to_owned();
        let floor = row("put_1", "write + fdatasync");
        let bar = "≤ 1.2× write + fdatasync";
        judged.push(limit(what, bar, one, floor, Limit::AtMost(1.2), true));
        let what = "durable put, 8 writers, against 1 writer".to_owned();
        judged.push(limit(
            what,
            "≤ 1/3 of the time each",
            eight,
            one,
            Limit::AtMost(1.0 / 3.0),
            true,
        ));
    }

    fn sizes(&self, judged: &mut Vec<Judged>) {
        let size = self
            .results
            .sizes
            .iter()
            .find(|size| size.system == OURS && size.documents == DOCUMENTS);
        let ratio = size.map(|size| size.allocated_size as f64 / size.lines_size as f64);
        judged.push(Judged {
            what: "size of data and index, as a multiple of the lines".to_owned(),
            bar: "≤ 1.25".to_owned(),
            ours: size.map_or("-".into(), |size| console::megabytes(size.allocated_size)),
            against: size.map_or("-".into(), |size| console::megabytes(size.lines_size)),
            ratio: ratio.map_or("-".into(), |ratio| factor(ratio, Limit::AtMost(1.25))),
            met: ratio.map(|ratio| ratio <= 1.25),
        });
    }

    /// Whether memory grows from the second largest collection to the largest;
    /// below that, caches are still filling.
    fn memory(&self, judged: &mut Vec<Judged>) {
        for workload in ["import", "scan"] {
            let rows = self.results.memory.iter();
            let mut rows: Vec<&Memory> =
                rows.filter(|row| row.system == OURS && row.workload == workload).collect();
            rows.sort_by_key(|row| row.documents);
            let [.., middle, large] = rows[..] else { continue };
            let (few, many) = (console::count(middle.documents), console::count(large.documents));
            let what = format!("memory allocated by {workload} at {many}, against {few}");
            let sizes = (large.peak_anonymous_size, middle.peak_anonymous_size);
            judged.push(growth(what, "≤ 1.25× (does not grow)", sizes, Limit::AtMost(1.25)));
            let what = "the same with what is mapped of the index".to_owned();
            let sizes = (large.peak_size, middle.peak_size);
            judged.push(growth(what, "", sizes, Limit::Shown));
        }
    }

    /// A bar on a ratio of rates.
    fn speed(
        &self,
        what: &str,
        (ours, our_work): (&str, &[Work]),
        (peer, peer_work): (&str, &[Work]),
        bar: Limit,
    ) -> Judged {
        let (our_rate, peer_rate) = (self.best(ours, our_work), self.best(peer, peer_work));
        let ratio = our_rate.zip(peer_rate).map(|(ours, peer)| ours / peer);
        Judged {
            what: what.to_owned(),
            bar: words(bar, peer),
            ours: our_rate.map_or("-".into(), |rate| format!("{}/s", console::rate(rate))),
            against: peer_rate
                .map_or("-".into(), |rate| format!("{peer} {}/s", console::rate(rate))),
            ratio: ratio.map_or("-".into(), |ratio| factor(ratio, bar)),
            met: ratio.and_then(|ratio| met(ratio, bar)),
        }
    }

    /// A bar on a ratio of times for the same work.
    fn time(
        &self,
        what: &str,
        (ours, our_work): (&str, &[Work]),
        (peer, peer_work): (&str, &[Work]),
        bar: Limit,
    ) -> Judged {
        let total = |system, work: &[Work]| {
            let rows = work.iter().filter_map(|work| self.row(system, *work));
            rows.map(|row| row.median_ns()).reduce(f64::min)
        };
        let (our_time, peer_time) = (total(ours, our_work), total(peer, peer_work));
        let against = format!("{peer} {}", console::duration(peer_time.unwrap_or(f64::NAN)));
        let judged = limit(what.to_owned(), &words(bar, peer), our_time, peer_time, bar, true);
        Judged { against, ..judged }
    }

    /// The best rate of a system among rows.
    fn best(&self, system: &str, work: &[Work]) -> Option<f64> {
        let rows = work.iter().filter_map(|work| self.row(system, *work));
        rows.map(|row| row.rate()).reduce(f64::max)
    }

    /// The peer with the best rate among rows.
    fn best_peer(&self, work: &[Work]) -> String {
        let peers = self.results.systems.iter().filter(|system| system.name != OURS);
        let rates = peers.filter_map(|peer| Some((&peer.name, self.best(&peer.name, work)?)));
        let best = rates.max_by(|(_, one), (_, other)| one.total_cmp(other));
        best.map_or("peer".to_owned(), |(name, _)| name.clone())
    }

    fn row(&self, system: &str, work: Work) -> Option<&Timing> {
        let Work(suite, workload, mode) = work;
        self.results.timing(&Key { suite, workload, system, mode, documents: DOCUMENTS })
    }

    /// The sizes our rows of a suite were taken at, ascending.
    fn sizes_of(&self, suite: &str) -> Vec<u64> {
        let rows = self.results.timings.iter().filter(|row| row.suite == suite);
        let mut sizes: Vec<u64> = rows.map(|row| row.documents).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }
}

/// A bar on how one size compares with another.
fn growth(what: String, bar: &str, (large, small): (u64, u64), limit: Limit) -> Judged {
    let ratio = large as f64 / small.max(1) as f64;
    Judged {
        what,
        bar: bar.to_owned(),
        ours: console::megabytes(large),
        against: console::megabytes(small),
        ratio: factor(ratio, limit),
        met: met(ratio, limit),
    }
}

/// A bar on our time against another time.
fn limit(
    what: String,
    bar: &str,
    ours: Option<f64>,
    against: Option<f64>,
    limit: Limit,
    show_against: bool,
) -> Judged {
    let ratio = ours.zip(against).map(|(ours, against)| ours / against);
    Judged {
        what,
        bar: bar.to_owned(),
        ours: ours.map_or("-".into(), console::duration),
        against: against.filter(|_| show_against).map_or(String::new(), console::duration),
        ratio: ratio.filter(|_| show_against).map_or("".into(), |ratio| factor(ratio, limit)),
        met: ratio.and_then(|ratio| met(ratio, limit)),
    }
}

fn met(ratio: f64, limit: Limit) -> Option<bool> {
    match limit {
        Limit::AtLeast(bar) => Some(ratio >= bar),
        Limit::AtMost(bar) => Some(ratio <= bar),
        Limit::Shown => None,
    }
}

fn words(limit: Limit, peer: &str) -> String {
    match limit {
        Limit::AtLeast(bar) => format!("≥ {bar}× {peer}"),
        Limit::AtMost(bar) => format!("≤ {bar}× {peer}"),
        Limit::Shown => String::new(),
    }
}

/// A ratio, cut towards the side that is worse for us.
fn factor(ratio: f64, limit: Limit) -> String {
    let hundredths = ratio * 100.0;
    let cut =
        if matches!(limit, Limit::AtMost(_)) { hundredths.ceil() } else { hundredths.floor() };
    format!("{:.2}×", cut / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_cut_to_our_disadvantage() {
        assert_eq!(factor(2.996, Limit::AtLeast(3.0)), "2.99×");
        assert_eq!(factor(1.201, Limit::AtMost(1.2)), "1.21×");
        assert_eq!(met(2.996, Limit::AtLeast(3.0)), Some(false));
        assert_eq!(met(1.2, Limit::AtMost(1.2)), Some(true));
        assert_eq!(met(1.0, Limit::Shown), None);
    }
}
