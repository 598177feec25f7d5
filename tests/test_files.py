"""Files that people keep: what strangers put into them, and what a killed writer leaves."""

import errno
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from agents import UCT
from agents.core import files, reading
from agents.core.files import adding, is_partial, replacing, write_text
from agents.core.reading import load_arrays, parse_json, read_object, read_objects, read_text

FUZZER = Path(__file__).parent / "benchmarks" / "damaged_files.py"


def test_damaged_files_of_all_kinds_cost_little_and_raise_what_is_documented():
    pytest.importorskip("torch", reason="the extra train is not installed")
    pytest.importorskip("safetensors", reason="the extra train is not installed")
    told = subprocess.run(
        [sys.executable, "-W", "error", FUZZER, "--count", "100", "--seed", "2"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stdout + told.stderr
    assert len(told.stdout.splitlines()) == 22  # a line for each of 21 kinds


# ---- JSON ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "levels"),
        ("[" * 65 + "]" * 65, "levels"),
        ('{"a": {"b": 1, "b": 2}}', "'b' twice"),
        ("[1e999]", "1e999"),
        ("[-Infinity]", "-Infinity"),
        ("[" + "9" * 41 + "]", "40 digits"),
        ("[" + "[]," * 200_000 + "0]", "200000 lists and objects"),
        ("[" + "0," * 2_000_000 + "0]", "2000000 values"),
        (b"\xff", "utf-8"),
    ],
    ids=range(9),
)
def test_json_beyond_the_bounds_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        parse_json(text)


def test_json_within_the_bounds_is_read():
    assert parse_json("[" * 63 + "]" * 63)
    assert parse_json(str((1 << 128) - 1)) == (1 << 128) - 1
    assert parse_json(b'{"a": [1.5, null, "[{,"]}') == {"a": [1.5, None, "[{,"]}
    assert parse_json("[Infinity]", finite=False) == [float("inf")]


def test_a_long_text_is_refused(tmp_path):
    for read in (read_text, read_object, read_objects):
        path = tmp_path / "long.json"
        with path.open("wb") as file:
            file.truncate(reading.MOST_BYTES + 1)
        with pytest.raises(ValueError, match=r"long\.json: expected at most"):
            read(path)


def test_a_log_of_a_run_whose_loss_is_no_number_is_read(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"loss": NaN}\r\n{"loss": 1}\n')
    first, second = read_objects(path)
    assert first["loss"] != first["loss"]
    assert second == {"loss": 1}
    path.write_text('{"loss": 1}\n[1]\n')
    with pytest.raises(ValueError, match=r"log\.jsonl:2: expected a JSON object"):
        read_objects(path)


# ---- archives ------------------------------------------------------------------------------------


def archive_of(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return path


def array_file(shape, dtype, data):
    header = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([("a.npy", bytes(60_000_000))], "got 60000000"),
        ([("a.npy", array_file((10**12,), "<f8", b"12345678"))], "shape"),
        ([("a.npy", array_file((2,), "<f8", b"12345678"))], "8 bytes"),
        ([("a.npy", array_file((10**12, 0), "<f8", b""))], "shape"),
        ([("a.npy", array_file((-1,), "<f8", b""))], "shape"),
        ([("a.npy", array_file((1,), "|O", b"12345678"))], "numbers .*got object"),
        ([("a.npy", array_file((1,), "<U2", b"12345678"))], "numbers .*got <U2"),
        ([("a.npy", b"text")], ""),
    ],
    ids=range(8),
)
def test_an_archive_beyond_the_bounds_is_not_unpacked(tmp_path, members, message):
    path = archive_of(tmp_path / "a.npz", members)
    with pytest.raises(ValueError, match=rf"a thing, got a damaged .*a\.npz: .*{message}"):
        load_arrays(path, "a thing")


def test_archives_of_other_kinds_are_refused(tmp_path):
    good, path = ("a.npy", array_file((1,), "<f8", b"12345678")), tmp_path / "a.npz"
    many = [(f"{number:0200}.npy", b"") for number in range(18_000)]
    archive_of(path, [good], zipfile.ZIP_LZMA)
    with pytest.raises(ValueError, match="stored or deflated"):
        load_arrays(path, "a thing")
    with pytest.warns(UserWarning, match="Duplicate name"):
        archive_of(path, [good, good])
    with pytest.raises(ValueError, match="every member once"):
        load_arrays(path, "a thing")
    archive_of(path, many)
    with pytest.raises(ValueError, match="list of members"):
        load_arrays(path, "a thing")


def test_an_archive_is_as_large_as_its_file_allows(tmp_path):
    path, zeros = tmp_path / "a.npz", np.zeros(5_000_000)
    np.savez(path, zeros=zeros)  # 40 MB, as large as they are
    assert (load_arrays(path, "a thing")["zeros"] == zeros).all()
    np.savez_compressed(path, zeros=zeros)
    with pytest.raises(ValueError, match="unpacked"):
        load_arrays(path, "a thing")
    noise = np.random.default_rng(1).integers(0, 255, 1_000_000, np.uint8)
    np.savez_compressed(path, zeros=zeros, noise=noise, none=np.zeros((0, 121), np.float32))
    found = load_arrays(path, "a thing")
    assert (found["noise"] == noise).all()
    assert found["none"].shape == (0, 121)


def test_deep_json_in_a_tree_is_refused(tmp_path):
    np.savez(tmp_path / "tree.npz", about=np.frombuffer(b"[" * 100_000, np.uint8))
    with pytest.raises(ValueError, match=r"tree\.npz: expected at most 64 levels"):
        UCT(simulations=2).load(tmp_path / "tree.npz")


# ---- writing -------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from agents.core.files import adding, replacing
with replacing(sys.argv[1]) as one, replacing(sys.argv[1]) as two, adding(sys.argv[2]) as three:
    one.write_text("half")
    two.write_text("half of another")
    (three / "000001.json").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(files.fcntl is None, reason="there are no locks")
def test_what_a_killed_writer_left_is_taken_over(tmp_path):
    path, folder = tmp_path / "game.json", tmp_path / "games"
    folder.mkdir()
    path.write_text("before")
    subprocess.run([sys.executable, "-c", KILLED, path, folder], check=False)
    left = [file for file in tmp_path.rglob(".*") if is_partial(file)]
    assert len(left) == 3
    assert path.read_text() == "before"
    write_text(path, "after")
    with adding(folder) as hidden:
        assert list(hidden.iterdir()) == []
        (hidden / "000002.json").write_text("a game")
    assert [file.name for file in folder.iterdir()] == ["000002.json"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["game.json", "games"]
    assert path.read_text() == "after"


def refused_lock(*_):
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


@pytest.mark.parametrize("has_module", [False, True])
def test_without_locks_hidden_names_are_random(tmp_path, monkeypatch, has_module):
    if files.fcntl is None or not has_module:
        monkeypatch.setattr(files, "fcntl", None)
    else:
        monkeypatch.setattr(files.fcntl, "flock", refused_lock)
    with replacing(tmp_path / "a.txt") as one, replacing(tmp_path / "a.txt") as two:
        assert one != two
        assert is_partial(one)
        one.write_text("one")
        two.write_text("two")
    assert (tmp_path / "a.txt").read_text() == "one"
    with adding(tmp_path) as hidden:
        (hidden / "b.txt").write_text("b")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.txt", "b.txt"]


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links are followed")
def test_a_link_in_the_way_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / ".a.partial.txt").symlink_to(tmp_path / "mine")
    os.link(tmp_path / "mine", tmp_path / ".a.partial1.txt")
    write_text(tmp_path / "a.txt", "text")
    assert (tmp_path / "mine").read_text() == "mine"
    assert (tmp_path / "a.txt").read_text() == "text"


@pytest.mark.skipif(files.fcntl is None, reason="there are no locks")
def test_a_file_system_that_gives_files_to_another_user_is_not_littered(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    (tmp_path / ".a.partial.txt").write_text("of another user")
    write_text(tmp_path / "a.txt", "text")
    with adding(tmp_path) as hidden:
        (hidden / "b.txt").write_text("b")
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "c.txt"):
        raise ZeroDivisionError
    names = sorted(file.name for file in tmp_path.iterdir())
    assert names == [".a.partial.txt", "a.txt", "b.txt"]
    assert (tmp_path / ".a.partial.txt").read_text() == "of another user"


@pytest.mark.skipif(files.fcntl is None, reason="there are no locks")
def test_a_hidden_directory_that_goes_with_its_writer_is_no_error(tmp_path, monkeypatch):
    """Another writer, who has made it, is done between our look at it and our lock."""
    done, real = [], os.open

    def late(path, *arguments, **options):
        if Path(path).name == ".files.partial" and not done:
            done.append(path)
            os.rmdir(path)
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", late)
    with adding(tmp_path) as hidden:
        (hidden / "b.txt").write_text("b")
    assert done
    assert [file.name for file in tmp_path.iterdir()] == ["b.txt"]


@pytest.mark.parametrize("name", ["a", "a.json", "a.tar.gz", ".a", "games of 2024-01-01.of-us"])
def test_two_writers_have_a_hidden_file_each_whatever_the_suffix(tmp_path, name):
    path = tmp_path / name
    with replacing(path) as one:
        one.write_text("one")
        with replacing(path) as two:
            two.write_text("two")
            assert is_partial(one)
            assert is_partial(two)
        assert (path.read_text(), one.read_text()) == ("two", "one")
    assert path.read_text() == "one"
    assert not is_partial(path)
    assert list(tmp_path.iterdir()) == [path]
