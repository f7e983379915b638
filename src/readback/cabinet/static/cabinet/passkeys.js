// Passkeys: <form data-passkey="create"> and <form data-passkey="get">. The form is sent
// once without a credential, and the server says what to ask the browser for; then it is
// sent with the answer. Needs allauth's webauthn-json.js, which converts both.
"use strict";

document.querySelectorAll("form[data-passkey]").forEach((form) => {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    showError(form, null);
    try {
      const credential = await ask(form);
      form.elements.credential.value = credential ? JSON.stringify(credential) : "";
      form.submit();
    } catch (error) {
      showError(form, error);
    }
  });
});

async function ask(form) {
  if (!window.PublicKeyCredential) throw { name: "NotSupportedError" };
  form.elements.credential.value = "";
  const response = await fetch(form.action, {
    method: "POST",
    body: new FormData(form),
    redirect: "error",
  });
  if (!response.ok) throw { name: "" };
  // A page instead of options says what is wrong with another field: show it.
  if (response.headers.get("Content-Type").startsWith("text/html")) return null;
  return await webauthnJSON[form.dataset.passkey](await response.json());
}

// <p data-passkey-error="name of the error" hidden>; an empty name is for all others.
function showError(form, error) {
  const texts = [...form.querySelectorAll("[data-passkey-error]")];
  texts.forEach((text) => (text.hidden = true));
  if (!error) return;
  const named = texts.find((text) => text.dataset.passkeyError === error.name);
  (named ?? texts.at(-1)).hidden = false;
}
