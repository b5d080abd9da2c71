// The panel: what is at one point of the dialog, and what can be changed there.

import { format } from "./address.js";
import { button, clock, counted, duration, el, short } from "./dom.js";

export class Panel {
  constructor(page) {
    this.page = page;
    this.marked = new Set();
  }

  /** Show what is at a row. */
  show(element) {
    const { page } = this;
    const row = page.row(element);
    this.row = row;
    const number = page.sections.places.get(row?.key) ?? 0;
    const parts = [el("h2", {}, "At this point")];
    if (row) parts.push(el("p", {}, el("b", {}, row.role || row.kind || ""), ` ${row.key.slice(0, 10)}`, row.note ? el("span.note", {}, ` ${row.note}`) : ""));
    parts.push(...this.request(number), this.tools(row), ...this.changes(row), ...this.facts());
    page.panel.replaceChildren(...parts);
  }

  request(number) {
    const chart = this.page.chart;
    if (!chart?.data.requests.length) return [];
    const at = chart.requestOf(number);
    const request = chart.data.requests[at];
    const total = chart.total(request);
    const parts = chart.data.parts.map((part, index) => [part, request.tokens[index]]).filter(([, tokens]) => tokens)
      .sort((a, b) => b[1] - a[1]);
    const shown = parts.slice(0, 7);
    const rest = parts.slice(7).reduce((sum, [, tokens]) => sum + tokens, 0);
    const line = (name, tokens, kind) => el("div.share", {},
      el("span", {}, name), el("span.number", {}, `${short(tokens)} · ${Math.round((tokens / Math.max(total, 1)) * 100)} %`),
      bar(kind, tokens / Math.max(total, 1)));
    const { recorded } = request;
    return [
      el("p.sum", {}, el("b", {}, `request ${at + 1} of ${chart.data.requests.length}: ${total.toLocaleString("en")} tokens`)),
      ...shown.map(([part, tokens]) => line(part.kind === "results" && part.tool ? `${part.tool} results` : part.kind, tokens, part.kind)),
      rest ? line("other", rest, "text") : null,
      recorded ? el("p", {}, `recorded: ${short(recorded.sent)} sent, ${short(recorded.cached)} from the cache, ${short(recorded.written)} written, ${short(recorded.answered)} answered`) : null,
      request.cache ? el("p.note", {}, `nothing from the cache: ${request.cache}`) : null,
      el("p.dim", {}, [request.time && clock(request.time), request.seconds && duration(request.seconds), request.cost].filter(Boolean).join(" · ")),
      el("p.buttons", {}, button("request", () => this.page.openTab("request", { commit: request.commit })),
        at > 0 ? button("difference to the one before", () => this.page.openTab("compare", { commit: request.commit })) : null),
    ].filter(Boolean);
  }

  // Tools

  tools(row) {
    const details = el("details.tools", {}, el("summary", {}, "Tools at this point"));
    details.addEventListener("toggle", () => { if (details.open) this.fillTools(details, row); });
    if (this.toolsAreOpen) details.open = true;
    return details;
  }

  showTools(row) {
    this.toolsAreOpen = true;
    this.show(this.page.sections.rowElement(row.key));
    if (!this.page.panel.classList.contains("open")) this.page.toggleDrawer(this.page.panel);
  }

  async fillTools(details, row) {
    this.toolsAreOpen = details.open;
    if (details.querySelector("ul")) return;
    const isMessage = row && (row.kind ?? "message") === "message";
    const set = await this.page.get("/view/tools", { commit: isMessage ? row.key : this.nextMessage(row) });
    const list = set.tools.map((tool) => el(`li${tool.state ? `.${tool.state}` : ""}`, { title: tool.description ?? "" },
      el("span", {}, `${{ added: "+ ", changed: "~ " }[tool.state] ?? ""}${tool.name}`),
      el("span.dim", {}, ` ${short(tool.tokens ?? 0)} t${tool.is_never_called ? ", never called" : ""}`),
      tool.changed?.length ? el("span.note", {}, ` ${tool.changed.join(", ")}`) : null));
    const idle = set.tools.filter((tool) => tool.is_never_called).length;
    details.append(
      el("p.dim", {}, set.tools.length ? `set ${set.number}: ${counted(set.tools.length, "tool")}, ${short(set.tokens)} tokens in every request${idle ? `, ${idle} never called` : ""}` : "No tools were recorded."),
      el("ul", {}, set.removed.map((name) => el("li.removed", {}, `− ${name}`)), list));
  }

  nextMessage(row) {
    const { rows, places } = this.page.sections;
    for (let at = places.get(row?.key) ?? 0; rows[at]; at++) if ((rows[at].kind ?? "message") === "message") return rows[at].key;
    return undefined;
  }

  // Changes

  changes(row) {
    const { page } = this;
    const isMessage = row && (row.kind ?? "message") === "message";
    const copy = button("copy link", () => page.copyLink({ commit: row?.key }));
    if (!page.data.is_writable || !isMessage) return row ? [el("p.buttons", {}, copy)] : [];
    const branch = button("branch here", () => this.act("branch"));
    if (page.data.detached) return [el("p.buttons", {}, branch, copy)];
    const names = ["edit", "pin", "skip", "reshape", "compress", "restore"];
    return [
      this.marked.size ? el("p.note", {}, `${counted(this.marked.size, "message")} marked `, button("none", () => this.unmark())) : null,
      el("p.buttons", { role: "group", "aria-label": "Change" },
        names.map((name) => button(name, () => this.act(name))), branch, button(this.marked.has(row.key) ? "unmark" : "mark", () => this.mark(page.sections.rowElement(row.key))), copy),
      page.done.length ? el("p.buttons", {}, button(`undo: ${page.done.at(-1).what}`, () => this.undoLast())) : null,
    ].filter(Boolean);
  }

  /** The messages that a change is about: the marked ones, or the current one. */
  keys() {
    return this.marked.size ? [...this.marked] : this.row ? [this.row.key] : [];
  }

  mark(element) {
    const key = element?.dataset.key;
    if (!key || !element.dataset.commit) return;
    const isMarked = !this.marked.has(key);
    this.marked[isMarked ? "add" : "delete"](key);
    element.classList.toggle("marked-row", isMarked);
    this.show(element);
  }

  unmark() {
    this.marked.clear();
    for (const one of this.page.main.querySelectorAll(".marked-row")) one.classList.remove("marked-row");
    this.show(this.page.current());
  }

  async act(name) {
    const { page } = this;
    this.row ??= page.row(page.current());
    if (!page.data.is_writable) return page.app.say("This token may only read.");
    if (page.data.detached && name !== "branch") return page.app.say("This is an earlier commit: branch here to change it.");
    const changes = await import("./changes.js");
    changes.change(page, name, this.keys());
  }

  async undoLast() {
    const last = this.page.done.at(-1);
    if (!last) return this.page.app.say("Nothing to undo on this page.");
    (await import("./changes.js")).undoDone(this.page, last);
  }

  // Facts

  facts() {
    const { facts } = this.page;
    if (!facts) return [];
    const related = (one) => el("a", { href: `#${format({ dialog: one.dialog })}` }, one.label);
    return [
      el("details", {}, el("summary", {}, "About the dialog"),
        el("dl.facts", {}, facts.pairs.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
        facts.parent ? el("p", {}, "started by ", related(facts.parent)) : null,
        facts.children.length ? el("div", {}, el("p", {}, "sub-agents"), el("ul", {}, facts.children.map((one) => el("li", {}, related(one))))) : null,
        facts.files.length ? el("details", {}, el("summary", {}, `${counted(facts.files.length, "file")} changed`), el("ul", {}, facts.files.map((file) => el("li", {}, file)))) : null),
    ];
  }
}

function bar(kind, share) {
  const line = el(`span.bar.part-${kind}`);
  line.style.width = `${Math.max(share * 100, 0.5)}%`;
  return line;
}
