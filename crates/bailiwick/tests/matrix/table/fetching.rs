//! Clients and libraries that ask for whatever they are told to.

use crate::cell::Cell::Not;
use crate::cell::Speaks::{Http1, Http2};
use crate::cell::{Cell, Needs, Row, mute, says};
use crate::step::Step::{
    self, Chunked, Echo, Events, Fails, Gzip, Head, Headers, Large, Range, Stream, Streamed, Talk,
    Together, Unary, WebSocket, Whole,
};

/// What every client does that reads what comes compressed.
const ALL: &[Step] = &[Large, Gzip, Chunked, Range, Head, Echo];
/// The same, and what is asked for at one time.
const MANY: &[Step] = &[Large, Gzip, Chunked, Range, Head, Echo, Together];
/// The same, and what only few can show.
const MOST: &[Step] = &[Large, Gzip, Chunked, Range, Head, Echo, Together, Headers];
const EVENTS: &[Step] = &[Events];
const SOCKET: &[Step] = &[WebSocket];

/// `h1.test` has no HTTP/2, `none.test` no ALPN, so there the server chooses; at `h2.test` it is the
/// client.
const H1: &[&str] = &["h1.test"];
const H2: &[&str] = &["h2.test"];
const NONE: &[&str] = &["none.test"];
/// This one ends a connection after a few requests.
const BRIEF: &[&str] = &["brief.test"];

const NOT_SPOKEN: Cell = Not("not spoken");
const SDK_SOCKET: Cell = Not("model calls need none; not tested");

pub(super) const ROWS: [Row; 16] = [
    Row {
        client: "curl",
        needs: Needs {
            installed: "curl --version",
            programs: &["curl.sh"],
            trust: &["CURL_CA_BUNDLE"],
            ..Needs::NOTHING
        },
        h1: says(Http1, H2, "sh curl.sh --http1.1", MOST),
        h2: says(Http2, H2, "sh curl.sh", MOST),
        websocket: Not("newer versions; not tested"),
        sse: says(Http2, H2, "sh curl.sh", EVENTS),
    },
    Row {
        client: "curl, without the proxy",
        needs: Needs {
            installed: "curl --version",
            programs: &["curl.sh"],
            trust: &["CURL_CA_BUNDLE"],
            ..Needs::NOTHING
        },
        h1: says(Http1, NONE, "sh curl.sh --noproxy '*' --tls-max 1.2", MOST),
        h2: says(Http2, BRIEF, "sh curl.sh --noproxy '*'", MOST),
        websocket: Not("newer versions; not tested"),
        sse: says(Http1, H1, "sh curl.sh --noproxy '*'", EVENTS),
    },
    Row {
        client: "wget",
        needs: Needs {
            installed: "wget --version",
            programs: &["wget.sh"],
            trust: &["ORIGIN_CA"],
            ..Needs::NOTHING
        },
        h1: says(Http1, H2, "sh wget.sh", &[Large, Chunked, Head, Echo]),
        h2: NOT_SPOKEN,
        websocket: NOT_SPOKEN,
        sse: says(Http1, H1, "sh wget.sh", EVENTS),
    },
    Row {
        client: "Node.js fetch",
        needs: Needs {
            installed: "node -e 'fetch'",
            programs: &["fetch.cjs"],
            trust: &["NODE_EXTRA_CA_CERTS"],
            ..Needs::NOTHING
        },
        h1: mute(Http1, BRIEF, "node fetch.cjs fetch", MANY),
        h2: NOT_SPOKEN,
        websocket: Not("from version 22 on; not tested"),
        sse: mute(Http1, H1, "node fetch.cjs fetch", EVENTS),
    },
    Row {
        client: "Node.js http2",
        needs: Needs {
            installed: "node --version",
            programs: &["fetch.cjs"],
            trust: &["NODE_EXTRA_CA_CERTS"],
            ..Needs::NOTHING
        },
        h1: NOT_SPOKEN,
        h2: says(Http2, H2, "node fetch.cjs http2", MANY),
        websocket: NOT_SPOKEN,
        sse: says(Http2, H2, "node fetch.cjs http2", EVENTS),
    },
    Row {
        client: "undici",
        needs: Needs {
            installed: "NODE_PATH=/usr/share/nodejs node -e 'require(\"undici\").request'",
            programs: &["fetch.cjs"],
            environment: &[("NODE_PATH", "/usr/share/nodejs")],
            trust: &["NODE_EXTRA_CA_CERTS"],
            ..Needs::NOTHING
        },
        h1: mute(Http1, H1, "node fetch.cjs undici", MANY),
        h2: Not("newer versions can be told to; not tested"),
        websocket: Not("not tested; ws is"),
        sse: mute(Http1, H1, "node fetch.cjs undici", EVENTS),
    },
    Row {
        client: "ws",
        needs: Needs {
            installed: "NODE_PATH=/usr/share/nodejs node -e 'require(\"ws\").WebSocket'",
            programs: &["fetch.cjs"],
            environment: &[("NODE_PATH", "/usr/share/nodejs")],
            trust: &["NODE_EXTRA_CA_CERTS"],
            ..Needs::NOTHING
        },
        h1: NOT_SPOKEN,
        h2: NOT_SPOKEN,
        websocket: mute(Http1, H1, "node fetch.cjs ws", SOCKET),
        sse: NOT_SPOKEN,
    },
    Row {
        client: "Python requests",
        needs: Needs {
            installed: "/usr/bin/python3 -c 'import requests'",
            programs: &["fetch.py"],
            trust: &["REQUESTS_CA_BUNDLE"],
            ..Needs::NOTHING
        },
        h1: says(Http1, H2, "/usr/bin/python3 fetch.py requests", ALL),
        h2: NOT_SPOKEN,
        websocket: NOT_SPOKEN,
        sse: says(Http1, H2, "/usr/bin/python3 fetch.py requests", EVENTS),
    },
    Row {
        client: "Python httpx",
        needs: Needs {
            installed: "/usr/bin/python3 -c 'import httpx, h2'",
            programs: &["fetch.py"],
            trust: &["SSL_CERT_FILE"],
            ..Needs::NOTHING
        },
        h1: says(Http1, BRIEF, "/usr/bin/python3 fetch.py httpx", ALL),
        h2: says(Http2, H2, "/usr/bin/python3 fetch.py httpx-http2", ALL),
        websocket: NOT_SPOKEN,
        sse: says(Http2, H2, "/usr/bin/python3 fetch.py httpx-http2", EVENTS),
    },
    Row {
        client: "Python aiohttp",
        needs: Needs {
            installed: "/usr/bin/python3 -c 'import aiohttp'",
            programs: &["fetch.py", "echo_socket.py"],
            trust: &["SSL_CERT_FILE"],
            ..Needs::NOTHING
        },
        h1: says(Http1, H2, "/usr/bin/python3 fetch.py aiohttp", ALL),
        h2: NOT_SPOKEN,
        websocket: mute(Http1, H1, "/usr/bin/python3 echo_socket.py aiohttp", SOCKET),
        sse: says(Http1, H2, "/usr/bin/python3 fetch.py aiohttp", EVENTS),
    },
    Row {
        client: "Python websockets",
        needs: Needs {
            installed: "/usr/bin/python3 -c 'import websockets'",
            programs: &["echo_socket.py"],
            trust: &["SSL_CERT_FILE"],
            ..Needs::NOTHING
        },
        h1: NOT_SPOKEN,
        h2: NOT_SPOKEN,
        websocket: mute(
            Http1,
            H1,
            "/usr/bin/python3 echo_socket.py websockets",
            SOCKET,
        ),
        sse: NOT_SPOKEN,
    },
    Row {
        client: "Python grpcio",
        needs: Needs {
            installed: "/usr/bin/python3 -c 'import grpc'",
            programs: &["rpc.py"],
            trust: &["GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"],
            ..Needs::NOTHING
        },
        h1: Not("gRPC is HTTP/2"),
        h2: mute(
            Http2,
            H2,
            "/usr/bin/python3 rpc.py",
            &[Unary, Stream, Talk, Fails],
        ),
        websocket: NOT_SPOKEN,
        sse: Not("streams of gRPC itself"),
    },
    Row {
        client: "Anthropic's SDK",
        needs: Needs {
            installed: "$(\"$SCRIPTS/model-sdks\")/bin/python -c 'import anthropic'",
            programs: &["models.py"],
            reads: Some("\"$SCRIPTS/model-sdks\""),
            trust: &["SSL_CERT_FILE"],
            ..Needs::NOTHING
        },
        h1: says(
            Http1,
            H2,
            "{reads}/bin/python models.py anthropic",
            &[Whole("/v1/messages")],
        ),
        h2: Not("only if told to; not tested"),
        websocket: SDK_SOCKET,
        sse: says(
            Http1,
            H2,
            "{reads}/bin/python models.py anthropic",
            &[Streamed("/v1/messages")],
        ),
    },
    Row {
        client: "OpenAI's SDK",
        needs: Needs {
            installed: "$(\"$SCRIPTS/model-sdks\")/bin/python -c 'import openai'",
            programs: &["models.py"],
            reads: Some("\"$SCRIPTS/model-sdks\""),
            trust: &["SSL_CERT_FILE"],
            ..Needs::NOTHING
        },
        h1: says(
            Http1,
            H2,
            "{reads}/bin/python models.py openai",
            &[Whole("/v1/chat/completions"), Whole("/v1/responses")],
        ),
        h2: Not("only if told to; not tested"),
        websocket: SDK_SOCKET,
        sse: says(
            Http1,
            H2,
            "{reads}/bin/python models.py openai",
            &[Streamed("/v1/chat/completions"), Streamed("/v1/responses")],
        ),
    },
    Row {
        client: "Go net/http",
        needs: Needs {
            installed: "CGO_ENABLED=0 go build -o client-go client.go",
            programs: &["client-go"],
            trust: &["SSL_CERT_FILE"],
            ..Needs::NOTHING
        },
        h1: says(Http1, H2, "./client-go h1", MANY),
        h2: says(Http2, BRIEF, "./client-go h2", MANY),
        websocket: NOT_SPOKEN,
        sse: says(Http2, H2, "./client-go h2", EVENTS),
    },
    Row {
        client: "Java HttpClient",
        needs: Needs {
            installed: "java -version && javac -d java Client.java && cd java && \
                jar --create --file ../client.jar --main-class Client .",
            programs: &["client.jar"],
            trust: &["ORIGIN_CA"],
            ..Needs::NOTHING
        },
        h1: says(Http1, H2, "java -jar client.jar h1", MANY),
        h2: says(Http2, H2, "java -jar client.jar h2", MANY),
        websocket: mute(Http1, H1, "java -jar client.jar h1", SOCKET),
        sse: says(Http2, H2, "java -jar client.jar h2", EVENTS),
    },
];
