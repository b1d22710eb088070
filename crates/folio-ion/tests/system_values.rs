//! Top-level values that are not data: version markers, forms of their name without meaning, and
//! symbol tables. The cases follow the page "Symbols" of the Ion specification, for the tree reader
//! and for the splitter.

use folio_ion::shred::{Batch, Inference, Layout, Rules, Type};
use folio_ion::{
    Format, ImportLocation, Limits, Reader, Splitter, Symbol, VERSION_MARKER, Value, read_all,
    write,
};
use std::sync::Arc;

/// The values of `bytes` as text, read as trees.
fn read(bytes: &[u8]) -> String {
    let values = read_all(bytes).unwrap_or_else(|error| panic!("{error}: {bytes:?}"));
    let texts: Vec<String> = values.iter().map(write::to_text).collect();
    texts.join(" ")
}

/// The number of records that the splitter finds, in blocks of `size`.
fn cut(bytes: &[u8], size: usize) -> u64 {
    let mut splitter = Splitter::new(bytes, size, Format::Values, Limits::default());
    let mut count = 0;
    while let Some(block) = splitter.next_block(Vec::new()).expect("the stream is whole") {
        count += block.row_count;
    }
    count
}

fn assert_reads(bytes: &[u8], wanted: &str) {
    assert_eq!(read(bytes), wanted, "{:?}", String::from_utf8_lossy(bytes));
    let count = read_all(bytes).expect("just read").len() as u64;
    for size in [16, 31, 1 << 10] {
        assert_eq!(cut(bytes, size), count, "{:?}", String::from_utf8_lossy(bytes));
    }
}

fn binary(body: &[u8]) -> Vec<u8> {
    [&VERSION_MARKER, body].concat()
}

#[test]
fn the_markers_name_in_another_form_means_nothing() {
    let nothing = [
        "'$ion_1_0'",
        "'$ion_\\\n1\\\n_\\\n0'",
        "'\\x24ion_1_0'",
        "$2",
        "/* before */ $2 // behind",
        "$ion_symbol_table::{symbols:[\"$ion_1_0\"]} $10",
        "$ion_1_0 '$ion_1_0' $2",
    ];
    for text in nothing {
        assert_reads(text.as_bytes(), "");
    }
}

#[test]
fn it_leaves_the_symbol_table_in_force() {
    let text =
        "$ion_1_0 $ion_symbol_table::{symbols:[\"a\", \"$ion_1_0\"]} '$ion_1_0' $2 $11 $10 {$10:1}";
    assert_reads(text.as_bytes(), "a {a:1}");
    assert!(read_all(b"$ion_symbol_table::{symbols:[\"a\"]} $ion_1_0 $10").is_err());
}

#[test]
fn it_is_data_with_annotations_and_below_the_top_level() {
    assert_reads(b"a::$ion_1_0", "a::'$ion_1_0'");
    assert_reads(b"a::'$ion_1_0' a::$2", "a::'$ion_1_0' a::'$ion_1_0'");
    assert_reads(b"($2 '$ion_1_0' $ion_1_0)", "('$ion_1_0' '$ion_1_0' '$ion_1_0')");
    assert_reads(b"{f:$2}", "{f:'$ion_1_0'}");
    // The name of another version is a marker only as a bare word.
    assert_reads(b"'$ion_1_1'", "'$ion_1_1'");
    assert!(read_all(b"$ion_1_1").is_err());
}

#[test]
fn it_means_nothing_in_binary_either() {
    // Symbol 2, before and after an integer.
    assert_reads(&binary(&[0x71, 0x02, 0x21, 0x01, 0x71, 0x02]), "1");
    // In two bytes, with a leading zero.
    assert_reads(&binary(&[0x72, 0x00, 0x02]), "");
    // `a::$2`, where a table defines `a`: the annotation makes it data.
    let table = [0xe7, 0x81, 0x83, 0xd4, 0x87, 0xb2, 0x81, b'a'];
    assert_reads(&binary(&[&table[..], &[0xe4, 0x81, 0x8a, 0x71, 0x02]].concat()), "a::'$ion_1_0'");
    // The table still names symbol 10 after it.
    assert_reads(&binary(&[&table[..], &[0x71, 0x02, 0x71, 0x0a]].concat()), "a");
    // In a list it is data.
    assert_reads(&binary(&[0xb2, 0x71, 0x02]), "['$ion_1_0']");
    // A symbol that is in no table is not mistaken for it, and is an error as always.
    assert!(read_all(&binary(&[0x71, 0x63])).is_err());
}

#[test]
fn a_null_symbol_table_is_an_empty_one() {
    let table = "$ion_symbol_table::{symbols:[\"a\"]} $10 $ion_symbol_table::null.struct ";
    assert_reads(format!("{table} 1").as_bytes(), "a 1");
    assert!(read_all(format!("{table} $10").as_bytes()).is_err());
    // 0xdf is a null struct.
    assert_reads(&binary(&[0xe3, 0x81, 0x83, 0xdf, 0x21, 0x01]), "1");
    // Only a struct defines symbols.
    assert_reads(b"$ion_symbol_table::null", "'$ion_symbol_table'::null");
}

#[test]
fn columns_do_not_see_it() {
    let text = "{a:1}\n'$ion_1_0'\n{a:2}\n$2\n{a:3}\n";
    let mut splitter = Splitter::new(text.as_bytes(), 1 << 10, Format::Values, Limits::default());
    let (mut inference, mut sum) = (Inference::new(), 0);
    while let Some(block) = splitter.next_block(Vec::new()).expect("the stream is whole") {
        let (_, seen) = inference.observe_block(&block, block.row_count, &Limits::default());
        seen.expect("records are whole");
        let layout = inference.layout(&Rules::default());
        let Layout::Records(fields) = &layout else { panic!("not records: {layout:?}") };
        assert_eq!(fields[0].field_type, Type::Int(64));
        let mut batch = Batch::new(&layout, Limits::default());
        let mut at = block.start;
        while at < block.bytes.len() {
            batch.read(&block, &mut at, 64).expect("records fit");
            sum += batch.row_count();
            batch.clear();
        }
    }
    assert_eq!(sum, 3);
}

#[test]
fn an_import_that_is_not_at_hand_takes_no_memory_for_its_symbols() {
    let limits = Limits { symbol_count: u32::MAX as usize, ..Limits::default() };
    let text = "$ion_symbol_table::{imports:[{name:\"far\",max_id:2147483638},{name:\"away\",max_id:3}],symbols:[\"a\"]} \
                [$4,$9,$10,$2147483647,$2147483648,$2147483650,$2147483651]";
    let mut reader = Reader::new(text.as_bytes()).with_limits(limits);
    let value = reader.read().expect("all symbols are defined").expect("one value");
    let symbols: Vec<Symbol> = value
        .elements()
        .expect("a list")
        .iter()
        .map(|element| match &element.value {
            Value::Symbol(symbol) => symbol.clone(),
            other => panic!("not a symbol: {other:?}"),
        })
        .collect();
    let unknown = |table: &str, position| {
        Symbol::Unknown(Some(Arc::new(ImportLocation { table: table.into(), position })))
    };
    assert_eq!(
        symbols,
        [
            Symbol::from("name"),
            Symbol::from("$ion_shared_symbol_table"),
            unknown("far", 1),
            unknown("far", 2_147_483_638),
            unknown("away", 1),
            unknown("away", 3),
            Symbol::from("a"),
        ]
    );
    assert_eq!(reader.symbols().len(), 2_147_483_652);
    assert_eq!(reader.symbols().get(2_147_483_652), None);
    // The defaults do not allow as many.
    assert!(read_all(text.as_bytes()).is_err());
}
