//! Modules of Python that commands run by their names.

use super::Reading;

/// Modules of Python's own that nearly every program imports.
const SHADOWED: [&str; 26] = [
    "argparse",
    "ast",
    "asyncio",
    "base64",
    "collections",
    "configparser",
    "contextlib",
    "copy",
    "dataclasses",
    "enum",
    "fnmatch",
    "functools",
    "hashlib",
    "importlib",
    "inspect",
    "io",
    "json",
    "logging",
    "re",
    "shutil",
    "socket",
    "string",
    "subprocess",
    "tempfile",
    "traceback",
    "typing",
];

impl Reading<'_> {
    /// The files in which Python finds a module that a command runs by its name (`-m`): it looks in the folder where it
    /// starts before it looks among its own.
    pub(super) fn modules(&mut self, text: &[u8], by: &str) {
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b"'\";|&()".contains(byte);
        let mut words = text.split(ends).filter(|word| !word.is_empty());
        let mut python = false;
        while let Some(word) = words.next() {
            let lower = word.to_ascii_lowercase();
            if lower.windows(6).any(|part| part == b"python") {
                python = true;
                continue;
            }
            let module = match word.strip_prefix(b"-m").filter(|_| python) {
                Some(b"") => words.next(),
                module => module,
            };
            python &= word.starts_with(b"-") && module.is_none();
            let named = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.".contains(byte);
            if let Some(module) = module.filter(|module| module.iter().all(named)) {
                self.module(&String::from_utf8_lossy(module), by);
            }
        }
    }

    fn module(&mut self, name: &str, by: &str) {
        let plain = self.top.join(name.replace('.', "/"));
        let mut files = vec![plain.with_extension("py")];
        files.extend(["__main__.py", "__init__.py"].map(|file| plain.join(file)));
        let above = plain.ancestors().skip(1);
        let above = above.take_while(|folder| *folder != self.top);
        files.extend(above.map(|folder| folder.join("__init__.py")));
        // What a module of the system's imports is looked for there as well.
        let shadows = SHADOWED.iter().flat_map(|name| {
            let at = self.top.join(name);
            [at.with_extension("py"), at.join("__init__.py")]
        });
        files.extend(shadows.filter(|file| !file.exists()));
        for file in files {
            self.add(&file, by);
        }
    }
}
