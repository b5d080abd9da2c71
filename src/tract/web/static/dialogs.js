// The list of dialogs: search, filters, order, sums of those that are chosen.

import { format, go, note } from "./address.js";
import * as api from "./api.js";
import { areOff, FIELDS } from "./keys.js";
import { ago, button, counted, el, liveSign, setChildren, setLive, short, visible } from "./dom.js";

const SIZE = 50;
const PAGE = 1000;
const COLUMNS = [
  ["label", "title"], ["project", "project"], ["model", "model"], ["messages", "messages"], ["tokens", "tokens"],
  ["sent", "sent"], ["cached", "cached"], ["cost", "cost"], ["errors", "errors"], ["ended", "when"],
];
const TEXTS = new Set(["label", "project", "model"]);
const VALUES = {
  label: (row) => row.label.toLowerCase(),
  project: (row) => (row.project ?? "").toLowerCase(),
  model: (row) => (row.model ?? "").toLowerCase(),
  messages: (row) => row.messages ?? row.commits,
  tokens: (row) => row.tokens,
  sent: (row) => row.sent ?? 0,
  cached: (row) => row.cached ?? -1,
  cost: (row) => row.dollars ?? 0,
  errors: (row) => row.errors,
  ended: (row) => Date.parse(row.ended) || 0,
};
const LATER = new Set(["model", "messages", "sent", "cached", "cost"]);
const SINCE = [["", "any time"], ["1", "since a day"], ["7", "since a week"], ["30", "since a month"], ["365", "since a year"]];

export function open(app, fields) {
  return new Dialogs(app, fields);
}

class Dialogs {
  constructor(app, fields) {
    this.app = app;
    this.fields = fields;
    this.rows = new Map();
    this.elements = new Map();
    this.sections = [];
    this.chosen = new Set();
    this.waiting = new Set();
    this.hits = null;
  }

  async begin(data) {
    document.title = "Dialogs · tract";
    this.drawFrame();
    this.take(data);
    this.draw();
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    this.app.setState("useful");
    while (this.cursor && !this.isEnded) {
      await this.load(this.cursor);
      if (!this.isEnded) this.draw();
    }
    if (this.isEnded) return;
    this.app.setState("ready");
    this.stop = api.listen("/api/events", () => ({}), (kind, data) => {
      if (kind === "commit" || kind === "deleted") this.noteNews();
    }, (isLive, problem) => {
      setLive(this.live, isLive);
      if (problem?.status === 401) this.app.fail(problem);
      if (isLive && this.wasCut) this.reload();
      this.wasCut = !isLive;
    });
    if (this.fields.text) this.searchContents();
    this.fillDetails();
  }

  end() {
    this.isEnded = true;
    this.stop?.();
    this.observer?.disconnect();
    this.listeners?.abort();
    document.getElementById("top").replaceChildren();
    document.getElementById("page").replaceChildren();
  }

  async turn(fields) {
    const isSearch = (fields.text ?? "") !== (this.fields.text ?? "");
    this.fields = fields;
    for (const control of this.form.elements) {
      if (control.name && control.type !== "checkbox") control.value = fields[control.name] ?? "";
      if (control.type === "checkbox") control.checked = Boolean(fields[control.name]);
    }
    this.draw();
    if (isSearch) this.searchContents();
    return true;
  }

  async load(cursor) {
    this.take(await api.get("/api/view/dialogs", { limit: PAGE, cursor }));
  }

  take(page) {
    for (const row of page.items) {
      const old = this.rows.get(row.dialog);
      if (!old || old.commits !== row.commits) this.waiting.add(row.dialog);
      this.rows.set(row.dialog, { ...old, ...row });
    }
    this.cursor = page.next;
    this.fillChoices();
  }

  async reload() {
    const known = new Set();
    this.cursor = undefined;
    do {
      const page = await api.get("/api/view/dialogs", { limit: PAGE, cursor: this.cursor });
      if (this.isEnded) return;
      for (const row of page.items) known.add(row.dialog);
      this.take(page);
    } while (this.cursor);
    for (const name of [...this.rows.keys()]) if (!known.has(name)) this.rows.delete(name);
    this.draw();
    this.fillDetails();
  }

  noteNews() {
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.reload().catch((problem) => this.app.fail(problem)), 300);
  }

  // Details are read when the list is there, those on the screen first.

  async fillDetails() {
    if (this.isFilling) return;
    this.isFilling = true;
    try {
      for (;;) {
        const names = this.nextWaiting();
        if (!names.length) return;
        for (const name of names) this.waiting.delete(name);
        const details = await api.get("/api/view/details", { dialog: names });
        if (this.isEnded) return;
        for (const one of details) {
          const row = this.rows.get(one.dialog);
          if (row) this.rows.set(one.dialog, { ...row, ...one, model: one.model || row.model, cost: one.cost || row.cost });
        }
        for (const name of names) this.redraw(name);
        this.sum();
        this.fillChoices();
        if (!this.waiting.size && this.dependsOnDetails()) this.draw();
      }
    } catch (problem) {
      if (problem.status !== 404 && !this.isEnded) this.app.fail(problem);
    } finally {
      this.isFilling = false;
    }
  }

  /** Whether details decide which dialogs are shown, and where. */
  dependsOnDetails() {
    const { sort, model, words } = this.fields;
    return Boolean(model || words || LATER.has(sort));
  }

  nextWaiting() {
    const visible = [...this.elements.entries()].filter(([name, element]) => this.waiting.has(name) && isVisible(element)).map(([name]) => name);
    return (visible.length ? visible : [...this.waiting]).slice(0, 50);
  }

  // The frame

  drawFrame() {
    this.live = liveSign();
    this.shown = el("span.dim", { id: "shown", role: "status" });
    const changed = () => this.changed();
    const input = (name, label, options = {}) => el("input", { name, "aria-label": label, placeholder: label, value: this.fields[name] ?? "", type: "search", ...options });
    this.project = el("select", { name: "project", "aria-label": "Project", onchange: changed }, el("option", { value: "" }, "all projects"));
    this.model = el("select", { name: "model", "aria-label": "Model", onchange: changed }, el("option", { value: "" }, "all models"));
    this.form = el("form.filters-list", { onsubmit: (event) => { event.preventDefault(); this.searchContents(); } },
      input("words", "filter: words in title, project, model", { oninput: changed }),
      input("text", "search all messages and results"), el("button", { type: "submit" }, "search"),
      this.project, this.model,
      el("label", {}, el("input", { type: "checkbox", name: "errors", checked: Boolean(this.fields.errors), onchange: changed }), " has errors"),
      el("select", { name: "since", "aria-label": "Since", onchange: changed }, SINCE.map(([days, text]) =>
        el("option", { value: days, selected: (this.fields.since ?? "") === days }, text))));
    document.getElementById("top").replaceChildren(
      el("div.line-1", {}, el("h1", {}, "Dialogs"), this.shown, this.live,
        el("a", { href: "/docs" }, "API"), button("?", async () => (await import("./help.js")).show(), { "aria-label": "Keys" })),
      el("div.line-2", {}, this.form));
    this.heads = el("div.dialog-heads", { role: "row" }, el("span", { role: "columnheader" }, el("span.visually-hidden", {}, "choose")),
      COLUMNS.map(([name]) => el("span", { role: "columnheader", class: TEXTS.has(name) ? "" : "number", data: { name } }, button("", () => this.sortBy(name)))));
    this.body = el("div.dialog-body", { role: "presentation" });
    this.sums = el("div.sums", { role: "status" });
    this.results = el("div.hits", { hidden: true });
    document.getElementById("page").replaceChildren(el("main", { id: "main", tabindex: "-1", class: "list" },
      this.results, el("div.table", { role: "table", "aria-label": "Dialogs" }, this.heads, this.body), this.sums));
    this.observer = new IntersectionObserver(() => this.fillDetails(), { rootMargin: "200px" });
    this.listeners = new AbortController();
    addEventListener("scroll", () => this.fillDetails(), { passive: true, signal: this.listeners.signal });
    addEventListener("keydown", (event) => this.keyed(event), { signal: this.listeners.signal });
  }

  keyed(event) {
    if (event.target.closest?.(FIELDS) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (areOff() && event.key !== "?") return;
    const rows = [...this.body.querySelectorAll(".dialog-row a")];
    const at = rows.indexOf(document.activeElement);
    if (event.key === "j" || event.key === "k") rows[Math.max(at + (event.key === "j" ? 1 : -1), 0)]?.focus();
    else if (event.key === "/") this.form.elements.words.focus();
    else if (event.key === "x" && at >= 0) rows[at].closest(".dialog-row").querySelector("input").click();
    else if (event.key === "?") import("./help.js").then((help) => help.show());
    else return;
    event.preventDefault();
  }

  fillChoices() {
    const fill = (select, name) => {
      const values = [...new Set([...this.rows.values()].map((row) => row[name]).filter(Boolean))].sort();
      if ([...select.options].slice(1).map((option) => option.value).join("\n") === values.join("\n")) return;
      select.replaceChildren(select.options[0], ...values.map((value) => el("option", { value, selected: this.fields[name] === value }, value)));
    };
    fill(this.project, "project");
    fill(this.model, "model");
  }

  changed() {
    const values = Object.fromEntries(new FormData(this.form));
    this.fields = { ...this.fields, ...values, errors: values.errors ? "1" : undefined };
    note(Object.fromEntries(Object.entries(this.fields).map(([key, value]) => [key, value || undefined])));
    this.draw();
  }

  // Rows

  wanted() {
    const { words = "", project, model, errors, since } = this.fields;
    const parts = words.toLowerCase().split(/\s+/).filter(Boolean);
    const oldest = since ? Date.now() - Number(since) * 86400000 : 0;
    return [...this.rows.values()].filter((row) => {
      const text = `${row.label} ${row.dialog} ${row.project ?? ""} ${row.folder ?? ""} ${row.model ?? ""}`.toLowerCase();
      return parts.every((part) => text.includes(part)) && (!project || row.project === project) &&
        (!model || row.model === model) && (!errors || row.errors > 0) && (!oldest || Date.parse(row.ended) >= oldest);
    });
  }

  draw() {
    const { sort = "ended", reverse } = this.fields;
    const value = Object.hasOwn(VALUES, sort) ? VALUES[sort] : VALUES.ended;
    const direction = (TEXTS.has(sort) ? 1 : -1) * (reverse ? -1 : 1);
    const rows = this.wanted().sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) * direction);
    for (const [name, label] of COLUMNS) {
      const head = this.heads.querySelector(`[data-name=${name}]`);
      head.setAttribute("aria-sort", name !== sort ? "none" : direction > 0 ? "ascending" : "descending");
      head.firstChild.textContent = label + (name !== sort ? "" : direction > 0 ? " ↑" : " ↓");
    }
    this.keepFocus(() => {
      this.sections.length = Math.ceil(rows.length / SIZE);
      for (let at = 0; at < this.sections.length; at++) {
        this.sections[at] ??= el("div.dialog-section", { role: "rowgroup" });
        setChildren(this.sections[at], rows.slice(at * SIZE, (at + 1) * SIZE).map((row) => this.element(row)));
      }
      const nothing = this.rows.size ? "No dialog fits these filters." : "No dialogs yet: `tract import` brings some.";
      setChildren(this.body, this.sections.length ? this.sections : [el("p.dim", { role: "row" }, el("span", { role: "cell" }, nothing))]);
    });
    const more = this.cursor ? " so far, loading the rest" : "";
    this.shown.textContent = rows.length === this.rows.size
      ? counted(rows.length, "dialog") + more : `${rows.length} of ${counted(this.rows.size, "dialog")}${more}`;
    this.sum();
  }

  sortBy(name) {
    const { sort = "ended", reverse } = this.fields;
    this.fields = { ...this.fields, sort: name, reverse: sort === name && !reverse ? "1" : undefined };
    note({ sort: name, reverse: this.fields.reverse });
    this.draw();
  }

  element(row) {
    const known = this.elements.get(row.dialog);
    if (known?.row === row) return known;
    const isChosen = this.chosen.has(row.dialog);
    const cell = (text, name = "number", title) => el(`span.${name}`, { role: "cell", title }, text);
    const element = el("div.dialog-row", { role: "row", data: { dialog: row.dialog } },
      el("span", { role: "cell" }, el("input", { type: "checkbox", checked: isChosen, "aria-label": `choose ${row.label}`, onchange: (event) => this.choose(row.dialog, event.target.checked) })),
      el("span.label", { role: "cell" }, el("a", { href: this.href(row.dialog), onclick: (event) => this.openRow(event, row) }, row.label),
        row.parent ? el("span.dim", {}, " sub-agent") : null),
      cell(row.project ?? "", "text", row.folder), cell(row.model_label || row.model || "", "text", row.model),
      cell((row.messages ?? row.commits).toLocaleString("en")), cell(short(row.tokens)),
      cell(row.sent ? short(row.sent) : ""), cell(row.cached === undefined || row.cached === null ? "" : `${row.cached} %`),
      cell(costOf(row, this.waiting.has(row.dialog)), "number", row.unpriced ? `the price of ${counted(row.unpriced, "answer")} is not known` : undefined),
      cell(row.errors ? String(row.errors) : "", "number error"), cell(ago(row.ended), "number", new Date(row.ended).toLocaleString("en-GB")));
    element.row = row;
    this.elements.set(row.dialog, element);
    return element;
  }

  href(dialog, more = {}) {
    return `#${format({ dialog, ...more })}`;
  }

  openRow(event, row) {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go({ dialog: row.dialog });
  }

  redraw(name) {
    const row = this.rows.get(name);
    const old = this.elements.get(name);
    if (!row || !old?.isConnected) return;
    this.keepFocus(() => old.replaceWith(this.element(row)));
  }

  /** Draw so that the row with the focus has it afterwards, too. */
  keepFocus(change) {
    const focus = document.activeElement;
    const name = focus.closest?.(".dialog-row")?.dataset.dialog;
    change();
    if (name !== undefined && document.activeElement !== focus) this.elements.get(name)?.querySelector(focus.tagName)?.focus({ preventScroll: true });
  }

  // Sums

  choose(name, isChosen) {
    this.chosen[isChosen ? "add" : "delete"](name);
    this.sum();
  }

  /** The totals of the dialogs that are chosen, side by side. */
  sum() {
    const rows = [...this.chosen].map((name) => this.rows.get(name)).filter(Boolean);
    if (!rows.length) return this.sums.replaceChildren();
    const total = (name) => rows.reduce((sum, row) => sum + (VALUES[name]?.(row) > 0 ? VALUES[name](row) : 0), 0);
    const dollars = total("cost");
    this.sums.replaceChildren(
      el("p", {}, el("b", {}, `${rows.length} chosen: `), [counted(total("messages"), "message"), `${short(total("tokens"))} tokens`,
        `${short(total("sent"))} sent`, `$${dollars.toFixed(2)}`, counted(total("errors"), "error")].join(" · "), " ",
      button("compare", () => this.compare(rows)), button("none", () => { this.chosen.clear(); this.elements.clear(); this.draw(); })));
  }

  compare(rows) {
    const lines = COLUMNS.slice(1).map(([name, label]) => el("tr", {}, el("th", { scope: "row" }, label), rows.map((row) =>
      el("td", {}, name === "cost" ? row.cost ?? "" : name === "ended" ? new Date(row.ended).toLocaleString("en-GB") : String((TEXTS.has(name) ? row[name] : VALUES[name](row)) ?? "")))));
    const dialog = el("dialog", { "aria-label": "Compare dialogs" }, el("h2", {}, counted(rows.length, "dialog")),
      el("div.scroll", {}, el("table", {}, el("thead", {}, el("tr", {}, el("th"), rows.map((row) => el("th", { scope: "col" }, row.label)))), el("tbody", {}, lines))),
      el("p", {}, button("Close", () => dialog.close())));
    document.body.append(dialog);
    dialog.addEventListener("close", () => dialog.remove());
    dialog.showModal();
  }

  // Search in contents

  async searchContents() {
    const text = this.form.elements.text.value;
    note({ text: text || undefined });
    this.fields = { ...this.fields, text };
    this.results.hidden = !text;
    if (!text) return this.results.replaceChildren();
    this.results.replaceChildren(el("p.dim", {}, "Searching …"));
    try {
      const found = await api.get("/api/search", { text, limit: 100, project: this.fields.project, errors: this.fields.errors ? "true" : undefined });
      this.drawHits(text, found);
    } catch (problem) {
      this.results.replaceChildren(el("p.problem", {}, problem.message));
    }
  }

  drawHits(text, found) {
    const count = found.next ? `the newest ${found.items.length} hits` : counted(found.items.length, "hit");
    this.results.replaceChildren(el("h2", {}, `${count} for “${visible(text)}”`), found.note ? el("p.dim", {}, found.note) : "",
      el("ol", {}, found.items.map((hit) => el("li", {},
        el("a", { href: this.href(hit.dialog, { commit: hit.commit_hash, find: text }) },
          this.rows.get(hit.dialog)?.label ?? visible(hit.dialog)),
        el("span.dim", {}, ` ${[hit.role, visible(hit.name ?? "")].filter(Boolean).join(" · ")} `), visible(hit.snippet)))),
      button("close", () => { this.form.elements.text.value = ""; this.searchContents(); }));
  }
}

/** The money. Tokens have columns of their own, so that an unknown price is just that. */
function costOf(row, isWaiting) {
  if (row.cost?.startsWith("$")) return row.cost;
  return row.unpriced ? "?" : isWaiting ? "…" : "";
}

function isVisible(element) {
  if (!element.isConnected) return false;
  const box = element.getBoundingClientRect();
  return box.bottom > 0 && box.top < innerHeight;
}
