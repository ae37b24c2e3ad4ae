"""Sends each row of a corpus on a connection of its own; prints its name and the statuses of the answers.

client.py plain|tls HOST ROWS
"""

import concurrent.futures
import re
import socket
import ssl
import sys

kind, host, rows = sys.argv[1:]
# As long as answers are still to come, and where none has to come any more: by that alone it can be told
# that the gate says nothing more on a connection that it leaves open. A slow machine says less.
TO_COME, NO_MORE = 60, 2


def connect():
    stream = socket.create_connection((host, 80 if kind == "plain" else 443), timeout=TO_COME)
    if kind == "tls":
        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        stream = context.wrap_socket(stream, server_hostname=host)
    return stream


def statuses(got):
    found = re.findall(rb"HTTP/1\.[01] (\d\d\d)", got)
    return " ".join(code.decode() for code in found) or "-"


def send(line):
    name, expected, _, text = line.rstrip("\n").split("\t")
    data = text.replace("{HOST}", host).encode("latin1").decode("unicode_escape").encode("latin1")
    got, stream = b"", connect()
    try:
        stream.sendall(data)
        if kind == "plain":
            stream.shutdown(socket.SHUT_WR)
        while True:
            stream.settimeout(NO_MORE if statuses(got) in expected.split("/") else TO_COME)
            part = stream.recv(65536)
            if not part:
                break
            got += part
    except OSError:
        pass
    return name + "\t" + statuses(got)


with concurrent.futures.ThreadPoolExecutor(8) as pool:
    lines = [line for line in open(rows) if line.strip() and not line.startswith("#")]
    for said in pool.map(send, lines):
        print(said)
