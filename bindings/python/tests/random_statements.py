"""Random statements by path that mean the same in FolioDB and in DuckDB.

An expression is two texts, one for each. They are the same where the dialects are. What the
dialects disagree about is not written; the comments say why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from random_documents import BIG, BOOL, FLOAT, INT, MIXED, POOLS, TEXT, Type, quoted

# `_id` has a pool of its own, so that literals meet it.
IDS = ["full", "d1", "d2", "d3"]
COMPARED = [INT, INT, FLOAT, TEXT, TEXT, BOOL, BIG]
# DuckDB parses these as something else without quotes.
RESERVED = {"select", "at", "value", "values"}


@dataclass(frozen=True)
class Both:
    """A text in both dialects."""

    folio: str
    duck: str

    @staticmethod
    def same(text: str) -> Both:
        return Both(text, text)


def both(template: str, *parts: Both, duck: str | None = None) -> Both:
    """Fills the `{}` of a template."""
    return Both(
        template.format(*(part.folio for part in parts)),
        (duck or template).format(*(part.duck for part in parts)),
    )


@dataclass(frozen=True)
class Column:
    text: Both
    type: Type


@dataclass
class Source:
    """What a FROM names: the text and the columns below its alias."""

    text: Both
    alias: str
    columns: list[tuple[str, Type]]


@dataclass
class Query:
    text: Both
    types: list[Type]
    is_ordered: bool = False


@dataclass
class Statements:
    """Makes statements about some tables, which the texts call `{docs}`, `{other}`."""

    random: Random
    tables: dict[str, Type]
    aliases: int = 0
    # The sources that expressions can name, innermost first.
    scope: list[Source] = field(default_factory=list)

    # -- sources

    def alias(self) -> str:
        self.aliases += 1
        return f"q{self.aliases}"

    def table(self) -> Source:
        name = self.random.choice(list(self.tables))
        columns = [("_id", TEXT), *self.tables[name].members]
        alias = self.alias()
        # Filled in when it runs: the tables differ between what is compared.
        return Source(Both.same(f"<{name}> as {alias}"), alias, columns)

    def source(self, depth: int = 2) -> Source:
        """A table, or a query about one that passes its columns on."""
        if depth == 0 or self.random.random() < 0.5:
            return self.table()
        inner = self.source(depth - 1)
        with_scope = self.within([inner])
        condition = with_scope.where(0.35)
        shape = self.random.random()
        if shape < 0.4:
            columns = inner.columns
            text = both("(select * from {}{})", inner.text, condition)
        elif shape < 0.5:
            columns = inner.columns
            text = both("(select distinct * from {}{})", inner.text, condition)
        elif shape < 0.6:
            columns = inner.columns
            second = Source(inner.text, inner.alias, inner.columns)
            text = both("(select * from {}{} union all select * from {})", inner.text, condition, second.text)
        elif shape < 0.7 and any(name == "_id" for name, _ in inner.columns):
            # The first rows by `_id`, which a union may have twice: then either copy is the same.
            columns = inner.columns
            text = both("(select * from {}{} order by _id limit 9)", inner.text, condition)
            if "union all" in text.folio or "join" in text.folio:
                text = both("(select * from {}{})", inner.text, condition)
        else:
            paths = [with_scope.path() for _ in range(self.random.randint(2, 4))]
            columns = [("_id", TEXT)] if any(name == "_id" for name, _ in inner.columns) else []
            outputs = [Both.same(f"{inner.alias}._id")] if columns else []
            for at, path in enumerate(paths):
                columns.append((f"p{at}", path.type))
                outputs.append(both(f"{{}} as p{at}", path.text))
            text = both("(select {} from {}{})", joined(", ", outputs), inner.text, condition)
        self.aliases = with_scope.aliases
        alias = self.alias()
        return Source(both(f"{{}} as {alias}", text), alias, list(columns))

    def within(self, sources: list[Source]) -> Statements:
        return Statements(self.random, self.tables, self.aliases, [*sources, *self.scope])

    # -- paths

    def columns(self, sources: Sequence[Source] | None = None) -> list[Column]:
        sources = self.scope if sources is None else sources
        return [
            Column(Both.same(f"{source.alias}.{self.name(name)}"), of)
            for source in sources
            for name, of in source.columns
        ]

    def name(self, name: str) -> str:
        if name in RESERVED or not name.isascii() or not name.replace("_", "a").isalnum() or name[0].isdigit():
            return quoted(name)
        spelling = self.random.random()
        return name if spelling < 0.6 else quoted(name) if spelling < 0.9 else name.upper()

    def path(self, sources: Sequence[Source] | None = None) -> Column:
        """Some value of the scope, most often a scalar."""
        column = self.random.choice(self.columns(sources))
        while column.type.kind in ("struct", "list") and self.random.random() < 0.9:
            column = self.step(column)
        return column

    def step(self, column: Column) -> Column:
        if column.type.kind == "struct":
            name, of = self.random.choice(column.type.members)
            text = both(f"{{}}.{self.name(name).replace('{', '{{').replace('}', '}}')}", column.text)
            return Column(text, of)
        assert column.type.item is not None
        # From 1. DuckDB counts negative positions from the end, PostgreSQL and we find nothing.
        return Column(both(f"{{}}[{self.random.randint(1, 3)}]", column.text), column.type.item)

    def paths_of(self, fits: Callable[[Type], bool], sources: Sequence[Source] | None = None) -> list[Column]:
        """All paths to values of some types."""
        found, open_paths = [], self.columns(sources)
        while open_paths:
            column = open_paths.pop()
            if fits(column.type):
                found.append(column)
            if column.type.kind == "struct":
                for name, of in column.type.members:
                    open_paths.append(Column(both("{}.{}", column.text, Both.same(self.name(name))), of))
            elif column.type.kind == "list" and self.random.random() < 0.5:
                open_paths.append(self.step(column))
        return found

    def path_of(self, kind: str, sources: Sequence[Source] | None = None) -> Column | None:
        found = self.paths_of(lambda of: of.kind == kind, sources)
        return self.random.choice(found) if found else None

    # -- expressions

    def literal(self, of: Type) -> Both:
        pool: list[Any] = POOLS[of.kind] if of.kind != "text" or self.random.random() < 0.8 else IDS
        return Both.same(written(self.random.choice(pool)))

    def scalar(self, of: Type, depth: int = 2) -> Both:
        """An expression of a scalar type."""
        choice = self.random.random()
        if choice < 0.5 or depth == 0 or of is BIG:
            path = self.path_of(of.kind)
            return path.text if path and self.random.random() < 0.9 else self.literal(of)
        if choice < 0.6:
            return both("coalesce({}, {})", self.scalar(of, depth - 1), self.scalar(of, depth - 1))
        if choice < 0.7:
            parts = self.condition(depth - 1), self.scalar(of, depth - 1), self.scalar(of, depth - 1)
            return both("case when {} then {} else {} end", *parts)
        if choice < 0.75:
            return both("nullif({}, {})", self.scalar(of, depth - 1), self.literal(of))
        return {"int": self.integer, "float": self.number, "text": self.text, "bool": self.condition}[
            of.kind
        ](depth - 1)

    def integer(self, depth: int) -> Both:
        choice = self.random.randrange(6)
        if choice == 0:
            return both("({} + {})", self.scalar(INT, depth), self.scalar(INT, depth))
        if choice == 1:
            return both("({} * 2 - {})", self.scalar(INT, depth), self.scalar(INT, depth))
        if choice == 2:
            return both("abs({})", self.scalar(INT, depth))
        if choice == 3:
            return both("({} % 3)", self.scalar(INT, depth))
        if choice == 4 and (of := self.path_of("list")):
            return both("cardinality({})", of.text, duck="len({})")
        return both("length({})", self.scalar(TEXT, depth))

    def number(self, depth: int) -> Both:
        # No division: whether that of integers has a fraction differs.
        choice = self.random.randrange(4)
        if choice == 0:
            return both("({} + {})", self.scalar(FLOAT, depth), self.scalar(INT, depth))
        if choice == 1:
            return both("({} - {})", self.scalar(FLOAT, depth), self.scalar(FLOAT, depth))
        if choice == 2:
            return both("cast({} as double precision)", self.scalar(INT, depth))
        return both("(- {})", self.scalar(FLOAT, depth))

    def text(self, depth: int) -> Both:
        choice = self.random.randrange(7)
        if choice == 0:
            return both("upper({})", self.scalar(TEXT, depth))
        if choice == 1:
            return both("({} || {})", self.scalar(TEXT, depth), self.scalar(TEXT, depth))
        if choice == 2:
            return both("substr({}, 1, 2)", self.scalar(TEXT, depth))
        if choice == 3:
            return both("cast({} as text)", self.scalar(INT, depth))
        if choice == 4:
            return both("cast({} as text)", self.scalar(BOOL, depth))
        if found := self.arrow():
            return found
        return both("lower({})", self.scalar(TEXT, depth))

    def arrow(self) -> Both | None:
        """A member as text by `->>`. DuckDB has it for JSON only."""
        structs = self.paths_of(lambda of: of.kind == "struct")
        if not structs:
            return None
        struct = self.random.choice(structs)
        # Floats and objects are written differently. DuckDB reads `$` and `/` at the start as paths.
        plain = [
            name
            for name, of in struct.type.members
            if of.kind in ("int", "big", "bool", "text") and name[0] not in "$/"
        ]
        if not plain:
            return None
        name = Both.same(written(self.random.choice(plain)))
        return both("({} ->> {})", struct.text, name, duck="(to_json({}) ->> {})")

    # -- conditions

    def condition(self, depth: int = 2) -> Both:
        choice = self.random.random()
        if depth > 0 and choice < 0.1:
            return both("({} and {})", self.condition(depth - 1), self.condition(depth - 1))
        if depth > 0 and choice < 0.3:
            return both("({} or {})", self.condition(depth - 1), self.condition(depth - 1))
        if depth > 0 and choice < 0.37:
            return both("(not {})", self.condition(depth - 1))
        return self.predicate(depth)

    def predicate(self, depth: int) -> Both:
        kinds = [self.comparison] * 6 + [self.null_test] * 3 + [self.one_of, self.between] * 2
        kinds += [self.like, self.truth, self.contained, self.mixture, self.nested_equality, self.list_equality]
        if depth > 0:
            kinds += [self.exists, self.in_query]
        return self.random.choice(kinds)(depth) or self.comparison(depth)

    def comparison(self, depth: int) -> Both:
        of = self.random.choice(COMPARED)
        operators = ["=", "<>", "<>", "<", "<=", ">", ">=", "is distinct from", "is not distinct from"]
        left = self.scalar(of, depth - 1 if depth else 0)
        right = self.scalar(of, 0) if self.random.random() < 0.4 else self.literal(of)
        if self.random.random() < 0.1:
            left, right = right, left
        if of is INT and self.random.random() < 0.2:
            right = self.literal(FLOAT)
        return both(f"({{}} {self.random.choice(operators)} {{}})", left, right)

    def null_test(self, _: int) -> Both:
        # DuckDB's structs are null only as a whole, PostgreSQL's also if all members are.
        found = self.paths_of(lambda of: of.kind != "struct")
        negation = self.random.choice(["", "not "])
        return both(f"({{}} is {negation}null)", self.random.choice(found).text)

    def one_of(self, depth: int) -> Both:
        of = self.random.choice([INT, FLOAT, TEXT, BIG])
        literals = joined(", ", [self.literal(of) for _ in range(self.random.randint(1, 4))])
        negation = self.random.choice(["", "", "not "])
        return both(f"({{}} {negation}in ({{}}))", self.scalar(of, 0), literals)

    def between(self, depth: int) -> Both:
        of = self.random.choice([INT, FLOAT, TEXT, BIG])
        negation = self.random.choice(["", "", "not "])
        parts = self.scalar(of, 0), self.literal(of), self.scalar(of, 0)
        return both(f"({{}} {negation}between {{}} and {{}})", *parts)

    def like(self, depth: int) -> Both:
        # No pattern with a backslash: DuckDB has no escape unless one is named.
        pattern = self.random.choice(["a%", "%b", "%", "_", "a_", "%'%", "%\n%", "", "%a%", "A%", "_\u00fc"])
        operator = self.random.choice(["like", "not like", "ilike"])
        return both(f"({{}} {operator} {{}})", self.scalar(TEXT, 0), Both.same(written(pattern)))

    def truth(self, _: int) -> Both | None:
        path = self.path_of("bool")
        return path and both(self.random.choice(["{}", "({} is true)", "({} is not false)"]), path.text)

    def contained(self, _: int) -> Both | None:
        """`any` of a list. Of a null list DuckDB's is false and not null."""
        found = self.paths_of(lambda of: of.item is not None and of.item in COMPARED)
        if not found:
            return None
        of = self.random.choice(found)
        assert of.type.item is not None
        parts = self.literal(of.type.item), of.text
        return both("({0} = any({1}))", *parts, duck="case when {1} is not null then ({0} = any({1})) end")

    def mixture(self, _: int) -> Both | None:
        """A comparison by value, which DuckDB's JSON does not have."""
        path = self.path_of("mixed")
        if path is None:
            return None
        kind = self.random.randrange(3)
        if kind == 0:
            literal = self.literal(self.random.choice([INT, FLOAT]))
            duck = (
                "case when {0} is not null then json_type({0}) in ('BIGINT', 'UBIGINT', 'DOUBLE')"
                " and try_cast({0}::varchar as double) = {1} end"
            )
            return both("({} = {})", path.text, literal, duck=duck)
        if kind == 1:
            # Text that reads as an object or list is one.
            literal = Both.same(written(self.random.choice(["x", "1", "", "true", "a%b"])))
            duck = "case when {0} is not null then json_type({0}) = 'VARCHAR' and ({0} ->> '$') = {1} end"
            return both("({} = {})", path.text, literal, duck=duck)
        literal = Both.same(self.random.choice(["true", "false"]))
        duck = "case when {0} is not null then {0}::varchar = '{1}' end"
        return both("({} = {})", path.text, literal, duck=duck)

    def nested_equality(self, _: int) -> Both | None:
        """Whole structs, whose null members are equal to each other."""
        found = self.paths_of(lambda of: of.kind == "struct" and not of.has("mixed"))
        if not found:
            return None
        left = self.random.choice(found)
        same = [path for path in found if path.type == left.type]
        operator = self.random.choice(["is distinct from", "is not distinct from"])
        return both(f"({{}} {operator} {{}})", left.text, self.random.choice(same).text)

    def list_equality(self, _: int) -> Both | None:
        found = self.paths_of(lambda of: of.item is not None and of.item in COMPARED)
        if not found:
            return None
        of = self.random.choice(found)
        assert of.type.item is not None
        items = joined(", ", [self.literal(of.type.item) for _ in range(self.random.randint(1, 2))])
        operator = self.random.choice(["=", "<>", "is not distinct from"])
        return both(f"({{}} {operator} array[{{}}])", of.text, items)

    def exists(self, depth: int) -> Both:
        inner = self.table()
        made = self.within([inner])
        condition = both("{}", made.condition(depth - 1))
        if (pair := made.pair([inner], self.scope)) and self.random.random() < 0.8:
            condition = both("{} = {} and {}", pair[0].text, pair[1].text, condition)
        self.aliases = made.aliases
        negation = self.random.choice(["", "", "not "])
        return both(f"({negation}exists (select 1 from {{}} where {{}}))", inner.text, condition)

    def in_query(self, depth: int) -> Both | None:
        inner = self.table()
        pair = self.pair(self.scope, [inner])
        if pair is None:
            return None
        made = Statements(self.random, self.tables, self.aliases, [inner])
        condition = made.where(0.7)
        self.aliases = made.aliases
        negation = self.random.choice(["", "", "not "])
        return both(
            f"({{}} {negation}in (select {{}} from {{}}{{}}))", pair[0].text, pair[1].text, inner.text, condition
        )

    def pair(self, left: Sequence[Source], right: Sequence[Source]) -> tuple[Column, Column] | None:
        """Two paths of a type, one on each side."""
        for of in self.random.sample([INT, FLOAT, TEXT, BOOL, BIG], 5):
            one, two = self.path_of(of.kind, left), self.path_of(of.kind, right)
            if one and two:
                return one, two
        return None

    def where(self, chance: float) -> Both:
        if self.random.random() > chance:
            return Both.same("")
        return both(" where {}", self.condition())

    # -- queries

    def from_clause(self) -> tuple[Both, list[Source], Statements]:
        first = self.source()
        sources, text = [first], first.text
        choice = self.random.random()
        if choice < 0.35:
            second = self.source(1)
            pair = self.pair([first], [second])
            if pair:
                kind = self.random.choice(["join", "join", "left join", "left join", "right join", "full join"])
                on = both("{} = {}", pair[0].text, pair[1].text)
                sources.append(second)
                if kind in ("join", "left join") and self.random.random() < 0.4:
                    # In an outer join DuckDB takes no subquery.
                    made = self.within(sources)
                    on = both("{} and {}", on, made.condition(0))
                    self.aliases = made.aliases
                text = both(f"{{}} {kind} {{}} on {{}}", text, second.text, on)
        elif choice < 0.5:
            lists = self.paths_of(lambda of: of.kind == "list", [first])
            if lists:
                unnested = self.random.choice(lists)
                assert unnested.type.item is not None
                alias = self.alias()
                pattern = self.random.choice(
                    ["{}, unnest({}) as ALIAS(t)", "{} left join lateral unnest({}) as ALIAS(t) on true"]
                )
                text = both(pattern.replace("ALIAS", alias), text, unnested.text)
                sources.append(Source(Both.same(""), alias, [("t", unnested.type.item)]))
        made = self.within(sources)
        return text, sources, made

    def query(self) -> Query:
        choice = self.random.random()
        if choice < 0.35:
            made = self.rows()
        elif choice < 0.6:
            made = self.groups()
        elif choice < 0.7:
            made = self.distinct()
        elif choice < 0.85:
            made = self.sets()
        elif choice < 0.95:
            made = self.windows()
        else:
            made = self.unnested()
        return made

    def output(self) -> Column:
        choice = self.random.random()
        if choice < 0.6:
            return self.path()
        if choice < 0.9:
            of = self.random.choice([INT, FLOAT, TEXT, BOOL])
            return Column(self.scalar(of), of)
        inner = self.table()
        made = self.within([inner])
        condition = made.where(0.5)
        pair = made.pair([inner], self.scope)
        value = made.path_of(self.random.choice(["int", "float", "text"]), [inner])
        self.aliases = made.aliases
        if pair is None or value is None:
            return self.path()
        correlated = both("{} = {}", pair[0].text, pair[1].text)
        where = both("{} and {}", condition, correlated) if condition.folio else both(" where {}", correlated)
        text = both("(select max({}) from {}{})", value.text, inner.text, where)
        return Column(text, value.type)

    def rows(self) -> Query:
        text, sources, made = self.from_clause()
        outputs = [made.output() for _ in range(self.random.randint(1, 4))]
        where = made.where(0.6)
        query = both("select {} from {}{}", named(outputs), text, where)
        types = [output.type for output in outputs]
        # By all outputs, unless one has no order that is the same in both.
        is_total = all(of.kind not in ("struct", "list", "mixed") for of in types)
        if is_total and self.random.random() < 0.6:
            return Query(both("{}{}", query, self.order(len(types))), types, True)
        return Query(query, types)

    def order(self, count: int) -> Both:
        """An order that is total, so that rows and limits can be compared."""
        keys = list(range(1, count + 1))
        self.random.shuffle(keys)
        parts = [
            f"{key} {self.random.choice(['', 'desc '])}nulls {self.random.choice(['first', 'last'])}"
            for key in keys
        ]
        limit = f" limit {self.random.choice([0, 1, 2, 3, 5, 8, 13, 40])}" if self.random.random() < 0.5 else ""
        offset = f" offset {self.random.randint(0, 3)}" if limit and self.random.random() < 0.3 else ""
        return Both.same(f" order by {', '.join(parts)}{limit}{offset}")

    def aggregate(self) -> Column:
        choice = self.random.randrange(10)
        if choice == 0:
            return Column(Both.same("count(*)"), INT)
        if choice == 1:
            return Column(both("count({})", self.path().text), INT)
        if choice == 2:
            of = self.random.choice([INT, TEXT, FLOAT, BOOL, BIG])
            return Column(both("count(distinct {})", self.scalar(of, 0)), INT)
        if choice == 3:
            of = self.random.choice([INT, FLOAT])
            return Column(both("sum({})", self.scalar(of, 1)), of)
        if choice in (4, 5):
            of = self.random.choice([INT, FLOAT, TEXT, BIG])
            return Column(both(f"{self.random.choice(['min', 'max'])}({{}})", self.scalar(of, 1)), of)
        if choice == 6:
            return Column(both("avg({})", self.scalar(FLOAT, 0)), FLOAT)
        if choice == 7:
            name = self.random.choice(["bool_and", "bool_or"])
            return Column(both(f"{name}({{}})", self.condition(1)), BOOL)
        if choice == 8:
            return Column(both("count(*) filter (where {})", self.condition(1)), INT)
        # Of a path: DuckDB refuses an order by a literal.
        value = self.path_of(self.random.choice(["int", "text"])) or Column(Both.same("1 + 0"), INT)
        text = both("array_agg({} order by {} nulls first)", value.text, value.text)
        return Column(text, Type("list", item=value.type))

    def groups(self) -> Query:
        text, sources, made = self.from_clause()
        keys = [made.key() for _ in range(self.random.randint(0, 2))]
        # DuckDB refuses to group by a path twice in different spelling.
        keys = list({key.text.duck.lower(): key for key in keys}.values())
        aggregates = [made.aggregate() for _ in range(self.random.randint(1, 3))]
        outputs = keys + aggregates
        query = both("select {} from {}{}", named(outputs), text, made.where(0.5))
        if keys:
            query = both("{} group by {}", query, joined(", ", [key.text for key in keys]))
            if self.random.random() < 0.4:
                least = self.random.randint(1, 3)
                having = self.random.choice(
                    [
                        Both.same(f"count(*) >= {least}"),
                        both("max({}) > {}", made.scalar(INT, 0), made.literal(INT)),
                        both("bool_or({})", made.condition(0)),
                    ]
                )
                query = both("{} having {}", query, having)
        types = [output.type for output in outputs]
        if all(of.kind not in ("struct", "list", "mixed") for of in types) and self.random.random() < 0.5:
            return Query(both("{}{}", query, self.order(len(types))), types, True)
        return Query(query, types)

    def key(self) -> Column:
        """What can be grouped by: not JSON, which DuckDB compares as text."""
        found = self.paths_of(lambda of: not of.has("mixed"))
        if self.random.random() < 0.7:
            return self.random.choice(found)
        of = self.random.choice([INT, TEXT, BOOL])
        path = self.path_of(of.kind) or self.random.choice(found)
        if path.type is TEXT:
            return Column(both("upper({})", path.text), TEXT)
        if path.type is INT:
            return Column(both("({} % 3)", path.text), INT)
        return path

    def distinct(self) -> Query:
        text, sources, made = self.from_clause()
        outputs = [made.key() for _ in range(self.random.randint(1, 3))]
        types = [output.type for output in outputs]
        return Query(both("select distinct {} from {}{}", named(outputs), text, made.where(0.5)), types)

    def sets(self) -> Query:
        text, sources, made = self.from_clause()
        outputs = [made.key() for _ in range(self.random.randint(1, 2))]
        first = both("select {} from {}{}", named(outputs), text, made.where(0.5))
        self.aliases = made.aliases
        second_text, _, second = self.from_clause()
        matched = []
        for output in outputs:
            same = second.paths_of(lambda of, own=output.type: of == own)  # type: ignore[misc]
            if not same:
                return Query(first, [output.type for output in outputs])
            matched.append(self.random.choice(same))
        operator = self.random.choice(
            ["union all", "union", "except", "intersect", "except all", "intersect all"]
        )
        other = both("select {} from {}{}", named(matched), second_text, second.where(0.5))
        return Query(both(f"{{}} {operator} {{}}", first, other), [output.type for output in outputs])

    def windows(self) -> Query:
        """Over single tables, where `_id` makes the order total."""
        source = self.table()
        made = self.within([source])
        partition = made.key()
        ordered = made.scalar(self.random.choice([INT, FLOAT, TEXT]), 0)
        over = both(f"over (partition by {{}} order by {{}} nulls last, {source.alias}._id)", partition.text, ordered)
        value = made.scalar(INT, 0)
        function = self.random.choice(
            [
                both("sum({}) {}", value, over),
                both("row_number() {}", over),
                both("rank() {}", over),
                both("lag({}) {}", value, over),
                both("count({}) {}", value, over),
                both("max({}) over (partition by {})", value, partition.text),
            ]
        )
        outputs = [Column(Both.same(f"{source.alias}._id"), TEXT), made.path(), Column(function, INT)]
        text = both("select {} from {}{}", named(outputs), source.text, made.where(0.4))
        return Query(text, [output.type for output in outputs])

    def unnested(self) -> Query:
        source = self.source(1)
        made = self.within([source])
        lists = made.paths_of(lambda of: of.kind == "list")
        if not lists:
            return self.rows()
        unnested = self.random.choice(lists)
        assert unnested.type.item is not None
        outputs = [made.path(), Column(both("unnest({})", unnested.text), unnested.type.item)]
        text = both("select {} from {}{}", named(outputs), source.text, made.where(0.4))
        return Query(text, [output.type for output in outputs])

    def statement(self) -> Query:
        """A query, at times with a common table expression over one of the tables."""
        query = self.query()
        if self.random.random() < 0.15:
            name = self.random.choice(list(self.tables))
            kind = self.random.choice(["", "", "materialized "])
            text = both(f"with w as {kind}(select * from <{name}> as r) {{}}", query.text)
            text = Both(*(half.replace(f"<{name}> as q", "w as q") for half in (text.folio, text.duck)))
            return Query(text, query.types, query.is_ordered)
        return query


def joined(between: str, parts: Sequence[Both]) -> Both:
    return Both(between.join(part.folio for part in parts), between.join(part.duck for part in parts))


def named(outputs: Sequence[Column]) -> Both:
    return joined(", ", [both(f"{{}} as c{at}", output.text) for at, output in enumerate(outputs)])


def written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    # The least integer is not a literal: its digits without the sign are out of range.
    if value == -(2**63):
        return "(-9223372036854775807 - 1)"
    if isinstance(value, float):
        return f"cast({value} as double precision)"
    return f"({value})" if value < 0 else str(value)
