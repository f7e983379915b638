// program: opencode
// environment: node-agents
// package: opencode-ai
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [baseURL, apiKey, model, variant] = process.argv.slice(2);
const folder = join(process.env.XDG_CONFIG_HOME, "opencode");
mkdirSync(folder, { recursive: true });
// What can be turned off: tools, and the long prompt of the agent.
const agent = { build: { prompt: "Repeat.", tools: { "*": false } } };
writeFileSync(
  join(folder, "opencode.json"),
  JSON.stringify({
    model: `readback/${model}`,
    provider: {
      readback: {
        npm: "@ai-sdk/openai-compatible",
        options: { baseURL, apiKey },
        models: { [model]: {} },
      },
    },
    ...(variant === "settings" ? { agent } : {}),
  }),
);
const name = `opencode-${process.platform}-${process.arch}`;
const bin = join(import.meta.dirname, "node_modules", name, "bin", "opencode");
const { status } = spawnSync(bin, ["run", "Ready to copy?"], {
  env: {
    ...process.env,
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
  },
  stdio: "inherit",
});
process.exitCode = status ?? 1;
