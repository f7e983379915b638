// program: LangChain (JavaScript)
// environment: node
// package: @langchain/openai
import { ChatOpenAI } from "@langchain/openai";

const [baseURL, apiKey, model] = process.argv.slice(2);
const chat = new ChatOpenAI({ model, apiKey, configuration: { baseURL } });
try {
  const answer = await chat.invoke("Ready to copy?");
  console.log(answer.content);
} catch (error) {
  console.error(String(error));
  process.exitCode = 1;
}
