# pip install litellm
import litellm

answer = litellm.completion(
    model="openai/<MODEL>",
    api_base="<BASE_URL>",
    api_key="<API_KEY>",
    messages=[{"role": "user", "content": "Ready to copy?"}],
    # Asks for errors that explain what to change.
    extra_headers={"Prefer": "explain"},
)
print(answer.choices[0].message.content)
