"use strict";

/** Plays a game at a number of moves per second. */
class Player {
  constructor(viewer) {
    this.viewer = viewer;
    this.timer = null;
    this.button = byId("play");
    this.button.addEventListener("click", () => this.toggle());
    byId("speed").addEventListener("change", () => this.restart());
  }

  get isOn() {
    return this.timer !== null;
  }

  toggle() {
    if (this.isOn) this.stop();
    else this.start();
  }

  start() {
    if (this.viewer.isLast()) this.viewer.go(0);
    this.run();
    this.show();
  }

  run() {
    this.timer = setInterval(() => this.tick(), 1000 / Number(byId("speed").value));
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.show();
  }

  restart() {
    if (!this.isOn) return;
    clearInterval(this.timer);
    this.run();
  }

  tick() {
    this.viewer.step(1);
    if (this.viewer.isLast()) this.stop();
  }

  /** Choose the next higher or lower speed. */
  change(by) {
    const speed = byId("speed");
    const index = Math.min(Math.max(0, speed.selectedIndex + by), speed.options.length - 1);
    speed.selectedIndex = index;
    this.restart();
  }

  show() {
    this.button.textContent = this.isOn ? "Pause" : "Play";
  }
}

/** A list of plies with a text each, which lead to the position before that ply. */
function showNotes(notes, viewer) {
  for (const [ply, text] of notes) {
    const button = document.createElement("button");
    button.textContent = `ply ${ply + 1}: ${text}`;
    button.addEventListener("click", () => viewer.go(ply));
    const item = document.createElement("li");
    item.append(button);
    byId("notes").append(item);
  }
  byId("notes").hidden = notes.length === 0;
}

function startReplay() {
  const data = JSON.parse(byId("data").textContent);
  const viewer = new Viewer();
  const player = new Player(viewer);
  viewer.theme.choose(data.theme);
  byId("title").textContent = data.title;
  byId("result").textContent = data.result;
  viewer.moreKeys = {
    " ": () => player.toggle(),
    "+": () => player.change(1),
    "-": () => player.change(-1),
  };
  viewer.setNames(data.names);
  viewer.setBoard(data.board);
  viewer.setFrames(0, data.frames);
  viewer.setOverlay(data.frames.some((frame) => frame.search !== null) ? "visits" : "none");
  viewer.go(viewer.lastPly());
  showNotes(data.notes, viewer);
}

startReplay();
