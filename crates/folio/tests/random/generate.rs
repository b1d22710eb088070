//! Random schemas and statements that mean the same to SQLite and to us.
//!
//! What the dialects see differently is not generated: division, comparisons between
//! types, nulls in an order without NULLS FIRST or LAST, changes of key columns.

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
    /// Whether the first column is the primary key.
    has_key: bool,
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
            Table { name, columns, has_key: random.below(3) > 0 }
        });
        let tables = tables.collect();
        Self { random, tables }
    }

    /// The statements that make the tables, their indexes and their first rows.
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
            let count = [0, 1, 5, 40, 150][self.random.below(5)];
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
        let column = |(index, (name, kind)): (usize, &(String, Kind))| {
            let ty = match kind {
                Kind::Integer => "INTEGER",
                Kind::Text => "TEXT",
                Kind::Float => "DOUBLE PRECISION",
            };
            let key = if index == 0 && table.has_key { " PRIMARY KEY" } else { "" };
            format!("{name} {ty}{key}")
        };
        let columns: Vec<String> = table.columns.iter().enumerate().map(column).collect();
        format!("CREATE TABLE {} ({})", table.name, columns.join(", "))
    }

    fn row(&mut self, table: usize, id: usize) -> String {
        let kinds: Vec<Kind> = self.tables[table].columns.iter().map(|(_, kind)| *kind).collect();
        let has_key = self.tables[table].has_key;
        let values: Vec<String> = kinds
            .into_iter()
            .enumerate()
            .map(|(index, kind)| match (index, has_key) {
                (0, true) => id.to_string(),
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
        let conflict = if self.tables[table].has_key && self.random.once_in(2) {
            " ON CONFLICT DO NOTHING"
        } else {
            ""
        };
        format!("INSERT INTO {name} VALUES {row}{conflict}")
    }

    fn update(&mut self) -> String {
        let table = self.random.below(self.tables.len());
        let sources = vec![(self.tables[table].name.to_owned(), table)];
        let column = 1 + self.random.below(self.tables[table].columns.len() - 1);
        let (name, kind) = self.tables[table].columns[column].clone();
        let value = self.expression(kind, &sources, 2);
        let condition = self.condition(&sources, 2);
        format!("UPDATE {} SET {name} = {value} WHERE {condition}", self.tables[table].name)
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

    /// A further condition of a join, which reads its table: SQLite 3.40 takes one that
    /// reads none for a condition of the whole query when an outer join follows.
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

    /// A condition with a query in it, which may read the query around.
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
        let outputs: Vec<String> = (0..count)
            .map(|_| {
                let kind = KINDS[self.random.below(3)];
                self.expression(kind, sources, 2)
            })
            .collect();
        let order = (1..=count).map(|position| {
            let way = self.random.one_of(&["ASC NULLS FIRST", "DESC NULLS LAST", "ASC NULLS LAST"]);
            format!("{position} {way}")
        });
        let order: Vec<String> = order.collect();
        (outputs.join(", "), order.join(", "))
    }

    fn query(&mut self) -> String {
        let (from, sources) = self.from();
        let (outputs, order) = self.outputs(&sources);
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
        let group = self.column(kind, &sources).unwrap_or_else(|| "t0.a0".to_owned());
        let aggregate = self.aggregate(&sources);
        let condition = self.condition(&sources, 1);
        let having = match self.random.below(3) {
            0 => format!(" HAVING count(*) > {}", self.random.below(4)),
            _ => String::new(),
        };
        if self.random.once_in(3) {
            return format!("SELECT {aggregate}, count(*) FROM {from} WHERE {condition}");
        }
        format!(
            "SELECT {group}, {aggregate} FROM {from} WHERE {condition} GROUP BY {group}{having}"
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
