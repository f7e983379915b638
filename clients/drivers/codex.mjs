// program: Codex
// environment: node-agents
// package: @openai/codex
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const [baseUrl, key, model] = process.argv.slice(2);
mkdirSync(join(homedir(), ".codex"));
// `wire_api = "chat"` is refused, so there is no other variant.
writeFileSync(
  join(homedir(), ".codex", "config.toml"),
  `model = "${model}"
model_provider = "readback"
[model_providers.readback]
name = "Readback"
base_url = "${baseUrl}"
env_key = "READBACK_KEY"
wire_api = "responses"
`,
);
const bin = join(import.meta.dirname, "node_modules", ".bin", "codex");
const { status, stderr } = spawnSync(
  bin,
  ["exec", "--skip-git-repo-check", "Ready to copy?"],
  {
    encoding: "utf8",
    env: { ...process.env, READBACK_KEY: key },
    stdio: ["ignore", "inherit", "pipe"],
  },
);
// Before the error, it prints its version, its settings, the prompt and its attempts.
const errors = stderr
  .split("\n")
  .filter((line) => line.startsWith("ERROR") && !line.includes("Reconnecting"));
console.error([...new Set(errors)].join("\n"));
process.exitCode = status ?? 1;
