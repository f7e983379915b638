// program: fetch (Node)
// environment: node
const [baseURL, apiKey, model] = process.argv.slice(2);
try {
  const response = await fetch(`${baseURL}/chat/completions`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${apiKey}`,
      "Content-Type": "application/json",
    },
    body: JSON.stringify({
      model,
      messages: [{ role: "user", content: "Ready to copy?" }],
    }),
  });
  if (!response.ok) throw new Error(`Response status: ${response.status}`);
  const completion = await response.json();
  console.log(completion.choices[0].message.content);
} catch (error) {
  console.error(String(error));
  process.exitCode = 1;
}
