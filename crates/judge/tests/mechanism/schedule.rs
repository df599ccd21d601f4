//! Random schedules, executed by a model: what a server of that kind would have answered, as a run.

use anchorite_model::{
    Answer, Blocker, DbError, ErrorClass, Event, Level, Outcome, Product, Run, TargetInfo,
};

use crate::random::Random;
use crate::record::{record, rows};
use crate::statement::{Condition, Statement, Values};
use crate::world::{Plan, Progress, Running, Who, World};

/// How a statement goes on, as far as it can.
type GoOn = fn(&mut World, &mut Running) -> Progress;

/// A mechanism, and whose it is.
pub struct Model {
    pub name: &'static str,
    /// The product and its version.
    target: &'static str,
    pub level: Level,
    go_on: GoOn,
}

pub const fn model(name: &'static str, target: &'static str, level: Level, go_on: GoOn) -> Model {
    Model { name, target, level, go_on }
}

impl Model {
    pub fn target(&self) -> TargetInfo {
        let (product, version) = self.target.split_once(' ').expect("a product and a version");
        let (version, variant) = (version.to_owned(), String::new());
        TargetInfo { product: Product::named(product), version, variant }
    }

    fn is_postgres(&self) -> bool {
        self.target().product == Product::named("postgres")
    }

    /// Reads lock, and are compared.
    pub const fn reads_lock(&self) -> bool {
        matches!(self.level, Level::Serializable)
    }

    /// Plain reads of a transaction have one snapshot.
    const fn has_snapshot(&self) -> bool {
        matches!(self.level, Level::RepeatableRead)
    }
}

#[derive(Debug, Clone)]
enum Step {
    Begin,
    Do(Statement),
    End { commits: bool },
}

#[derive(Default)]
struct Session {
    script: Vec<Step>,
    /// The open transaction, and the moment of its snapshot.
    who: Option<Who>,
    snapshot: Option<usize>,
    /// The moment of the snapshot of its plain reads, where writes take none.
    read_snapshot: Option<usize>,
    waiting: Option<(Running, Who)>,
}

struct Theatre<'m> {
    model: &'m Model,
    world: World,
    sessions: Vec<Session>,
    events: Vec<Event>,
    moment: usize,
    transactions: Who,
}

/// A random run of a model; and whether something was done wrong.
pub fn random_run(model: &Model, seed: u64, plan: Option<Plan>) -> (Run, bool) {
    random_run_with(model, seed, plan, model.reads_lock())
}

/// The same, with reads or without.
pub fn random_run_with(model: &Model, seed: u64, plan: Option<Plan>, reads: bool) -> (Run, bool) {
    let mut random = Random(seed);
    let rows: Vec<Values> =
        (1..=2 + random.number(0, 2)).map(|a| [a, random.number(0, 7)]).collect();
    let mut n = 0;
    let sessions = (0..2 + random.below(2))
        .map(|_| Session { script: script(&mut random, &mut n, reads), ..Session::default() });
    let sessions: Vec<Session> = sessions.collect();
    let world = World::new(&rows, !model.is_postgres(), plan);
    let mut theatre =
        Theatre { model, world, sessions, events: Vec::new(), moment: 0, transactions: 0 };
    let mut sent = 0;
    loop {
        let ready: Vec<usize> = (0..theatre.sessions.len())
            .filter(|&at| {
                let session = &theatre.sessions[at];
                session.waiting.is_none() && !session.script.is_empty()
            })
            .collect();
        if ready.is_empty() {
            break;
        }
        sent += 1;
        theatre.send(ready[random.below(ready.len())], sent);
    }
    let went_wrong = theatre.world.plan.is_some_and(|plan| plan.occasions_left == 0);
    let rows_left = |row| theatre.world.latest(row, Who::MAX);
    let left: Vec<Values> = (0..theatre.world.rows.len()).filter_map(rows_left).collect();
    (record(model, &rows, theatre.events, &left), went_wrong)
}

fn script(random: &mut Random, n: &mut i128, reads: bool) -> Vec<Step> {
    let mut next = |random: &mut Random| {
        *n += 1;
        Step::Do(Statement::random(random, *n, reads))
    };
    if random.chance(20) {
        return vec![next(random)];
    }
    let mut script = vec![Step::Begin];
    for _ in 0..1 + random.below(3) {
        script.push(next(random));
    }
    script.push(Step::End { commits: !random.chance(12) });
    script
}

impl Theatre<'_> {
    fn now(&mut self) -> usize {
        self.moment += 1;
        self.moment
    }

    fn send(&mut self, session: usize, n: usize) {
        let sent = self.now();
        let step = self.sessions[session].script.remove(0);
        let sql = match &step {
            Step::Begin => "BEGIN".to_owned(),
            Step::End { commits: true } => "COMMIT".to_owned(),
            Step::End { commits: false } => "ROLLBACK".to_owned(),
            Step::Do(statement) => statement.sql(),
        };
        let event = Event {
            n,
            session,
            sql,
            outcome: Outcome::Ok(Answer::default()),
            at_us: 0,
            sent: Some(sent),
            answered: None,
        };
        match step {
            Step::Begin => {
                self.transactions += 1;
                self.sessions[session].who = Some(self.transactions);
                self.sessions[session].snapshot = None;
                self.sessions[session].read_snapshot = None;
                self.answer(event);
            }
            Step::End { commits } => {
                if let Some(who) = self.sessions[session].who.take() {
                    self.world.end(who, commits);
                }
                self.answer(event);
                self.wake();
            }
            Step::Do(statement) => self.begin(event, statement),
        }
    }

    /// Answers a plain read, which never waits.
    fn read(&mut self, mut event: Event, condition: Condition) {
        let session = &mut self.sessions[event.session];
        let one_snapshot = self.model.has_snapshot() && session.who.is_some();
        let now = self.world.moment;
        let snapshot = match (one_snapshot, self.model.is_postgres()) {
            (false, _) => now,
            (true, true) => *session.snapshot.get_or_insert(now),
            (true, false) => *session.read_snapshot.get_or_insert(now),
        };
        let found = self.world.read(session.who.unwrap_or(Who::MAX - 1), snapshot, condition);
        event.outcome = Outcome::Ok(Answer { results: vec![rows(&found)], ..Answer::default() });
        self.answer(event);
    }

    fn begin(&mut self, event: Event, statement: Statement) {
        if let (Statement::Read(condition), false) = (statement, self.model.reads_lock()) {
            return self.read(event, condition);
        }
        let one_snapshot = self.model.is_postgres() && self.model.level == Level::RepeatableRead;
        let session = &mut self.sessions[event.session];
        let who = session.who.unwrap_or_else(|| {
            self.transactions += 1;
            self.transactions
        });
        let taken = session.snapshot.filter(|_| one_snapshot && session.who.is_some());
        let snapshot = taken.unwrap_or(self.world.moment);
        session.snapshot = Some(snapshot);
        let running = Running {
            who,
            n: event.n,
            statement,
            snapshot,
            affected: 0,
            rows_read: Vec::new(),
            seen: Vec::new(),
            position: i128::MIN,
        };
        self.go_on(event, running, false);
        self.wake();
    }

    fn go_on(&mut self, mut event: Event, mut running: Running, waited: bool) {
        let session = event.session;
        let progress = (self.model.go_on)(&mut self.world, &mut running);
        let failure = match progress {
            Progress::Done => None,
            Progress::WaitsFor(other) if self.is_circle(running.who, other) => {
                Some(ErrorClass::Deadlock)
            }
            Progress::WaitsFor(other) => {
                let by = self.sessions.iter().position(|session| {
                    session.who == Some(other)
                        || matches!(&session.waiting, Some((waiting, _)) if waiting.who == other)
                });
                if !waited {
                    let by = by.into_iter().map(Blocker::Session).collect();
                    event.outcome = Outcome::Blocked { by, wait: String::new() };
                    self.events.push(event);
                }
                self.sessions[session].waiting = Some((running, other));
                return;
            }
            Progress::DuplicateKey => Some(ErrorClass::Constraint),
            Progress::Conflict => Some(ErrorClass::Serialization),
        };
        event.outcome = match failure {
            Some(class) => self.fail(session, &mut running, class),
            None => {
                let mut answer = Answer::default();
                if let Statement::Read(_) = running.statement {
                    answer.results.push(rows(&running.rows_read));
                } else {
                    answer.affected = Some(running.affected);
                }
                if waited { Outcome::Resumed(answer) } else { Outcome::Ok(answer) }
            }
        };
        if self.sessions[session].who.is_none() {
            self.world.end(running.who, failure.is_none());
        }
        self.answer(event);
    }

    fn fail(&mut self, session: usize, running: &mut Running, class: ErrorClass) -> Outcome {
        self.world.undo(running);
        let is_postgres = self.model.is_postgres();
        let session = &mut self.sessions[session];
        let transaction_gone =
            session.who.is_some() && (class == ErrorClass::Deadlock || is_postgres);
        if transaction_gone {
            self.world.end(running.who, false);
            session.script =
                session.who.take().map(|_| Step::End { commits: false }).into_iter().collect();
        }
        let in_transaction = is_postgres.then_some(transaction_gone);
        Outcome::Error(DbError { class, transaction_gone, in_transaction, ..DbError::default() })
    }

    /// Lets those go on who wait for nobody any more.
    fn wake(&mut self) {
        let mut is_awake = true;
        while is_awake {
            is_awake = false;
            for session in 0..self.sessions.len() {
                let Some((running, holder)) = self.sessions[session].waiting.take() else {
                    continue;
                };
                let ended = !self.sessions.iter().any(|session| {
                    session.who == Some(holder)
                        || matches!(&session.waiting, Some((waiting, _)) if waiting.who == holder)
                });
                if !ended {
                    self.sessions[session].waiting = Some((running, holder));
                    continue;
                }
                is_awake = true;
                let n = running.n;
                let sent =
                    self.events.iter().find(|event| event.n == n).expect("it was sent").clone();
                self.go_on(sent, running, true);
            }
        }
    }

    fn is_circle(&self, who: Who, mut other: Who) -> bool {
        for _ in 0..self.sessions.len() {
            let next = self.sessions.iter().find_map(|session| match &session.waiting {
                Some((running, holder)) if running.who == other => Some(*holder),
                _ => None,
            });
            match next {
                Some(holder) if holder == who => return true,
                Some(holder) => other = holder,
                None => return false,
            }
        }
        true
    }

    fn answer(&mut self, mut event: Event) {
        event.answered = Some(self.now());
        self.events.push(event);
    }
}
