#![allow(missing_docs, clippy::unwrap_used)]
use bailiwick_event::*;
use bailiwick_ledger::*;
use std::path::Path;
use std::time::Instant;
fn act() -> Act { Act::Dns { qname: Text::from("registry.example.com"), qtype: "A".into(), transport: Transport::Udp } }
fn dec() -> Decision { Decision::allow(RuleRef { id: "network.allow".into(), origin: Origin::new("./bailiwick.toml", 3, 9) }) }
fn median(mut v: Vec<f64>) -> (f64, f64) { v.sort_by(f64::total_cmp); (v[v.len()/2], v[v.len()*95/100]) }
fn main() {
    let place = std::env::args().nth(1).unwrap();
    let state = StateDir::at(Path::new(&place).join("state")).unwrap();
    let lock = "x".repeat(6000);
    let argv = [Text::from("cargo"), Text::from("build")];
    let new = NewSession { name: None, policy_lock: &lock, workspace: Path::new("/home/me/p"), argv: &argv };
    let mut c = vec![]; let mut s = vec![]; let mut cl = vec![]; let mut op = vec![]; let mut sd = vec![];
    for _ in 0..300 {
        let t = Instant::now(); let st2 = StateDir::at(state.path()).unwrap(); sd.push(t.elapsed().as_secs_f64()*1e6);
        let t = Instant::now(); let l = Ledger::create(&st2, &new).unwrap(); c.push(t.elapsed().as_secs_f64()*1e6);
        let t = Instant::now(); l.record(act(), dec()).unwrap(); s.push(t.elapsed().as_secs_f64()*1e6);
        let t = Instant::now(); l.close().unwrap(); cl.push(t.elapsed().as_secs_f64()*1e6);
        let t = Instant::now(); let r = SessionReader::open(&state, l.id()).unwrap(); r.events(&Filter::default()).unwrap(); op.push(t.elapsed().as_secs_f64()*1e6);
    }
    println!("statedir {:?} create {:?} first record {:?} close {:?} first read {:?} us (median, p95)", median(sd), median(c), median(s), median(cl), median(op));
    let named = NewSession { name: Some("build"), ..new };
    let t = Instant::now(); let l = Ledger::create(&state, &named).unwrap(); println!("named create {:?}", t.elapsed());
    let t = Instant::now(); for _ in 0..2000 { l.record(act(), dec()).unwrap(); } println!("record no writer {:?}/row", t.elapsed()/2000);
    let t = Instant::now(); for _ in 0..200_000 { l.record(act(), dec()).unwrap(); } println!("record with writer {:?}/row", t.elapsed()/200_000);
    let t = Instant::now(); l.close().unwrap(); println!("close {:?}", t.elapsed());
    let t = Instant::now(); let r = SessionReader::open(&state, l.id()).unwrap(); println!("open {:?}", t.elapsed());
    let t = Instant::now(); println!("{}", r.verify().unwrap()); println!("verify {:?}", t.elapsed());
    let t = Instant::now(); let n = Sessions::open(&state).list().unwrap().len(); println!("list of {n} {:?}", t.elapsed());
    let l = Ledger::create(&state, &new).unwrap(); l.start_writer().unwrap();
    let t = Instant::now();
    std::thread::scope(|sc| for _ in 0..8 { sc.spawn(|| for _ in 0..25_000 { l.record(act(), dec()).unwrap(); }); });
    println!("8 threads {:?}/row", t.elapsed()/200_000);
}
