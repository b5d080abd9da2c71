// Sections: the rows of a dialog in the page, 25 to a section. A browser lays out only those near the
// screen. Rows come in slices, the visible ones first; texts are drawn richly when they are near.

import { el, setChildren } from "./dom.js";
import { drawRow } from "./rows.js";

const SIZE = 25;
const SLICE = 250;
const MOST_DRAWN = 20000;
const IDLE_MS = 120;
const END = "end";
const CLOSE = 2; // screens; browsers lay out what is 1.5 away

export class Sections {
  constructor(page) {
    this.page = page;
    this.element = el("div.conversation");
    this.rows = [];
    this.elements = new Map();
    this.places = new Map();
    this.sections = [];
    this.opened = new Map();
    this.near = new Set();
    this.predicate = null;
    this.held = null;
    this.margin = 0;
    this.isEnded = false;
    // Browsers say themselves when a section comes near; an observer would cost in every frame.
    this.element.addEventListener("contentvisibilityautostatechange", (event) => {
      if (event.skipped) this.release(event.target);
      else this.seen(event.target);
      this.scrolled();
    });
    this.listeners = new AbortController();
    const signal = this.listeners.signal;
    addEventListener("scroll", () => this.scrolled(), { passive: true, signal });
    for (const kind of ["wheel", "touchmove", "pointerdown", "keydown"]) {
      addEventListener(kind, () => { this.held = null; }, { passive: true, signal });
    }
    this.resizing = new ResizeObserver(() => { this.settle(); this.scrolled(); });
    this.resizing.observe(document.body); // also what stands above the rows may grow or shrink
  }

  end() {
    this.isEnded = true;
    this.resizing.disconnect();
    this.listeners.abort();
    clearTimeout(this.idle);
  }

  /** Whether there are too many rows to have all of them in the page. */
  get isLazy() { return this.rows.length > MOST_DRAWN; }

  // Rows

  resize(total) {
    this.rows.length = total;
    const wanted = Math.ceil(total / SIZE);
    while (this.sections.length > wanted) {
      const section = this.sections.pop();
      this.near.delete(section.number);
      section.remove();
    }
    while (this.sections.length < wanted) this.addSection();
    for (const section of this.sections.slice(-1)) this.estimate(section, total - section.number * SIZE);
  }

  addSection() {
    const section = el("section.rows.empty");
    section.number = this.sections.length;
    this.element.append(section);
    this.sections.push(section);
    this.estimate(section, SIZE);
  }

  /** Say how many rows a section shows, from which a browser estimates its height. */
  estimate(section, rows) {
    section.style.setProperty("--rows", Math.max(rows, 1));
  }

  put(start, rows) {
    rows.forEach((row, offset) => {
      this.rows[start + offset] = row;
      this.index(row, start + offset);
    });
    const first = Math.floor(start / SIZE);
    const last = Math.floor((start + rows.length - 1) / SIZE);
    this.hold(() => {
      for (let number = first; number <= last; number++) {
        if (!this.isLazy || this.near.has(number) || this.sections[number]?.childElementCount) this.draw(number);
        else if (start === this.firstStart) this.draw(number);
      }
    });
  }

  /** The rows when the page is opened: drawn at once. */
  begin(view) {
    this.firstStart = view.start;
    this.resize(view.total);
    this.put(view.start, view.rows);
    const drawn = [...this.element.querySelectorAll(".row")].slice(0, SIZE);
    const height = drawn.reduce((sum, row) => sum + row.offsetHeight, 0);
    if (height) this.element.style.setProperty("--row", `${Math.round(height / drawn.length)}px`);
  }

  index(row, number) {
    this.places.set(row.key, number);
    for (const entry of row.entries ?? []) if (entry.result) this.places.set(entry.result.key, number);
  }

  draw(number) {
    const section = this.sections[number];
    const part = this.rows.slice(number * SIZE, (number + 1) * SIZE);
    if (!section || part.length === 0 || part.includes(undefined) || Object.keys(part).length < part.length) return;
    setChildren(section, part.map((row) => this.elementOf(row)));
    section.classList.remove("empty");
    this.filterSection(section, part);
  }

  elementOf(row) {
    const known = this.elements.get(row.key);
    if (known && (known.row === row || (signature(known.row) === signature(row) && !isRicher(row, known.row)))) {
      return known.element;
    }
    const element = drawRow(row, this.page);
    this.elements.set(row.key, { row, element });
    const isHeld = known && this.replace(known.element, element);
    this.reopen(element, row.key, isHeld);
    return element;
  }

  /** A row that is drawn again is what it was before to those who look at it. Returns whether a link
   * holds something in it. */
  replace(old, element) {
    for (const name of ["target", "current", "marked-row"]) element.classList.toggle(name, old.classList.contains(name));
    if (this.page.currentRow === old) this.page.currentRow = element;
    if (!this.hasTarget || !old.contains(this.held)) return false;
    const box = this.held.closest(".tool, .aside");
    this.held = [...element.querySelectorAll(".tool, .aside")].find((one) => box && nameOf(one) === nameOf(box)) ?? element;
    return true;
  }

  /** A row that is drawn again has the same things open, at the same lines. */
  reopen(element, key, isHeld) {
    const spots = this.opened.get(key);
    if (!spots?.size) return;
    for (const box of element.querySelectorAll(".tool, .aside")) {
      const spot = spots.get(nameOf(box));
      if (spot) box.unfold({ ...spot, isAgain: !isHeld });
    }
  }

  noteOpen(box, isOpen, spot) {
    const key = box.closest(".row")?.dataset.key;
    if (!key) return;
    const spots = this.opened.get(key) ?? new Map();
    if (isOpen) spots.set(nameOf(box), spot);
    else spots.delete(nameOf(box));
    this.opened.set(key, spots);
  }

  // Loading

  /** Fetch what is missing, what is near the screen first. Resolves when all of it is there. */
  async fill() {
    while (!this.isEnded) {
      const start = this.nextMissing();
      if (start === null) return;
      const answer = await this.page.fetchRows({ start, count: SLICE });
      if (this.isEnded) return;
      if (answer) this.put(answer.start, answer.rows);
      await new Promise((resolve) => setTimeout(resolve));
    }
  }

  /** A row by its number, loaded with its neighbours if need be; undefined beyond the ends. */
  async load(number) {
    if (!this.rows[number] && number >= 0 && number < this.rows.length) {
      const start = Math.max(Math.floor((number - SLICE / 2) / SIZE), 0) * SIZE;
      const answer = await this.page.fetchRows({ start, count: SLICE });
      if (answer && !this.isEnded) this.put(answer.start, answer.rows);
    }
    return this.rows[number];
  }

  nextMissing() {
    for (const number of this.near) if (this.isMissing(number)) return number * SIZE;
    if (this.isLazy) return null;
    const from = Math.floor((this.firstStart ?? 0) / SIZE);
    for (let step = 0; step < this.sections.length; step++) {
      const number = (from + step) % this.sections.length;
      if (this.isMissing(number)) return number * SIZE;
    }
    return null;
  }

  isMissing(number) {
    const end = Math.min((number + 1) * SIZE, this.rows.length);
    for (let at = number * SIZE; at < end; at++) if (this.rows[at] === undefined) return true;
    return false;
  }

  /** The browser lays a section out, because it comes near. */
  seen(section) {
    this.near.add(section.number);
    if (!this.isLazy) return;
    if (this.isMissing(section.number)) this.page.fill();
    else if (!section.childElementCount) this.hold(() => this.draw(section.number));
  }

  /** Which sections are near is known for sure only when nobody scrolls: by then all have their
   * heights. */
  findNear() {
    const sections = this.sections.filter(isClose);
    this.near = new Set(sections.map((section) => section.number));
    for (const section of sections) this.seen(section);
  }

  scrolled() {
    clearTimeout(this.idle);
    this.idle = setTimeout(() => this.rest(), IDLE_MS);
  }

  /** Nobody scrolls: draw texts richly, forget what is far away, and say where one is. */
  async rest() {
    this.page.moved(this.firstVisible());
    this.findNear();
    if (this.isLazy) this.empty();
    for (const number of [...this.near]) {
      const part = this.rows.slice(number * SIZE, (number + 1) * SIZE);
      if (this.isMissing(number) || !part.some(isPlain)) continue;
      const answer = await this.page.fetchRows({ start: number * SIZE, count: SIZE, nodes: true });
      if (this.isEnded || !answer) return;
      for (const row of answer.rows) row.isRich = true;
      this.put(answer.start, answer.rows);
    }
  }

  /** Have the browser forget how a far section is laid out: children that are taken out and put back
   * have no boxes until they are near again. That is most of the memory of a long page. */
  release(section) {
    this.near.delete(section.number);
    if (!this.isInUse(section) && !section.querySelector(".body")) section.replaceChildren(...section.children);
  }

  isInUse(section) {
    const isHeld = this.hasTarget && section.contains(this.held);
    return isHeld || section.contains(document.activeElement) || getSelection()?.containsNode(section, true);
  }

  /** Far sections keep their height, and nothing else. What is selected or focused stays. */
  empty() {
    for (const section of this.sections) {
      if (this.near.has(section.number) || !section.childElementCount || this.isInUse(section)) continue;
      section.style.setProperty("--height", `${section.offsetHeight}px`); // what it had
      for (const child of section.children) this.elements.delete(child.dataset.key);
      section.replaceChildren();
      section.classList.add("empty");
    }
  }

  // Places

  firstVisible() {
    const top = parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;
    const box = this.element.getBoundingClientRect();
    const found = document.elementFromPoint(box.left + Math.min(60, box.width / 2), top + 12)?.closest(".row");
    return found && this.element.contains(found) ? found : null;
  }

  /** Change the page so that what one reads does not move. */
  hold(change) {
    if (this.held === END || this.held?.isConnected) {
      change();
      this.settle();
      return;
    }
    const anchor = scrollY > 0 ? this.firstVisible() : null;
    const before = anchor?.getBoundingClientRect().top;
    change();
    const now = anchor && (anchor.isConnected ? anchor : this.elements.get(anchor.dataset.key)?.element);
    if (!now?.isConnected) return;
    this.scrollExactly(now.getBoundingClientRect().top - before);
  }

  /** Scroll by a distance. Windows scroll by whole pixels; a margin at the top has the rest. */
  scrollExactly(distance) {
    if (!distance) return;
    const whole = Math.ceil(distance - this.margin);
    this.margin += whole - distance;
    this.element.style.marginTop = `${this.margin}px`;
    scrollBy({ top: whole, behavior: "instant" });
  }

  /** A link holds its target in place until the person scrolls. */
  settle() {
    if (!this.held) return;
    if (this.held === END) return scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
    if (!this.held.isConnected) this.held = this.elements.get(this.held.dataset?.key)?.element ?? null;
    this.held?.scrollIntoView({ block: "start", behavior: "instant" });
  }

  /** Whether a link holds something in its place. */
  get hasTarget() { return Boolean(this.held) && this.held !== END; }

  /** Go to the end and stay there, also while what is before it gets its height. */
  goToEnd() {
    this.held = END;
    this.settle();
  }

  target(element) {
    if (!element) return;
    this.held = element;
    this.settle();
    requestAnimationFrame(() => this.settle());
  }

  rowElement(key) {
    const number = this.places.get(key);
    const row = number === undefined ? null : this.rows[number];
    if (!row) return null;
    if (!this.elements.get(row.key)?.element.isConnected) this.draw(Math.floor(number / SIZE));
    return this.elements.get(row.key)?.element ?? null;
  }

  // Filters

  filter(predicate) {
    this.predicate = predicate;
    let shown = 0;
    this.hold(() => {
      for (const section of this.sections) {
        const part = this.rows.slice(section.number * SIZE, (section.number + 1) * SIZE);
        shown += this.filterSection(section, part);
      }
    });
    return shown;
  }

  /** Returns how many rows fit. What a link leads to is shown in any case. */
  filterSection(section, part) {
    const fitting = part.filter((row) => row && (!this.predicate || this.predicate(row)));
    const fits = new Set(fitting);
    let isEmpty = true;
    for (const row of part) {
      const element = row && this.elements.get(row.key)?.element;
      if (!element) continue;
      element.hidden = !fits.has(row) && !element.classList.contains("target");
      if (!element.hidden) isEmpty = false;
    }
    section.hidden = Boolean(this.predicate) && isEmpty && !fitting.length && !section.classList.contains("empty");
    this.estimate(section, fitting.length);
    return fitting.length;
  }
}

function isClose(element) {
  const { top, bottom } = element.getBoundingClientRect();
  const far = CLOSE * innerHeight;
  return top < bottom && bottom > -far && top < innerHeight + far; // what is hidden has no height
}

/** What names a box in its row, also before its result has come. */
function nameOf(box) {
  return `${box.closest(".sent") ? "sent" : "kept"}-${box.dataset.block}`;
}

/** What decides how a row looks, apart from its texts, which its commit decides. */
function signature(row) {
  if (row.kind === "rule" || row.kind === "tools") return JSON.stringify(row);
  return JSON.stringify(row, (key, value) => (["nodes", "text", "size", "isRich"].includes(key) ? undefined : value));
}

const isPlain = (row) => row && !row.isRich && [...(row.entries ?? []), ...(row.sent ?? [])].some((entry) => entry.kind === "text" && !entry.nodes);
const isRicher = (row, known) => Boolean(row.isRich && isPlain(known));
