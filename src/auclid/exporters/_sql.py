"""Expressions as SQL: one SELECT with CASE and arithmetic."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from auclid.errors import InvalidValueError
from auclid.exporters import expression as ex

MAX_LENGTH = 5_000_000
"""Characters of a statement, at the most: longer ones are refused by databases, or take minutes to plan."""

WHENS = 8
"""Cases of a CASE that are tried one after the other; more are split in two halves."""

TERMS = 50
"""Terms of a sum without parentheses: databases bound the depth of an expression."""


class SqlDialect:
    """Standard SQL (ISO 9075): what other dialects change is in their classes."""

    double = "DOUBLE PRECISION"

    def quoted(self, name: str) -> str:
        """The name of a column."""
        return '"' + name.replace('"', '""') + '"'

    def text(self, value: str) -> str:
        """A string."""
        return "'" + value.replace("'", "''") + "'"

    def number(self, value: float) -> str:
        """A double-precision constant, NULL where it is missing."""
        if value != value:
            return "NULL"
        written = repr(float(value))
        written = written if "e" in written else f"{written}e0"
        return f"({written})" if value < 0.0 else written

    def cell(self, column: ex.ColumnRef) -> str:
        """The value of a column: a number, days since 1970, or a text."""
        name = self.quoted(column.name)
        if column.kind == "text":
            return name
        return self.days(name) if column.kind == "date" else f"CAST({name} AS {self.double})"

    def days(self, name: str) -> str:
        """Days since 1970-01-01 of a date or timestamp."""
        since = f"(CAST({name} AS TIMESTAMP) - TIMESTAMP '1970-01-01 00:00:00')"
        parts = [("HOUR", "24e0"), ("MINUTE", "1440e0"), ("SECOND", "86400e0")]
        rest = " + ".join(f"EXTRACT({part} FROM {since}) / {size}" for part, size in parts)
        return f"(EXTRACT(DAY FROM {since}) + {rest})"

    def is_missing(self, column: ex.ColumnRef) -> str:
        """Whether the cell of a column is missing."""
        return f"{self.quoted(column.name)} IS NULL"


class SQLite(SqlDialect):
    """SQLite: no NaN, dates are texts."""

    double = "REAL"

    def days(self, name: str) -> str:
        seconds = f"CAST(strftime('%s', {name}) AS REAL)"
        fraction = f"CAST(strftime('%f', {name}) AS REAL) - CAST(strftime('%S', {name}) AS REAL)"
        return f"(({seconds} + ({fraction})) / 86400e0)"


class DuckDB(SqlDialect):
    """DuckDB."""

    double = "DOUBLE"

    def days(self, name: str) -> str:
        return f"(epoch_us(CAST({name} AS TIMESTAMP)) / 86400000000e0)"

    def is_missing(self, column: ex.ColumnRef) -> str:
        plain = super().is_missing(column)
        return plain if column.kind != "number" else f"({plain} OR isnan({self.cell(column)}))"


class PostgreSQL(SqlDialect):
    """PostgreSQL, from version 9."""

    def days(self, name: str) -> str:
        return f"(CAST(EXTRACT(EPOCH FROM CAST({name} AS TIMESTAMP)) AS {self.double}) / 86400e0)"

    def is_missing(self, column: ex.ColumnRef) -> str:
        plain = super().is_missing(column)
        nan = f"CAST('NaN' AS {self.double})"
        return plain if column.kind != "number" else f"({plain} OR {self.cell(column)} = {nan})"


class Spark(DuckDB):
    """Spark SQL, from version 3.1; the session's time zone must be UTC where dates are used."""

    def quoted(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def text(self, value: str) -> str:
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def days(self, name: str) -> str:
        return f"(unix_micros(CAST({name} AS TIMESTAMP)) / 86400000000e0)"


DIALECTS: dict[str, SqlDialect] = {
    "ansi": SqlDialect(),
    "sqlite": SQLite(),
    "duckdb": DuckDB(),
    "postgresql": PostgreSQL(),
    "spark": Spark(),
}


def sql_text(score: ex.Score, dialect: str, table: str, keep: Sequence[str] | None, probability: bool) -> str:
    """One SELECT of columns of a table and, last, the score of each row."""
    writer = _Writer(DIALECTS[dialect])
    outputs = [("probability", score.probability)] if probability and score.probability is not None else []
    columns = [(name, writer.write(each)) for name, each in [*outputs, ("score", score.expression)]]
    source = ".".join(map(writer.dialect.quoted, table.split(".")))
    for aliases in (writer.inner, writer.outer):
        if aliases:
            source = f"(\n{_select(writer.dialect, ['*'], [(a, t) for t, a in aliases.items()], source)}) AS t"
    kept = ["*"] if keep is None else list(map(writer.dialect.quoted, keep))
    text = _select(writer.dialect, kept, columns, source).rstrip() + ";\n"
    if len(text) > MAX_LENGTH:
        raise too_long(len(text))
    return text


def _select(dialect: SqlDialect, kept: Sequence[str], columns: Sequence[tuple[str, str]], source: str) -> str:
    written = [*kept, *(f"\n  {text} AS {dialect.quoted(name)}" for name, text in columns)]
    return f"SELECT {', '.join(written)}\nFROM {source}\n"


def too_long(length: int) -> InvalidValueError:
    """The error for a statement that no database would take."""
    return InvalidValueError(
        f"The score must be written in at most {MAX_LENGTH:,} characters of SQL; this model needs some {length:,}. "
        "Use to='onnx' or to='python', or a model of fewer trees or landmarks."
    )


class _Writer:
    """Writes expressions in a dialect."""

    def __init__(self, dialect: SqlDialect) -> None:
        self.dialect, self.number, self.cell = dialect, dialect.number, dialect.cell
        self.length = 0
        self.inner: dict[str, str] = {}
        """Names of values that are needed often, by their text: columns of the innermost SELECT."""
        self.outer: dict[str, str] = {}
        """The same, of the SELECT around it, whose texts may use those names."""

    def write(self, e: ex.Expression) -> str:
        """An expression that can stand beside any operator."""
        text = getattr(self, f"write_{e.op}")(e)
        self.length += len(text)
        if self.length > 20 * MAX_LENGTH:
            raise too_long(self.length // 20)
        return text

    def named(self, aliases: dict[str, str], text: str) -> str:
        """The name of a value that is needed more than once."""
        number = len(self.inner) + len(self.outer) + 1
        return self.dialect.quoted(aliases.setdefault(text, f"auclid_{number}"))

    def short(self, x: ex.Expression) -> str:
        """An expression that is needed often: a number as it is, anything else by a name."""
        text = self.write(x)
        plain = isinstance(x, ex.ColumnRef) and x.kind == "number"
        return text if plain else self.named(self.inner, text)

    def missing(self, x: ex.Expression) -> str:
        """The condition that an expression is missing."""
        return self.dialect.is_missing(x) if isinstance(x, ex.ColumnRef) else f"{self.write(x)} IS NULL"

    def total(self, terms: Sequence[str]) -> str:
        """A sum, in groups of bounded size."""
        while len(terms) > TERMS:
            terms = [f"({' + '.join(terms[k : k + TERMS])})" for k in range(0, len(terms), TERMS)]
        return f"({' + '.join(terms)})" if len(terms) > 1 else terms[0]

    def write_column(self, e: ex.ColumnRef) -> str:
        return self.cell(e)

    def write_constant(self, e: ex.Number) -> str:
        return self.number(e.value)

    def write_sum(self, e: ex.Sum) -> str:
        return self.total([self.write(term) for term in e.terms])

    def write_weighted(self, e: ex.Weighted) -> str:
        pairs = zip(e.weights, e.inputs, strict=True)
        return self.total([f"{self.number(w)} * {self.write(x)}" for w, x in pairs])

    def write_piecewise(self, e: ex.Piecewise) -> str:
        x = self.write(e.x)
        x = x if len(e.cuts) < WHENS else self.short(e.x)
        inside = self.cases(x, e.cuts, [self.piece(x, piece) for piece in e.pieces])
        return f"CASE WHEN {self.missing(e.x)} THEN {self.number(e.missing)} ELSE {inside} END"

    def piece(self, x: str, piece: ex.Piece) -> str:
        at, value, slope = piece
        if slope == 0.0:
            return self.number(value)
        place = x if at == 0.0 else f"({x} - {self.number(at)})"
        line = f"{self.number(slope)} * {place}"
        return line if value == 0.0 else f"{self.number(value)} + {line}"

    def cases(self, x: str, cuts: Sequence[float], values: Sequence[str]) -> str:
        """Value k where x is below cut k and no earlier one; the last where it is below none."""
        if not cuts:
            return values[0]
        if len(cuts) > WHENS:
            middle = len(cuts) // 2
            low, high = (
                self.cases(x, cuts[:middle], values[: middle + 1]),
                self.cases(x, cuts[middle + 1 :], values[middle + 1 :]),
            )
            return f"CASE WHEN {x} < {self.number(cuts[middle])} THEN {low} ELSE {high} END"
        whens = " ".join(
            f"WHEN {x} < {self.number(cut)} THEN {value}" for cut, value in zip(cuts, values, strict=False)
        )
        return f"CASE {whens} ELSE {values[-1]} END"

    def write_lookup(self, e: ex.Lookup) -> str:
        x = self.cell(e.x)
        whens = "".join(
            f" WHEN {x} = {self.dialect.text(level)} THEN {self.number(value)}" for level, value in e.levels
        )
        missing = f"WHEN {self.missing(e.x)} THEN {self.number(e.missing)}"
        return f"CASE {missing}{whens} ELSE {self.number(e.other)} END"

    def write_grid(self, e: ex.Grid) -> str:
        values = np.array(e.values)
        rows = [self.along(e.b, row.tolist()) for row in values]
        if e.a.is_numeric:
            inside = self.interpolated_rows(e, rows, values)
        else:
            inside = self.grouped(e.a, rows)
        return f"CASE WHEN {self.missing(e.a.x)} OR {self.missing(e.b.x)} THEN 0e0 ELSE {inside} END"

    def interpolated_rows(self, e: ex.Grid, rows: list[str], values: np.ndarray) -> str:
        """Between two knots of the first axis, the lower row and a share of its difference to the next."""
        x, knots, cases = self.write(e.a.x), e.a.knots, [rows[0]]
        for k, (low, high) in enumerate(pairwise(knots)):
            slope = self.along(e.b, ((values[k + 1] - values[k]) / (high - low)).tolist())
            cases.append(f"{rows[k]} + ({x} - {self.number(low)}) * {slope}")
        return self.cases(x, knots, [*cases, rows[-1]])

    def along(self, axis: ex.Axis, values: list[float]) -> str:
        """Values at the nodes of an axis that is not missing."""
        if not axis.is_numeric:
            return self.grouped(axis, [self.number(value) for value in values])
        curve, x = ex.interpolated(axis.x, axis.knots, values, 0.0), self.write(axis.x)
        return self.cases(x, curve.cuts, [self.piece(x, piece) for piece in curve.pieces])

    def grouped(self, axis: ex.Axis, values: list[str]) -> str:
        """The value of a level's group."""
        whens = [
            f"WHEN {self.write(axis.x)} IN ({self.texts(members)}) THEN {values[group]}"
            for group, members in axis.levels_by_group().items()
        ]
        return f"CASE {' '.join(whens)} ELSE {values[axis.other]} END" if whens else values[axis.other]

    def texts(self, values: Sequence[str]) -> str:
        return ", ".join(map(self.dialect.text, values))

    def write_wave(self, e: ex.Wave) -> str:
        turns = f"{self.write(e.x)} / {self.number(e.period)}"
        angle = f"{self.number(2.0 * np.pi)} * ({turns} - floor({turns}))"
        wave, steps = f"{'cos' if e.cosine else 'sin'}({angle})", self.number(ex.WAVE_STEPS)
        return f"CASE WHEN {self.missing(e.x)} THEN 0e0 ELSE round({wave} * {steps}) / {steps} END"

    def write_trees(self, e: ex.TreeSum) -> str:
        return self.total([self.tree(e, int(root)) for root in e.arrays.roots])

    def tree(self, e: ex.TreeSum, root: int) -> str:
        """Leaves from left to right: what an earlier leaf has taken, a later one need not exclude."""
        whens: list[str] = []
        stack: list[tuple[int, tuple[str, ...]]] = [(root, ())]
        while stack:
            node, conditions = stack.pop()
            if e.arrays.feature[node] < 0:
                value = self.number(float(e.arrays.value[node]))
                whens.append(f"WHEN {' AND '.join(conditions)} THEN {value}" if conditions else f"ELSE {value}")
                continue
            left = self.goes_left(e, node)
            stack.append((int(e.arrays.right[node]), conditions))
            stack.append((int(e.arrays.left[node]), (*conditions, left)))
        return f"CASE {' '.join(whens)} END" if len(whens) > 1 else whens[0].removeprefix("ELSE ")

    def goes_left(self, e: ex.TreeSum, node: int) -> str:
        arrays, x = e.arrays, e.inputs[int(e.arrays.feature[node])]
        missing_left = not bool(arrays.missing_right[node])
        if isinstance(x, ex.Lookup):
            return self.levels_left(x, _left_codes(e, node), missing_left)
        if arrays.is_set[node]:
            members = ", ".join(self.number(float(code)) for code in e.members(node))
            condition = f"{self.short(x)} IN ({members})"
        else:
            condition = f"{self.short(x)} <= {self.number(float(arrays.threshold[node]))}"
        return f"({self.missing(x)} OR {condition})" if missing_left else condition

    def levels_left(self, x: ex.Lookup, is_left: Callable[[float], bool], missing_left: bool) -> str:
        """Whether a text's code goes left, without writing the code."""

        def left(code: float) -> bool:
            return missing_left if code != code else is_left(code)

        cell, other = self.cell(x.x), left(x.other)
        named = [level for level, code in x.levels if left(code) != other]
        inside = (
            f"{cell} {'NOT IN' if other else 'IN'} ({self.texts(named)})" if named else ("1 = 1" if other else "1 = 0")
        )
        if left(x.missing):
            return f"({self.missing(x.x)} OR {inside})"
        return f"({self.cell(x.x)} IS NOT NULL AND {inside})"

    def write_kernel(self, e: ex.KernelSum) -> str:
        inputs = [self.short(x) for x in e.inputs]
        length = e.centres.size * (2 * np.mean([len(x) for x in inputs]) + 60)
        if length > MAX_LENGTH:
            raise too_long(int(length))
        return self.total([self.kernel_term(e, k, inputs) for k in range(len(e.weights))])

    def kernel_term(self, e: ex.KernelSum, k: int, inputs: Sequence[str]) -> str:
        centre, weight = e.centres[k].tolist(), self.number(float(e.weights[k]))
        if e.kind == "cosine":
            assert e.phases is not None
            angle = self.total([f"{self.number(c)} * {x}" for x, c in zip(inputs, centre, strict=True)])
            return f"{weight} * cos({angle} + {self.number(float(e.phases[k]))})"
        gaps = [f"({x} - {self.number(c)})" for x, c in zip(inputs, centre, strict=True)]
        distance = self.total([f"{gap} * {gap}" if e.kind == "rbf" else f"abs{gap}" for gap in gaps])
        return f"{weight} * exp({self.number(-e.gamma)} * {distance})"

    def write_log_odds(self, e: ex.LogOdds) -> str:
        linear, end, square = (self.number(value) for value in (e.linear, 2.0 * e.linear, e.linear * e.linear))

        x = self.named(self.outer, self.write(e.x))
        beyond = f"WHEN {x} > {linear} THEN {end} - {square} / {x} WHEN {x} < -{linear} THEN -{end} - {square} / {x}"
        return f"round((CASE {beyond} ELSE {x} END) * {self.number(1.0 / e.step)}) * {self.number(e.step)}"

    def write_sigmoid(self, e: ex.Sigmoid) -> str:
        return f"(1e0 / (1e0 + exp(-({self.write(e.x)}))))"


def _left_codes(e: ex.TreeSum, node: int) -> Callable[[float], bool]:
    if not e.arrays.is_set[node]:
        threshold = float(e.arrays.threshold[node])
        return lambda code: code <= threshold
    members = set(e.members(node))
    return lambda code: int(code) in members
