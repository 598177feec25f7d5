"use strict";

/** Goes on by itself, a number of steps per second, in what has `go`, `step` and `isLast`. */
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
