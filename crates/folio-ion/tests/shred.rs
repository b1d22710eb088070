//! Compares the direct readers with the general path: same bytes, same columns.

#[allow(dead_code)]
mod generate;

use folio_ion::shred::{Batch, Block, Column, Data, Inference, Layout, Rules};
use folio_ion::{Element, Format, Limits, Splitter, Symbol, Value, read_all, write};
use generate::Generator;

/// A column's value as text, for comparison.
fn show(column: &Column, index: usize) -> String {
    if !column.validity().is_valid(index) {
        return "null".to_owned();
    }
    let list = |offset: u64, length: u64, item: &dyn Fn(usize) -> String| {
        let items = (offset..offset + length).map(|index| item(index as usize));
        format!("[{}]", items.collect::<Vec<_>>().join(","))
    };
    match column.data() {
        Data::Bool(values) => values[index].to_string(),
        Data::Int(values) | Data::Decimal(values) | Data::Timestamp(values) => {
            values[index].to_string()
        }
        Data::UInt(values) => values[index].to_string(),
        Data::Wide(values) => values[index].to_string(),
        Data::Float(values) => format!("{:?}", values[index]),
        Data::Date(values) => values[index].to_string(),
        Data::Text(text) => format!("{:?}", String::from_utf8_lossy(&text.get(index))),
        Data::List(entries, child) => {
            list(entries[index].offset, entries[index].length, &|at| show(child, at))
        }
        Data::Struct(fields) => {
            let shown = fields.fields.iter().map(|field| show(field, index));
            format!("{{{}}}", shown.collect::<Vec<_>>().join(","))
        }
        Data::Map(entries, map) => list(entries[index].offset, entries[index].length, &|at| {
            format!("{}:{}", show(&map.keys, at), show(&map.values, at))
        }),
    }
}

fn rows(batch: &Batch) -> Vec<String> {
    let row = |index| {
        let shown = batch.columns().iter().map(|column| show(column, index));
        shown.collect::<Vec<_>>().join(" | ")
    };
    (0..batch.row_count()).map(row).collect()
}

/// The rows of `bytes` cut into blocks of `size` and read in batches of seven.
fn shredded(bytes: &[u8], layout: &Layout, size: usize) -> folio_ion::Result<Vec<String>> {
    let mut splitter = Splitter::new(bytes, size, Format::Auto, Limits::default());
    let mut batch = Batch::new(layout, Limits::default());
    let mut all = Vec::new();
    while let Some(block) = splitter.next_block(Vec::new())? {
        assert_eq!(block.first_row, all.len() as u64);
        let Block { start, row_count, .. } = block;
        let mut at = start;
        let mut read = 0;
        while at < block.bytes.len() {
            batch.clear();
            batch.read(&block, &mut at, 7)?;
            read += batch.row_count() as u64;
            all.extend(rows(&batch));
        }
        assert_eq!(read, row_count, "a block counts its rows");
    }
    Ok(all)
}

fn expected(values: &[Element], layout: &Layout) -> Vec<String> {
    let mut batch = Batch::new(layout, Limits::default());
    values.iter().for_each(|value| batch.push(value).expect("the layout was inferred from it"));
    rows(&batch)
}

fn layout_of(values: &[Element], rules: &Rules) -> Layout {
    let mut inference = Inference::new();
    values.iter().for_each(|value| inference.observe(value));
    inference.layout(rules)
}

/// The layout inferred without trees, by one inference and by several that share the blocks.
fn observed(bytes: &[u8], rules: &Rules) -> Layout {
    let alone = observed_by(&[0], bytes, rules);
    for turns in [&[0, 1][..], &[1, 0, 0], &[2, 1, 0], &[1, 1, 1, 0, 2]] {
        let shared = observed_by(turns, bytes, rules);
        assert_eq!(shown(&shared), shown(&alone), "{turns:?}");
    }
    alone
}

/// `turns` gives the inference for each block.
fn observed_by(turns: &[usize], bytes: &[u8], rules: &Rules) -> Layout {
    let mut splitter = Splitter::new(bytes, 40, Format::Auto, Limits::default());
    let mut inferences = [(); 3].map(|()| Inference::new());
    let mut turn = (0..).zip(turns.iter().cycle());
    while let Some(block) = splitter.next_block(Vec::new()).expect("valid") {
        let (number, who) = turn.next().expect("it has no end");
        let limits = Limits::default();
        let (rows, result) = inferences[*who].observe_numbered(number, &block, u64::MAX, &limits);
        result.expect("valid");
        assert_eq!(rows, block.row_count);
    }
    let [mut first, second, third] = inferences;
    first.merge(&third);
    first.merge(&second);
    first.layout(rules)
}

fn shown(layout: &Layout) -> String {
    match layout {
        Layout::Records(fields) => {
            let fields = fields.iter().map(|field| format!("{} {}", field.name, field.field_type));
            fields.collect::<Vec<_>>().join(", ")
        }
        Layout::Values(value_type) => value_type.to_string(),
    }
}

fn check(text: &str) {
    let values = read_all(text.as_bytes()).expect(text);
    let values = match values.as_slice() {
        [Element { value: Value::List(elements), .. }] => elements.clone(),
        _ => values,
    };
    let layout = layout_of(&values, &Rules::default());
    let wanted = expected(&values, &layout);
    let binary = write::to_binary(&values);
    assert_eq!(shown(&observed(text.as_bytes(), &Rules::default())), shown(&layout), "{text}");
    assert_eq!(shown(&observed(&binary, &Rules::default())), shown(&layout), "binary {text}");
    for size in 16..text.len().max(17) {
        assert_eq!(shredded(text.as_bytes(), &layout, size).expect(text), wanted, "{size}: {text}");
        assert_eq!(shredded(&binary, &layout, size).expect(text), wanted, "binary {size}: {text}");
    }
    if let Layout::Records(fields) = &layout {
        for skipped in 0..fields.len() {
            let mut some = fields.clone();
            some.remove(skipped);
            let layout = Layout::Records(some);
            let wanted = expected(&values, &layout);
            assert_eq!(shredded(text.as_bytes(), &layout, 64).expect(text), wanted, "{text}");
            assert_eq!(shredded(&binary, &layout, 64).expect(text), wanted, "{text}");
        }
    }
}

#[test]
fn shapes() {
    check("{a:1,b:\"x\"}\n{a:2,b:\"y\"}\n");
    check("{a:1,b:\"x\"}{b:\"y\",a:2} {a:3} {}");
    check("{a:1.50,b:2.5e0,c:2024-01-05T10:00:00Z,d:2024-01-05,e:true,f:{{aGk=}}}");
    check("{a:1}{a:1.5}{a:null.int}{a:-0.25}");
    check("{a:1}{a:99999999999999999999}");
    check("{a:9223372036854775807}{a:-9223372036854775808}{a:0x7f}{a:1_000}");
    check("{a:{b:{c:[1,2,3]}},d:[[\"x\"],[],[null,\"y\"]]}{a:null,d:null}{a:{b:{}}}");
    check(
        "{a:\"it's {not} [a] // comment /* */\"}{a:'quoted sym'}{a:bare}{a:'''long\nstring''' '''s'''}",
    );
    check("/* c */ {a:1 /* } */, // }\n b: 2} {'a':3,\"b\":4}");
    check("{\n  a: 1,\n  b: [\n    1,\n    2,\n  ],\n}\n{\n  a: 2,\n  b: [],\n}\n");
    check("{a:ann::1}x::{a:2}{a:x::y::3}");
    check("{a:1}{a:\"text\"}{a:[1]}");
    check("{a:(1 2 + 3)}{a:{{ \"clob\" }}}");
    check("{a:1,a:2}{a:3,b:1,a:4}");
    check(
        "{a:\"a string longer than twelve bytes, and then some\"}{a:\"ünïcode 😀\"}{a:\"esc\\n\\\"\"}",
    );
    check("[{a:1},{a:2} , {a:3}]");
    check("1 2 3");
    check("null [1,2] [3] []");
    check(
        "$ion_1_0 $ion_symbol_table::{symbols:[\"zz\"]} {$10:1} {$10:2} $ion_symbol_table::{symbols:[\"yy\"]} {$10:3}",
    );
    check("{t:2024-02-29T23:59:59.123456+05:30}{t:2024-12-31T00:00Z}{t:2024T}{t:2024-01-01}");
    check("{f:nan}{f:+inf}{f:-inf}{f:1e400}{f:-0e0}{f:123456789012345678901234567890e-5}{f:1}");
    check("{f:-0,g:1}{f:-0e0,g:2}{f:-0.0,g:3}{f:1e0,g:4}");
    check("{d:1d3}{d:-0.}{d:0.000001}{d:123456789012345678901234567890.12}");
    check("{i:9007199254740993,l:[9007199254740994,1e0]}{i:5e-1,l:[123456789012345678]}");
    check("{i:1e0,l:[-9007199254740993]}{i:-9007199254740992,l:[1e0]}");
    check("{t:2024-12-31T23:59:59.9999995Z}{t:2024-01-01T00:00:00.123456499Z}");
}

/// A float would round some integers; integers alone and smaller ones keep their types.
#[test]
fn floats_hold_every_integer_beside_them() {
    let of = |text: &str| {
        let types = inferred(text, &Rules::default());
        let binary = write::to_binary(&read_all(text.as_bytes()).expect("text is whole"));
        for bytes in [text.as_bytes(), &binary] {
            assert_eq!(format!("{:?}", observed(bytes, &Rules::default())), types, "{text}");
        }
        types
    };
    for integer in
        ["9007199254740993", "-9007199254740993", "72057594037927935", "1234567890123456789"]
    {
        assert!(of(&format!("{{a:{integer}}}{{a:1e0}}")).contains("String"), "{integer}");
        assert!(of(&format!("{{a:[1e0,{integer}]}}")).contains("List(String)"), "{integer}");
        assert!(of(&format!("{{a:{integer}}}{{a:1}}")).contains("Int(64)"), "{integer}");
    }
    for integer in
        ["9007199254740992", "-9007199254740992", "36028797018963968", "0x20000000000000"]
    {
        assert!(of(&format!("{{a:{integer}}}{{a:1e0}}")).contains("Float(64)"), "{integer}");
    }
}

#[test]
fn generated_records() {
    for seed in 1..1_500 {
        let mut generator = Generator::new(seed);
        let names = ["a", "b", "name", "two words", "x1"];
        let kinds: Vec<Element> = names.iter().map(|_| generator.element(2)).collect();
        let values: Vec<Element> = (0..1 + generator.below(8))
            .map(|_| {
                let mut fields = Vec::new();
                for (name, kind) in names.iter().zip(&kinds) {
                    match generator.below(8) {
                        0 => {}
                        1 => fields.push((Symbol::from(*name), generator.element(2))),
                        _ => fields.push((Symbol::from(*name), kind.clone())),
                    }
                }
                Element::from(Value::Struct(fields))
            })
            .collect();
        let rules = Rules { map_fields: Some(3), ..Rules::default() };
        let layout = layout_of(&values, &rules);
        let wanted = expected(&values, &layout);
        let text = values.iter().map(write::to_text).collect::<Vec<_>>().join("\n");
        let pretty = values.iter().map(write::to_pretty_text).collect::<Vec<_>>().join("\n");
        for bytes in [text.as_bytes(), pretty.as_bytes(), &write::to_binary(&values)] {
            assert_eq!(shown(&observed(bytes, &rules)), shown(&layout), "seed {seed}\n{text}");
            for size in [16, 50, 4_096] {
                let read = shredded(bytes, &layout, size);
                let read = read.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
                assert_eq!(read, wanted, "seed {seed}\n{text}");
            }
        }
    }
}

/// The scan and inference report every error inside a value with its column.
#[test]
fn errors_name_the_column() {
    let good = "{a:1,name:\"x\",p:{q:[1]}}";
    let layout = layout_of(&read_all(good.as_bytes()).expect("valid"), &Rules::default());
    for (bad, column) in [
        ("{a:0x}", "`a`"),
        ("{a:\"x\"}", "`a`"),
        ("{name:\"\\q\"}", "`name`"),
        ("{name:$99}", "`name`"),
        ("{p:{q:[1.2.3]}}", "`p.q`"),
        ("{p:{q:[1,2024-13T]}}", "`p.q`"),
    ] {
        let text = format!("{good}\n{bad}\n");
        let error = shredded(text.as_bytes(), &layout, 4_096).expect_err(bad).to_string();
        assert!(error.contains(&format!("column {column}: ")), "{bad}: {error}");
        let mut splitter = Splitter::new(text.as_bytes(), 4_096, Format::Auto, Limits::default());
        let block = splitter.next_block(Vec::new()).expect("a block").expect("rows");
        let (_, seen) = Inference::new().observe_block(&block, 9, &Limits::default());
        if let Err(error) = seen {
            assert!(error.to_string().contains(&format!("column {column}: ")), "{bad}: {error}");
        }
    }
}

#[test]
fn every_cut_of_a_file_is_a_prefix_or_an_error() {
    let text =
        b"{a:1,b:\"x\\\"y\",c:[1,{d:'''long''' }]} /* c */ {a:2} {{Zm9v}} x::{a:3.5}\n[1,2]\n";
    let values = read_all(text).expect("valid");
    let layout = Layout::Values(folio_ion::shred::Type::Json);
    let wanted = expected(&values, &layout);
    for bytes in [&text[..], &write::to_binary(&values)] {
        for cut in 0..bytes.len() {
            if let Ok(rows) = shredded(&bytes[..cut], &layout, 32) {
                // A bare word or number without its end is still a word or a number.
                let whole = rows.len().saturating_sub(1);
                assert_eq!(rows[..whole], wanted[..whole], "cut at {cut}");
            }
        }
    }
}

#[test]
fn no_part_of_a_value_that_does_not_fit_stays() {
    let fitting = read_all(b"{a: 1, b: [{c: 1}]}").unwrap();
    let layout = layout_of(&fitting, &Rules { records: Some(false), ..Rules::default() });
    let text = "{a: 1, b: [{c: 1}]} {a: 2, b: [{c: 2}, {c: x}]} {a: 3, b: [{c: 3}]}";
    let mut splitter = Splitter::new(text.as_bytes(), 1 << 10, Format::Auto, Limits::default());
    let block = splitter.next_block(Vec::new()).unwrap().unwrap();
    let mut batch = Batch::new(&layout, Limits::default());
    let mut at = block.start;
    assert!(batch.read(&block, &mut at, 3).is_err());
    at = block.skip(at).unwrap();
    batch.read(&block, &mut at, 3).unwrap();
    assert_eq!(rows(&batch), ["{1,[{1}]}", "{3,[{3}]}"]);
}

/// The layout inferred from `text`, one record per line, with these rules.
fn inferred(text: &str, rules: &Rules) -> String {
    let mut inference = Inference::new();
    let values = read_all(text.as_bytes()).expect("text is whole");
    values.iter().for_each(|value| inference.observe(value));
    format!("{:?}", inference.layout(rules))
}

#[test]
fn structs_with_many_or_rare_fields_are_maps() {
    let rules = |fields, appearance| Rules {
        map_fields: fields,
        field_appearance: appearance,
        ..Rules::default()
    };
    let alike = "{s:{a:1,b:2}} {s:{a:1,c:3}}";
    assert!(inferred(alike, &rules(Some(3), 0.1)).contains("Map(Int"));
    assert!(inferred(alike, &rules(Some(4), 0.1)).contains("Struct("));
    assert!(inferred(alike, &rules(Some(4), 0.7)).contains("Map(Int"));
    assert!(inferred(alike, &rules(None, 1.0)).contains("Struct("));
    // Many fields need one type; rare ones do not.
    let mixed = "{s:{a:1}} {s:{b:true}}";
    assert!(inferred(mixed, &rules(Some(2), 0.5)).contains("Struct("));
    assert!(inferred(mixed, &rules(Some(9), 0.6)).contains("Map(String"));
}
