# pip install openai
import openai

client = openai.OpenAI(base_url="<BASE_URL>", api_key="<API_KEY>")
try:
    answer = client.chat.completions.create(
        model="<MODEL>",
        messages=[{"role": "user", "content": "Ready to copy?"}],
    )
except openai.APIStatusError as error:
    print(error.response.headers.get("X-Error-Detail"))
    raise
print(answer.choices[0].message.content)
