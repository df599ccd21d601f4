//! PostgreSQL's password file: lines of `host:port:database:user:password`.
//!
//! Source: the libpq manual, "The Password File". The first line that matches counts; `*` matches everything; `\:` and
//! `\\` stand for `:` and `\`; a line that begins with `#` is a comment. Blind spot: `localhost` does not mean the
//! directory of a Unix socket, which no URL here names.

use crate::endpoint::Endpoint;

/// The password for an endpoint whose user, port and database are filled in.
pub fn find(text: &str, endpoint: &Endpoint) -> Option<String> {
    let port = endpoint.port?.to_string();
    let wanted = [&endpoint.host, &port, &endpoint.database, &endpoint.user];
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(fields).find_map(|fields| {
        let [host, port, database, user, password] = <[Field; 5]>::try_from(fields).ok()?;
        let fits = |(field, wanted): (Field, &&String)| field.is_any || field.text == **wanted;
        let all = [host, port, database, user].into_iter().zip(&wanted).all(fits);
        (all && !password.text.is_empty()).then_some(password.text)
    })
}

/// A part of a line.
#[derive(Debug, Default)]
struct Field {
    text: String,
    /// It was a bare `*`.
    is_any: bool,
}

/// The first four fields end at a colon; the last one is the rest of the line, which may contain a bare colon.
fn fields(line: &str) -> Vec<Field> {
    let mut fields = vec![Field::default()];
    let mut raw_star = false;
    let mut letters = line.trim_end_matches('\r').chars();
    while let Some(letter) = letters.next() {
        let is_last = fields.len() == 5;
        let field = fields.last_mut().expect("there is always one");
        match letter {
            '\\' => field.text.push(letters.next().unwrap_or('\\')),
            ':' if !is_last => {
                field.is_any = raw_star && field.text == "*";
                raw_star = false;
                fields.push(Field::default());
            }
            letter => {
                raw_star |= letter == '*';
                field.text.push(letter);
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# hosts of ours\n\
        db.example:5432:app:me:first\n\
        db.example:5432:app:me:second\n\
        db.example:*:*:me:any database\n\
        other\\:host:1:d\\\\b:u\\:ser:p\\:a:s\\\\s\n\
        \\*:*:*:*:only the host called star\n\
        too:few:fields\n\
        *:*:*:nobody:\n\
        *:*:*:nobody:not empty\n\
        *:*:*:anybody:#1\r\n";

    #[test]
    fn the_first_line_that_fits_counts() {
        for (host, port, database, user, expected) in [
            ("db.example", 5432, "app", "me", Some("first")),
            ("db.example", 5433, "app", "me", Some("any database")),
            ("db.example", 5432, "app", "you", None),
            ("other:host", 1, "d\\b", "u:ser", Some("p:a:s\\s")),
            ("elsewhere", 1, "x", "me", None),
            ("*", 1, "x", "me", Some("only the host called star")),
            ("elsewhere", 1, "x", "nobody", Some("not empty")),
            ("elsewhere", 1, "x", "anybody", Some("#1")),
        ] {
            let mut endpoint = Endpoint::parse("postgres://h").unwrap();
            endpoint.host = host.to_owned();
            endpoint.port = Some(port);
            endpoint.database = database.to_owned();
            endpoint.user = user.to_owned();
            assert_eq!(
                find(FILE, &endpoint).as_deref(),
                expected,
                "{host} {port} {database} {user}"
            );
        }
    }
}
