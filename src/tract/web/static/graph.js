// The commits of all branches, with the lines between them, and what can be done with branches.

import { go } from "./address.js";
import { button, clock, el, short, svg, visible } from "./dom.js";

const ROW = 26;
const COLUMN = 16;

export async function open(page, container) {
  const view = new GraphTab(page, container);
  await view.draw();
  return view;
}

class GraphTab {
  constructor(page, container) {
    this.page = page;
    this.container = container;
    this.width = 1;
  }

  async draw() {
    this.list = el("ol.graph");
    this.main = el("main", { tabindex: "-1", class: "tab" }, el("div.tab-head", {}, el("h2", {}, "Branches and commits")), this.branches(), this.list);
    this.container.replaceChildren(this.main);
    await this.load();
  }

  branches() {
    const { data } = this.page;
    return el("ul.branches", {}, Object.entries(data.branches).map(([name, head]) => el("li", {},
      el("b", {}, visible(name)), el("span.dim", {}, ` ${(head ?? "empty").slice(0, 10)} `),
      name === data.checked_out ? el("span.note", {}, "checked out ") : null,
      button("view", () => go({ dialog: this.page.name, branch: name })),
      button("compare", () => this.page.openTab("compare", { old: name, new: data.branch })),
      data.is_writable && name !== data.checked_out ? button("check out", () => this.change("checkout", name)) : null,
      data.is_writable && name !== data.checked_out && name !== data.branch ? button("delete", () => this.change("delete", name)) : null)));
  }

  async change(what, name) {
    const changes = await import("./changes.js");
    await changes.changeBranch(this.page, what, name);
  }

  async load(cursor) {
    const answer = await this.page.get("/view/graph", { cursor, limit: 200 });
    for (const item of answer.items) this.width = Math.max(this.width, item.column + 1, ...item.lines.flat().map((one) => one + 1));
    this.list.append(...answer.items.map((item) => this.item(item)));
    for (const drawing of this.list.querySelectorAll("svg")) drawing.style.width = `${this.width * COLUMN}px`;
    if (answer.next) {
      const more = button("Show older commits", () => { more.remove(); this.load(answer.next); }, { class: "more" });
      this.main.append(more);
    }
  }

  item(item) {
    const x = (column) => column * COLUMN + COLUMN / 2;
    const drawing = svg("svg", { height: ROW, "aria-hidden": "true" },
      ...item.lines.map(([from, to]) => svg("path", { d: `M${x(from)} ${ROW / 2} C${x(from)} ${ROW} ${x(to)} ${ROW / 2} ${x(to)} ${ROW * 1.5}`, class: `g${from % 6}` })),
      svg("circle", { cx: x(item.column), cy: ROW / 2, r: 4, class: `g${item.column % 6}` }));
    drawing.style.overflow = "visible";
    return el("li", { data: { commit: item.commit } }, drawing,
      el("a.hash", { href: this.page.href(item.commit) }, item.commit.slice(0, 10)),
      ...item.branches.map((name) => el("span.branch", {}, visible(name))),
      el("span.what", {}, item.what), el("span.text", {}, item.text),
      el("span.dim.number", {}, `${short(item.tokens)} t`), el("span.dim", {}, clock(item.time)),
      el("span.buttons", {}, button("at", () => go({ dialog: this.page.name, branch: this.page.branch, at: item.commit }), { title: "Show the dialog as it was at this commit" }),
        button("compare", () => this.page.openTab("compare", { old: item.commit, new: this.page.branch }))));
  }
}
