"use strict";

/** A list of plies with a text each, which lead to the position before that ply. */
function showNotes(notes, viewer) {
  for (const { ply, text } of notes) {
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
  new Lesson(viewer, data.notes);
}

startReplay();
