"""What is written is a whole file, in the place that was meant, or an error that says why."""

import errno
import os
import subprocess
import sys

import pytest

from auclid import SPAM, load, save
from auclid.io import may_write, replacing

posix = pytest.mark.skipif(os.name != "posix", reason="links, pipes and devices by name")


def learnt(**params):
    """A fitted model: no other is saved."""
    return SPAM(**params).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@posix
def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "model").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real" / "model")
    save(tmp_path / "link", learnt(alpha=0.5))
    assert (tmp_path / "link").is_symlink() and load(tmp_path / "real" / "model").alpha == 0.5
    assert names(tmp_path) == ["link", "real"] and names(tmp_path / "real") == ["model"]


@posix
def test_a_link_to_nothing_yet_is_followed(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "later")
    save(tmp_path / "link", learnt())
    assert (tmp_path / "link").is_symlink() and (tmp_path / "later").is_file()


@posix
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "loop"])
def test_what_is_no_file_is_refused_and_stays(kind, tmp_path):
    path = {"device": "/dev/null", "folder": tmp_path}.get(kind, tmp_path / kind)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to(path)
    before = os.lstat(path).st_mode, names(tmp_path)
    for write in (lambda: save(path, learnt()), lambda: may_write(path), lambda: replacing(path, "w").__enter__()):
        with pytest.raises(OSError, match="Cannot write"):
            write()
    assert (os.lstat(path).st_mode, names(tmp_path)) == before


@posix
def test_rights_stay(tmp_path):
    path = tmp_path / "model"
    path.write_text("old")
    path.chmod(0o640)
    save(path, learnt())
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_full_disk_is_told_with_the_path(tmp_path):
    path = tmp_path / "model"
    path.write_text("old")
    with pytest.raises(OSError, match=r"Cannot write .*model.*No space left"), replacing(path) as file:
        file.write(b"new")
        raise OSError(errno.ENOSPC, "No space left on device")
    assert path.read_text() == "old" and names(tmp_path) == ["model"]


HALF = """
import os, sys, time
from auclid.io import replacing
with replacing(sys.argv[1], "w") as file:
    file.write("half")
    file.flush()
    print("written", flush=True)
    time.sleep(60)
"""


def half_written(path):
    process = subprocess.Popen([sys.executable, "-c", HALF, str(path)], stdout=subprocess.PIPE)
    assert process.stdout.readline().strip() == b"written"
    return process


def test_what_a_killed_process_left_goes_with_the_next_save(tmp_path):
    path = tmp_path / "model"
    path.write_text("old")
    killed, living = half_written(path), half_written(path)
    killed.kill()
    killed.wait()
    assert len(names(tmp_path)) == 3 and path.read_text() == "old"
    with replacing(path, "w") as file:
        file.write("new")
    assert path.read_text() == "new" and len(names(tmp_path)) == 2  # that of the living one stays
    living.kill()
    living.wait()
    with replacing(path, "w") as file:
        file.write("newer")
    assert names(tmp_path) == ["model"] and path.read_text() == "newer"


def test_another_files_leftovers_are_none_of_ours(tmp_path):
    killed = half_written(tmp_path / "other")
    killed.kill()
    killed.wait()
    save(tmp_path / "model", learnt())
    assert len(names(tmp_path)) == 2


@posix
def test_a_pipe_or_a_link_that_was_planted_beside_the_file_is_left_alone(tmp_path):
    """In a process of its own: to open the pipe would wait for ever."""
    path = tmp_path / "model"
    killed = half_written(path)
    killed.kill()
    killed.wait()
    (left,) = names(tmp_path)
    os.mkfifo(tmp_path / left.replace(".part", "x.part"))
    (tmp_path / left.replace(".part", "y.part")).symlink_to(tmp_path / left.replace(".part", "x.part"))
    code = "import sys; from auclid.io import replacing\nwith replacing(sys.argv[1], 'w') as file: file.write('new')"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=60)
    assert path.read_text() == "new" and left not in names(tmp_path) and len(names(tmp_path)) == 3
