// Rows: messages as elements. A call and its result are one line until they are opened.

import { build, bytes, button, clock, counted, duration, el, short } from "./dom.js";

const LEAST_SECONDS = 0.05;

/** The element of a row. `page` opens bodies and makes links. */
export function drawRow(row, page) {
  if (row.kind !== "message" && row.kind !== undefined) return drawBetween(row, page);
  const article = el(`article.row.role-${safe(row.role)}`, {
    data: { key: row.key, commit: row.key },
    tabindex: "-1",
    "aria-label": row.prompt ? `prompt: ${row.prompt}` : row.role,
  });
  article.append(drawHead(row, page));
  const kept = row.entries ?? [];
  if (row.role === "assistant" && kept.every((entry) => entry.kind === "call")) article.classList.add("only-calls");
  if (!row.sent) {
    article.append(...kept.map((entry) => drawEntry(row, entry, page, false)));
    return article;
  }
  article.classList.add("differs");
  article.append(
    el("div.kept", {}, el("p.side", {}, "stored"), kept.map((entry) => drawEntry(row, entry, page, false))),
    el("div.sent", {}, el("p.side", {}, "sent"), row.sent.length
      ? row.sent.map((entry) => drawEntry(row, entry, page, true))
      : el("p.unsent", {}, `not sent${row.note ? `: ${row.note}` : ""}`)),
  );
  return article;
}

const safe = (role) => ["system", "user", "assistant", "tool"].includes(role) ? role : "other";

function drawBetween(row, page) {
  const article = el("article.row.between", { data: { key: row.key, ...(row.commit && { commit: row.commit }) }, tabindex: "-1" });
  if (row.kind === "tools") {
    article.append(button(`tools: ${row.text}`, () => page.showTools(row), { class: "rule" }));
    return article;
  }
  const isUndone = row.text.endsWith("(undone)");
  article.append(el("p.rule", {}, el("span", {}, row.text),
    row.commit && !isUndone && page.canChange ? button("undo", () => page.undo(row.commit, row.text)) : null));
  return article;
}

function drawHead(row, page) {
  const facts = [
    row.time && clock(row.time),
    row.seconds >= LEAST_SECONDS && duration(row.seconds),
    row.tokens && tokens(row.tokens, row.sent_tokens ?? 0),
    row.cost,
  ].filter(Boolean);
  return el(row.prompt ? "h2.head" : "div.head", { "aria-label": row.prompt || null },
    el("b", {}, row.role),
    el("a.hash", { href: page.href(row.key), title: "Link to this message" }, row.key.slice(0, 10)),
    row.note ? el("span.note", {}, row.note) : null,
    facts.join(" · "),
  );
}

function tokens(stored, sent) {
  return stored === sent ? `${short(stored)} t` : `${short(stored)} → ${short(sent)} t`;
}

// Entries

function drawEntry(row, entry, page, isSent) {
  switch (entry.kind) {
    case "text": return drawText(row, entry, page, isSent);
    case "call":
    case "result": return drawTool(row, entry, page, isSent);
    default: return drawAside(row, entry, page, isSent);
  }
}

function drawText(row, entry, page, isSent) {
  if (entry.nodes) return el("div.texts", { data: { block: entry.block ?? 0 } }, build(entry.nodes));
  const more = (entry.size ?? 0) > (entry.text ?? "").length;
  const text = el("div.texts.text.prose", { data: { block: entry.block ?? 0 } }, (entry.text ?? "") + (more ? "…" : ""));
  if (more) {
    text.unfold = (spot) => {
      text.className = "texts";
      text.replaceChildren();
      return page.open(text, { commit: row.key, block: entry.block ?? 0, sent: isSent, ...spot });
    };
    text.append(button(`Show all ${counted(entry.size, "character")}`, () => text.unfold(), { class: "more" }));
  }
  return text;
}

function drawAside(row, entry, page, isSent) {
  const box = el(`div.aside.${entry.kind === "thinking" ? "thinking" : "other"}`, { data: { block: entry.block ?? 0 } });
  const label = entry.kind === "thinking" ? `thinking ${entry.text ?? ""}` : entry.text || "other";
  box.append(fold([label], () => [
    { commit: row.key, block: entry.block ?? 0, sent: isSent, isAside: true },
  ], page, box));
  return box;
}

function drawTool(row, entry, page, isSent) {
  const result = entry.result;
  const box = el("div.tool", { data: { block: entry.block ?? 0, ...(result && { commit: result.key }), call: entry.id ?? "" } });
  if (entry.pair !== undefined && entry.pair !== null) box.classList.add(`p${entry.pair % 8}`);
  if (result?.is_error) box.classList.add("failed");
  if (result && result.sent !== undefined && result.sent !== null) box.classList.add("reshaped");
  box.append(fold(words(entry, result), () => {
    const parts = [];
    if (entry.kind === "call") parts.push({ commit: row.key, block: entry.block ?? 0, sent: isSent, isCall: true });
    if (result) parts.push({ commit: result.key, block: entry.kind === "call" || row.role === "tool" ? 0 : entry.block ?? 0, result, isResult: true });
    return parts;
  }, page, box));
  return box;
}

/** The line of a call: its name, what it is about, how much changed, came back and is sent. */
function words(entry, result) {
  const facts = [];
  if (result) {
    facts.push(bytes(result.size ?? 0));
    const isReshaped = result.sent !== undefined && result.sent !== null;
    if (isReshaped) facts.push(`${short(result.tokens ?? 0)} → ${short(result.sent_tokens ?? 0)} t ${result.note || result.form || "full"}`);
    else facts.push(`${short(result.tokens ?? 0)} t`);
    if (result.seconds >= LEAST_SECONDS) facts.push(duration(result.seconds));
  } else if (entry.kind === "call") facts.push("no result");
  if (entry.tag) facts.push(entry.tag);
  return [
    result?.is_error ? "✗ " : null,
    el("b", {}, entry.name || "result"), " ", entry.text ?? "",
    entry.added ? el("span.added", {}, ` +${entry.added}`) : null,
    entry.removed ? el("span.removed", {}, ` −${entry.removed}`) : null,
    el("span.size", {}, ` ${facts.join(" · ")}`),
    result?.note && (result.sent === undefined || result.sent === null) ? el("span.note", {}, ` ${result.note}`) : null,
    result?.is_error ? el("span.error", {}, ` failed${result.verdict ? `: ${result.verdict}` : ""}`) : null,
  ].filter(Boolean);
}

/** A line that opens what `parts` names below it. `unfold` opens it at a place: a line and a column
 * of the result or, with `isCall`, of the arguments. */
function fold(content, parts, page, box) {
  const line = button("▸ ", () => (isOpen() ? close() : box.unfold()), { class: "fold", "aria-expanded": "false" });
  const sign = line.firstChild;
  line.append(...content);
  let body = null;
  const isOpen = () => line.getAttribute("aria-expanded") === "true";
  const close = () => {
    line.setAttribute("aria-expanded", "false");
    sign.data = "▸ ";
    body.remove();
    page.noteOpen(box, false);
  };
  box.unfold = (spot = {}) => {
    body?.remove();
    line.setAttribute("aria-expanded", "true");
    sign.data = "▾ ";
    body = el("div.body");
    box.append(body);
    page.noteOpen(box, true, spot);
    return Promise.all(parts().map((part) => page.open(body, { ...part, ...(Boolean(part.isCall) === Boolean(spot.isCall) ? spot : {}) })));
  };
  return line;
}
