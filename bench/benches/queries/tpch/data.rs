//! The eight tables: their columns, and their rows as the `tpchgen` crate makes them.

use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Integer,
    /// With two digits behind the point.
    Decimal,
    Text,
    Date,
}

use Kind::{Date, Decimal, Integer, Text};

/// A table: its name, its columns, its key.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [(&'static str, Kind)],
    pub(crate) key: &'static str,
}

pub(crate) const TABLES: [Table; 8] = [
    Table {
        name: "region",
        columns: &[("r_regionkey", Integer), ("r_name", Text), ("r_comment", Text)],
        key: "r_regionkey",
    },
    Table {
        name: "nation",
        columns: &[
            ("n_nationkey", Integer),
            ("n_name", Text),
            ("n_regionkey", Integer),
            ("n_comment", Text),
        ],
        key: "n_nationkey",
    },
    Table {
        name: "supplier",
        columns: &[
            ("s_suppkey", Integer),
            ("s_name", Text),
            ("s_address", Text),
            ("s_nationkey", Integer),
            ("s_phone", Text),
            ("s_acctbal", Decimal),
            ("s_comment", Text),
        ],
        key: "s_suppkey",
    },
    Table {
        name: "part",
        columns: &[
            ("p_partkey", Integer),
            ("p_name", Text),
            ("p_mfgr", Text),
            ("p_brand", Text),
            ("p_type", Text),
            ("p_size", Integer),
            ("p_container", Text),
            ("p_retailprice", Decimal),
            ("p_comment", Text),
        ],
        key: "p_partkey",
    },
    Table {
        name: "partsupp",
        columns: &[
            ("ps_partkey", Integer),
            ("ps_suppkey", Integer),
            ("ps_availqty", Integer),
            ("ps_supplycost", Decimal),
            ("ps_comment", Text),
        ],
        key: "ps_partkey, ps_suppkey",
    },
    Table {
        name: "customer",
        columns: &[
            ("c_custkey", Integer),
            ("c_name", Text),
            ("c_address", Text),
            ("c_nationkey", Integer),
            ("c_phone", Text),
            ("c_acctbal", Decimal),
            ("c_mktsegment", Text),
            ("c_comment", Text),
        ],
        key: "c_custkey",
    },
    Table {
        name: "orders",
        columns: &[
            ("o_orderkey", Integer),
            ("o_custkey", Integer),
            ("o_orderstatus", Text),
            ("o_totalprice", Decimal),
            ("o_orderdate", Date),
            ("o_orderpriority", Text),
            ("o_clerk", Text),
            ("o_shippriority", Integer),
            ("o_comment", Text),
        ],
        key: "o_orderkey",
    },
    Table {
        name: "lineitem",
        columns: &[
            ("l_orderkey", Integer),
            ("l_partkey", Integer),
            ("l_suppkey", Integer),
            ("l_linenumber", Integer),
            ("l_quantity", Decimal),
            ("l_extendedprice", Decimal),
            ("l_discount", Decimal),
            ("l_tax", Decimal),
            ("l_returnflag", Text),
            ("l_linestatus", Text),
            ("l_shipdate", Date),
            ("l_commitdate", Date),
            ("l_receiptdate", Date),
            ("l_shipinstruct", Text),
            ("l_shipmode", Text),
            ("l_comment", Text),
        ],
        key: "l_orderkey, l_linenumber",
    },
];

/// Indexes on columns that point at other tables, which a program that joins by them
/// would have.
pub(crate) const INDEXES: [&str; 4] = [
    "CREATE INDEX lineitem_part ON lineitem (l_partkey, l_suppkey)",
    "CREATE INDEX orders_customer ON orders (o_custkey)",
    "CREATE INDEX partsupp_supplier ON partsupp (ps_suppkey)",
    "CREATE INDEX customer_nation ON customer (c_nationkey)",
];

impl Table {
    /// Calls `take` with every row as text, its values between bars.
    pub(crate) fn rows(&self, scale: f64, take: &mut dyn FnMut(&str)) {
        macro_rules! all {
            ($generator:expr) => {
                $generator.into_iter().for_each(|row| take(&row.to_string()))
            };
        }
        match self.name {
            "region" => all!(RegionGenerator::default()),
            "nation" => all!(NationGenerator::default()),
            "supplier" => all!(SupplierGenerator::new(scale, 1, 1)),
            "part" => all!(PartGenerator::new(scale, 1, 1)),
            "partsupp" => all!(PartSuppGenerator::new(scale, 1, 1)),
            "customer" => all!(CustomerGenerator::new(scale, 1, 1)),
            "orders" => all!(OrderGenerator::new(scale, 1, 1)),
            _ => all!(LineItemGenerator::new(scale, 1, 1)),
        }
    }

    /// The statement that makes it, with a type for each kind of column, and its key
    /// where that is wanted.
    pub(crate) fn definition(
        &self,
        has_key: bool,
        type_of: impl Fn(Kind) -> &'static str,
    ) -> String {
        let columns = self.columns.iter().map(|(name, kind)| format!("{name} {}", type_of(*kind)));
        let columns = columns.collect::<Vec<_>>().join(", ");
        let key = if has_key { format!(", PRIMARY KEY ({})", self.key) } else { String::new() };
        format!("CREATE TABLE {} ({columns}{key})", self.name)
    }

    /// The statement that inserts a row.
    pub(crate) fn insert(&self) -> String {
        format!("INSERT INTO {} VALUES ({})", self.name, vec!["?"; self.columns.len()].join(", "))
    }
}
