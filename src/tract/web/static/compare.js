// Two moments or branches side by side: as messages, or as requests.

import { build, button, counted, el, short, visible } from "./dom.js";

const KINDS = { "": "messages", anthropic: "Anthropic requests", openai: "OpenAI Chat requests", responses: "OpenAI Responses requests", gemini: "Gemini requests" };
const MOST_OPEN = 4;

export async function open(page, container) {
  const view = new CompareTab(page, container);
  await view.draw();
  return view;
}

class CompareTab {
  constructor(page, container) {
    const { fields } = page;
    this.page = page;
    this.container = container;
    this.kind = fields.provider ?? "";
    const [old, latest] = fields.commit && !fields.old ? this.neighbours(fields.commit) : [fields.old, fields.new];
    this.old = old ?? this.otherBranch();
    this.new = latest ?? page.branch;
  }

  /** What the answer at a commit was given to, and the answer before it. */
  neighbours(commit) {
    const { rows, places } = this.page.sections;
    let at = places.get(commit) ?? 0;
    while (at < rows.length && rows[at]?.role !== "assistant") at++;
    let before = at - 1;
    while (before >= 0 && rows[before]?.role !== "assistant") before--;
    return [rows[before] && `${rows[before].key}^`, rows[at] ? `${rows[at].key}^` : this.page.branch];
  }

  otherBranch() {
    const { branches, branch } = this.page.data;
    return Object.keys(branches).find((name) => name !== branch) ?? branch;
  }

  async draw() {
    const names = Object.keys(this.page.data.branches);
    const choices = el("datalist", { id: "moments" }, names.map((name) => el("option", { value: name })));
    const field = (name, label) => el("label", {}, `${label} `, el("input", { type: "text", name, value: this[name] ?? "", list: "moments", size: "24", "aria-label": `${label}: a branch or a commit` }));
    const form = el("form.tab-head", { onsubmit: (event) => { event.preventDefault(); this.choose(form); } },
      el("h2", {}, "Compare"), field("old", "old"), field("new", "new"), choices,
      el("select", { name: "provider", "aria-label": "As" }, Object.entries(KINDS).map(([value, label]) => el("option", { value, selected: value === this.kind }, `as ${label}`))),
      el("button", { type: "submit" }, "compare"),
      el("span.dim", {}, "a branch, a commit, or HASH^ for what an answer was given to"));
    this.main = el("main", { tabindex: "-1", class: "tab" }, form, el("p.waiting", {}, "Loading …"));
    this.container.replaceChildren(this.main);
    const params = { old: this.old, new: this.new, provider: this.kind || undefined };
    try {
      const data = await this.page.get("/view/comparison", params);
      this.main.replaceChildren(form, this.sums(data), this.pairs(data, params));
    } catch (problem) {
      this.main.replaceChildren(form, el("p.problem", {}, problem.message));
    }
  }

  choose(form) {
    const { old, new: latest, provider } = Object.fromEntries(new FormData(form));
    this.page.openTab("compare", { old, new: latest, provider });
  }

  sums(data) {
    const line = (name, label) => el("tr", {}, el("th", { scope: "row" }, label),
      ...["old", "new"].map((side) => el("td.number", {}, data[side][name].toLocaleString("en"))),
      el("td.number", {}, difference(data.new[name] - data.old[name])));
    const counts = {};
    for (const pair of data.pairs) counts[pair.kind] = (counts[pair.kind] ?? 0) + 1;
    return el("div", {}, el("table.sums-table", {}, el("thead", {}, el("tr", {}, el("td"), el("th", { scope: "col" }, visible(short8(this.old))), el("th", { scope: "col" }, visible(short8(this.new))), el("th", { scope: "col" }, "difference"))),
      el("tbody", {}, line("messages", "messages"), line("tokens", "tokens"), line("tool_tokens", "of these for tools"))),
    el("p", {}, ["same", "changed", "added", "removed"].filter((kind) => counts[kind]).map((kind) => `${counts[kind].toLocaleString("en")} ${kind}`).join(" · ") || "nothing to compare",
      data.tools ? ` · tools: ${data.tools}` : ""));
  }

  pairs(data, params) {
    const list = el("ol.units");
    let opened = 0;
    for (let at = 0; at < data.pairs.length; at++) {
      const pair = data.pairs[at];
      if (pair.kind === "same") {
        let end = at;
        while (data.pairs[end + 1]?.kind === "same") end++;
        list.append(this.same(data.pairs.slice(at, end + 1)));
        at = end;
        continue;
      }
      const details = this.pair(pair, params);
      list.append(el(`li.pair-${pair.kind}`, {}, details));
      if (opened++ < MOST_OPEN) details.open = true;
    }
    return list;
  }

  same(pairs) {
    if (pairs.length === 1) return el("li.dim", {}, `same: ${pairs[0].label}`);
    return el("li.dim", {}, el("details", {}, el("summary", {}, `${counted(pairs.length, "part")} the same: ${pairs[0].label} … ${pairs.at(-1).label}`),
      el("ul", {}, pairs.map((pair) => el("li", {}, pair.label)))));
  }

  pair(pair, params) {
    const details = el("details", {}, el("summary", {}, el("b", {}, pair.kind), ` ${pair.label}`));
    details.addEventListener("toggle", async () => {
      if (!details.open || details.dataset.loaded) return;
      details.dataset.loaded = "1";
      const body = await this.page.get("/view/difference", { ...params, old_unit: pair.old ?? undefined, new_unit: pair.new ?? undefined });
      details.append(...build(body.nodes));
    });
    return details;
  }
}

const short8 = (name) => name.replace(/^([0-9a-f]{10})[0-9a-f]{54}/, "$1");
const difference = (number) => (number > 0 ? `+${number.toLocaleString("en")}` : number.toLocaleString("en"));
