//! The one table of functions: what the checker accepts, what the evaluator calls, and what
//! `docs/rules.md` lists.

use super::Ty;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

/// The ways of calling the function of that name; none where there is no such function.
pub(super) fn named(name: &str) -> &'static [Overload] {
    static BY_NAME: LazyLock<HashMap<&str, Range<usize>>> = LazyLock::new(|| {
        let mut by_name: HashMap<&str, Range<usize>> = HashMap::new();
        // The ways of one function stand together in the table.
        for (at, overload) in FUNCTIONS.iter().enumerate() {
            let range = by_name.entry(overload.function.name()).or_insert(at..at);
            range.end = at + 1;
        }
        by_name
    });
    BY_NAME
        .get(name)
        .and_then(|range| FUNCTIONS.get(range.clone()))
        .unwrap_or_default()
}

/// What a function takes or gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the types of the language")]
pub enum Sig {
    Any,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Time,
    Duration,
    Type,
    List,
    Texts,
    Map,
    Ip,
    Cidr,
}

impl Sig {
    /// Whether a value of that type, as far as it is known, can be given.
    #[must_use]
    pub fn takes(self, ty: &Ty) -> bool {
        match (self, ty) {
            (Self::Any, _) | (_, Ty::Dyn) => true,
            (Self::Texts, Ty::List(of)) => **of == Ty::Text || **of == Ty::Dyn,
            (Self::List, Ty::List(_)) | (Self::Map, Ty::Map(..)) => true,
            (sig, ty) => sig.ty() == *ty,
        }
    }

    /// The type that is given.
    #[must_use]
    pub fn ty(self) -> Ty {
        match self {
            Self::Any => Ty::Dyn,
            Self::Bool => Ty::Bool,
            Self::Int => Ty::Int,
            Self::Uint => Ty::Uint,
            Self::Double => Ty::Double,
            Self::Text => Ty::Text,
            Self::Bytes => Ty::Bytes,
            Self::Time => Ty::Time,
            Self::Duration => Ty::Duration,
            Self::Type => Ty::Type,
            Self::List => Ty::list(Ty::Dyn),
            Self::Texts => Ty::list(Ty::Text),
            Self::Map => Ty::Map(Ty::Dyn.into(), Ty::Dyn.into()),
            Self::Ip => Ty::Ip,
            Self::Cidr => Ty::Cidr,
        }
    }
}

/// One way of calling a function.
#[derive(Debug)]
pub struct Overload {
    /// Which function.
    pub function: Function,
    /// Whether it may be called as `target.name(…)`, the target being the first argument.
    pub member: bool,
    /// Whether it may be called as `name(…)`.
    pub global: bool,
    /// What it takes.
    pub takes: &'static [Sig],
    /// What it gives.
    pub gives: Sig,
    /// What it does.
    pub doc: &'static str,
}

macro_rules! functions {
    ($($function:ident $name:literal {
        $($($style:ident)+ ($($takes:ident),*) -> $gives:ident $doc:literal;)+
    })*) => {
        /// A function.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the table says what each does")]
        pub enum Function {
            $($function,)*
        }

        impl Function {
            /// Every function.
            pub const ALL: &'static [Self] = &[$(Self::$function,)*];

            /// Its name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$function => $name,)* }
            }
        }

        /// Every way of calling every function.
        pub const FUNCTIONS: &[Overload] = &[
            $($(Overload {
                function: Function::$function,
                member: false $(|| style!(member $style))+,
                global: false $(|| style!(global $style))+,
                takes: &[$(Sig::$takes),*],
                gives: Sig::$gives,
                doc: $doc,
            },)+)*
        ];
    };
}

macro_rules! style {
    (member member) => {
        true
    };
    (global global) => {
        true
    };
    ($a:ident $b:ident) => {
        false
    };
}

functions! {
    Size "size" {
        global member (Text) -> Int "The number of characters.";
        global member (Bytes) -> Int "The number of bytes.";
        global member (List) -> Int "The number of elements.";
        global member (Map) -> Int "The number of keys.";
    }
    Contains "contains" { member (Text, Text) -> Bool "Whether the text contains the other."; }
    StartsWith "startsWith" { member (Text, Text) -> Bool "Whether the text begins with the other."; }
    EndsWith "endsWith" { member (Text, Text) -> Bool "Whether the text ends with the other."; }
    Matches "matches" { global member (Text, Text) -> Bool "Whether the regular expression (RE2 syntax, not anchored) matches a part of the text."; }
    LowerAscii "lowerAscii" { member (Text) -> Text "The text with ASCII letters in lower case."; }
    UpperAscii "upperAscii" { member (Text) -> Text "The text with ASCII letters in upper case."; }
    Trim "trim" { member (Text) -> Text "The text without white space at both ends."; }
    Reverse "reverse" { member (Text) -> Text "The characters in reverse order."; }
    CharAt "charAt" { member (Text, Int) -> Text "The character at a place, from 0; empty at the end."; }
    IndexOf "indexOf" {
        member (Text, Text) -> Int "The place of the first occurrence, or -1.";
        member (Text, Text, Int) -> Int "The same, from a place on.";
    }
    LastIndexOf "lastIndexOf" {
        member (Text, Text) -> Int "The place of the last occurrence, or -1.";
        member (Text, Text, Int) -> Int "The same, not after a place.";
    }
    Substring "substring" {
        member (Text, Int) -> Text "The characters from a place on.";
        member (Text, Int, Int) -> Text "The characters from a place to before another.";
    }
    Replace "replace" {
        member (Text, Text, Text) -> Text "Every occurrence replaced.";
        member (Text, Text, Text, Int) -> Text "The first occurrences replaced, as many as the number says; all where it is negative.";
    }
    Split "split" {
        member (Text, Text) -> Texts "The parts between a separator.";
        member (Text, Text, Int) -> Texts "The same, at most as many as the number says.";
    }
    Join "join" {
        member (Texts) -> Text "The texts one after the other.";
        member (Texts, Text) -> Text "The texts with a separator between them.";
    }
    Int "int" {
        global (Int) -> Int "The number.";
        global (Uint) -> Int "The number.";
        global (Double) -> Int "The number without its fraction.";
        global (Text) -> Int "The number that the digits say.";
        global (Time) -> Int "Seconds since the Unix epoch.";
    }
    Uint "uint" {
        global (Uint) -> Uint "The number.";
        global (Int) -> Uint "The number.";
        global (Double) -> Uint "The number without its fraction.";
        global (Text) -> Uint "The number that the digits say.";
    }
    Double "double" {
        global (Double) -> Double "The number.";
        global (Int) -> Double "The nearest number.";
        global (Uint) -> Double "The nearest number.";
        global (Text) -> Double "The number that the text says.";
    }
    Text "string" {
        global (Text) -> Text "The text.";
        global (Int) -> Text "The number's digits.";
        global (Uint) -> Text "The number's digits.";
        global (Double) -> Text "The number's digits.";
        global (Bool) -> Text "`true` or `false`.";
        global (Bytes) -> Text "The text that the bytes are in UTF-8.";
        global (Time) -> Text "The time as RFC 3339 writes it.";
        global (Duration) -> Text "The seconds, with an `s`.";
        global (Ip) -> Text "The address.";
        global (Cidr) -> Text "The network.";
    }
    Bytes "bytes" {
        global (Bytes) -> Bytes "The bytes.";
        global (Text) -> Bytes "The text in UTF-8.";
    }
    Bool "bool" {
        global (Bool) -> Bool "The value.";
        global (Text) -> Bool "What `1`, `t`, `true`, `0`, `f`, `false` say.";
    }
    Timestamp "timestamp" {
        global (Time) -> Time "The time.";
        global (Text) -> Time "The time that RFC 3339 writes so.";
        global (Int) -> Time "The time so many seconds after the Unix epoch.";
    }
    Duration "duration" {
        global (Duration) -> Duration "The duration.";
        global (Text) -> Duration "The duration that is written as `1h30m`, `-1.5s` or `10ms`.";
    }
    Dyn "dyn" { global (Any) -> Any "The value, of a type that is not known beforehand."; }
    Type "type" { global (Any) -> Type "The value's type."; }
    FullYear "getFullYear" {
        member (Time) -> Int "The year.";
        member (Time, Text) -> Int "The year in a time zone.";
    }
    Month "getMonth" {
        member (Time) -> Int "The month, from 0.";
        member (Time, Text) -> Int "The month in a time zone, from 0.";
    }
    Date "getDate" {
        member (Time) -> Int "The day of the month, from 1.";
        member (Time, Text) -> Int "The day of the month in a time zone, from 1.";
    }
    DayOfMonth "getDayOfMonth" {
        member (Time) -> Int "The day of the month, from 0.";
        member (Time, Text) -> Int "The day of the month in a time zone, from 0.";
    }
    DayOfWeek "getDayOfWeek" {
        member (Time) -> Int "The day of the week, 0 for Sunday.";
        member (Time, Text) -> Int "The day of the week in a time zone, 0 for Sunday.";
    }
    DayOfYear "getDayOfYear" {
        member (Time) -> Int "The day of the year, from 0.";
        member (Time, Text) -> Int "The day of the year in a time zone, from 0.";
    }
    Hours "getHours" {
        member (Time) -> Int "The hour of the day.";
        member (Time, Text) -> Int "The hour of the day in a time zone.";
        member (Duration) -> Int "The whole hours.";
    }
    Minutes "getMinutes" {
        member (Time) -> Int "The minute of the hour.";
        member (Time, Text) -> Int "The minute of the hour in a time zone.";
        member (Duration) -> Int "The whole minutes.";
    }
    Seconds "getSeconds" {
        member (Time) -> Int "The second of the minute.";
        member (Time, Text) -> Int "The second of the minute in a time zone.";
        member (Duration) -> Int "The whole seconds.";
    }
    Milliseconds "getMilliseconds" {
        member (Time) -> Int "The millisecond of the second.";
        member (Time, Text) -> Int "The millisecond of the second in a time zone.";
        member (Duration) -> Int "The milliseconds beyond the whole seconds.";
    }
    Glob "glob" { member (Text, Text) -> Bool "Whether the whole text matches a pattern: `*` stands for any characters but `/`, `**` for any, `?` for one, `[a-z]` for one of a class, `{a,b}` for alternatives."; }
    Domain "domain" {
        global (Text) -> Text "The registrable domain of a host name: `example.co.uk` of `a.example.co.uk`; empty where it has none.";
        global member (Text, Text) -> Bool "Whether the host name is the domain or lies below it. A public suffix such as `co.uk` is refused as the domain.";
    }
    Ip "ip" {
        global (Text) -> Ip "The address that the text says.";
        global (Ip) -> Ip "The address.";
    }
    IsIp "isIP" { global (Text) -> Bool "Whether the text is an address."; }
    Cidr "cidr" {
        global (Text) -> Cidr "The network that the text says: `10.0.0.0/8`.";
        global (Cidr) -> Cidr "The network.";
    }
    IsCidr "isCIDR" { global (Text) -> Bool "Whether the text is a network."; }
    ContainsIp "containsIP" {
        member (Cidr, Ip) -> Bool "Whether the address lies in the network.";
        member (Cidr, Text) -> Bool "Whether the address lies in the network.";
    }
    Family "family" { member (Ip) -> Int "4 or 6."; }
    IsLoopback "isLoopback" { member (Ip) -> Bool "Whether it is a loopback address."; }
    IsPrivate "isPrivate" { member (Ip) -> Bool "Whether it is no address of the public internet."; }
    PrefixLength "prefixLength" { member (Cidr) -> Int "The number of leading bits that all addresses of the network share."; }
    Entropy "entropy" { global member (Text) -> Double "The Shannon entropy, in bits per character."; }
    Secrets "secrets" { global member (Text) -> Texts "The kinds of credentials whose shape the text contains: `aws-access-key`, `private-key`, …"; }
}
