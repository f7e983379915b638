// program: Qwen Code
// environment: node-agents
// package: @qwen-code/qwen-code
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const [baseUrl, key, model] = process.argv.slice(2);
const bin = join(import.meta.dirname, "node_modules", ".bin", "qwen");
const { status } = spawnSync(
  bin,
  ["--auth-type", "openai", "-p", "Ready to copy?"],
  {
    env: {
      ...process.env,
      OPENAI_API_KEY: key,
      OPENAI_BASE_URL: baseUrl,
      OPENAI_MODEL: model,
    },
    stdio: "inherit",
  },
);
process.exitCode = status ?? 1;
