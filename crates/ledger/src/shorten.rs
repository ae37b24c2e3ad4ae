//! A row has a greatest size. A program chooses its names and arguments, so without one it could
//! fill the journal with a single act and keep what follows from being recorded. What is cut is
//! marked in the text itself: a shortened name never looks like a whole one.

use bailiwick_event::{Act, Event, Text, ToolUse};

/// Words of a command line, or addresses of a name, that are kept at the least.
const FEWEST: usize = 4;

/// Cuts every text of the event to about `limit` bytes, and every list in proportion.
pub(crate) fn shorten(event: &mut Event, limit: usize) {
    let items = (limit / 64).max(FEWEST);
    let mut cut_items = 0;
    match &mut event.act {
        Act::SessionStart {
            backend,
            workspace,
            layers,
            policy,
        } => {
            text(workspace, limit);
            string(backend, limit);
            string(policy, limit);
            cut_items = layers.len().saturating_sub(items);
            layers.truncate(items);
            for layer in layers {
                string(layer, limit);
            }
        }
        Act::Executed {
            executable,
            argv,
            cwd,
            ..
        } => {
            text(executable, limit);
            shorten_argv(argv, limit);
            text(cwd, limit);
        }
        Act::ExecStart { argv, cwd } | Act::Enter { argv, cwd, .. } => {
            shorten_argv(argv, limit);
            text(cwd, limit);
        }
        Act::Dns { qname, qtype, .. } => {
            text(qname, limit);
            string(qtype, limit);
        }
        Act::DnsResponse {
            qname,
            qtype,
            code,
            answers,
            ..
        } => {
            text(qname, limit);
            string(qtype, limit);
            string(code, limit);
            cut_items = answers.len().saturating_sub(items);
            answers.truncate(items);
            // Many records cost as much as a long one.
            let each = (limit / answers.len().max(1)).max(64);
            for answer in answers {
                text(answer, each);
            }
        }
        Act::Connect { host, .. } => text(host, limit),
        Act::Caller { program, host, .. } => {
            text(program, limit);
            text(host, limit);
        }
        Act::Resolved {
            host, addresses, ..
        } => {
            text(host, limit);
            cut_items = addresses.len().saturating_sub(items);
            addresses.truncate(items);
        }
        Act::Tls { sni, host, .. } => {
            if let Some(sni) = sni {
                text(sni, limit);
            }
            text(host, limit);
        }
        Act::Http {
            method,
            host,
            connected,
            path,
            ..
        } => {
            for field in [method, host, connected, path] {
                text(field, limit);
            }
        }
        Act::HttpResponse {
            method,
            host,
            connected,
            path,
            content_type,
            problem,
            ..
        } => {
            let all = [method, host, connected, path];
            for field in all.into_iter().chain(content_type).chain(problem) {
                text(field, limit);
            }
        }
        Act::Answered { about, answer, .. } => {
            text(about, limit);
            string(answer, limit);
        }
        Act::SecretUsed {
            name, host, place, ..
        } => {
            text(name, limit);
            text(host, limit);
            string(place, limit);
        }
        Act::ModelRequest(call) => {
            string(&mut call.provider, limit);
            call.model.iter_mut().for_each(|model| text(model, limit));
            cut_items = call.tools.len().saturating_sub(items);
            call.tools.truncate(items);
            call.tools
                .iter_mut()
                .for_each(|tool| text(tool, limit / items));
            cut_items += tool_uses(&mut call.results, limit, items);
        }
        Act::ModelResponse(answer) => {
            string(&mut answer.provider, limit);
            let all = [&mut answer.model, &mut answer.stop, &mut answer.error];
            all.into_iter()
                .flatten()
                .for_each(|field| text(field, limit));
            cut_items = tool_uses(&mut answer.tools, limit, items);
        }
        Act::Write { operation, path } => {
            string(operation, limit);
            text(path, limit);
        }
        Act::Left { path, .. } => text(path, limit),
        Act::Finding { about, .. } => text(about, limit),
        Act::Rules { rule, .. } => text(rule, limit),
        Act::GoesOn { session } => text(session, limit),
        Act::SessionEnd { .. }
        | Act::Overflow { .. }
        | Act::ExecExit { .. }
        | Act::Leave { .. }
        | Act::Saved { .. }
        | Act::Limit { .. } => {}
    }
    string(&mut event.decision.reason, limit);
    string(&mut event.decision.remedy, limit);
    string(&mut event.decision.rule.id, limit);
    let matched = &mut event.decision.matched;
    cut_items += matched.len().saturating_sub(items);
    matched.truncate(items);
    for field in matched {
        string(&mut field.value, limit);
    }
    if cut_items > 0 {
        let mark = format!(" [the row leaves out {cut_items} more items]");
        event.decision.reason.push_str(&mark);
    }
}

/// Cuts a command line: long words, and words beyond a number that follows from `limit`.
pub(crate) fn shorten_argv(argv: &mut Vec<Text>, limit: usize) {
    let items = (limit / 64).max(FEWEST);
    if argv.len() > items {
        let cut = argv.len() - items;
        argv.truncate(items);
        argv.push(Text::from(format!("…[{cut} more words]")));
    }
    // Many short words cost as much as a few long ones.
    let each = (limit / argv.len().max(1)).max(64);
    for word in argv {
        text(word, each);
    }
}

/// Cuts uses of tools; gives how many were left out.
fn tool_uses(uses: &mut Vec<ToolUse>, limit: usize, items: usize) -> usize {
    let cut = uses.len().saturating_sub(items);
    uses.truncate(items);
    for tool in uses {
        for field in [&mut tool.id, &mut tool.name].into_iter().flatten() {
            text(field, limit / items);
        }
    }
    cut
}

fn text(text: &mut Text, limit: usize) {
    let len = text.as_bytes().len();
    if len > limit {
        *text = Text::from(cut(text.as_bytes(), limit));
    }
}

fn string(string: &mut String, limit: usize) {
    if string.len() > limit {
        *string = String::from_utf8_lossy(&cut(string.as_bytes(), limit)).into_owned();
    }
}

fn cut(bytes: &[u8], limit: usize) -> Vec<u8> {
    let mut end = limit;
    // A character that is cut in two would turn the whole text into hexadecimal.
    while end > limit.saturating_sub(3) && bytes[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    let mut kept = bytes[..end].to_vec();
    kept.extend_from_slice(format!("…[{} more bytes]", bytes.len() - end).as_bytes());
    kept
}

#[cfg(test)]
#[path = "shorten_tests.rs"]
mod tests;
