use super::*;

#[test]
fn where_the_pages_begin_is_read_from_the_end() {
    for pages in [None, Some(1), Some(u64::MAX)] {
        let mut state = tempfile::tempfile().unwrap();
        state.write_all(b"devices").unwrap();
        end_with(pages, &mut state).unwrap();
        assert_eq!(read_end(&mut state).unwrap(), pages);
        let mut all = Vec::new();
        state.read_to_end(&mut all).unwrap();
        assert_eq!(all.len(), 7 + 8);
    }
    read_end(&mut tempfile::tempfile().unwrap()).unwrap_err();
}
