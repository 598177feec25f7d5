"use strict";

const MOST_PASTED = 60000; // characters of a file: the server takes no more
const MOST_PLAYED = 12; // moves of recorded games
const OWN = "?"; // in place of an agent: the reader is to choose it
const PNG_WIDTH = 1024;

/** The analysis board: a game with variations, and agents that search the position shown. */
class Analysis {
  constructor(offered) {
    this.offered = offered;
    this.viewer = new Viewer();
    this.viewer.moreKeys = {
      a: () => this.toggle(),
      ArrowUp: () => this.select(this.tree.sibling(-1)),
      ArrowDown: () => this.select(this.tree.sibling(1)),
      Delete: () => this.remove(),
    };
    this.number = 0; // of the last question
    this.isOn = false;
    this.chosen = []; // agents of the reader's choice
    this.edited = null; // the stones while they are placed by hand
    this.picked = null; // the cell that a finger has tapped once
    document.querySelector("section.search").append(byId("below"));
    this.viewer.theme.remember();
    this.games = new GameFields(offered.games);
    this.fields = new AgentFields(offered.agents);
    this.listen();
    this.open(this.fromAddress());
    this.connection = new Connection(
      "/analysis/socket",
      (message) => this.receive(message),
      (link) => { if (link === "open") this.ask(); else if (link === "lost") this.tell("The connection was lost: trying again."); },
    );
  }

  // ---- what is shown ----------------------------------------------------------------------------

  /** Begin with a game, its options, a tree of moves and a start position. */
  open({ game, options, tree, start }) {
    Object.assign(this, { game, options, tree, start });
    this.hasBoard = false;
    this.showAgents();
    this.ask();
  }

  fromAddress() {
    const given = new URLSearchParams(location.hash.slice(1));
    const isKnown = this.offered.games[given.get("game")] !== undefined;
    const game = isKnown ? given.get("game") : "hex";
    if (!isKnown && location.hash.length > 1) this.leftOut = "the address names no game that is here";
    let tree = new Variations();
    try {
      tree = Variations.fromText(given.get("moves") ?? "");
    } catch {
      this.leftOut = "the moves of the address";
    }
    const start = given.has("board")
      ? { board: given.get("board"), to_play: Number(given.get("player")) === 1 ? 1 : 0 } : null;
    const options = given.getAll("option");
    return { game, options, tree, start };
  }

  address() {
    const parts = new URLSearchParams();
    parts.set("game", this.game);
    for (const option of this.options) parts.append("option", option);
    if (this.start !== null) {
      parts.set("board", this.start.board);
      parts.set("player", this.start.to_play);
    }
    parts.set("moves", this.tree.toText());
    return `${location.origin}/analysis#${parts}`;
  }

  tell(text) {
    byId("status").textContent = text;
  }

  // ---- questions and answers --------------------------------------------------------------------

  agents() {
    return [0, 1].map((place) => byId(`agent-${place}`).value).filter((agent) => agent !== "" && agent !== OWN);
  }

  /** What every question says; only one about another position has a new number. */
  question() {
    return { number: this.number, game: this.game, options: this.options };
  }

  /** Ask for the frames of the line that are not known yet, and for the agents' thoughts. */
  ask() {
    if (this.connection === undefined) return;
    const line = this.tree.line();
    const place = line.indexOf(this.tree.node);
    const unknown = line.findIndex((node) => node.frame === null);
    const end = unknown > place ? line[line.length - 1] : this.tree.node;
    const way = unknown < 0 ? this.tree.wayTo(this.tree.node) : this.tree.wayTo(end);
    this.number += 1;
    this.asked = { way, since: unknown < 0 || unknown >= way.length ? way.length : unknown };
    this.connection.send({
      ...this.question(),
      moves: way.slice(1).map((node) => node.action),
      since: this.asked.since,
      start: this.start,
      agents: this.isOn && way.at(-1) === this.tree.node ? this.agents() : [],
      lines: Number(byId("lines").value),
    });
  }

  receive(message) {
    if (message.number !== null && message.number !== this.number) return;
    if (message.type === "position") this.setPosition(message);
    if (message.type === "search") this.setSearch(message);
    if (message.type === "win") {
      this.tree.node.win = message;
      this.showWin();
    }
    if (message.type === "error") this.refuse(message.error);
    if (message.type === "compiling") {
      this.tell(message.begins ? `${this.agents()[message.place]} is being compiled: the first time takes a while.` : "");
    }
    if (message.type === "tree") {
      byId("setup").close();
      this.open({ ...message, tree: Variations.fromMoves(message) });
      this.leftOut = message.leftOut.join("; ");
    }
    if (message.type === "file") {
      const text = `data:text/plain;charset=utf-8,${encodeURIComponent(message.text)}`;
      save(message.name, message.base64 === undefined ? text : `data:image/gif;base64,${message.base64}`);
    }
  }

  /** An error: of the dialog if that is open, else of the last move, which goes away again. */
  refuse(text) {
    if (byId("setup").open) {
      byId("setup-error").textContent = text;
      return;
    }
    if (this.tree.node.frame === null) this.tree.remove();
    this.tell(text);
  }

  setPosition({ about, frames, choices, played }) {
    const { way, since } = this.asked;
    frames.forEach((frame, index) => { way[since + index].frame = frame; });
    Object.assign(way.at(-1), { choices, played });
    if (!this.hasBoard && about !== null) {
      const { title, board, columns, canSetUp } = about;
      byId("title").textContent = title;
      this.viewer.setBoard(board);
      this.viewer.board.onCell = (cell, isFinger) => this.click(cell, isFinger);
      this.viewer.setNames(["first", "second"]);
      this.hasBoard = true;
      Object.assign(this, { columns, canSetUp });
      byId("place").hidden = !canSetUp;
    }
    this.show();
    if (this.leftOut) this.tell(`Not all could be read: ${this.leftOut}`);
    this.leftOut = "";
    if (this.tree.node.choices === null || (this.isOn && way.at(-1) !== this.tree.node)) this.ask();
  }

  show() {
    this.viewer.onChange = () => {};
    const line = this.tree.line().filter((node) => node.frame !== null);
    this.viewer.setFrames(0, line.map((node) => node.frame));
    this.viewer.go(line.indexOf(this.tree.node));
    this.viewer.onChange = () => this.moved();
    const { parent, children, choices } = this.tree.node;
    this.tell(this.viewer.moveText());
    byId("board").classList.add("yours");
    byId("others").replaceChildren(...(choices?.others ?? []).map((choice) => {
      const button = textElement("button", choice.text);
      button.addEventListener("click", () => this.play(choice.action));
      return button;
    }));
    byId("promote").disabled = this.tree.wayTo(this.tree.node).every((node) => node.parent?.children[0] === node || node.parent === null);
    byId("delete").disabled = parent === null;
    byId("comment").value = this.tree.node.comment.replaceAll("\n", " ");
    byId("branches").replaceChildren(...children.filter((child) => child.frame !== null).map((child) => {
      const button = textElement("button", child.frame.move.text);
      button.addEventListener("click", () => this.select(child));
      return button;
    }));
    this.showWin();
    this.showPlayed();
    this.linkSteps();
    history.replaceState(null, "", this.address());
  }

  /** What was played here in the games that the server knows. */
  showPlayed() {
    const played = this.tree.node.played ?? [];
    byId("played").hidden = played.length === 0;
    byId("played").tBodies[0].replaceChildren(...played.slice(0, MOST_PLAYED).map((move) => {
      const button = textElement("button", move.text);
      button.addEventListener("click", () => this.play(move.action));
      const row = document.createElement("tr");
      const score = move.score === null ? "" : `${Math.round(100 * move.score)} %`;
      row.append(document.createElement("td"), textElement("td", String(move.games)), textElement("td", score));
      row.firstChild.append(button);
      return row;
    }));
  }

  /** The address of the search of the first agent from here, step by step. */
  linkSteps() {
    const { game, options, start } = this;
    const moves = this.tree.wayTo(this.tree.node).slice(1).map((node) => node.action);
    const look = { number: 0, game, options, moves, start, agents: this.agents().slice(0, 1) };
    byId("steps").href = `/analysis/steps?${new URLSearchParams({ look: JSON.stringify(look) })}`;
  }

  /** The reader has gone to another move of the line. */
  moved() {
    const node = this.tree.line()[this.viewer.ply];
    if (node !== undefined && node !== this.tree.node) this.select(node);
  }

  select(node) {
    this.tree.node = node;
    this.picked = null;
    for (const place of [0, 1]) byId(`lines-${place}`).hidden = true;
    if (node.frame !== null) this.show();
    this.ask();
  }

  setSearch({ place, search, lines }) {
    const { frame } = this.tree.node;
    if (place === 0 && search !== null) {
      frame.search = search;
      this.viewer.show();
      this.showWin();
    }
    const table = byId(`lines-${place}`);
    const [caption, body] = table.children;
    const count = search === null ? "" : `, ${search.simulations.toLocaleString("en")} simulations`;
    caption.textContent = this.agents()[place] + count;
    body.replaceChildren(...lines.map((line) => {
      const row = document.createElement("tr");
      const value = line.value === null ? "" : signed(line.value, line.isExact);
      const prior = line.prior === null ? "" : `${Math.round(100 * line.prior)} %`;
      const ends = line.pliesLeft === null ? "" : `in ${line.pliesLeft}`;
      row.append(...[line.move, value, prior, ends, line.line.join(" ")].map((text) => textElement("td", text)));
      return row;
    }));
    table.hidden = false;
  }

  /** A win that is seen without a search: its cells on the board, and its moves. */
  showWin() {
    const { win } = this.tree.node;
    byId("win").hidden = win === undefined;
    if (win === undefined) return;
    this.viewer.board.showMarks(win.cells.map((cell) => [cell, "mark"]));
    const how = win.line.length > 0 ? win.line.join(" ") : "the connection that is marked";
    byId("win").textContent = `${this.viewer.names[win.player]} wins by ${how}.`;
  }

  // ---- what the reader does ---------------------------------------------------------------------

  /** The agents that are proposed for the game, the weakest first. */
  showAgents() {
    const { opponents } = this.offered.games[this.game];
    const proposed = opponents.map(({ title, rating, agent }) => (
      [`${title}${rating === null ? "" : `, ${rating}`} (${agent})`, agent]));
    proposed.push(["exact solver", "solver"], ["alpha-beta", "alphabeta"]);
    proposed.push(...[...this.offered.extra, ...this.chosen].map((agent) => [agent, agent]));
    proposed.push(["an agent of your choice ...", OWN]);
    [0, 1].forEach((place) => {
      const select = byId(`agent-${place}`);
      const before = select.value;
      const first = place === 1 ? [new Option("nobody else", "")] : [];
      select.replaceChildren(...first, ...proposed.map(([text, agent]) => new Option(text, agent)));
      if (before && proposed.some(([, agent]) => agent === before)) select.value = before;
      else if (place === 0) select.selectedIndex = Math.max(0, opponents.length - 1);
    });
  }

  /** Let the reader choose the agent of a place, with its parameters. */
  chooseAgent(place) {
    this.fields.take(this.chosen.at(-1) ?? "uct");
    byId("choose").returnValue = "";
    byId("choose").showModal();
    byId("choose").onclose = () => {
      const select = byId(`agent-${place}`);
      if (byId("choose").returnValue === "take") {
        const text = this.fields.text();
        if (!this.chosen.includes(text)) this.chosen.push(text);
        this.showAgents();
        select.value = text;
      } else select.selectedIndex = 0;
      this.askAgain();
    };
  }

  askAgain() {
    this.linkSteps();
    if (this.isOn) this.select(this.tree.node);
  }

  listen() {
    byId("go").addEventListener("click", () => this.toggle());
    byId("lines").addEventListener("change", () => this.askAgain());
    [0, 1].forEach((place) => byId(`agent-${place}`).addEventListener("change", (event) => {
      if (event.target.value === OWN) this.chooseAgent(place);
      else this.askAgain();
    }));
    byId("typed").addEventListener("change", () => this.playText(byId("typed").value.trim()));
    byId("promote").addEventListener("click", () => { this.tree.promote(); this.show(); });
    byId("delete").addEventListener("click", () => this.remove());
    byId("comment").addEventListener("input", (event) => {
      this.tree.node.comment = event.target.value;
      history.replaceState(null, "", this.address());
    });
    byId("new").addEventListener("click", () => {
      byId("game").value = this.game;
      this.games.show(this.options);
      byId("setup-error").textContent = "";
      byId("setup").showModal();
    });
    byId("setup-close").addEventListener("click", () => byId("setup").close());
    byId("setup-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const [game, options] = [byId("game").value, this.games.options()];
      byId("setup").close();
      this.open({ game, options, tree: new Variations(), start: null });
    });
    byId("read").addEventListener("click", () => this.read(byId("pasted").value));
    byId("file").addEventListener("change", async () => this.read(await byId("file").files[0].text()));
    byId("save").addEventListener("click", () => {
      const { start } = this;
      this.connection.send({ ...this.question(), start, save: this.tree.toMoves() });
    });
    byId("save-gif").addEventListener("click", () => {
      const moves = this.tree.line().slice(1).map((node, ply) => [ply - 1, node.action]);
      this.connection.send({ ...this.question(), start: this.start, save: { moves, film: true } });
    });
    byId("save-png").addEventListener("click", () => {
      const { width, height } = this.viewer.board.svg.viewBox.baseVal;
      const scale = PNG_WIDTH / width;
      savePng(byId("picture").href, [PNG_WIDTH, Math.round(scale * height)]);
    });
    byId("edit").addEventListener("click", () => this.edit());
    byId("share").addEventListener("click", () => this.share());
    window.addEventListener("hashchange", () => this.open(this.fromAddress()));
  }

  /** Let the server read a game. */
  read(text) {
    const [game, options] = [byId("game").value, this.games.options()];
    if (text.length > MOST_PASTED) this.refuse(`expected at most ${MOST_PASTED} characters`);
    else this.connection.send({ ...this.question(), game, options, text });
  }

  toggle() {
    this.isOn = !this.isOn;
    byId("go").textContent = this.isOn ? "Pause" : "Analyse";
    byId("go").setAttribute("aria-pressed", String(this.isOn));
    this.ask();
  }

  /** Play the move that was typed. */
  playText(text) {
    const choice = choiceByText(this.tree.node.choices ?? { cells: {}, others: [] }, text);
    if (choice === undefined) this.tell(`${text} is no move here.`);
    else this.play(choice.action);
    byId("typed").value = "";
  }

  remove() {
    this.tree.remove();
    this.select(this.tree.node);
  }

  click(cell, isFinger) {
    if (cell === null) return;
    if (this.edited !== null) {
      this.placeStone(cell);
      return;
    }
    const choice = this.tree.node.choices?.cells[cell];
    if (choice === undefined) {
      this.tell(this.tree.node.choices?.refused[cell] ?? "");
      return;
    }
    if (isFinger && this.viewer.board.isSmall && this.picked !== choice.action) {
      this.picked = choice.action;
      this.viewer.board.showMarks([[choice.cell, "mark"]]);
      this.tell(`${choice.text}: tap again to play it`);
      return;
    }
    this.play(choice.action);
  }

  play(action) {
    this.select(this.tree.child(this.tree.node, action));
  }

  // ---- stones by hand ---------------------------------------------------------------------------

  edit() {
    byId("setup").close();
    if (this.edited !== null) return;
    this.edited = [...this.tree.node.frame.owners];
    const done = textElement("button", "");
    const turn = document.createElement("select");
    turn.append(new Option("first to move", "0"), new Option("second to move", "1"));
    turn.setAttribute("aria-label", "who is to move");
    done.textContent = "Done";
    done.addEventListener("click", () => this.useStones(Number(turn.value)));
    byId("others").replaceChildren(turn, done);
    this.tell("A click puts a stone of the first player, another one of the second, a third takes it away.");
  }

  placeStone(cell) {
    const next = { ".": "X", X: "O", O: "." };
    this.edited[cell] = next[this.edited[cell]];
    const owners = this.edited.join("");
    this.viewer.board.showFrame({ owners, last: null, winning: [] });
  }

  useStones(player) {
    const rows = [];
    for (let at = 0; at < this.edited.length; at += this.columns) {
      rows.push(this.edited.slice(at, at + this.columns).join(""));
    }
    this.edited = null;
    const { game, options } = this;
    this.open({ game, options, tree: new Variations(), start: { board: rows.join("/"), to_play: player } });
  }

  // ---- sharing ----------------------------------------------------------------------------------

  share() {
    const moves = this.tree.wayTo(this.tree.node).slice(1).map((node) => node.frame.move.text);
    const rows = this.tree.node.frame.owners.length / this.columns;
    const size = rows === this.columns ? rows : `${this.columns}x${rows}`;
    byId("link").value = this.address();
    byId("hexworld-row").hidden = this.game !== "hex" || this.start !== null;
    const words = moves.map((move) => (move === "swap" ? ":s" : move)).join("");
    byId("hexworld").value = `https://hexworld.org/board/#${size}c1,${words}`;
    byId("moves-text").value = moves.join(" ");
    const drawn = new XMLSerializer().serializeToString(this.viewer.board.svg);
    byId("picture").href = `data:image/svg+xml,${encodeURIComponent(drawn)}`;
    byId("shared").showModal();
    byId("link").select();
  }
}

/** Let the reader save what an address has. */
function save(name, href) {
  const link = document.createElement("a");
  Object.assign(link, { download: name, href });
  link.click();
}

/** Save a drawing as pixels. */
async function savePng(address, [width, height]) {
  const image = new Image();
  image.src = address;
  await image.decode();
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width, height });
  canvas.getContext("2d").drawImage(image, 0, 0, width, height);
  save("position.png", canvas.toDataURL("image/png"));
}

const analysis = new Analysis(JSON.parse(byId("data").textContent).offered);
