"use strict";

const PHASES = 4;
const [DESCENT, EXPANSION, PLAYOUT, BACKUP] = [0, 1, 2, 3];
const SHOWN_CHILDREN = 8;
const [WIDTH, HEIGHT] = [600, 420]; // of the picture of the tree
const LABEL = 22; // pixels that the name of a move takes

/** A number with two digits; a dash for what is not known. */
function figure(number) {
  return number === null ? "–" : number.toFixed(2);
}

/** All nodes that any simulation reached, by their way, each with its place in the picture. */
class Nodes {
  constructor(steps) {
    this.byKey = new Map();
    this.root = this.add("", null, null, -1);
    steps.forEach((step, number) => {
      let parent = this.root;
      for (const move of step.way) {
        const key = `${parent.key} ${move.text}`;
        parent = this.byKey.get(key) ?? this.add(key, parent, move, number);
      }
    });
    this.leaves = 0;
    this.depth = 0;
    this.place(this.root, 0);
  }

  add(key, parent, move, since) {
    const node = { key, parent, move, since, children: [], depth: parent ? parent.depth + 1 : 0 };
    this.byKey.set(key, node);
    parent?.children.push(node);
    return node;
  }

  /** Leaves stand side by side, and every other node above the middle of its children. */
  place(node) {
    this.depth = Math.max(this.depth, node.depth);
    for (const child of node.children) this.place(child);
    if (node.children.length === 0) {
      node.x = this.leaves;
      this.leaves += 1;
    } else {
      node.x = (node.children[0].x + node.children.at(-1).x) / 2;
    }
  }

  /** The nodes of a simulation, the root first. */
  way(step) {
    const nodes = [this.root];
    for (const move of step.way) nodes.push(this.byKey.get(`${nodes.at(-1).key} ${move.text}`));
    return nodes;
  }

  /** Visits and values of all nodes after a number of simulations. */
  figures(steps, count) {
    const found = new Map();
    for (const step of steps.slice(0, count)) {
      this.way(step).forEach((node, depth) => {
        const [visits, value, proof] = step.after[depth];
        found.set(node, { visits, value, proof });
      });
    }
    return found;
  }
}

/** Shows one phase of one simulation. */
class Explainer {
  constructor(data) {
    this.data = data;
    this.steps = data.steps;
    this.at = 0; // counts phases
    this.chosenDepth = null;
    this.nodes = new Nodes(this.steps);
    this.board = new Board(byId("board"), data.board);
    this.theme = new Theme((shade) => this.setShade(shade));
    this.theme.choose(data.theme);
    byId("title").textContent = data.title;
    byId("slider").max = this.steps.length;
    this.player = new Player(this);
    this.listen();
    this.go(0);
  }

  setShade(shade) {
    this.board.setTheme(shade);
    document.querySelector("main").className = this.board.themeClass;
  }

  listen() {
    byId("back").addEventListener("click", () => this.step(-1));
    byId("on").addEventListener("click", () => this.step(1));
    byId("slider").addEventListener("input", (event) => (
      this.go((Number(event.target.value) - 1) * PHASES + BACKUP)
    ));
    byId("help-open").addEventListener("click", () => byId("help").showModal());
    const keys = {
      ArrowLeft: () => this.step(-1),
      ArrowRight: () => this.step(1),
      ArrowUp: () => this.step(-PHASES),
      ArrowDown: () => this.step(PHASES),
      Home: () => this.go(0),
      End: () => this.go(Infinity),
      " ": () => this.player.toggle(),
      t: () => this.theme.next(),
    };
    document.addEventListener("keydown", (event) => {
      const isTyped = event.target.closest("select, dialog, button") && event.key !== "t";
      if (isTyped || event.ctrlKey || event.metaKey || !(event.key in keys)) return;
      event.preventDefault();
      keys[event.key]();
    });
  }

  isLast() {
    return this.at >= this.steps.length * PHASES - 1;
  }

  step(phases) {
    this.go(this.at + phases);
  }

  go(at) {
    this.at = Math.min(Math.max(0, at), this.steps.length * PHASES - 1);
    this.chosenDepth = null;
    this.show();
  }

  get number() {
    return Math.floor(this.at / PHASES);
  }

  get phase() {
    return this.at % PHASES;
  }

  get now() {
    return this.steps[this.number];
  }

  show() {
    const count = this.number + (this.phase === BACKUP ? 1 : 0);
    this.figures = this.nodes.figures(this.steps, count);
    byId("slider").value = this.number + 1;
    byId("slider").setAttribute("aria-valuetext", `simulation ${this.number + 1}, ${this.names()[this.phase]}`);
    byId("where").textContent = `${this.number + 1} / ${this.steps.length}`;
    byId("status").textContent = this.text();
    this.showPhases();
    this.showBoard();
    this.showTree();
    this.showWay();
    this.showChoice();
  }

  names() {
    return ["descent", "expansion", this.now.end === null ? "evaluation" : "playout", "back-up"];
  }

  showPhases() {
    byId("phases").replaceChildren(...this.names().map((name, phase) => {
      const item = textElement("li", name, `phase-${phase}`);
      if (phase === this.phase) item.setAttribute("aria-current", "step");
      return item;
    }));
  }

  /** What happens in this phase. */
  text() {
    const { way, reward, isExpanded } = this.now;
    const moves = way.map((move) => move.text).join(" ");
    const leaf = way.length === 0 ? "the root" : moves;
    if (this.phase === DESCENT) return `The simulation goes down to ${leaf}.`;
    if (this.phase === EXPANSION) {
      return isExpanded ? `${leaf} is a new node.` : `No new node: ${leaf} is the end of the game, proven, or at the greatest depth.`;
    }
    if (this.phase === PLAYOUT) {
      const result = `${figure(reward)} for the player to move at the root`;
      if (this.now.end === null) return `The policy says ${result}.`;
      return `${this.now.end.outcome === null ? "The playout is cut and valued" : "The game ends"}: ${result}.`;
    }
    return `All ${way.length + 1} nodes on the way count the result.`;
  }

  showBoard() {
    const { way, end } = this.now;
    const isEnd = this.phase === PLAYOUT && end !== null;
    this.board.showFrame(isEnd ? { owners: end.owners, last: null, winning: end.winning } : this.data.root);
    this.board.showGhosts(isEnd || this.phase === BACKUP ? [] : way);
    const leaf = way.at(-1)?.cell ?? null;
    this.board.showMarks(this.phase === EXPANSION ? [[leaf, "mark"]] : []);
    this.board.showDiscs(this.phase === BACKUP ? OVERLAYS.visits(this.rootActions()) : []);
  }

  /** The root's children as the overlays take actions. */
  rootActions() {
    return this.nodes.root.children.filter((node) => this.figures.has(node)).map((node) => (
      { ...node.move, ...this.figures.get(node), arrow: null, prior: null }
    ));
  }

  // ---- the tree ---------------------------------------------------------------------------------

  showTree() {
    const svg = byId("tree");
    svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    svg.setAttribute("aria-label", `the tree after ${this.number + 1} simulations`);
    const unit = WIDTH / this.nodes.leaves;
    const x = (node) => (node.x + 0.5) * unit;
    const y = (node) => 20 + node.depth * (HEIGHT - 40) / Math.max(this.nodes.depth, 1);
    const way = new Set(this.nodes.way(this.now));
    const shown = [...this.nodes.byKey.values()].filter((node) => node.since < this.number
      || (node.since === this.number && (this.phase > DESCENT || !this.now.isExpanded)));
    const most = this.figures.get(this.nodes.root)?.visits ?? 1;
    const edges = shown.filter((node) => node.parent !== null).map((node) => svgElement("line", {
      x1: x(node.parent), y1: y(node.parent), x2: x(node), y2: y(node),
      class: way.has(node) ? `way phase-${this.phase}` : "edge",
    }));
    const dots = shown.map((node) => {
      const figures = this.figures.get(node);
      const chooser = node.move === null ? "root" : `player-${node.move.player}`;
      const dot = svgElement("circle", {
        cx: x(node), cy: y(node), r: 3 + 11 * Math.sqrt((figures?.visits ?? 0) / most),
        class: `${chooser}${way.has(node) ? ` way phase-${this.phase}` : ""}`,
      });
      const title = `${node.key.trim() || "root"}: N ${figures?.visits ?? 0}, Q ${figure(figures?.value ?? null)}`;
      dot.append(svgElement("title", {}, title));
      return dot;
    });
    const isLabelled = (node) => node.move !== null && (way.has(node)
      || (node.depth === 1 && this.nodes.root.children.length * LABEL < WIDTH));
    const labels = shown.filter(isLabelled).map((node) => svgElement("text", {
      x: x(node), y: y(node) - 14, "font-size": 18,
    }, node.move.text));
    svg.replaceChildren(...edges, ...dots, ...labels);
  }

  // ---- the choice in a node ---------------------------------------------------------------------

  /** The depth of the node whose choice is shown: by default the last one with scores. */
  depth() {
    if (this.chosenDepth !== null) return this.chosenDepth;
    const scored = this.now.choices.findLastIndex((choice) => choice.reason === "score");
    return scored >= 0 ? scored : this.now.choices.length - 1;
  }

  showWay() {
    const nodes = this.nodes.way(this.now);
    byId("way").replaceChildren(...nodes.map((node, depth) => {
      const figures = this.figures.get(node);
      const proof = (figures?.proof ?? null) === null ? "" : [" lost", " draw", " won"][figures.proof + 1];
      const button = textElement("button", node.move?.text ?? "root");
      button.append(textElement("small", ` ${figures?.visits ?? 0} · ${figure(figures?.value ?? null)}${proof}`));
      button.setAttribute("aria-pressed", depth === this.depth());
      button.disabled = depth >= this.now.choices.length;
      button.addEventListener("click", () => {
        this.chosenDepth = depth;
        this.showWay();
        this.showChoice();
      });
      return button;
    }));
  }

  showChoice() {
    const choice = this.now.choices[this.depth()];
    const [head, body] = byId("children").children;
    head.replaceChildren();
    body.replaceChildren();
    byId("reason").textContent = choice === undefined ? "" : this.reason(choice);
    byId("others").textContent = this.otherChoices(choice);
    if (choice === undefined || choice.candidates.length === 0) return;
    const names = ["move", "N", "Q"];
    if (choice.reason === "score") names.push("score", ...this.data.parts.slice(1));
    const row = (cells, kind) => {
      const line = document.createElement("tr");
      line.append(...cells.map((cell) => textElement(kind, cell)));
      return line;
    };
    head.append(row(names, "th"));
    for (const one of choice.candidates.slice(0, SHOWN_CHILDREN)) {
      const cells = [one.text, String(one.visits), figure(one.value)];
      if (choice.reason === "score") {
        cells.push(one.isLeftOut ? "left out" : one.score === null ? "∞" : figure(one.score), ...one.parts.slice(1).map(figure));
      }
      const line = row(cells, "td");
      line.classList.toggle("chosen", one.text === choice.text);
      body.append(line);
    }
    const more = choice.count - Math.min(choice.candidates.length, SHOWN_CHILDREN);
    if (more > 0) body.append(row([`and ${more} more`], "td"));
  }

  /** Why a child was chosen. */
  reason(choice) {
    if (choice.reason === "drawn") return `${choice.text}: the children here are new, and one was drawn at random.`;
    if (choice.reason === "first visit") return `${choice.text}: every child has a first visit before any is scored, and it was the next.`;
    const chosen = choice.candidates.find((one) => one.text === choice.text);
    if (chosen === undefined || chosen.score === null) return `${choice.text}: what has no visit yet comes first.`;
    const parts = this.data.parts
      .map((name, index) => [name === "value" ? "Q" : name, chosen.parts[index]])
      .filter(([, part]) => part !== null && Math.abs(part) >= 0.005)
      .map(([name, part]) => `${name} ${figure(part)}`);
    return `${choice.text} has the highest score: ${figure(chosen.score)} = ${parts.join(" + ")}.`;
  }

  /** What other weights of exploration would have chosen. */
  otherChoices(choice) {
    if (choice === undefined || choice.others.length === 0) return "";
    if (choice.others.every(([, text]) => text === choice.text)) return "Half of c, twice c and none choose the same.";
    const texts = choice.others.map(([factor, text]) => `${factor} × c: ${text}`);
    return `With another c it would have been: ${texts.join(", ")}.`;
  }
}

new Explainer(JSON.parse(byId("data").textContent));
