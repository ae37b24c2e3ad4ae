"""fetch.py requests|httpx|httpx-http2|aiohttp: does $STEPS against $BASE, and says what came of each."""

import asyncio
import hashlib
import os
import sys

BASE = os.environ["BASE"]
NAMES = {"HTTP/2": "h2", "HTTP/1.1": "h1", 11: "h1", (1, 1): "h1"}


class Requests:
    def __init__(self):
        import requests

        self.session = requests.Session()

    def ask(self, method, path, headers, body):
        answer = self.session.request(method, BASE + path, headers=headers, data=body)
        return answer.raw.version, answer.status_code, answer.headers, answer.content

    def lines(self, path):
        answer = self.session.get(BASE + path, stream=True)
        yield answer.raw.version
        yield from answer.iter_lines(chunk_size=1, decode_unicode=True)


class Httpx:
    def __init__(self, http2):
        import httpx

        self.client = httpx.Client(http2=http2, timeout=120)

    def ask(self, method, path, headers, body):
        answer = self.client.request(method, BASE + path, headers=headers, content=body)
        return answer.http_version, answer.status_code, answer.headers, answer.content

    def lines(self, path):
        with self.client.stream("GET", BASE + path) as answer:
            yield answer.http_version
            yield from answer.iter_lines()


class Aiohttp:
    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.session = self.loop.run_until_complete(self.open())

    async def open(self):
        import aiohttp

        return aiohttp.ClientSession()

    async def asked(self, method, path, headers, body):
        async with self.session.request(method, BASE + path, headers=headers, data=body) as answer:
            return tuple(answer.version), answer.status, answer.headers, await answer.read()

    def ask(self, *words):
        return self.loop.run_until_complete(self.asked(*words))

    def lines(self, path):
        answer = self.loop.run_until_complete(self.session.get(BASE + path).__aenter__())
        yield tuple(answer.version)
        while line := self.loop.run_until_complete(answer.content.readline()):
            yield line.decode()


KINDS = {
    "requests": Requests,
    "httpx": lambda: Httpx(False),
    "httpx-http2": lambda: Httpx(True),
    "aiohttp": Aiohttp,
}
STEPS = {
    "large": ("GET", "/large", {}, None),
    "gzip": ("GET", "/gzip", {}, None),
    "chunked": ("GET", "/chunked", {}, None),
    "range": ("GET", "/large", {"Range": "bytes=1000-1999"}, None),
    "head": ("HEAD", "/large", {}, None),
    "echo": ("POST", "/echo", {}, open("posted", "rb").read()),
}

client = KINDS[sys.argv[1]]()
for step in os.environ["STEPS"].split():
    if step == "events":
        lines = client.lines("/events")
        protocol, status, words = next(lines), 200, []
        for line in lines:
            if line.startswith("data: "):
                words.append(line[6:].strip())
                if len(words) == 1:
                    client.ask("POST", "/seen", {}, b"")
        value = " ".join(words)
    else:
        protocol, status, headers, body = client.ask(*STEPS[step])
        value = headers["content-length"] if step == "head" else hashlib.sha256(body).hexdigest()
    print(step, NAMES[protocol], status, value)
if isinstance(client, Aiohttp):
    client.loop.run_until_complete(client.session.close())
