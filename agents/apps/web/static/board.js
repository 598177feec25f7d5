"use strict";

const SVG = "http://www.w3.org/2000/svg";

/** A new SVG element. */
function svgElement(name, attributes = {}, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}

const LEAST_LABEL = 11; // pixels of a coordinate on the screen, as far as there is room
const FINGER = 30; // pixels: a finger does not always hit smaller cells
const MOST_LABEL = { hexagons: 0.5, other: 0.6 }; // of the side of a cell

/** The element with an id. */
function byId(id) {
  return document.getElementById(id);
}

/** The board: an SVG made by `hexenv.render.svg`, whose stones and marks are placed here. */
class Board {
  constructor(holder, settings) {
    this.settings = settings;
    holder.innerHTML = settings.svg; // made by our own code; it contains no text from users
    this.svg = holder.querySelector("svg");
    this.svg.removeAttribute("width");
    this.svg.removeAttribute("height");
    const { width, height } = this.svg.viewBox.baseVal;
    this.svg.style.setProperty("--ratio", width / height);
    this.size = Number(this.svg.dataset.size);
    this.centers = [...this.svg.querySelectorAll(".cells use")].map((use) => ({
      x: Number(use.getAttribute("x")), y: Number(use.getAttribute("y")),
    }));
    this.addStyle(settings.css);
    for (const name of ["ghosts", "marks"]) this.svg.append(svgElement("g", { class: name }));
    this.listen();
    this.labels = this.svg.querySelector("g.labels > g");
    this.labelSize = Number(this.labels?.getAttribute("font-size"));
    new ResizeObserver(() => this.fitLabels()).observe(this.svg);
  }

  /** Pixels on the screen of a pixel of the drawing. */
  get scale() {
    return this.svg.getBoundingClientRect().width / this.svg.viewBox.baseVal.width;
  }

  /** Whether a finger needs a second tap. */
  get isSmall() {
    return this.scale * this.size < FINGER;
  }

  /** Write the coordinates so large that they can be read on a small board. */
  fitLabels() {
    const most = this.hasStyle("hexagons") ? MOST_LABEL.hexagons : MOST_LABEL.other;
    const wanted = Math.min(LEAST_LABEL / (this.scale || 1), most * this.size);
    this.labels?.setAttribute("font-size", Math.max(this.labelSize, wanted));
  }

  /** Add the colours of all themes to those of the SVG. */
  addStyle(css) {
    this.svg.append(svgElement("style", {}, css));
  }

  setTheme(theme) {
    this.svg.classList.remove(...this.settings.themes);
    this.svg.classList.add(theme);
  }

  /** The classes that give an element the colours of the board. */
  get themeClass() {
    return this.svg.getAttribute("class");
  }

  layer(name) {
    return this.svg.querySelector(`g.${name}`);
  }

  fill(layer, elements) {
    this.layer(layer).replaceChildren(...elements);
  }

  use(name, cell, attributes = {}) {
    const { x, y } = this.centers[cell];
    return svgElement("use", { href: `#${name}`, x, y, "data-cell": cell, ...attributes });
  }

  circle(cell, radius, attributes) {
    const { x, y } = this.centers[cell];
    return svgElement("circle", { cx: x, cy: y, r: radius * this.size, ...attributes });
  }

  text(cell, text, paint) {
    const { x, y } = this.centers[cell];
    const attributes = { x, y, class: this.filled(paint), "font-size": this.settings.figure };
    return svgElement("text", attributes, text);
  }

  /** The number of a move: on its stone, or beside crosses and rings. */
  number(cell, number, player) {
    if (!this.hasStyle("squares")) return this.text(cell, number, `mark-${player}`);
    const text = this.text(cell, number, "label");
    const corner = `translate(${0.34 * this.size} ${0.34 * this.size})`;
    text.setAttribute("transform", corner);
    return text;
  }

  /** Whether the numbers can be read at the size of the board on the screen. */
  hasReadableFigures() {
    return this.scale * this.settings.figure >= 6.5;
  }

  /** The class of an element that is filled with a paint. */
  filled(paint) {
    return `${this.settings.fill}${paint}`;
  }

  /** Show the stones of a frame, the last stone and the winning stones. */
  showFrame(frame) {
    const owner = (cell) => "XO".indexOf(frame.owners[cell]);
    this.isEmpty = (cell) => owner(cell) < 0;
    const stones = [];
    for (let cell = 0; cell < frame.owners.length; cell += 1) {
      if (owner(cell) >= 0) stones.push(this.use(`stone-${owner(cell)}`, cell));
    }
    this.fill("stones", stones);
    const { last, winning } = frame;
    const hasLast = last !== null && owner(last) >= 0;
    this.fill("last", hasLast ? [this.use(`last-${owner(last)}`, last)] : []);
    this.fill("win", this.hasStyle("hexagons") ? this.path(winning)
      : winning.map((cell) => this.use(`win-${owner(cell)}`, cell)));
  }

  /** Whether the board is drawn in a style of `hexenv.games.base.Style`. */
  hasStyle(style) {
    return this.svg.classList.contains(style);
  }

  path(cells) {
    if (cells.length === 0) return [];
    const points = cells.map((cell) => `${this.centers[cell].x},${this.centers[cell].y}`).join(" ");
    return this.settings.path.map(([paint, width]) => svgElement("polyline", {
      points,
      class: `${this.settings.line}${paint}`,
      fill: "none",
      "stroke-width": width * this.size,
    }));
  }

  /**
   * Show discs and arrows: `cell` or `arrow`, `strength` (-1 to 1) and `label` of each. No disc
   * hides a stone, such as that of the move which was played after the search.
   */
  showDiscs(discs) {
    const shown = discs.filter((disc) => disc.cell !== null && this.isEmpty(disc.cell));
    const arrows = discs.filter((disc) => disc.arrow !== null);
    arrows.sort((one, other) => Math.abs(one.strength) - Math.abs(other.strength));
    this.fill("overlay", [
      ...shown.flatMap((disc) => this.disc(disc)),
      ...arrows.flatMap((arrow) => this.arrow(arrow)),
    ]);
  }

  /** An arrow from a cell to another, as `hexenv.render.drawing.arrow_shape` has it. */
  arrow({ arrow, strength, label }) {
    const [start, end] = arrow.map((cell) => this.centers[cell]);
    const [shaft, head, length, radius] = this.settings.arrow.map((part) => part * this.size);
    const whole = Math.hypot(end.x - start.x, end.y - start.y) || 1;
    const ahead = { x: (end.x - start.x) / whole, y: (end.y - start.y) / whole };
    const place = (along, aside) => ({
      x: start.x + along * ahead.x - aside * ahead.y, y: start.y + along * ahead.y + aside * ahead.x,
    });
    const side = [[0, shaft / 2], [whole - length, shaft / 2], [whole - length, head / 2]];
    const back = side.map(([along, aside]) => [along, -aside]).reverse();
    const points = [...side, [whole, 0], ...back].map(([along, aside]) => place(along, aside))
      .map(({ x, y }) => `${x},${y}`).join(" ");
    const { x, y } = place(this.settings.arrow_label * whole, 0);
    const strong = Math.abs(strength);
    const group = svgElement("g", {
      class: this.filled(strength < 0 ? "low" : "high"), opacity: this.settings.opacity * strong,
      "data-from": arrow[0], "data-to": arrow[1],
    });
    group.append(svgElement("polygon", { points }), svgElement("circle", { cx: x, cy: y, r: radius }));
    if (!this.hasReadableFigures()) return [group];
    const paint = this.filled(strong > 0.5 ? "figure-on-disc" : "figure");
    const text = svgElement("text", { x, y, class: paint, "font-size": this.settings.figure }, label);
    return [group, text];
  }

  disc({ cell, strength, label }) {
    const strong = Math.abs(strength);
    const layers = [[strength < 0 ? "low" : "high", this.settings.opacity * strong]];
    if (this.hasStyle("points")) layers.unshift(["board", 0.85]); // over the lines of the board
    const circles = layers.map(([paint, opacity]) => this.circle(cell, this.settings.disc, {
      class: this.filled(paint), "fill-opacity": opacity,
    }));
    if (!this.hasReadableFigures()) return circles;
    return [...circles, this.text(cell, label, strong > 0.5 ? "figure-on-disc" : "figure")];
  }

  /** Show later moves as faint stones with their numbers. */
  showGhosts(line) {
    const placed = line.map((move, index) => ({ ...move, number: index + 1 }))
      .filter((move) => move.cell !== null);
    this.fill("ghosts", placed.flatMap(({ player, cell, number }) => [
      this.use(`stone-${player}`, cell, { opacity: 0.6 }), this.number(cell, number, player),
    ]));
  }

  /** Draw rings: pairs of a cell (or null) and a class. */
  showMarks(marks) {
    const shown = marks.filter(([cell]) => cell !== null);
    this.fill("marks", shown.map(([cell, name]) => this.circle(cell, 0.46, { class: name })));
  }

  /**
   * Call `onCell` with a cell that is clicked, and whether a finger did, and `onHover` with the one
   * below the pointer.
   */
  listen() {
    const cellOf = (event) => {
      const use = event.target.closest("use[data-cell]");
      return use === null ? null : Number(use.dataset.cell);
    };
    this.onCell = () => {};
    this.onHover = () => {};
    const cells = this.layer("cells");
    cells.addEventListener("click", (event) => (
      this.onCell(cellOf(event), event.pointerType === "touch")
    ));
    cells.addEventListener("pointerover", (event) => this.onHover(cellOf(event)));
    cells.addEventListener("pointerleave", () => this.onHover(null));
  }
}
