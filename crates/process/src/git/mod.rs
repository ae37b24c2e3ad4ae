//! What git keeps in its folders and what it obeys there, for whoever writes into a working tree: the write
//! broker, the sweep at a run's end, the changes of a machine's disk. A git folder is data with a known layout:
//! what is not in the layout is not made, and what git obeys is decided by what it says.

mod config;
mod configurations;
mod content;
mod ewah;
mod followed;
mod head;
mod index;
mod keys;
mod layout;
mod leads;
mod lines;
mod names;
mod nested;
mod objects;
mod parser;
mod remotes;
mod repository;
mod trees;
mod variables;
mod ways;

pub(crate) use config::{check_removal, is_partial, is_sparse};
pub(crate) use configurations::Configurations;
pub(crate) use content::{Content, InPlace, Site, check};
pub(crate) use followed::{Followed, called_at, folder_of_commands, followed, named_at, rewritten};
pub(crate) use followed::{configuration_of_tree, read as read_configuration};
pub(crate) use head::{has as commit_has, head};
pub(crate) use index::{
    ByPath, Indexed, Recorded, Seen, Whole, is_split, recorded, records, shared_of, unsaid,
    without_checkout,
};
pub(crate) use leads::{below_git, leads_as_well, plain, tree_of_index};
pub(crate) use lines::is_hopeless;
pub(crate) use nested::{FOLDERS, GitFolder, Nested, Walked, nested, nested_at};
pub(crate) use objects::{
    Brought, Budget, Changed, Fault, Kind, Objects, Pack, Stored, alternates_of, changed,
    changed_tree, open as open_object, stored_as,
};
pub(crate) use remotes::{has_others, has_temporary, misleads, reaches_temporary, turns_elsewhere};
pub(crate) use repository::{
    Meaning, finds_out_about_links, folder, holds_only_samples, is_head, is_hook, is_of_git,
    is_part, is_repository_at, may_be_link, may_move, meaning, must_be_file, obeyed_in,
};
pub(crate) use ways::Ways;
