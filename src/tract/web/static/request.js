// The request as a provider gets it: its parts, what was repaired, and what came from the cache.

import { go } from "./address.js";
import { build, button, bytes, counted, el } from "./dom.js";
import { drawLineParts } from "./bodies.js";

const PROVIDERS = { anthropic: "Anthropic Messages", openai: "OpenAI Chat", responses: "OpenAI Responses", gemini: "Gemini" };

export async function open(page, container) {
  const view = new RequestTab(page, container);
  await view.draw();
  return view;
}

class RequestTab {
  constructor(page, container) {
    this.page = page;
    this.container = container;
    this.provider = Object.hasOwn(PROVIDERS, page.fields.provider) ? page.fields.provider : "anthropic";
    this.commit = page.fields.commit;
  }

  /** What an answer was given to; of any other message, everything up to it. */
  get at() {
    if (!this.commit) return this.page.fields.at;
    const row = this.page.sections.rows[this.page.sections.places.get(this.commit)];
    return !row || row.role === "assistant" ? `${this.commit}^` : this.commit;
  }

  async draw() {
    const head = el("div.tab-head", {}, el("h2", {}, this.title()),
      el("label", {}, "provider ", el("select", { onchange: (event) => this.choose(event.target.value) },
        Object.entries(PROVIDERS).map(([value, label]) => el("option", { value, selected: value === this.provider }, label)))),
      this.commit ? button("newest request", () => this.page.openTab("request", { provider: this.provider })) : null,
      this.commit ? button("difference to the one before", () => this.page.openTab("compare", { commit: this.commit, provider: this.provider })) : null);
    this.main = el("main", { tabindex: "-1", class: "tab" }, head, el("p.waiting", {}, "Loading …"));
    this.container.replaceChildren(this.main);
    const data = await this.page.get("/view/request", { provider: this.provider, at: this.at });
    this.main.replaceChildren(head,
      el("p", {}, `${data.tokens.toLocaleString("en")} tokens, of these ${data.tool_tokens.toLocaleString("en")} for tools · ${counted(data.units.length, "part")}`,
        data.cache ? ` · ${data.cache.tokens.toLocaleString("en")} of ${data.cache.sent.toLocaleString("en")} tokens were read from the cache, as recorded` : ""),
      data.notes.length ? el("details.notes", { open: data.notes.length < 6 }, el("summary", {}, counted(data.notes.length, "repair")), el("ul", {}, data.notes.map((note) => el("li", {}, note)))) : el("p.dim", {}, "Nothing had to be repaired."),
      this.units(data));
  }

  title() {
    return this.commit ? `Request at ${this.commit.slice(0, 10)}` : "The next request";
  }

  choose(provider) {
    this.page.openTab("request", { provider, commit: this.commit });
  }

  units(data) {
    const list = el("ol.units");
    data.units.forEach((unit, number) => {
      if (data.cache?.tokens && data.cache.unit === number) list.append(el("li.rule", {}, "read from the cache up to here, by size"));
      list.append(this.unit(unit, number));
    });
    return list;
  }

  unit(unit, number) {
    const details = el("details", {}, el("summary", {}, el("b", {}, unit.label), el("span.dim", {}, ` ${bytes(unit.size)} `),
      unit.is_breakpoint ? el("span.note", {}, "cache breakpoint ") : null, el("span.hint", {}, unit.first)));
    details.addEventListener("toggle", async () => {
      if (!details.open || details.querySelector("pre")) return;
      const load = (line, column) => this.page.get("/view/unit", { provider: this.provider, at: this.at, unit: number, line, column });
      drawLineParts(details, await load(1, 0), load);
    });
    return el("li", {}, details);
  }
}
