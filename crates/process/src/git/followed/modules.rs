//! Modules of Python that commands run by their names.

use super::Reading;

/// Modules of Python's own that programs, and what they import, use: a file of such a name that a run makes would be
/// imported in the module's place.
const SHADOWED: [&str; 102] = [
    "argparse",
    "ast",
    "asyncio",
    "base64",
    "binascii",
    "bisect",
    "bz2",
    "calendar",
    "codecs",
    "collections",
    "concurrent",
    "configparser",
    "contextlib",
    "contextvars",
    "copy",
    "copyreg",
    "csv",
    "ctypes",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "dis",
    "email",
    "enum",
    "errno",
    "fnmatch",
    "functools",
    "getopt",
    "getpass",
    "gettext",
    "glob",
    "gzip",
    "hashlib",
    "heapq",
    "hmac",
    "html",
    "http",
    "importlib",
    "inspect",
    "io",
    "ipaddress",
    "itertools",
    "json",
    "keyword",
    "linecache",
    "locale",
    "logging",
    "lzma",
    "math",
    "mimetypes",
    "multiprocessing",
    "numbers",
    "opcode",
    "operator",
    "optparse",
    "os",
    "pathlib",
    "pickle",
    "pkgutil",
    "platform",
    "pprint",
    "queue",
    "random",
    "re",
    "reprlib",
    "runpy",
    "secrets",
    "select",
    "selectors",
    "shlex",
    "shutil",
    "signal",
    "site",
    "socket",
    "sqlite3",
    "ssl",
    "stat",
    "string",
    "struct",
    "subprocess",
    "sysconfig",
    "tempfile",
    "textwrap",
    "threading",
    "time",
    "token",
    "tokenize",
    "tomllib",
    "traceback",
    "types",
    "typing",
    "unittest",
    "urllib",
    "uuid",
    "warnings",
    "weakref",
    "xml",
    "zipfile",
    "zipimport",
    "zlib",
    "zoneinfo",
];

/// What Python loads a module from, in its order.
const SUFFIXES: [&str; 4] = ["abi3.so", "so", "py", "pyc"];

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
        let mut files = SUFFIXES.map(|end| plain.with_extension(end)).to_vec();
        files.extend(["__main__.py", "__init__.py"].map(|file| plain.join(file)));
        let above = plain.ancestors().skip(1);
        let above = above.take_while(|folder| *folder != self.top);
        files.extend(above.map(|folder| folder.join("__init__.py")));
        // What a module of the system's imports is looked for there as well.
        let shadows = SHADOWED.iter().flat_map(|name| {
            let at = self.top.join(name);
            [
                at.with_extension("py"),
                at.with_extension("pyc"),
                at.join("__init__.py"),
            ]
        });
        files.extend(shadows.filter(|file| !file.exists()));
        for file in files {
            self.add(&file, by);
        }
    }
}
