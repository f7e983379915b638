// program: promptfoo
// environment: node-promptfoo
// package: promptfoo
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [apiBaseUrl, apiKey, model, variant] = process.argv.slice(2);
const settings = variant === "settings" ? { omitDefaults: true } : {};
// JSON is YAML, too.
writeFileSync(
  "promptfooconfig.yaml",
  JSON.stringify({
    prompts: ["{{text}}"],
    providers: [
      { id: `openai:chat:${model}`, config: { apiBaseUrl, apiKey, ...settings } },
    ],
    tests: [{ vars: { text: "Ready to copy?" } }],
  }),
);
const bin = join(import.meta.dirname, "node_modules", ".bin", "promptfoo");
const { status, stderr } = spawnSync(
  process.execPath,
  [bin, "eval", "--no-cache", "--no-table", "-o", "results.json"],
  {
    encoding: "utf8",
    env: {
      ...process.env,
      PROMPTFOO_DISABLE_TELEMETRY: "1",
      PROMPTFOO_DISABLE_UPDATE: "1",
    },
    stdio: ["ignore", "pipe", "pipe"],
  },
);
try {
  const [{ error, response }] = JSON.parse(readFileSync("results.json", "utf8"))
    .results.results;
  console.log(error ?? response.output);
} catch {
  console.error(stderr);
}
process.exitCode = status ?? 1;
