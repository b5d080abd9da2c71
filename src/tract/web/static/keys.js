// Keys. Single letters work outside of fields, and can be switched off.

const OFF = "tract-keys-off";

export const KEYS = [
  ["j / k", "next / previous message"],
  ["Enter, o", "open or close the lines of a message"],
  ["n / p", "next / previous prompt"],
  ["e / E", "next / previous error"],
  ["g / G", "first / last message"],
  ["/", "find in the dialog; Enter and Shift+Enter go on"],
  ["v", "stored, sent, or both side by side"],
  ["a", "what is at this point: tools, tokens, changes"],
  ["r", "the request at this message"],
  ["c", "compare this message's request with the one before"],
  ["b", "the commit graph and the branches"],
  ["m", "mark the message, for a change of several"],
  ["i", "edit the message"],
  ["x", "skip it; P pins it; R restores it"],
  ["f", "choose the form of its results"],
  ["u", "undo the last change of this page"],
  ["l", "copy a link to the message"],
  ["Escape", "back to the conversation"],
  ["?", "this list"],
];

/** Where keys are somebody else's. */
export const FIELDS = "input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable], dialog";

/** The keys that mean something beside the conversation. */
const ELSEWHERE = new Set(["?", "b", "c", "r"]);

export const areOff = () => localStorage.getItem(OFF) === "1";
export const switchKeys = (isOff) => localStorage.setItem(OFF, isOff ? "1" : "0");

/** Listen for keys until the returned function is called. */
export function bindKeys(page) {
  const onkeydown = (event) => {
    const isField = event.target.closest?.(FIELDS);
    if (event.ctrlKey || event.metaKey || event.altKey || isField) return;
    if (event.key === "Escape") return page.fields.tab ? page.openTab("") : page.closeDrawers();
    if (areOff() && event.key !== "?") return;
    if (page.fields.tab && !ELSEWHERE.has(event.key)) return;
    const action = actions[event.key];
    if (!action || (event.key === "Enter" && event.target.closest?.("button, a, summary"))) return;
    event.preventDefault();
    action(page);
  };
  addEventListener("keydown", onkeydown);
  return () => removeEventListener("keydown", onkeydown);
}

const actions = {
  j: (page) => step(page, 1),
  k: (page) => step(page, -1),
  o: (page) => toggle(page),
  Enter: (page) => toggle(page),
  n: (page) => toPrompt(page, 1),
  p: (page) => toPrompt(page, -1),
  e: (page) => toError(page, 1),
  E: (page) => toError(page, -1),
  g: (page) => toRow(page, 0),
  G: (page) => toRow(page, page.sections.rows.length - 1),
  "/": (page) => page.finder.field.focus(),
  v: (page) => page.setView({ kept: "sent", sent: "both", both: "kept" }[page.view], true),
  a: (page) => page.toggleDrawer(page.panel),
  r: (page) => page.openTab("request", { commit: page.current()?.dataset.key }),
  c: (page) => page.openTab("compare", { commit: page.current()?.dataset.key }),
  b: (page) => page.openTab("graph"),
  m: (page) => page.side?.mark(page.current()),
  i: (page) => page.side?.act("edit"),
  x: (page) => page.side?.act("skip"),
  P: (page) => page.side?.act("pin"),
  R: (page) => page.side?.act("restore"),
  f: (page) => page.side?.act("reshape"),
  u: (page) => page.side?.undoLast(),
  l: (page) => page.copyLink({ commit: page.current()?.dataset.key }),
  "?": (page) => page.help(),
};

function numberOf(page) {
  return page.sections.places.get(page.current()?.dataset.key) ?? 0;
}

async function toRow(page, number) {
  const row = await page.sections.load(number);
  if (!row) return;
  const element = page.sections.rowElement(row.key);
  page.setCurrent(element);
  page.target(element);
  element.focus({ preventScroll: true });
}

async function step(page, by) {
  const isFirst = !page.currentRow?.isConnected;
  const { sections } = page;
  for (let at = numberOf(page) + (isFirst ? 0 : by); await sections.load(at); at += by) {
    const element = sections.rowElement(sections.rows[at].key);
    if (element && !element.hidden) return toRow(page, at);
  }
}

function toggle(page) {
  const lines = [...(page.current()?.querySelectorAll(".fold") ?? [])].filter((line) => line.offsetParent);
  const isOpen = lines.some((line) => line.getAttribute("aria-expanded") === "true");
  for (const line of lines) if ((line.getAttribute("aria-expanded") === "true") === isOpen) line.click();
}

function toPrompt(page, by) {
  const at = numberOf(page);
  const prompts = by > 0 ? page.data.prompts : [...page.data.prompts].reverse();
  const next = prompts.find((prompt) => (prompt.row - at) * by > 0);
  if (next) toRow(page, next.row);
  else page.app.say(by > 0 ? "There is no later prompt." : "There is no earlier prompt.");
}

async function toError(page, by) {
  for (let at = numberOf(page) + by, row; (row = await page.sections.load(at)); at += by) {
    if ((row.entries ?? []).some((entry) => entry.result?.is_error)) return toRow(page, at);
  }
  page.app.say(by > 0 ? "There is no later error." : "There is no earlier error.");
}
