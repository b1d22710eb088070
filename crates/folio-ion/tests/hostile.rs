//! Small inputs that announce a lot: each ends in an error, quickly, in limited memory.

use folio_ion::shred::{Batch, Inference, Layout, Rules, Type};
use folio_ion::{ErrorKind, Format, Limits, Reader, Splitter, read_all, write};
use std::time::Duration;

/// The processor time of this thread, so that a busy machine fails no test. The scheduler counts it
/// in nanoseconds (Linux, `proc_pid_schedstat`).
fn processor_time() -> Duration {
    let counts = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts it");
    let nanoseconds = counts.split(' ').next().expect("a first number");
    Duration::from_nanos(nanoseconds.parse().expect("nanoseconds"))
}

/// Reads `bytes` as a tree and as columns; the tree's error.
fn refuse(bytes: &[u8]) -> folio_ion::Error {
    let start = processor_time();
    let error = read_all(bytes).expect_err("a hostile input is refused");
    let _ = scan(bytes);
    let taken = processor_time() - start;
    assert!(taken < Duration::from_secs(10), "took {taken:?}");
    error
}

fn scan(bytes: &[u8]) -> folio_ion::Result<u64> {
    let mut splitter = Splitter::new(bytes, 1 << 16, Format::Auto, Limits::default());
    let mut inference = Inference::new();
    let mut rows = 0;
    while let Some(block) = splitter.next_block(Vec::new())? {
        let (_, observed) = inference.observe_block(&block, u64::MAX, &Limits::default());
        observed?;
        for layout in [inference.layout(&Rules::default()), Layout::Values(Type::Json)] {
            let mut batch = Batch::new(&layout, Limits::default());
            let mut at = block.start;
            while at < block.bytes.len() {
                batch.clear();
                batch.read(&block, &mut at, 2_048)?;
            }
        }
        rows += block.row_count;
    }
    Ok(rows)
}

#[test]
fn depth() {
    for (open, close) in [("[", "]"), ("(", ")"), ("{a:", "}")] {
        let text = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        assert_eq!(refuse(text.as_bytes()).kind(), ErrorKind::Limit);
        assert_eq!(refuse(open.repeat(1_000_000).as_bytes()).kind(), ErrorKind::Limit);
    }
    let mut bytes = vec![0x20];
    for _ in 0..5_000 {
        let mut outer = vec![0xbe];
        let length = bytes.len();
        outer.extend([
            (length >> 14) as u8 & 0x7f,
            (length >> 7) as u8 & 0x7f,
            length as u8 | 0x80,
        ]);
        outer.append(&mut bytes);
        bytes = outer;
    }
    let stream = [&folio_ion::VERSION_MARKER[..], &bytes].concat();
    assert_eq!(refuse(&stream).kind(), ErrorKind::Limit);
}

/// A list or struct in binary, `count` levels deep.
fn deep_binary(code: u8, count: usize) -> Vec<u8> {
    let mut bytes = vec![0x20];
    for _ in 0..count {
        // A struct's field has a name, number 4 of the system symbols.
        if code == 0xde {
            bytes.push(0x84);
        }
        let length = bytes.len() as u32;
        bytes.extend([
            length as u8 & 0x7f | 0x80,
            (length >> 7) as u8 & 0x7f,
            (length >> 14) as u8 & 0x7f,
            code,
        ]);
    }
    bytes.extend(folio_ion::VERSION_MARKER.iter().rev());
    bytes.reverse();
    bytes
}

/// Values at the limit are read, written and dropped, and deeper ones refused, on little stack.
#[test]
fn any_depth_on_a_small_stack() {
    let check = || {
        for count in [255, 256, 257, 10_000, 100_000] {
            let mut all: Vec<Vec<u8>> = [("[", "]"), ("(", ")"), ("{a:", "}"), ("x::[", "]")]
                .map(|(open, close)| {
                    format!("{}1{}", open.repeat(count), close.repeat(count)).into_bytes()
                })
                .into();
            // Longer values exceed another limit.
            let binary = count.min(500_000);
            all.extend([0xbe, 0xce, 0xde].map(|code| deep_binary(code, binary)));
            for bytes in all {
                let read = read_all(&bytes);
                assert_eq!(read.is_ok(), count <= 256, "{count}: {read:.100?}");
                let scanned = scan(&bytes);
                // A record is a level itself, so its columns have one less.
                let said = scanned.err().map(|error| error.to_string()).unwrap_or_default();
                assert!(said.is_empty() || count > 255, "{count}: {said}");
                assert!(said.len() < 1_000, "{count}: {} bytes", said.len());
                let Ok(elements) = read else { continue };
                assert_eq!(elements, elements.clone());
                for element in &elements {
                    write::to_pretty_text(element);
                    write::to_json(element);
                    let text = write::to_text(element);
                    assert_eq!(read_all(text.as_bytes()).unwrap().first(), Some(element));
                }
                assert_eq!(read_all(&write::to_binary(&elements)).unwrap(), elements);
            }
        }
    };
    std::thread::Builder::new().stack_size(512 << 10).spawn(check).unwrap().join().unwrap();
}

#[test]
fn annotations_and_comments_do_not_nest() {
    assert_eq!(refuse("a::".repeat(300_000).as_bytes()).kind(), ErrorKind::Syntax);
    assert_eq!(refuse("/*".repeat(300_000).as_bytes()).kind(), ErrorKind::Syntax);
    assert_eq!(refuse("'''".repeat(300_001).as_bytes()).kind(), ErrorKind::Syntax);
}

/// Garbage in place of an element was once skipped without any progress.
#[test]
fn lists_with_garbage_for_elements() {
    for text in
        ["[\u{fd}]", "[,1]", "[1 2]", "[1,,2]", "[1", "[1,2]]", "[{a:1} {a:2}]", "[=", "[1,)"]
    {
        assert_eq!(refuse(text.as_bytes()).kind(), ErrorKind::Syntax, "{text}");
        assert!(scan(text.as_bytes()).is_err(), "{text} is refused by one reader only");
    }
    for text in ["[]", "[1,]", "[1,2]", " [ {a:1} , {a:2} ] "] {
        assert!(scan(text.as_bytes()).is_ok(), "{text}");
    }
}

#[test]
fn symbols() {
    let import = r#"$ion_symbol_table::{imports:[{name:"x",version:1,max_id:2000000000}]} $10"#;
    assert_eq!(refuse(import.as_bytes()).kind(), ErrorKind::Limit);
    let negative = r#"$ion_symbol_table::{imports:[{name:"x",version:1,max_id:-1}]} $10"#;
    assert_eq!(refuse(negative.as_bytes()).kind(), ErrorKind::Symbol);
    assert_eq!(refuse(b"$18446744073709551617").kind(), ErrorKind::Symbol);
    let append = r#"$ion_symbol_table::{imports:$ion_symbol_table,symbols:["a","b","c","d"]}"#;
    let mut text = append.repeat(20_000);
    text.push_str("$80010");
    assert_eq!(refuse(text.as_bytes()).kind(), ErrorKind::Symbol);
}

#[test]
fn many_appends_between_records_stay_within_bounds() {
    let start = processor_time();
    let mut text =
        r#"$ion_symbol_table::{imports:[{name:"x",version:1,max_id:1000000}]}"#.to_owned();
    for _ in 0..2_000 {
        text.push_str(r#"$ion_symbol_table::{imports:$ion_symbol_table,symbols:["a"]}{a:1}"#);
    }
    let error = scan(text.as_bytes()).expect_err("more copies than a stream may cost");
    assert_eq!(error.kind(), ErrorKind::Limit);
    let taken = processor_time() - start;
    assert!(taken < Duration::from_secs(20), "took {taken:?}");
}

#[test]
fn numbers() {
    assert_eq!(refuse(b"1d99999999999999999999").kind(), ErrorKind::Limit);
    assert_eq!(refuse(b"1d-2000000").kind(), ErrorKind::Limit);
    assert_eq!(refuse("9".repeat(1_000_000).as_bytes()).kind(), ErrorKind::Limit);
    assert_eq!(refuse(format!("0x{}", "f".repeat(1_000_000)).as_bytes()).kind(), ErrorKind::Limit);
    let long = format!("2024-01-01T00:00:00.{}Z", "0".repeat(1_000_000));
    assert_eq!(refuse(long.as_bytes()).kind(), ErrorKind::Limit);
    // An exponent outside the range of floats gives infinity or zero, and costs nothing.
    assert!(read_all(b"1e999999999999 1e-999999999999").is_ok());
}

#[test]
fn lengths() {
    let marker = &folio_ion::VERSION_MARKER[..];
    for tail in [
        &[0x8e, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0xff][..],
        &[0xbe, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff],
        &[0xde, 0x0f, 0xff],
        &[0x0e, 0x7f, 0x7f, 0x7f, 0xff],
        &[0xee, 0xff, 0x81],
        &[0xb3, 0x8e, 0xff, 0x00],
    ] {
        refuse(&[marker, tail].concat());
    }
}

#[test]
fn a_value_beyond_the_limit_is_refused_before_it_is_whole() {
    let limits = Limits { value_size: 1 << 20, ..Limits::default() };
    let endless = std::io::Read::chain(&b"{a:\""[..], std::io::repeat(b'x'));
    let error = Reader::new(endless).with_limits(limits).read().expect_err("too large");
    assert_eq!(error.kind(), ErrorKind::Size);
    let endless = std::io::Read::chain(&b"{a:\""[..], std::io::repeat(b'x'));
    let mut splitter = Splitter::new(endless, 1 << 16, Format::Auto, limits);
    assert_eq!(splitter.next_block(Vec::new()).expect_err("too large").kind(), ErrorKind::Size);
}

#[test]
fn a_map_of_many_names_takes_linear_time() {
    let fields: Vec<String> = (0..200_000).map(|index| format!("k{index}:1")).collect();
    let text = format!("{{m:{{{}}}}}\n", fields.join(","));
    let start = processor_time();
    assert_eq!(scan(text.as_bytes()).expect("valid"), 1);
    let taken = processor_time() - start;
    assert!(taken < Duration::from_secs(10), "took {taken:?}");
}

#[test]
fn byte_order_marks_are_called_that() {
    for text in
        [&b"\xef\xbb\xbf{a:1}"[..], b"\xff\xfe{\0}\0", b"\xfe\xff\0{\0}", b"\0\0\xfe\xff\0\0\0{"]
    {
        let message = refuse(text).to_string();
        assert!(message.contains("a byte order mark"), "{message}");
    }
}

#[test]
fn a_source_that_fails_is_no_place_in_the_stream() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the line is dead"))
        }
    }
    let error = Reader::new(Broken).read().expect_err("nothing can be read");
    assert_eq!(error.to_string(), "the line is dead");
}
