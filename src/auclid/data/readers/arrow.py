"""Sources of named columns, all by way of Arrow: IPC and csv files; tables of pyarrow, pandas and polars."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from auclid._hints import listed
from auclid._kinds import looked_at, word
from auclid.data.encoding import ColumnEncoding, kind_of, meaning_of
from auclid.data.readers.dialect import MISSING, sniff_delimiter
from auclid.data.readers.reader import Block, ColumnSelection, Reader, ahead, block_rows, chosen
from auclid.errors import ColumnTypeError

OTHERS = (
    "Choose others with columns=[...], put Columns before the method in a pipeline, or use Scorecard, which knows "
    "texts and dates."
)
"""What to do about columns that are no numbers."""

NARROW = {"bool", "int8", "uint8", "int16", "uint16", "halffloat", "float"}
"""Types whose values are exact in float32."""


def arrow() -> Any:
    """The module pyarrow, or a sentence on how to get it."""
    try:
        import pyarrow
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError:
        raise ImportError("scan reads tables by pyarrow, which is not installed: pip install 'auclid[io]'.") from None
    return pyarrow


class ArrowReader(Reader):
    """Blocks of numbers from batches of Arrow columns; a subclass gives a schema and the batches."""

    def __init__(self, where: str, schema: Any, wanted: ColumnSelection) -> None:
        self.where, self.wanted = where, wanted
        self.columns = chosen(wanted, [str(name) for name in schema.names], where)
        self.has_target, self.has_weight = wanted.target is not None, wanted.weight is not None
        kinds = {str(field.name): field.type for field in schema}
        known_types({name: kinds[name] for name in self.columns}, where)
        self.meanings = {name: each for name in self.columns if (each := meaning_of(kinds[name])) is not None}
        narrow = all(str(kinds[name]) in NARROW for name in self.columns)
        self.dtype = np.dtype(np.float32 if narrow else np.float64)

    @abstractmethod
    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """Record batches with these columns, about so many rows each."""

    def read(self) -> Iterator[Block]:
        batches = self.batches([*self.columns, *self._apart()], block_rows(len(self.columns), self.dtype))
        return self._blocks(ahead(batches))

    def _blocks(self, batches: Iterator[Any]) -> Iterator[Block]:
        return (Block(self._numbers(batch), *self._labels(batch)) for batch in batches)

    def read_labels(self) -> Iterator[Block] | None:
        batches = self.batches(self._apart(), block_rows(len(self.columns), self.dtype))  # so blocks have one number
        return (Block(None, *self._labels(batch)) for batch in batches)

    def _apart(self) -> list[str]:
        return [name for name in (self.wanted.target, self.wanted.weight) if name is not None]

    def _labels(self, batch: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
        place = places(batch)
        target, weight = (None if name is None else batch.column(place[name]) for name in self.wanted[:2])
        return (
            None if target is None else label_values(target),
            None if weight is None else number_values(weight).astype(np.float64),
        )

    def _numbers(self, batch: Any) -> np.ndarray:
        """A block whose columns lie together, as they do in Arrow: so they are copied, not dealt out."""
        out, place = np.empty((len(self.columns), batch.num_rows), self.dtype), places(batch)
        for row, name in zip(out, self.columns, strict=True):
            row[:] = self._column(batch.column(place[name]), name)
        return out.T

    def _column(self, values: Any, name: str) -> np.ndarray:
        """The numbers of a column, which may be of another type here than in the first block."""
        meaning, own = self.meanings.get(name), kind_of(values.type)
        if meaning is not None and (meaning.is_words or own == meaning.kind):
            return meaning.numbers(values, name)
        if own in (None, "bool") and (meaning is None or meaning.kind == "bool" or arrow().types.is_null(values.type)):
            return number_values(values)
        raise not_numbers({name: str(values.type)}, self.where)


def places(batch: Any) -> dict[str, int]:
    """The number of each column by its name as text: pandas' names may be numbers."""
    return {str(name): k for k, name in enumerate(batch.schema.names)}


def known_types(kinds: dict[str, Any], where: str) -> None:
    """Raise where a column holds neither numbers nor what numbers can stand for."""
    types = arrow().types
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_null, meaning_of)
    strange = {name: str(kind) for name, kind in kinds.items() if not any(test(kind) for test in tests)}
    if strange:
        raise not_numbers(strange, where)


def not_numbers(kinds: dict[str, str], where: str) -> ColumnTypeError:
    """The error for columns that are no numbers, by name with their types, where numbers are wanted."""
    names, first = list(kinds), next(iter(kinds.values()))
    return ColumnTypeError(
        columns=names,
        owner="scan",
        parameter="columns",
        subject=f"The columns of {where}",
        expected="be numbers",
        got=f"{first} in {listed(names)}",
        hint=OTHERS,
    )


def number_values(values: Any) -> np.ndarray:
    """An Arrow column of numbers as a NumPy array: NaN where one is missing."""
    kind = str(values.type)
    if kind == "bool":
        values = values.cast("uint8")
    elif kind.startswith("decimal") or kind == "null":
        values = values.cast("float64")
    return values.to_numpy(zero_copy_only=False)


def label_values(values: Any) -> np.ndarray:
    """An Arrow column of labels as a NumPy array: numbers, or objects where they are texts; None or NaN if missing."""
    types = arrow().types
    if types.is_integer(values.type) or types.is_floating(values.type) or types.is_boolean(values.type):
        return values.to_numpy(zero_copy_only=False)
    coded = values if types.is_dictionary(values.type) else values.dictionary_encode()
    levels = np.array([*coded.dictionary.to_pylist(), None], dtype=object)
    return levels[coded.indices.fill_null(len(levels) - 1).to_numpy(zero_copy_only=False)]


@contextmanager
def sentence(path: Path, kind: str) -> Iterator[None]:
    """Tell in one sentence what Arrow says of a file."""
    pa = arrow()
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(f"{str(path)!r} must stay in its place while scan reads it; it is gone.") from None
    except (pa.ArrowException, OSError, UnicodeError) as error:
        text = " ".join(str(error).split()).rstrip(".")
        raise ValueError(f"{str(path)!r} must be a whole {kind} file: {text}.") from None


def first_types(schemas: Sequence[Any]) -> Any:
    """The columns of the first of several files; one that is empty there has the type it has in the next."""
    pa, first = arrow(), schemas[0]
    for k, field in enumerate(first):
        if pa.types.is_null(field.type):
            later = (schema.field(field.name).type for schema in schemas[1:] if field.name in schema.names)
            known = next((kind for kind in later if not pa.types.is_null(kind)), field.type)
            first = first.set(k, field.with_type(known))
    return first


def common_type(kinds: Sequence[Any]) -> Any:
    """The type of a column that has these in several files: the one they share, of whole numbers int64, else text."""
    pa = arrow()
    known = list(dict.fromkeys(kind for kind in kinds if not pa.types.is_null(kind)))
    if len(known) <= 1:
        return known[0] if known else pa.null()
    signed = all(pa.types.is_integer(kind) and kind != pa.uint64() for kind in known)
    return pa.int64() if signed else pa.string()


def as_type(values: Any, kind: Any) -> Any:
    """An Arrow column in that type; a whole number becomes a text without a point."""
    if values.type == kind:
        return values
    if kind == arrow().string():
        return arrow().array(map(word, values.to_pylist()), kind)
    return values.cast(kind)


class Files(ArrowReader):
    """Several files of the same columns, one after the other; a subclass opens one of them."""

    kind: str

    def __init__(self, paths: Sequence[Path], where: str, wanted: ColumnSelection) -> None:
        self.paths = list(paths)
        self.sizes = [path.stat().st_size for path in self.paths]
        schemas = [self.schema(path) for path in self.paths]
        super().__init__(where, first_types(schemas), wanted)
        for path, schema in zip(self.paths[1:], schemas[1:], strict=True):
            there = set(schema.names)
            absent = [name for name in [*self.columns, *self._apart()] if name not in there]
            if absent:
                raise ValueError(
                    f"The files of {where} must have the same columns; {str(path)!r} lacks {listed(absent)}."
                )

    @abstractmethod
    def schema(self, path: Path) -> Any:
        """The columns of a file."""

    @abstractmethod
    def open(self, path: Path, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """The batches of one file."""

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        for path in self.paths:
            with sentence(path, self.kind):
                yield from self.open(path, columns, rows)

    def copies(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """Batches of columns as they came, whatever they hold; as texts where files have them in several types."""
        pa, schemas = arrow(), [self.schema(path) for path in self.paths]
        kinds = [common_type([schema.field(name).type for schema in schemas]) for name in columns]
        schema = pa.schema(list(zip(columns, kinds, strict=True)))
        for batch in self.batches(columns, rows):
            place = places(batch)
            cells = [as_type(batch.column(place[field.name]), field.type) for field in schema]
            yield pa.RecordBatch.from_arrays(cells, schema=schema)

    def unchanged(self) -> None:
        for path, size in zip(self.paths, self.sizes, strict=True):
            now = path.stat().st_size if path.is_file() else None
            if now != size:
                said = "it is gone" if now is None else f"it had {size:,} bytes and has {now:,}"
                raise ValueError(f"{str(path)!r} must stay as it is while it is read again and again; {said}.")


class Ipc(Files):
    """Arrow IPC files (also called Feather), memory-mapped: a batch is as large as it was written."""

    kind = "Arrow IPC"

    def schema(self, path: Path) -> Any:
        with sentence(path, self.kind), arrow().ipc.open_file(path) as file:
            return file.schema

    def open(self, path: Path, columns: Sequence[str], rows: int) -> Iterator[Any]:
        pa, wanted = arrow(), set(columns)
        with pa.memory_map(str(path)) as mapped, pa.ipc.open_file(mapped) as file:
            for k in range(file.num_record_batches):
                batch = file.get_batch(k)
                yield from sliced(batch.select([name for name in batch.schema.names if name in wanted]), rows)


class Csv(Files):
    """Text files separated by commas, semicolons or tabs, as their first line is; types are those of a first look."""

    kind = "csv"
    slow = True

    def __init__(self, paths: Sequence[Path], where: str, wanted: ColumnSelection) -> None:
        self.named = not any(".data" in path.suffixes for path in paths)
        super().__init__(paths, where, wanted)
        self.dtype = np.dtype(np.float64)

    def schema(self, path: Path) -> Any:
        pa = arrow()
        with sentence(path, "csv"), self._opened(path, {}) as reader:
            times = [pa.types.is_time(field.type) for field in reader.schema]
            fields = zip(reader.schema, times, strict=True)
            return pa.schema([field.with_type(pa.string()) if time else field for field, time in fields])

    def read_labels(self) -> Iterator[Block] | None:
        return None  # lines have to be parsed whole

    def open(self, path: Path, columns: Sequence[str], rows: int) -> Iterator[Any]:
        pa, schema = arrow(), self.schema(path)
        types = {name: self._type(name) for name in [*self.columns, self.wanted.weight] if name is not None}
        if self.wanted.target is not None:
            kind = schema.field(self.wanted.target).type
            types[self.wanted.target] = pa.string() if str(kind) == "null" else kind
        with self._opened(path, {"include_columns": list(columns), "column_types": types}) as reader:
            for batch in reader:
                yield from sliced(batch, rows)

    def copies(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        types = dict.fromkeys(columns, arrow().string())  # 007 stays 007, and NA stays NA
        as_texts = {"include_columns": list(columns), "column_types": types, "strings_can_be_null": False}
        for path in self.paths:
            with sentence(path, self.kind):
                for batch in self._opened(path, as_texts):
                    yield from sliced(batch, rows)

    def _type(self, name: str) -> Any:
        """How a column is read in every file: as a first look at the first one found it; days may have hours later."""
        pa, meaning = arrow(), self.meanings.get(name)
        if meaning is None:
            return pa.float64()
        if meaning.kind == "date":
            return pa.timestamp("ns" if "ns" in meaning.told else "us", "UTC" if "tz=" in meaning.told else None)
        return pa.bool_() if meaning.kind == "bool" else pa.string()

    def _opened(self, path: Path, convert: dict[str, Any]) -> Any:
        pa, csv = arrow(), arrow().csv
        separator, cells = sniff_delimiter(path)
        names = None if self.named else [f"x{k}" for k in range(1, cells + 1)]
        return csv.open_csv(
            pa.input_stream(str(path), compression="detect"),
            read_options=csv.ReadOptions(block_size=1 << 22, column_names=names),
            parse_options=csv.ParseOptions(delimiter=separator),
            convert_options=csv.ConvertOptions(null_values=MISSING, **{"strings_can_be_null": True, **convert}),
        )


def sliced(batch: Any, rows: int) -> Iterator[Any]:
    """A batch in pieces of at most so many rows."""
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


class Frame(ArrowReader):
    """A table in memory: of pyarrow, pandas or polars, a lazy one too."""

    def __init__(
        self, table: Any, wanted: ColumnSelection, meanings: Mapping[str, ColumnEncoding] | None = None
    ) -> None:
        self.table, self.kind = table, type(table).__module__.split(".")[0]
        self.lazy = type(table).__name__ == "LazyFrame"
        self.resident, self.slow = not self.lazy, self.lazy
        self.count = None if self.lazy else int(table.shape[0])
        self._mixed: list[Any] = []
        super().__init__(f"the {self.kind} table", self._schema(), wanted)
        self.meanings = self.meanings if meanings is None else meanings

    def _schema(self) -> Any:
        pa = arrow()
        if self.kind == "pyarrow":
            return self.table.schema
        if self.kind == "pandas":
            return pa.schema([self._pandas_field(k, name) for k, name in enumerate(self.table.columns)])
        schema = self.table.collect_schema()
        import polars

        return polars.DataFrame(schema=schema).to_arrow().schema

    def _pandas_field(self, k: int, name: Any) -> Any:
        """Name and type of a column; one of objects that have no type in common is a category of what they read as."""
        pa, values = arrow(), self.table.iloc[:, k]
        try:
            some = values if str(values.dtype) == "object" else values.iloc[:1000]
            return pa.field(str(name), pa.array(some, from_pandas=True).type)
        except pa.ArrowException:
            looked_at("scan", str(name), values.to_numpy())  # refuses what is no cell of a table
            self._mixed.append(name)
            return pa.field(str(name), pa.dictionary(pa.int32(), pa.string()))

    def read(self) -> Iterator[Block]:
        return self._blocks(self.batches([*self.columns, *self._apart()], block_rows(len(self.columns), self.dtype)))

    def read_labels(self) -> Iterator[Block] | None:
        return None if self.lazy else super().read_labels()

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        pa = arrow()
        if self.kind == "pyarrow":
            yield from self.table.select(list(columns)).to_batches(max_chunksize=rows)
        elif self.kind == "pandas":
            wanted = set(columns)
            names = [name for name in self.table.columns if str(name) in wanted]
            for start in range(0, len(self.table), rows):
                part = self.table[names].iloc[start : start + rows]
                for name in [name for name in self._mixed if name in names]:
                    part = part.copy(deep=False)
                    part[name] = part[name].map(word)
                # by way of a table: texts that were joined lie in several pieces, which no batch takes
                yield from pa.Table.from_pandas(part, preserve_index=False).combine_chunks().to_batches()
        elif self.lazy:
            for frame in self.table.select(list(columns)).collect_batches(chunk_size=rows, maintain_order=True):
                yield from frame.to_arrow().to_batches(max_chunksize=rows)
        else:
            for start in range(0, self.table.height, rows):
                yield from self.table.select(list(columns)).slice(start, rows).to_arrow().to_batches()
