//! JSON with comments and trailing commas as plain JSON, byte by byte: what a library can read.

/// The text without comments and without a comma before a closing bracket.
pub fn plain(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut kept: Vec<char> = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('"', _) => {
                kept.push(c);
                string(&mut rest, &mut kept);
            }
            ('/', Some('/')) => while rest.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) => {
                rest.next();
                let mut last = ' ';
                for c in rest.by_ref() {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
                kept.push(' ');
            }
            (']' | '}', _) => {
                let comma = kept.iter().rposition(|c| !" \t\r\n".contains(*c));
                if let Some(at) = comma.filter(|at| kept[*at] == ',') {
                    kept.remove(at);
                }
                kept.push(c);
            }
            _ => kept.push(c),
        }
    }
    kept.into_iter().collect()
}

fn string(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, kept: &mut Vec<char>) {
    while let Some(c) = rest.next() {
        kept.push(c);
        match c {
            '"' => return,
            '\\' => kept.extend(rest.next()),
            _ => {}
        }
    }
}
