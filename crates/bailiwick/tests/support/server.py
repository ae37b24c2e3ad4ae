"""An HTTP and an HTTPS server on loopback that write down every request before they answer it.

server.py SITES CERTIFICATE KEY LOG

SITES has one folder per host name. Bare repositories (NAME.git) below it are served by
`git http-backend`. The HTTP port is a forward proxy too (absolute URIs and CONNECT), so that a
client reaches the same names with and without a sandbox. Prints both ports and ends when its
standard input does.
"""

import http.server
import os
import pathlib
import socket
import socketserver
import ssl
import subprocess
import sys
import threading
import urllib.parse

SITES, CERTIFICATE, KEY, LOG = map(pathlib.Path, sys.argv[1:])
LOCK = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # A client that dies in the middle must not keep a thread for ever.
    timeout = 120
    scheme = "http"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.serve()

    do_HEAD = do_POST = do_PUT = do_GET

    def serve(self):
        url = urllib.parse.urlsplit(self.path)
        authority = url.netloc or self.headers.get("Host", "")
        host = authority.rsplit(":", 1)[0] if ":" in authority else authority
        target = url.path + ("?" + url.query if url.query else "")
        with LOCK, LOG.open("a") as log:
            log.write(f"{self.command} {self.scheme}://{host}{target}\n")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        # A chunked body is not read, so the connection cannot be used again.
        self.close_connection |= "chunked" in self.headers.get("Transfer-Encoding", "")
        if ".git/" in url.path:
            return self.git(host, url, body)
        root = SITES / host
        path = (root / urllib.parse.unquote(url.path).lstrip("/")).resolve()
        if path.is_dir():
            path = path / "index.html"
        if root not in path.parents or not path.is_file():
            return self.answer(404, "text/plain", b"no such file\n")
        kind = {".html": "text/html", ".json": "application/json"}.get(
            path.suffix, "application/octet-stream"
        )
        self.answer(200, kind, path.read_bytes())

    def git(self, host, url, body):
        """Answers by git's own server program, which speaks CGI."""
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(SITES / host),
            "GIT_HTTP_EXPORT_ALL": "1",
            # The repositories may belong to another user than the server's.
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "PATH_INFO": url.path,
            "QUERY_STRING": url.query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }
        done = subprocess.run(
            ["git", "http-backend"], input=body, env=environment, capture_output=True, timeout=120
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        status, kind = 200, "text/plain"
        for line in head.decode().split("\r\n"):
            name, _, value = line.partition(": ")
            if name == "Status":
                status = int(value.split()[0])
            if name == "Content-Type":
                kind = value
        self.answer(status, kind, content)

    def answer(self, status, kind, content):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def do_CONNECT(self):
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        with socket.create_connection(("127.0.0.1", SECURE.server_address[1])) as upstream:

            def back():
                pump(upstream, self.connection)

            threading.Thread(target=back, daemon=True).start()
            pump(self.connection, upstream)


class SecureHandler(Handler):
    scheme = "https"

    def setup(self):
        # Here and not in the accepting thread: one slow handshake must not hold up the others.
        self.request = CONTEXT.wrap_socket(self.request, server_side=True)
        super().setup()

    def do_CONNECT(self):
        self.answer(405, "text/plain", b"not a proxy\n")


def pump(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, address):
        # A client that goes away, or that refuses the certificate, is the test's matter.
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, address)


CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
CONTEXT.load_cert_chain(CERTIFICATE, KEY)
PLAIN = Server(("127.0.0.1", 0), Handler)
SECURE = Server(("127.0.0.1", 0), SecureHandler)
for server in PLAIN, SECURE:
    threading.Thread(target=server.serve_forever, daemon=True).start()
print(PLAIN.server_address[1], SECURE.server_address[1], flush=True)
sys.stdin.read()
