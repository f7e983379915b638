# pip install langchain-openai
from langchain_openai import ChatOpenAI

llm = ChatOpenAI(
    base_url="<BASE_URL>",
    api_key="<API_KEY>",
    model="<MODEL>",
    # Asks for errors that explain what to change.
    default_headers={"Prefer": "explain"},
)
print(llm.invoke("Ready to copy?").content)
