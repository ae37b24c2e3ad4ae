"""rpc.py: calls a unary and a streaming method of $BASE by gRPC, and says what came of each."""

import hashlib
import os
import queue

import grpc

target = os.environ["BASE"].removeprefix("https://") + ":443"
channel = grpc.secure_channel(target, grpc.ssl_channel_credentials())


def unary(name, body):
    answer, call = channel.unary_unary(f"/echo.Echo/{name}").with_call(body, timeout=120)
    return answer, dict(call.trailing_metadata()).get("x-trailer")


def talk():
    heard = queue.Queue()

    def words():
        yield b"first"
        heard.get(timeout=120)
        yield b"last"

    call, said = channel.stream_stream("/echo.Echo/Talk")(words(), timeout=120), []
    for word in call:
        said.append(word.decode())
        heard.put(word)
    return " ".join(said), dict(call.trailing_metadata()).get("x-trailer")


for step in os.environ["STEPS"].split():
    if step == "unary":
        answer, trailer = unary("Unary", open("posted", "rb").read())
        value = hashlib.sha256(answer).hexdigest()
    elif step == "talk":
        value, trailer = talk()
    elif step == "fails":
        try:
            unary("Fails", b"begin")
        except grpc.RpcError as error:
            trailer, value = error.code().name, error.details()
    else:
        call = channel.unary_stream("/echo.Echo/Stream")(b"begin", timeout=120)
        words = []
        for word in call:
            words.append(word.decode())
            if len(words) == 1:
                unary("Seen", b"seen")
        value = " ".join(words)
        trailer = dict(call.trailing_metadata()).get("x-trailer")
    print(step, "-", trailer, value)
