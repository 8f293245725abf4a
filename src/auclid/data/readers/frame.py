"""Tables in memory: of pyarrow, pandas or polars, a lazy one too."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from auclid.data.encoding import ColumnEncoding, as_text, infer_kind
from auclid.data.readers.arrow import ArrowReader, import_pyarrow
from auclid.data.readers.reader import ColumnSelection, SourceBlock

FRAMES = {
    ("pyarrow", "Table"), ("pyarrow", "RecordBatch"), ("pandas", "DataFrame"),
    ("polars", "DataFrame"), ("polars", "LazyFrame"),
}  # fmt: skip


def is_readable_frame(source: Any) -> bool:
    """Whether a source is a table that `FrameReader` reads."""
    return (type(source).__module__.split(".")[0], type(source).__name__) in FRAMES


class FrameReader(ArrowReader):
    """A table of pyarrow, pandas or polars; ``encodings`` are those of other blocks of the same table, if any."""

    def __init__(
        self, table: Any, selection: ColumnSelection, encodings: Mapping[str, ColumnEncoding] | None = None
    ) -> None:
        self.table, self.library = table, type(table).__module__.split(".")[0]
        self.lazy = type(table).__name__ == "LazyFrame"
        self.resident, self.slow = not self.lazy, self.lazy
        self.count = None if self.lazy else int(table.shape[0])
        self._mixed: list[Any] = []
        fields = list(self._schema())
        types = {str(field.name): [field.type] for field in fields}
        super().__init__(f"the {self.library} table", [str(field.name) for field in fields], types, selection)
        self.encodings = self.encodings if encodings is None else encodings

    def _schema(self) -> Any:
        pa = import_pyarrow()
        if self.library == "pyarrow":
            return self.table.schema
        if self.library == "pandas":
            return pa.schema([self._pandas_field(k, name) for k, name in enumerate(self.table.columns)])
        schema = self.table.collect_schema()
        import polars

        return polars.DataFrame(schema=schema).to_arrow().schema

    def _pandas_field(self, k: int, name: Any) -> Any:
        """Name and type of a column; one of objects that have no type in common is a category of their texts."""
        pa, values = import_pyarrow(), self.table.iloc[:, k]
        try:
            some = values if str(values.dtype) == "object" else values.iloc[:1000]
            return pa.field(str(name), pa.array(some, from_pandas=True).type)
        except pa.ArrowException:
            infer_kind("scan", str(name), values.to_numpy())  # refuses what is no cell of a table
            self._mixed.append(name)
            return pa.field(str(name), pa.dictionary(pa.int32(), pa.string()))

    def read(self) -> Iterator[SourceBlock]:
        return self._blocks(self._all_batches())

    def read_labels(self) -> Iterator[SourceBlock] | None:
        return None if self.lazy else super().read_labels()

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        if self.library == "pyarrow":
            yield from self.table.select(list(columns)).to_batches(max_chunksize=rows)
        elif self.library == "pandas":
            for start in range(0, len(self.table), rows):
                yield from self._pandas_batches(set(columns), start, rows)
        elif self.lazy:
            for frame in self.table.select(list(columns)).collect_batches(chunk_size=rows, maintain_order=True):
                yield from frame.to_arrow().to_batches(max_chunksize=rows)
        else:
            for start in range(0, self.table.height, rows):
                yield from self.table.select(list(columns)).slice(start, rows).to_arrow().to_batches()

    def _pandas_batches(self, columns: set[str], start: int, rows: int) -> Iterator[Any]:
        names = [name for name in self.table.columns if str(name) in columns]
        part = self.table[names].iloc[start : start + rows]
        for name in [name for name in self._mixed if name in names]:
            part = part.copy(deep=False)
            part[name] = part[name].map(as_text)
        # by way of a table: texts that were joined lie in several pieces, which no batch takes
        yield from import_pyarrow().Table.from_pandas(part, preserve_index=False).combine_chunks().to_batches()
