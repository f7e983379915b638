// What pages gain from a script: copy buttons, and live parts that ask again.
// Every page works without this file; nothing here builds HTML from data.
"use strict";

document.documentElement.classList.add("scripted");

// <button data-copy="id" data-done="Copied"> copies the text of the element #id.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  if (await copy(source)) confirmCopy(button);
});

async function copy(source) {
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    // Plain HTTP on a name other than localhost has no clipboard: select instead,
    // so that the reader's own Ctrl+C does the rest.
    getSelection().selectAllChildren(source);
    return document.execCommand("copy");
  }
}

function confirmCopy(button) {
  // The first text alone: what follows it is for screen readers.
  const word = button.firstChild;
  button.dataset.label ??= word.data;
  word.data = button.dataset.done;
  clearTimeout(button.timer);
  button.timer = setTimeout(() => (word.data = button.dataset.label), 2000);
}

// <div data-live="address" data-seen="version" data-every="seconds">: the server
// answers 204 while nothing is new, or the new inside with its version; any other
// answer (logged out, gone) ends the asking, and the reader reloads by hand.
document.querySelectorAll("[data-live]").forEach(keepAsking);

async function keepAsking(part) {
  while (part.isConnected) {
    await new Promise((later) => setTimeout(later, part.dataset.every * 1000));
    if (document.hidden) continue;
    if (!(await refresh(part).catch(() => true))) return;
  }
}

async function refresh(part) {
  const address = new URL(part.dataset.live, location);
  address.searchParams.set("seen", part.dataset.seen);
  const answer = await fetch(address, { redirect: "manual" });
  if (answer.status === 200) {
    // Somebody who selects text in the part would lose it.
    if (part.contains(getSelection().anchorNode) && !getSelection().isCollapsed)
      return true;
    part.innerHTML = await answer.text();
    part.dataset.seen = answer.headers.get("X-Version");
  }
  return answer.ok;
}
