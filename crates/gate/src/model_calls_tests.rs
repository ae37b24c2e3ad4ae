use super::*;
use crate::testing::{Rig, Script};
use bailiwick_event::Origin;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

fn call(rig: &Rig) -> Call {
    let path = "/v1/chat/completions";
    let called = model::recognise("api.openai.com", "POST", path).unwrap();
    let rule = RuleRef {
        id: "calls".into(),
        origin: Origin::new("p.toml", 1, 1),
    };
    Call::new(&rig.context, called, &rule, 7)
}

/// Takes a room, but for so much of it.
fn fill(room: &Arc<Semaphore>, but: usize) -> OwnedSemaphorePermit {
    let count = u32::try_from(room.available_permits() - but).unwrap();
    Arc::clone(room).try_acquire_many_owned(count).unwrap()
}

fn pass(tap: &mut dyn Tap, data: &[u8]) -> usize {
    tap.data(&Bytes::copy_from_slice(data));
    let mut steps = 1;
    while tap.step() {
        steps += 1;
    }
    steps
}

const ANSWER: &str = r#"{"object":"chat.completion","model":"gpt-4o","choices":[{"index":0,
    "message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}],
    "usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}"#;

fn json() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, "application/json".parse().unwrap());
    headers
}

#[tokio::test]
async fn what_is_asked_is_read_where_there_is_room_and_is_cut_where_there_is_none() {
    let body = br#"{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}"#;
    for (but, cut) in [(body.len(), false), (body.len() - 1, true)] {
        let rig = Rig::new(Script::allowing()).await;
        let full = fill(&rig.context.room.watched, but);
        let mut tap = call(&rig).question_tap(&json());
        pass(&mut *tap, body);
        tap.end(&End::Whole);
        drop((tap, full));
        let [Act::ModelRequest(asked)] = &rig.script.noted()[..] else {
            panic!("{:?}", rig.script.noted());
        };
        assert_eq!((asked.cut, asked.model.is_some()), (cut, !cut));
        assert_eq!(rig.context.room.watched.available_permits(), 64 << 20);
    }
}

fn answered(rig: &Rig) -> ModelAnswer {
    match rig.script.acts().pop() {
        Some(Act::ModelResponse(answer)) => answer,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_answer_is_cut_where_there_is_no_room_to_read_it() {
    let long = ANSWER.replace("yes", &"yes".repeat(20_000));
    let cases = [(&*long, 128 << 10, false), (&long, 100, true)];
    for (text, but, cut) in cases.into_iter().chain([(ANSWER, 0, false)]) {
        let rig = Rig::new(Script::allowing()).await;
        // What else is watched takes nothing of it.
        let watched = fill(&rig.context.room.watched, 0);
        let full = fill(&rig.context.room.models, but);
        let call = call(&rig);
        call.asked(|asked| *asked = Some("gpt-4o".into()));
        let mut tap = call.answer_tap(&json());
        let (first, rest) = text.split_at(text.len() - 90);
        pass(&mut *tap, first.as_bytes());
        pass(&mut *tap, rest.as_bytes());
        tap.end(&End::Whole);
        let answer = answered(&rig);
        assert_eq!((answer.cut, answer.output.is_none()), (cut, cut));
        drop((tap, full, watched));
        assert_eq!(rig.context.room.models.available_permits(), 64 << 20);
    }
}

#[tokio::test]
async fn an_answer_that_is_coded_is_read_in_small_steps_and_keeps_little() {
    let rig = Rig::new(Script::allowing()).await;
    let mut coded = GzEncoder::new(Vec::new(), Compression::fast());
    coded.write_all(ANSWER.as_bytes()).unwrap();
    coded.write_all(&vec![b' '; 8 << 20]).unwrap();
    let coded = coded.finish().unwrap();
    assert!(coded.len() < 100_000);
    let mut headers = json();
    headers.insert(hyper::header::CONTENT_ENCODING, "gzip".parse().unwrap());
    let mut tap = call(&rig).answer_tap(&headers);
    assert!(pass(&mut *tap, &coded) > 128);
    let room = &rig.context.room.models;
    assert!(room.available_permits() > (63 << 20));
    tap.end(&End::Whole);
    let answer = answered(&rig);
    assert_eq!((answer.cut, answer.output), (false, Some(1)));
}
