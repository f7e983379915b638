#!/usr/bin/env python3
"""instructor, which asks for an answer of a given type."""
# program: instructor
# environment: instructor
# package: instructor

import sys

import instructor
from openai import OpenAI
from pydantic import BaseModel


class Echo(BaseModel):
    text: str


base_url, api_key, model, variant = sys.argv[1:]
client = instructor.from_openai(OpenAI(base_url=base_url, api_key=api_key))
answer = client.chat.completions.create(
    model=model,
    response_model=None if variant == "settings" else Echo,
    messages=[{"role": "user", "content": "Ready to copy?"}],
)
print(answer.choices[0].message.content if variant == "settings" else answer.text)
