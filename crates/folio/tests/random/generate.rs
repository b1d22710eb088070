//! Random schemas and statements that mean the same to SQLite and to us.
//!
//! Features with different semantics are not generated: division, comparisons between types, nulls
//! in an order without NULLS FIRST or LAST, changes of key columns.

use crate::random::Random;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Integer,
    Text,
    Float,
}

const KINDS: [Kind; 3] = [Kind::Integer, Kind::Text, Kind::Float];

struct Table {
    name: &'static str,
    columns: Vec<(String, Kind)>,
    /// How many of the first columns are the primary key.
    key: usize,
}

/// A schema and the statements over it.
pub(crate) struct Generator {
    random: Random,
    tables: Vec<Table>,
}

/// The tables a query reads, under their aliases.
type Sources = Vec<(String, usize)>;

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let count = 2 + random.below(2);
        let tables = ["alpha", "beta", "gamma"][..count].iter().map(|name| {
            let width = 2 + random.below(4);
            let mut columns = vec![("a0".to_owned(), Kind::Integer)];
            let others = (1..width).map(|index| (format!("a{index}"), KINDS[random.below(3)]));
            columns.extend(others);
            // A key of two columns has runs of rows with the same first one.
            let key = match (random.below(4), columns[1].1) {
                (0, _) => 0,
                (1, Kind::Integer | Kind::Text) => 2,
                _ => 1,
            };
            Table { name, columns, key }
        });
        let tables = tables.collect();
        Self { random, tables }
    }

    /// The statements that create the tables, their indexes and their first rows.
    pub(crate) fn setup(&mut self) -> Vec<String> {
        let mut statements = Vec::new();
        for table in 0..self.tables.len() {
            statements.push(self.create(table));
            if !self.random.once_in(3) {
                let column = self.random.below(self.tables[table].columns.len());
                let (name, column) =
                    (self.tables[table].name, &self.tables[table].columns[column].0);
                statements.push(format!("CREATE INDEX {name}_{column} ON {name} ({column})"));
            }
            let count = [0, 1, 5, 40, 150, 400][self.random.below(6)];
            if count > 0 {
                let rows: Vec<String> = (0..count).map(|id| self.row(table, id)).collect();
                let name = self.tables[table].name;
                statements.push(format!("INSERT INTO {name} VALUES {}", rows.join(", ")));
            }
        }
        statements
    }

    fn create(&self, table: usize) -> String {
        let table = &self.tables[table];
        let column = |(name, kind): &(String, Kind)| {
            let ty = match kind {
                Kind::Integer => "INTEGER",
                Kind::Text => "TEXT",
                Kind::Float => "DOUBLE PRECISION",
            };
            format!("{name} {ty}")
        };
        let mut parts: Vec<String> = table.columns.iter().map(column).collect();
        if table.key > 0 {
            let key: Vec<&str> = table.columns.iter().map(|(name, _)| &**name).collect();
            parts.push(format!("PRIMARY KEY ({})", key[..table.key].join(", ")));
        }
        format!("CREATE TABLE {} ({})", table.name, parts.join(", "))
    }

    fn row(&mut self, table: usize, id: usize) -> String {
        let kinds: Vec<Kind> = self.tables[table].columns.iter().map(|(_, kind)| *kind).collect();
        let key = self.tables[table].key;
        let values: Vec<String> = kinds
            .into_iter()
            .enumerate()
            .map(|(index, kind)| match (index, kind) {
                (0, _) if key == 1 => id.to_string(),
                // Three rows have the same first column, and differ in the second.
                (0, _) if key == 2 => (id / 3).to_string(),
                (1, Kind::Integer) if key == 2 => (id % 3).to_string(),
                (1, _) if key == 2 => format!("'{}'", ["", "a", "b"][id % 3]),
                _ if self.random.once_in(6) => "NULL".to_owned(),
                _ => self.literal(kind),
            })
            .collect();
        format!("({})", values.join(", "))
    }

    fn literal(&mut self, kind: Kind) -> String {
        match kind {
            Kind::Integer => (self.random.below(60) as i64 - 10).to_string(),
            Kind::Text => {
                let word = self.random.one_of(&["", "a", "ab", "b", "Ab", "b%", "éa", "x_y", "zz"]);
                format!("'{word}'")
            }
            // Halves are exact in both.
            Kind::Float => format!("{}.5", self.random.below(40) as i64 - 10),
        }
    }

    /// A statement: mostly a query.
    pub(crate) fn statement(&mut self) -> String {
        match self.random.below(12) {
            0 => self.insert(),
            1 => self.update(),
            2 => self.delete(),
            3 => self.set_operation(),
            4 | 5 => self.grouped(),
            6 => self.windowed(),
            _ => self.query(),
        }
    }

    fn insert(&mut self) -> String {
        let table = self.random.below(self.tables.len());
        let id = self.random.below(200);
        let row = self.row(table, id);
        let name = self.tables[table].name;
        let conflict = if self.tables[table].key > 0 && self.random.once_in(2) {
            " ON CONFLICT DO NOTHING"
        } else {
            ""
        };
        format!("INSERT INTO {name} VALUES {row}{conflict}")
    }

    fn update(&mut self) -> String {
        let table = self.random.below(self.tables.len());
        let sources = vec![(self.tables[table].name.to_owned(), table)];
        let others = self.tables[table].key.max(1);
        if others == self.tables[table].columns.len() {
            return self.delete();
        }
        let column = others + self.random.below(self.tables[table].columns.len() - others);
        let (name, kind) = self.tables[table].columns[column].clone();
        let value = self.expression(kind, &sources, 2);
        let condition = self.condition(&sources, 2);
        let own = self.tables[table].name;
        // In a query of the condition SQLite may see earlier changes of the statement; a list of
        // keys is computed before.
        if condition.contains(&format!("FROM {own}")) {
            return format!(
                "UPDATE {own} SET {name} = {value} WHERE a0 IN (SELECT {own}.a0 FROM {own} WHERE {condition})"
            );
        }
        format!("UPDATE {own} SET {name} = {value} WHERE {condition}")
    }

    fn delete(&mut self) -> String {
        let table = self.random.below(self.tables.len());
        let sources = vec![(self.tables[table].name.to_owned(), table)];
        let condition = self.condition(&sources, 2);
        let key = self.literal(Kind::Integer);
        format!("DELETE FROM {} WHERE a0 > {key} AND {condition}", self.tables[table].name)
    }

    /// FROM with its joins.
    fn from(&mut self) -> (String, Sources) {
        let first = self.random.below(self.tables.len());
        let mut sources = vec![("t0".to_owned(), first)];
        let mut text = format!("{} AS t0", self.tables[first].name);
        for index in 1..=self.random.below(3) {
            let table = self.random.below(self.tables.len());
            let alias = format!("t{index}");
            let join =
                self.random.one_of(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "JOIN"]);
            let left = sources[self.random.below(sources.len())].clone();
            let kind = KINDS[self.random.below(2)];
            sources.push((alias.clone(), table));
            let own = vec![(alias.clone(), table)];
            if self.random.once_in(3) {
                text += &format!(
                    " {join} {} AS {alias} ON {}",
                    self.name(table),
                    self.by_key(&left, &own[0])
                );
                continue;
            }
            let (one, other) = (self.column(kind, &[left]), self.column(kind, &own));
            let (Some(one), Some(other)) = (one, other) else {
                text += &format!(" {join} {} AS {alias} ON t0.a0 = {alias}.a0", self.name(table));
                continue;
            };
            text += &format!(" {join} {} AS {alias} ON {one} = {other}", self.name(table));
            if self.random.once_in(4) {
                text += &format!(" AND {}", self.join_condition(&alias, &sources));
            }
        }
        (text, sources)
    }

    /// The condition of a join by as much of the keys as both have: rows of both come in its
    /// order.
    fn by_key(&self, (left, one): &(String, usize), (right, other): &(String, usize)) -> String {
        let (one, other) = (&self.tables[*one], &self.tables[*other]);
        let has_both = one.key == 2 && other.key == 2 && one.columns[1].1 == other.columns[1].1;
        match has_both {
            true => format!("{left}.a0 = {right}.a0 AND {right}.a1 = {left}.a1"),
            false => format!("{left}.a0 = {right}.a0"),
        }
    }

    /// A further condition of a join, which reads its table: before an outer join SQLite 3.40
    /// treats one that reads none as a condition of the whole query.
    fn join_condition(&mut self, alias: &str, sources: &Sources) -> String {
        let op = self.random.one_of(&["<", ">", "<>"]);
        let other = self.expression(Kind::Integer, sources, 1);
        format!("{alias}.a0 {op} {other}")
    }

    fn name(&self, table: usize) -> &'static str {
        self.tables[table].name
    }

    fn column(&mut self, kind: Kind, sources: &[(String, usize)]) -> Option<String> {
        let mut found = Vec::new();
        for (alias, table) in sources {
            for (name, own) in &self.tables[*table].columns {
                if *own == kind {
                    found.push(format!("{alias}.{name}"));
                }
            }
        }
        (!found.is_empty()).then(|| found.swap_remove(self.random.below(found.len())))
    }

    fn expression(&mut self, kind: Kind, sources: &Sources, depth: usize) -> String {
        if depth == 0 || self.random.once_in(3) {
            let literal = self.literal(kind);
            return match self.column(kind, sources) {
                Some(column) if !self.random.once_in(4) => column,
                _ => literal,
            };
        }
        let depth = depth - 1;
        match self.random.below(6) {
            0 => {
                let condition = self.condition(sources, depth);
                let (one, other) =
                    (self.expression(kind, sources, depth), self.expression(kind, sources, depth));
                format!("CASE WHEN {condition} THEN {one} ELSE {other} END")
            }
            1 => {
                let (one, other) =
                    (self.expression(kind, sources, depth), self.expression(kind, sources, depth));
                format!("coalesce({one}, {other})")
            }
            2 => {
                let (one, other) =
                    (self.expression(kind, sources, depth), self.expression(kind, sources, depth));
                format!("nullif({one}, {other})")
            }
            _ if kind == Kind::Text => {
                let one = self.expression(kind, sources, depth);
                let other = self.expression(kind, sources, depth);
                match self.random.below(3) {
                    0 => format!("({one} || {other})"),
                    1 => format!("replace({one}, 'a', {other})"),
                    _ => format!("substr({one}, 1, {})", self.random.below(4)),
                }
            }
            _ => {
                let op = self.random.one_of(&["+", "-", "*"]);
                let one = self.expression(kind, sources, depth);
                // Products stay far from the end of the type.
                let other = if *op == "*" {
                    self.literal(Kind::Integer)
                } else {
                    self.expression(kind, sources, depth)
                };
                format!("({one} {op} {other})")
            }
        }
    }

    fn condition(&mut self, sources: &Sources, depth: usize) -> String {
        if depth > 0 && self.random.once_in(3) {
            let (one, other) =
                (self.condition(sources, depth - 1), self.condition(sources, depth - 1));
            return match self.random.below(3) {
                0 => format!("NOT ({one})"),
                1 => format!("({one} OR {other})"),
                _ => format!("({one} AND {other})"),
            };
        }
        let kind = KINDS[self.random.below(3)];
        let one = self.expression(kind, sources, depth.min(1));
        match self.random.below(9) {
            0 => format!("{one} IS NULL"),
            1 => format!("{one} IS NOT NULL"),
            2 => {
                let (low, high) = (self.literal(kind), self.literal(kind));
                format!("{one} BETWEEN {low} AND {high}")
            }
            3 => {
                let list: Vec<String> =
                    (0..1 + self.random.below(4)).map(|_| self.literal(kind)).collect();
                let not = self.random.one_of(&["", "NOT "]);
                format!("{one} {not}IN ({})", list.join(", "))
            }
            4 if kind == Kind::Text => {
                let pattern = self.random.one_of(&["a%", "%b", "%a%", "_b", "", "%"]);
                format!("{one} LIKE '{pattern}'")
            }
            5 if depth > 0 => self.subquery(&one, kind, sources),
            _ => {
                let op = self.random.one_of(&["=", "=", "<>", "<", "<=", ">", ">="]);
                let other = self.expression(kind, sources, depth.min(1));
                format!("{one} {op} {other}")
            }
        }
    }

    /// A condition with a query in it, which may read the outer query.
    fn subquery(&mut self, one: &str, kind: Kind, sources: &Sources) -> String {
        let table = self.random.below(self.tables.len());
        let own = vec![("s".to_owned(), table)];
        let Some(column) = self.column(kind, &own) else { return format!("{one} = {one}") };
        let mut condition = self.condition(&own, 0);
        if self.random.once_in(2)
            && let Some(outer) = self.column(Kind::Integer, sources)
        {
            condition = format!("s.a0 = {outer} AND {condition}");
        }
        let from = format!("FROM {} AS s WHERE {condition}", self.name(table));
        match self.random.below(4) {
            0 => format!("EXISTS (SELECT 1 {from})"),
            1 => format!("NOT EXISTS (SELECT 1 {from})"),
            2 => format!("{one} IN (SELECT {column} {from})"),
            _ => format!("{one} >= (SELECT min({column}) {from})"),
        }
    }

    /// Outputs, and an order by all of them.
    fn outputs(&mut self, sources: &Sources) -> (String, String) {
        let count = 1 + self.random.below(3);
        let mut outputs: Vec<String> = Vec::new();
        let mut last: Option<(Kind, String)> = None;
        for _ in 0..count {
            let kind = KINDS[self.random.below(3)];
            let output = match &last {
                // Parts that outputs have in common are computed once.
                Some((kind, before)) if self.random.once_in(3) => {
                    self.again(*kind, before, sources)
                }
                _ => self.expression(kind, sources, 2),
            };
            if last.is_none() {
                last = Some((kind, output.clone()));
            }
            outputs.push(output);
        }
        let order = (1..=count).map(|position| {
            let way = self.random.one_of(&["ASC NULLS FIRST", "DESC NULLS LAST", "ASC NULLS LAST"]);
            format!("{position} {way}")
        });
        let order: Vec<String> = order.collect();
        (outputs.join(", "), order.join(", "))
    }

    /// An expression with another inside, in a place that is evaluated for every row or not.
    fn again(&mut self, kind: Kind, before: &str, sources: &Sources) -> String {
        match self.random.below(4) {
            0 => {
                let (condition, other) =
                    (self.condition(sources, 1), self.expression(kind, sources, 1));
                format!("CASE WHEN {condition} THEN {before} ELSE {other} END")
            }
            1 => format!("coalesce({before}, {})", self.literal(kind)),
            _ if kind == Kind::Text => format!("({before} || {before})"),
            _ => format!("({before} + {before})"),
        }
    }

    fn query(&mut self) -> String {
        let (from, sources) = self.from();
        let (mut outputs, mut order) = self.outputs(&sources);
        if self.random.once_in(8) {
            // Columns ordered by a key, or by a prefix of one.
            outputs = (*self.random.one_of(&["t0.a0", "t0.a0, t0.a1"])).to_owned();
            let both = outputs.contains(',');
            order = if both { "1 ASC NULLS FIRST, 2 ASC NULLS FIRST" } else { "1 ASC NULLS FIRST" }
                .to_owned();
        }
        let distinct = if self.random.once_in(4) { "DISTINCT " } else { "" };
        let mut text = format!("SELECT {distinct}{outputs} FROM {from}");
        if !self.random.once_in(4) {
            text += &format!(" WHERE {}", self.condition(&sources, 2));
        }
        if self.random.once_in(2) {
            text += &format!(" ORDER BY {order}");
            if self.random.once_in(2) {
                text += &format!(" LIMIT {}", self.random.below(8));
            }
        }
        text
    }

    fn grouped(&mut self) -> String {
        let (from, sources) = self.from();
        let kind = KINDS[self.random.below(2)];
        let group = match self.random.below(4) {
            0 => "t0.a0".to_owned(),
            1 => "t0.a0, t0.a1".to_owned(),
            _ => self.column(kind, &sources).unwrap_or_else(|| "t0.a0".to_owned()),
        };
        let mut aggregate = self.aggregate(&sources);
        if self.random.once_in(3) {
            let (kind, value) = (Kind::Integer, self.expression(Kind::Integer, &sources, 2));
            let other = self.again(kind, &value, &sources);
            aggregate = format!("{aggregate}, max({value}), count({other}), min({other})");
        }
        let condition = self.condition(&sources, 1);
        let having = match self.random.below(3) {
            0 => format!(" HAVING count(*) > {}", self.random.below(4)),
            _ => String::new(),
        };
        if self.random.once_in(3) {
            return format!("SELECT {aggregate}, count(*) FROM {from} WHERE {condition}");
        }
        let order = match self.random.below(3) {
            0 if !group.contains(',') => " ORDER BY 1 ASC NULLS FIRST",
            _ => "",
        };
        format!(
            "SELECT {group}, {aggregate} FROM {from} WHERE {condition} GROUP BY {group}{having}{order}"
        )
    }

    fn aggregate(&mut self, sources: &Sources) -> String {
        let kind = KINDS[self.random.below(3)];
        let argument = self.expression(kind, sources, 1);
        let distinct = if self.random.once_in(3) { "DISTINCT " } else { "" };
        match (self.random.below(5), kind) {
            (0, Kind::Integer | Kind::Float) => format!("sum({distinct}{argument})"),
            (1, Kind::Integer | Kind::Float) => format!("avg({argument})"),
            (2, _) => format!("min({argument})"),
            (3, _) => format!("max({argument})"),
            _ => format!("count({distinct}{argument})"),
        }
    }

    fn windowed(&mut self) -> String {
        let (from, sources) = self.from();
        let kind = KINDS[self.random.below(3)];
        let value = self.expression(kind, &sources, 1);
        let part = self.column(Kind::Integer, &sources).unwrap_or_else(|| "t0.a0".to_owned());
        let function = self.random.one_of(&["rank()", "dense_rank()", "count(*)", "max(t0.a0)"]);
        format!(
            "SELECT {value}, {function} OVER (PARTITION BY {part} ORDER BY {value} NULLS FIRST) \
             FROM {from}"
        )
    }

    fn set_operation(&mut self) -> String {
        let kind = KINDS[self.random.below(3)];
        let mut side = || {
            let table = self.random.below(self.tables.len());
            let sources = vec![("t0".to_owned(), table)];
            let (value, condition) =
                (self.expression(kind, &sources, 1), self.condition(&sources, 1));
            format!("SELECT {value} FROM {} AS t0 WHERE {condition}", self.tables[table].name)
        };
        let (one, other) = (side(), side());
        let op = self.random.one_of(&["UNION", "UNION ALL", "INTERSECT", "EXCEPT"]);
        format!("{one} {op} {other}")
    }
}
