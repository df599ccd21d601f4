//! The word that somebody probably meant.
//!
//! Idea: a typing mistake is a letter that is missing, wrong, doubled or exchanged with its neighbour, so words are
//! compared by the number of such steps (Damerau and Levenshtein).
//! Assumption: one mistake in three letters is a mistake, more is another word. So the abbreviations of two letters
//! never suggest each other.

use strsim::damerau_levenshtein;

/// So many letters of a word go with each mistake in it.
const LETTERS_PER_MISTAKE: usize = 3;

/// The candidate that is nearest to a word, if one is near.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.trim().to_lowercase();
    let near = candidates.into_iter().map(|name| (damerau_levenshtein(&word, name), name));
    let near = near.filter(|(mistakes, _)| mistakes * LETTERS_PER_MISTAKE <= word.chars().count());
    near.min_by_key(|(mistakes, _)| *mistakes).map(|(_, name)| name)
}

/// The end of a message about an unknown word: a question where a candidate is near, else nothing.
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
