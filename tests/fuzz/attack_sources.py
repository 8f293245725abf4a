"""Attacks on sources of rows: files damaged byte by byte, the same rows by other blocks, one source in many threads."""

import bz2
import datetime
import gzip
import io
import lzma
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

import auclid
from auclid.data.readers import csv, libsvm, reader
from auclid.datasets import read_table
from auclid.errors import AuclidError
from hostile import Found, attempt, pick

SENTENCES = (AuclidError, OSError, MemoryError)
"""How a damaged file may be refused: with an error that names it, or what the system says of it."""

CELLS: dict[str, list[str]] = {
    "numbers": ["1", "-2.5", "3e4", "0", "17", " 8 ", "+4"],
    "codes": ["250", "401", "V27", "007", "0x1F", "1_000"],
    "texts": ["red", "blue", "é", 'say "no"', "two\nlines", "a,b", "a;b", " x"],
    "dates": ["2024-01-05", "2023-12-31", "2024-02-29T10:30", " 2024-01-06"],
    "times": ["09:30", "23:59", "9:00", "12:00:01"],
    "truths": ["true", "false", "True", "TRUE", "1"],
    "zoned": ["2024-01-05T10:00Z", "2024-01-05T10:00+02:00", "2024-01-05 10:00"],
}
"""What cells of a column may be; some of them make it something else."""

PACKED = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}

MISSING = ["", "NA", "?", "nan"]


def cells(rng: np.random.Generator, n: int) -> list[str]:
    """A column of texts: most of them the first ones of a kind, an odd one now and then, some missing."""
    kind = CELLS[pick(rng, list(CELLS))]
    usual, odd, gaps = kind[: int(rng.integers(1, len(kind) + 1))], pick(rng, [0.0, 0.02, 0.3]), pick(rng, [0.0, 0.2])
    column = [pick(rng, kind) if rng.random() < odd else pick(rng, usual) for _ in range(n)]
    return [pick(rng, MISSING) if rng.random() < gaps else cell for cell in column]


def quoted(cell: str) -> str:
    """A cell as csv writes it."""
    return '"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in ',;"\n') else cell


def csv_text(rng: np.random.Generator, n: int) -> str:
    """A csv file of n rows with a label a row."""
    columns = [cells(rng, n) for _ in range(int(rng.integers(1, 5)))]
    y = [pick(rng, ["no", "yes"]) for _ in range(n)]
    delimiter = pick(rng, ",;")
    lines = [[f"c{k}" for k in range(len(columns))] + ["y"], *map(list, zip(*columns, y, strict=True))]
    return "".join(delimiter.join(map(quoted, line)) + "\n" for line in lines)


def arrow_table(rng: np.random.Generator, n: int) -> Any:
    """An Arrow table with a column of many a kind."""
    import pyarrow as pa

    day = datetime.date(2024, 1, 1)
    columns: dict[str, Any] = {
        "number": pa.array(rng.normal(size=n), mask=rng.random(n) < 0.1),
        "whole": pa.array(rng.integers(-(2**40), 2**40, n)),
        "small": pa.array(rng.integers(0, 100, n).astype(np.int8)),
        "text": pa.array([pick(rng, ["red", "blue", None, "long " * 20]) for _ in range(n)]),
        "level": pa.array([pick(rng, ["a", "b", None]) for _ in range(n)]).dictionary_encode(),
        "truth": pa.array([pick(rng, [True, False, None]) for _ in range(n)]),
        "day": pa.array([day + datetime.timedelta(int(k)) for k in rng.integers(0, 999, n)]),
        "moment": pa.array(rng.integers(0, 2**40, n), pa.timestamp("us")),
        "time": pa.array([datetime.time(int(k) % 24) for k in range(n)]),
    }
    names = [name for name in columns if rng.random() < 0.6] or ["number"]
    return pa.table({**{name: columns[name] for name in names}, "y": rng.integers(0, 2, n)})


def arrow_bytes(rng: np.random.Generator, table: Any) -> bytes:
    """An Arrow IPC file."""
    import pyarrow as pa

    options = pa.ipc.IpcWriteOptions(compression=pick(rng, [None, None, "lz4", "zstd"]))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema, options=options) as file:
        file.write_table(table, max_chunksize=int(rng.integers(5, 60)))
    return sink.getvalue().to_pybytes()


def parquet_bytes(rng: np.random.Generator, table: Any) -> bytes:
    """A Parquet file."""
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(table, sink, compression=pick(rng, ["none", "snappy", "zstd"]), row_group_size=30)
    return sink.getvalue()


def array_bytes(rng: np.random.Generator, n: int, write: Callable[..., None]) -> bytes:
    """An npy or npz file."""
    sink = io.BytesIO()
    if write is np.save:
        np.save(sink, rng.normal(size=(n, 3)))
    elif write is sparse.save_npz:
        sparse.save_npz(sink, sparse.random(n, 5, 0.3, format=pick(rng, ["csr", "csc"]), random_state=0))
    else:
        write(sink, X=rng.normal(size=(n, 3)), y=rng.integers(0, 2, n))
    return sink.getvalue()


def good_file(rng: np.random.Generator) -> tuple[str, bytes, str | None]:
    """(name, content, target) of a file of some format."""
    n = int(rng.integers(20, 120))
    kind = rng.integers(9)
    if kind < 3:
        return "a.arrow", arrow_bytes(rng, arrow_table(rng, n)), "y"
    if kind < 5:
        return "a.parquet", parquet_bytes(rng, arrow_table(rng, n)), "y"
    if kind == 5:
        ending, packed = pick(rng, PACKED.items())
        return f"a.csv{ending}", packed(csv_text(rng, n).encode()), "y"
    if kind == 6:
        sink = io.BytesIO()
        dump_svmlight_file(rng.normal(size=(n, 4)), rng.integers(0, 2, n), sink)
        return "a.svm", sink.getvalue(), None
    if kind == 7:
        return "a.npy", array_bytes(rng, n, np.save), None
    return "a.npz", array_bytes(rng, n, pick(rng, [np.savez, np.savez_compressed, sparse.save_npz])), None


def damaged(rng: np.random.Generator, content: bytes) -> bytes:
    """The content with some bytes changed, cut out, doubled or set to what breaks offsets."""
    out = bytearray(content)
    for _ in range(int(rng.integers(1, 6))):
        at, kind = int(rng.integers(max(1, len(out)))), rng.integers(6)
        if kind == 0:
            del out[at:]
        elif kind == 1:
            out[at : at + 4] = pick(rng, [b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff", b"\0\0\0\x80", b"\0\0\0\0"])
        elif kind == 2:
            del out[at : at + int(rng.integers(1, 20))]
        elif kind == 3:
            out[at:at] = out[at : at + int(rng.integers(1, 40))]
        elif out:
            out[at % len(out)] = rng.integers(256)
    return bytes(out)


def damaged_case(rng: np.random.Generator) -> None:
    """A file damaged byte by byte: its rows, or an error that names it; never the end of the process."""
    name, content, target = good_file(rng)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(damaged(rng, content))
        what = f"damaged {name}"
        rows = attempt(f"scan of {what}", lambda: auclid.scan(path, target=target), SENTENCES)
        if rows is None:
            return
        attempt(f"labels of {what}", rows.target, SENTENCES)
        attempt(f"rows of {what}", lambda: [repr(X)[:1000] for X, _ in rows.blocks(allow_missing=True)], SENTENCES)
        attempt(f"table of {what}", lambda: read_table(path, target), SENTENCES)
        attempt(f"columns of {what}", lambda: auclid.Columns().fit(rows))


class Blocks:
    """Sources give blocks of so many bytes inside of this context."""

    def __init__(self, size: int) -> None:
        self.sizes = {reader: ("READ_BYTES", 4 * size), csv: ("PARSED_BYTES", size), libsvm: ("PIECE_BYTES", size)}

    def __enter__(self) -> None:
        self.usual = {module: getattr(module, name) for module, (name, _) in self.sizes.items()}
        for module, (name, size) in self.sizes.items():
            setattr(module, name, size)

    def __exit__(self, *_: object) -> None:
        for module, (name, _) in self.sizes.items():
            setattr(module, name, self.usual[module])


def blocks_case(rng: np.random.Generator) -> None:
    """The same file by small blocks, by large ones and in memory: the same labels, kinds, levels and numbers."""
    n = int(rng.integers(20, 200))
    with tempfile.TemporaryDirectory() as folder:
        kind, paths = rng.integers(3), [Path(folder) / "a.csv"]
        if kind == 0:
            paths = [Path(folder) / f"{k}.parquet" for k in range(2)]
            for path in paths:
                path.write_bytes(parquet_bytes(rng, arrow_table(np.random.default_rng(n), n)))
        else:
            paths[0].write_text(csv_text(rng, n), encoding="utf-8")
        source = paths[0] if len(paths) == 1 else Path(folder)
        with Blocks(int(rng.integers(100, 1000))):
            rows = auclid.scan(source, target="y", memory=pick(rng, [0, None]))
            small = attempt("small blocks", lambda: learnt(rows))
        large = attempt("large blocks", lambda: learnt(auclid.scan(source, target="y")))
        table = attempt("in memory", lambda: read_table(source, "y", as_frame=True))
        whole = None if table is None else attempt("Columns in memory", lambda: learnt(table.X, table.y))
        _same(f"{source.name}: small and large blocks", small, large)
        _same(f"{source.name}: blocks and memory", large, whole)


def learnt(X: Any, y: Any = None) -> tuple[Any, ...]:
    """Labels, kinds, names of what comes out, and numbers."""
    columns = auclid.Columns().fit(X)
    numbers = columns.transform(X)
    dense = numbers.toarray() if sparse.issparse(numbers) else np.asarray(numbers)
    labels = X.target() if y is None else y
    return labels.tolist(), columns.kinds_, columns.get_feature_names_out().tolist(), dense


def _same(what: str, a: Any, b: Any) -> None:
    if a is None or b is None:
        if a is not b:
            raise Found("refused one way only", what)
        return
    for name, one, other in zip(("labels", "kinds", "names"), a, b, strict=False):
        if one != other:
            raise Found("unlike", f"{what}: {name} {str(one)[:100]} and {str(other)[:100]}")
    if not np.allclose(a[3], b[3], atol=1e-9):
        raise Found("unlike", f"{what}: numbers")


def threads_case(rng: np.random.Generator) -> None:
    """One source in several threads gives what it gives in one."""
    n, d = int(rng.integers(50, 400)), int(rng.integers(1, 6))
    X, y = rng.normal(size=(n, d)), rng.integers(0, 2, n)
    y[:2] = 0, 1
    size = int(rng.integers(3, 50))
    memory = pick(rng, [0, 0, 1000, None])
    model = auclid.LeastSquaresAUC().fit(X, y)

    def blocks() -> Any:
        return ((X[k : k + size], y[k : k + size]) for k in range(0, n, size))

    rows = auclid.scan(blocks, memory=memory)
    calls = [lambda: model.decision_function(rows), lambda: auclid.LeastSquaresAUC().fit(rows).decision_function(X)]
    with ThreadPoolExecutor(6) as pool:
        for scores in pool.map(lambda k: calls[k % 2](), range(12)):
            if not np.allclose(scores, model.decision_function(X), rtol=1e-6, atol=1e-9):
                raise Found("unlike", f"{n} rows by {size} in threads, memory {memory}")
