//! The local symbol table: maps numbers to symbols, and is rebuilt when the stream redefines it.
//!
//! The symbols of an import are unknown, and have numbers all the same, up to two thousand million.
//! Such a gap is stored as its two ends.

use super::{ImportLocation, Symbol};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::value::{Element, IonType, Value};
use std::sync::{Arc, LazyLock};

/// The symbols that Ion 1.0 itself defines, from number 1.
pub(crate) const SYSTEM_SYMBOLS: [&str; 9] = [
    "$ion",
    "$ion_1_0",
    "$ion_symbol_table",
    "name",
    "version",
    "imports",
    "symbols",
    "max_id",
    "$ion_shared_symbol_table",
];

static SYSTEM_TABLE: LazyLock<Arc<SymbolTable>> = LazyLock::new(|| {
    let system = SYSTEM_SYMBOLS.iter().map(|text| Symbol::from(*text));
    let symbols = std::iter::once(Symbol::ZERO).chain(system).collect();
    Arc::new(SymbolTable { symbols, gaps: Vec::new() })
});

/// The meaning of symbol numbers in a part of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolTable {
    /// Symbols outside the gaps.
    symbols: Vec<Symbol>,
    /// In ascending order.
    gaps: Vec<Gap>,
}

/// The numbers of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Gap {
    start: usize,
    end: usize,
    /// The count of numbers in this gap and all gaps before it.
    skipped: usize,
    table: Arc<str>,
}

impl SymbolTable {
    /// The table at the start of a stream and after each version marker.
    pub fn system() -> Arc<SymbolTable> {
        SYSTEM_TABLE.clone()
    }

    /// The symbol with number `id`.
    pub fn get(&self, id: usize) -> Option<Symbol> {
        match self.gap_before(id) {
            Some(gap) if id < gap.end => {
                let position = 1 + id - gap.start;
                let location = ImportLocation { table: gap.table.clone(), position };
                Some(Symbol::Unknown(Some(Arc::new(location))))
            }
            gap => self.symbols.get(id - gap.map_or(0, |gap| gap.skipped)).cloned(),
        }
    }

    /// The text of the symbol with number `id`, if it is known.
    pub(crate) fn text(&self, id: usize) -> Option<&str> {
        match self.gap_before(id) {
            Some(gap) if id < gap.end => None,
            gap => self.symbols.get(id - gap.map_or(0, |gap| gap.skipped))?.text(),
        }
    }

    /// The last gap that begins at or before `id`.
    fn gap_before(&self, id: usize) -> Option<&Gap> {
        let after = self.gaps.partition_point(|gap| gap.start <= id);
        self.gaps.get(after.checked_sub(1)?)
    }

    /// One more than the greatest number in use.
    pub fn len(&self) -> usize {
        self.symbols.len() + self.gaps.last().map_or(0, |gap| gap.skipped)
    }

    /// Always false, since the system symbols are always present.
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// Whether `element` at the top level defines a symbol table. A null struct does, like an empty
    /// one.
    pub fn is_definition(element: &Element) -> bool {
        let first = element.annotations.first().and_then(Symbol::text);
        first == Some("$ion_symbol_table") && element.ion_type() == IonType::Struct
    }

    /// The table after `current` and `definition` (a struct annotated `$ion_symbol_table`).
    ///
    /// # Errors
    ///
    /// Repeated `imports` or `symbols`, an import of unknown size, more symbols than `limits`
    /// allow.
    pub fn define(
        current: Arc<SymbolTable>,
        definition: &Element,
        limits: &Limits,
    ) -> Result<Arc<SymbolTable>> {
        let imports = only_field(definition, "imports")?;
        let symbols = only_field(definition, "symbols")?;
        let appends = imports.is_some_and(|imports| match &imports.value {
            Value::Symbol(symbol) => symbol.text() == Some("$ion_symbol_table"),
            _ => false,
        });
        let mut table = if appends { current } else { SymbolTable::system() };
        // Appending in place keeps a stream of many small appends linear.
        let target = Arc::make_mut(&mut table);
        if let Some(Value::List(imports)) = imports.map(|imports| &imports.value) {
            for import in imports {
                append_import(target, import, limits)?;
            }
        }
        if let Some(Value::List(texts)) = symbols.map(|symbols| &symbols.value) {
            check_count(target.len() + texts.len(), limits)?;
            target.symbols.extend(texts.iter().map(|text| match &text.value {
                Value::String(text) => Symbol::from(text.as_str()),
                _ => Symbol::ZERO,
            }));
        }
        Ok(table)
    }
}

fn only_field<'a>(definition: &'a Element, name: &str) -> Result<Option<&'a Element>> {
    let Value::Struct(fields) = &definition.value else { return Ok(None) };
    let mut found = fields.iter().filter(|(field, _)| field.text() == Some(name));
    let first = found.next().map(|(_, element)| element);
    match found.next() {
        Some(_) => Err(Error::syntax(0, format!("a symbol table repeats its field `{name}`"))),
        None => Ok(first),
    }
}

fn append_import(target: &mut SymbolTable, import: &Element, limits: &Limits) -> Result<()> {
    let Some(Value::String(name)) = import.get("name").map(|name| &name.value) else {
        return Ok(());
    };
    if name.is_empty() || name == "$ion" {
        return Ok(());
    }
    // A `max_id` that is not a whole number is ignored ("Symbol Tables", Imports).
    let Some(size) = whole_number(import.get("max_id")) else {
        let message = format!(
            "symbol table `{name}` is imported without `max_id`, and shared tables are not read; \
             write the file without imports"
        );
        return Err(Error::new(ErrorKind::Symbol, 0, message));
    };
    check_count(target.len().saturating_add(size), limits)?;
    if size > 0 {
        let start = target.len();
        let skipped = target.gaps.last().map_or(0, |gap| gap.skipped) + size;
        target.gaps.push(Gap { start, end: start + size, skipped, table: name.as_str().into() });
    }
    Ok(())
}

fn whole_number(element: Option<&Element>) -> Option<usize> {
    let Value::Int(int) = &element?.value else { return None };
    usize::try_from(int.to_i64()?).ok()
}

fn check_count(count: usize, limits: &Limits) -> Result<()> {
    if count <= limits.symbol_count {
        return Ok(());
    }
    let allowed = limits.symbol_count;
    Err(Error::limit(
        0,
        format!("a symbol table holds {count} symbols; at most {allowed} are allowed"),
    ))
}
