"""An HTTP and an HTTPS server (HTTP/1.1) on loopback that read strictly and write down what they read.

raw_origin.py ANSWERS CERTIFICATE KEY LOG

Each request is a line of the log, `METHOD target`; what no careful client would write is a line that
begins with `BAD`. A request for `/answer/NAME` gets the bytes of the file NAME of the folder ANSWERS, and
the connection ends; one for `/early` gets those of `early` before its body is read; one for `/open` gets
the number of connections that are open, and one for `/settled`, which is the test's own and on no line, gets
it as well; every other one gets `ok`. Prints both ports and ends when its standard input does.
"""

import pathlib
import socketserver
import ssl
import sys
import threading

ANSWERS, CERTIFICATE, KEY, LOG = map(pathlib.Path, sys.argv[1:])
LOCK = threading.Lock()
OPEN = set()


def note(line):
    with LOCK, LOG.open("a") as log:
        log.write(line + "\n")


class Handler(socketserver.StreamRequestHandler):
    timeout = 120

    def handle(self):
        try:
            while self.one():
                pass
        except (OSError, ValueError, IndexError) as error:
            if not isinstance(error, OSError):
                note(f"BAD {error!r}")

    def line(self):
        line = self.rfile.readline(1 << 20)
        if not line.endswith(b"\n"):
            raise OSError("it was cut off")
        if not line.endswith(b"\r\n"):
            raise ValueError(line)
        return line[:-2]

    def one(self):
        first = self.line()
        method, target, version = first.decode("latin1").split(" ")
        if target != "/settled":
            note(f"{method} {target}")
        headers = []
        while line := self.line():
            name, value = line.decode("latin1").split(":", 1)
            headers.append((name.lower(), value.strip().lower()))
        values = lambda name: [v for n, v in headers if n == name]
        length, coding = values("content-length"), values("transfer-encoding")
        named = ",".join(values("connection")).replace(" ", "").split(",")
        if version != "HTTP/1.1" or len(values("host")) != 1 or len(length) + len(coding) > 1:
            raise ValueError(f"head {first} {headers}")
        if {"host", "content-length", "transfer-encoding"} & set(named):
            raise ValueError(f"connection {named}")
        if {"h2c", "tls/1.0"} & set(values("upgrade")) or coding not in ([], ["chunked"]):
            raise ValueError(f"{headers}")
        if target == "/early":
            self.wfile.write((ANSWERS / "early").read_bytes())
        if length:
            self.rfile.read(int(length[0]))
        while coding:
            size = int(self.line(), 16)
            if size == 0:
                while trailer := self.line():
                    if trailer.lower().split(b":")[0] in (b"host", b"content-length"):
                        raise ValueError(trailer)
                break
            self.rfile.read(size)
            if self.line():
                raise ValueError("chunk")
        if target.startswith("/answer/"):
            self.wfile.write((ANSWERS / target[8:]).read_bytes())
            return False
        if target == "/early":
            return True
        body = b"%d\n" % len(OPEN) if target in ("/open", "/settled") else b"ok\n"
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
        self.wfile.write(head + (b"" if method == "HEAD" else body))
        return True


class Secure(Handler):
    def setup(self):
        self.request = CONTEXT.wrap_socket(self.request, server_side=True)
        super().setup()


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128

    def finish_request(self, request, address):
        # Before it is agreed on TLS: what was sent on a connection that is not counted is written down.
        OPEN.add(request)
        try:
            super().finish_request(request, address)
        finally:
            OPEN.discard(request)

    def handle_error(self, request, address):
        pass


CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
CONTEXT.load_cert_chain(CERTIFICATE, KEY)
CONTEXT.set_alpn_protocols(["http/1.1"])
SERVERS = [Server(("127.0.0.1", 0), kind) for kind in (Handler, Secure)]
for server in SERVERS:
    threading.Thread(target=server.serve_forever, daemon=True).start()
print(*(server.server_address[1] for server in SERVERS), flush=True)
sys.stdin.read()
