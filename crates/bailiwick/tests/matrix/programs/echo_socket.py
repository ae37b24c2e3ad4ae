"""echo_socket.py websockets|aiohttp: sends a text and bytes to a WebSocket, and says what came back."""

import asyncio
import hashlib
import os
import sys

URL = os.environ["BASE"].replace("https", "wss") + "/websocket"
POSTED = open("posted", "rb").read()


async def with_websockets():
    import websockets

    async with websockets.connect(URL, max_size=None) as socket:
        await socket.send("hello")
        text = await socket.recv()
        await socket.send(POSTED)
        return text, await socket.recv()


async def with_aiohttp():
    import aiohttp

    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(URL, max_msg_size=0) as socket:
            await socket.send_str("hello")
            text = await socket.receive_str()
            await socket.send_bytes(POSTED)
            return text, await socket.receive_bytes()


kind = {"websockets": with_websockets, "aiohttp": with_aiohttp}[sys.argv[1]]
text, body = asyncio.run(kind())
print("websocket - 101", text, hashlib.sha256(body).hexdigest())
