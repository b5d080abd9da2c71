// Find in one dialog: the server looks, also in what is folded; the page goes from match to match.

import { LONGEST_LINE } from "./bodies.js";
import { button, el } from "./dom.js";

export class Finder {
  constructor(page) {
    this.page = page;
    this.matches = [];
    this.at = -1;
    this.field = el("input", {
      type: "search", placeholder: "find  /", "aria-label": "Find in this dialog",
      onkeydown: (event) => this.keyed(event),
    });
    this.count = el("span.dim", { role: "status" });
    this.element = el("span.find", {}, this.field,
      button("↑", () => this.go(-1), { "aria-label": "Previous match" }),
      button("↓", () => this.go(1), { "aria-label": "Next match" }), this.count);
  }

  keyed(event) {
    if (event.key === "Enter") {
      event.preventDefault();
      if (this.field.value === this.text) this.go(event.shiftKey ? -1 : 1);
      else this.search(this.field.value);
    }
    if (event.key === "Escape") {
      this.search("");
      this.page.main.focus();
    }
  }

  /** Look for a text in all rows, a part of them at a time. Begins at the first match or, with
   * `from`, at the first in that message. */
  async search(text, from = undefined) {
    this.text = this.field.value = text;
    this.matches = [];
    this.at = -1;
    CSS.highlights?.delete("find");
    this.page.note({ find: text || undefined });
    if (!text) { this.count.textContent = ""; return; }
    let start = 0;
    while (start !== null && this.text === text) {
      let found;
      try {
        found = await this.page.get("/view/find", { text, start, sent: this.page.view === "sent" || undefined });
      } catch (problem) {
        return this.page.app.fail(problem);
      }
      if (this.text !== text) return;
      for (const match of found.matches) for (let n = 0; n < match.count; n++) this.matches.push({ match, n });
      start = found.next;
      this.share = start === null ? 1 : start / found.total;
      const first = this.matches.findIndex(({ match }) => from === undefined || match.key === from);
      if (this.at < 0 && first >= 0) this.show(first);
      else this.say();
    }
  }

  say() {
    const so = this.share < 1 ? `, ${Math.round(this.share * 100)} % read` : "";
    this.count.textContent = this.matches.length
      ? `${this.at + 1} of ${this.matches.length.toLocaleString("en")}${so}` : this.share < 1 ? `none yet${so}` : "not found";
  }

  go(step) {
    const count = this.matches.length;
    if (count) this.show((Math.max(this.at, step > 0 ? -1 : 0) + step + count) % count);
  }

  /** Go to a match, open what it is in, and mark it. */
  async show(number) {
    this.at = number;
    this.say();
    const { match, n } = this.matches[number];
    const [line, column] = match.spots[Math.min(n, match.spots.length - 1)];
    const { element } = await this.page.reach(match.key);
    if (!element || this.at !== number) return;
    const box = this.boxOf(element, match);
    const isCall = match.key === element.dataset.key && box.classList.contains("tool");
    const isHead = line === 0 && box.classList.contains("tool");
    if (!isHead && !this.isOpen(box, isCall, line, column)) await box.unfold?.({ line, column, isCall });
    if (this.at === number) this.mark(isHead ? box.firstChild : this.bodyOf(box, isCall), n, line, column);
  }

  /** The part of a row that a match is in: a result is in the box of its call. */
  boxOf(row, match) {
    const side = row.querySelector(this.page.view === "sent" ? ":scope > .sent" : ":scope > .kept") ?? row;
    const isResult = match.key !== row.dataset.key;
    return [...side.querySelectorAll("[data-block]")].find((one) =>
      (isResult ? one.dataset.commit === match.key : Number(one.dataset.block) === match.block)) ?? row;
  }

  bodyOf(box, isCall) {
    const name = isCall ? ".arguments-box" : ".content";
    return [...box.querySelectorAll(name)].find((one) => one.offsetParent) ?? box;
  }

  isOpen(box, isCall, line, column) {
    if (box.classList.contains("texts")) return !box.unfold || !box.querySelector(":scope > .more");
    const body = this.bodyOf(box, isCall);
    return body !== box && (!body.querySelector(".ln") || linesOf(body, line, column).length > 0);
  }

  mark(element, n, line, column) {
    const ranges = rangesIn(element, this.text);
    if (!ranges.length) return;
    CSS.highlights?.set("find", new Highlight(...ranges));
    const here = linesOf(element, line, column);
    const inLine = ranges.filter((range) => here.includes(range.startContainer.parentElement.closest(".ln")));
    const range = inLine.length ? nearest(inLine, column) : ranges[Math.min(n, ranges.length - 1)];
    bringIntoView(range);
  }
}

/** The elements of a line that have its part at a column. */
function linesOf(element, line, column) {
  const parts = [...element.querySelectorAll(`.ln[data-n="${line}"]`)];
  return parts.filter((part) => Math.floor(part.dataset.column / LONGEST_LINE) === Math.floor(column / LONGEST_LINE));
}

function nearest(ranges, column) {
  const distance = (range) => {
    const line = range.startContainer.parentElement.closest(".ln");
    const before = new Range();
    before.setStartAfter(line.firstChild);
    before.setEnd(range.startContainer, range.startOffset);
    return Math.abs(Number(line.dataset.column) + before.toString().length - column);
  };
  return ranges.reduce((best, one) => (distance(one) < distance(best) ? one : best));
}

/** Scroll what a range is in, and the page, so that it can be seen. */
function bringIntoView(range) {
  const inner = range.startContainer.parentElement.closest("pre");
  if (inner) {
    const [outer, box] = [inner.getBoundingClientRect(), range.getBoundingClientRect()];
    if (box.top < outer.top || box.bottom > outer.bottom) inner.scrollTop += box.top - outer.top - outer.height / 3;
    if (box.left < outer.left || box.right > outer.right) inner.scrollLeft += box.left - outer.left - outer.width / 3;
  }
  const box = range.getBoundingClientRect();
  const top = document.getElementById("top").getBoundingClientRect().bottom;
  if (box.top < top + 40 || box.bottom > innerHeight - 40) scrollBy({ top: box.top - innerHeight / 3, behavior: "instant" });
}

/** Where a text stands in an element. Colours cut a text into many nodes. */
function rangesIn(element, text) {
  const wanted = text.toLowerCase();
  const nodes = [];
  let content = "";
  for (const walker = textsIn(element); walker.nextNode();) {
    nodes.push([content.length, walker.currentNode]);
    content += lower(walker.currentNode.data);
  }
  const ranges = [];
  let number = 0;
  const place = (at, isEnd) => {
    while (nodes[number + 1] && nodes[number + 1][0] < at + (isEnd ? 0 : 1)) number++;
    return [nodes[number][1], at - nodes[number][0]];
  };
  for (let at = content.indexOf(wanted); at >= 0 && ranges.length < 1000; at = content.indexOf(wanted, at + wanted.length)) {
    const range = new Range();
    range.setStart(...place(at, false));
    range.setEnd(...place(at + wanted.length, true));
    ranges.push(range);
  }
  return ranges;
}

/** The texts of an element that are somebody's, without those of the page. */
function textsIn(element) {
  return document.createTreeWalker(element, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (node) => {
    if (node.nodeType === Node.TEXT_NODE) return NodeFilter.FILTER_ACCEPT;
    return node.matches(".no, .bar-small, .choice, .side, .more, .lang") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP;
  });
}

/** In small letters, as long as before. */
const lower = (text) => (text.toLowerCase().length === text.length ? text.toLowerCase() : Array.from(text, (char) => (char.toLowerCase().length === char.length ? char.toLowerCase() : char)).join(""));
