// Requests to the server, each with the token.

import { quote } from "./address.js";
import { visible } from "./dom.js";

const KEY = "tract-token";

export class Problem extends Error {
  constructor(status, type, detail) {
    super(visible(detail));
    this.status = status;
    this.type = type;
  }
  get isConflict() { return this.status === 409; }
}

export const token = {
  /** No header can have other characters; without a token the server asks for one. */
  get: () => /^[!-~]*$/.exec(localStorage.getItem(KEY) ?? "")?.[0] ?? "",
  set: (value) => localStorage.setItem(KEY, value),
};

function query(params) {
  const pairs = Object.entries(params).flatMap(([key, value]) =>
    (Array.isArray(value) ? value : [value])
      .filter((one) => one !== undefined && one !== null && one !== "")
      .map((one) => `${key}=${quote(String(one))}`));
  return pairs.length ? `?${pairs.join("&")}` : "";
}

async function send(path, options = {}, headers = {}) {
  let answer;
  try {
    answer = await fetch(path, {
      ...options,
      cache: "no-store",
      headers: { authorization: `Bearer ${token.get()}`, ...headers },
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "", "The server does not answer. It may have stopped, or is starting again.");
  }
  if (answer.ok) return answer;
  let problem = {};
  try { problem = await answer.json(); } catch { /* not ours */ }
  throw new Problem(answer.status, problem.type ?? "", problem.detail ?? `The server answered ${answer.status}.`);
}

export async function get(path, params = {}, headers = {}, signal = undefined) {
  return (await send(path + query(params), { signal }, headers)).json();
}

export async function blob(path, params = {}, headers = {}) {
  return (await send(path + query(params), {}, headers)).blob();
}

/** A write. It has a key of its own, so that the server carries it out once. */
export async function post(path, body, headers = {}, method = "POST") {
  const answer = await send(path, { method, body: JSON.stringify(body) }, {
    "content-type": "application/json",
    "idempotency-key": crypto.randomUUID(),
    ...headers,
  });
  return answer.status === 204 ? null : answer.json();
}

/** The path of a dialog. */
export function dialogPath(name, rest = "") {
  return `/api/dialogs/${segment(name)}${rest}`;
}

/** The name of a dialog or a branch as a part of a path. A browser drops `.` and `..`, even when they
 * are encoded; the server knows them by another spelling. */
export function segment(name) {
  return /^\.\.?$/.test(name) ? `-${name}` : quote(name);
}

/** Calls `onevent` with each event until stopped; begins again when the stream ends. A page that
 * nobody sees does not listen: a browser has six connections to a server, for all of its tabs. */
export function listen(path, params, onevent, onstate) {
  let stop = new AbortController();
  let isStopped = false;
  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const listeners = new AbortController();
  document.addEventListener("visibilitychange", () => { if (document.hidden) stop.abort(); }, { signal: listeners.signal });
  (async () => {
    for (let pause = 500; !isStopped; pause = Math.min(pause * 2, 15000)) {
      try {
        if (document.hidden) await seen(listeners.signal);
        stop = new AbortController();
        const answer = await send(path + query(params()), { signal: stop.signal });
        onstate(true);
        pause = 500;
        await read(answer.body, onevent);
      } catch (problem) {
        if (isStopped) return;
        if (document.hidden) continue;
        onstate(false, problem);
      }
      await sleep(pause);
    }
  })();
  return () => { isStopped = true; stop.abort(); listeners.abort(); };
}

const seen = (signal) => new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true, signal }));

async function read(stream, onevent) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const kind = /^event: (.*)$/m.exec(event)?.[1];
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (kind) onevent(kind, data ? JSON.parse(data) : null);
    }
  }
}
