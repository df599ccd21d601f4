//! From the text of a header line to a [`Condition`].
//!
//! ```text
//! line  = facts { "or" facts }            facts = fact { "and" fact }
//! fact  = "step" N what | "any" "step" "fails" [class]
//!       | "final" TABLE ( "is" ( rows | "empty" ) | "contains" rows | "lacks" rows )
//!       | "committed" names | "rolled" "back" names
//! what  = "returns" ( rows | "nothing" ) | "contains" rows | "lacks" rows | "mentions" 'text' | "affects" N
//!       | "succeeds" | "fails" [class] | "blocked" [ "by" names ] | "not" "blocked" | "skipped"
//! rows  = row { "," row }    row = "(" value { "," value } ")"    names = NAME { "," NAME }
//! value = integer | 'text' | NULL | true | false
//! ```
//!
//! Keywords are read in any case. A mistake is reported with its column and what was expected there.

use std::str::FromStr;

use anchorite_model::{ErrorClass, Value};

use crate::header::condition::{Condition, Fact, Row, RowFact, StepFact};
use crate::header::lines::ConditionError;
use crate::header::token::{Token, syntax, tokens};

const CLASSES: [ErrorClass; 7] = [
    ErrorClass::Deadlock,
    ErrorClass::Serialization,
    ErrorClass::LockTimeout,
    ErrorClass::Constraint,
    ErrorClass::Conflict,
    ErrorClass::ConnectionLost,
    ErrorClass::Other,
];

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        let mut parser = Parser::new(text)?;
        let condition = parser.line()?;
        parser.end()?;
        Ok(condition)
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(usize, Token)>,
    next: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self, ConditionError> {
        Ok(Self { text, tokens: tokens(text)?, next: 0 })
    }

    fn line(&mut self) -> Result<Condition, ConditionError> {
        let mut alternatives = vec![self.facts()?];
        while self.eat("or") {
            alternatives.push(self.facts()?);
        }
        Ok(Condition { alternatives })
    }

    fn facts(&mut self) -> Result<Vec<Fact>, ConditionError> {
        let mut facts = vec![self.fact()?];
        while self.eat("and") {
            facts.push(self.fact()?);
        }
        Ok(facts)
    }

    fn fact(&mut self) -> Result<Fact, ConditionError> {
        if self.eat("step") {
            let n = self.number("a step's number")?;
            return Ok(Fact::Step(n, self.step_fact()?));
        }
        if self.eat("any") {
            self.must("step")?;
            self.must("fails")?;
            return Ok(Fact::AnyFails(self.class()?));
        }
        if self.eat("final") {
            let table = self.name("a table's name")?;
            return Ok(Fact::Final(table, self.final_rows()?));
        }
        if self.eat("committed") {
            return Ok(Fact::Committed(self.names()?));
        }
        if self.eat("rolled") {
            self.must("back")?;
            return Ok(Fact::RolledBack(self.names()?));
        }
        self.fail("'step', 'any step fails', 'final', 'committed' or 'rolled back'")
    }

    fn step_fact(&mut self) -> Result<StepFact, ConditionError> {
        if self.eat("returns") {
            let rows = if self.eat("nothing") { Vec::new() } else { self.rows()? };
            return Ok(StepFact::Rows(RowFact::Exactly(rows)));
        }
        if self.eat("contains") {
            return Ok(StepFact::Rows(RowFact::Contains(self.rows()?)));
        }
        if self.eat("lacks") {
            return Ok(StepFact::Rows(RowFact::Lacks(self.rows()?)));
        }
        if self.eat("mentions") {
            return Ok(StepFact::Mentions(self.text()?));
        }
        if self.eat("affects") {
            return Ok(StepFact::Affects(self.number("a number of rows")?));
        }
        if self.eat("succeeds") {
            return Ok(StepFact::Succeeds);
        }
        if self.eat("fails") {
            return Ok(StepFact::Fails(self.class()?));
        }
        if self.eat("blocked") {
            let by = if self.eat("by") { self.names()? } else { Vec::new() };
            return Ok(StepFact::Blocked(by));
        }
        if self.eat("not") {
            self.must("blocked")?;
            return Ok(StepFact::NotBlocked);
        }
        if self.eat("skipped") {
            return Ok(StepFact::Skipped);
        }
        self.fail(
            "'returns', 'contains', 'lacks', 'mentions', 'affects', 'succeeds', 'fails', \
             'blocked', 'not blocked' or 'skipped'",
        )
    }

    fn final_rows(&mut self) -> Result<RowFact, ConditionError> {
        if self.eat("is") {
            let rows = if self.eat("empty") { Vec::new() } else { self.rows()? };
            return Ok(RowFact::Exactly(rows));
        }
        if self.eat("contains") {
            return Ok(RowFact::Contains(self.rows()?));
        }
        if self.eat("lacks") {
            return Ok(RowFact::Lacks(self.rows()?));
        }
        self.fail("'is', 'contains' or 'lacks'")
    }

    fn rows(&mut self) -> Result<Vec<Row>, ConditionError> {
        let mut rows = vec![self.row()?];
        while self.eat_char(',') {
            rows.push(self.row()?);
        }
        Ok(rows)
    }

    fn row(&mut self) -> Result<Row, ConditionError> {
        if !self.eat_char('(') {
            return self.fail("a row such as (1, 10)");
        }
        let mut row = vec![self.value()?];
        while self.eat_char(',') {
            row.push(self.value()?);
        }
        if self.eat_char(')') { Ok(row) } else { self.fail("',' or ')'") }
    }

    fn value(&mut self) -> Result<Value, ConditionError> {
        let value = match self.peek() {
            Some(Token::Number(number)) => Value::Int(*number),
            Some(Token::Text(text)) => Value::Text(text.clone()),
            Some(Token::Word(word)) if word.eq_ignore_ascii_case("null") => Value::Null,
            Some(Token::Word(word)) if word.eq_ignore_ascii_case("true") => Value::Bool(true),
            Some(Token::Word(word)) if word.eq_ignore_ascii_case("false") => Value::Bool(false),
            _ => return self.fail("an integer, a 'text', NULL, true or false"),
        };
        self.next += 1;
        Ok(value)
    }

    fn text(&mut self) -> Result<String, ConditionError> {
        match self.peek().cloned() {
            Some(Token::Text(text)) => {
                self.next += 1;
                Ok(text)
            }
            _ => self.fail("a 'text'"),
        }
    }

    /// An error class, if the next word is none of the words that may follow a fact.
    fn class(&mut self) -> Result<Option<ErrorClass>, ConditionError> {
        let word = match self.peek() {
            Some(Token::Word(word)) if word != "and" && word != "or" => word.clone(),
            _ => return Ok(None),
        };
        match CLASSES.into_iter().find(|class| class.name() == word) {
            Some(class) => {
                self.next += 1;
                Ok(Some(class))
            }
            None => {
                let names: Vec<&str> = CLASSES.iter().map(|class| class.name()).collect();
                self.fail(&format!("an error class ({})", names.join(", ")))
            }
        }
    }

    fn names(&mut self) -> Result<Vec<String>, ConditionError> {
        let mut names = vec![self.name("a session's name")?];
        while self.eat_char(',') {
            names.push(self.name("a session's name")?);
        }
        Ok(names)
    }

    fn name(&mut self, what: &str) -> Result<String, ConditionError> {
        match self.peek().cloned() {
            Some(Token::Word(word)) => {
                self.next += 1;
                Ok(word)
            }
            _ => self.fail(what),
        }
    }

    fn number<T: TryFrom<i128>>(&mut self, what: &str) -> Result<T, ConditionError> {
        let number = match self.peek() {
            Some(Token::Number(number)) => T::try_from(*number).ok(),
            _ => None,
        };
        match number {
            Some(number) => {
                self.next += 1;
                Ok(number)
            }
            None => self.fail(what),
        }
    }

    fn must(&mut self, word: &str) -> Result<(), ConditionError> {
        if self.eat(word) { Ok(()) } else { self.fail(&format!("'{word}'")) }
    }

    fn end(&mut self) -> Result<(), ConditionError> {
        if self.next == self.tokens.len() {
            Ok(())
        } else {
            self.fail("'and', 'or' or the end of the line")
        }
    }

    fn eat(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(w)) if w.eq_ignore_ascii_case(word));
        self.next += usize::from(found);
        found
    }

    fn eat_char(&mut self, c: char) -> bool {
        let found = self.peek() == Some(&Token::Punctuation(c));
        self.next += usize::from(found);
        found
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(_, token)| token)
    }

    fn fail<T>(&self, expected: &str) -> Result<T, ConditionError> {
        let (column, found) = match self.tokens.get(self.next) {
            None => (self.text.chars().count() + 1, "the end of the line".to_owned()),
            Some((column, Token::Word(word))) => (*column, format!("'{word}'")),
            Some((column, Token::Number(number))) => (*column, number.to_string()),
            Some((column, Token::Text(text))) => (*column, format!("the text '{text}'")),
            Some((column, Token::Punctuation(c))) => (*column, format!("'{c}'")),
        };
        Err(syntax(self.text, column, expected, found))
    }
}
