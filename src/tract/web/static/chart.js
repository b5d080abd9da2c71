// The strip: one column for each request, stacked by what fills the context.

import { clock, counted, el, short, svg } from "./dom.js";

const HEIGHT = 84;
const MOST_COLUMNS = 420;
const KINDS = ["system", "tools", "summaries", "text", "arguments", "thinking", "results"];
const ABOVE = ["cached", "written", "error"];

/** Draw the chart of a dialog above its conversation. */
export async function drawChart(page) {
  const chart = new Chart(page);
  await chart.load();
  return chart;
}

class Chart {
  constructor(page) {
    this.page = page;
  }

  async load() {
    this.data = await this.page.get("/view/chart");
    this.byCommit = new Map(this.data.requests.map((request, at) => [request.commit, at]));
    this.draw();
  }

  refresh() {
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.page.isEnded || this.load().catch(() => {}), 800);
  }

  /** The request that a row is part of: its own if it is an answer, or else the next one. */
  requestOf(number) {
    const { rows } = this.page.sections;
    for (let at = number; at < rows.length; at++) {
      const found = this.byCommit.get(rows[at]?.key);
      if (found !== undefined) return found;
    }
    return this.data.requests.length - 1;
  }

  total(request) { return request.tokens.reduce((sum, one) => sum + one, 0); }

  draw() {
    const { requests, epochs } = this.data;
    const strip = this.page.strip;
    if (!requests.length) {
      strip.replaceChildren(el("p.dim", {}, "No requests yet."));
      strip.classList.remove("expected");
      return;
    }
    const step = Math.max(Math.ceil(requests.length / MOST_COLUMNS), 1);
    const columns = [];
    for (let start = 0; start < requests.length; start += step) columns.push([start, Math.min(start + step, requests.length)]);
    const most = Math.max(...requests.map((request) => this.total(request)), 1);
    const peak = requests.findIndex((request) => this.total(request) === most);
    const drawing = svg("svg", {
      viewBox: `0 0 ${columns.length} ${HEIGHT}`, preserveAspectRatio: "none", role: "group",
      "aria-label": `Context per request: ${counted(requests.length, "request")}, at most ${short(most)} tokens`,
    });
    const shapes = new Map(); // one for each kind: a shape in each column would be thousands
    const groups = columns.map(([start, end], at) => this.column(at, start, end, most, (kind, left, top, width, height) =>
      shapes.set(kind, `${shapes.get(kind) ?? ""}M${left} ${top}h${width}v${height}h${-width}z`)));
    const kinds = [...KINDS, ...ABOVE].filter((kind) => shapes.has(kind));
    drawing.append(...kinds.map((kind) => svg(`path.part-${kind}`, { d: shapes.get(kind) })), ...groups);
    drawing.lastElementChild.setAttribute("tabindex", "0");
    drawing.addEventListener("keydown", (event) => this.keyed(event));
    drawing.addEventListener("focusin", (event) => this.focused(event.target));
    for (const epoch of epochs) {
      const at = Math.min(epoch.request, requests.length - 1) / step;
      drawing.append(svg(`line.epoch${epoch.is_undone ? ".undone" : ""}`, { x1: at, x2: at, y1: 0, y2: HEIGHT, "vector-effect": "non-scaling-stroke" }, svg("title", {}, epoch.words)));
    }
    const cost = requests.some((request) => request.cost) ? this.page.facts?.pairs.find(([name]) => name === "Cost")?.[1] : "";
    strip.replaceChildren(
      el("p.legend", {}, el("span", {}, `${counted(requests.length, "request")}, peak ${short(most)} tokens at request ${peak + 1}`),
        ...this.legend().map(([kind, tokens]) => el("span", {}, el(`i.part-${kind}`), ` ${kind} ${tokens}`)),
        requests.some((request) => request.recorded?.cached) ? el("span", {}, el("i.part-cached"), " read from the cache ", el("i.part-written"), " written to it") : "",
        epochs.length ? el("span", {}, el("i.part-epoch"), ` ${counted(epochs.length, "epoch")}`) : "",
        cost ? el("span", {}, cost) : ""),
      drawing, el("p.tip", { "aria-hidden": "true" }));
  }

  legend() {
    const last = this.data.requests.at(-1);
    const sums = this.sums(last);
    return KINDS.filter((kind) => sums[kind]).map((kind) => [kind, short(sums[kind])]);
  }

  sums(request) {
    const sums = {};
    this.data.parts.forEach((part, at) => { sums[part.kind] = (sums[part.kind] ?? 0) + request.tokens[at]; });
    return sums;
  }

  /** A column leads to the answer of its largest request. `put` gets what is to be drawn. */
  column(at, start, end, most, put) {
    const part = this.data.requests.slice(start, end);
    const request = part.reduce((best, one) => (this.total(one) > this.total(best) ? one : best));
    const sums = this.sums(request);
    const group = svg("g.column", {
      tabindex: "-1", role: "button", onclick: () => this.page.goTo(request.commit),
    });
    group.append(svg("title", {}, this.words(request, start)), svg("rect.hit", { x: at, y: 0, width: 1, height: HEIGHT }));
    let top = HEIGHT;
    for (const kind of KINDS) {
      if (!sums[kind]) continue;
      const height = (sums[kind] / most) * (HEIGHT - 6);
      top -= height;
      put(kind, at + 0.06, top, 0.88, height);
    }
    const { recorded } = request;
    if (recorded) {
      const share = (tokens) => Math.min(tokens / Math.max(recorded.sent, 1), 1) * (HEIGHT - top);
      const [read, written] = [share(recorded.cached), share(recorded.written)];
      put("cached", at + 0.06, HEIGHT - read, 0.3, read);
      put("written", at + 0.06, HEIGHT - read - written, 0.3, written);
    }
    if (part.some((one) => one.errors)) put("error", at, 0, 1, 4);
    return group;
  }

  /** One column can be reached with Tab; arrows lead to the others, Enter to the answer. */
  keyed(event) {
    const columns = [...event.currentTarget.querySelectorAll(".column")];
    const at = columns.indexOf(event.target);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: columns.length - 1 }[event.key];
    if (event.key === "Enter" || event.key === " ") event.target.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    else if (to === undefined) return;
    else columns[Math.min(Math.max(to, 0), columns.length - 1)].focus();
    event.preventDefault();
    event.stopPropagation();
  }

  focused(column) {
    for (const other of column.parentNode.querySelectorAll("[tabindex='0']")) other.setAttribute("tabindex", "-1");
    column.setAttribute("tabindex", "0");
    this.page.strip.querySelector(".tip").textContent = column.querySelector("title").textContent.replaceAll("\n", " · ");
  }

  words(request, number) {
    const parts = this.data.parts.map((part, at) => [part, request.tokens[at]]).filter(([, tokens]) => tokens)
      .sort((a, b) => b[1] - a[1]).slice(0, 8).map(([part, tokens]) => `${part.tool && part.kind === "results" ? `${part.tool} results` : part.kind} ${short(tokens)}`);
    const { recorded } = request;
    return [
      `request ${number + 1}${request.time ? `, ${clock(request.time)}` : ""}: ${short(this.total(request))} tokens`,
      ...parts,
      recorded ? `recorded: ${short(recorded.sent)} sent, ${short(recorded.cached)} from the cache, ${short(recorded.written)} written` : "",
      request.cache && `cache: ${request.cache}`, request.cost,
    ].filter(Boolean).join("\n");
  }
}
