//! Files of a folder for each name, and bare repositories by git's own server program.

use super::Served;
use super::answer::{Answer, full};
use crate::support::host_command;
use hyper::Response;
use hyper::body::Bytes;
use hyper::http::request::Parts;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

pub(super) async fn answer(served: &Served, parts: Parts, body: Bytes) -> Answer {
    let host = match parts.uri.authority() {
        Some(authority) => authority.as_str().to_owned(),
        None => parts.headers["host"].to_str().unwrap().to_owned(),
    };
    let root = served.sites.join(host);
    if parts.uri.path().contains(".git/") {
        return tokio::task::spawn_blocking(move || git(&root, &parts, &body))
            .await
            .unwrap();
    }
    let mut path = root.join(parts.uri.path().trim_start_matches('/'));
    if path.is_dir() {
        path.push("index.html");
    }
    let Ok(content) = std::fs::read(&path) else {
        return full(404, "no such file\n");
    };
    let mut answer = full(200, content);
    let kind = match path.extension().and_then(|name| name.to_str()) {
        Some("html") => "text/html",
        Some("json") => "application/json",
        _ => "application/octet-stream",
    };
    answer
        .headers_mut()
        .insert("content-type", kind.parse().unwrap());
    answer
}

/// It speaks CGI.
fn git(root: &Path, parts: &Parts, body: &[u8]) -> Answer {
    let header = |name: &str| parts.headers.get(name).map_or("", |v| v.to_str().unwrap());
    let mut git = host_command("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        // The repositories may belong to another user than the server's.
        .env("GIT_CONFIG_COUNT", "2")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*")
        .env("GIT_CONFIG_KEY_1", "http.receivepack")
        .env("GIT_CONFIG_VALUE_1", "true")
        .env("PATH_INFO", parts.uri.path())
        .env("QUERY_STRING", parts.uri.query().unwrap_or(""))
        .env("REQUEST_METHOD", parts.method.as_str())
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .env("REMOTE_ADDR", "127.0.0.1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = git.stdin.take().unwrap();
    let body = body.to_vec();
    std::thread::spawn(move || drop(stdin.write_all(&body)));
    let said = git.wait_with_output().unwrap().stdout;
    let end = said.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    let mut answer = Response::builder();
    for line in String::from_utf8_lossy(&said[..end]).lines() {
        let (name, value) = line.split_once(": ").unwrap();
        answer = match name {
            "Status" => answer.status(value[..3].parse::<u16>().unwrap()),
            _ => answer.header(name, value),
        };
    }
    let content = full(200, said[end + 4..].to_vec()).into_body();
    answer.body(content).unwrap()
}
