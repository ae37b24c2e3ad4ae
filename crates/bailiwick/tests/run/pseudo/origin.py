"""A server of HTTP/2 that answers everything and writes down what it was asked.

origin.py CERTIFICATE KEY LOG

Each request is a line of the log: `METHOD scheme authority path`, then the headers by which it could be
taken for another. Prints its port, and ends when its standard input does.
"""

import socket
import ssl
import sys
import threading

import h2.config
import h2.connection
import h2.events

certificate, key, log = sys.argv[1:]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
context.set_alpn_protocols(["h2"])


def serve(stream):
    # Taken as it comes: what a careless server would read is what matters.
    config = h2.config.H2Configuration(client_side=False, validate_inbound_headers=False, header_encoding="latin1")
    connection = h2.connection.H2Connection(config)
    connection.initiate_connection()
    stream.sendall(connection.data_to_send())
    while data := stream.recv(65536):
        for event in connection.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                seen = dict(event.headers)
                odd = [f"{n}={v}" for n, v in event.headers if n in ("host", "connection", "transfer-encoding", "te")]
                names = [name for name, _ in event.headers if name.startswith(":")]
                if len(names) != len(set(names)):
                    odd.append("twice")
                with open(log, "a") as file:
                    parts = [seen.get(name, "-") for name in (":method", ":scheme", ":authority", ":path")]
                    file.write(" ".join(parts + odd) + "\n")
                connection.send_headers(event.stream_id, [(":status", "200")], end_stream=True)
        stream.sendall(connection.data_to_send())


def accept(listener):
    while True:
        stream, _ = listener.accept()
        threading.Thread(target=guarded, args=(stream,), daemon=True).start()


def guarded(stream):
    try:
        serve(context.wrap_socket(stream, server_side=True))
    except Exception as error:
        print(repr(error), file=sys.stderr)


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
threading.Thread(target=accept, args=(listener,), daemon=True).start()
sys.stdin.read()
