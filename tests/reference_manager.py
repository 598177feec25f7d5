"""A Gomocup manager, written from the published text of the protocol alone, to run brains with.

https://plastovicka.github.io/protocl2en.htm. Its own moves are random; it checks every answer of
the brain, and prints what was played as JSON: ``python reference_manager.py size turn_ms games
brain...``. It lets a brain be late by `TOLERANCE`, as the manager of Gomocup does.
"""

import json
import random
import subprocess
import sys
import time

TOLERANCE = 1.0
size, turn_ms, games = map(int, sys.argv[1:4])
brain = subprocess.Popen(sys.argv[4:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
chance = random.Random(1)


def send(*lines):
    brain.stdin.write("".join(line + "\r\n" for line in lines).encode())


def answer():
    while True:
        line = brain.stdout.readline().decode().strip()
        assert line, "the brain has gone"
        if not line.startswith(("MESSAGE ", "DEBUG ")):
            return line


def has_five(board, x, y):
    for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1)):
        run = 1
        for sign in (1, -1):
            n = 1
            while board.get((x + sign * n * dx, y + sign * n * dy)) == board[x, y]:
                run, n = run + 1, n + 1
        if run >= 5:
            return True
    return False


def play(brain_begins):
    """A game; returns who has won, the moves, and the times of the brain's in ms."""
    board, moves, times, is_brain = {}, [], [], brain_begins
    while len(board) < size * size:
        if is_brain:
            send(f"INFO time_left {2147483647}")
            started = time.monotonic()
            send("TURN {},{}".format(*moves[-1]) if moves else "BEGIN")
            text = answer()
            times.append(1000 * (time.monotonic() - started))
            assert times[-1] < turn_ms + 1000 * TOLERANCE, f"late: {times[-1]} ms"
            x, y = map(int, text.split(","))
        else:
            cells = [(x, y) for x in range(size) for y in range(size)]
            x, y = chance.choice([cell for cell in cells if cell not in board])
        is_free = 0 <= x < size and 0 <= y < size and (x, y) not in board
        assert is_free, f"illegal: {x},{y}"
        board[x, y] = is_brain
        moves.append((x, y))
        if has_five(board, x, y):
            return ["manager", "brain"][is_brain], moves, times
        is_brain = not is_brain
    return "nobody", moves, times


send("ABOUT")
about = answer()
send(f"START {size}")
assert answer() == "OK"
send(f"INFO timeout_turn {turn_ms}", "INFO timeout_match 0", "INFO max_memory 0")
send("INFO game_type 1", "INFO rule 0", "INFO folder .", "INFO evaluate 1,1", "INFO nonsense")
played = []
for game in range(games):
    if game:
        send("RESTART")
        assert answer() == "OK"
    played.append(play(game % 2 == 0))
send("END")
status = brain.wait(timeout=10)
assert brain.stdout.read() == b""
print(json.dumps({"about": about, "played": played, "status": status}))
