// Changes: each asks once, says what it does to the tokens, is one commit, and can be undone.

import { go, here } from "./address.js";
import { Problem, segment } from "./api.js";
import { button, counted, el, visible } from "./dom.js";

const FORMS = { full: "in full", truncated: "the beginning", reference: "a preview and a reference", summary: "a summary", collapsed: "one line in its call" };

/** Ask for a change of some messages, and make it. */
export function change(page, name, keys) {
  if (!keys.length) return page.app.say("Choose a message first.");
  const rows = keys.map((key) => rowOf(page, key)).filter(Boolean);
  switch (name) {
    case "edit": return editRow(page, rows[0]);
    case "pin": return prioritize(page, rows, "pinned");
    case "skip": return prioritize(page, rows, "skip");
    case "reshape": return reshape(page, rows);
    case "compress": return compress(page, rows);
    case "restore": return restore(page, rows);
    case "branch": return branch(page, rows[0]);
  }
}

function rowOf(page, key) {
  return page.sections.rows[page.sections.places.get(key)];
}

const commitOf = (one) => one.commit || one.key;
const resultsOf = (row) => (row.entries ?? []).map((entry) => entry.result).filter(Boolean);

function prioritize(page, rows, priority) {
  const word = priority === "pinned" ? "pinned" : "skipped";
  const areSo = rows.every((row) => (row.note ?? "").includes(word));
  const wanted = areSo ? "normal" : priority;
  const words = { pinned: "Pin", skip: "Skip", normal: areSo && priority === "pinned" ? "Unpin" : "Show again" }[wanted];
  return ask(page, words, `${words} ${counted(rows.length, "message")}?`, "annotate", { commit: rows.map((row) => row.key), priority: wanted });
}

function restore(page, rows) {
  const names = rows.flatMap((row) => [row, ...resultsOf(row)]).filter((one) => one.is_changed).map((one) => one.key);
  if (!names.length) return page.app.say("There is nothing to undo here.");
  return ask(page, "Restore", `Undo every change to ${counted(names.length, "message")}?`, "restore", { names });
}

function reshape(page, rows) {
  const results = rows.flatMap(resultsOf);
  if (!results.length) return page.app.say("This message has no tool results.");
  const choice = el("select", { "aria-label": "Form" }, Object.entries(FORMS).filter(([form]) => form !== "summary").map(([value, text]) => el("option", { value, selected: value === "reference" }, `${value}: ${text}`)));
  const argumentsOf = () => ({ forms: Object.fromEntries(results.map((result) => [commitOf(result), choice.value])) });
  return ask(page, "Reshape", `Show ${counted(results.length, "result")} to the model as`, "reshape", argumentsOf, [choice]);
}

function compress(page, rows) {
  const content = el("textarea", { "aria-label": "Summary", rows: "8", placeholder: "The summary. Leave it empty to compress only the tool calls, with an outline that tract makes." });
  const keys = rows.flatMap((row) => [row.key, ...resultsOf(row).map((result) => result.key)]);
  const note = rows.length === 1 ? "Mark several messages (m) to compress them together. " : "";
  const operation = () => (content.value.trim() ? "compress" : "compress_tool_calls");
  const calls = rows.filter((row) => resultsOf(row).length).flatMap((row) => [row.key, ...resultsOf(row).map((result) => result.key)]);
  const argumentsOf = () => (content.value.trim() ? { commits: keys, content: content.value } : { commits: calls });
  const isReady = () => content.value.trim() || calls.length;
  return ask(page, "Compress", `${note}Replace ${counted(keys.length, "message")} by a summary.`, operation, argumentsOf, [content], isReady, keys);
}

// Asking

/** A question with a preview of the tokens before and after. `keys` are the messages that it is about,
 * where the arguments do not name all of them. */
function ask(page, title, question, operation, args, controls = [], isReady = () => true, keys = undefined) {
  const nameOf = () => (typeof operation === "function" ? operation() : operation);
  const argumentsOf = () => (typeof args === "function" ? args() : args);
  const effect = el("p.note", { role: "status" }, "…");
  const yes = el("button", { type: "submit" }, title);
  const form = el("form", { method: "dialog", onsubmit: (event) => { event.preventDefault(); carryOut(); } },
    el("h2", {}, title), el("p", {}, question), ...controls, effect,
    el("p.buttons", {}, yes, button("Cancel", () => dialog.close())));
  const dialog = el("dialog", { "aria-label": title }, form);
  const seen = lookAt(page, keys ?? argumentsOf());
  let timer = 0;
  let asked = 0;
  async function preview() {
    const number = ++asked;
    if (!isReady()) {
      effect.textContent = "Write a summary first.";
      yes.disabled = true;
      return;
    }
    try {
      const effects = await page.post("/preview", { operation: nameOf(), arguments: argumentsOf() });
      if (number !== asked) return;
      effect.textContent = words(effects);
      yes.disabled = false;
    } catch (problem) {
      if (number !== asked) return;
      effect.textContent = problem.message;
      yes.disabled = problem.status === 422;
    }
  }
  const stop = () => { clearTimeout(timer); asked++; };
  async function carryOut() {
    yes.disabled = true;
    stop();
    try {
      await write(page, title.toLowerCase(), nameOf(), argumentsOf(), seen);
      dialog.close();
    } catch (problem) {
      effect.textContent = problem.isConflict ? `${problem.message} ${controls.length ? "What you entered is still here: copy it if you need it, then close" : "Close"} this, look again, and repeat it.` : problem.message;
      yes.disabled = problem.isConflict;
    }
  }
  for (const control of controls) control.addEventListener("input", () => {
    stop();
    effect.textContent = "…";
    timer = setTimeout(preview, 300);
  });
  show(dialog);
  dialog.addEventListener("close", stop);
  preview();
}

function words(seen) {
  const by = seen.before ? Math.round(((seen.after - seen.before) / seen.before) * 100) : 0;
  const tokens = `${seen.before.toLocaleString("en")} → ${seen.after.toLocaleString("en")} tokens (${by > 0 ? "+" : ""}${by} %)`;
  const messages = seen.messages_before === seen.messages_after ? "" : `, ${seen.messages_before} → ${seen.messages_after} messages`;
  return `A request then has ${tokens}${messages}.${seen.note ? ` ${seen.note}` : ""}`;
}

function show(dialog) {
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
}

// Writing

const PATHS = {
  annotate: "/marks", restore: "/restore", reshape: "/reshape", compress: "/compress",
  compress_tool_calls: "/compress-tool-calls", reword: "/reword",
};

/** Write on the branch as this page knows it. If it has grown meanwhile and the messages look as
 * they were `seen`, that is no conflict: the page catches up and tries again. */
async function write(page, what, operation, body, seen = lookAt(page, body)) {
  for (;;) {
    if (!seen.isSame()) throw new Problem(409, "", "Nothing was written: this was changed elsewhere in the meantime.");
    const { head } = page;
    try {
      const made = await page.post(PATHS[operation], body, { "tract-expected": head ?? "" });
      await page.catchUp();
      noteDone(page, what, made);
      return made;
    } catch (problem) {
      if (!problem.isConflict) throw problem;
      await page.catchUp();
      if (page.head === head) throw problem;
    }
  }
}

/** How the messages look that a change names: another page may change them. */
function lookAt(page, about) {
  const names = JSON.stringify(about);
  const isAbout = (one) => names.includes(one.key) || (one.commit && names.includes(one.commit));
  const keys = page.sections.rows.filter((row) => row && [row, ...resultsOf(row)].some(isAbout)).map((row) => row.key);
  const look = () => JSON.stringify(keys.map((key) => rowOf(page, key)).map((row) => row?.key && [row.key, row.commit, row.note, row.text, resultsOf(row).map((one) => [one.key, one.commit, one.note, one.form])]));
  const before = look();
  return { isSame: () => look() === before };
}

function noteDone(page, what, made) {
  const commits = made?.commit_hash ? [made.commit_hash] : (made?.summaries ?? []).map((one) => one.commit_hash);
  if (!commits.length) return page.app.say("Nothing was changed.");
  const done = { what, commits };
  page.done.push(done);
  page.side?.show(page.current());
  const message = made.message ? ` (${visible(made.message)})` : "";
  page.app.say(`Done: ${what}${message}.`, button("undo", () => undoDone(page, done)));
}

export async function undoDone(page, done) {
  try {
    if (done.undo) await done.undo();
    else await write(page, `undo ${done.what}`, "restore", { names: done.commits });
    page.done = page.done.filter((one) => one !== done && !one.what.startsWith(`undo ${done.what}`));
    page.app.say(`Undone: ${done.what}.`);
    page.side?.show(page.current());
  } catch (problem) {
    page.app.fail(problem);
  }
}

/** Undo a commit that is not this page's own. */
export function undo(page, commit, what) {
  return ask(page, "Undo", `Undo “${what}”?`, "restore", { names: [commit] });
}

// Editing

function editRow(page, row) {
  const entry = (row.entries ?? []).find((one) => one.kind === "text") ?? (row.entries ?? [])[0];
  return edit(page, { commit: row.key, block: entry?.block ?? 0 });
}

/** Edit one block as a text. */
export async function edit(page, part) {
  let source;
  try {
    source = await page.get("/view/text", { commit: part.commit, block: part.block });
  } catch (problem) {
    return page.app.fail(problem);
  }
  const field = el("textarea", { "aria-label": "Text", spellcheck: "false" });
  field.value = source.text;
  const argumentsOf = () => ({ commit: source.commit, block: part.block, text: field.value });
  return ask(page, "Edit", "The original stays stored; the model is sent the new text.", "reword", argumentsOf, [field]);
}

// Branches

function branch(page, row) {
  const name = el("input", { type: "text", "aria-label": "Name", required: true, placeholder: "name of the branch" });
  const problem = el("p.note", { role: "status" });
  const form = el("form", {
    onsubmit: async (event) => {
      event.preventDefault();
      try {
        await page.post("/branches", { name: name.value, at: row.key });
        dialog.close();
        const before = here();
        go({ dialog: page.name, branch: name.value });
        setTimeout(() => page.app.say(`Branch ${visible(name.value)} ends at ${row.key.slice(0, 10)}.`, // when the old page is gone
          button("undo", async () => {
            go(before); // nobody looks at it when it is deleted
            await page.post(`/branches/${segment(name.value)}`, {}, {}, "DELETE");
          })));
      } catch (error) {
        problem.textContent = error.message;
      }
    },
  }, el("h2", {}, "Branch"), el("p", {}, `A new branch that ends at ${row.key.slice(0, 10)}. Nothing else changes.`), name, problem,
  el("p.buttons", {}, el("button", { type: "submit" }, "Branch"), button("Cancel", () => dialog.close())));
  const dialog = el("dialog", { "aria-label": "Branch" }, form);
  show(dialog);
}

/** Check a branch out, or delete it. */
export async function changeBranch(page, what, name) {
  const question = what === "checkout" ? `Continue the dialog on ${visible(name)}? Agents then write there.` : `Delete the branch ${visible(name)}? Its commits stay until gc.`;
  const before = page.data.checked_out;
  const head = page.data.branches[name];
  const form = el("form", {
    onsubmit: async (event) => {
      event.preventDefault();
      dialog.close();
      try {
        if (what === "checkout") await page.post("/checkout", { name });
        else await page.post(`/branches/${segment(name)}`, {}, {}, "DELETE");
        const back = what === "checkout"
          ? () => page.post("/checkout", { name: before })
          : () => page.post("/branches", { name, at: head });
        page.app.say(what === "checkout" ? `${visible(name)} is checked out.` : `${visible(name)} is deleted.`,
          button("undo", async () => {
            await back();
            await page.readBranches();
            page.app.say(`Undone: ${visible(name)}.`);
          }));
        await page.readBranches();
      } catch (problem) {
        page.app.fail(problem);
      }
    },
  }, el("p", {}, question), el("p.buttons", {}, el("button", { type: "submit" }, what === "checkout" ? "Check out" : "Delete"), button("Cancel", () => dialog.close())));
  const dialog = el("dialog", { "aria-label": what }, form);
  show(dialog);
}
