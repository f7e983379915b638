# --include shows the headers: X-Error-Detail explains a refusal.
curl --include <BASE_URL>/chat/completions \
  -H "Authorization: Bearer <API_KEY>" \
  -H "Content-Type: application/json" \
  -d '{"model": "<MODEL>",
       "messages": [{"role": "user", "content": "Ready to copy?"}]}'
