// Copy buttons, live parts that poll the server, and a form whose result is shown in
// place. Every page works without JavaScript, and nothing here builds HTML from data.
"use strict";

document.documentElement.classList.add("js-enabled");

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
    // Without HTTPS, only localhost has a clipboard API. Select the text, so that
    // the reader can press Ctrl+C if the old command fails, too.
    getSelection().selectAllChildren(source);
    return document.execCommand("copy");
  }
}

function confirmCopy(button) {
  // Change only the first text node: the rest is for screen readers.
  const label = button.firstChild;
  button.dataset.label ??= label.data;
  label.data = button.dataset.done;
  clearTimeout(button.timer);
  button.timer = setTimeout(() => (label.data = button.dataset.label), 2000);
}

// <div data-live-url="url" data-version="version" data-interval="seconds">: the server
// returns 204 if nothing has changed, or the new content with its version. Any other
// response (logged out, deleted) stops the polling until the reader reloads the page.
document.querySelectorAll("[data-live-url]").forEach(poll);

async function poll(part) {
  while (part.isConnected) {
    await new Promise((resolve) => setTimeout(resolve, part.dataset.interval * 1000));
    if (document.hidden) continue;
    if (!(await refresh(part).catch(() => true))) return;
  }
}

async function refresh(part) {
  const url = new URL(part.dataset.liveUrl, location);
  url.searchParams.set("seen", part.dataset.version);
  const response = await fetch(url, { redirect: "manual" });
  if (response.status === 200) {
    // Replacing the content would clear the reader's selection: try again later.
    if (part.contains(getSelection().anchorNode) && !getSelection().isCollapsed)
      return true;
    part.innerHTML = await response.text();
    part.dataset.version = response.headers.get("X-Version");
  }
  return response.ok;
}

// <form data-result="id" data-sending="text" data-failed="text">: the answer is the page
// with the result in #id, which is shown in place, so that nothing else is lost.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.dataset.result) return;
  event.preventDefault();
  const button = event.submitter;
  const result = document.getElementById(form.dataset.result);
  const data = new FormData(form);
  button.disabled = true;
  result.textContent = form.dataset.sending;
  try {
    const response = await fetch(form.action, { method: "POST", body: data });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    result.replaceChildren(...page.getElementById(result.id).childNodes);
  } catch {
    result.textContent = form.dataset.failed;
  }
  button.disabled = false;
});
