"""Sends each row of a corpus of HTTP/2 heads on a connection of its own; prints its name and what came:
a status, `reset`, or `end` where the connection ended.

client.py HOST ROWS
"""

import socket
import ssl
import struct
import sys

import hpack

host, rows = sys.argv[1:]
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def unescaped(text):
    return text.replace("{HOST}", host).encode("latin1").decode("unicode_escape").encode("latin1")


def send(line):
    name, _, _, text = line.rstrip("\n").split("\t")
    heads, _, body = text.partition(" | ")
    fields = [tuple(unescaped(part) for part in field.split("=", 1)) for field in heads.split(" & ")]
    context = ssl.create_default_context()
    context.set_alpn_protocols(["h2"])
    stream = context.wrap_socket(socket.create_connection((host, 443), timeout=60), server_hostname=host)
    assert stream.selected_alpn_protocol() == "h2"
    block = hpack.Encoder().encode(fields)
    end = 0 if body else 1
    data = PREFACE + frame(4, 0, 0) + frame(1, 4 | end, 1, block)
    if body:
        data += frame(0, 1, 1, unescaped(body))
    stream.sendall(data)
    decoder, got = hpack.Decoder(), b""
    try:
        while True:
            while len(got) < 9 or len(got) < 9 + int.from_bytes(got[:3], "big"):
                part = stream.recv(65536)
                if not part:
                    return "end"
                got += part
            length = int.from_bytes(got[:3], "big")
            kind, number, payload = got[3], int.from_bytes(got[5:9], "big"), got[9 : 9 + length]
            got = got[9 + length :]
            if kind == 1 and number == 1:
                return dict(decoder.decode(payload))[":status"]
            if kind == 3 and number == 1:
                return "reset"
            if kind == 7:
                return "end"
            if kind == 4 and length:
                stream.sendall(frame(4, 1, 0))
    except OSError as error:
        return "end"


for line in open(rows):
    if line.strip() and not line.startswith("#"):
        print(line.split("\t")[0], send(line), sep="\t", flush=True)
