//! What Fence's own templates mean, as far as it is known here. Its hosts of package registries
//! are not among it: which ones are in use is what the sets find out on the user's machine.

/// One of Fence's templates.
pub(super) struct Template {
    pub(super) name: &'static str,
    /// Templates whose meaning it has as well.
    pub(super) extends: Option<&'static str>,
    pub(super) allowed: &'static [&'static str],
    pub(super) denied: &'static [&'static str],
    pub(super) write: &'static [&'static str],
    pub(super) deny_write: &'static [&'static str],
    pub(super) deny_read: &'static [&'static str],
    /// Whether only named paths are readable.
    pub(super) default_deny_read: bool,
    /// Whether it lets this machine's own ports be reached.
    pub(super) local: bool,
    /// What of it is not carried over, and what to do: each a line for the user.
    pub(super) left: &'static [(&'static str, &'static str)],
}

const NOTHING: Template = Template {
    name: "",
    extends: None,
    allowed: &[],
    denied: &[],
    write: &[],
    deny_write: &[],
    deny_read: &[],
    default_deny_read: false,
    local: false,
    left: &[],
};

const REGISTRIES: (&str, &str) = (
    "the package registries of Fence's template are not allowed",
    "add the sets that the work needs to [network] allow: \"@npm\", \"@pip\", \"@cargo\", \"@go\"",
);

const COMMANDS: (&str, &str) = (
    "the commands that Fence's template denies are NOT denied: files and machines are decided, not command lines",
    "allow only the machines that the work needs",
);

/// Every template.
pub(super) const TEMPLATES: &[Template] = &[
    Template {
        name: "code",
        allowed: &[
            // Providers of models, and agents' own services.
            "api.openai.com",
            "*.anthropic.com",
            "api.githubcopilot.com",
            "*.githubcopilot.com",
            "generativelanguage.googleapis.com",
            "api.mistral.ai",
            "api.cohere.ai",
            "api.together.xyz",
            "openrouter.ai",
            "api.morphllm.com",
            "api.minimax.io",
            "api.minimaxi.com",
            "*.amazonaws.com",
            "opencode.ai",
            "api.opencode.ai",
            "ampcode.com",
            "*.ampcode.com",
            "*.factory.ai",
            "api.workos.com",
            "*.cursor.sh",
            "data.charm.land",
            "catwalk.charm.sh",
            "models.dev",
            // Places of repositories.
            "github.com",
            "api.github.com",
            "raw.githubusercontent.com",
            "codeload.github.com",
            "objects.githubusercontent.com",
            "release-assets.githubusercontent.com",
            "gitlab.com",
        ],
        denied: &[
            "169.254.169.254",
            "metadata.google.internal",
            "instance-data.ec2.internal",
            "statsig.anthropic.com",
            "*.sentry.io",
        ],
        write: &[
            ".",
            "/tmp",
            "~/.cache",
            "~/.claude*",
            "~/.claude",
            "~/.amp",
            "~/.codex",
            "~/.cursor",
            "~/.opencode",
            "~/.local/state",
            "~/.gemini",
            "~/.factory",
            "~/.pi",
            "~/.copilot",
            "~/.kiro",
            "~/.npm/_cacache",
            "~/.npm/_npx",
            "~/.bun",
            "~/.cargo/registry",
            "~/.cargo/git",
            "~/.cargo/.package-cache",
            "~/.zcompdump*",
            "~/.local/share",
            "~/.config",
        ],
        deny_write: &[
            "**/.env",
            "**/.env.*",
            "**/*.key",
            "**/*.pem",
            "**/*.p12",
            "**/*.pfx",
        ],
        deny_read: &[
            "~/.ssh/id_*",
            "~/.ssh/config",
            "~/.ssh/*.pem",
            "~/.gnupg",
            "~/.aws",
            "~/.config/gcloud",
            "~/.kube",
            "~/.docker",
            "~/.pypirc",
            "~/.netrc",
            "~/.git-credentials",
            "~/.cargo/credentials",
            "~/.cargo/credentials.toml",
        ],
        local: true,
        left: &[REGISTRIES, COMMANDS],
        ..NOTHING
    },
    Template {
        name: "code-strict",
        extends: Some("code"),
        default_deny_read: true,
        ..NOTHING
    },
    Template {
        name: "code-relaxed",
        extends: Some("code"),
        allowed: &["*"],
        ..NOTHING
    },
    Template {
        name: "local-dev-server",
        write: &[".", "/tmp"],
        local: true,
        ..NOTHING
    },
    Template {
        name: "git-readonly",
        left: &[COMMANDS],
        ..NOTHING
    },
    Template {
        name: "npm-install",
        left: &[REGISTRIES],
        ..NOTHING
    },
    Template {
        name: "disable-telemetry",
        left: &[(
            "the hosts of telemetry that Fence's template denies are not denied one by one",
            "what [network] allow does not name is refused; name others in [network] deny",
        )],
        ..NOTHING
    },
];

/// The template with this name.
pub(super) fn find(name: &str) -> Option<&'static Template> {
    TEMPLATES.iter().find(|t| t.name == name)
}
