// Copy buttons, times in the reader's time zone, live parts that poll the server, and a
// form whose result is shown in place. Every page works without JavaScript, and nothing
// here builds HTML from data.
"use strict";

document.documentElement.classList.add("js-enabled");
// Until now, a button that needs scripts was hidden and could not be focused.
document.querySelector(".needs-script [autofocus]")?.focus();

// <button data-copy="id" data-done="Copied"> copies the text of the element #id, and
// <button data-print> prints the page.
document.addEventListener("click", async (event) => {
  if (event.target.closest("[data-print]")) print();
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

// The server writes times in UTC: <time datetime="…">, and <span data-zone>UTC</span>
// where a heading or a sentence names the zone. The format stays the same.
const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
const zoneFormat = new Intl.DateTimeFormat(document.documentElement.lang, {
  timeZoneName: "short",
});
const zone = (moment) =>
  zoneFormat.formatToParts(moment).find((part) => part.type === "timeZoneName").value;

// Returns "2026-11-16 00:15:03" in the reader's zone; Swedish has this format.
const inZone = (moment) => moment.toLocaleString("sv-SE").slice(0, 19);

function showLocalTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    if (isNaN(moment)) continue;
    time.title = `${moment.toISOString().slice(0, 19).replace("T", " ")} UTC`;
    const local = inZone(moment);
    const texts = document.createTreeWalker(time, NodeFilter.SHOW_TEXT);
    while (texts.nextNode())
      texts.currentNode.data = texts.currentNode.data
        .replace(/(\d{4}-)?\d\d-\d\d/, (date) => local.slice(10 - date.length, 10))
        .replace(/\d\d:\d\d(:\d\d)?/, (clock) => local.substr(11, clock.length))
        .replace("UTC", zone(moment));
  }
  for (const name of root.querySelectorAll("[data-zone]")) {
    name.textContent = zone(new Date());
    name.title = timeZone;
  }
}

showLocalTimes(document);

// <div data-live-url="url" data-version="version" data-interval="seconds">: the server
// returns 204 if nothing has changed, or the new content with its version. Any other
// response (logged out, deleted) stops the polling until the page is reloaded. While
// nothing changes, the interval doubles up to data-longest, or half a minute.
document.querySelectorAll("[data-live-url]").forEach(poll);

async function poll(part) {
  const { interval, longest = 30 } = part.dataset;
  let seconds = interval;
  while (part.isConnected) {
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    if (document.hidden) continue;
    const version = part.dataset.version;
    if (!(await refresh(part).catch(() => true))) return;
    seconds = version === part.dataset.version ? Math.min(seconds * 2, longest) : interval;
  }
}

async function refresh(part) {
  const url = new URL(part.dataset.liveUrl, location);
  url.searchParams.set("seen", part.dataset.version);
  const response = await fetch(url, { redirect: "manual" });
  if (response.status === 200) {
    if (isInUse(part)) return true;
    part.innerHTML = await response.text();
    showLocalTimes(part);
  }
  part.dataset.version = response.headers.get("X-Version") ?? part.dataset.version;
  return response.ok;
}

// Replacing the content would clear the reader's selection: try again later.
function isInUse(part) {
  const selection = getSelection();
  return part.contains(selection.anchorNode) && !selection.isCollapsed;
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

// allauth's scripts report that the browser's prompt has ended without a passkey; next
// to their buttons, #passkey_failed says what to do then.
document.addEventListener("allauth.error", (event) => {
  event.preventDefault();
  document.getElementById("passkey_failed").hidden = false;
});
