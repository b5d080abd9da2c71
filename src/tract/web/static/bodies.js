// Bodies: what a block contains, fetched when it is opened; long ones in parts.

import { build, button, counted, el } from "./dom.js";

const BEFORE = 10;
const EARLIER = { lines: 300, columns: 40000 };
export const LONGEST_LINE = 4000; // as the server cuts them
export const VIEWS = { kept: "stored", sent: "sent", both: "both" };

/** Draw a body into a container. `part`: commit, block, sent, and from which line on. */
export async function drawBody(container, part, page) {
  const isReshaped = part.isResult && part.result.sent !== undefined && part.result.sent !== null;
  if (isReshaped) await drawReshaped(container, part, page, page.view);
  else await drawOne(container, { ...part, sent: part.isResult ? false : part.sent }, page);
}

/** A result of which the model is sent something else: stored, sent, or both side by side. */
async function drawReshaped(container, part, page, view) {
  const choice = el("div.choice", { role: "group", "aria-label": "Which form of this result" },
    Object.entries(VIEWS).map(([value, label]) => button(label, () => {
      box.remove();
      drawReshaped(container, part, page, value);
    }, { "aria-pressed": String(value === view) })));
  const box = el("div.reshaped-body", {}, choice);
  container.append(box);
  const sides = el(view === "both" ? "div.sides" : "div");
  box.append(sides);
  const wanted = { kept: [false], sent: [true], both: [false, true] }[view];
  await Promise.all(wanted.map((sent) => {
    const side = el("div.side-body", {}, view === "both" ? el("p.side", {}, sent ? "sent" : "stored") : null);
    sides.append(side);
    return drawOne(side, { ...part, sent }, page);
  }));
}

async function drawOne(container, part, page) {
  if (part.isResult && part.sent && part.result.sent === "") {
    container.append(el("p.file", {}, "nothing is sent"));
    return;
  }
  const waiting = el("p.waiting", {}, "Loading …");
  container.append(waiting);
  try {
    const body = await fetchBody(part, page);
    page.hold(() => {
      if (!container.isConnected) return;
      const box = el(`div.${part.isCall ? "arguments-box" : "content"}`);
      waiting.replaceWith(box);
      fill(box, body, part, page);
    });
  } catch (problem) {
    waiting.textContent = problem.message;
    waiting.className = "problem";
  }
}

/** A part of a body; `at` is a line and how many characters of it came before. */
function fetchPart(part, page, at) {
  return page.get("/view/body", { commit: part.commit, block: part.block, sent: part.sent || undefined, ...at });
}

/** The part of a body that has a line: it begins a little before it, unless that would be too much. */
async function fetchBody(part, page) {
  const wanted = { line: part.line || 1, column: (part.column ?? 0) - ((part.column ?? 0) % LONGEST_LINE) };
  const whole = part.isResult ? null : await fetchPart(part, page, { line: 1 });
  if (whole?.nodes) return whole;
  if (wanted.column) return fetchPart(part, page, wanted);
  const body = await fetchPart(part, page, { line: Math.max(wanted.line - BEFORE, 1), column: 0 });
  return body.next && !isBefore(wanted, placeOf(body.next)) ? fetchPart(part, page, wanted) : body;
}

const placeOf = ([line, column]) => ({ line, column });
const isBefore = (one, other) => one.line < other.line || (one.line === other.line && one.column < other.column);

function fill(box, body, part, page) {
  box.append(toolbar(box, body, part, page));
  if (body.nodes) box.append(...build(body.nodes, (attributes) => picture(attributes, part, page)));
  if (body.lines) drawLines(box, body, part, page);
  if (!body.nodes && !body.lines?.length) box.append(el("p.file", {}, part.isCall ? "no arguments" : "empty result"));
}

function toolbar(box, body, part, page) {
  const bar = el("div.bar-small");
  bar.append(button("copy", async (event) => {
    const { text } = await page.get("/view/text", { commit: part.commit, block: part.block, sent: part.sent || undefined });
    await navigator.clipboard.writeText(text);
    event.target.textContent = "copied";
  }), button("link", () => page.copyLink({ commit: part.commit })));
  if (body.is_json) bar.append(button("tree", (event) => showTree(box, event.target, part, page)));
  if (body.is_editable && page.canChange && !part.sent) bar.append(button("edit", () => page.edit(part)));
  return bar;
}

// Lines

function drawLines(box, body, part, page) {
  const code = el("pre.lines", { tabindex: "0", "aria-label": "content" });
  code.append(...body.lines.map((line) => drawLine(line, part, page)));
  box.append(code);
  if (body.lines.length) drawBefore(code, part, page);
  drawRest(box, code, body, part, page);
  const marked = part.lines && mark(code, part.lines);
  if (marked && !part.isAgain) page.target(marked);
}

/** A button for what comes before the first line that is shown. */
function drawBefore(code, part, page) {
  const { n, column } = code.querySelector(".ln").dataset;
  const first = { line: Number(n), column: Number(column) };
  if (first.line === 1 && !first.column) return;
  const before = button(first.column ? `Show more of line ${n}` : `Show the lines before ${n}`, async () => {
    const lines = [];
    for (let at = earlier(first); at && isBefore(at, first);) {
      const body = await fetchPart(part, page, at);
      lines.push(...body.lines.filter((line) => isBefore({ line: line.number, column: line.column }, first)));
      at = body.next && placeOf(body.next);
    }
    page.hold(() => {
      const height = code.scrollHeight;
      before.remove();
      code.prepend(...lines.map((line) => drawLine(line, part, page)));
      code.scrollTop += code.scrollHeight - height;
      drawBefore(code, part, page);
    });
  }, { class: "more" });
  code.before(before);
}

function earlier({ line, column }) {
  if (column) return { line, column: Math.max(column - EARLIER.columns, 0) };
  return { line: Math.max(line - EARLIER.lines, 1), column: 0 };
}

function drawRest(box, code, body, part, page) {
  if (!body.next) return;
  const left = body.total - body.next[0] + 1;
  const more = button(`Show more: ${counted(left, "line")} of ${body.total.toLocaleString("en")} left`, async () => {
    const next = await fetchPart(part, page, placeOf(body.next));
    more.remove();
    code.append(...next.lines.map((one) => drawLine(one, part, page)));
    drawRest(box, code, next, part, page);
  }, { class: "more" });
  box.append(more);
}

function drawLine(line, part, page) {
  const number = line.column ? "…" : String(line.number);
  const anchor = el("a.no", {
    href: page.href(part.commit, { block: part.isResult ? undefined : part.block, lines: line.number }),
    "aria-label": `line ${line.number}`,
    tabindex: "-1",
    onclick: (event) => {
      event.preventDefault();
      page.chooseLines(part, line.number, event.shiftKey);
      mark(event.target.closest("pre"), page.lines);
    },
  }, number);
  const pieces = line.pieces.map(([text, style]) => style ? el("span", { class: style }, text) : text);
  return el("span.ln", { data: { n: line.number, column: line.column } }, anchor, ...pieces, "\n");
}

/** Mark the lines that a link names. Returns the first. */
function mark(code, range) {
  const [first, last = first] = String(range).split("-").map(Number);
  for (const line of code.querySelectorAll(".ln")) {
    const number = Number(line.dataset.n);
    line.classList.toggle("marked", number >= first && number <= last);
  }
  return code.querySelector(".ln.marked");
}

/** Lines that are no message's, such as those of a request, a part at a time. */
export function drawLineParts(container, body, load) {
  const line = (one) => el("span.ln", {}, el("span.no", {}, one.column ? "…" : String(one.number)), ...one.pieces.map(([text, style]) => (style ? el("span", { class: style }, text) : text)), "\n");
  const code = container.querySelector("pre") ?? container.appendChild(el("pre.lines", { tabindex: "0" }));
  code.append(...body.lines.map(line));
  if (!body.next) return;
  const more = button(`Show more: ${counted(body.total - body.next[0] + 1, "line")} of ${body.total.toLocaleString("en")} left`, async () => {
    more.remove();
    drawLineParts(container, await load(...body.next), load);
  }, { class: "more" });
  container.append(more);
}

// Trees

async function showTree(box, switcher, part, page) {
  if (switcher.textContent === "text") {
    box.querySelector(".tree")?.remove();
    for (const hidden of box.querySelectorAll(":scope > [hidden]")) hidden.hidden = false;
    switcher.textContent = "tree";
    return;
  }
  for (const one of box.querySelectorAll(":scope > :not(.bar-small)")) one.hidden = true;
  switcher.textContent = "text";
  const tree = el("div.tree");
  box.append(tree);
  await drawBranch(tree, [], 0, (path, start) =>
    page.get("/view/tree", { commit: part.commit, block: part.block, sent: part.sent || undefined, path: JSON.stringify(path), start }));
}

/** The children of a value, each opened when somebody wants to see it. */
export async function drawBranch(container, path, start, load) {
  const branch = await load(path, start);
  const list = container.querySelector(":scope > ul") ?? container.appendChild(el("ul"));
  if (branch.kind === "string") list.append(el("li.string", {}, branch.text));
  for (const child of branch.children) list.append(drawChild(child, path, load));
  if (branch.end < branch.size) {
    const noun = branch.kind === "string" ? "character" : "value";
    const more = button(`Show more: ${counted(branch.size - branch.end, noun)} left`, async () => {
      more.remove();
      await drawBranch(container, path, branch.end, load);
    }, { class: "more" });
    container.append(more);
  }
}

function drawChild(child, path, load) {
  const key = el("span.key", {}, String(child.name));
  const isLong = child.kind === "string" && child.size > child.text.length;
  if (!["object", "array"].includes(child.kind) && !isLong) {
    return el("li", {}, key, ": ", el(`span.${child.kind}`, {}, child.text));
  }
  const size = child.kind === "object" ? counted(child.size, "key") : child.kind === "array" ? counted(child.size, "item") : counted(child.size, "character");
  const details = el("details", {}, el("summary", {}, key, ": ", el("span.dim", {}, `${child.text} (${size})`)));
  details.addEventListener("toggle", () => {
    if (details.open && !details.querySelector("ul")) drawBranch(details, [...path, child.key], 0, load);
  });
  return el("li", {}, details);
}

// Pictures

function picture(attributes, part, page) {
  const image = el("img", { alt: attributes.alt ?? "image", title: attributes.alt ?? "" });
  page.blob("/view/picture", { commit: part.commit, block: part.block, number: attributes.picture, sent: part.sent || undefined })
    .then((data) => {
      const url = URL.createObjectURL(data);
      image.addEventListener("load", () => URL.revokeObjectURL(url), { once: true });
      image.src = url;
    })
    .catch((problem) => image.replaceWith(el("p.problem", {}, problem.message)));
  return image;
}
