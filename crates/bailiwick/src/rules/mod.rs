//! `bailiwick rules`: one file per subcommand.

mod arguments;
mod backtest;
mod check;
mod convert;
mod explain;
mod export;
mod fields;
mod files;
mod functions;
mod hunt;
mod live;
mod progress;
mod recorded;
mod report;
mod test;

pub(crate) use arguments::RulesArguments;
use arguments::RulesCommand;

use crate::Done;

/// Looks at rules and at what they would have done.
pub(crate) fn rules(arguments: &RulesArguments) -> Done {
    match &arguments.command {
        RulesCommand::Check(files) => check::check(&files.files),
        RulesCommand::Test(files) => test::test(&files.files),
        RulesCommand::Backtest(arguments) => backtest::backtest(arguments),
        RulesCommand::Hunt(arguments) => hunt::hunt(arguments),
        RulesCommand::Explain { rule, event } => explain::explain(rule, event),
        RulesCommand::Export(session) => export::export(&session.session),
        RulesCommand::Convert { file } => convert::convert(file),
        RulesCommand::Fields { event_type } => fields::fields(event_type.as_deref()),
        RulesCommand::Functions => functions::functions(),
        RulesCommand::List { session, json } => live::list(session, *json),
        RulesCommand::Add(of) => live::add(of),
        RulesCommand::Update(of) => live::update(of),
        RulesCommand::Rm(of) => live::remove(of),
        RulesCommand::Enable(of) => live::enable(of, true),
        RulesCommand::Disable(of) => live::enable(of, false),
    }
}
