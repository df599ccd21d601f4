//! The word that the user probably meant.
//!
//! Idea: a typing error is a letter that is missing, wrong, doubled or swapped with its neighbour, so words are
//! compared by the number of such steps (Damerau and Levenshtein). Assumption: up to one error per three letters is a
//! typing error, more is another word. So two-letter abbreviations never suggest each other.

use strsim::damerau_levenshtein;

/// The number of letters in a word per allowed error.
const LETTERS_PER_MISTAKE: usize = 3;

/// The candidate that is nearest to a word, if one is near.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.trim().to_lowercase();
    let near = candidates.into_iter().map(|name| (damerau_levenshtein(&word, name), name));
    let near = near.filter(|(mistakes, _)| mistakes * LETTERS_PER_MISTAKE <= word.chars().count());
    near.min_by_key(|(mistakes, _)| *mistakes).map(|(_, name)| name)
}

/// The end of a message about an unknown word: a question if a candidate is near, else nothing.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, candidates).map(|name| format!("; did you mean {name}?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let names = ["sqlite", "mariadb", "mysql", "postgres", "ru", "rr", "ser"];
        for (word, meant) in [
            ("postgers", Some("postgres")),
            ("Postgress", Some("postgres")),
            ("marai", None),
            ("maridb", Some("mariadb")),
            ("sqlit", Some("sqlite")),
            ("sre", Some("ser")),
            ("rx", None),
            ("oracle", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, names), meant, "{word}");
        }
    }
}
