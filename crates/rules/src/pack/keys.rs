//! The one table of what a rule may say; the reader, the JSON Schema and `docs/rules.md` use it.

/// A key of a rule.
#[derive(Debug)]
pub struct RuleKey {
    /// Its name.
    pub name: &'static str,
    /// What its value looks like.
    pub kind: &'static str,
    /// Whether a rule needs it.
    pub needed: bool,
    /// What it says.
    pub doc: &'static str,
    /// A value in TOML.
    pub example: &'static str,
}

const fn key(
    name: &'static str,
    kind: &'static str,
    needed: bool,
    example: &'static str,
    doc: &'static str,
) -> RuleKey {
    RuleKey {
        name,
        kind,
        needed,
        doc,
        example,
    }
}

const ID: RuleKey = key(
    "id",
    "a text",
    true,
    r#""no-secrets-to-pastebins""#,
    "The rule's name, in small letters, digits, `-`, `_` and `.`. One rule of a name is in force.",
);
const ON: RuleKey = key(
    "on",
    "a text",
    true,
    r#""http.request""#,
    "The type of event that the rule is about.",
);
const WHEN: RuleKey = key(
    "when",
    "a text",
    true,
    r#"'http.request.host.domain("pastebin.com")'"#,
    "The condition.",
);
const REASON: RuleKey = key(
    "reason",
    "a text",
    false,
    r#""pastebins are where secrets end up""#,
    "Why, in one clause for a person.",
);
const TAGS: RuleKey = key(
    "tags",
    "a list of texts",
    false,
    r#"["exfiltration"]"#,
    "Words to find the rule by.",
);
const ENABLED: RuleKey = key(
    "enabled",
    "true or false",
    false,
    "true",
    "Whether the rule is in force; true where it is not said.",
);
const EXPIRES: RuleKey = key(
    "expires",
    "a date",
    false,
    "2027-01-31",
    "When the rule ceases to be in force (UTC).",
);
const EXAMPLES: RuleKey = key(
    "examples",
    "a list of tables",
    false,
    r#"[{ matches = true, event = { http.request.host = "pastebin.com" } }]"#,
    "Events that the rule must be true of (`matches = true`), or must not; `bailiwick rules test` runs them.",
);

/// The keys of `[[rules]]`.
pub const RULE_KEYS: &[RuleKey] = &[
    ID,
    ON,
    WHEN,
    key(
        "action",
        "a text",
        true,
        r#""deny""#,
        "What happens to an event that the condition is true of: `allow`, `deny`, `ask`, `rewrite`, `observe` or `stop` (it does not happen, and the session is ended).",
    ),
    key(
        "priority",
        "a whole number",
        false,
        "100",
        "Of two rules the one with the higher priority is asked first; 0 where it is not said.",
    ),
    REASON,
    key(
        "remedy",
        "a text",
        false,
        r#""use the team's own paste service""#,
        "What the user can do about a refusal.",
    ),
    key(
        "rewrite",
        "a list of tables",
        false,
        r#"[{ strip_header = "cookie" }]"#,
        "For `action = \"rewrite\"`: `{ strip_header = \"…\" }`, `{ set_header = { name = \"…\", value = \"…\" } }`, or `{ replace = { target = \"url\", pattern = \"…\", with = \"…\" } }`; targets are `url`, `header` (with `header = \"…\"`), `body`, `arguments` and `result`.",
    ),
    TAGS,
    ENABLED,
    EXPIRES,
    EXAMPLES,
];

/// The keys of `[[detections]]`.
pub const DETECTION_KEYS: &[RuleKey] = &[
    ID,
    ON,
    WHEN,
    key(
        "severity",
        "a text",
        true,
        r#""high""#,
        "How bad it is: `informational`, `low`, `medium`, `high` or `critical`.",
    ),
    key(
        "confidence",
        "a text",
        false,
        r#""medium""#,
        "How sure it is: `low`, `medium` or `high`; medium where it is not said.",
    ),
    REASON,
    TAGS,
    ENABLED,
    EXPIRES,
    EXAMPLES,
];
