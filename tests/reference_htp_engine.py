"""A Hex engine, written from the published texts alone, to set controllers against.

The Go Text Protocol, version 2, with the moves of Hex (https://www.hexwiki.net/index.php/GTP). A
swap leaves the stone, as in MoHex and HexGui. It plays the first empty cell, row by row, or a
random one, and misbehaves at its third move where a fault is named.
"""

import os
import random
import sys
import time

fault = sys.argv[1] if len(sys.argv) > 1 else ""
log = open(sys.argv[2], "a") if len(sys.argv) > 2 else None  # noqa: SIM115  (to the end)
columns, rows = 11, 11
history = []
answered = 0
chance = random.Random(fault)
COMMANDS = "protocol_version name version known_command list_commands quit boardsize clear_board"
COMMANDS = [*COMMANDS.split(), "play", "genmove", "showboard"]
if fault != "timeless":
    COMMANDS.append("time_settings")


def stones():
    board = {}
    for colour, move in history:
        if move == "swap-pieces":
            assert history.index((colour, move)) == 1
        else:
            board[ord(move[0]) - 97, int(move[1:]) - 1] = colour
    return board


def showboard():
    board = stones()
    letters = {"black": "B", "white": "W", None: "."}
    return "".join(
        "\n" + " ".join(letters[board.get((column, row))] for column in range(columns))
        for row in range(rows)
    )


def genmove(colour):
    global answered
    answered += 1
    if fault in ("swap", "random") and len(history) == 1:
        history.append((colour, "swap-pieces"))
        return "swap-pieces"
    cells = [(column, row) for row in range(rows) for column in range(columns)]
    if fault == "random":
        chance.shuffle(cells)
    column, row = next(cell for cell in cells if cell not in stones())
    move = f"{chr(97 + column)}{row + 1}"
    if answered == 3:
        match fault:
            case "crash":
                sys.exit(4)
            case "hang":
                time.sleep(1000)
            case "resign" | "z99" | "nonsense":
                return fault
            case "taken":
                return history[0][1]
            case "refuse":
                raise ValueError("no idea")
    history.append((colour, move))
    return move


def do(name, *arguments):
    global columns, rows, answered
    match name:
        case "protocol_version":
            return "2"
        case "name":
            return "reference"
        case "version":
            return "1"
        case "known_command":
            return "true" if arguments[0] in COMMANDS else "false"
        case "list_commands":
            return "\n".join(COMMANDS)
        case "quit" | "time_settings":
            return ""
        case "boardsize":
            columns, rows = int(arguments[0]), int(arguments[-1])
            return ""
        case "clear_board":
            history.clear()
            answered = 0
            return ""
        case "play":
            if fault == "thinks":
                time.sleep(0.6)
            if arguments[1] == "swap-pieces" and fault == "no-swap":
                raise ValueError("illegal move")
            history.append((arguments[0].lower(), arguments[1].lower()))
            return ""
        case "genmove":
            return genmove(arguments[0])
        case "showboard":
            return showboard()
    raise ValueError("unknown command")


for line in sys.stdin:
    words = "".join(c for c in line.replace("\t", " ") if c >= " ").partition("#")[0].split()
    if not words:
        continue
    if log:
        print(" ".join(words), file=log, flush=True)
    number = words.pop(0) if words[0].isdecimal() else ""
    try:
        text = f"={number} {do(*words)}\n\n"
    except ValueError as error:
        text = f"?{number} {error}\n\n"
    data = text.replace("\n", "\r\n").encode() if fault == "crlf" else text.encode()
    for piece in [data[n : n + 1] for n in range(len(data))] if fault == "chopped" else [data]:
        os.write(1, piece)
    if words[0] == "quit":
        break
