//! Random values and random damage, replayable from a seed.

use folio_ion::{Decimal, Element, Int, IonType, Symbol, Timestamp, Value};

pub(crate) struct Generator {
    state: u64,
}

const TEXTS: [&str; 16] = [
    "",
    "a",
    "name",
    "null",
    "true",
    "nan",
    "$10",
    "$ion_1_0",
    "two words",
    "it's",
    "\"quoted\"",
    "line\nbreak",
    "tab\tnul\0bell\u{7}",
    "ünï😀",
    "\\u0041",
    "'''",
];

impl Generator {
    pub(crate) fn new(seed: u64) -> Generator {
        Generator { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 11) % bound
    }

    /// A value that is data at the top level, where the version marker's name is not.
    pub(crate) fn top_level(&mut self, depth: u64) -> Element {
        let marker = Element::from(Value::Symbol(Symbol::from("$ion_1_0")));
        loop {
            let element = self.element(depth);
            if element != marker {
                return element;
            }
        }
    }

    pub(crate) fn element(&mut self, depth: u64) -> Element {
        let annotations = match self.below(8) {
            0 => (0..1 + self.below(2)).map(|_| self.symbol()).collect(),
            _ => Vec::new(),
        };
        Element { annotations, value: self.value(depth) }
    }

    fn value(&mut self, depth: u64) -> Value {
        match self.below(if depth == 0 { 11 } else { 14 }) {
            0 => Value::Null(IonType::ALL[self.below(13) as usize]),
            1 => Value::Bool(self.below(2) == 1),
            2 | 3 => Value::Int(self.int()),
            4 => Value::Float(self.float()),
            5 => Value::Decimal(self.decimal()),
            6 => Value::Timestamp(self.timestamp()),
            7 => Value::Symbol(self.symbol()),
            8 => Value::String(self.text().to_owned()),
            9 => Value::Clob(self.bytes()),
            10 => Value::Blob(self.bytes()),
            11 => Value::List(self.elements(depth)),
            12 => Value::SExp(self.elements(depth)),
            _ => Value::Struct(
                (0..self.below(5)).map(|_| (self.symbol(), self.element(depth - 1))).collect(),
            ),
        }
    }

    fn elements(&mut self, depth: u64) -> Vec<Element> {
        (0..self.below(5)).map(|_| self.element(depth - 1)).collect()
    }

    fn text(&mut self) -> &'static str {
        TEXTS[self.below(TEXTS.len() as u64) as usize]
    }

    fn symbol(&mut self) -> Symbol {
        Symbol::from(self.text())
    }

    fn bytes(&mut self) -> Vec<u8> {
        (0..self.below(20)).map(|_| self.next() as u8).collect()
    }

    fn int(&mut self) -> Int {
        let wide = i128::from(self.next() as i64) << 64 | i128::from(self.next());
        Int::from(wide >> self.below(128))
    }

    fn float(&mut self) -> f64 {
        match self.below(4) {
            0 => {
                [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.5][self.below(6) as usize]
            }
            1 => f64::from_bits(self.next()),
            _ => self.next() as i32 as f64 / 1000.0,
        }
    }

    fn decimal(&mut self) -> Decimal {
        let exponent = self.below(60) as i32 - 40;
        match self.below(6) {
            0 => Decimal::negative_zero(exponent),
            _ => Decimal::new(self.int(), exponent),
        }
    }

    fn timestamp(&mut self) -> Timestamp {
        let text = self.timestamp_text();
        let read = folio_ion::read_all(text.as_bytes()).expect("a generated timestamp is valid");
        let Value::Timestamp(timestamp) = &read[0].value else { panic!("{text}") };
        timestamp.clone()
    }

    fn timestamp_text(&mut self) -> String {
        let year = [1 + self.below(9998), 1990 + self.below(60)][self.below(2) as usize].max(2);
        let (month, day) = (1 + self.below(12), 1 + self.below(28));
        let date = format!("{year:04}-{month:02}-{day:02}");
        let time = format!("{:02}:{:02}", self.below(24), self.below(60));
        let seconds = format!("{:02}", self.below(60));
        let zone = match self.below(4) {
            0 => "Z".to_owned(),
            1 => "-00:00".to_owned(),
            2 => format!("+{:02}:{:02}", self.below(24), self.below(60)),
            _ => format!("-{:02}:{:02}", self.below(24), 1 + self.below(59)),
        };
        match self.below(6) {
            0 => format!("{year:04}T"),
            1 => format!("{year:04}-{month:02}T"),
            2 => date,
            3 => format!("{date}T{time}{zone}"),
            4 => format!("{date}T{time}:{seconds}{zone}"),
            _ => {
                let digits = 1 + self.below(12) as usize;
                let fraction = self.below(10u64.pow(digits as u32));
                format!("{date}T{time}:{seconds}.{fraction:0digits$}{zone}")
            }
        }
    }

    /// Changes, removes or inserts a few bytes.
    pub(crate) fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..1 + self.below(3) {
            if bytes.is_empty() {
                return;
            }
            let at = self.below(bytes.len() as u64) as usize;
            match self.below(5) {
                0 => bytes[at] = self.next() as u8,
                1 => bytes[at] ^= 1 << self.below(8),
                2 => bytes.truncate(at),
                3 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b"{}[]()\"',:\\/*.-+0eTZ_$ \n"[self.below(24) as usize]),
            }
        }
    }

    /// Text assembled from tokens of text Ion.
    pub(crate) fn noise(&mut self) -> Vec<u8> {
        const PIECES: [&str; 48] = [
            "{",
            "}",
            "[",
            "]",
            "(",
            ")",
            ",",
            ":",
            "::",
            "'",
            "'''",
            "\"",
            "\\",
            "/*",
            "*/",
            "//",
            "\n",
            " ",
            "{{",
            "}}",
            "null",
            "null.int",
            "true",
            "nan",
            "+inf",
            "-inf",
            "$10",
            "$0",
            "a",
            "b1",
            "0",
            "12",
            "-5",
            "0x1F",
            "0b10",
            "1_000",
            "1.5",
            "1d3",
            "1e3",
            "2024T",
            "2024-01-01T",
            "2024-01-01T00:00Z",
            "2024-02-30",
            "aGk=",
            "\\n",
            "\\u00e9",
            "+",
            "é",
        ];
        let pieces = (0..1 + self.below(9)).map(|_| PIECES[self.below(48) as usize]);
        pieces.collect::<String>().into_bytes()
    }
}
