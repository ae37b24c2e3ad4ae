//! The policy: what a sandbox may do, as a file that a person writes and a program trusts.
//!
//! Decision: everything is resolved here, once, before anything is started: layers, templates,
//! sets, paths. What leaves this crate is [`Effective`], in which every entry knows the line that
//! made it, and no later stage reads a file again.

mod braces;
mod built_in;
mod contradictions;
mod control_name;
mod cover;
mod diagnostic;
mod document;
mod effective;
mod entry;
mod error;
mod explain;
#[cfg(test)]
mod fixture;
mod foreign;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod host_programs;
mod import;
mod in_short;
pub mod inspection;
mod key;
mod keys;
mod lists;
mod load;
mod lock_text;
mod merge;
pub mod network;
mod new_file;
mod obeyed;
mod packs;
mod parsed;
mod path_glob;
mod paths;
mod quantity;
mod reach;
mod read_value;
#[cfg(test)]
mod reference;
mod request;
mod request_path;
mod roots;
mod schema;
mod secrets;
mod sets;
mod show;
mod show_rules;
mod source_text;
mod stack;
mod templates;
mod toolchains;
mod trust;
mod unseen;
mod used;
mod user_rule;
mod way;
mod wide;
mod workspace;
mod written;

pub use braces::ways;
pub use control_name::ends;
pub use diagnostic::{Diagnostic, Severity};
pub use document::asks;
pub use effective::{
    Ask, Beyond, Effective, Environment, FilesystemPolicy, HostMapping, HttpRule, LAYERS, Limits,
    MAX_HELD, MAX_KEPT, NetworkPolicy, PathEntry, PathPattern, ProtectAbsent, Publish, RuleLocks,
    Sourced,
};
pub use error::PolicyError;
pub use explain::{Access, Explanation};
pub use foreign::{Foreign, ForeignLink};
pub use host_programs::{
    HostFile, HostMatcher, HostNames, HostProgram, HostPrograms, host_programs, is_around,
    name_hash, ordinary_name,
};
pub use import::{Imported, LeftOut, Tool, import};
pub use inspection::{Inspect, InspectRule};
pub use load::{FileRules, Loaded, Source, check, load, rules_of};
pub use new_file::new_file;
pub use path_glob::PathGlob;
pub use quantity::parse_size;
pub use request::Request;
pub use schema::schema;
pub use secrets::{SecretPlace, SecretRule, SecretSource};
pub use sets::ResolvedSet;
pub use show::render_show;
pub use source_text::{ReadError, read_regular};
pub use templates::templates;
pub use trust::{TrustCandidate, trust};
pub use used::{Used, UsedFile};
pub use user_rule::{add_rule, rule_lines};
pub use way::{LINKS, Remembering, Step, Way, remembering};
pub use workspace::resolve_existing;
pub use written::Written;
