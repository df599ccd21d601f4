//! Version numbers: what programs print, and whether it is what was asked for.
//!
//! Idea: a request is a prefix. `10.11` is satisfied by `10.11.19`, `8.5.0` by `8.5.0-20260903-gac41d7e3c8fc`,
//! and `10.1` is not satisfied by `10.11`.

/// Whether a server of version `actual` is what `asked` means.
pub(crate) fn satisfies(actual: &str, asked: &str) -> bool {
    let mut actual = actual.split(['.', '-']);
    asked.split(['.', '-']).all(|part| actual.next() == Some(part))
}

/// Whether one of the two is a prefix of the other: `9.7` and `9.7.4` may mean the same server, `9` and `9.7` too.
pub(crate) fn compatible(one: &str, other: &str) -> bool {
    satisfies(one, other) || satisfies(other, one)
}

/// The leading numbers, for "at least this version" questions.
pub(crate) fn numbers(version: &str) -> Vec<u32> {
    version.split(['.', '-']).map_while(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_a_prefix_of_whole_numbers() {
        assert!(satisfies("10.11.19", "10.11"));
        assert!(satisfies("10.11.19", "10"));
        assert!(satisfies("8.5.0-20260903-gac41d7e3c8fc", "8.5.0"));
        assert!(!satisfies("10.11.19", "10.1"));
        assert!(!satisfies("10.11", "10.11.19"));
        assert!(compatible("10.11", "10.11.19"));
        assert!(!compatible("10.11.19", "10.11.18"));
    }

    #[test]
    fn numbers_stop_at_the_first_word() {
        assert_eq!(numbers("8.5.0-20260903-g12"), [8, 5, 0, 20_260_903]);
        assert!(numbers("8.0.30") >= vec![8, 0, 30]);
        assert!(numbers("5.6.24") < vec![8, 0, 30]);
    }
}
