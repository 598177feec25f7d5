"use strict";

const SMALL_LOSS = 0.05; // of the probability of winning: less is no error
const TRIED = 20; // visits from which on the value of a move counts

/** "Learn from your mistakes": the reader looks for a better move where a player erred. */
class Lesson {
  constructor(viewer, notes) {
    this.viewer = viewer;
    this.notes = notes;
    this.at = null; // the place of the error that is asked for
    this.found = new Set();
    this.tries = 0;
    byId("lesson").hidden = notes.length === 0;
    byId("learn").addEventListener("click", () => this.ask(0));
    byId("lesson-next").addEventListener("click", () => this.ask(this.at + 1));
    byId("lesson-show").addEventListener("click", () => this.showBest());
    byId("lesson-end").addEventListener("click", () => this.end());
    byId("guess").addEventListener("change", () => this.guessText(byId("guess").value.trim()));
    viewer.board.onCell = (cell) => {
      const choice = this.note?.choices.cells[cell];
      if (choice !== undefined) this.guess(choice);
    };
    viewer.onChange = () => {
      if (this.at !== null && viewer.ply !== this.note.ply) this.end();
    };
    this.show("");
  }

  get note() {
    return this.at === null ? undefined : this.notes[this.at];
  }

  ask(place) {
    if (place >= this.notes.length) {
      this.end();
      return;
    }
    this.at = place;
    this.tries = 0;
    byId("guess").value = "";
    this.viewer.setOverlay("none");
    this.viewer.go(this.note.ply);
    const { player } = this.viewer.frame;
    const { move } = this.viewer.frames[this.note.ply + 1];
    this.show(`${this.viewer.nameOf(player)} played ${move.text}, ${this.note.mark}. What is better? (${place + 1} of ${this.notes.length})`);
  }

  end() {
    this.at = null;
    this.show(`Found: ${this.found.size} of ${this.notes.length}.`);
    this.viewer.setOverlay("visits");
  }

  show(text) {
    const isOn = this.at !== null;
    document.querySelector("main").dataset.lesson = isOn ? "on" : "off";
    byId("notes").hidden = isOn || this.notes.length === 0;
    for (const name of ["lesson-next", "lesson-show", "lesson-end", "guess-label"]) byId(name).hidden = !isOn;
    byId("learn").hidden = isOn;
    byId("board").classList.toggle("yours", isOn);
    byId("status").textContent = text;
  }

  guessText(text) {
    const choice = choiceByText(this.note.choices, text);
    if (choice === undefined) this.show(`${text} is no move here.`);
    else this.guess(choice);
  }

  guess(choice) {
    const { search } = this.viewer.frame;
    const known = search.actions.find((one) => one.action === choice.action);
    const best = search.actions.find((one) => one.action === this.note.best);
    const isSame = choice.action === this.note.best;
    const isTried = search.proven === null && known?.visits >= TRIED; // a mean says less than a proof
    const counts = (known?.value ?? null) !== null && (known.proven || isTried);
    const lost = counts ? ((best?.value ?? search.value) - known.value) / 2 : null;
    this.viewer.board.showMarks([[choice.cell ?? null, "mark"]]);
    if (isSame || (lost !== null && lost < SMALL_LOSS)) {
      if (this.tries === 0) this.found.add(this.at);
      const like = isSame ? "" : ` (as good as ${this.note.line[0]})`;
      this.show(`Right: ${choice.text}${like}. ${this.why()} Found so far: ${this.found.size}.`);
      this.tries += 1;
      return;
    }
    if (lost === null) {
      this.show(`What ${choice.text} is worth is not known. Try another.`);
      return;
    }
    this.tries += 1;
    this.show(`Not ${choice.text}: it loses ${Math.round(100 * lost)} % of winning. Try again.`);
  }

  showBest() {
    this.tries += 1;
    this.viewer.setLine(true);
    this.show(this.why());
  }

  why() {
    const value = this.viewer.frame.search.value;
    return `Expected: ${this.note.line.join(" ")}, value ${signed(value, this.viewer.frame.search.proven !== null)}.`;
  }
}
