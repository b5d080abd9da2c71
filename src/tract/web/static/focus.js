// The focus, when what had it is drawn again or taken away: it goes to what came instead, or to
// what is beside it.

const CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex]";
let last = null;
let opener = null; // what had it before a question was asked

/** Watch from now on. */
export function watchFocus() {
  last = document.activeElement;
  addEventListener("focusin", ({ target }) => {
    if (target.closest("dialog") && !last?.closest("dialog")) opener = last;
    last = target;
  });
  addEventListener("pointerdown", () => { last = null; }, true); // somebody may want it nowhere
  new MutationObserver(restore).observe(document.body, { childList: true, subtree: true });
}

function restore(records) {
  if (opener && !opener.isConnected) opener = replacement(opener, records);
  if (!last || document.activeElement !== document.body) return;
  const before = last.closest("dialog") ? opener : null;
  const target = last.isConnected ? last : before ?? replacement(last, records);
  (target ?? document.querySelector(".row.current") ?? document.querySelector("main"))?.focus({ preventScroll: true });
}

function replacement(lost, records) {
  const record = records.findLast((one) => [...one.removedNodes].some((node) => node.contains(lost)));
  if (!record) return null;
  const removed = [...record.removedNodes];
  const place = removed.findIndex((node) => node.contains(lost));
  const at = controlsOf(removed[place]).indexOf(lost);
  const added = records.filter((one) => one.target === record.target).flatMap((one) => [...one.addedNodes]).filter((node) => node.isConnected);
  const controls = added.flatMap(visibleIn);
  return controls.find((one) => nameOf(one) === nameOf(lost)) ?? visibleIn(added[place])[at] ?? controls[0]
    ?? visibleIn(record.nextSibling)[0] ?? visibleIn(record.previousSibling).at(-1) ?? record.target.closest?.(CONTROLS);
}

function controlsOf(node) {
  if (node?.nodeType !== Node.ELEMENT_NODE) return [];
  return [...(node.matches(CONTROLS) ? [node] : []), ...node.querySelectorAll(CONTROLS)];
}

const visibleIn = (node) => controlsOf(node).filter((one) => one.checkVisibility());

function nameOf(control) {
  return `${control.localName} ${control.getAttribute("aria-label") ?? ""} ${control.textContent}`;
}
