// Where everything begins: the token, the address, and which view it names.

import { go, here, note, quote } from "./address.js";
import { dialogPath, get, Problem, token } from "./api.js";
import { button, el } from "./dom.js";
import { watchFocus } from "./focus.js";

const root = document.documentElement;
let view = null;
let kind = "";
let turns = 0;
const SAID_MS = 10000;

function setState(state) {
  root.dataset.state = state;
  if (state === "useful" || state === "ready") performance.mark(state);
}

/** Take the token out of the address: it stays in this browser, and out of its history. */
function takeToken() {
  const fields = here();
  if (fields.token === undefined) return;
  token.set(fields.token);
  const { token: _, ...rest } = fields;
  history.replaceState(null, "", location.pathname);
  note(rest);
}

/** Say what went wrong. A refused token is asked for. */
export function fail(problem) {
  const alerts = document.getElementById("alerts");
  if (problem instanceof Problem && problem.status === 401) {
    if (!alerts.querySelector("form")) alerts.replaceChildren(askToken(problem.message)); // somebody may be typing
  } else {
    alerts.replaceChildren(el("p.problem", {}, problem.message ?? String(problem), " ",
      button("Try again", () => { alerts.replaceChildren(); show(true); }),
      button("Close", () => alerts.replaceChildren())));
  }
  if (!(problem instanceof Problem)) console.error(problem);
}

function askToken(reason) {
  const field = el("input", { type: "password", autocomplete: "off", "aria-label": "Token", size: "40" });
  return el("form.problem", {
    onsubmit: (event) => {
      event.preventDefault();
      token.set(field.value.trim());
      document.getElementById("alerts").replaceChildren();
      show(true);
    },
  }, el("label", {}, `${reason} `, field), " ", el("button", { type: "submit" }, "Use this token"),
  el("p.dim", {}, "The server prints a link with its token when it starts; `tract token add` makes others."));
}

/** Say something that is no problem. */
export function say(text, ...actions) {
  const news = document.getElementById("news");
  const line = el("p", {}, text, " ", ...actions, button("×", () => line.remove(), { "aria-label": "Close" }));
  news.replaceChildren(line);
  if (!actions.length) setTimeout(() => line.remove(), SAID_MS);
}

export const app = { fail, say, setState, go };

/** What a view shows first: the first rows, or some around those of a link. */
function fetchFirst(fields) {
  if (fields.dialog === undefined) return get("/api/view/dialogs", { limit: 200 });
  const { at, commit, call, branch } = fields;
  const count = commit || call ? 75 : 25;
  return get(dialogPath(fields.dialog, "/view"), { at, commit, call, count }, branch === undefined ? {} : { "tract-branch": quote(branch) });
}

async function show(isAgain = false) {
  const fields = here();
  const wanted = fields.dialog === undefined ? "list" : "dialog";
  const turn = ++turns; // a later one wins, also while this one waits
  try {
    if (view && kind === wanted && !isAgain && await view.turn(fields)) return;
    if (turn !== turns) return;
    view?.end();
    view = null;
    setState("loading");
    kind = wanted;
    const first = fetchFirst(fields); // while the scripts of the view are loaded
    first.catch(() => {});
    const module = await import(wanted === "list" ? "./dialogs.js" : "./dialog.js");
    const data = await first;
    if (turn !== turns) return;
    view = module.open(app, fields);
    await view.begin(data);
  } catch (problem) {
    if (turn !== turns) return;
    setState("failed");
    fail(problem);
  }
}

// What is scrolled to stays below the bar at the top.
new ResizeObserver(([entry]) => {
  const isFixed = getComputedStyle(entry.target).position === "sticky";
  root.style.setProperty("--top", isFixed ? `${Math.ceil(entry.target.getBoundingClientRect().height)}px` : "8px");
}).observe(document.getElementById("top"));

addEventListener("unhandledrejection", (event) => {
  if (!(event.reason instanceof Problem)) return;
  event.preventDefault();
  fail(event.reason);
});
addEventListener("address", () => show());
addEventListener("popstate", () => { takeToken(); show(); });
document.getElementById("skip").addEventListener("click", () => document.getElementById("main")?.focus());
watchFocus();
takeToken();
show();
