"""The originals come whole and checked, or not at all; what was there before is left alone."""

import bz2
import gzip
import hashlib
import lzma
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from scipy import sparse

from auclid.datasets import catalogue
from auclid_papers import data
from auclid_papers import fetch as files
from auclid_papers.definitions import shared_datasets
from auclid_papers.fetch import Source, fetch, original, sources

ROWS = b"+1 1:0.5 3:1\n-1 2:2\n+1 1:1\n"


class Server(BaseHTTPRequestHandler):
    """Serves ``files`` of its server; promises more than it sends of those called "torn"."""

    def do_GET(self):
        name = self.path.rpartition("/")[2]
        self.server.asked.append(name)
        body = self.server.files.get(name)
        if body is None:
            return self.send_error(404)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body) + 100 * (name == "torn")))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as running:
        running.files = {
            "small": ROWS,
            "small.t.bz2": bz2.compress(ROWS),
            "long.xz": lzma.compress(ROWS),
            "words.data": b"1.5,2,g\n2.5,1,h\n0.5,0,g\n",
            "plain.data.gz": gzip.compress(b"1,2,7\n3,4,1\n"),
            "torn": ROWS,
        }
        running.asked = []
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


@pytest.fixture
def known(server, monkeypatch):
    home = f"http://127.0.0.1:{server.server_address[1]}/deep/"
    md5 = hashlib.md5(ROWS).hexdigest()
    listed = {
        "small": [
            Source("small", "train", home + "small", f"md5:{md5}"),
            Source("small", "test", home + "small.t.bz2"),
        ],
        "long": [Source("long", "all", home + "long.xz", labels="1=0 -1=7")],
        "words": [Source("words", "all", home + "words.data", target="x3", labels="g=1 h=-1")],
        "plain": [Source("plain", "all", home + "plain.data.gz", target="x3")],
        "wrong": [Source("wrong", "all", home + "small", "md5:" + "0" * 32)],
        "torn": [Source("torn", "all", home + "torn")],
        "gone": [Source("gone", "all", home + "gone")],
    }
    monkeypatch.setattr(files, "sources", lambda: listed)


def test_files_arrive_with_their_checksum_beside_them(tmp_path, known):
    told = []
    paths = fetch(["small", "words"], tmp_path / "new", tell=told.append)
    assert [path.name for path in paths] == ["small", "small.t.bz2", "words.data"] and len(told) == 3
    assert paths[0].read_bytes() == ROWS
    assert (tmp_path / "new" / "small.sha256").read_text().split() == [hashlib.sha256(ROWS).hexdigest(), "small"]
    assert len(list((tmp_path / "new").iterdir())) == 6


def test_what_is_there_is_not_downloaded_again(tmp_path, known, server):
    fetch(["small"], tmp_path)
    (tmp_path / "small.t.bz2").unlink()
    fetch(["small"], tmp_path)
    assert server.asked == ["small", "small.t.bz2", "small.t.bz2"]


def test_a_file_that_changed_since_is_not_taken_for_the_original(tmp_path, known):
    fetch(["long"], tmp_path)
    (tmp_path / "long.xz").write_bytes(b"other")
    with pytest.raises(ValueError, match="is not the file that was downloaded"):
        fetch(["long"], tmp_path)
    (tmp_path / "small").write_bytes(b"other")
    with pytest.raises(ValueError, match="must have the md5 checksum"):
        fetch(["small"], tmp_path)
    assert (tmp_path / "small").read_bytes() == b"other"


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("gone", ConnectionError, "404 Client Error: Not Found"),
        ("torn", ConnectionError, f"{len(ROWS)} bytes read, 100 more expected"),
        ("wrong", ValueError, f"expected md5:{'0' * 32} but got"),
    ],
)
def test_a_failure_is_one_sentence_and_leaves_nothing(name, kind, said, tmp_path, known):
    with pytest.raises(kind) as error:
        fetch([name], tmp_path)
    assert said in str(error.value) and "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_not_there(tmp_path, known, server):
    server.shutdown()
    server.server_close()
    with pytest.raises(ConnectionError, match=r"Cannot download 'long' from http.*refused"):
        fetch(["long"], tmp_path)


def test_an_unknown_name_is_told_before_anything_is_downloaded(tmp_path, known, server):
    with pytest.raises(ValueError, match=r"got 'smal'\. Did you mean 'small'\?"):
        fetch(["long", "smal"], tmp_path / "new")
    assert server.asked == [] and not (tmp_path / "new").exists()


def test_originals_are_read(tmp_path, known):
    assert original("small", "train", tmp_path) is None
    fetch(["small", "long", "words", "plain"], tmp_path)
    for name, part, labels in (("small", "train", [1, -1]), ("small", "test", [1, -1]), ("long", "train", [0, 7])):
        X, y = original(name, part, tmp_path)
        assert sparse.issparse(X)
        np.testing.assert_array_equal(X.toarray(), [[0.5, 0, 1], [0, 2, 0], [1, 0, 0]])
        np.testing.assert_array_equal(y, [*labels, labels[0]])
    X, y = original("words", "train", tmp_path)
    np.testing.assert_array_equal(X, [[1.5, 2], [2.5, 1], [0.5, 0]])
    np.testing.assert_array_equal(y, [1, -1, 1])
    X, y = original("plain", "train", tmp_path)
    np.testing.assert_array_equal(np.column_stack([X, y]), [[1, 2, 7], [3, 4, 1]])
    assert original("long", "test", tmp_path) is None
    assert original("nobody", "train", tmp_path) is None


def test_experiments_find_the_originals_with_their_own_labels(tmp_path, monkeypatch):
    (tmp_path / "magic04.data").write_text("\n".join(f"{','.join(['1.5'] * 10)},{label}" for label in "ghh"))
    (tmp_path / "connect-4").write_text("-1 1:1\n1 2:1\n0 2:1\n")
    monkeypatch.setenv("AUCLID_DATA", str(tmp_path))
    X, y = data.whole("magic04")
    assert X.shape == (3, 10) and y.tolist() == [1, -1, -1] and data.is_available("magic04")
    assert data.whole("connect-4")[1].tolist() == [1, 2, 0] and not data.is_available("letter")
    np.savez(tmp_path / "connect-4.npz", X=np.eye(2), y=np.array([4, 5]))
    data._part.cache_clear()
    assert data.whole("connect-4")[1].tolist() == [4, 5]


def test_experiments_refuse_an_original_with_another_checksum(tmp_path, monkeypatch):
    (tmp_path / "usps.bz2").write_bytes(bz2.compress(b"10 1:1\n1 2:1\n"))
    monkeypatch.setenv("AUCLID_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=r"'usps' must have the md5 checksum ec16c51d.*usps.bz2' has"):
        data.whole("usps")


def test_every_dataset_of_the_papers_has_a_source():
    """Files that can be downloaded, or a sentence that says where it is published; a comment where it is zipped."""

    def has_source(entry):
        listed = {entry["name"], entry.get("whole")} & set(sources())
        return listed or re.search(r"published at https?://\S+\.\S+", entry.get("missing", ""))

    assert [name for name, entry in shared_datasets().items() if not has_source(entry)] == ["dota2", "farm-ads"]


def test_every_table_of_the_catalogue_has_its_files():
    assert {table.name for table in catalogue() if not table.embedded} <= set(sources())
    listed = [source for group in sources().values() for source in group]
    assert len({source.file for source in listed}) == len(listed)
    for name, group in sources().items():
        assert [source.part for source in group] in (["all"], ["train"], ["train", "test"]), name
        for source in group:
            assert re.fullmatch(r"https://(www\.csie\.ntu\.edu\.tw|archive\.ics\.uci\.edu)/\S+[^/]", source.address)
            assert re.fullmatch(r"(md5:[0-9a-f]{32}|sha256:[0-9a-f]{64})?", source.checksum)
            assert bool(source.target) == (".data" in source.file)
