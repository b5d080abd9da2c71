// Elements from values. Nothing here makes markup of a text.

const TAGS = new Set((
  "a blockquote br code details div em h3 h4 h5 h6 hr img li ol p pre s span strong summary " +
  "table tbody td th thead tr ul"
).split(" "));
const SCHEMES = new Set(["http:", "https:", "mailto:"]);

/** An element: `el("p.note", {title: "x", onclick: f}, "text", child)`. */
export function el(name, options = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "data") Object.assign(element.dataset, value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function button(label, onclick, options = {}) {
  return el("button", { type: "button", onclick, ...options }, label);
}

/** A sign that says whether news appear. */
export function liveSign() {
  return el("span.live", { role: "img", "aria-label": "not live" }, "○");
}

export function setLive(sign, isLive) {
  sign.textContent = isLive ? "●" : "○ not live";
  sign.classList.toggle("on", isLive);
  sign.setAttribute("aria-label", isLive ? "live" : "not live");
  sign.title = isLive ? "live: what is new appears" : "The server does not answer; the page tries again.";
}

/** Give an element these children. What stays in its place keeps its focus, its selection and its height. */
export function setChildren(element, children) {
  const isSame = children.length === element.childNodes.length && children.every((child, at) => element.childNodes[at] === child);
  if (!isSame) element.replaceChildren(...children);
}

/** Elements of nodes that the server has made: [tag, children, classes, attributes], or a text. */
export function build(nodes, picture) {
  return (nodes ?? []).map((node) => buildOne(node, picture));
}

function buildOne(node, picture) {
  if (typeof node === "string") return document.createTextNode(node);
  const [tag, children, classes, attributes] = node;
  if (tag === "img") return picture ? picture(attributes) : document.createTextNode("[image]");
  const element = document.createElement(TAGS.has(tag) ? tag : "span");
  if (classes) element.className = classes;
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (key === "href") link(element, value);
    else if (["title", "start", "tabindex", "open"].includes(key)) element.setAttribute(key, value);
  }
  element.append(...children.map((child) => buildOne(child, picture)));
  return element;
}

/** Only links to the web can be followed, whatever a text says. */
function link(element, address) {
  let url;
  try { url = new URL(address); } catch { return; }
  if (!SCHEMES.has(url.protocol)) return;
  element.href = url.href;
  element.rel = "noreferrer noopener";
  element.target = "_blank";
}

const NAMESPACE = "http://www.w3.org/2000/svg";

/** An element of a drawing. */
export function svg(name, options = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElementNS(NAMESPACE, tag);
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(options)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

// Words

// The same as `visible` in Python escapes: no control, no mark of direction, nothing that hides.
const UNSEEN = /(?![\n\t\u200c\u200d])[\p{C}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\uffa0\ufe00-\ufe0e\u{e0100}-\u{e01ef}]/gu;

/** A name or a text that the server has not made harmless: nothing in it reorders a line or hides. */
export function visible(text) {
  return String(text).replace(UNSEEN, (char) => {
    const code = char.codePointAt(0);
    const [letter, length] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
    return `\\${letter}${code.toString(16).padStart(length, "0")}`;
  });
}

/** 950, 1.2k, 12k, 1.2M: as in the terminal. */
export function short(number) {
  for (const [unit, word] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    const value = number / unit;
    if (value >= 0.9995) return value < 9.95 ? `${value.toFixed(1)}${word}` : `${value.toFixed(0)}${word}`;
  }
  return String(number);
}

export function bytes(number) {
  if (number < 1000) return `${number} B`;
  for (const [unit, word] of [[1e9, "GB"], [1e6, "MB"], [1e3, "KB"]]) {
    if (number >= unit) return `${(number / unit).toFixed(number < 10 * unit ? 1 : 0)} ${word}`;
  }
}

export function counted(number, noun, plural = `${noun}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;
}

export function duration(seconds) {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${seconds.toFixed(0)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export function clock(time) {
  return time ? new Date(time).toLocaleTimeString("en-GB") : "";
}

export function ago(time) {
  const seconds = Math.max((Date.now() - new Date(time)) / 1000, 0);
  for (const [unit, word] of [[31536000, "y"], [2592000, "mo"], [604800, "w"], [86400, "d"], [3600, "h"], [60, "m"]]) {
    if (seconds >= unit) return `${Math.floor(seconds / unit)} ${word}`;
  }
  return "now";
}
