// Asks with the fetch of this Node.
import { readFileSync } from "node:fs";

const [url, key, timeout, body] = readFileSync(0, "utf8").split("\n");
const headers = { Authorization: `Bearer ${key}` };
const send = (path, options) =>
  fetch(url + path, {
    ...options,
    redirect: "manual",
    signal: AbortSignal.timeout(Number(timeout) * 1000),
  });

console.log("version", process.versions.node);
try {
  const models = await send("/models", { headers });
  await models.arrayBuffer();
  console.log("models", models.status);
  if (body) {
    headers["Content-Type"] = "application/json";
    const chat = await send("/chat/completions", { method: "POST", headers, body });
    const content = Buffer.from(await chat.arrayBuffer()).toString("base64");
    console.log("chat", chat.status, content);
  }
} catch (error) {
  console.log("error", String(error.cause?.code ?? error.cause?.message ?? error.message));
}
