# pip install requests
import requests

answer = requests.post(
    "<BASE_URL>/chat/completions",
    headers={"Authorization": "Bearer <API_KEY>"},
    json={
        "model": "<MODEL>",
        "messages": [{"role": "user", "content": "Ready to copy?"}],
    },
    timeout=30,
)
if not answer.ok:
    raise SystemExit(answer.headers.get("X-Error-Detail"))
print(answer.json()["choices"][0]["message"]["content"])
