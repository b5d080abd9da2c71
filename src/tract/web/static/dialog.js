// One dialog: its conversation, the index of prompts, and what stands around them.

import { format, go, link, note, parse, quote } from "./address.js";
import * as api from "./api.js";
import { drawBody, VIEWS } from "./bodies.js";
import { button, counted, el, liveSign, setLive, visible } from "./dom.js";
import { Finder } from "./find.js";
import { bindKeys } from "./keys.js";
import { Sections } from "./sections.js";

const TABS = { "": "Conversation", request: "Request", compare: "Compare", graph: "Graph" };
const FORMS = ["full", "truncated", "reference", "summary", "collapsed"];
const FILTERS = ["role", "tool", "form", "errors"];
const LOOK = ["branch", "at", "view", "find", ...FILTERS];
const ROLES = ["system", "user", "assistant", "tool"];

export function open(app, fields) {
  return new Dialog(app, fields);
}

class Dialog {
  constructor(app, fields) {
    this.app = app;
    this.name = fields.dialog;
    this.fields = fields;
    this.view = Object.hasOwn(VIEWS, fields.view) ? fields.view : "kept";
    this.sections = new Sections(this);
    this.done = [];
    this.isFollowing = false;
    this.unseen = 0;
  }

  // Requests

  /** The headers that say which branch is read and changed. */
  get headers() {
    return this.branch === undefined ? {} : { "tract-branch": quote(this.branch) };
  }

  get(rest, params = {}, signal = undefined) {
    return api.get(api.dialogPath(this.name, rest), { ...this.moment(rest), ...params }, this.headers, signal);
  }

  blob(rest, params) {
    return api.blob(api.dialogPath(this.name, rest), { ...this.moment(rest), ...params }, this.headers);
  }

  /** The commit that the dialog is shown at, for what is not about others. */
  moment(rest) {
    return /^\/view(?!\/(comparison|difference|graph))/.test(rest) ? { at: this.fields.at } : {};
  }

  post(rest, body, headers = {}, method = "POST") {
    return api.post(api.dialogPath(this.name, rest), body, { ...this.headers, ...headers }, method);
  }

  get canChange() {
    return Boolean(this.data?.is_writable && !this.data.detached);
  }

  // Opening

  async begin(data) {
    const { commit, call } = this.fields;
    history.scrollRestoration = "manual"; // the address says where one is
    this.data = { ...data, prompts: [] };
    this.branch = this.data.branch;
    this.head = this.data.head;
    document.title = `${this.data.label} · tract`;
    this.drawFrame();
    this.sections.begin(this.data);
    if (this.data.spot) this.goTo(this.data.spot.key, true);
    else if (commit || call) this.app.say(`${visible(commit ?? call)} is not on this branch.`);
    await frame();
    if (this.isEnded) return;
    this.app.setState("useful");
    this.stopKeys = bindKeys(this);
    if (!this.data.detached) this.listen();
    this.loadPrompts();
    await this.fill();
    if (this.isEnded) return;
    this.app.setState("ready");
    this.drawMore();
    if (this.fields.tab) await this.showTab(this.fields.tab);
    if (this.fields.find) this.finder.search(this.fields.find, this.data.spot?.key);
  }

  end() {
    this.isEnded = true;
    history.scrollRestoration = "auto";
    this.stopListening?.();
    this.stopKeys?.();
    this.sections.end();
    this.tab?.end?.();
    document.getElementById("top").replaceChildren();
    document.getElementById("page").replaceChildren();
    document.getElementById("news").replaceChildren();
  }

  /** The address changed. Returns whether this view can show it without starting again. */
  async turn(fields) {
    const stays = ["dialog", "branch", "at"].every((key) => (fields[key] ?? "") === (this.fields[key] ?? ""));
    if (!stays || !this.data) return false;
    const before = this.fields;
    this.fields = fields;
    const differs = (name) => (fields[name] ?? "") !== (before[name] ?? "");
    if ((fields.view ?? "kept") !== this.view) this.setView(Object.hasOwn(VIEWS, fields.view) ? fields.view : "kept");
    if (FILTERS.some(differs)) this.drawFilters();
    if (differs("find")) this.finder.search(fields.find ?? "");
    if ((fields.tab ?? "") !== (before.tab ?? "") || fields.tab) await this.showTab(fields.tab ?? "");
    if (fields.commit && !fields.tab) await this.goTo(fields.commit, true);
    else if (fields.call && !fields.tab) await this.goToCall(fields.call);
    return true;
  }

  async fill() {
    this.filling ??= this.sections.fill().finally(() => { this.filling = null; });
    return this.filling;
  }

  /** Some rows; null if the dialog has changed meanwhile, and is read again. */
  async fetchRows(params) {
    const answer = await this.get("/view/rows", params);
    if (answer.head === this.head) return answer;
    await this.catchUp();
    return null;
  }

  // The frame

  drawFrame() {
    const { data } = this;
    this.title = el("h1", {}, data.label);
    this.finder = new Finder(this);
    this.views = el("fieldset.views", { "aria-label": "Which form of the messages" },
      Object.entries(VIEWS).map(([value, label]) => el("label", {},
        el("input", { type: "radio", name: "view", value, checked: value === this.view, onchange: () => this.setView(value, true) }), label)));
    this.tabs = el("nav.tabs", { "aria-label": "Views" }, Object.entries(TABS).map(([value, label]) =>
      button(label, () => this.openTab(value), { "aria-current": value === "" ? "page" : "false", data: { tab: value } })));
    this.live = liveSign();
    this.prompts = el("nav.prompts.drawer", { "aria-label": "Prompts" });
    this.panel = el("aside.panel.drawer", { "aria-label": "At this point" });
    this.openers = new Map([this.prompts, this.panel].map((drawer) =>
      [drawer, button(drawer.getAttribute("aria-label"), () => this.toggleDrawer(drawer), { "aria-expanded": "false" })]));
    this.drawers = el("div.openers", {}, ...this.openers.values());
    document.getElementById("top").replaceChildren(
      el("div.line-1", {}, el("a", { href: "#", onclick: (event) => { event.preventDefault(); go({}); } }, "‹ Dialogs"),
        this.title, this.live, button("?", () => this.help(), { "aria-label": "Keys", title: "Keys" })),
      el("div.line-2", {}, this.tabs, this.where = this.drawBranches(), this.drawers, this.views, this.finder.element),
    );
    this.strip = el("section.strip.expected", { "aria-label": "Context of each request" });
    this.other = el("div.other-tab", { hidden: true });
    this.main = el("main", { id: "main", tabindex: "-1", class: `view-${this.view}` },
      this.sections.element, el("p.end", {}, "End of the conversation."));
    this.main.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) this.setCurrent(row);
    });
    this.filters = el("div.filters.expected");
    this.columns = el("div.columns", {}, this.prompts, this.main, this.panel);
    for (const part of [this.columns, this.other]) part.addEventListener("click", (event) => this.follow(event));
    document.getElementById("page").replaceChildren(this.strip, this.filters, this.columns, this.other);
    this.drawPrompts();
  }

  drawBranches() {
    const { data } = this;
    const choose = el("select", { "aria-label": "Branch", onchange: () => go({ dialog: this.name, branch: choose.value }) },
      Object.keys(data.branches).map((name) => el("option", { value: name, selected: name === data.branch },
        visible(name) + (name === data.checked_out ? " (checked out)" : ""))));
    const at = data.detached
      ? el("span.note", {}, ` at ${(data.head ?? "").slice(0, 10)} `, button("newest", () => go({ dialog: this.name, branch: this.branch })))
      : null;
    return el("span.where", {}, choose, at);
  }

  /** Read again which branches there are. */
  async readBranches() {
    const { branches, checked_out } = await this.get("/view", { count: 1 });
    if (this.isEnded) return;
    Object.assign(this.data, { branches, checked_out });
    const old = this.where;
    this.where = this.drawBranches();
    old.replaceWith(this.where);
    if (this.fields.tab === "graph") await this.showTab("graph");
  }

  drawPrompts() {
    const { prompts } = this.data;
    const items = prompts.map((prompt) => el("li", {},
      el("a", { href: this.href(prompt.key), data: { key: prompt.key } }, prompt.title),
      prompt.calls || prompt.errors ? el("span.dim", {}, [
        prompt.calls ? counted(prompt.calls, "call") : "",
        prompt.errors ? counted(prompt.errors, "error") : "",
      ].filter(Boolean).join(", ")) : null));
    this.prompts.replaceChildren(el("h2", {}, "Prompts"),
      prompts.length ? el("ol", {}, items) : el("p.dim", {}, "No prompts."));
    this.markPrompt(this.sections.firstVisible());
  }

  async loadPrompts() {
    const answer = await this.get("/view/rows", { known: this.head ?? "0", count: 1 }).catch(() => null);
    if (!answer || this.isEnded) return;
    this.data.prompts = answer.prompts;
    this.drawPrompts();
  }

  /** What is not needed for the first look. */
  async drawMore() {
    try {
      this.facts = await this.get("/view/facts");
      if (this.isEnded) return;
      this.drawFilters();
      const [{ drawChart }, { Panel }] = await Promise.all([import("./chart.js"), import("./panel.js")]);
      if (this.isEnded) return;
      this.side = new Panel(this);
      this.chart = await drawChart(this);
      this.side.show(this.current());
    } catch (problem) {
      if (!this.isEnded) this.app.fail(problem);
    }
  }

  // Filters

  drawFilters() {
    if (!this.facts) return;
    const pick = (name, label, values) => el("label", {}, `${label} `,
      el("select", { name, onchange: () => this.filter() }, el("option", { value: "" }, "all"),
        values.map(([value, text]) => el("option", { value, selected: this.fields[name] === value }, text ?? value))));
    this.form = el("form", { "aria-label": "Filters", onsubmit: (event) => event.preventDefault() },
      pick("role", "role", ROLES.map((role) => [role])),
      pick("tool", "tool", Object.entries(this.facts.tools).map(([name, count]) => [name, `${name} (${count})`])),
      pick("form", "form", FORMS.map((form) => [form])),
      el("label", {}, el("input", { type: "checkbox", name: "errors", checked: Boolean(this.fields.errors), onchange: () => this.filter() }), " errors only"),
      el("label", {}, el("input", { type: "checkbox", name: "thinking", checked: true, onchange: (event) => this.main.classList.toggle("no-thinking", !event.target.checked) }), " thinking"),
      button("unfold", () => this.unfoldAll(true)), button("fold", () => this.unfoldAll(false)),
      this.filtered = el("span.dim", { id: "filtered", role: "status" }));
    this.filters.replaceChildren(this.form);
    if (this.sections.predicate || FILTERS.some((name) => this.fields[name])) this.filter();
  }

  filter() {
    const values = Object.fromEntries(new FormData(this.form));
    const { role, tool, form, errors } = values;
    this.note({ role, tool, form, errors: errors ? "1" : undefined });
    const tests = [
      role && ((row) => row.role === role || (role === "tool" && (row.entries ?? []).some((e) => e.result))),
      tool && ((row) => (row.entries ?? []).some((entry) => entry.name === tool)),
      form && ((row) => (row.entries ?? []).some((entry) => entry.result && (entry.result.form ?? "full") === form)),
      errors && ((row) => (row.entries ?? []).some((entry) => entry.result?.is_error)),
    ].filter(Boolean);
    const shown = this.sections.filter(tests.length ? (row) => tests.every((test) => test(row)) : null);
    const total = this.sections.rows.length;
    this.filtered.textContent = tests.length
      ? `${shown.toLocaleString("en")} of ${counted(total, "row")}${this.sections.isLazy ? " (of those that are loaded)" : ""}` : "";
  }

  /** Open or close what is near: everything at once would be thousands of requests. */
  unfoldAll(isOpen) {
    for (const number of this.sections.near) {
      for (const line of this.sections.sections[number]?.querySelectorAll(`.fold[aria-expanded=${!isOpen}]`) ?? []) line.click();
    }
  }

  setView(view, isOwn = false) {
    this.view = view;
    if (isOwn) this.note({ view: view === "kept" ? undefined : view });
    for (const input of this.views.querySelectorAll("input")) input.checked = input.value === view;
    this.sections.hold(() => {
      this.main.className = `view-${view}${this.main.classList.contains("no-thinking") ? " no-thinking" : ""}`;
      for (const line of this.main.querySelectorAll(".reshaped > .fold[aria-expanded=true]")) line.parentElement.unfold();
    });
  }

  // Bodies and places

  open(container, part) { return drawBody(container, part, this); }
  hold(change) { this.sections.hold(change); }
  noteOpen(box, isOpen, spot) { this.sections.noteOpen(box, isOpen, spot); }
  target(element) { this.sections.target(element); }

  href(commit, more = {}) {
    const { branch, at } = this.fields;
    return `#${format({ dialog: this.name, branch, at, commit, ...more })}`;
  }

  /** How one looks at the dialog, wherever in it one is. */
  get look() {
    return Object.fromEntries(LOOK.map((name) => [name, this.fields[name]]));
  }

  /** Note in the address what is shown. */
  note(fields) {
    this.fields = { ...this.fields, ...fields };
    note(fields);
  }

  /** Follow a link inside of the dialog: one looks at it as before. */
  follow(event) {
    const anchor = event.target.closest("a[href^='#']");
    if (!anchor || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const fields = parse(anchor.hash);
    if (fields.dialog !== this.name) return;
    event.preventDefault();
    this.closeDrawers();
    go({ ...this.look, ...fields });
  }

  copyLink(more) {
    const url = link({ dialog: this.name, ...this.look, ...more });
    navigator.clipboard.writeText(url).then(() => this.app.say("Link copied."), () => this.app.say(url));
  }

  chooseLines(part, number, isRange) {
    const start = isRange && this.lines ? Number(String(this.lines).split("-")[0]) : number;
    this.lines = start === number ? String(number) : `${Math.min(start, number)}-${Math.max(start, number)}`;
    this.note({ commit: part.commit, call: undefined, lines: this.lines, block: part.isResult ? undefined : part.block });
    this.sections.held = null;
  }

  /** Go to a message. If the address names it, also to the call and the lines that it names. */
  async goTo(name, isNamed = false) {
    const { element, key } = await this.reach(name);
    if (!element) return this.app.say(`${visible(name.slice(0, 10))} is not on this branch.`);
    const { call, block, lines } = isNamed ? this.fields : {};
    const boxes = [...element.querySelectorAll(".tool")];
    const box = boxes.find((one) => call && one.dataset.call === call) ?? boxes.find((one) => one.dataset.commit === key && key !== element.dataset.key);
    const part = box ?? [...element.querySelectorAll("[data-block]")].find((one) => lines && one.dataset.block === block);
    this.target(part ?? element);
    await part?.unfold?.(lines ? { line: Number(lines.split("-")[0]), lines, isCall: !box && Boolean(part.dataset.call) } : {});
  }

  async goToCall(id) {
    const found = await this.locate({ call: id });
    if (!found.spot) return this.app.say(`There is no call ${visible(id)} on this branch.`);
    this.sections.put(found.start, found.rows);
    await this.goTo(found.spot.key, true);
  }

  /** The rows around a message; asked for again if the dialog has changed meanwhile. */
  async locate(params) {
    const found = await this.get("/view", params);
    if (found.head === this.head) return found;
    await this.catchUp();
    return this.get("/view", params);
  }

  /** The key and the row of a message or a result, in the page and marked; none if it is not on
   * this branch. */
  async reach(name) {
    let key = name;
    let element = this.sections.rowElement(name);
    if (!element) {
      const found = await this.locate({ commit: name });
      if (!found.spot) return {};
      this.sections.put(found.start, found.rows);
      key = found.spot.key;
      element = this.sections.rowElement(key);
    }
    for (const old of this.main.querySelectorAll(".target")) old.classList.remove("target");
    element.hidden = false;
    element.closest("section").hidden = false;
    element.classList.add("target");
    this.setCurrent(element);
    return { element, key };
  }

  // The current row

  current() {
    return this.currentRow?.isConnected ? this.currentRow : this.sections.firstVisible();
  }

  setCurrent(element) {
    this.currentRow?.classList.remove("current");
    this.currentRow = element;
    element?.classList.add("current");
    this.side?.show(element);
  }

  row(element) {
    const number = this.sections.places.get(element?.dataset.key);
    return number === undefined ? null : this.sections.rows[number];
  }

  /** One has scrolled to another place. */
  moved(element) {
    if (!element || !this.data) return;
    this.markPrompt(element);
    if (!this.currentRow?.isConnected) this.side?.show(element);
    if (this.isAtEnd()) this.sawAll();
  }

  /** Say in the index where one is. */
  markPrompt(element) {
    const number = this.sections.places.get(element?.dataset.key) ?? 0;
    let prompt = null;
    for (const one of this.data.prompts) if (one.row <= number) prompt = one;
    for (const old of this.prompts.querySelectorAll("[aria-current]")) old.removeAttribute("aria-current");
    const item = prompt && this.prompts.querySelector(`a[data-key="${prompt.key}"]`);
    item?.setAttribute("aria-current", "true");
    if (item) keepInView(this.prompts, item);
  }

  // Live

  isAtEnd() {
    return innerHeight + scrollY >= document.documentElement.scrollHeight - 60;
  }

  listen() {
    const params = () => ({ after: this.head ?? undefined });
    this.stopListening = api.listen(api.dialogPath(this.name, "/events"), params, (kind, data) => {
      if (kind === "deleted") this.isGone();
      else if (kind === "commit" && data.branch === this.branch) this.catchUpSoon();
      else if (kind === "commit" && !(data.branch in this.data.branches)) this.readBranches();
    }, (isLive, problem) => {
      setLive(this.live, isLive);
      if (isLive) this.catchUpSoon();
      else if (problem?.status === 404) this.isGone(problem);
      else if (problem?.status === 401) this.app.fail(problem);
    });
  }

  /** Nothing will come any more. What was read stays in the page. */
  isGone(problem = new api.Problem(404, "", "This dialog was deleted.")) {
    this.stopListening?.();
    setLive(this.live, false);
    this.app.fail(problem);
  }

  catchUpSoon() {
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.catchUp().catch((problem) => { if (!this.isEnded && problem.status) this.app.fail(problem); }), 60);
  }

  /** Read what is new, and draw what differs; once more if there is something newer by then. */
  catchUp() {
    this.isBehind = true;
    this.catching ??= (async () => {
      while (this.isBehind && !this.isEnded) {
        this.isBehind = false;
        await this.readNews();
      }
    })().finally(() => { this.catching = null; });
    return this.catching;
  }

  async readNews() {
    const answer = await this.get("/view/rows", { known: this.head ?? "0", count: 250 });
    if (this.isEnded || answer.head === this.head) return;
    if (!answer.head) return this.isGone();
    const rest = [];
    for (let start = answer.start + answer.rows.length; start < answer.total; start += 250) {
      const more = await this.get("/view/rows", { start, count: 250 });
      if (this.isEnded || more.head !== answer.head) return this.catchUp();
      rest.push(...more.rows);
    }
    const wasAtEnd = this.isAtEnd();
    const before = this.sections.rows.length;
    this.head = answer.head;
    this.data.head = answer.head;
    this.data.prompts = answer.prompts ?? this.data.prompts;
    this.sections.hold(() => {
      this.sections.resize(answer.total);
      this.sections.put(answer.start, [...answer.rows, ...rest]);
    });
    this.drawPrompts();
    this.chart?.refresh();
    this.side?.show(this.current());
    const added = answer.total - before;
    if (wasAtEnd && !this.sections.hasTarget) this.sections.goToEnd();
    else if (added > 0) this.tellNew(added);
  }

  /** Say how many messages are new, politely and where one can go to them. */
  tellNew(added) {
    this.unseen += added;
    this.newest ??= button("", () => {
      this.sections.goToEnd();
      this.sawAll();
    }, { class: "newest", "aria-live": "polite" });
    this.newest.textContent = `↓ ${counted(this.unseen, "new row")}`;
    this.main.append(this.newest);
  }

  sawAll() {
    this.unseen = 0;
    this.newest?.remove();
  }

  // Drawers: what stands beside the conversation, in a window that is too narrow for it

  /** Open or close one of them; in a wide window, go to it. */
  toggleDrawer(drawer) {
    const isOpen = drawer.contains(document.activeElement) || (drawer.classList.contains("open") && this.openers.get(drawer).checkVisibility());
    this.closeDrawers();
    if (isOpen) return;
    drawer.classList.add("open");
    this.openers.get(drawer).setAttribute("aria-expanded", "true");
    drawer.querySelector("a, button, summary")?.focus();
  }

  /** The focus goes back to where they are opened. */
  closeDrawers() {
    for (const [drawer, opener] of this.openers) {
      if (drawer.contains(document.activeElement)) (opener.checkVisibility() ? opener : this.current() ?? this.main).focus({ preventScroll: true });
      drawer.classList.remove("open");
      opener.setAttribute("aria-expanded", "false");
    }
  }

  // Other views, loaded when they are wanted

  openTab(tab, more = {}) {
    go({ dialog: this.name, ...this.look, tab, ...more });
  }

  async showTab(name) {
    this.tab?.end?.();
    this.tab = null;
    for (const one of this.tabs.children) one.setAttribute("aria-current", one.dataset.tab === name ? "page" : "false");
    const isConversation = !name || !Object.hasOwn(TABS, name);
    const isBeside = document.getElementById("top").contains(document.activeElement);
    for (const part of [this.strip, this.filters, this.columns, this.views, this.finder.element, this.drawers]) part.hidden = !isConversation;
    this.other.hidden = isConversation;
    if (isConversation) {
      this.other.replaceChildren();
      this.sections.settle();
      if (!isBeside) (this.current() ?? this.main).focus({ preventScroll: true });
      return;
    }
    if (!isBeside && !this.other.contains(document.activeElement)) document.activeElement.blur();
    try {
      const module = await import(`./${name}.js`);
      this.tab = await module.open(this, this.other);
      if (document.activeElement === document.body) this.other.querySelector("main").focus({ preventScroll: true });
    } catch (problem) {
      this.app.fail(problem);
    }
  }

  async showTools(row) {
    this.side?.showTools(row);
  }

  async undo(commit, what) {
    (await import("./changes.js")).undo(this, commit, what);
  }

  async edit(part) {
    (await import("./changes.js")).edit(this, part);
  }

  async help() {
    (await import("./help.js")).show();
  }
}

/** Scroll a list so that one of its items can be seen; nothing else moves. */
function keepInView(list, item) {
  const [outer, inner] = [list.getBoundingClientRect(), item.getBoundingClientRect()];
  if (inner.top < outer.top) list.scrollTop -= outer.top - inner.top + 8;
  else if (inner.bottom > outer.bottom) list.scrollTop += inner.bottom - outer.bottom + 8;
}

const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
