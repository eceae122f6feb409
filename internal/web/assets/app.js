// Keys, copying, and what a page becomes. The pages can be read without any of it.
import { follow } from "./live.js";
const $ = (selector) => document.querySelector(selector);

const help = $("#help");
$("#help-button").addEventListener("click", () => help.showModal());

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) await copy(button);
});

async function copy(button) {
  const text = document.getElementById(button.dataset.copy).textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
    button.textContent = "Selected";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

// move puts the focus on the row that is n rows away from the one that has it.
function move(n) {
  const rows = [...document.querySelectorAll(".row")].filter((row) => row.offsetParent);
  const at = rows.indexOf(document.activeElement);
  const row = rows[Math.min(Math.max(at < 0 && n < 0 ? 0 : at + n, 0), rows.length - 1)];
  row?.focus();
  row?.scrollIntoView({ block: "nearest" });
}

// up opens the page above this one; the list is opened as it was narrowed last.
if (location.pathname.endsWith("/")) sessionStorage.setItem("list", location.search);
function up() {
  const link = $("#up");
  if (link?.getAttribute("href") === "./") location.assign("./" + (sessionStorage.getItem("list") ?? ""));
  else link?.click();
}

const keys = {
  j: () => move(1),
  k: () => move(-1),
  u: up,
  c: () => $("[data-copy]")?.click(),
  "/": () => $("#search") ? $("#search").select() : location.assign("./?focus=search"),
  "?": () => help.showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  if (event.target.closest("input, textarea, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const act = keys[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

if (new URLSearchParams(location.search).get("focus") === "search") $("#search")?.select();

// reveal opens the part that the address points to.
function reveal() {
  const at = location.hash && document.getElementById(location.hash.slice(1));
  if (at instanceof HTMLDetailsElement) {
    at.open = true;
    at.querySelector("summary").focus();
  }
}
addEventListener("hashchange", reveal);

reveal();
if ("live" in document.body.dataset) follow();

// An output that is followed stays at its end, unless the person has scrolled up.
const output = document.querySelector("#output[data-follow]");
if (output) {
  let atEnd = true;
  const end = () => { if (atEnd) output.scrollTop = output.scrollHeight; };
  output.addEventListener("scroll", () => { atEnd = output.scrollHeight - output.scrollTop - output.clientHeight < 40; });
  document.addEventListener("patched", end);
  end();
}
