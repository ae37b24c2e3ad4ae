//! Events that conditions are tried on.

use bailiwick_event::fields::Record;

const LINES: [&str; 7] = [
    r#"{"common":{"type":"http.request"}}"#,
    r#"{"common":{"type":"http.request","process":{"pid":7,"argv":["curl","-d","é",""]},"labels":{"a":"b"}},"http":{"request":{"method":"POST","scheme":"https","host":"a.example.com","port":443,"path":"/admin/x","query":"q=1","url":"https://a.example.com/admin/x?q=1","headers":[["Authorization","Bearer x"],["X-A","1"],["x-a","2"]],"body":{"state":"captured","text":"token=secret","size":12,"truncated":false}}}}"#,
    r#"{"common":{"type":"http.request"},"http":{"request":{"method":"GET","scheme":"http","host":"b.test","port":80,"path":"/","url":"http://b.test/"}}}"#,
    r#"{"common":{"type":"mcp.request"},"mcp":{"request":{"method":"tools/call","server":"s","tool":"t","arguments":{"a":{"b":["x",1,null,true,1.5]},"path":"/etc/passwd"}}}}"#,
    r#"{"common":{"type":"dns.request","time":1795174367000000001},"dns":{"request":{"qname":"a.b.test","qtype":"TXT","transport":"udp","label":{"entropy":3.5,"length":4}}}}"#,
    r#"{"common":{"type":"process.exec"},"process":{"exec":{"executable":"/bin/rm","argv":["rm","-rf","/"],"command":"rm -rf /","cwd":"/w","class":"command"}}}"#,
    r#"{"common":{"type":"file"},"file":{"operation":"open","path":"/home/a/.ssh/id","name":"id","ext":"PEM","size":-1}}"#,
];

/// Some of each kind that rules are mostly about.
pub fn all() -> impl Iterator<Item = Record<'static>> {
    LINES
        .iter()
        .map(|line| Record::read(line).expect("these lines are events"))
}
