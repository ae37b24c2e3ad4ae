//! A condition, part by part, for one event.
//!
//! Decision: the values are those of the evaluator, which is the meaning of the language, and a
//! credential in one is told by its kind alone: what is explained is copied into tickets and chats.

use crate::eval::{Evaluator, Value};
use crate::expr::{Ast, Literal, Node, NodeId, quoted};
use crate::lower::Program;
use crate::set::{is_secret_header, show, show_value};
use bailiwick_event::fields::Subject;

/// A part of a condition and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// How deep it stands; the whole condition is 0.
    pub depth: usize,
    /// The part as text.
    pub text: String,
    /// Its value, short; or why it has none.
    pub value: Result<String, String>,
}

/// Every part of a condition with its value for an event: the whole first, then what it is made
/// of. What a literal says, and what depends on the variable of a macro, is not told.
#[must_use]
pub fn explain(program: &Program, subject: &Subject<'_>) -> Vec<Step> {
    let mut explaining = Explaining {
        program,
        subject,
        steps: Vec::new(),
    };
    let ast = program.ast();
    explaining.part(ast.root(), 0, &mut Vec::new());
    explaining.steps
}

struct Explaining<'p> {
    program: &'p Program,
    subject: &'p Subject<'p>,
    steps: Vec<Step>,
}

impl<'p> Explaining<'p> {
    fn part(&mut self, id: NodeId, depth: usize, variables: &mut Vec<&'p str>) {
        let ast = self.program.ast();
        let node = ast.node(id);
        if matches!(node, Node::Literal(_)) {
            return;
        }
        let free = !depends(ast, id, variables);
        if free {
            self.steps.push(Step {
                depth,
                text: ast.show(id),
                value: self.value(id),
            });
        }
        let below = depth + usize::from(free);
        if let Node::Macro {
            range,
            variable,
            test,
            body,
            ..
        } = node
        {
            self.part(*range, below, variables);
            variables.push(variable);
            for inner in test.iter().chain([body]) {
                self.part(*inner, below, variables);
            }
            variables.pop();
            return;
        }
        let mut children = Vec::new();
        ast.children(id, |child| children.push(child));
        for child in children {
            self.part(child, below, variables);
        }
    }

    fn value(&self, id: NodeId) -> Result<String, String> {
        let ast = self.program.ast();
        let subject = self.subject;
        let evaluator: Evaluator<'_> = self.program.evaluator(subject);
        let value = evaluator.value(id).map_err(|error| error.to_string())?;
        if let Node::Field(field) = ast.node(id)
            && !matches!(value, Value::Text(_))
        {
            return Ok(show(*field, subject).unwrap_or_default());
        }
        Ok(match &value {
            Value::Text(text) if has_secret(ast, id) => format!("({} bytes)", text.len()),
            Value::List(_) | Value::Map(_) | Value::Bytes(_) if has_secret(ast, id) => {
                format!("({})", value.type_name())
            }
            Value::Text(_) => quoted(&show_value(&value)),
            value => show_value(value),
        })
    }
}

/// Whether a part needs one of the variables.
fn depends(ast: &Ast, id: NodeId, variables: &[&str]) -> bool {
    let Node::Name(name) = ast.node(id) else {
        let mut any = false;
        ast.children(id, |child| any |= depends(ast, child, variables));
        return any;
    };
    variables.contains(&&**name)
}

/// Whether a header that is a credential by what it is for is a part of it; also where its name
/// is not known beforehand.
fn has_secret(ast: &Ast, id: NodeId) -> bool {
    match ast.node(id) {
        Node::Header { name, .. } => match ast.node(*name) {
            Node::Literal(Literal::Text(name)) => is_secret_header(name),
            _ => true,
        },
        Node::Field(field) => field.info().ty == bailiwick_event::fields::FieldType::Headers,
        _ => {
            let mut any = false;
            ast.children(id, |child| any |= has_secret(ast, child));
            any
        }
    }
}
