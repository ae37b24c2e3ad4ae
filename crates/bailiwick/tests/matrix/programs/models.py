"""models.py openai|anthropic: makes the model calls of $STEPS to $BASE with the maker's SDK."""

import os
import sys
import urllib.request

BASE = os.environ["BASE"]
ASKED = [{"role": "user", "content": "hello"}]
NAMES = {"HTTP/2": "h2", "HTTP/1.1": "h1"}


def seen():
    request = urllib.request.Request(BASE + "/seen", data=b"", method="POST")
    urllib.request.urlopen(request).read()


if sys.argv[1] == "openai":
    import openai

    client = openai.OpenAI(base_url=BASE + "/v1", api_key="none", max_retries=0)
    chat, responses = client.chat.completions, client.responses
    calls = {
        "chat": (chat, {"messages": ASKED}, lambda a: a.choices[0].message.content),
        "responses": (responses, {"input": "hello"}, lambda a: a.output_text),
    }
    deltas = {
        "chat": lambda event: event.choices[0].delta.content or "",
        "responses": lambda event: event.delta if event.type.endswith("text.delta") else "",
    }
else:
    import anthropic

    client = anthropic.Anthropic(base_url=BASE, api_key="none", max_retries=0)
    asked = {"messages": ASKED, "max_tokens": 16}
    calls = {"messages": (client.messages, asked, lambda a: a.content[0].text)}
    deltas = {"messages": lambda event: event.delta.text if event.type == "content_block_delta" else ""}

for step in os.environ["STEPS"].split():
    name = step.removesuffix("-stream")
    resource, words, text = calls[name]
    if name == step:
        raw = resource.with_raw_response.create(model="mock", **words)
        answer, value = raw.http_response, text(raw.parse())
    else:
        stream, value = resource.create(model="mock", stream=True, **words), ""
        for event in stream:
            before, value = value, value + deltas[name](event)
            if value and not before:
                seen()
        answer = stream.response
    print(step, NAMES[answer.http_version], answer.status_code, value)
