"use strict";
// Folds and unfolds everything, and opens what a link leads to. The page works without it.
const folds = () => document.querySelectorAll("main details");
for (const [name, isOpen] of [["fold", false], ["unfold", true]]) {
  const button = document.getElementById(name);
  button.hidden = false;
  button.addEventListener("click", () => { for (const one of folds()) one.open = isOpen; });
}
function reveal() {
  const target = document.getElementById(location.hash.slice(1));
  for (let one = target; one; one = one.parentElement) {
    if (one.tagName === "DETAILS") one.open = true;
  }
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", reveal);
reveal();
