# pip install litellm
import litellm

answer = litellm.completion(
    model="openai/<MODEL>",
    api_base="<BASE_URL>",
    api_key="<API_KEY>",
    messages=[{"role": "user", "content": "Ready to copy?"}],
    # An error then says what to change.
    extra_headers={"Prefer": "explain"},
)
print(answer.choices[0].message.content)
