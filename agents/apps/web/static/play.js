"use strict";

/** A game on the server, with its buttons. */
class Play {
  constructor(viewer, path) {
    this.viewer = viewer;
    this.state = null;
    this.link = "connecting";
    this.note = "";
    this.isWaiting = false; // for the answer to the last message
    this.cursor = null;
    this.picked = null; // the choice that a finger has tapped once
    byId("replay").href = `${path}/replay`;
    byId("record").href = `${path}/record.json`;
    document.querySelector("section.search").append(byId("links"));
    this.listen();
    this.connection = new Connection(
      `${path}/socket`,
      (message) => this.receive(message),
      (link) => this.setLink(link),
    );
    setInterval(() => this.showClocks(), 200);
  }

  // ---- messages ---------------------------------------------------------------------------------

  receive(message) {
    const { type } = message;
    if (type === "board") this.setBoard(message);
    if (type === "state") this.setState(message);
    if (type === "search") this.setSearch(message);
    if (type === "clock") this.setClock(message);
    if (type === "error" || type === "gone") this.setNote(message.error);
  }

  /** Send a message, but not before the last one was answered: a double click is one move. */
  send(type, more = {}) {
    if (this.isWaiting) return;
    this.setNote("");
    this.isWaiting = true;
    this.connection.send({ type, ply: this.viewer.lastPly(), ...more });
  }

  setBoard({ title, board, game, options }) {
    Object.assign(this, { game, options });
    byId("title").textContent = title;
    document.title = `${title} - hexenv`;
    byId("table").hidden = false;
    if (this.viewer.board !== null) return; // after a lost connection
    this.viewer.setBoard(board);
    this.viewer.board.onCell = (cell, isFinger) => this.click(cell, isFinger);
    this.viewer.board.onHover = (cell) => this.hover(cell);
    this.viewer.board.svg.setAttribute("tabindex", "0");
    this.viewer.board.svg.setAttribute("role", "application");
    this.viewer.board.svg.addEventListener("keydown", (event) => this.pressOnBoard(event));
  }

  setState(state) {
    const isNew = this.state === null;
    this.state = state;
    this.came = performance.now();
    this.isWaiting = false;
    this.note = "";
    this.picked = null;
    this.viewer.setNames(state.names);
    this.viewer.setFrames(state.since, state.frames);
    this.linkAnalysis();
    if (isNew) this.viewer.go(this.viewer.lastPly());
    this.show();
  }

  /** The address of the analysis board with the moves so far. */
  linkAnalysis() {
    const parts = new URLSearchParams([["game", this.game], ...this.options.map((one) => ["option", one])]);
    parts.set("moves", this.viewer.frames.slice(1).map(({ move }) => move.action).join("."));
    byId("analyse").href = `/analysis#${parts}`;
  }

  setSearch({ ply, search }) {
    if (ply !== this.viewer.lastPly()) return;
    this.viewer.frames[ply].search = search;
    if (this.viewer.isLast()) this.viewer.showSearch();
  }

  setClock({ turn, is_running, is_compiling }) {
    if (this.state === null) return;
    Object.assign(this.state, { turn, is_running, is_compiling });
    this.came = performance.now();
    this.show();
  }

  setNote(note) {
    this.isWaiting = false;
    this.note = note;
    this.show();
  }

  /** Tell the server whether the reader sees this page: the clock runs while somebody does. */
  tellSeen() {
    const ply = Math.max(0, this.viewer.lastPly()); // there are no frames before the first state
    this.connection.send({ type: document.hidden ? "away" : "back", ply });
  }

  setLink(link) {
    this.isWaiting = false;
    this.link = link;
    if (link === "open" && document.hidden) this.tellSeen();
    this.show();
  }

  // ---- showing ----------------------------------------------------------------------------------

  show() {
    const status = byId("status");
    status.textContent = this.statusText();
    status.classList.toggle("bad", ["lost", "gone"].includes(this.link) || this.note !== "");
    const { state } = this;
    const isOpen = this.link === "open" && state !== null;
    const isYours = isOpen && state.status === "yours";
    byId("board").classList.toggle("yours", isYours && this.viewer.isLast());
    byId("hint").disabled = !isYours || state.is_asked;
    byId("undo").disabled = !isOpen || !state.can_undo;
    byId("resign").disabled = !isOpen || !["yours", "thinking"].includes(state.status);
    byId("retry").hidden = !isOpen || state.status !== "failed";
    for (const link of ["replay", "record"]) byId(link).hidden = this.link === "gone";
    this.showOthers(isYours ? [...(this.picked ? [this.picked] : []), ...state.choices.others] : []);
    this.showMarks();
    this.showClocks();
  }

  statusText() {
    const links = {
      connecting: this.state === null ? "Connecting ..." : "Connecting again ...",
      lost: "The connection to the server is lost; trying again ...",
      gone: `${this.note.charAt(0).toUpperCase()}${this.note.slice(1)}. Begin a new game.`,
    };
    if (this.link in links) return links[this.link];
    if (this.note) return this.note;
    return this.state === null ? "" : this.turnText();
  }

  turnText() {
    const { state } = this;
    const agent = this.viewer.nameOf(1 - state.side);
    if (!this.viewer.isLast()) return "You are looking back; → leads on.";
    if (state.is_compiling) return "Compiling: this takes a while the first time. The clock stands still.";
    if (this.picked) return `${this.picked.text}: tap it again to play it.`;
    if (state.is_asked) return `${agent} thinks about a hint ...`;
    const atCursor = this.choiceAt(this.cursor);
    const enter = atCursor ? [`${atCursor.text}: Enter plays it.`] : [];
    const hint = state.hint ? [`${agent} would play ${state.hint.text}.`] : [];
    if (enter.length + hint.length > 0) return [...enter, ...hint].join(" ");
    const question = state.question ? ` (${state.question})` : "";
    return {
      preparing: "Compiling: the first game of a kind may take minutes ...",
      yours: `Your turn${question}.`,
      thinking: `${agent} thinks ...`,
      over: `The game is over: ${state.result}.`,
      failed: `${agent} has failed: ${state.error}`,
    }[state.status];
  }

  /** Buttons for the moves that have no cell. */
  showOthers(others) {
    const buttons = others.map(({ action, text }) => {
      const words = text.replace("_", " ");
      const button = textElement("button", action === this.picked?.action ? `Play ${words}` : words, "main");
      button.addEventListener("click", () => this.send("play", { action }));
      return button;
    });
    byId("others").replaceChildren(...buttons);
  }

  showMarks() {
    const { board } = this.viewer;
    if (board === null) return;
    const hint = this.viewer.isLast() ? this.state?.hint : null;
    const marked = this.picked?.cell ?? this.cursor;
    board.showMarks([[hint?.cell ?? null, "hint"], [marked, "cell-cursor"]]);
  }

  showClocks() {
    if (this.state === null || this.link !== "open") return;
    const { turn, is_running, seconds, side } = this.state;
    const running = is_running ? (performance.now() - this.came) / 1000 : 0;
    const player = this.state.status === "yours" ? side : 1 - side;
    if (!this.viewer.isLast()) return;
    for (const number of [0, 1]) {
      const isOn = turn !== null && number === player;
      const shown = seconds[number] + (isOn ? turn + running : 0);
      byId(`clock-${number}`).textContent = isOn ? clockText(shown) : timeText(shown);
    }
  }

  // ---- moves ------------------------------------------------------------------------------------

  /** The move that the person may play at a cell, or undefined. */
  choiceAt(cell) {
    const isYours = this.link === "open" && this.state?.status === "yours";
    return isYours && this.viewer.isLast() ? this.state.choices.cells[cell] : undefined;
  }

  click(cell, isFinger = false) {
    const choice = this.choiceAt(cell);
    const isSure = !isFinger || !this.viewer.board.isSmall || this.picked?.action === choice?.action;
    if (choice !== undefined && isSure) this.send("play", { action: choice.action });
    else if (choice !== undefined) this.pick(choice);
    else if (!this.viewer.isLast()) this.viewer.go(this.viewer.lastPly());
    else this.refuse(cell);
  }

  /** Wait for a second tap. */
  pick(choice) {
    this.picked = choice;
    this.note = "";
    this.show();
    this.hover(null);
  }

  /** Say why a cell cannot be played. */
  refuse(cell) {
    const { status, choices } = this.state ?? {};
    const why = status === "thinking" ? "it is not your turn yet" : choices?.refused[cell];
    this.picked = null;
    if (why) this.setNote(`${why.charAt(0).toUpperCase()}${why.slice(1)}.`);
  }

  /** Show the stone that a click would place. */
  hover(cell) {
    const choice = this.choiceAt(cell) ?? this.picked;
    const move = choice && { cell: choice.cell, player: this.state.side };
    this.viewer.board.fill("ghosts", move ? [
      this.viewer.board.use(`stone-${move.player}`, move.cell, { opacity: 0.45 }),
    ] : []);
  }

  /** The arrow keys move a cursor from cell to cell, Enter plays. */
  pressOnBoard(event) {
    const columns = Number(this.viewer.board.svg.dataset.columns);
    const rows = Number(this.viewer.board.svg.dataset.rows);
    const steps = {
      ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0],
    };
    if (event.key === "Enter" && this.cursor !== null) this.click(this.cursor);
    else if (event.key in steps) {
      const cell = this.cursor ?? Math.floor(rows / 2) * columns + Math.floor(columns / 2);
      const [down, right] = this.cursor === null ? [0, 0] : steps[event.key];
      const row = Math.min(Math.max(0, Math.floor(cell / columns) + down), rows - 1);
      const column = Math.min(Math.max(0, cell % columns + right), columns - 1);
      this.setCursor(row * columns + column);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  setCursor(cell) {
    this.cursor = cell;
    this.show();
  }

  listen() {
    for (const type of ["hint", "undo", "resign", "retry"]) {
      byId(type).addEventListener("click", () => this.send(type));
    }
    this.viewer.onChange = () => this.show();
    document.addEventListener("visibilitychange", () => this.tellSeen());
    byId("board").addEventListener("focusout", () => this.setCursor(null));
    this.viewer.moreKeys = {
      h: () => byId("hint").click(),
      u: () => byId("undo").click(),
    };
  }
}

/** The form for a new game. */
class Setup {
  constructor(offered) {
    this.offered = offered;
    this.fields = new AgentFields(offered.agents);
    this.games = new GameFields(offered.games, () => this.showGame());
    byId("agent").addEventListener("change", () => this.showText());
    byId("own").addEventListener("input", () => this.chooseOwn());
    byId("new").addEventListener("click", () => this.open());
    byId("setup-close").addEventListener("click", () => byId("setup").close());
    byId("setup-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.begin();
    });
    this.showGame();
  }

  open() {
    byId("setup-error").textContent = "";
    byId("setup").showModal();
  }

  showGame() {
    const proposed = [
      ...this.games.game.opponents,
      ...this.offered.extra.map((agent) => (
        { title: agent, about: "Offered by who started this server.", agent, isExtra: true }
      )),
    ];
    const own = { title: "an agent of your choice", about: "Choose it and its parameters below." };
    byId("opponents").replaceChildren(...[...proposed, own].map((each, number) => (
      this.opponent(each, number === 1)
    )));
    this.take(proposed[1]);
  }

  /** A radio button for an opponent. */
  opponent(each, isChosen) {
    const label = textElement("label", "", "opponent");
    const input = document.createElement("input");
    Object.assign(input, { type: "radio", name: "opponent", checked: isChosen });
    input.value = each.agent ?? "";
    input.addEventListener("change", () => this.take(each));
    const words = textElement("span", "");
    words.append(textElement("b", each.title), textElement("small", each.about));
    label.append(input, words);
    return label;
  }

  /** Fill in an opponent's agent and its parameters; without one, unfold them. */
  take({ agent, isExtra = false }) {
    this.extra = isExtra ? agent : null;
    byId("own").hidden = isExtra;
    if (agent === undefined) byId("own").open = true;
    else if (!isExtra) this.fields.take(agent);
    this.showText();
  }

  /** What is changed by hand is an agent of the reader's choice. */
  chooseOwn() {
    byId("opponents").querySelector("label:last-child input").checked = true;
    this.extra = null;
    this.showText();
  }

  showText() {
    byId("text").textContent = this.agent();
  }

  /** The text of the agent that is chosen. */
  agent() {
    return this.extra ?? this.fields.text();
  }

  async begin() {
    const game = byId("game").value;
    const side = Number(document.querySelector("input[name=side]:checked").value);
    const options = this.games.options();
    const body = { game, options, agent: this.agent(), side, seed: null };
    byId("start").disabled = true; // a network takes a while to load
    byId("setup-error").textContent = await this.post(body);
    byId("start").disabled = false;
  }

  /** Ask the server for a game and go to its page; returns the error, if there is one. */
  async post(body) {
    try {
      const answer = await fetch("/games", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
      });
      const found = await answer.json();
      if (!answer.ok) return found.error;
      location.assign(`/games/${found.id}`);
      return "";
    } catch {
      return "the server does not answer";
    }
  }
}

function startPlay() {
  const data = JSON.parse(byId("data").textContent);
  const setup = new Setup(data.offered);
  const viewer = new Viewer();
  viewer.theme.choose(data.theme);
  viewer.theme.remember();
  if (location.pathname.startsWith("/games/")) {
    byId("table").hidden = false;
    const path = location.pathname.replace(/\/$/, "");
    globalThis.play = new Play(viewer, path); // a global, for tests and the console
  } else {
    byId("controls").hidden = true;
    byId("links").hidden = true;
    setup.open();
  }
}

startPlay();
