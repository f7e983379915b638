// npm install openai
import OpenAI from "openai";

const client = new OpenAI({
  baseURL: "<BASE_URL>",
  apiKey: "<API_KEY>",
  // Asks for errors that explain what to change.
  defaultHeaders: { Prefer: "explain" },
});
const answer = await client.chat.completions.create({
  model: "<MODEL>",
  messages: [{ role: "user", content: "Ready to copy?" }],
});
console.log(answer.choices[0].message.content);
