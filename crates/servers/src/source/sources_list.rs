//! Reads where the machine's own packages come from, so that no host name stands in this program.
//!
//! Source: sources.list(5): one-line `.list` files and deb822 `.sources` files.
//! Idea: the archive that has the machine's own suite has the other suites too, so only the suite is replaced.

/// One archive that the machine's package manager uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Archive {
    /// Where it is.
    pub uri: String,
    /// The suites that are used of it.
    pub suites: Vec<String>,
    /// The components that are used of it.
    pub components: Vec<String>,
    /// The keyring (or a whole key) as the configuration has it, if it names one.
    pub signed_by: Option<String>,
}

impl Archive {
    /// The same archive's other suite, in deb822 form.
    pub(crate) fn stanza(&self, suite: &str) -> String {
        self.stanza_of("deb", suite)
    }

    /// The same for source packages.
    pub(crate) fn source_stanza(&self, suite: &str) -> String {
        self.stanza_of("deb-src", suite)
    }

    fn stanza_of(&self, kind: &str, suite: &str) -> String {
        let Self { uri, signed_by, .. } = self;
        let signed_by = signed_by.as_ref().map(|key| format!("Signed-By: {key}\n"));
        let signed_by = signed_by.unwrap_or_default();
        format!("Types: {kind}\nURIs: {uri}\nSuites: {suite}\nComponents: main\n{signed_by}")
    }
}

/// Reads a one-line-style file.
pub(crate) fn one_line(text: &str) -> Vec<Archive> {
    text.lines().filter_map(archive_of_line).collect()
}

fn archive_of_line(line: &str) -> Option<Archive> {
    let line = line.split('#').next()?.trim();
    let rest = line.strip_prefix("deb")?;
    let rest = rest.strip_prefix(char::is_whitespace)?.trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let signed_by = options.split_whitespace().find_map(|option| option.strip_prefix("signed-by="));
    let mut words = rest.split_whitespace().map(str::to_owned);
    Some(Archive {
        uri: words.next()?,
        suites: vec![words.next()?],
        components: words.collect(),
        signed_by: signed_by.map(|keys| keys.replace(',', " ")),
    })
}

/// Reads a deb822-style file.
pub(crate) fn deb822(text: &str) -> Vec<Archive> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    lines.split(|line| line.trim().is_empty()).flat_map(archives_of_stanza).collect()
}

fn archives_of_stanza(lines: &[&str]) -> Vec<Archive> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in lines {
        match (line.starts_with([' ', '\t']), fields.last_mut()) {
            (true, Some((_, value))) => {
                value.push('\n');
                value.push_str(line);
            }
            _ => {
                if let Some((name, value)) = line.split_once(':') {
                    fields.push((name.trim().to_lowercase(), value.trim().to_owned()));
                }
            }
        }
    }
    let field = |name: &str| fields.iter().find(|(other, _)| other == name).map(|(_, value)| value);
    let words = |name: &str| -> Vec<String> {
        field(name)
            .map(|text| text.split_whitespace().map(str::to_owned).collect())
            .unwrap_or_default()
    };
    let enabled = !field("enabled").is_some_and(|value| matches!(value.as_str(), "no" | "false"));
    if !enabled || !words("types").iter().any(|kind| kind == "deb") {
        return Vec::new();
    }
    let archive = |uri| Archive {
        uri,
        suites: words("suites"),
        components: words("components"),
        signed_by: field("signed-by").cloned(),
    };
    words("uris").into_iter().map(archive).collect()
}

/// The archive that carries the distribution itself: it has the machine's own suite, or a suite by its role.
pub(crate) fn distribution<'a>(archives: &'a [Archive], own_suite: &str) -> Option<&'a Archive> {
    const ROLES: [&str; 5] = ["stable", "oldstable", "testing", "unstable", "sid"];
    let usable = |archive: &&Archive| {
        !archive.uri.starts_with("cdrom:") && archive.components.iter().any(|name| name == "main")
    };
    let has = |archive: &Archive, suite: &str| archive.suites.iter().any(|other| other == suite);
    let usable: Vec<&Archive> = archives.iter().filter(usable).collect();
    std::iter::once(own_suite)
        .chain(ROLES)
        .find_map(|suite| usable.iter().find(|archive| has(archive, suite)).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCES: &str = "\
Types: deb
# a comment in the middle
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/archive.gpg

Types: deb
URIs: http://mirror.example/security
Suites: bookworm-security
Components: main

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main

Types: deb-src
URIs: http://src.example/debian
Suites: bookworm
Components: main
";

    #[test]
    fn stanzas_are_read() {
        let archives = deb822(SOURCES);
        assert_eq!(archives.len(), 2);
        let found = distribution(&archives, "bookworm").unwrap();
        assert_eq!(
            found.stanza("sid"),
            "Types: deb\nURIs: http://mirror.example/debian\nSuites: sid\nComponents: main\n\
             Signed-By: /usr/share/keyrings/archive.gpg\n"
        );
    }

    #[test]
    fn a_key_inside_the_file_is_kept_with_its_lines() {
        let text = "Types: deb\nURIs: http://m.example/d\nSuites: stable\nComponents: main\n\
                    Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n";
        let archives = deb822(text);
        let stanza = distribution(&archives, "bookworm").unwrap().stanza("sid");
        assert!(stanza.ends_with("Signed-By: \n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n"));
    }

    #[test]
    fn lines_are_read() {
        let text = "# deb http://no.example/debian bookworm main\n\
            deb-src http://no.example/debian bookworm main\n\
            deb cdrom:[Debian]/ bookworm main\n\
            deb [arch=amd64 signed-by=/k1.gpg,/k2.gpg] http://m.example/debian bookworm main contrib # why\n\
            deb http://plain.example/debian-security bookworm-security main\n\
            debx http://no.example/ x main\n";
        let archives = one_line(text);
        assert_eq!(archives.len(), 3);
        let found = distribution(&archives, "bookworm").unwrap();
        assert_eq!(found.uri, "http://m.example/debian");
        assert_eq!(found.components, ["main", "contrib"]);
        assert_eq!(found.signed_by.as_deref(), Some("/k1.gpg /k2.gpg"));
        assert_eq!(archives[2].signed_by, None);
    }

    #[test]
    fn other_distributions_archives_do_not_count() {
        let archives = one_line("deb http://vendor.example/apt nodistro main\n");
        assert_eq!(distribution(&archives, "bookworm"), None);
    }
}
