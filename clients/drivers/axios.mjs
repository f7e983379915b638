// program: axios
// environment: node
// package: axios
import axios from "axios";

const [baseURL, apiKey, model] = process.argv.slice(2);
try {
  const { data } = await axios.post(
    `${baseURL}/chat/completions`,
    { model, messages: [{ role: "user", content: "Ready to copy?" }] },
    { headers: { Authorization: `Bearer ${apiKey}` } },
  );
  console.log(data.choices[0].message.content);
} catch (error) {
  console.error(String(error));
  process.exitCode = 1;
}
