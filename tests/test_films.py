"""Films and pictures of recorded games, read back from their files."""

import re
import subprocess
import sys
import warnings
import zipfile
from importlib.util import find_spec

import gymnasium
import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from agents.apps.cli import main
from agents.records import GameRecord, Search, save_record
from agents.records.films import LAST_SECONDS, film_of, write_gif, write_image, write_mp4
from hexenv import tictactoe_v0
from hexenv.common.extras import how_to_install
from hexenv.games import base
from hexenv.render.look import Look
from hexenv.render.overlay import move_numbers, overlay_of_shares, overlay_of_values
from hexenv.render.rgb import render_rgb
from hexenv.render.svg import render_svg

SEARCH = Search(
    seconds=0.1, simulations=10, visits={0: 2, 8: 6}, values={0: -0.5, 8: 0.25}, priors={8: 1.0}
)
RECORDS = {
    "tictactoe": GameRecord.of(
        "tictactoe", (), (4, 1, 0, 8, 3, 5, 6), searches=(None, SEARCH) + (None,) * 5
    ),
    "connect4": GameRecord.of("connect4", (), (0, 1, 0, 1, 0, 1, 0)),
    "gomoku": GameRecord.of("gomoku", ("board_size=6",), (0, 6, 1, 7, 2)),
    "hex": GameRecord.of("hex", ("board_size=4", "swap=true"), (1, 16, 2, 5, 3)),
}

over_records = pytest.mark.parametrize("name", RECORDS)


def frames_of_gif(path):
    with Image.open(path) as gif:
        frames, durations = [], []
        for number in range(gif.n_frames):
            gif.seek(number)
            frames.append(np.array(gif.convert("RGB")))
            durations.append(gif.info["duration"])
    return frames, durations


needs_ffmpeg = pytest.mark.skipif(
    find_spec("imageio_ffmpeg") is None, reason="the extra video is not installed"
)


def decoded(path):
    """What ffmpeg tells of a film, and its frames."""
    from imageio_ffmpeg import get_ffmpeg_exe

    words = ["-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    done = subprocess.run([get_ffmpeg_exe(), *words], capture_output=True, check=True, timeout=60)
    about = re.search(
        r"Video: (\w+).*?, (\w+).*?, (\d+)x(\d+).*?, ([\d.]+) fps", done.stderr.decode()
    )
    codec, pixels, width, height, rate = about.groups()
    frames = np.frombuffer(done.stdout, np.uint8).reshape(-1, int(height), int(width), 3)
    return {"codec": codec, "pixels": pixels, "rate": float(rate)}, list(frames)


def check_frames(found, expected, tolerance):
    """Frames are those expected, about, and each is likest to its own."""
    assert len(found) == len(expected)
    for number, frame in enumerate(found):
        assert frame.shape == expected[number].shape
        distances = [np.abs(frame.astype(int) - other).mean() for other in expected]
        assert distances[number] < tolerance
        assert int(np.argmin(distances)) == number


# ---- films ---------------------------------------------------------------------------------------


@over_records
def test_a_gif_has_every_position_once(name, tmp_path):
    record = RECORDS[name]
    film = film_of(record, look=Look("dark", 24), overlay="values" if record.searches else "none")
    assert len(film) == len(record.actions) + 1
    path = tmp_path / "game.gif"
    write_gif(path, film, seconds=0.5)
    frames, durations = frames_of_gif(path)
    check_frames(frames, list(film), 2)
    assert durations == [500] * len(record.actions) + [1000 * LAST_SECONDS]


@needs_ffmpeg
def test_an_mp4_has_every_position_once(tmp_path):
    film = film_of(RECORDS["hex"], look=Look("colorblind", 22))
    path = tmp_path / "game.mp4"
    write_mp4(path, film, seconds=0.25)
    about, frames = decoded(path)
    check_frames(frames, list(film), 6)
    assert about == {"codec": "h264", "pixels": "yuv420p", "rate": 4}
    data = path.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")  # what a player needs comes first


@pytest.mark.parametrize("write", [write_gif, pytest.param(write_mp4, marks=needs_ffmpeg)])
def test_what_cannot_be_written_leaves_nothing(write, tmp_path):
    film = film_of(RECORDS["tictactoe"])
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "none" / "film", film)

    class Broken(list):
        def __getitem__(self, number):
            if number == 1:
                raise ZeroDivisionError
            return film[number]

        def __iter__(self):
            return map(self.__getitem__, range(len(self)))

    with pytest.raises(ZeroDivisionError):
        write(tmp_path / "film", Broken(range(3)))
    assert list(tmp_path.iterdir()) == []


@needs_ffmpeg
@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("cat > /dev/null; echo no space left >&2; exit 1", "no space left"),
        ("exit 3", "3"),
    ],
)
def test_a_film_that_ffmpeg_gives_up_is_not_written(script, reason, monkeypatch, tmp_path):
    (tmp_path / "ffmpeg").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "ffmpeg").chmod(0o755)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(tmp_path / "ffmpeg"))
    (tmp_path / "film.mp4").write_text("the film before")
    with pytest.raises(OSError, match=f"ffmpeg has failed: {reason}.*film.mp4"):
        write_mp4(tmp_path / "film.mp4", film_of(RECORDS["hex"]))
    assert (tmp_path / "film.mp4").read_text() == "the film before"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_film_says_what_it_needs(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(ImportError, match=re.escape(how_to_install("video"))):
        write_mp4(tmp_path / "a.mp4", film_of(RECORDS["tictactoe"]))


# ---- what a film shows ---------------------------------------------------------------------------


@over_records
def test_frames_are_those_of_the_positions(name):
    record = RECORDS[name]
    film = film_of(record, numbered=True)
    game = record.rules()
    for ply, state in enumerate(record.states()):
        numbers = move_numbers(game, record.actions[:ply])
        assert np.array_equal(film[ply], render_rgb(game, state, numbers=numbers))
        assert film.svg(ply) == render_svg(game, state, numbers=numbers)
        stones = np.count_nonzero(base.cell_owners(game, state) != base.EMPTY)
        assert np.count_nonzero(numbers) == stones


@pytest.mark.parametrize("overlay", ["visits", "values", "priors"])
def test_a_position_shows_what_its_player_found(overlay):
    record = RECORDS["tictactoe"]
    film, plain = film_of(record, overlay=overlay), film_of(record)
    game, state = record.rules(), record.states()[1]
    numbers = np.full(9, np.nan if overlay == "values" else 0.0)
    numbers[list(getattr(SEARCH, overlay))] = list(getattr(SEARCH, overlay).values())
    make = overlay_of_values if overlay == "values" else overlay_of_shares
    expected = render_rgb(game, state, overlay=make(game, state, numbers))
    assert np.array_equal(film[1], expected)
    assert not np.array_equal(film[1], plain[1])
    for ply in (0, *range(2, len(film))):
        assert np.array_equal(film[ply], plain[ply])


def test_a_record_without_searches_has_no_overlay():
    with pytest.raises(ValueError, match="a record with visits"):
        film_of(RECORDS["hex"], overlay="visits")


def test_a_game_of_ones_own_is_played_again_in_its_environment():
    record = GameRecord("mine:env", (), (4, 0, 8), None, None)
    with pytest.raises(ValueError, match="got mine:env"):
        film_of(record)
    film = film_of(record, env=tictactoe_v0.env())
    expected = film_of(GameRecord.of("tictactoe", (), (4, 0, 8)))
    assert np.array_equal(list(film), list(expected))
    from pettingzoo.classic.tictactoe import tictactoe

    with pytest.raises(ValueError, match="an environment of hexenv"):
        film_of(record, env=tictactoe.env())


# ---- the command ---------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "game.json"
    save_record(RECORDS["tictactoe"], path)
    return path


def run(*words, code=0):
    done = CliRunner().invoke(main, ["render", *map(str, words)])
    assert done.exit_code == code, done.output
    return done.output


def shown(path):
    """What a file of the command holds: the pixels of an image, or a text."""
    return np.array(Image.open(path)).tolist() if path.suffix == ".png" else path.read_text()


@needs_ffmpeg
def test_the_command_writes_every_format(saved, tmp_path):
    film = film_of(RECORDS["tictactoe"], look=Look("dark", 20), overlay="visits", numbered=True)
    words = ("--theme", "dark", "--cell-size", 20, "--overlay", "visits", "--numbers")
    for suffix in ("gif", "mp4", "png", "svg", "txt"):
        path = tmp_path / f"a.{suffix}"
        assert run(saved, "--to", path, *words).strip() == f"written: {path}"
    assert len(decoded(tmp_path / "a.mp4")[1]) == len(film)
    assert len(frames_of_gif(tmp_path / "a.gif")[0]) == len(film)
    assert shown(tmp_path / "a.png") == film[len(film) - 1].tolist()
    assert shown(tmp_path / "a.svg") == film.animation()
    text = shown(tmp_path / "a.txt")
    assert text == "\n".join(film.text(ply) for ply in range(len(film)))
    assert "visits in per cent, for ply 2\nO to play (ply 1)\n" in text


def test_the_command_writes_one_position(saved, tmp_path):
    film = film_of(RECORDS["tictactoe"])
    for suffix, expected in (
        ("png", film[2].tolist()),
        ("svg", film.svg(2)),
        ("txt", film.text(2)),
    ):
        path = tmp_path / f"a.{suffix}"
        run(saved, "--to", path, "--ply", 2)
        assert shown(path) == expected


def test_a_ply_with_an_overlay_is_the_one_that_was_searched(saved, tmp_path):
    film = film_of(RECORDS["tictactoe"], overlay="visits")
    path = tmp_path / "a.txt"
    run(saved, "--to", path, "--ply", 2, "--overlay", "visits")
    assert shown(path) == film.text(1)
    assert "for ply 2\n" in shown(path)
    words = ("--to", tmp_path / "b.txt", "--overlay", "visits", "--ply")
    assert "expected --ply from 1 to 7, got 0" in run(saved, *words, 0, code=2)
    assert "expected a --ply that was searched" in run(saved, *words, 1, code=2)


def test_nothing_is_overwritten_unasked(saved, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("mine")
    assert "a.txt: exists already" in run(saved, "--to", path, code=1)
    assert path.read_text() == "mine"
    run(saved, "--to", path, "--force")
    assert path.read_text().startswith(" . . .")


def test_an_archive_is_no_record(tmp_path):
    other = tmp_path / "game.zip"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("game.json", "{}")
    assert "game.zip: expected a text, got a zip archive" in run(other, "--to", "a.gif", code=2)


def test_other_programs_files_are_to_be_converted_first(tmp_path):
    other = tmp_path / "game.sgf"
    other.write_text("(;GM[4];B[aa])")
    assert "which hexenv convert makes of this file" in run(other, "--to", "a.gif", code=2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--to", "a.avi"), ".gif, .mp4, .png, .svg, .txt, .html, got '.avi'"),
        (("--to", "a.gif", "--ply", 1), ".png, .svg, .txt, got it with .gif"),
        (("--to", "a.png", "--ply", 8), "from 0 to 7, got 8"),
    ],
)
def test_what_cannot_be_shown_is_refused(saved, words, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    output = run(saved, *words, code=2)
    assert message in " ".join(output.split())
    assert [path.name for path in tmp_path.iterdir()] == ["game.json"]


def test_a_game_of_ones_own_is_imported_only_when_named(tmp_path):
    path = tmp_path / "game.json"
    save_record(GameRecord("hexenv.hex_v0:env", ("board_size=3",), (4, 0), None, None), path)
    for words in ((), ("--game", "hexenv.hex_v0:raw_env")):
        output = run(path, "--to", tmp_path / "a.png", *words, code=2)
        assert "expected --game hexenv.hex_v0:env, to import the record's" in output
    for suffix in ("png", "html"):
        run(path, "--to", tmp_path / f"a.{suffix}", "--game", "hexenv.hex_v0:env")
    film = film_of(GameRecord.of("hex", ("board_size=3",), (4, 0)))
    assert shown(tmp_path / "a.png") == film[2].tolist()
    assert '"text":"b2"' in shown(tmp_path / "a.html")


def test_an_image_has_the_format_of_its_name(tmp_path):
    frame = film_of(RECORDS["hex"])[2]
    write_image(tmp_path / "a.bmp", frame)
    with Image.open(tmp_path / "a.bmp") as image:
        assert image.format == "BMP"
        assert np.array_equal(np.array(image), frame)


# ---- films by other libraries --------------------------------------------------------------------


@pytest.fixture
def films(tmp_path):
    """Where moviepy writes a film, and a function that reads it, and compares its frames."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("moviepy", reason="the extra video is not installed")

    def check(expected):
        (path,) = (tmp_path / "films").iterdir()
        about, frames = decoded(path)
        check_frames(frames[: len(expected)], expected, 6)
        assert about["pixels"] == "yuv420p"
        return len(frames)

    return str(tmp_path / "films"), check


@pytest.mark.filterwarnings("ignore")  # of moviepy
@pytest.mark.parametrize(("mode", "ends"), [("rgb_array_list", 1), ("rgb_array", 3)])
def test_films_of_pettingzoo(films, mode, ends):
    from pettingzoo.utils.wrappers import RecordVideo

    folder, check = films
    film = RecordVideo(tictactoe_v0.env(render_mode=mode, cell_size=25), folder)
    film.reset(seed=1)
    actions = iter(RECORDS["tictactoe"].actions)
    for _ in film.agent_iter():
        _, _, terminated, truncated, _ = film.last()
        film.step(None if terminated or truncated else next(actions))
    film.close()
    expected = list(film_of(RECORDS["tictactoe"], look=Look(cell_size=25)))
    assert check(expected) == len(expected) - 1 + ends


@pytest.mark.filterwarnings("ignore")  # of moviepy
@pytest.mark.parametrize("mode", ["rgb_array_list", "rgb_array"])
def test_films_of_gymnasium(films, mode):
    folder, check = films
    env = gymnasium.make("hexenv/Connect4-v0", render_mode=mode, theme="dark", side="first")
    film = gymnasium.wrappers.RecordVideo(env, folder)
    film.reset(seed=1)
    look, game = Look("dark"), film.unwrapped.raw_env.game
    expected = [render_rgb(game, film.unwrapped.state, look=look)]
    is_over = False
    while not is_over:
        is_over = film.step(int(np.argmax(film.unwrapped.action_masks())))[2]
        expected.append(render_rgb(game, film.unwrapped.state, look=look))
    film.close()
    assert check(expected) == len(expected)
