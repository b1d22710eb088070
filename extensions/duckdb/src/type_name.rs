//! Type names in the `columns` option: `BIGINT`, `DECIMAL(10,2)`, `STRUCT(a INT, b DATE[])`.

use folio_ion::shred::{Field, Type};

/// The deepest nesting of types in one name.
const DEPTH: usize = 64;

/// The type called `text`.
pub(crate) fn parse(text: &str) -> Result<Type, String> {
    let mut parser = Parser { rest: text.trim() };
    let parsed = parser.type_name(0).filter(|_| parser.rest.is_empty());
    parsed.ok_or_else(|| format!("type '{text}' cannot hold Ion values"))
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn type_name(&mut self, depth: usize) -> Option<Type> {
        if depth > DEPTH {
            return None;
        }
        let mut found = self.base(depth)?;
        while self.eat("[") {
            if !self.eat("]") {
                return None;
            }
            found = Type::List(Box::new(found));
        }
        Some(found)
    }

    fn base(&mut self, depth: usize) -> Option<Type> {
        let word = self.word()?.to_ascii_uppercase();
        Some(match word.as_str() {
            "BOOLEAN" | "BOOL" | "LOGICAL" => Type::Bool,
            "TINYINT" | "INT1" => Type::Int(8),
            "SMALLINT" | "INT2" | "SHORT" => Type::Int(16),
            "INTEGER" | "INT" | "INT4" | "SIGNED" => Type::Int(32),
            "BIGINT" | "INT8" | "LONG" => Type::Int(64),
            "UTINYINT" => Type::UInt(8),
            "USMALLINT" => Type::UInt(16),
            "UINTEGER" => Type::UInt(32),
            "UBIGINT" => Type::UInt(64),
            "HUGEINT" | "INT128" => Type::HugeInt,
            "FLOAT" | "REAL" | "FLOAT4" => Type::Float(32),
            "DOUBLE" | "FLOAT8" => Type::Float(64),
            "DECIMAL" | "NUMERIC" | "DEC" => self.decimal()?,
            "TIMESTAMPTZ" => Type::Timestamp,
            "TIMESTAMP" | "DATETIME" => self.timestamp()?,
            "DATE" => Type::Date,
            "VARCHAR" | "TEXT" | "STRING" | "CHAR" | "BPCHAR" => {
                // A length is allowed and ignored, as elsewhere in DuckDB.
                if self.eat("(") {
                    self.number()?;
                    self.close()?;
                }
                Type::String
            }
            "JSON" => Type::Json,
            "BLOB" | "BYTEA" | "BINARY" | "VARBINARY" => Type::Blob,
            "STRUCT" | "ROW" => self.fields(depth)?,
            "MAP" => self.map(depth)?,
            _ => return None,
        })
    }

    fn decimal(&mut self) -> Option<Type> {
        if !self.eat("(") {
            return Some(Type::Decimal { precision: 18, scale: 3 });
        }
        let precision = self.number()?;
        let scale = if self.eat(",") { self.number()? } else { 0 };
        self.close()?;
        ((1..=38).contains(&precision) && scale <= precision)
            .then_some(Type::Decimal { precision, scale })
    }

    fn timestamp(&mut self) -> Option<Type> {
        let words = ["WITH", "TIME", "ZONE"];
        let zoned = self.rest.to_ascii_uppercase();
        let named: Vec<&str> = zoned.split_whitespace().take(3).collect();
        if named.first() != Some(&words[0]) {
            return Some(Type::UtcTimestamp);
        }
        words
            .iter()
            .all(|word| self.word().is_some_and(|found| found.eq_ignore_ascii_case(word)))
            .then_some(Type::Timestamp)
    }

    fn fields(&mut self, depth: usize) -> Option<Type> {
        self.open()?;
        let mut fields = Vec::new();
        loop {
            let name = self.name()?;
            fields.push(Field { name, field_type: self.type_name(depth + 1)? });
            if !self.eat(",") {
                self.close()?;
                return Some(Type::Struct(fields));
            }
        }
    }

    fn map(&mut self, depth: usize) -> Option<Type> {
        self.open()?;
        let key = self.type_name(depth + 1)?;
        if key != Type::String || !self.eat(",") {
            return None;
        }
        let value = self.type_name(depth + 1)?;
        self.close()?;
        Some(Type::Map(Box::new(value)))
    }

    /// A field's name, optionally in double quotes.
    fn name(&mut self) -> Option<String> {
        let Some(quoted) = self.rest.strip_prefix('"') else {
            return self.word().map(str::to_owned);
        };
        let mut name = String::new();
        let mut rest = quoted;
        loop {
            let end = rest.find('"')?;
            name.push_str(&rest[..end]);
            rest = &rest[end + 1..];
            match rest.strip_prefix('"') {
                Some(after) => {
                    name.push('"');
                    rest = after;
                }
                None => break,
            }
        }
        self.rest = rest.trim_start();
        Some(name)
    }

    fn word(&mut self) -> Option<&'a str> {
        let part = |c: char| c.is_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        (!word.is_empty()).then_some(word)
    }

    fn number(&mut self) -> Option<u8> {
        self.word()?.parse().ok()
    }

    fn eat(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn open(&mut self) -> Option<()> {
        self.eat("(").then_some(())
    }

    fn close(&mut self) -> Option<()> {
        self.eat(")").then_some(())
    }
}
