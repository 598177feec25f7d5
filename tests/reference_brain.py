"""A Gomocup brain, written from the published text of the protocol alone, to set engines against.

https://plastovicka.github.io/protocl2en.htm. It plays the first empty cell, row by row from the top
left, and misbehaves at its third move of a game where a fault is named on the command line.
"""

import os
import signal
import subprocess
import sys
import time

fault = sys.argv[1] if len(sys.argv) > 1 else ""
log = open(sys.argv[2], "a") if len(sys.argv) > 2 else None  # noqa: SIM115  (to the end)
size = (0, 0)
stones = {}
answered = 0
lost = False


def say(text):
    end = {"cr": "\r", "crlf": "\r\n"}.get(fault, "\n")
    data = (text + end).encode()
    for piece in [data[n : n + 1] for n in range(len(data))] if fault == "chopped" else [data]:
        os.write(1, piece)


def command():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    if log:
        print(line.rstrip("\r\n"), file=log, flush=True)
    return line.strip()


def misbehave(x, y):
    """What is said at the third move in the place of x,y."""
    match fault:
        case "crash":
            print("a bug of mine", file=sys.stderr, flush=True)
            sys.exit(3)
        case "signal":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "hang":
            time.sleep(1000)
        case "deaf":  # to being asked to end, too
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while True:
                time.sleep(1000)
        case "taken":
            say("{},{}".format(*next(iter(stones))))
        case "outside":
            say(f"{size[0]},0")
        case "words":
            say("I resign")
        case "error" | "unknown" | "hopeless":  # this is lost
            del stones[x, y]
            say("UNKNOWN" if fault == "unknown" else "ERROR no idea")
        case "errors":
            say("ERROR no idea")
            say("ERROR none at all")
            say(f"{x},{y}")
        case "flood":
            while True:
                os.write(1, b"MESSAGE thinking\n" * 1000)
        case _:
            say(f"{x},{y}")


def move():
    global answered
    answered += 1
    cells = [(x, y) for y in range(size[1]) for x in range(size[0])]
    x, y = next(cell for cell in cells if cell not in stones)
    say(f"MESSAGE move {answered}")
    say("DEBUG nothing to see")
    if fault == "noise":
        os.write(2, b"x" * 200_000)
    if fault == "suggest":
        say(f"SUGGEST {x},{y}")
        word, text = command().split()
        assert word == "PLAY"
        x, y = map(int, text.split(","))
    stones[x, y] = 1
    if answered == 3 or (answered > 3 and fault == "hopeless"):
        misbehave(x, y)
    else:
        say(f"{x},{y}")
    if fault == "once":
        sys.exit(0)


def start_swap2(lines):
    """Answer SWAP2BOARD; with `fields` as Rapfi: stones without a field are not there."""
    if fault == "fields":
        for line in lines:
            if line.count(",") != 2:
                say("ERROR Color is not a valid value, must be one of [1, 2, 3].")
        lines = [line for line in lines if line.count(",") == 2]
    elif fault == "plain" and any(line.count(",") != 1 for line in lines):
        say("ERROR expected x,y")
        return
    answers = {0: "0,0 1,0 2, 0", 3: "3,0 4,0" if fault == "two" else "swap", 5: "SWAP"}
    say("5,0" if fault == "stone" and lines else answers[len(lines)])


if fault == "child":
    child = subprocess.Popen(["sleep", "1000"])
    print(child.pid, file=log, flush=True)
if fault == "mute":
    time.sleep(1000)
while True:
    word, _, rest = command().partition(" ")
    match word:
        case "START" | "RECTSTART":
            width, _, height = rest.partition(",")
            size = (int(width), int(height or width))
            stones, answered = {}, 0
            say("ERROR I know 20 alone" if fault == "size" else "OK - everything is good")
            if fault == "extra":
                say("5,5")
        case "RESTART" if fault != "old":
            stones, answered = {}, 0
            say("ok" if fault == "small" else "OK")
        case "BEGIN":
            move()
        case "TURN" if fault == "deafened" and answered == 2 and not lost:
            lost = True  # as Rapfi, which reads no command for an instant after its move
            say(f"ERROR Unknown command: {rest}")
        case "TURN":
            x, y = map(int, rest.split(","))
            stones[x, y] = 2
            move()
        case "BOARD":
            stones = {}
            while (line := command()) != "DONE":
                x, y, field = map(int, line.split(","))
                stones[x, y] = field
            move()
        case "SWAP2BOARD":
            lines = []
            while (line := command()) != "DONE":
                lines.append(line)
            start_swap2(lines)
        case "INFO" if fault == "no-time" and rest.startswith("time_left"):
            say("ERROR Unknown command: TIME_LEFT")
            say(f"ERROR Unknown command: {rest.split()[1]}")
        case "INFO":
            pass
        case "END":
            sys.exit(0)
        case _:
            say("UNKNOWN")
