// Asks with the fetch of this Node.
import { readFileSync } from "node:fs";

const [url, key, timeout] = readFileSync(0, "utf8").split("\n");

console.log("version", process.versions.node);
try {
  const models = await fetch(`${url}/models`, {
    headers: { Authorization: `Bearer ${key}` },
    redirect: "manual",
    signal: AbortSignal.timeout(Number(timeout) * 1000),
  });
  await models.arrayBuffer();
  console.log("status", models.status);
} catch (error) {
  console.log("error", String(error.cause?.code ?? error.cause?.message ?? error.message));
}
