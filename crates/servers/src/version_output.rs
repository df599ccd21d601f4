//! The version in what a server program prints about itself.

use anchorite_model::Product;

use crate::catalog;

/// Reads the version out of what the server program prints about itself; `None` if the program is another
/// product (on many systems `mysqld` is a link to MariaDB's server).
pub(crate) fn from_output(product: Product, output: &str) -> Option<String> {
    let server = catalog::server(product);
    let says = |word: &String| output.contains(word.as_str());
    if !server.says.as_ref().is_none_or(says) || server.never_says.as_ref().is_some_and(says) {
        return None;
    }
    let rest = after(output, &server.version_behind)?;
    if server.version_whole {
        let label = rest.split_whitespace().next()?;
        return Some(label.trim_start_matches('v').to_owned());
    }
    let number: String = rest
        .trim_start()
        .trim_start_matches('v')
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == '.')
        .collect();
    let number = number.trim_end_matches('.');
    (!number.is_empty()).then(|| number.to_owned())
}

fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.split_once(mark).map(|(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_say_their_version_in_many_ways() {
        let table = [
            (
                Product::named("mariadb"),
                "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)",
                Some("10.11.19"),
            ),
            (
                Product::named("mysql"),
                "mysqld  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)",
                None,
            ),
            (
                Product::named("mysql"),
                "/x/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))",
                Some("9.7.4"),
            ),
            (
                Product::named("mariadb"),
                "/x/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))",
                None,
            ),
            (
                Product::named("mysql"),
                "./mysqld  Ver 5.6.24 for linux-glibc2.5 on x86_64",
                Some("5.6.24"),
            ),
            (
                Product::named("postgres"),
                "postgres (PostgreSQL) 15.20 (Debian 15.20-0+deb12u1)",
                Some("15.20"),
            ),
            (Product::named("postgres"), "postgres (PostgreSQL) 18beta1", Some("18")),
            (
                Product::named("tidb"),
                "Release Version: v4.0.0-20200921-g501466fb690d\nEdition: Community",
                Some("4.0.0-20200921-g501466fb690d"),
            ),
            (
                Product::named("cockroach"),
                "Build Tag:        v20.1.17\nBuild Time: ",
                Some("20.1.17"),
            ),
            (Product::named("cockroach"), "no such thing", None),
        ];
        for (product, output, expected) in table {
            assert_eq!(from_output(product, output).as_deref(), expected, "{output}");
        }
    }
}
