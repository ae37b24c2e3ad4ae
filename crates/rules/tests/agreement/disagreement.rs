//! What is said of a condition about which the two do not agree.

use crate::agree;
use bailiwick_event::fields::Record;
use bailiwick_rules::Program;

pub(crate) fn panic(seed: u64, text: &str, program: &Program, record: &Record<'_>) -> ! {
    let subject = record.subject();
    let (fast, slow) = (program.run(&subject), program.evaluate(&subject));
    let smallest = smallest(program, record);
    panic!(
        "BAILIWICK_SEED={seed}: the two do not agree\n\
         condition: {text}\n\
         event: {}\n\
         label.entropy {:?}, cost {:?}\n\
         made fast: {fast:?}\n\
         evaluator: {slow:?}\n\
         smallest part that differs: {smallest}",
        record.to_line(),
        record.dns_request.label_entropy,
        record.model_response.cost,
    );
}

/// The shortest part that is a condition by itself about which they do not agree either.
fn smallest(program: &Program, record: &Record<'_>) -> String {
    let ast = program.ast();
    let whole = ast.show(ast.root());
    let subject = record.subject();
    let differs = |text: &String| {
        Program::compile(text, None)
            .is_ok_and(|part| !agree(part.run(&subject), &part.evaluate(&subject)))
    };
    let mut parts = Vec::new();
    let mut waiting = vec![ast.root()];
    while let Some(id) = waiting.pop() {
        parts.push(ast.show(id));
        ast.children(id, |child| waiting.push(child));
    }
    parts.retain(differs);
    parts.into_iter().min_by_key(String::len).unwrap_or(whole)
}
