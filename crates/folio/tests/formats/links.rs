//! Reads structs and their links from the files, with the decoder written only from
//! `docs/formats/table-store.md`.

#[allow(dead_code, reason = "tables without links are read beside the store of tables")]
#[path = "../../../folio-table/tests/formats/decoder.rs"]
mod pages;
#[path = "../../../folio-table/tests/formats/values.rs"]
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use folio::Database;
use pages::Decoder;
use serde_json::Value as Json;

/// The rows of a table, including the key, by column name; and the entries of its only index.
fn read(decoder: &Decoder<'_>, name: &str) -> Vec<BTreeMap<String, Json>> {
    let (id, definition) = &decoder.catalog()[name];
    let root = |json: &Json| u32::try_from(json["root"].as_u64().unwrap()).unwrap();
    let column = |at: usize| definition["columns"][at]["name"].as_str().unwrap().to_owned();
    let key: BTreeSet<u64> =
        definition["primary_key"].as_array().unwrap().iter().filter_map(Json::as_u64).collect();
    let others = definition["columns"].as_array().unwrap().len();
    let others: Vec<usize> = (0..others).filter(|at| !key.contains(&(*at as u64))).collect();
    let cells = decoder.cells(*id, root(definition));
    let rows: Vec<BTreeMap<String, Json>> = cells
        .iter()
        .map(|(key, row)| {
            let own = values::row(definition, row).into_iter();
            let own = others.iter().map(|at| column(*at)).zip(own);
            let key = values::key(definition, key).into_iter();
            key.map(|(at, value)| (column(at), value)).chain(own).collect()
        })
        .collect();
    for index in definition["indexes"].as_array().unwrap() {
        let tree = u32::try_from(index["id"].as_u64().unwrap()).unwrap();
        let entries = decoder.cells(tree, root(index));
        assert_eq!(entries.len(), rows.len(), "{}", index["name"]);
        for (entry, _) in entries {
            let entry = values::entry(definition, index, &entry);
            let is_in = |row: &&BTreeMap<String, Json>| {
                entry.iter().all(|(at, value)| row[&column(*at)] == *value)
            };
            assert!(rows.iter().any(|row| is_in(&row)), "{}: {entry:?}", index["name"]);
        }
    }
    rows
}

/// Names by id.
fn names(rows: &[BTreeMap<String, Json>]) -> BTreeMap<String, String> {
    let text = |json: &Json| json.as_str().unwrap().to_owned();
    rows.iter().map(|row| (text(&row["id"]), text(&row["name"]))).collect()
}

/// The to-many links of a struct, found as the page describes.
fn links(decoder: &Decoder<'_>, name: &str) -> Vec<Json> {
    let properties = decoder.catalog()[name].1["properties"].as_str().unwrap().to_owned();
    let properties: Json = serde_json::from_str(&properties).unwrap();
    properties["struct"]["links"].as_array().unwrap().clone()
}

fn make(folder: &Path) {
    let database = Database::open(folder).unwrap();
    let schema = "User ( name: str, best: User, friends: []User on delete cascade, \
                  tags: []Tag, fans: []User.friends ) Tag ( name: str )";
    database.apply_schema(schema, false).unwrap();
    for text in [
        "ADD Tag (name = 'a') ('b') ('c')",
        "ADD User (name = 'Ann', tags = {}) ('Bob', {name = 'b'}) ('Cy', none)",
        "UPDATE User {name = 'Ann'} TO (best = {name = 'Bob'}, friends = {})",
        "UPDATE User {name = 'Bob'} TO (friends = {name = 'Cy'})",
        "UPDATE User {name = 'Bob'} TO (friends APPEND {name = 'Ann'})",
        "UPDATE User {name = 'Ann'} TO (tags REMOVEAT 1)",
        "UPDATE User {name = 'Ann'} TO (tags APPEND {name = 'b'})",
    ] {
        database.ziql(text, &[]).unwrap();
    }
    database.flush().unwrap();
}

#[test]
fn structs_and_links_are_what_the_page_says() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let file = |name| fs::read(folder.path().join(name)).unwrap();
    let (data, log) = (file("tables.folio"), file("tables.folio-wal"));
    let decoder = Decoder::open(&data, &log);
    let (users, tags) = (read(&decoder, "User"), read(&decoder, "Tag"));
    let (user_names, tag_names) = (names(&users), names(&tags));
    let best = |row: &BTreeMap<String, Json>| Some(&*user_names[row["best"].as_str()?]);
    assert_eq!(users.iter().map(best).collect::<Vec<_>>(), [Some("Bob"), None, None]);
    let links = links(&decoder, "User");
    let found: Vec<(&str, Option<&str>, Option<&str>)> = links
        .iter()
        .map(|link| {
            (link["name"].as_str().unwrap(), link["table"].as_str(), link["inverse"].as_str())
        })
        .collect();
    assert_eq!(
        found,
        [
            ("friends", Some("User.friends"), None),
            ("tags", Some("User.tags"), None),
            ("fans", None, Some("friends"))
        ]
    );
    // Rows are in the order of their keys: of sources, and positions within them.
    let lists = |table: &str, targets: &BTreeMap<String, String>| -> Vec<(String, String)> {
        let rows = read(&decoder, table);
        let pair = |row: &BTreeMap<String, Json>| {
            let name = |names: &BTreeMap<String, String>, column: &str| {
                names[row[column].as_str().unwrap()].clone()
            };
            (name(&user_names, "source"), name(targets, "target"))
        };
        rows.iter().map(pair).collect()
    };
    let is = |found: Vec<(String, String)>, expected: &[(&str, &str)]| {
        let found: Vec<(&str, &str)> = found.iter().map(|(one, two)| (&**one, &**two)).collect();
        assert_eq!(found, expected);
    };
    is(
        lists("User.friends", &user_names),
        &[("Ann", "Ann"), ("Ann", "Bob"), ("Ann", "Cy"), ("Bob", "Cy"), ("Bob", "Ann")],
    );
    is(lists("User.tags", &tag_names), &[("Ann", "a"), ("Ann", "c"), ("Ann", "b"), ("Bob", "b")]);
}
