// npm install ai @ai-sdk/openai-compatible
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText } from "ai";

const readback = createOpenAICompatible({
  name: "readback",
  baseURL: "<BASE_URL>",
  apiKey: "<API_KEY>",
  // Asks for errors that explain what to change.
  headers: { Prefer: "explain" },
});
const { text } = await generateText({
  model: readback("<MODEL>"),
  prompt: "Ready to copy?",
});
console.log(text);
