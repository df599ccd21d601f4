//! A value of EDN or JSON.
//!
//! Idea: a value is an array of [`Node`]s, with every sequence and map before its parts, so that reading a file needs
//! no memory per value: the array is reused for the next one. A [`Form`] is a view of a part of the array. Where a name
//! is wanted, a vector or a map is one, too: its text in EDN, with the entries of maps sorted, because their order says
//! nothing.

use crate::model::{Atom, SymbolKind, Symbols};

/// One part of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Node {
    /// Nil, a number, a keyword, a string, a word.
    Atom(Atom),
    /// A vector, list or set, consisting of this many nodes after this one.
    Seq(u32),
    /// A map, alternating keys and values, consisting of this many nodes after this one.
    Map(u32),
}

/// A value: its first node and those that belong to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Form<'t>(&'t [Node]);

impl<'t> Form<'t> {
    /// The value that these nodes form.
    pub fn new(nodes: &'t [Node]) -> Form<'t> {
        Form(nodes)
    }

    /// The nodes, for keeping.
    pub fn nodes(self) -> &'t [Node] {
        self.0
    }

    /// The atom, if it is one.
    #[inline]
    pub fn atom(self) -> Option<Atom> {
        if let [Node::Atom(atom)] = self.0 { Some(*atom) } else { None }
    }

    /// The value as a name, whatever it is.
    #[inline]
    pub fn name(self, symbols: &mut Symbols) -> Atom {
        self.atom().unwrap_or_else(|| {
            let text = self.edn(symbols);
            symbols.intern(SymbolKind::Composite, &text)
        })
    }

    /// The value in EDN; equal values have equal texts.
    pub(super) fn edn(self, symbols: &Symbols) -> String {
        if let Some(entries) = self.entries() {
            let told = entries.map(|(key, value)| (key.edn(symbols), value.edn(symbols)));
            let mut told: Vec<String> = told.map(|(key, value)| format!("{key} {value}")).collect();
            told.sort_unstable();
            return format!("{{{}}}", told.join(", "));
        }
        if let Some(items) = self.items() {
            let told: Vec<String> = items.map(|item| item.edn(symbols)).collect();
            return format!("[{}]", told.join(" "));
        }
        let atom = self.atom().unwrap_or(Atom::NIL);
        match symbols.get(atom) {
            Some((SymbolKind::Keyword, text)) => format!(":{text}"),
            Some((SymbolKind::Text, text)) => serde_json::Value::from(text).to_string(),
            _ => symbols.show(atom),
        }
    }

    /// The elements, if it is a sequence.
    #[inline]
    pub fn items(self) -> Option<Items<'t>> {
        if let [Node::Seq(_), items @ ..] = self.0 { Some(Items(items)) } else { None }
    }

    /// The keys and values, if it is a map.
    #[inline]
    pub fn entries(self) -> Option<impl Iterator<Item = (Form<'t>, Form<'t>)>> {
        let [Node::Map(_), entries @ ..] = self.0 else { return None };
        let mut rest = Items(entries);
        Some(std::iter::from_fn(move || Some((rest.next()?, rest.next()?))))
    }

    /// The first elements, if it is a sequence; `None` where it has no more.
    #[inline]
    pub fn first<const COUNT: usize>(self) -> Option<[Option<Form<'t>>; COUNT]> {
        let mut items = self.items()?;
        Some(std::array::from_fn(|_| items.next()))
    }

    /// The integer, if it is one.
    #[inline]
    pub fn int(self) -> Option<i64> {
        self.atom().and_then(Atom::as_int)
    }

    /// The text of a keyword, string or word.
    #[inline]
    pub fn word(self, symbols: &Symbols) -> Option<&str> {
        symbols.get(self.atom()?).map(|(_, text)| text)
    }

    /// The values of a map under these names, found in one pass; of several under a name the first counts.
    #[inline]
    pub fn fields<const COUNT: usize>(
        self,
        names: [&str; COUNT],
        symbols: &Symbols,
    ) -> Option<[Option<Form<'t>>; COUNT]> {
        let mut fields = [None; COUNT];
        for (key, value) in self.entries()? {
            let name = key.word(symbols);
            if let Some(at) = names.iter().position(|known| name == Some(known)) {
                fields[at].get_or_insert(value);
            }
        }
        Some(fields)
    }

    /// The value of a map under a name.
    pub fn get(self, symbols: &Symbols, name: &str) -> Option<Form<'t>> {
        let mut entries = self.entries()?;
        entries.find(|(key, _)| key.word(symbols) == Some(name)).map(|(_, value)| value)
    }
}

/// The elements of a sequence.
#[derive(Clone, Copy, Debug)]
pub struct Items<'t>(&'t [Node]);

impl<'t> Iterator for Items<'t> {
    type Item = Form<'t>;

    #[inline]
    fn next(&mut self) -> Option<Form<'t>> {
        let length = match self.0.first()? {
            Node::Atom(_) => 1,
            Node::Seq(behind) | Node::Map(behind) => 1 + *behind as usize,
        };
        let (form, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(Form(form))
    }
}
