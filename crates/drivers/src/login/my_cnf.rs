//! The option files of MySQL's and MariaDB's clients: `[client]` and its like, `user`, `password`, `port`, `ssl-…`.
//!
//! Source: the manuals' chapters on option files, and `my_default.c`. Later lines take precedence, whatever their
//! group. `-` and `_` are the same in names; values may be quoted and have escapes; `#` begins a comment anywhere
//! outside quotes, `;` at the beginning of a line. Blind spots: `!include`, the files in `/etc`, and the obfuscated
//! `.mylogin.cnf`.

use anchorite_model::Product;

/// The settings in a file; `None` if it does not say.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ClientOptions {
    /// The account.
    pub user: Option<String>,
    /// Its password.
    pub password: Option<String>,
    /// The port.
    pub port: Option<u16>,
    /// `ssl-mode`, `ssl-ca`, `ssl-cert`, `ssl-key` with their values.
    pub tls: Vec<(String, String)>,
}

/// Reads what a client of this product would take from the file.
pub fn read(text: &str, product: Product) -> ClientOptions {
    let groups = &product.descriptor().connection.option_groups;
    let mut options = ClientOptions::default();
    let mut is_ours = false;
    for line in text.lines().map(str::trim) {
        if let Some(group) = line.strip_prefix('[') {
            let group = group.split(']').next().unwrap_or_default();
            is_ours = groups.iter().any(|known| known == group.trim());
        } else if is_ours && !line.starts_with(['#', ';', '!']) {
            let line = without_comment(line);
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            options.take(name.trim(), unquoted(value.trim()));
        }
    }
    options
}

impl ClientOptions {
    fn take(&mut self, name: &str, value: String) {
        let name = name.replace('_', "-");
        match name.as_str() {
            "user" => self.user = Some(value),
            "password" => self.password = Some(value),
            "port" => self.port = value.parse().ok().filter(|port| *port > 0),
            "ssl-mode" | "ssl-ca" | "ssl-cert" | "ssl-key" => self.tls.push((name, value)),
            _ => {}
        }
    }
}

/// The line up to a `#` that is not inside quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut is_escaped = false;
    for (at, letter) in line.char_indices() {
        match letter {
            '\'' | '"' if !is_escaped && quote == Some(letter) => quote = None,
            '\'' | '"' if !is_escaped && quote.is_none() => quote = Some(letter),
            '#' if quote.is_none() => return line[..at].trim_end(),
            _ => {}
        }
        is_escaped = quote.is_some() && letter == '\\' && !is_escaped;
    }
    line
}

/// The value without the quotes around it and with its escapes resolved.
fn unquoted(value: &str) -> String {
    let quoted = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
    let inner = quoted('\'').or_else(|| quoted('"')).unwrap_or(value);
    let mut text = String::new();
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            text.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('b') => text.push('\u{8}'),
            Some('s') => text.push(' '),
            Some('"') => text.push('"'),
            Some('\'') => text.push('\''),
            Some('\\') | None => text.push('\\'),
            Some(other) => text.extend(['\\', other]),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_reads_its_groups_and_what_stands_later_counts() {
        let file = "[client]\nuser = me\npassword=one\nport=3307\n\
                    [mysqld]\npassword=server\n\
                    [client-mariadb]\npassword=two\n\
                    [mysql]\nssl_ca=/ca.pem\nno-auto-rehash\n\
                    [client]\nssl-mode=REQUIRED\n";
        let mysql = read(file, Product::named("mysql"));
        assert_eq!((mysql.user.as_deref(), mysql.password.as_deref()), (Some("me"), Some("one")));
        assert_eq!(mysql.port, Some(3307));
        let tls = [("ssl-ca", "/ca.pem"), ("ssl-mode", "REQUIRED")];
        assert_eq!(mysql.tls, tls.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(read(file, Product::named("mariadb")).password.as_deref(), Some("two"));
        assert!(read("password=outside\n", Product::named("mysql")) == ClientOptions::default());
    }

    /// As MariaDB's own `my_print_defaults` reads them.
    #[test]
    fn quotes_escapes_and_comments() {
        for (line, expected) in [
            ("password=plain", "plain"),
            ("password = a b ", "a b"),
            ("password=ab#cd", "ab"),
            ("password='ab#cd' # it has a hash", "ab#cd"),
            ("password=\"a'b\"", "a'b"),
            ("password=\"a\\\"b#c\"", "a\"b#c"),
            ("password=a\\sb\\\\c\\x", "a b\\c\\x"),
            ("password=\"\"", ""),
            ("password=it's", "it's"),
            ("password==x=", "=x="),
            ("password='a\\'b'", "a'b"),
            ("password=a\"b#c\"d", "a\"b#c\"d"),
            ("password=\"x", "\"x"),
        ] {
            let options = read(&format!("[client]\n{line}\n"), Product::named("mysql"));
            assert_eq!(options.password.as_deref(), Some(expected), "{line}");
        }
        let comments = "[client]\n# password=a\n;password=b\n!include x\n";
        assert_eq!(read(comments, Product::named("mysql")).password, None);
    }
}
