// program: openai (Node)
// environment: node
// package: openai
import OpenAI from "openai";

const [baseURL, apiKey, model] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey });
try {
  const completion = await client.chat.completions.create({
    model,
    messages: [{ role: "user", content: "Ready to copy?" }],
  });
  console.log(completion.choices[0].message.content);
} catch (error) {
  console.error(String(error));
  process.exitCode = 1;
}
