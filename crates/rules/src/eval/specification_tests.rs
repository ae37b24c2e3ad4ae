//! Expressions and what the published language specification (cel-spec, *Language Definition* and
//! its conformance test data) says that they are. Nothing here was computed by an implementation.

use super::{ErrorKind, Evaluator, Value};
use crate::check::check;
use crate::expr::{NodeId, parse};
use bailiwick_event::fields::{EventType, Subject};

fn evaluated(text: &str) -> Result<String, ErrorKind> {
    let mut ast = parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    check(&mut ast, None).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    let root: NodeId = ast.root();
    let subject = Subject::new(EventType::File);
    let evaluator = Evaluator::new(&ast, &subject);
    evaluator
        .value(root)
        .map(|value| show(&value))
        .map_err(|e| e.kind)
}

fn show(value: &Value<'_>) -> String {
    match value {
        Value::Text(text) => format!("'{text}'"),
        Value::Bytes(bytes) => format!("b{bytes:?}"),
        Value::Uint(n) => format!("{n}u"),
        Value::Null => "null".into(),
        Value::List(list) => {
            let all: Vec<_> = list.iter().map(|v| show(&v)).collect();
            format!("[{}]", all.join(", "))
        }
        Value::Map(map) => {
            let all: Vec<_> = map
                .iter()
                .iter()
                .map(|(k, v)| format!("{}: {}", show(k), show(v)))
                .collect();
            format!("{{{}}}", all.join(", "))
        }
        other => super::convert::shown(other),
    }
}

fn are(table: &[(&str, &str)]) {
    let wrong: Vec<_> = table
        .iter()
        .filter_map(|(text, says)| {
            let is = evaluated(text);
            (is.as_deref() != Ok(*says)).then(|| format!("{text}\n   is {is:?}, not {says}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn fail(table: &[(&str, ErrorKind)]) {
    let wrong: Vec<_> = table
        .iter()
        .filter_map(|(text, kind)| {
            let is = evaluated(text);
            (is != Err(*kind)).then(|| format!("{text}\n   is {is:?}, not {kind:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn logic_is_settled_by_what_settles_it_whatever_else_fails() {
    are(&[
        ("true && true", "true"),
        ("true && false", "false"),
        ("false && 1/0 == 1", "false"),
        ("1/0 == 1 && false", "false"),
        ("true || 1/0 == 1", "true"),
        ("1/0 == 1 || true", "true"),
        ("dyn('x') && false", "false"),
        ("false && dyn(32)", "false"),
        ("dyn('horses') || true", "true"),
        ("!true", "false"),
        ("true ? 1 : 2/0", "1"),
        ("false ? 2/0 : 1", "1"),
        ("(false && 1/0 == 1) || true", "true"),
        ("dyn(false) && dyn(0)", "false"),
    ]);
    fail(&[
        ("true && 1/0 == 1", ErrorKind::DivisionByZero),
        ("1/0 == 1 && true", ErrorKind::DivisionByZero),
        ("false || 1/0 == 1", ErrorKind::DivisionByZero),
        ("dyn('x') && true", ErrorKind::NoSuchOverload),
        ("dyn('x') ? 1 : 2", ErrorKind::NoSuchOverload),
        ("1/0 == 1 ? 1 : 2", ErrorKind::DivisionByZero),
        ("!dyn(0)", ErrorKind::NoSuchOverload),
    ]);
}

#[test]
fn numbers_never_wrap() {
    are(&[
        ("4 / 3", "1"),
        ("-7 / 2", "-3"),
        ("-7 % 2", "-1"),
        ("43 % 5", "3"),
        ("-8 + 5", "-3"),
        ("1u + 2u", "3u"),
        ("0x1fu", "31u"),
        ("1.5 + 1.5", "3"),
        ("1.0 / 0.0", "+Inf"),
        ("-1.0 / 0.0", "-Inf"),
        ("-(42)", "-42"),
        ("--(-1)", "-1"),
        ("9223372036854775807 - 1", "9223372036854775806"),
        ("18446744073709551615u - 1u", "18446744073709551614u"),
    ]);
    fail(&[
        ("15 / 0", ErrorKind::DivisionByZero),
        ("34 % 0", ErrorKind::DivisionByZero),
        ("1u / 0u", ErrorKind::DivisionByZero),
        ("1u % 0u", ErrorKind::DivisionByZero),
        ("9223372036854775807 + 1", ErrorKind::Overflow),
        ("-9223372036854775808 - 1", ErrorKind::Overflow),
        ("-(-9223372036854775808)", ErrorKind::Overflow),
        ("-9223372036854775808 / -1", ErrorKind::Overflow),
        ("5000000000 * 5000000000", ErrorKind::Overflow),
        ("0u - 1u", ErrorKind::Overflow),
        ("18446744073709551615u + 1u", ErrorKind::Overflow),
        ("5000000000u * 5000000000u", ErrorKind::Overflow),
        ("-dyn(42u)", ErrorKind::NoSuchOverload),
        ("dyn(1) + dyn(1u)", ErrorKind::NoSuchOverload),
        ("dyn(47.5) % dyn(5.5)", ErrorKind::NoSuchOverload),
    ]);
}

#[test]
fn equality_looks_at_what_values_say() {
    are(&[
        ("1 == 1.0", "true"),
        ("dyn(1) == dyn(1u)", "true"),
        ("dyn(1) == dyn('1')", "false"),
        ("dyn(-1) == dyn(18446744073709551615u)", "false"),
        ("dyn(9007199254740993) == dyn(9007199254740992.0)", "false"),
        ("0.0 / 0.0 == 0.0 / 0.0", "false"),
        ("0.0 / 0.0 != 0.0 / 0.0", "true"),
        ("'a' == 'a'", "true"),
        ("'A' == 'a'", "false"),
        ("b'ab' == b'ab'", "true"),
        ("[1, 2] == [1, 2]", "true"),
        ("[1, 2] == [2, 1]", "false"),
        ("[1] == [1, 2]", "false"),
        ("[1.0, 2] == [1u, 2]", "true"),
        ("{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", "true"),
        ("{'a': 1} == {'a': 2}", "false"),
        ("{1: 'a'} == {1u: 'a'}", "true"),
        ("null == null", "true"),
        ("dyn(null) == dyn(1)", "false"),
        ("dyn([]) == dyn({})", "false"),
        ("type(1) == int", "true"),
        ("type(1u) != int", "true"),
        ("type(type(1)) == type", "true"),
        ("type(null) == null_type", "true"),
        ("type(timestamp(0)) == google.protobuf.Timestamp", "true"),
    ]);
}

#[test]
fn order_is_that_of_numbers_texts_bytes_times_and_truth() {
    are(&[
        ("1 < 2", "true"),
        ("1 < 1.5", "true"),
        ("dyn(1u) < dyn(2)", "true"),
        ("-1 < 0u", "true"),
        (
            "dyn(9223372036854775807) < dyn(9223372036854775808.0)",
            "true",
        ),
        (
            "dyn(18446744073709551615u) >= dyn(18446744073709551616.0)",
            "false",
        ),
        ("0.0/0.0 < 1.0", "false"),
        ("0.0/0.0 >= 1.0", "false"),
        ("'a' < 'b'", "true"),
        ("'Z' < 'a'", "true"),
        ("'abc' > 'ab'", "true"),
        ("b'a' < b'b'", "true"),
        ("false < true", "true"),
        ("duration('1s') < duration('2s')", "true"),
        (
            "timestamp('2001-01-01T00:00:00Z') < timestamp('2001-01-01T00:00:01Z')",
            "true",
        ),
    ]);
    fail(&[
        ("dyn('a') < dyn(1)", ErrorKind::NoSuchOverload),
        ("dyn([1]) < dyn([2])", ErrorKind::NoSuchOverload),
        ("dyn(null) < dyn(null)", ErrorKind::NoSuchOverload),
    ]);
}

#[test]
fn texts_are_counted_in_characters() {
    are(&[
        ("size('four')", "4"),
        ("size('πέντε')", "5"),
        ("size(b'πέντε')", "10"),
        ("'tacocat'.size()", "7"),
        ("'foobar'.startsWith('foo')", "true"),
        ("'foobar'.endsWith('bar')", "true"),
        ("'foobar'.contains('oba')", "true"),
        ("''.contains('')", "true"),
        ("'' + 'a' + 'é'", "'aé'"),
        ("b'a' + b'b'", "b[97, 98]"),
        ("'hubba'.matches('ubb')", "true"),
        ("'abcd'.matches('bc')", "true"),
        ("matches('grey', 'gr(a|e)y')", "true"),
        ("'cows'.matches('^cow$')", "false"),
        ("'tacocat'.charAt(3)", "'o'"),
        ("'tacocat'.charAt(7)", "''"),
        ("'©αT'.charAt(1)", "'α'"),
        ("'tacocat'.indexOf('')", "0"),
        ("'tacocat'.indexOf('ac')", "1"),
        ("'tacocat'.indexOf('none')", "-1"),
        ("'tacocat'.indexOf('a', 3)", "5"),
        ("'ta©o©αT'.indexOf('©', 3)", "4"),
        ("'tacocat'.lastIndexOf('at')", "5"),
        ("'tacocat'.lastIndexOf('')", "7"),
        ("'ta©o©αT'.lastIndexOf('©')", "4"),
        ("'tacocat'.lastIndexOf('a', 3)", "1"),
        ("'éaéaé'.lastIndexOf('éaé', 1)", "0"),
        ("'éaéaé'.lastIndexOf('éaé', 2)", "2"),
        ("'éaéaé'.lastIndexOf('éaé', 5)", "2"),
        ("'TacoCat'.lowerAscii()", "'tacocat'"),
        ("'TacoCÆt Xii'.lowerAscii()", "'tacocÆt xii'"),
        ("'tacoCαt'.upperAscii()", "'TACOCαT'"),
        ("'hello hello'.replace('he', 'we')", "'wello wello'"),
        ("'hello hello'.replace('he', 'we', -1)", "'wello wello'"),
        ("'hello hello'.replace('he', 'we', 1)", "'wello hello'"),
        ("'hello hello'.replace('he', 'we', 0)", "'hello hello'"),
        (
            "'hello hello hello'.split(' ')",
            "['hello', 'hello', 'hello']",
        ),
        ("'hello hello hello'.split(' ', 0)", "[]"),
        ("'hello hello hello'.split(' ', 1)", "['hello hello hello']"),
        (
            "'hello hello hello'.split(' ', 2)",
            "['hello', 'hello hello']",
        ),
        ("'hello'.split('')", "['h', 'e', 'l', 'l', 'o']"),
        ("'tacocat'.substring(4)", "'cat'"),
        ("'tacocat'.substring(7)", "''"),
        ("'tacocat'.substring(0, 4)", "'taco'"),
        ("'ta©o©αT'.substring(2, 6)", "'©o©α'"),
        ("' \\f\\n\\r\\t\\vtext  '.trim()", "'text'"),
        ("['x', 'y'].join()", "'xy'"),
        ("['x', 'y'].join('-')", "'x-y'"),
        ("[].join('-')", "''"),
        ("'gums'.reverse()", "'smug'"),
    ]);
    fail(&[
        ("'tacocat'.charAt(30)", ErrorKind::BadArgument),
        ("'tacocat'.indexOf('a', 30)", ErrorKind::BadArgument),
        ("'tacocat'.substring(40)", ErrorKind::BadArgument),
        ("'tacocat'.substring(-1)", ErrorKind::BadArgument),
        ("'tacocat'.substring(3, 1)", ErrorKind::BadArgument),
        ("'a'.matches(dyn('('))", ErrorKind::BadArgument),
        ("dyn(1).contains('x')", ErrorKind::NoSuchOverload),
    ]);
}

#[test]
fn lists_and_maps_are_looked_into() {
    are(&[
        ("[7, 8, 9][0]", "7"),
        ("[7, 8, 9][dyn(0.0)]", "7"),
        ("[7, 8, 9][dyn(0u)]", "7"),
        ("[1] + [2, 3]", "[1, 2, 3]"),
        ("[] + []", "[]"),
        ("size([1, 2, 3])", "3"),
        ("size({1: 'a', 2: 'b'})", "2"),
        ("{'a': 1}['a']", "1"),
        ("{'a': 1}.a", "1"),
        ("{1: 'x'}[dyn(1.0)]", "'x'"),
        ("{true: 1}[true]", "1"),
        ("2 in [1, 2]", "true"),
        ("dyn(2u) in [1, 2]", "true"),
        ("dyn('x') in [1, 2]", "false"),
        ("'a' in {'a': 1}", "true"),
        ("'b' in {'a': 1}", "false"),
        ("1 in []", "false"),
        ("has({'a': 1}.a)", "true"),
        ("has({'a': 1}.b)", "false"),
        ("has({'a': null}.a)", "true"),
    ]);
    fail(&[
        ("[7, 8, 9][3]", ErrorKind::NoSuchElement),
        ("[7, 8, 9][-1]", ErrorKind::NoSuchElement),
        ("[7, 8, 9][dyn(0.1)]", ErrorKind::NoSuchOverload),
        ("{'a': 1}['b']", ErrorKind::NoSuchKey),
        ("{'a': 1}.b", ErrorKind::NoSuchKey),
        ("{dyn(1.5): 1}", ErrorKind::NoSuchOverload),
        ("{'a': 1, 'a': 2}", ErrorKind::RepeatedKey),
        ("{dyn(1): 1, dyn(1u): 2}", ErrorKind::RepeatedKey),
        ("dyn(1).a", ErrorKind::NoSuchOverload),
        ("1 in dyn('x')", ErrorKind::NoSuchOverload),
    ]);
}

#[test]
fn macros_go_over_elements_and_keys() {
    are(&[
        ("[1, 2, 3].all(e, e > 0)", "true"),
        ("[1, 2, 3].all(e, e == 2)", "false"),
        ("[].all(e, e > 0)", "true"),
        ("[1, 2, 3].all(e, 6 / (2 - e) == 6)", "false"),
        ("[1, 2, 3].exists(e, e > 2)", "true"),
        ("[1, 2, 3].exists(e, e == 1 / 0 || true)", "true"),
        ("[1, 'foo', 3].exists(e, e != '1')", "true"),
        ("[].exists(e, e == 2)", "false"),
        ("[0, 1, 2].exists(e, 4 / e == 4)", "true"),
        ("{'key1': 1, 'key2': 2}.exists(k, k == 'key2')", "true"),
        ("{'key1': 1, 'key2': 2}.all(k, k == 'key2')", "false"),
        ("[7].exists_one(a, a == 7)", "true"),
        ("[7, 8].exists_one(a, a == 9)", "false"),
        ("[7, 7].existsOne(a, a == 7)", "false"),
        ("[].exists_one(a, a == 7)", "false"),
        (
            "['foal', 'foo', 'four'].exists_one(n, n.startsWith('fo'))",
            "false",
        ),
        ("[1, 2, 3].map(n, n * 2)", "[2, 4, 6]"),
        ("[1, 2, 3].map(n, n > 1, n * 2)", "[4, 6]"),
        ("[[1], [2, 3]].map(x, x.map(y, y + 1))", "[[2], [3, 4]]"),
        ("{'John': 'smart'}.map(key, key)", "['John']"),
        ("[0, 1, 2].filter(x, x > 0)", "[1, 2]"),
        (
            "{'John': 'smart', 'Paul': 'cute'}.filter(k, k == 'John')",
            "['John']",
        ),
        ("[1, 2].exists(x, [3, 4].exists(x, x == 4))", "true"),
    ]);
    fail(&[
        ("[1, 2].all(e, 6 / (2 - e) == 6)", ErrorKind::DivisionByZero),
        (
            "[1, 2, 3].exists(e, e / 0 == 17)",
            ErrorKind::DivisionByZero,
        ),
        (
            "[3, 2, 1, 0].exists_one(n, 12 / n > 1)",
            ErrorKind::DivisionByZero,
        ),
        ("[2, 1, 0].map(n, 4 / n)", ErrorKind::DivisionByZero),
        (
            "[3, 2, 1, 0].filter(n, 12 / n > 4)",
            ErrorKind::DivisionByZero,
        ),
        ("dyn(1).all(e, true)", ErrorKind::NoSuchOverload),
        ("[1].all(e, dyn(e))", ErrorKind::NoSuchOverload),
    ]);
}

#[test]
fn conversions_keep_the_value_or_fail() {
    are(&[
        ("int(42u)", "42"),
        ("int(11.5)", "11"),
        ("int(-3.5)", "-3"),
        ("int('-123')", "-123"),
        ("int(timestamp('2004-09-16T23:59:59Z'))", "1095379199"),
        ("uint(1729)", "1729u"),
        ("uint(25.5)", "25u"),
        ("uint('300')", "300u"),
        ("double(1)", "1"),
        ("double('-123.456')", "-123.456"),
        ("double('NaN') == double('NaN')", "false"),
        ("string(123)", "'123'"),
        ("string(9876u)", "'9876'"),
        ("string(123.456)", "'123.456'"),
        ("string(-4.5e-3)", "'-0.0045'"),
        ("string(true)", "'true'"),
        ("string(b'abc')", "'abc'"),
        ("string(duration('1.5s'))", "'1.5s'"),
        (
            "string(timestamp('2009-02-13T23:31:30Z'))",
            "'2009-02-13T23:31:30Z'",
        ),
        ("bytes('abc')", "b[97, 98, 99]"),
        ("bool('true')", "true"),
        ("bool('t')", "true"),
        ("bool('0')", "false"),
        ("bool('FALSE')", "false"),
        ("dyn(11)", "11"),
    ]);
    fail(&[
        ("int(18446744073709551615u)", ErrorKind::Overflow),
        ("int(1e99)", ErrorKind::Overflow),
        ("int(9223372036854775807.0)", ErrorKind::Overflow),
        ("int(-9223372036854775809.0)", ErrorKind::Overflow),
        ("int('9223372036854775808')", ErrorKind::BadConversion),
        ("uint(-1)", ErrorKind::Overflow),
        ("uint(6.022e23)", ErrorKind::Overflow),
        ("uint('-1')", ErrorKind::BadConversion),
        ("string(b'\\x00\\xff')", ErrorKind::BadConversion),
        ("bool('TrUe')", ErrorKind::BadConversion),
        ("double('x')", ErrorKind::BadConversion),
    ]);
}

#[test]
fn times_and_durations_follow_their_ranges() {
    are(&[
        ("timestamp('2009-02-13T23:31:30Z')", "2009-02-13T23:31:30Z"),
        (
            "timestamp('2009-02-13T23:31:20.123456789Z').getMilliseconds()",
            "123",
        ),
        ("timestamp('2009-02-13T23:31:30Z').getDate()", "13"),
        ("timestamp('2009-02-13T23:31:30Z').getDayOfMonth()", "12"),
        ("timestamp('2009-02-13T23:31:30Z').getDayOfWeek()", "5"),
        ("timestamp('2009-02-13T23:31:30Z').getDayOfYear()", "43"),
        ("timestamp('2009-02-13T23:31:30Z').getFullYear()", "2009"),
        ("timestamp('2009-02-13T23:31:30Z').getHours()", "23"),
        ("timestamp('2009-02-13T23:31:30Z').getMinutes()", "31"),
        ("timestamp('2009-02-13T23:31:30Z').getMonth()", "1"),
        ("timestamp('2009-02-13T23:31:30Z').getSeconds()", "30"),
        ("timestamp('2009-02-13T23:31:30Z').getDate('+11:00')", "14"),
        ("timestamp('2009-02-13T23:31:30Z').getHours('02:00')", "1"),
        (
            "timestamp('2009-02-13T23:31:30Z').getMinutes('-00:30')",
            "1",
        ),
        ("timestamp('2009-02-13T02:00:00Z').getDate('-02:30')", "12"),
        (
            "timestamp('2009-02-13T23:00:00Z') + duration('240s')",
            "2009-02-13T23:04:00Z",
        ),
        (
            "duration('120s') + timestamp('2009-02-13T23:01:00Z')",
            "2009-02-13T23:03:00Z",
        ),
        (
            "timestamp('2009-02-13T23:31:00Z') - timestamp('2009-02-13T23:29:00Z')",
            "120s",
        ),
        (
            "timestamp('2009-02-13T23:10:00Z') - duration('600s')",
            "2009-02-13T23:00:00Z",
        ),
        ("duration('600s') + duration('50s')", "650s"),
        ("duration('600s') - duration('50s')", "550s"),
        ("duration('10000s').getHours()", "2"),
        ("duration('3730s').getMinutes()", "62"),
        ("duration('3730s').getSeconds()", "3730"),
        ("duration('123.321456789s').getMilliseconds()", "321"),
        ("duration('1h30m') == duration('90m')", "true"),
        ("duration('-1.5h')", "-5400s"),
        (
            "timestamp('9999-12-31T23:59:59.999999999Z')",
            "9999-12-31T23:59:59.999999999Z",
        ),
        ("timestamp('0001-01-01T00:00:00Z').getDayOfWeek()", "1"),
        ("timestamp('2024-02-29T12:00:00Z').getDayOfYear()", "59"),
        (
            "timestamp('2009-02-13T23:31:30+02:00') == timestamp('2009-02-13T21:31:30Z')",
            "true",
        ),
        ("timestamp(1) == timestamp('1970-01-01T00:00:01Z')", "true"),
    ]);
    fail(&[
        (
            "timestamp(dyn('0000-01-01T00:00:00Z'))",
            ErrorKind::BadConversion,
        ),
        (
            "timestamp(dyn('10000-01-01T00:00:00Z'))",
            ErrorKind::BadConversion,
        ),
        (
            "timestamp('0001-01-01T00:00:00Z') + duration('-1s')",
            ErrorKind::Overflow,
        ),
        (
            "timestamp('9999-12-31T23:59:59Z') + duration('1s')",
            ErrorKind::Overflow,
        ),
        (
            "duration('200000000000s') + duration('200000000000s')",
            ErrorKind::Overflow,
        ),
        (
            "duration('-200000000000s') - duration('200000000000s')",
            ErrorKind::Overflow,
        ),
        ("duration(dyn('320000000000s'))", ErrorKind::BadConversion),
        ("timestamp(dyn('yesterday'))", ErrorKind::BadConversion),
        ("timestamp(0).getHours('nowhere')", ErrorKind::BadArgument),
        ("timestamp(0).getHours('+-1:30')", ErrorKind::BadArgument),
    ]);
}

#[test]
fn the_extensions_do_what_their_documentation_says() {
    are(&[
        ("'/etc/passwd'.glob('/etc/*')", "true"),
        ("'/etc/ssh/key'.glob('/etc/*')", "false"),
        ("'/etc/ssh/key'.glob('/etc/**')", "true"),
        ("'a.TXT'.glob('*.txt')", "false"),
        ("'b.rs'.glob('{a,b}.rs')", "true"),
        ("'é'.glob('?')", "true"),
        ("'é'.glob('??')", "false"),
        ("'aéz'.glob('a[à-é]z')", "true"),
        ("'aüz'.glob('a[!é]z')", "true"),
        ("'日本.txt'.glob('{日本,x}.*')", "true"),
        ("'a\\nb'.glob('a*b')", "true"),
        (r"'\\xc3'.glob(r'\\xc3')", "true"),
        (r"'*'.glob(r'\*')", "true"),
        ("cidr('10.0.0.0/8').containsIP('10.1.2.3')", "true"),
        ("cidr('10.0.0.0/8').containsIP(ip('11.1.2.3'))", "false"),
        ("cidr('10.0.0.0/8').containsIP('::ffff:10.1.2.3')", "true"),
        ("cidr('fd00::/8').containsIP('fd12::1')", "true"),
        ("cidr('0.0.0.0/0').containsIP('8.8.8.8')", "true"),
        ("isIP('1.2.3')", "false"),
        ("isIP('0x7f.1')", "false"),
        ("isCIDR('1.2.3.4/33')", "false"),
        ("ip('::1').family()", "6"),
        ("ip('127.0.0.9').isLoopback()", "true"),
        ("ip('192.168.1.1').isPrivate()", "true"),
        ("ip('8.8.8.8').isPrivate()", "false"),
        ("cidr('10.0.0.0/8').prefixLength()", "8"),
        ("'a.example.com'.domain('example.com')", "true"),
        ("'EXAMPLE.com.'.domain('example.com')", "true"),
        ("'evil-example.com'.domain('example.com')", "false"),
        ("'.example.com'.domain('example.com')", "false"),
        ("domain('a.b.example.co.uk')", "'example.co.uk'"),
        ("domain('co.uk')", "''"),
        ("domain('10.0.0.1')", "''"),
        ("entropy('aaaa')", "0"),
        ("entropy('abcd')", "2"),
        ("entropy('')", "0"),
        ("secrets('key=AKIAIOSFODNN7EXAMPLE;')", "['aws-access-key']"),
        ("secrets('nothing here, sk-learn, eyJust')", "[]"),
        ("'-----BEGIN OPENSSH PRIVATE KEY-----'.secrets()", "[]"),
        (
            "'-----BEGIN OPENSSH PRIVATE KEY-----\\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9u'.secrets()",
            "['private-key']",
        ),
        (
            "r'a\\nghp_0123456789abcdefghijABCDEFGHIJ012345'.secrets()",
            "['github-token']",
        ),
        (
            "'a%3Dghp_0123456789abcdefghijABCDEFGHIJ012345'.secrets()",
            "['github-token']",
        ),
        (
            "'xghp_0123456789abcdefghijABCDEFGHIJ012345'.secrets()",
            "[]",
        ),
        ("'hf_hub_download_with_retries_and_backoff'.secrets()", "[]"),
    ]);
    fail(&[
        (
            "cidr('10.0.0.0/8').containsIP(dyn('x'))",
            ErrorKind::BadConversion,
        ),
        ("'a'.domain(dyn('co.uk'))", ErrorKind::BadArgument),
    ]);
}
