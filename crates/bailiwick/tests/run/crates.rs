//! A crate imports only crates above it; what runs upwards is found here and not in a review.

/// The layers, top first.
const ORDER: [&str; 16] = [
    "bailiwick-event",
    "bailiwick-rules",
    "bailiwick-policy",
    "bailiwick-ledger",
    "bailiwick-guard",
    "bailiwick-gate",
    "bailiwick-sandbox",
    "bailiwick-process",
    "bailiwick-channel",
    "bailiwick-share",
    "bailiwick-transfer",
    "bailiwick-vm",
    "bailiwick-guest",
    "bailiwick-capos",
    "bailiwick-bench",
    "bailiwick",
];

#[test]
fn no_crate_imports_one_below_it() {
    let output = std::process::Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--offline",
            "--no-deps",
            "--format-version",
            "1",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let place = |name: &str| ORDER.iter().position(|n| *n == name);
    let mut edges = 0;
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let own = place(name).unwrap_or_else(|| panic!("{name} has no place in the layers"));
        for dependency in package["dependencies"].as_array().unwrap() {
            let import = dependency["name"].as_str().unwrap();
            if let Some(above) = place(import) {
                assert!(above < own, "{name} imports {import}, which is below it");
                edges += 1;
            }
        }
    }
    assert!(edges > 10, "the metadata names no imports");
}
