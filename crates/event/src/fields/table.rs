//! The one table of fields.

use super::slot::{FieldType, InPlace, Slot};
use super::{Headers, Subject};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

/// A point in time: nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time(pub i64);

type Text<'a> = Cow<'a, str>;
type Texts<'a> = Vec<Cow<'a, str>>;
type Pairs<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;
type Tree = serde_json::Value;

/// One field.
#[derive(Debug, PartialEq, Eq)]
pub struct FieldInfo {
    /// The field.
    pub field: Field,
    /// The family whose struct holds it.
    pub family: Family,
    /// Its name in a rule: `http.request.host`.
    pub path: &'static str,
    /// Its type.
    pub ty: FieldType,
    /// Whether every event of the family has it.
    pub always: bool,
    /// What it says.
    pub doc: &'static str,
}

macro_rules! presence {
    (always) => {
        true
    };
    (maybe) => {
        false
    };
}

macro_rules! rust_type {
    (Text, $a:lifetime) => { Text<$a> };
    (Texts, $a:lifetime) => { Texts<$a> };
    (Pairs, $a:lifetime) => { Pairs<$a> };
    (Headers, $a:lifetime) => { Headers<$a> };
    (Int, $a:lifetime) => { i64 };
    (Double, $a:lifetime) => { f64 };
    (Bool, $a:lifetime) => { bool };
    (Time, $a:lifetime) => { Time };
    (Tree, $a:lifetime) => { Tree };
}

macro_rules! families {
    ($(
        #[doc = $about:literal]
        $family:ident $member:ident $prefix:literal {
            $($field:ident $name:ident $path:literal $presence:ident $ty:ident $doc:literal;)*
        }
    )*) => {
        /// A part of an event that one struct holds.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Family {
            $(#[doc = $about] $family,)*
        }

        impl Family {
            /// Every family.
            pub const ALL: &'static [Self] = &[$(Self::$family),*];

            /// What the names of its fields begin with.
            #[must_use]
            pub fn prefix(self) -> &'static str {
                match self { $(Self::$family => $prefix,)* }
            }

            /// What it is about.
            #[must_use]
            pub fn doc(self) -> &'static str {
                match self { $(Self::$family => $about,)* }
            }
        }

        /// A field's number.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Field {
            $($(#[doc = $doc] $field,)*)*
        }

        impl Field {
            /// Every field, in the order of the reference.
            pub const ALL: &'static [FieldInfo] = &[
                $($(FieldInfo {
                    field: Self::$field,
                    family: Family::$family,
                    path: concat!($prefix, ".", $path),
                    ty: FieldType::$ty,
                    always: presence!($presence),
                    doc: $doc,
                },)*)*
            ];
        }

        $(
            #[doc = $about]
            #[derive(Clone, Debug, PartialEq)]
            pub struct $family<'a> {
                $(#[doc = $doc] pub $name: Option<rust_type!($ty, 'a)>,)*
            }

            // By hand: a derived one would not be usable for what stands for an absent family.
            impl<'a> $family<'a> {
                /// One with no value at all.
                pub const EMPTY: $family<'a> = $family { $($name: None,)* };
            }

            impl Default for $family<'_> {
                fn default() -> Self {
                    Self::EMPTY
                }
            }
        )*

        impl Subject<'_> {
            /// The value of a field.
            #[must_use]
            #[inline]
            pub fn get(&self, field: Field) -> Slot<'_> {
                match field {
                    $($(Field::$field => match self.$member {
                        Some(family) => family.$name.slot(),
                        None => Slot::Absent,
                    },)*)*
                }
            }
        }

        impl Family {
            /// A bit of its own.
            pub(super) const fn bit(self) -> u16 {
                1 << self as u16
            }
        }

        impl<'a> super::RecordReader<'a> {
            /// Takes back what the last line wrote.
            pub(super) fn clear(&mut self) {
                let touched = std::mem::take(&mut self.touched);
                $(if touched & Family::$family.bit() != 0 {
                    self.record.$member = $family::EMPTY;
                })*
            }

            /// Sets a field from what a recorded event has for it.
            pub(super) fn put<'de: 'a, D: serde::Deserializer<'de>>(
                &mut self,
                field: Field,
                from: D,
            ) -> Result<(), D::Error> {
                use super::record::Recorded;
                match field {
                    $($(Field::$field => {
                        self.touched |= Family::$family.bit();
                        self.record.$member.$name = Recorded::read(from)?;
                    })*)*
                }
                Ok(())
            }
        }
    };
}

families! {
    /// What every event has.
    Common common "common" {
        CommonId id "id" maybe Int "The event's number in its session, from 1.";
        CommonType event_type "type" always Text "The event's type: `http.request`, `dns.request`, …";
        CommonSession session "session" maybe Text "The session's name.";
        CommonBackend backend "backend" maybe Text "The backend: `process`, `vm` or `capos`.";
        CommonTime time "time" maybe Time "When it happened, by the supervisor's clock.";
        CommonPid pid "process.pid" maybe Int "The number of the process that acted, where it is known.";
        CommonPpid ppid "process.ppid" maybe Int "The number of that process's parent.";
        CommonExecutable executable "process.executable" maybe Text "The program that acted.";
        CommonArgv argv "process.argv" maybe Texts "The words of its command line.";
        CommonCwd cwd "process.cwd" maybe Text "The folder in which it ran.";
        CommonLabels labels "labels" maybe Pairs "The session's labels.";
    }
    /// A request by HTTP.
    HttpRequest http_request "http.request" {
        HttpMethod method "method" always Text "The method as it was sent: `GET`.";
        HttpScheme scheme "scheme" always Text "`http` or `https`.";
        HttpHost host "host" always Text "The machine that is asked for, without the port, in lower case.";
        HttpPort port "port" always Int "The port.";
        HttpPath path "path" always Text "The path as it was sent, without the query.";
        HttpQuery query "query" maybe Text "What follows the first `?`, as it was sent.";
        HttpUrl url "url" always Text "Scheme, host, port where it is not the scheme's own, path and query.";
        HttpHeaders headers "headers" maybe Headers "The headers; `http.request.header(name)` finds one whatever the case of its name.";
        HttpBodyState body_state "body.state" maybe Text "`none`, `captured`, `truncated`, or `unseen` where the body was not looked at.";
        HttpBodyText body_text "body.text" maybe Text "The part of the body that was captured, as text.";
        HttpBodyType body_type "body.content_type" maybe Text "The media type, in lower case, without parameters.";
        HttpBodySize body_size "body.size" maybe Int "Bytes of the body.";
        HttpBodyTruncated body_truncated "body.truncated" maybe Bool "Whether more came than was captured.";
    }
    /// The answer to a request by HTTP. The fields of the request stand beside it.
    HttpResponse http_response "http.response" {
        HttpStatus status "status" always Int "The status code.";
        HttpResponseHeaders headers "headers" maybe Headers "The headers; `http.response.header(name)` finds one whatever the case of its name.";
        HttpResponseState body_state "body.state" maybe Text "`none`, `captured`, `truncated`, or `unseen`.";
        HttpResponseText body_text "body.text" maybe Text "The part of the body that was captured, as text.";
        HttpResponseType body_type "body.content_type" maybe Text "The media type, in lower case, without parameters.";
        HttpResponseSize body_size "body.size" maybe Int "Bytes of the body.";
        HttpResponseTruncated body_truncated "body.truncated" maybe Bool "Whether more came than was captured.";
    }
    /// A name that is looked up.
    DnsRequest dns_request "dns.request" {
        DnsName qname "qname" always Text "The name in the question, in lower case, without the dot at its end.";
        DnsType qtype "qtype" always Text "The record type: `A`, `TXT`, …";
        DnsTransport transport "transport" always Text "`udp` or `tcp`.";
        DnsEntropy label_entropy "label.entropy" always Double "The Shannon entropy of the name's most random label, in bits per character.";
        DnsLength label_length "label.length" always Int "The length of the name's longest label.";
    }
    /// The answer to a question about a name. The fields of the question stand beside it.
    DnsResponse dns_response "dns.response" {
        DnsCode code "code" always Text "The response code: `NOERROR`, `NXDOMAIN`, …";
        DnsAnswers answers "answers" maybe Texts "The addresses, names and texts of the answer.";
        DnsTtl ttl "ttl" maybe Int "The least time to live of the answer, in seconds.";
    }
    /// A message to a server of the Model Context Protocol.
    McpRequest mcp_request "mcp.request" {
        McpMethod method "method" always Text "The method: `tools/call`.";
        McpServer server "server" always Text "The server's name in the policy.";
        McpTool tool "tool" maybe Text "The tool that is called.";
        McpArguments arguments "arguments" maybe Tree "The tool's arguments.";
    }
    /// What a server of the Model Context Protocol answered. The fields of the request stand beside it.
    McpResponse mcp_response "mcp.response" {
        McpIsError is_error "is_error" always Bool "Whether the tool failed.";
        McpText text "text" maybe Text "The texts of the result, one after the other.";
        McpResult result "result" maybe Tree "The whole result.";
    }
    /// What the session has used of language models so far: before a call, and with its answer.
    ModelSession model_session "model.session" {
        SessionCost cost "cost" always Double "What the calls have cost, in US dollars, as far as their prices are known.";
        SessionCalls calls "calls" always Int "Answers that have come.";
        SessionModel model "model" maybe Text "The model that answered last.";
        SessionTokens tokens "tokens" always Int "Tokens that were read and written, as far as they were told.";
    }
    /// A call to a language model.
    ModelRequest model_request "model.request" {
        ModelProvider provider "provider" always Text "Whose model it is: `anthropic`, `openai`, …";
        ModelName model "model" always Text "The model.";
        ModelTools tools "tools" maybe Texts "The names of the tools that are offered.";
        ModelTokens tokens "tokens" maybe Int "The most tokens that are asked for.";
        ModelText text "text" maybe Text "The texts of the last turn.";
    }
    /// A language model's answer. The fields of the call stand beside it.
    ModelResponse model_response "model.response" {
        ModelResponseModel model "model" maybe Text "The model that answered.";
        ModelCalls tools "tools" maybe Texts "The names of the tools that the model calls.";
        ModelInputTokens input_tokens "tokens.input" maybe Int "Tokens that were read.";
        ModelOutputTokens output_tokens "tokens.output" maybe Int "Tokens that were written.";
        ModelCachedTokens cached_tokens "tokens.cached" maybe Int "Tokens that were read from a cache.";
        ModelCost cost "cost" maybe Double "What it cost, in US dollars.";
        ModelStop stop_reason "stop_reason" maybe Text "Why it ended.";
        ModelResponseText text "text" maybe Text "The text of the answer.";
    }
    /// A program that is started.
    ProcessExec process_exec "process.exec" {
        ExecExecutable executable "executable" always Text "The program, by the name or path that the command gives it.";
        ExecArgv argv "argv" always Texts "The words of its command line, the program's name first.";
        ExecCommand command "command" always Text "The words in one line, with a space between them.";
        ExecCwd cwd "cwd" maybe Text "The folder in which it starts.";
        ExecClass class "class" maybe Text "How it came to be started: `command` (the run's own), `enter` (`bailiwick exec`), `child`.";
        ExecParent parent "parent" maybe Text "The program that starts it.";
    }
    /// A file that is created, written, moved or linked.
    FileAccess file "file" {
        FileOperation operation "operation" always Text "The call: `open`, `rename`, `mkdir`, …";
        FilePath path "path" always Text "The path.";
        FileName name "name" always Text "The path's last part.";
        FileExt ext "ext" maybe Text "What follows the name's last dot, in lower case.";
        FileSize size "size" maybe Int "Bytes.";
    }
    /// A connection or a datagram.
    SocketUse socket "socket" {
        SocketHost host "host" maybe Text "The name that was asked for, where there was one.";
        SocketAddress address "address" maybe Text "The address that the program used; where it asked for a name, one of the gate's own or none.";
        SocketPort port "port" always Int "The port.";
        SocketTransport transport "transport" always Text "`tcp` or `udp`.";
    }
}

/// What a rule can be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are those of the families")]
pub enum EventType {
    HttpRequest,
    HttpResponse,
    DnsRequest,
    DnsResponse,
    McpRequest,
    McpResponse,
    ModelRequest,
    ModelResponse,
    ProcessExec,
    File,
    Socket,
}

impl EventType {
    /// Every type.
    pub const ALL: [Self; 11] = [
        Self::HttpRequest,
        Self::HttpResponse,
        Self::DnsRequest,
        Self::DnsResponse,
        Self::McpRequest,
        Self::McpResponse,
        Self::ModelRequest,
        Self::ModelResponse,
        Self::ProcessExec,
        Self::File,
        Self::Socket,
    ];

    /// The families whose fields its events can have.
    #[must_use]
    pub fn families(self) -> &'static [Family] {
        match self {
            Self::HttpRequest => &[Family::Common, Family::HttpRequest],
            Self::HttpResponse => &[Family::Common, Family::HttpRequest, Family::HttpResponse],
            Self::DnsRequest => &[Family::Common, Family::DnsRequest],
            Self::DnsResponse => &[Family::Common, Family::DnsRequest, Family::DnsResponse],
            Self::McpRequest => &[Family::Common, Family::McpRequest],
            Self::McpResponse => &[Family::Common, Family::McpRequest, Family::McpResponse],
            Self::ModelRequest => &[Family::Common, Family::ModelSession, Family::ModelRequest],
            Self::ModelResponse => &[
                Family::Common,
                Family::ModelSession,
                Family::ModelRequest,
                Family::ModelResponse,
            ],
            Self::ProcessExec => &[Family::Common, Family::ProcessExec],
            Self::File => &[Family::Common, Family::FileAccess],
            Self::Socket => &[Family::Common, Family::SocketUse],
        }
    }

    /// Its name: `http.request`.
    #[must_use]
    pub fn name(self) -> &'static str {
        let family = self.families().last();
        family.map_or("", |family| family.prefix())
    }

    /// The type of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ty| ty.name() == name)
    }
}

impl std::fmt::Display for EventType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl Field {
    /// What is known about it.
    #[must_use]
    pub fn info(self) -> &'static FieldInfo {
        &Self::ALL[self as usize]
    }

    /// The field of that name.
    #[must_use]
    pub fn named(path: &str) -> Option<Self> {
        static BY_NAME: LazyLock<HashMap<&str, Field>> = LazyLock::new(|| {
            Field::ALL
                .iter()
                .map(|info| (info.path, info.field))
                .collect()
        });
        BY_NAME.get(path).copied()
    }
}
