"use strict";

/** Seconds as minutes and seconds; shorter times with their unit, and none of zero. */
function timeText(seconds) {
  if (seconds === 0) return "";
  return seconds < 1 ? durationText(seconds) : clockText(seconds);
}

/** Seconds as minutes and seconds. */
function clockText(seconds) {
  const minutes = Math.floor(seconds / 60);
  const rest = (seconds - 60 * minutes).toFixed(1).padStart(4, "0");
  return `${minutes}:${rest}`;
}

/** A short time with its unit. */
function durationText(seconds) {
  return seconds < 1 ? `${Math.round(1000 * seconds)} ms` : `${seconds.toFixed(1)} s`;
}

/** Whether a search has priors. */
function hasPriors(search) {
  return search !== null && search.actions.some((action) => action.prior !== null);
}

/** The choice of a position, as the server tells them, with a text, or undefined. */
function choiceByText({ cells, others }, text) {
  return [...Object.values(cells), ...others].find((choice) => choice.text === text);
}

/** An HTML element with a text; never HTML, as texts come from records. */
function textElement(name, text, className = "") {
  const element = document.createElement(name);
  element.textContent = text;
  if (className) element.className = className;
  return element;
}

/** What both pages show: a list of frames on a board, and the search of each. */
class Viewer {
  constructor() {
    this.frames = [];
    this.ply = 0;
    this.names = ["", ""];
    this.overlay = "visits";
    this.hasLine = false;
    this.board = null;
    this.onChange = () => {};
    byId("page-controls").prepend(byId("controls"));
    this.curve = new Curve(byId("curve"), (ply) => this.go(ply));
    this.listen();
    this.theme = new Theme((shade) => this.setShade(shade));
  }

  setBoard(settings) {
    this.board = new Board(byId("board"), settings);
    for (const player of [0, 1]) this.showStone(player);
    this.theme.apply(); // the names have the colours of the stones
  }

  /** Give the board, and the texts and pictures that have the colours of its stones, a theme. */
  setShade(shade) {
    this.board?.setTheme(shade);
    if (this.board !== null) document.querySelector("main").className = this.board.themeClass;
  }

  setNames(names) {
    this.names = names;
    byId("up").textContent = this.nameOf(0);
    byId("down").textContent = this.nameOf(1);
    for (const player of [0, 1]) {
      const [name, ...parameters] = names[player].split(":");
      byId(`name-${player}`).title = names[player];
      byId(`name-${player}`).replaceChildren(
        textElement("b", name, `of-player-${player}`), textElement("small", parameters.join(":")),
      );
    }
  }

  /** The name of a player without the parameters. */
  nameOf(player) {
    return this.names[player].split(":")[0];
  }

  /** A stone beside the player's name. */
  showStone(player) {
    const half = this.board.size / 2;
    const svg = byId(`stone-of-${player}`);
    svg.setAttribute("viewBox", `${-half} ${-half} ${2 * half} ${2 * half}`);
    svg.replaceChildren(svgElement("use", { href: `#stone-${player}` }));
  }

  /** Replace the frames from one on. If the last one was shown, the new last one is shown. */
  setFrames(since, frames) {
    const wasLast = this.isLast();
    this.frames = [...this.frames.slice(0, since), ...frames];
    byId("slider").max = this.lastPly();
    this.showMoves();
    this.go(wasLast ? this.lastPly() : Math.min(this.ply, this.lastPly()));
  }

  get frame() {
    return this.frames[this.ply];
  }

  lastPly() {
    return this.frames.length - 1;
  }

  isLast() {
    return this.ply >= this.lastPly();
  }

  go(ply) {
    if (this.board === null) return; // no game has been received yet
    this.ply = Math.min(Math.max(0, ply), this.lastPly());
    this.show();
    this.onChange();
  }

  step(plies) {
    this.go(this.ply + plies);
  }

  // ---- showing ----------------------------------------------------------------------------------

  show() {
    this.board.showFrame(this.frame);
    this.board.showMarks([]);
    byId("slider").value = this.ply;
    byId("slider").setAttribute("aria-valuetext", this.moveText());
    byId("where").textContent = `${this.ply} / ${this.lastPly()}`;
    this.markMove();
    this.showTurn();
    this.showSearch();
    this.showBar();
    this.board.svg.setAttribute("aria-label", `the board after ${this.moveText()}`);
  }

  moveText() {
    const { move } = this.frame;
    if (move === null) return "the start";
    return `move ${this.ply}, ${move.text} of ${this.nameOf(move.player)}`;
  }

  /** Whose turn it is, and the players' clocks up to here. */
  showTurn() {
    const moves = this.frames.slice(1, this.ply + 1).map((frame) => frame.move);
    for (const player of [0, 1]) {
      byId(`player-${player}`).classList.toggle("to-move", this.frame.player === player);
      const own = moves.filter((move) => move.player === player && move.seconds !== null);
      const seconds = own.reduce((sum, move) => sum + move.seconds, 0);
      byId(`clock-${player}`).textContent = timeText(seconds);
    }
  }

  /** The value for player 0, in hundredths, by what is known here, or null: the end, or a search. */
  valueHere() {
    if (this.frame.player === null) return 100 * this.frame.outcome;
    const searched = this.frames.slice(0, this.ply + 1)
      .filter((frame) => (frame.search?.value ?? null) !== null).at(-1);
    if (searched === undefined) return null;
    const value = hundredths(searched.search.value, searched.search.proven !== null);
    return searched.player === 0 ? value : -value;
  }

  /** The evaluation bar: the greater a player's part, the better for that player. */
  showBar() {
    const value = this.valueHere();
    const bar = byId("bar");
    bar.hidden = !this.frames.some((frame) => frame.search !== null);
    const better = value < 0 ? 1 : 0;
    const text = value === null ? "not known yet" : `${value ? "+" : ""}${Math.abs(value)} for ${this.nameOf(better)}`;
    bar.style.setProperty("--share", `${50 + (value ?? 0) / 2}%`);
    bar.setAttribute("aria-valuenow", value ?? 0);
    bar.setAttribute("aria-valuetext", text);
    bar.replaceChildren(textElement("span", text));
    bar.classList.toggle("unknown", value === null);
    bar.classList.toggle("second", value < 0);
  }

  /** Where the search that is shown began: here, or without one here, before the last move. */
  plyOfSearch() {
    return this.frame.search === null && this.ply > 0 ? this.ply - 1 : this.ply;
  }

  showSearch() {
    const ply = this.plyOfSearch();
    const shown = this.frames[ply].search;
    this.board.showDiscs(this.hasLine ? [] : OVERLAYS[this.overlay](shown?.actions ?? []));
    this.board.showGhosts(this.hasLine ? this.lineFromHere() : []);
    this.showLine(this.lineOf(shown, ply));
    byId("summary").textContent = this.summary(shown, ply);
    this.showTable(shown, ply);
    const hasCurve = this.frames.some((frame) => frame.search !== null);
    byId("priors").disabled = !this.frames.some((frame) => hasPriors(frame.search));
    byId("curve-box").hidden = !hasCurve;
    if (hasCurve) this.curve.show(this.frames, this.ply);
  }

  /** The line of the search that is shown, without the last move if it began before it. */
  lineFromHere() {
    const line = this.frames[this.plyOfSearch()].search?.line ?? [];
    if (this.plyOfSearch() === this.ply) return line;
    return line[0]?.text === this.frame.move.text ? line.slice(1) : [];
  }

  /** The line of a search; a proof without one has at least the move that was played. */
  lineOf(search, ply) {
    if (search === null) return [];
    const played = this.frames[ply + 1]?.move;
    return search.line.length === 0 && search.proven !== null && played ? [played] : search.line;
  }

  summary(search, ply) {
    if (search === null) return "No search is known here.";
    const who = this.nameOf(this.frames[ply].player);
    const move = `before move ${this.ply}`;
    if (search.proven !== null) return this.proof(search, who, ply < this.ply ? `${move}, ` : "");
    const when = ply < this.ply ? ` ${move}` : "";
    const parts = [
      search.value === null ? "" : `value ${signed(search.value, false)}`,
      `${search.simulations.toLocaleString("en")} simulations`,
      durationText(search.seconds),
    ];
    const found = who === "you" ? "For you" : `${who} found`;
    return `${found}${when}: ${parts.filter((part) => part !== "").join(", ")}`;
  }

  /** What is proven: "wins in 3:", of which the line is beside it. */
  proof(search, who, when) {
    const verbs = who === "you" ? ["lose", "draw", "win"] : ["loses", "draws", "wins"];
    const end = search.ends ? ` in ${search.line.length}` : "";
    const shown = `${when}${who} ${verbs[1 + search.proven]}${end}:`;
    return `${shown.charAt(0).toUpperCase()}${shown.slice(1)}`;
  }

  showLine(line) {
    const words = line.map((move) => textElement("span", move.text, `of-player-${move.player}`));
    byId("line").replaceChildren(...words);
    byId("line-toggle").disabled = this.lineFromHere().length === 0;
  }

  /** The most visited actions and the one that was played, or none where a win is proven. */
  tableOf(search, played) {
    if (search === null || search.proven === 1) return [];
    const shown = search.actions.slice(0, 8);
    if (!played || shown.some(({ action }) => action === played.action)) return shown;
    const own = search.actions.find(({ action }) => action === played.action);
    const last = own ?? { ...played, cell: null, visits: null, value: null, prior: null, proven: false };
    return [...shown.slice(0, 7), last];
  }

  /** The actions with their numbers. */
  showTable(search, ply) {
    const played = this.frames[ply + 1]?.move;
    const rows = this.tableOf(search, played).map((action) => {
      const row = document.createElement("tr");
      const percent = action.prior === null ? "" : `${(100 * action.prior).toFixed(1)} %`;
      const visits = action.visits === null ? "" : action.visits.toLocaleString("en");
      const value = action.value === null ? "" : signed(action.value, action.proven);
      row.append(...[action.text, visits, value, percent].map((text) => textElement("td", text)));
      row.classList.toggle("chosen", action.action === played?.action);
      row.addEventListener("pointerenter", () => (
        this.board.showMarks([[action.cell, "mark"]])
      ));
      row.addEventListener("pointerleave", () => this.board.showMarks([]));
      return row;
    });
    byId("actions").replaceChildren(...rows);
    byId("actions-box").hidden = rows.length === 0;
    byId("actions-box").classList.toggle("without-priors", !hasPriors(search));
  }

  showMoves() {
    const buttons = this.frames.slice(1).map(({ move }, index) => {
      const button = textElement("button", "", `move of-player-${move.player}`);
      button.append(textElement("small", index + 1), textElement("span", move.text));
      button.addEventListener("click", () => this.go(index + 1));
      return button;
    });
    byId("moves").replaceChildren(...buttons);
  }

  markMove() {
    const list = byId("moves");
    list.querySelector("[aria-current]")?.removeAttribute("aria-current");
    const button = list.children[this.ply - 1];
    if (button === undefined) return;
    button.setAttribute("aria-current", "true");
    const { offsetTop: top, offsetHeight: height } = button;
    const isSeen = top >= list.scrollTop && top + height <= list.scrollTop + list.clientHeight;
    if (!isSeen) list.scrollTop = top - list.clientHeight / 2;
  }

  // ---- what the reader chooses ------------------------------------------------------------------

  setOverlay(name) {
    this.overlay = name;
    this.setLine(false);
    for (const button of document.querySelectorAll("[data-overlay]")) {
      button.setAttribute("aria-pressed", String(button.dataset.overlay === name));
    }
  }

  setLine(isOn) {
    this.hasLine = isOn;
    byId("line-toggle").setAttribute("aria-pressed", String(isOn));
    if (this.frame) this.showSearch();
  }

  listen() {
    for (const button of document.querySelectorAll("[data-overlay]")) {
      button.addEventListener("click", () => this.setOverlay(button.dataset.overlay));
    }
    for (const button of document.querySelectorAll("[data-step]")) {
      const plies = { first: -Infinity, back: -1, on: 1, last: Infinity }[button.dataset.step];
      button.addEventListener("click", () => this.step(plies));
    }
    byId("slider").addEventListener("input", (event) => this.go(Number(event.target.value)));
    byId("line-toggle").addEventListener("click", () => this.setLine(!this.hasLine));
    const line = byId("line");
    line.addEventListener("pointerenter", () => {
      this.board.showGhosts(this.lineFromHere());
    });
    line.addEventListener("pointerleave", () => this.showSearch());
    byId("help-open").addEventListener("click", () => byId("help").showModal());
    document.addEventListener("keydown", (event) => this.press(event));
  }

  /** The keys of both pages; a page adds its own in `moreKeys`. */
  keys() {
    return {
      ArrowLeft: () => this.step(-1),
      ArrowRight: () => this.step(1),
      Home: () => this.go(0),
      End: () => this.go(this.lastPly()),
      0: () => this.setOverlay("none"),
      1: () => this.setOverlay("visits"),
      2: () => this.setOverlay("values"),
      3: () => this.setOverlay("priors"),
      l: () => this.setLine(!this.hasLine),
      t: () => this.theme.next(),
      "?": () => byId("help").showModal(),
      ...this.moreKeys,
    };
  }

  press(event) {
    const { target } = event;
    const isTyping = target.matches("input:not([type=range]), select, textarea");
    if (isTyping || event.ctrlKey || event.altKey || event.metaKey) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.key === " " && target.matches("button")) return; // the browser presses the button
    const action = this.keys()[event.key];
    if (action === undefined || this.board === null) return;
    event.preventDefault();
    action();
  }
}

/** The colours: those of the system, or those that the reader has chosen. */
class Theme {
  constructor(onShade) {
    this.onShade = onShade;
    this.keep = () => {};
    this.select = byId("theme");
    this.select.addEventListener("change", () => this.apply());
    this.dark = window.matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", () => this.apply());
    this.apply();
  }

  /** The theme that is shown: for "auto" that of the system. */
  shade() {
    if (this.select.value !== "auto") return this.select.value;
    return this.dark.matches ? "dark" : "light";
  }

  choose(name) {
    this.select.value = name;
    this.apply();
  }

  next() {
    const { options, selectedIndex } = this.select;
    this.choose(options[(selectedIndex + 1) % options.length].value);
  }

  /** Keep the chosen theme for later visits, and begin with the theme of the last visit. */
  remember() {
    try {
      const kept = localStorage.getItem("theme");
      if ([...this.select.options].some((option) => option.value === kept)) this.choose(kept);
      this.keep = () => localStorage.setItem("theme", this.select.value);
    } catch {
      // the browser does not let pages keep anything
    }
  }

  apply() {
    this.keep();
    const shade = this.shade();
    document.documentElement.dataset.shade = shade;
    this.onShade(shade);
  }
}
