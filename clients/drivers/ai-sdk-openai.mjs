// program: Vercel AI SDK with @ai-sdk/openai
// environment: node
// package: @ai-sdk/openai
import { createOpenAI } from "@ai-sdk/openai";
import { generateText } from "ai";

const [baseURL, apiKey, model, variant] = process.argv.slice(2);
const openai = createOpenAI({ baseURL, apiKey });
try {
  const { text } = await generateText({
    model: variant === "settings" ? openai.chat(model) : openai(model),
    prompt: "Ready to copy?",
  });
  console.log(text);
} catch (error) {
  console.error(String(error));
  process.exitCode = 1;
}
