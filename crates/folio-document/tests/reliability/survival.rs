//! What must hold after a crash. The files can be opened for reading and writing. They hold what
//! was promised, and nothing that was never written. The next writer can make promises on top of
//! that, even if another crash interrupts it.

use folio_document::{Access, Durability, Layout};
use folio_file::{CrashPlan, MemoryFileSystem, Recording};

use crate::columns;
use crate::history::{Event, History};
use crate::random::Random;
use crate::text::{Content, apply, reported};
use crate::world::{IDS, LATER, Setup, data_path, observe};

/// How a run ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum End {
    /// The process was killed; what it had written is in the page cache.
    Kill,
    /// The power failed.
    PowerCut(CrashPlan),
}

impl End {
    pub(crate) fn apply(self, image: &MemoryFileSystem) -> MemoryFileSystem {
        match self {
            Self::Kill => image.kill(),
            Self::PowerCut(plan) => image.crash(plan),
        }
    }
}

/// Compares one crash with the model. Returns the number of crashed states checked.
pub(crate) fn check_survival(
    setup: &Setup,
    image: &MemoryFileSystem,
    end: End,
    history: &History,
    random: &mut Random,
) -> Result<u64, String> {
    let files = end.apply(image);
    let found = look(setup, &files, random)?;
    let allowed = match end {
        End::Kill => history.allows_after_kill(&found),
        End::PowerCut(_) => history.allows_after_power_cut(&found),
    };
    allowed.map_err(|text| with_files(text, &files))?;
    let (mut found, mut history) = (found, history.clone());
    if matches!(end, End::Kill) && random.once_in(2) {
        append_by_hand(setup, &files, &mut found, &mut history, random)?;
    }
    files.record_crash_points(Recording::Syncs);
    let later = go_on(setup, &files, &found, random)?;
    let promised = setup.options.durability != Durability::None;
    let mut states = 1;
    if promised {
        let again = files.crash(CrashPlan::lose_everything());
        expect(setup, &again, &later, random, "after a second power cut")?;
        states += 1;
    }
    let points = files.crash_points();
    if !points.is_empty() && promised {
        let point = random.one_of(&points);
        let again = point.image.crash(CrashPlan::new(random.draw()));
        let mut seen = look(setup, &again, random)?;
        let is_same = history.is_same(&seen, &found);
        seen.retain(|(id, _)| id != LATER);
        let is_allowed = match end {
            End::Kill => history.allows_after_power_cut(&seen),
            End::PowerCut(_) if is_same || history.is_same(&seen, &found) => Ok(()),
            End::PowerCut(_) => {
                Err(format!("found {} in place of {}", reported(&seen), reported(&found)))
            }
        };
        is_allowed.map_err(|text| {
            let when = if point.is_after { "after" } else { "before" };
            let (operation, path) = (point.operation, &point.path);
            let text = format!("a crash of the recovery, {when} {operation:?} {path:?}: {text}");
            with_files(text, &again)
        })?;
        states += 1;
    }
    Ok(states)
}

/// Somebody appends a line before a program opens the collection: it is there, beside all that was.
fn append_by_hand(
    setup: &Setup,
    files: &MemoryFileSystem,
    found: &mut Content,
    history: &mut History,
    random: &mut Random,
) -> Result<(), String> {
    let is_ended = files.read(data_path()).is_some_and(|bytes| bytes.ends_with(b"\n"));
    if setup.layout != Layout::Lines || !is_ended {
        return Ok(());
    }
    let id = *random.one_of(&IDS);
    let line = format!("{{\"_id\":\"{id}\",\"n\":\"hand\"}}");
    files.append(data_path(), format!("{line}\n").as_bytes()).map_err(|error| error.to_string())?;
    let change = (id.to_owned(), Some(line));
    history.go_on_after_kill(found)?;
    apply(found, &change);
    history.push(Event::single(change));
    expect(setup, files, found, random, "after a line by hand")
}

/// Adds the content of the files to a failure that is being debugged by its seed.
fn with_files(text: String, files: &MemoryFileSystem) -> String {
    if std::env::var("FOLIO_SEED").is_err() {
        return text;
    }
    let shown = |path: std::path::PathBuf| {
        let bytes = files.read(&path).unwrap_or_default();
        let start = bytes[..bytes.len().min(20_000)].escape_ascii().to_string();
        format!("{}: {} bytes {start}", path.display(), bytes.len())
    };
    let listed: Vec<_> = files.paths().into_iter().map(shown).collect();
    format!("{text}\n{}\n", listed.join("\n"))
}

/// The order in which a collection is queried. Without durability, a power cut may remove the line
/// end after a document. A get then still returns the document, until a scan finds that it is part
/// of a longer line. So lookups do not come first in that case.
fn draw_order(setup: &Setup, random: &mut Random) -> usize {
    match setup.options.durability {
        Durability::None => random.below(2),
        Durability::OnFlush | Durability::EveryPut => random.below(3),
    }
}

fn look(setup: &Setup, files: &MemoryFileSystem, random: &mut Random) -> Result<Content, String> {
    let reader = setup
        .open(files, Access::Read)
        .map_err(|error| with_files(format!("it does not open to be read: {error}"), files))?;
    observe(&reader, draw_order(setup, random)).map_err(|text| with_files(text, files))
}

fn expect(
    setup: &Setup,
    files: &MemoryFileSystem,
    expected: &Content,
    random: &mut Random,
    when: &str,
) -> Result<(), String> {
    let found = look(setup, files, random)?;
    if History::new(setup.rules()).is_same(&found, expected) {
        return Ok(());
    }
    let text = format!("{when} found {}, expected {}", reported(&found), reported(expected));
    Err(with_files(text, files))
}

/// The next writer opens, reads, writes and flushes. Returns the content after that.
fn go_on(
    setup: &Setup,
    files: &MemoryFileSystem,
    found: &Content,
    random: &mut Random,
) -> Result<Content, String> {
    let failed = |error: folio_document::Error| format!("the next writer fails: {error}");
    let writer = setup.open(files, Access::ReadWrite).map_err(failed)?;
    let history = History::new(setup.rules());
    let seen =
        observe(&writer, draw_order(setup, random)).map_err(|text| with_files(text, files))?;
    if !history.is_same(&seen, found) {
        let text = format!("a reader found {}, a writer {}", reported(found), reported(&seen));
        return Err(with_files(text, files));
    }
    let line = format!("{{\"_id\":\"{LATER}\",\"n\":\"{}\"}}", random.draw());
    writer.put_raw(LATER, &line).map_err(failed)?;
    let mut later = found.clone();
    later.push((LATER.to_owned(), line));
    if random.once_in(2) {
        let seen = observe(&writer, draw_order(setup, random))?;
        if !history.is_same(&seen, &later) {
            return Err(format!(
                "after a put found {}, expected {}",
                reported(&seen),
                reported(&later)
            ));
        }
    }
    writer.flush().map_err(failed)?;
    columns::heal(&writer).map_err(|text| with_files(text, files))?;
    let report = writer.check(&mut |_, _| true).map_err(failed)?;
    // A crash may leave an id in the list whose document is then put again.
    let is_repeated = |problem: &String| problem.starts_with("order.ids: ");
    if !report.problems.iter().all(is_repeated) {
        return Err(format!("the next writer leaves problems: {:?}", report.problems));
    }
    drop(writer);
    expect(setup, files, &later, random, "after the next writer")?;
    Ok(later)
}
