//! Compares the direct readers with the tree, over notations and orders of fields.

#[allow(dead_code)]
mod generate;

use folio_ion::shred::{Batch, Block, Field, Layout, Type};
use folio_ion::{Format, Limits, Splitter, read_all, write};
use generate::Generator;

const TYPES: [Type; 10] = [
    Type::Int(64),
    Type::Int(32),
    Type::Int(8),
    Type::Float(64),
    Type::Decimal { precision: 18, scale: 3 },
    Type::Decimal { precision: 7, scale: 7 },
    Type::Timestamp,
    Type::Date,
    Type::Bool,
    Type::String,
];

/// Bytes after a value: the direct readers look some bytes ahead.
const TAILS: [&str; 4] =
    ["}", ",b:1}\n{b:1}\n{b:1}\n{b:1}\n{b:1}\n", " ,b:1}", "/**/,b:12345678901234}"];

fn layout(value_type: &Type) -> Layout {
    let field =
        |name: &str, field_type: &Type| Field { name: name.into(), field_type: field_type.clone() };
    Layout::Records(vec![field("a", value_type), field("b", &Type::Int(64))])
}

fn block(text: String) -> Option<Block> {
    Block::of_piece(text.into_bytes(), 0, Limits::default())
}

/// The columns as they are, for comparison.
fn shown(batch: &Batch) -> String {
    let columns = batch.columns().iter();
    let shown = columns.map(|column| format!("{:?} {:?}", column.validity(), column.data()));
    shown.collect::<Vec<_>>().join("\n")
}

/// The first record of `text`, read directly and as a tree; `None` if it is rejected.
fn both(text: &str, layout: &Layout) -> Option<[Option<String>; 2]> {
    let block = block(text.to_owned())?;
    let mut batch = Batch::new(layout, Limits::default());
    // The first record has no expected order yet, so it is read twice.
    let read = (0..2).try_for_each(|_| {
        batch.clear();
        batch.read(&block, &mut 0, 1)
    });
    let direct = read.ok().map(|()| shown(&batch));
    let mut batch = Batch::new(layout, Limits::default());
    let element = block.element(0, &Limits::default()).ok().flatten();
    let tree = element.and_then(|(element, _)| batch.push(&element).ok()).map(|()| shown(&batch));
    Some([direct, tree])
}

fn digits(generator: &mut Generator, most: u64) -> String {
    let count = generator.below(most + 1);
    (0..count).map(|_| char::from(b'0' + generator.below(10) as u8)).collect()
}

/// A number, a timestamp, a word, or nearly one.
fn spelling(generator: &mut Generator) -> String {
    let sign = ["", "", "-"][generator.below(3) as usize];
    let whole = match generator.below(3) {
        0 => "0".to_owned(),
        _ => digits(generator, 20),
    };
    let exact = generator.below(23);
    let mut text = match generator.below(10) {
        0 | 1 => format!("{sign}{whole}"),
        2 | 3 => format!("{sign}{whole}.{}", digits(generator, 20)),
        4 => format!("{sign}{whole}.{}e{sign}{exact}", digits(generator, 9)),
        5 => format!("{sign}{whole}E+{}", digits(generator, 4)),
        6 => {
            let pair = |generator: &mut Generator, most| format!("{:02}", generator.below(most));
            let date = format!("{:04}-{}", generator.below(10_000), pair(generator, 14));
            let (day, hour) = (pair(generator, 33), pair(generator, 26));
            let (minute, second) = (pair(generator, 62), pair(generator, 62));
            let zone = match generator.below(3) {
                0 => "Z".to_owned(),
                _ => format!("{}{hour}:{minute}", ["+", "-"][generator.below(2) as usize]),
            };
            let fraction = format!(".{}", digits(generator, 7));
            let fraction = [&fraction, ""][generator.below(2) as usize];
            format!("{date}-{day}T{hour}:{minute}:{second}{fraction}{zone}")
        }
        7 => ["2024-02-29", "2023-02-29", "2024-05-31T", "2024-04-31", "0000-01-01", "0001-01-01T"]
            [generator.below(6) as usize]
            .to_owned(),
        8 => ["true", "false", "null", "null.int", "null.bool", "nan", "truer"]
            [generator.below(7) as usize]
            .to_owned(),
        _ => format!(
            "\"{}\"",
            ["", "x", "é", "\\n", "\t"][generator.below(5) as usize]
                .repeat(generator.below(20) as usize,)
        ),
    };
    if generator.below(4) == 0 {
        let mut bytes = text.into_bytes();
        generator.damage(&mut bytes);
        text = String::from_utf8_lossy(&bytes).into_owned();
    }
    text
}

#[test]
fn scalars_are_read_alike() {
    let rounds = if std::env::var_os("FOLIO_DEEP").is_some() { 3_000_000 } else { 100_000 };
    let mut accepted = 0;
    for seed in 0..rounds {
        let mut generator = Generator::new(seed);
        let value = spelling(&mut generator);
        let tail = TAILS[generator.below(TAILS.len() as u64) as usize];
        let text = format!("{{a:{value}{tail}");
        let value_type = &TYPES[generator.below(TYPES.len() as u64) as usize];
        // Damage may end the record early, or begin another one.
        let Some([direct, tree]) = both(&text, &layout(value_type)) else { continue };
        if read_all(text.as_bytes()).is_ok() {
            assert_eq!(direct, tree, "seed {seed}: {text} as {value_type}");
        } else if let (Some(direct), Some(tree)) = (&direct, &tree) {
            assert_eq!(direct, tree, "seed {seed}: {text} as {value_type}");
        }
        accepted += usize::from(direct.is_some());
    }
    assert!(accepted > rounds as usize / 10, "{accepted} of {rounds} were values of their column");
}

/// Names that occur, are missing, are repeated, in another order or another notation.
#[test]
fn fields_in_any_order_are_read_alike() {
    const NAMES: [&str; 12] = [
        "a",
        "'a'",
        "b",
        " b",
        "\"b\"",
        "c",
        "c ",
        "d",
        "longer_than_sixteen_bytes",
        "e",
        "$4",
        "f",
    ];
    let wanted = ["a", "b", "c", "longer_than_sixteen_bytes", "name"];
    let field = |name: &&str| Field { name: (*name).into(), field_type: Type::Int(64) };
    for seed in 0..3_000 {
        let mut generator = Generator::new(seed);
        let usual: Vec<_> = (0..6).map(|_| NAMES[generator.below(12) as usize]).collect();
        let mut text = String::new();
        for _ in 0..8 {
            let mut names = usual.clone();
            for _ in 0..generator.below(3) {
                let at = generator.below(names.len() as u64) as usize;
                match generator.below(3) {
                    0 => names.insert(at, NAMES[generator.below(12) as usize]),
                    1 => names[at] = NAMES[generator.below(12) as usize],
                    _ => drop(names.remove(at)),
                }
            }
            let mut field = |name: &&str| {
                let colon = [":", ":", ": ", ":  "][generator.below(4) as usize];
                format!("{name}{colon}{}", generator.below(99))
            };
            let fields: Vec<_> = names.iter().map(&mut field).collect();
            text.push_str(&format!("{{{}}}\n", fields.join(",")));
        }
        let fields = wanted[..1 + generator.below(5) as usize].iter().map(field).collect();
        let layout = Layout::Records(fields);
        let block = block(text.clone()).expect("whole records");
        let (mut direct, mut tree) =
            (Batch::new(&layout, Limits::default()), Batch::new(&layout, Limits::default()));
        direct.read(&block, &mut 0, 99).expect("integers");
        let rows = read_all(text.as_bytes()).expect("valid");
        rows.iter().for_each(|row| tree.push(row).expect("integers"));
        assert_eq!(direct.row_count(), 8);
        assert_eq!(shown(&direct), shown(&tree), "seed {seed}\n{text}");
        let bytes = write::to_binary(&rows);
        let mut splitter = Splitter::new(&bytes[..], 1 << 20, Format::Auto, Limits::default());
        let block = splitter.next_block(Vec::new()).expect("a block").expect("rows");
        direct.clear();
        direct.read(&block, &mut block.start.clone(), 99).expect("integers");
        assert_eq!(shown(&direct), shown(&tree), "binary, seed {seed}\n{text}");
    }
}

/// Every byte in place of every separator, for expected and unexpected fields.
#[test]
fn separators_are_read_alike() {
    let field = |name: &str| Field { name: name.into(), field_type: Type::Int(64) };
    let layout = Layout::Records(["a", "b", "c", "d"].map(field).to_vec());
    let first = "{a:1,b:2,c:3,d:4}\n";
    for second in ["{a:1,b:2,c:3,d:4}", "{a:1,c:3,d:4}", "{b:2,c:3,d:4}", "{d:4,a:1,b:2,c:3}"] {
        for at in (0..second.len()).filter(|at| b",:{".contains(&second.as_bytes()[*at])) {
            for byte in 0..0x80 {
                let mut damaged = second.as_bytes().to_vec();
                damaged[at] = byte;
                let text = format!("{first}{}\n", String::from_utf8_lossy(&damaged));
                let Some(block) = block(text.clone()) else { continue };
                let (mut direct, mut tree) =
                    [(), ()].map(|()| Batch::new(&layout, Limits::default())).into();
                let read = direct.read(&block, &mut 0, block.row_count as usize);
                let pushed = read_all(text.as_bytes())
                    .and_then(|rows| rows.iter().try_for_each(|row| tree.push(row)));
                assert_eq!(read.is_ok(), pushed.is_ok(), "{text}");
                if read.is_ok() {
                    assert_eq!(shown(&direct), shown(&tree), "{text}");
                }
            }
        }
    }
}
