//! Compares the kernel's logic with the published crates, which are the reference of the ABI. It is
//! a crate of its own because they take minutes to compile: `DOCS_RS=1 cargo test -p
//! bailiwick-capos-conformance` (the variable has them use the bindings that they carry).
