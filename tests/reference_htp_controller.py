"""A controller of Hex engines, written from the published texts alone.

The Go Text Protocol, version 2, with the moves of Hex (https://www.hexwiki.net/index.php/GTP):
``python reference_htp_controller.py size swap engine...`` plays a game with random moves of its own
as white, numbers its commands, and prints the game as JSON. Where `swap` is 1 it takes over the
first stone, as HexGui and Benzene's twogtp do: the stone stays, and the engine is white, which is
next.
"""

import json
import random
import subprocess
import sys

size = int(sys.argv[1])
engine = subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
chance = random.Random(1)
count = 0


def ask(command):
    """The text of a successful answer."""
    global count
    count += 1
    engine.stdin.write(f"{count}\t{command} # and a comment\r\n".encode())
    lines = []
    while not lines or lines[-1]:
        line = engine.stdout.readline().decode()
        assert line.endswith("\n"), "the engine has gone"
        lines.append(line.strip("\r\n"))
    text = "\n".join(lines[:-1])
    assert text.startswith(f"={count}"), text
    return text[len(f"={count}") :].strip()


def joined(board, colour):
    """Whether black has joined top and bottom, or white left and right."""
    axis = 1 if colour == "black" else 0
    waiting = [cell for cell, owner in board.items() if owner == colour and cell[axis] == 0]
    seen = set(waiting)
    while waiting:
        column, row = waiting.pop()
        if (column, row)[axis] == size - 1:
            return True
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1)):
            cell = (column + dx, row + dy)
            if cell not in seen and board.get(cell) == colour:
                seen.add(cell)
                waiting.append(cell)
    return False


assert ask("protocol_version") == "2"
known = ask("list_commands").split()
for command in ("name", "version", "quit", "boardsize", "clear_board", "play", "genmove", "undo"):
    assert command in known, command
    assert ask(f"known_command {command}") == "true"
assert ask("known_command komi") == "false"
ask(f"boardsize {size}")
ask("clear_board")
ask("time_settings 0 1 1")
board, moves, colour, engines = {}, [], "black", "black"
while not any(joined(board, one) for one in ("black", "white")):
    if sys.argv[2] == "1" and len(moves) == 1:
        ask("play white swap-pieces")
        moves.append("swap")
        engines = "white"
    if colour == engines:
        move = ask(f"genmove {colour}")
    else:
        cells = [(column, row) for column in range(size) for row in range(size)]
        column, row = chance.choice([cell for cell in cells if cell not in board])
        move = f"{chr(97 + column)}{row + 1}"
        ask(f"play {colour} {move}")
    cell = (ord(move[0]) - 97, int(move[1:]) - 1)
    is_free = cell not in board and all(0 <= place < size for place in cell)
    assert is_free, f"illegal: {move}"
    board[cell] = colour
    moves.append(move)
    colour = "white" if colour == "black" else "black"
score = ask("final_score")
ask("quit")
print(json.dumps({"moves": moves, "score": score, "status": engine.wait(timeout=10)}))
