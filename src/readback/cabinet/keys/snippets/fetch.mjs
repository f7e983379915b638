const answer = await fetch("<BASE_URL>/chat/completions", {
  method: "POST",
  headers: {
    Authorization: "Bearer <API_KEY>",
    "Content-Type": "application/json",
  },
  body: JSON.stringify({
    model: "<MODEL>",
    messages: [{ role: "user", content: "Ready to copy?" }],
  }),
});
if (!answer.ok) throw new Error(answer.headers.get("X-Error-Detail"));
console.log((await answer.json()).choices[0].message.content);
