// program: Vercel AI SDK
// environment: node
// package: @ai-sdk/openai-compatible
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText } from "ai";

const [baseURL, apiKey, model] = process.argv.slice(2);
const provider = createOpenAICompatible({ name: "readback", baseURL, apiKey });
try {
  const { text } = await generateText({
    model: provider(model),
    prompt: "Ready to copy?",
  });
  console.log(text);
} catch (error) {
  console.error(String(error));
  process.exitCode = 1;
}
