// A page that follows what happens: the server sends what it becomes, and what differs is
// put in place, so that the focus, the scroll position and opened parts stay.
const silence = 10000; // the server is heard every three seconds
const label = document.getElementById("live");
const why = document.getElementById("lost");
let source, heard, opened;

export function follow() {
  const open = () => {
    source?.close();
    source = new EventSource(location.href);
    opened = Date.now();
    heard ??= opened;
    source.addEventListener("beat", alive);
    source.addEventListener("page", (event) => {
      alive();
      const next = new DOMParser().parseFromString(event.data, "text/html").body;
      patch(document.getElementById("main"), next);
      document.dispatchEvent(new Event("patched"));
    });
    source.addEventListener("error", () => lost());
  };
  // A hidden page is not followed: a browser has few connections for one server.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) source.close();
    else open();
  });
  setInterval(() => {
    if (document.hidden || Date.now() - Math.max(heard, opened) < silence) return;
    lost();
    open();
  }, 2000);
  addEventListener("pagehide", () => source.close());
  addEventListener("pageshow", (event) => event.persisted && open());
  open();
}

function alive() {
  heard = Date.now();
  show("on", "live");
  why.textContent = "";
}

// lost tells that the page stands still and, once the server was asked, why. A server
// that was started again has another token.
async function lost() {
  const at = heard;
  show("off", `not live since ${new Date(at).toISOString().slice(11, 19)} UTC`);
  const code = await fetch("assets/icon.svg", { method: "HEAD" }).then((answer) => answer.status, () => 0);
  if (heard !== at || code === 200) return;
  why.textContent = code ? "reprise serve was started again. Open the address that it printed last." : "reprise serve does not answer. The page follows once it runs again.";
}

function show(state, text) {
  if (label.textContent === text) return;
  label.className = `live ${state}`;
  label.textContent = text;
}

// kept are attributes that belong to the person or to the script, not to the server.
const kept = { DETAILS: ["open"], BUTTON: ["disabled"], INPUT: ["value", "checked"], DIALOG: ["open"] };

// touched reports whether a person has begun to use a form.
function touched(form) {
  return form.contains(document.activeElement) || form.closest("details")?.open ||
    [...form.elements].some((e) => e.checked !== e.defaultChecked || e.nodeName === "TEXTAREA" && e.value !== e.defaultValue);
}

// updateForm replaces a form that acts as a whole, never in pieces: what a person chooses
// is sent with the digest of what they saw. One that is in use stays as it was made, and
// can no longer be sent. An answer to the same question with the same options is still one
// when the run has moved on meanwhile.
function updateForm(old, next) {
  if ("asks" in old.dataset) {
    const moved = next.cloneNode(true);
    moved.elements.digest.setAttribute("value", old.elements.digest.getAttribute("value"));
    if (old.isEqualNode(moved)) {
      old.elements.digest.setAttribute("value", next.elements.digest.getAttribute("value"));
      return;
    }
  }
  if (!touched(old)) {
    old.replaceWith(next);
    return;
  }
  if (old.querySelector(".stale")) return;
  const note = document.createElement("p");
  note.className = "stale";
  note.setAttribute("role", "status");
  note.textContent = "This changed while you were here. ";
  const again = document.createElement("a");
  again.href = location.href;
  again.textContent = "Look again";
  note.append(again);
  old.prepend(note);
  for (const button of old.querySelectorAll("button")) button.disabled = true;
}

// patch makes the children of one element those of another.
function patch(old, next) {
  const ids = new Map([...old.children].filter((e) => e.id).map((e) => [e.id, e]));
  let at = old.firstChild;
  for (const node of [...next.childNodes]) {
    const same = node.id ? ids.get(node.id) : at && !at.id && at.nodeName === node.nodeName ? at : null;
    if (!same) {
      old.insertBefore(node, at);
      continue;
    }
    while (at && at !== same && !next.querySelector(`#${CSS.escape(at.id || "-")}`)) at = drop(at);
    if (at === same) at = at.nextSibling;
    else old.insertBefore(same, at);
    update(same, node);
  }
  while (at) at = drop(at);
}

function drop(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

function update(old, next) {
  if (old.isEqualNode(next)) return;
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== next.nodeValue) old.nodeValue = next.nodeValue;
    return;
  }
  if (old.nodeName === "FORM" && old.method === "post") {
    updateForm(old, next);
    return;
  }
  if ("keep" in old.dataset) {
    Object.assign(old.dataset, next.dataset);
    return;
  }
  const skip = old.type === "hidden" ? [] : kept[old.nodeName] ?? [];
  for (const { name } of [...old.attributes]) if (!next.hasAttribute(name) && !skip.includes(name)) old.removeAttribute(name);
  for (const { name, value } of next.attributes) if (old.getAttribute(name) !== value && !skip.includes(name)) old.setAttribute(name, value);
  if (old.nodeName !== "TEXTAREA") patch(old, next);
}
