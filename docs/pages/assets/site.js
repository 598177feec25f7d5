// Tables, plots and formulas that scroll can be reached with the keyboard.
addEventListener("load", () => {
  for (const each of document.querySelectorAll(".md-typeset__scrollwrap, .plot, math[display=block]")) each.tabIndex = 0;
});
