"use strict";

/** The plot of the value over the game, with a line for the searches of each player. */
class Curve {
  static WIDTH = 600;
  static HEIGHT = 150;

  constructor(svg, onPly) {
    this.svg = svg;
    this.plies = 1;
    svg.setAttribute("viewBox", `0 0 ${Curve.WIDTH} ${Curve.HEIGHT}`);
    svg.addEventListener("click", (event) => onPly(this.plyAt(event.clientX)));
  }

  plyAt(clientX) {
    const box = this.svg.getBoundingClientRect();
    const share = ((clientX - box.left) / box.width * Curve.WIDTH - 10) / (Curve.WIDTH - 20);
    return Math.round(Math.min(1, Math.max(0, share)) * this.plies);
  }

  x(ply) {
    return 10 + (ply / this.plies) * (Curve.WIDTH - 20);
  }

  /** Values that are good for player 0 are at the top. */
  y(value) {
    return Curve.HEIGHT / 2 - value * (Curve.HEIGHT / 2 - 10);
  }

  /** Draw the values of the frames, and a line at the frame that is shown. */
  show(frames, ply) {
    this.plies = Math.max(1, frames.length - 1);
    const level = (value, className) => svgElement("line", {
      x1: 10, x2: Curve.WIDTH - 10, y1: this.y(value), y2: this.y(value), class: className,
    });
    const cursor = svgElement("line", {
      x1: this.x(ply), x2: this.x(ply), y1: 0, y2: Curve.HEIGHT, class: "cursor",
    });
    const lines = [0, 1].flatMap((player) => this.line(frames, player));
    this.svg.replaceChildren(
      level(1, "end"), level(0, "zero"), level(-1, "end"), cursor, ...lines,
    );
  }

  line(frames, player) {
    const points = frames
      .map((frame, ply) => ({ ply, player: frame.player, value: frame.search?.value ?? null }))
      .filter((point) => point.player === player && point.value !== null)
      .map(({ ply, value }) => [this.x(ply), this.y(player === 0 ? value : -value)]);
    const joined = points.map((point) => point.join(",")).join(" ");
    const lines = ["edge", "stone"].map((part) => (
      svgElement("polyline", { points: joined, class: `player-${player} ${part}` })
    ));
    const dots = points.map(([cx, cy]) => (
      svgElement("circle", { cx, cy, r: 4, class: `player-${player}` })
    ));
    return [...lines, ...dots];
  }
}
