"""The two servers of the demonstration: HTTP and HTTPS, on loopback, on free ports.

server.py SITES CERTIFICATE KEY    prints both ports, and ends when its standard input does
"""

import functools
import http.server
import ssl
import sys
import threading

sites, certificate, key = sys.argv[1:]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(site, context=None):
    handler = functools.partial(Quiet, directory=f"{sites}/{site}")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain(certificate, key)
print(serve("notes.test"), serve("packages.test", tls), flush=True)
sys.stdin.read()
