//! What may happen to a collection: its own operations, edits of others, readers in other
//! processes, and a kill.

use folio_document::{Access, Collection, Error};
use folio_file::Operation;
use serde_json::{Value, json};

use crate::history::Event;
use crate::random::Random;
use crate::text::{self, Change};
use crate::world::{IDS, World, data_path, observe};
use crate::{columns, types};
use folio_document::{Durability, Layout};

/// Makes one random step, on the collection and on the model.
pub(crate) fn take_step(world: &mut World) -> Result<(), String> {
    world.step += 1;
    match world.random.below(40) {
        0..=8 => put(world),
        9..=11 => delete(world),
        12..=13 => patch(world),
        14..=19 => batch(world),
        20..=24 => flush(world),
        25 => refresh(world),
        26..=27 => compact(world),
        28 => reindex(world),
        29..=30 => reopen(world),
        31..=33 => look(world),
        34..=36 if world.setup.layout == Layout::Lines => edit(world),
        34..=36 => flush(world),
        37 => kill(world),
        _ => world.compare(),
    }
}

fn done<T>(result: Result<T, Error>) -> Result<T, String> {
    result.map_err(|error| format!("an operation fails: {error}"))
}

fn note(world: &mut World, text: impl Into<String>) {
    let text = format!("{} {}", world.step, text.into());
    world.mark(&text);
    world.log.push(text);
}

/// A unique document, within one sector, over several, or over blocks of the index.
fn document(random: &mut Random, step: usize, id: &str) -> (Value, String) {
    let pad = match random.below(12) {
        0..=5 => 0,
        6..=9 => random.below(900),
        10 => random.below(5000),
        _ if random.once_in(4) => random.below(150_000),
        _ => 1,
    };
    let number = format!("{step}.{}", random.below(1_000_000));
    let pad = if pad == 0 { String::new() } else { format!(",\"pad\":\"{}\"", "x".repeat(pad)) };
    let list = match step % 4 {
        0 => String::new(),
        1 => ",\"l\":[\"a\"]".to_owned(),
        2 => ",\"l\":[\"a\",\"b\",\"a\",null]".to_owned(),
        _ => format!(",\"l\":[\"b\",{step}]"),
    };
    let line = format!("{{\"_id\":\"{id}\",\"n\":\"{number}\"{list}{pad}}}");
    (serde_json::from_str(&line).expect("it is JSON"), line)
}

fn draw_id(random: &mut Random) -> String {
    (*random.one_of(&IDS)).to_owned()
}

/// Runs one change of the collection between two states of the model.
fn change(
    world: &mut World,
    reported: &str,
    change: Change,
    run: impl FnOnce(&Collection) -> Result<(), Error>,
) -> Result<(), String> {
    world.history.begin(Event::single(change));
    note(world, reported.to_owned());
    done(run(&world.collection()))?;
    world.history.complete();
    world.has_written = true;
    if world.setup.options.durability == Durability::EveryPut {
        world.history.promise();
    }
    note(world, format!("{reported} returned"));
    Ok(())
}

fn put(world: &mut World) -> Result<(), String> {
    let id = draw_id(&mut world.random);
    let (value, line) = document(&mut world.random, world.step, &id);
    let is_raw = world.random.once_in(2);
    let reported = format!("put {}", text::line_text(&line));
    change(world, &reported, (id.clone(), Some(line.clone())), |collection| {
        if is_raw {
            collection.put_raw(&id, &line).map(drop)
        } else {
            collection.put(&id, &value).map(drop)
        }
    })
}

fn delete(world: &mut World) -> Result<(), String> {
    let id = draw_id(&mut world.random);
    let existed = world.history.latest().iter().any(|(known, _)| *known == id);
    if existed {
        return change(world, &format!("delete {id}"), (id.clone(), None), |collection| {
            let text = || Error::Invalid(format!("{id} was there, and delete found nothing"));
            if collection.delete(&id)? { Ok(()) } else { Err(text()) }
        });
    }
    note(world, format!("delete {id}, which is not there"));
    world.has_written = true;
    match done(world.collection().delete(&id))? {
        false => Ok(()),
        true => Err(format!("{id} was deleted and is not there")),
    }
}

fn patch(world: &mut World) -> Result<(), String> {
    let content = world.history.latest();
    let id = draw_id(&mut world.random);
    let Some((_, line)) = content.iter().find(|(known, _)| *known == id) else {
        let patched = done(world.collection().patch(&id, &json!({"n": 1})))?;
        world.has_written = true;
        return if patched.is_none() { Ok(()) } else { Err(format!("{id} is not there")) };
    };
    let number = format!("{}.p{}", world.step, world.random.below(1000));
    let mut value: Value = serde_json::from_str(line).expect("the model holds JSON");
    value["n"] = number.clone().into();
    if value.as_object().and_then(|object| object.keys().next()).is_none_or(|key| key != "_id") {
        return Ok(()); // a hand edit put the id elsewhere; patching moves it
    }
    let line = value.to_string();
    let reported = format!("patch {}", text::line_text(&line));
    change(world, &reported, (id.clone(), Some(line)), |collection| {
        collection.patch(&id, &json!({ "n": number })).map(drop)
    })
}

/// A batch of puts and deletes, committed or dropped.
fn batch(world: &mut World) -> Result<(), String> {
    let mut changes: Vec<Change> = Vec::new();
    for _ in 0..world.random.below(7) {
        let id = draw_id(&mut world.random);
        let (_, line) = document(&mut world.random, world.step, &id);
        let is_delete = world.random.once_in(4);
        changes.push((id, (!is_delete).then_some(line)));
    }
    let is_dropped = world.random.once_in(4);
    let ids = changes.iter().map(|(id, line)| match line {
        Some(line) => text::line_text(line),
        None => format!("-{id}"),
    });
    let reported = format!("batch {}", ids.collect::<Vec<_>>().join(" "));
    note(world, if is_dropped { format!("dropped {reported}") } else { reported.clone() });
    let collection = world.collection();
    let mut batch = done(collection.batch())?;
    for (id, line) in &changes {
        done(match line {
            Some(line) => batch.put_raw(Some(id), line),
            None => batch.delete(id),
        })?;
    }
    world.has_written = true;
    if is_dropped {
        drop(batch);
        return Ok(());
    }
    world.history.begin(Event { changes, is_batch: true });
    note(world, format!("commit {reported}"));
    done(batch.commit())?;
    world.history.complete();
    if world.setup.options.durability != Durability::None {
        world.history.promise();
    }
    note(world, "commit returned".to_owned());
    keep_derived(world)
}

fn flush(world: &mut World) -> Result<(), String> {
    note(world, "flush".to_owned());
    done(world.collection().flush())?;
    if world.has_written && world.setup.options.durability != Durability::None {
        world.history.promise();
    }
    world.has_written = false;
    note(world, "flush returned".to_owned());
    keep_derived(world)
}

/// What the facade does after a flush, a batch, and whatever replaces the files.
fn keep_derived(world: &mut World) -> Result<(), String> {
    if world.setup.has_columns {
        note(world, "columns");
        done(columns::keep(&world.collection()))?;
    }
    if world.setup.has_types {
        note(world, "types");
        types::keep(&world.collection());
    }
    Ok(())
}

fn refresh(world: &mut World) -> Result<(), String> {
    note(world, "refresh".to_owned());
    done(world.collection().refresh())
}

fn compact(world: &mut World) -> Result<(), String> {
    note(world, "compact".to_owned());
    done(world.collection().compact(&mut |_, _| true))?;
    keep_derived(world)
}

fn reindex(world: &mut World) -> Result<(), String> {
    note(world, "reindex".to_owned());
    done(world.collection().reindex(&mut |_, _| true))?;
    keep_derived(world)
}

fn reopen(world: &mut World) -> Result<(), String> {
    // A handle that is dropped cannot report a failure.
    let is_closed = world.has_faults || world.random.once_in(2);
    note(world, if is_closed { "close" } else { "drop" }.to_owned());
    let collection = world.collection.take().expect("it was open");
    if is_closed {
        done(collection.close())?;
        if world.has_written && world.setup.options.durability != Durability::None {
            world.history.promise();
        }
    }
    drop(collection);
    note(world, "open again".to_owned());
    world.open()
}

/// Another process reads. It finds a prefix of the changes and writes nothing.
fn look(world: &mut World) -> Result<(), String> {
    note(world, "another process reads".to_owned());
    let changes = |world: &World| -> u64 {
        [Operation::Create, Operation::Write, Operation::Append, Operation::Truncate]
            .into_iter()
            .chain([Operation::Rename, Operation::Remove, Operation::Sync])
            .map(|operation| world.files.call_count(operation))
            .sum()
    };
    let before = changes(world);
    let reader = match world.reader.take() {
        Some(reader) => {
            done(reader.refresh())?;
            reader
        }
        None => done(world.setup.open(&world.files, Access::Read))?,
    };
    let order = world.random.below(3);
    let found = observe(&reader, order)?;
    if changes(world) != before {
        return Err("a read-only handle has written".to_owned());
    }
    if world.random.once_in(2) {
        world.reader = Some(reader);
    }
    world.history.allows_after_kill(&found)
}

/// The process is killed, and another continues.
fn kill(world: &mut World) -> Result<(), String> {
    note(world, "kill".to_owned());
    world.kill();
    world.mark("opening after a kill");
    world.open()?;
    let order = world.random.below(3);
    let found = observe(&world.collection(), order)?;
    world.history.go_on_after_kill(&found)?;
    note(world, "went on after a kill".to_owned());
    Ok(())
}

/// Someone edits the file. Nothing is pending then, so the content of the file is known. But the
/// handle may hold the lock, and may not have synced.
fn edit(world: &mut World) -> Result<(), String> {
    if world.random.once_in(2) {
        flush(world)?;
    } else {
        world.compare()?; // a scan writes what is pending
    }
    let Some(bytes) = world.files.read(data_path()) else { return Ok(()) };
    if text::parse(&bytes) != world.history.latest() {
        return Err("the file does not say what the collection says".to_owned());
    }
    let (reported, edited) = draw_edit(world, &bytes);
    note(world, format!("edit: {reported}"));
    if edited.starts_with(&bytes) && bytes.ends_with(b"\n") && world.random.once_in(2) {
        // `echo >>` syncs nothing.
        let added = &edited[bytes.len()..];
        world.files.append(data_path(), added).expect("the file is there");
        // A flush covers only what the handle knew when it last wrote.
        world.has_written = false;
        for change in text::changes(added) {
            world.history.push(Event::single(change));
        }
    } else {
        let written = if world.random.once_in(2) {
            world.files.write(data_path(), &edited)
        } else {
            world.files.replace(data_path(), &edited)
        };
        written.expect("the file is there");
        world.files.make_durable();
        world.history.replace(text::parse(&edited));
    }
    note(world, "edited".to_owned());
    match world.random.below(3) {
        0 => done(world.collection().refresh())?,
        1 => {
            // A writer notices it without a refresh, at the latest when it writes.
            put(world)?;
            flush(world)?;
        }
        _ => reopen(world)?,
    }
    world.compare()
}

fn draw_edit(world: &mut World, bytes: &[u8]) -> (&'static str, Vec<u8>) {
    let random = &mut world.random;
    let id = draw_id(random);
    let (_, line) = document(random, world.step, &id);
    let mut lines: Vec<Vec<u8>> =
        bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    let any = random.below(lines.len().max(1));
    let (reported, tail): (_, &[u8]) = match random.below(12) {
        0 => ("append a document", b"\n"),
        1 => ("append without a line end", b""),
        2 => ("append a broken line", b"]\n"),
        3 => {
            lines.push(line.as_bytes()[..line.len() / 2].to_vec());
            return ("append half a line", lines.concat());
        }
        4 => {
            lines.push(b"\n \r\n".to_vec());
            return ("append blank lines", lines.concat());
        }
        5 => {
            let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\n', "\r\n");
            return ("make every line end CRLF", text.into_bytes());
        }
        6 => {
            let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
            return ("begin with a byte-order mark", [b"\xef\xbb\xbf", text].concat());
        }
        7 if !lines.is_empty() => {
            lines.remove(any);
            return ("remove a line", lines.concat());
        }
        8 if !lines.is_empty() => {
            lines.insert(any, format!("{line}\n").into_bytes());
            return ("insert a line", lines.concat());
        }
        9 if !lines.is_empty() => {
            lines[any] = format!("{line}\n").into_bytes();
            return ("change a line", lines.concat());
        }
        10 => {
            let text = String::from_utf8_lossy(bytes).replace("\"n\":\"1", "\"n\":\"9");
            return ("change documents without changing their size", text.into_bytes());
        }
        11 => return ("empty the file", Vec::new()),
        _ => ("append a tombstone", b"T"),
    };
    if tail == b"T" {
        lines.push(format!("{{\"_tombstone\":\"{id}\"}}\n").into_bytes());
    } else {
        lines.push([line.as_bytes(), tail].concat());
    }
    (reported, lines.concat())
}
