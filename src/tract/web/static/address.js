// The address: what one sees, in the fragment, which is never sent to a server.
// Ids may hold any character, also halves of surrogate pairs; `encodeURIComponent` refuses those.

const encoder = new TextEncoder();

/** Percent-encoded UTF-8, halves of surrogate pairs included. */
export function quote(text) {
  return Array.from(text, (char) => {
    const code = char.codePointAt(0);
    if (code >= 0xd800 && code <= 0xdfff) {
      return [0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63)].map(percent).join("");
    }
    return /[\w~-]/.test(char) ? char : Array.from(encoder.encode(char), percent).join("");
  }).join("");
}

const percent = (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;

/** The reverse of `quote`. What is not UTF-8 stays as it is. */
export function unquote(text) {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
    const bytes = run.slice(1).split("%").map((pair) => parseInt(pair, 16));
    let out = "";
    for (let at = 0; at < bytes.length;) {
      const first = bytes[at];
      const length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
      const rest = bytes.slice(at + 1, at + length);
      if (rest.length < length - 1 || rest.some((byte) => (byte & 0xc0) !== 0x80)) return run;
      const start = length === 1 ? first : first & (0xff >> (length + 1));
      const code = rest.reduce((code, byte) => (code << 6) | (byte & 63), start);
      if (code > 0x10ffff) return run;
      out += String.fromCodePoint(code);
      at += length;
    }
    return out;
  });
}

export function parse(fragment) {
  const fields = Object.create(null); // an address may name what every object has
  for (const pair of fragment.replace(/^#/, "").split("&")) {
    const [key, ...value] = pair.split("=");
    if (key) fields[unquote(key)] = unquote(value.join("="));
  }
  return fields;
}

export function format(fields) {
  const pairs = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return pairs.map(([key, value]) => `${quote(key)}=${quote(String(value))}`).join("&");
}

/** The fields of the address that one is at. */
export function here() {
  return parse(location.hash);
}

/** Go to other fields; `replace` leaves no step for the back button. */
export function go(fields, { replace = false } = {}) {
  const url = `#${format(fields)}`;
  if (url !== (location.hash || "#")) history[replace ? "replaceState" : "pushState"](null, "", url);
  dispatchEvent(new Event("address"));
}

/** Note in the address what is shown, without going anywhere. */
export function note(fields) {
  history.replaceState(null, "", `#${format({ ...here(), ...fields })}`);
}

/** The address of a place, to be copied. */
export function link(fields) {
  return `${location.origin}${location.pathname}#${format(fields)}`;
}
