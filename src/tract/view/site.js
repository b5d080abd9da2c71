"use strict";
// Shows the sessions that have all the words. The list is complete without it.
const box = document.getElementById("search");
const count = document.getElementById("count");
const rows = [...document.querySelectorAll("main article")];
const texts = rows.map((row) => row.textContent.toLowerCase());
function search() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  rows.forEach((row, number) => {
    row.hidden = !words.every((word) => texts[number].includes(word));
    shown += !row.hidden;
  });
  count.textContent = words.length ? `${shown} of ${rows.length}` : `${rows.length}`;
}
box.hidden = false;
box.addEventListener("input", search);
search();
