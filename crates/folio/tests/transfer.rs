//! File names determine formats: export and COPY write every name of `conformance/files`, and
//! import, COPY and FROM read it.

use std::fs;
use std::path::{Path, PathBuf};

use folio::export::{ExportOptions, Format, export};
use folio::import::{ImportOptions, Source, import};
use folio::{Collection, Database, ErrorCode, PackOptions, Scan};

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

fn shared(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/files").join(name)
}

/// The rows of the table: an extension, and its content read back; empty for refused names.
fn names() -> Result<Vec<(String, Option<Vec<String>>)>> {
    let table = fs::read_to_string(shared("names.txt"))?;
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| {
        let (extension, expected) = line.split_once(' ').ok_or(line)?;
        let expected = match expected.trim() {
            "refused" => None,
            name => Some(fs::read_to_string(shared(name))?.lines().map(str::to_owned).collect()),
        };
        Ok((extension.to_owned(), expected))
    })
    .collect()
}

fn lines(collection: &Collection) -> Result<Vec<String>> {
    collection.scan(Scan::new())?.map(|document| Ok(document?.into_raw())).collect()
}

fn import_file(collection: &Collection, path: &Path) -> folio::Result<()> {
    let options = ImportOptions::default();
    let report = import(collection, Source::file(path)?, &options, &mut |_, _| true)?;
    assert_eq!(report.rejected, [], "{path:?}");
    Ok(())
}

struct Place {
    folder: tempfile::TempDir,
    database: Database,
    documents: Collection,
}

impl Place {
    fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let database = Database::open(folder.path().join("data"))?;
        let documents = database.collection("documents")?;
        import_file(&documents, &shared("documents.jsonl"))?;
        Ok(Self { folder, database, documents })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn export(&self, path: &Path) -> folio::Result<folio::export::ExportReport> {
        export(&self.documents, path, &ExportOptions::default(), &mut |_, _| true)
    }

    fn json(&self, text: &str) -> folio::Result<String> {
        let mut answer = self.database.session()?.execute(text, &[])?;
        Ok(answer.rows.as_mut().map(|rows| rows.to_json()).transpose()?.unwrap_or_default())
    }
}

#[test]
fn every_name_is_exported_and_imported() -> Result {
    let place = Place::new()?;
    for (extension, expected) in names()? {
        let path = place.path(&format!("out.{extension}"));
        let Some(expected) = expected else {
            let error = place.export(&path).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidInput, "{extension}");
            let text = error.to_string();
            assert!(text.contains(&format!("out.{extension}")) && text.contains(".tsv"), "{text}");
            assert!(!path.exists(), "{extension}");
            continue;
        };
        let report = place.export(&path)?;
        assert_eq!(report.document_count, 4, "{extension}");
        assert_eq!(report.size, fs::metadata(&path)?.len(), "{extension}");
        let magic = fs::read(&path)?;
        assert_eq!(magic.starts_with(b"\x1f\x8b"), extension.to_lowercase().ends_with(".gz"));
        assert_eq!(magic.starts_with(b"\x28\xb5\x2f\xfd"), extension.ends_with(".zst"));
        let back = place.database.collection(&extension.replace('.', "_").to_lowercase())?;
        import_file(&back, &path)?;
        assert_eq!(lines(&back)?, expected, "{extension}");
        // The same through SQL.
        let sum =
            "select count(*) as c, sum(n) as n, min(x) as x, count(ok) as ok, count(note) as note";
        let from = format!("{sum}, max(code) as code from");
        let expected = r#"[{"c":4,"n":-9007199254740992,"x":-0.25,"ok":2,"note":3,"code":"7"}]"#;
        let found = place.json(&format!("{from} '{}'", path.display()))?;
        assert_eq!(found, expected, "{extension}");
        let copied = place.path(&format!("copied.{extension}"));
        let (copy, query) = (copied.display(), format!("select * from '{}'", path.display()));
        place.json(&format!("copy ({query}) to '{copy}'"))?;
        place.json(
            "create table t (_id text, n bigint, x double precision, ok boolean, name text,
             code text, note text, at json, only text)",
        )?;
        place.json(&format!("copy t from '{copy}'"))?;
        assert_eq!(place.json(&format!("{from} t"))?, expected, "{extension}");
        assert_eq!(
            place.json("select name, at from t where _id in ('b', 'd') order by _id")?,
            r#"[{"name":"a,b;c|d\te \"f\"\n g ","at":[]},{"name":" ","at":null}]"#,
            "{extension}"
        );
        place.json("drop table t")?;
        // A collection without documents does not exist.
        let filled = place.database.collection("filled")?;
        filled.put_raw("gone", "{}")?;
        place.json(&format!("copy filled from '{copy}'"))?;
        filled.delete("gone")?;
        assert_eq!(place.json(&format!("{from} filled"))?, expected, "{extension}");
        place.json("drop table filled")?;
    }
    Ok(())
}

#[test]
fn copy_fills_collections() -> Result {
    let place = Place::new()?;
    let file = |name: &str, text: &str| -> Result<String> {
        let path = place.path(name);
        fs::write(&path, text)?;
        Ok(path.display().to_string())
    };
    let more =
        file("more.jsonl", "{\"_id\":7,\"new\":[1,{\"a\":2}],\"n\":2}\n{\"new\":[],\"x\":null}\n")?;
    place.json(&format!("copy documents from '{more}'"))?;
    let kept = lines(&place.documents)?;
    assert_eq!(kept.len(), 6);
    assert_eq!(kept[4], r#"{"_id":"7","new":[1,{"a":2}],"n":2}"#);
    let made = kept[5].strip_prefix(r#"{"_id":""#).and_then(|rest| rest.split_once('"'));
    let (id, rest) = made.ok_or("there is an id")?;
    assert_eq!((id.len(), rest), (36, r#","new":[]}"#), "an id is made, and null left out");
    // Some columns, and columns that the documents lack.
    let cells = file("cells.txt", "x;1\ny;2\n")?;
    place.json(&format!(
        "copy documents (\"_id\", rank) from '{cells}' (format csv, header false, delimiter ';')"
    ))?;
    let found = place.json("select _id, rank from documents where rank > 1")?;
    assert_eq!(found, r#"[{"_id":"y","rank":2}]"#);
    // All or nothing.
    let twice = file("twice.jsonl", "{\"_id\":\"z\"}\n{\"_id\":\"a\"}\n")?;
    let error = place.json(&format!("copy documents from '{twice}'")).unwrap_err();
    assert!(error.to_string().contains("already has a document \"a\""), "{error}");
    let bare = place.json(&format!("copy documents from '{cells}' (format csv, header false)"));
    assert!(bare.unwrap_err().to_string().contains("has no column names"));
    assert_eq!(lines(&place.documents)?.len(), 8);
    // The whole document is not one of the listed columns.
    let columns = "select count(*) as c from information_schema.columns where column_name = '_doc'";
    assert_eq!(place.json(columns)?, r#"[{"c":0}]"#);
    Ok(())
}

#[test]
fn a_format_that_contradicts_the_name_is_refused() -> Result {
    let place = Place::new()?;
    let path = place.path("out.parquet");
    let options = ExportOptions { format: Some(Format::Csv), ..ExportOptions::default() };
    let error = export(&place.documents, &path, &options, &mut |_, _| true).unwrap_err();
    assert!(error.to_string().contains("the format is csv"), "{error}");
    let text = format!("copy documents to '{}' (format csv)", path.display());
    assert!(place.json(&text).unwrap_err().to_string().contains("the format is csv"));
    assert!(!path.exists());
    // A name without an extension accepts any format.
    let path = place.path("out.txt");
    export(&place.documents, &path, &options, &mut |_, _| true)?;
    assert!(fs::read_to_string(&path)?.starts_with("_id,n,x,"));
    let (code, text) =
        match place.json(&format!("copy documents to '{}'", place.path("out").display())) {
            Err(error) => (error.code(), error.to_string()),
            Ok(_) => return Err("a name that says nothing was taken".into()),
        };
    assert_eq!(code, ErrorCode::InvalidInput);
    assert!(text.contains(".parquet"), "{text}");
    Ok(())
}

#[test]
fn a_file_that_breaks_off_is_an_error_with_its_name() -> Result {
    let place = Place::new()?;
    for n in 0..2_000_u32 {
        let text = format!("{{\"n\":{n},\"x\":{}.5}}", n.wrapping_mul(2_654_435_761));
        place.documents.put_raw(&format!("d{n}"), &text)?;
    }
    for (extension, expected) in names()? {
        if expected.is_none() || !extension.contains('.') {
            continue;
        }
        let name = format!("cut.{extension}");
        let path = place.path(&name);
        place.export(&path)?;
        let whole = fs::read(&path)?;
        for size in [whole.len() - 3, whole.len() / 2, 20] {
            fs::write(&path, &whole[..size])?;
            let back = place.database.collection("back")?;
            let error = import_file(&back, &path).unwrap_err().to_string();
            assert!(error.contains(&name), "{error}");
            assert_eq!(back.count()?, 0, "{extension}: {size}");
            let query = format!("select count(*) from '{}'", path.display());
            let error = place.json(&query).unwrap_err().to_string();
            assert!(error.contains(&name), "{error}");
        }
        let mut spoilt = whole.clone();
        let middle = spoilt.len() / 2;
        spoilt[middle..middle + 8].copy_from_slice(&[0x5a; 8]);
        fs::write(&path, &spoilt)?;
        let back = place.database.collection("back")?;
        assert!(import_file(&back, &path).is_err(), "{extension}");
    }
    Ok(())
}

#[test]
fn a_bomb_is_refused() -> Result {
    use std::io::Write;
    let place = Place::new()?;
    let path = place.path("bomb.parquet.gz");
    let mut packed =
        flate2::write::GzEncoder::new(fs::File::create(&path)?, flate2::Compression::best());
    let zeros = vec![0; 1 << 20];
    for _ in 0..80 {
        packed.write_all(&zeros)?;
    }
    packed.finish()?;
    let back = place.database.collection("back")?;
    let error = import_file(&back, &path).unwrap_err().to_string();
    assert!(error.contains("bomb.parquet.gz") && error.contains("inflates"), "{error}");
    let error = place.json(&format!("select * from '{}'", path.display())).unwrap_err().to_string();
    assert!(error.contains("bomb.parquet.gz") && error.contains("inflates"), "{error}");
    Ok(())
}

#[test]
fn a_null_of_a_single_column_is_a_row() -> Result {
    let place = Place::new()?;
    place.json("create table one (v text)")?;
    place.json("insert into one values ('a'), (null), (''), (' '), ('5')")?;
    for extension in ["csv", "tsv.gz", "parquet", "arrow"] {
        let path = place.path(&format!("one.{extension}"));
        place.json(&format!("copy one to '{}'", path.display()))?;
        place.json("create table back (v text)")?;
        place.json(&format!("copy back from '{}'", path.display()))?;
        let expected = r#"[{"v":"a"},{"v":null},{"v":""},{"v":" "},{"v":"5"}]"#;
        assert_eq!(place.json("select v from back")?, expected, "{extension}");
        assert_eq!(place.json(&format!("select v from '{}'", path.display()))?, expected);
        place.json("drop table back")?;
    }
    Ok(())
}

#[test]
fn values_of_every_type_become_documents() -> Result {
    let place = Place::new()?;
    place.json(
        "create table things (_id int, big bigint, price numeric(10, 2), day date, clock time,
        moment timestamptz, bytes bytea, doc json, tags text[])",
    )?;
    place.json(
        "insert into things values (1, 9007199254740993, 1.10, '2024-02-29', '23:59:59.5',
        '2024-02-29 12:00:00+02', '\\x00ff', '{\"a\":[1,null]}', array['x', null]),
        (2, null, null, null, null, null, null, null, null)",
    )?;
    for extension in ["parquet", "arrow", "arrow.zst", "jsonl"] {
        let path = place.path(&format!("things.{extension}"));
        place.json(&format!("copy things to '{}'", path.display()))?;
        let back = place.database.collection(&extension.replace('.', "_"))?;
        import_file(&back, &path)?;
        assert_eq!(
            lines(&back)?,
            [
                r#"{"_id":"1","big":9007199254740993,"price":1.10,"day":"2024-02-29","clock":"23:59:59.5","moment":"2024-02-29T10:00:00Z","bytes":"\\x00ff","doc":{"a":[1,null]},"tags":["x",null]}"#,
                r#"{"_id":"2","big":null,"price":null,"day":null,"clock":null,"moment":null,"bytes":null,"doc":null,"tags":null}"#,
            ],
            "{extension}"
        );
    }
    Ok(())
}

#[test]
fn a_database_in_memory_is_packed_onto_the_disk() -> Result {
    let folder = tempfile::tempdir()?;
    let archive = folder.path().join("a.zds");
    let database = Database::open(":memory:")?;
    import_file(&database.collection("documents")?, &shared("documents.jsonl"))?;
    database.pack(&archive, &PackOptions::default(), &mut |_, _| true)?;
    let packed = Database::open(&archive)?;
    assert_eq!(
        lines(&packed.collection("documents")?)?,
        lines(&database.collection("documents")?)?
    );
    Ok(())
}
