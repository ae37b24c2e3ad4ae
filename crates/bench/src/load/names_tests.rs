use super::*;

fn asked() -> Flood {
    Flood {
        server: "127.0.0.1:53".parse().unwrap(),
        name: "a.test".to_owned(),
        count: 1,
        in_flight: 1,
        code: 3,
        answers: 0,
    }
}

#[test]
fn an_answer_counts_only_with_its_question_its_code_and_its_records() {
    let question = question("a.test");
    assert_eq!(question.len(), 12 + 2 + 5 + 1 + 4);
    let mut answer = question.clone();
    (answer[0], answer[1], answer[2], answer[3]) = (7, 9, 0x81, 0x83);
    assert_eq!(checked(&answer, &question, &asked()), Ok(0x0709));
    let without_records = Flood {
        answers: 1,
        ..asked()
    };
    assert!(checked(&answer, &question, &without_records).is_err());
    for (at, byte) in [(2, 0x01), (3, 0x80), (13, b'b')] {
        let mut wrong = answer.clone();
        wrong[at] = byte;
        assert!(checked(&wrong, &question, &asked()).is_err(), "{at}");
    }
    assert!(checked(&answer[..11], &question, &asked()).is_err());
    assert!(checked(&answer[..20], &question, &asked()).is_err());
}
