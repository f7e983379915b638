# pip install openai
from openai import OpenAI

client = OpenAI(base_url="<BASE_URL>", api_key="<API_KEY>")
answer = client.chat.completions.create(
    model="<MODEL>",
    messages=[{"role": "user", "content": "Ready to copy?"}],
)
print(answer.choices[0].message.content)
