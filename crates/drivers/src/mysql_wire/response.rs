//! Assembles the packets that answer one command: a pure state machine.
//!
//! Every result is either an OK packet, an ERR packet or a result set (column count, columns, EOF, rows,
//! EOF). The status flags of an OK or EOF packet say whether another result follows (`CALL`,
//! multi-statements) and whether the session is inside a transaction. The newer form without EOF packets
//! is not negotiated: MySQL 5.6 and TiDB 4.0 do not have it, and one form is enough.

use std::io;

use anchorite_model::{Answer, Rows, Value};
use mysql_common::constants::{CapabilityFlags, StatusFlags};
use mysql_common::io::ParseBuf;
use mysql_common::packets::{
    Column, CommonOkPacket, ErrPacket, OkPacketDeserializer, OkPacketKind, OldEofPacket,
};

use super::value::CellKind;

const EOF_HEADER: u8 = 0xFE;
const ERR_HEADER: u8 = 0xFF;
const LOCAL_INFILE_HEADER: u8 = 0xFB;
const NULL_CELL: u8 = 0xFB;
/// A packet with the EOF header that is longer than this is a row.
const EOF_LENGTH_MAX: usize = 8;

/// An error that the server answered, not yet classified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerError {
    pub code: u16,
    pub message: String,
    /// Result sets that came before it, also a partial one.
    pub results: Vec<Rows>,
}

impl ServerError {
    /// Reads an ERR packet.
    pub(super) fn parse(packet: &[u8], capabilities: CapabilityFlags) -> io::Result<Self> {
        match ParseBuf(packet).parse::<ErrPacket<'_>>(capabilities)? {
            ErrPacket::Error(error) => Ok(Self {
                code: error.error_code(),
                message: error.message_str().into_owned(),
                results: Vec::new(),
            }),
            ErrPacket::Progress(_) => Err(io::Error::other("unexpected progress report")),
        }
    }
}

enum State {
    /// The next packet opens a result.
    Start,
    /// This many column packets are still to come.
    Columns(u64),
    /// The EOF between columns and rows is to come.
    ColumnsEnd,
    /// Rows, or the EOF after them.
    Rows,
}

/// Collects the packets of one answer.
pub(super) struct Response {
    capabilities: CapabilityFlags,
    state: State,
    kinds: Vec<CellKind>,
    current: Rows,
    answer: Answer,
}

impl Response {
    pub(super) fn new(capabilities: CapabilityFlags) -> Self {
        Self {
            capabilities,
            state: State::Start,
            kinds: Vec::new(),
            current: Rows::default(),
            answer: Answer::default(),
        }
    }

    /// Takes the next packet; `Some` when the answer is complete. An `Err` means that the server violates the protocol
    /// and the connection is unusable.
    pub(super) fn feed(
        &mut self,
        packet: &[u8],
    ) -> io::Result<Option<Result<Answer, ServerError>>> {
        let first = *packet.first().ok_or_else(|| io::Error::other("empty packet"))?;
        if first == ERR_HEADER {
            let error = ServerError::parse(packet, self.capabilities)?;
            return Ok(Some(Err(ServerError { results: self.results_so_far(), ..error })));
        }
        let is_eof = first == EOF_HEADER && packet.len() <= EOF_LENGTH_MAX;
        match self.state {
            State::Start => self.open_result(packet, first),
            State::Columns(left) => {
                self.column(packet)?;
                self.state = if left > 1 { State::Columns(left - 1) } else { State::ColumnsEnd };
                Ok(None)
            }
            State::ColumnsEnd if is_eof => {
                self.state = State::Rows;
                Ok(None)
            }
            State::ColumnsEnd => Err(io::Error::other("rows without an end of columns")),
            State::Rows if is_eof => {
                let (status, _) = self.ok::<OldEofPacket>(packet)?;
                self.answer.results.push(std::mem::take(&mut self.current));
                Ok(self.end_result(status))
            }
            State::Rows => {
                let row = read_row(packet, &self.kinds)
                    .ok_or_else(|| io::Error::other("a row is shorter than its columns"))?;
                self.current.rows.push(row);
                Ok(None)
            }
        }
    }

    fn open_result(
        &mut self,
        packet: &[u8],
        first: u8,
    ) -> io::Result<Option<Result<Answer, ServerError>>> {
        match first {
            CommonOkPacket::HEADER => {
                let (status, affected) = self.ok::<CommonOkPacket>(packet)?;
                self.answer.affected = Some(affected);
                Ok(self.end_result(status))
            }
            LOCAL_INFILE_HEADER => Err(io::Error::other("the server asked for a local file")),
            _ => {
                let count = ParseBuf(packet)
                    .checked_eat_lenenc_int()
                    .filter(|count| *count > 0)
                    .ok_or_else(|| io::Error::other("unreadable number of columns"))?;
                self.kinds.clear();
                self.state = State::Columns(count);
                Ok(None)
            }
        }
    }

    /// What has arrived, with the rows of a result set that breaks off; a bare header is left out.
    fn results_so_far(&mut self) -> Vec<Rows> {
        let mut results = std::mem::take(&mut self.answer.results);
        results.extend(Some(std::mem::take(&mut self.current)).filter(|set| !set.rows.is_empty()));
        results
    }

    fn ok<K: OkPacketKind>(&self, packet: &[u8]) -> io::Result<(StatusFlags, u64)> {
        let ok = ParseBuf(packet).parse::<OkPacketDeserializer<'_, K>>(self.capabilities)?;
        let ok = ok.into_inner();
        Ok((ok.status_flags(), ok.affected_rows()))
    }

    fn column(&mut self, packet: &[u8]) -> io::Result<()> {
        let column: Column = ParseBuf(packet).parse(())?;
        self.current.columns.push(column.name_str().into_owned());
        self.kinds.push(CellKind::of(column.column_type(), column.character_set()));
        Ok(())
    }

    fn end_result(&mut self, status: StatusFlags) -> Option<Result<Answer, ServerError>> {
        self.state = State::Start;
        if status.contains(StatusFlags::SERVER_MORE_RESULTS_EXISTS) {
            return None;
        }
        let in_transaction = status.contains(StatusFlags::SERVER_STATUS_IN_TRANS);
        self.answer.in_transaction = Some(in_transaction);
        Some(Ok(std::mem::take(&mut self.answer)))
    }
}

fn read_row(packet: &[u8], kinds: &[CellKind]) -> Option<Vec<Value>> {
    let mut buffer = ParseBuf(packet);
    kinds
        .iter()
        .map(|kind| {
            if buffer.0.first() == Some(&NULL_CELL) {
                buffer.skip(1);
                return Some(Value::Null);
            }
            buffer.checked_eat_lenenc_str().map(|cell| kind.read(cell))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use mysql_common::constants::ColumnType;
    use mysql_common::proto::MySerialize;

    use super::*;

    const CAPABILITIES: CapabilityFlags = CapabilityFlags::CLIENT_PROTOCOL_41;
    const AUTOCOMMIT: u16 = 2;
    const IN_TRANSACTION: u16 = 1;
    const MORE: u16 = 8;

    fn ok(affected: u8, status: u16) -> Vec<u8> {
        [&[0, affected, 0][..], &status.to_le_bytes(), &[0, 0]].concat()
    }

    fn eof(status: u16) -> Vec<u8> {
        [&[EOF_HEADER, 0, 0][..], &status.to_le_bytes()].concat()
    }

    fn column(name: &str, column_type: ColumnType) -> Vec<u8> {
        let column = Column::new(column_type).with_name(name.as_bytes()).with_character_set(45);
        let mut packet = Vec::new();
        column.serialize(&mut packet);
        packet
    }

    fn feed_all(packets: &[Vec<u8>]) -> io::Result<Option<Result<Answer, ServerError>>> {
        let mut response = Response::new(CAPABILITIES);
        let (last, before) = packets.split_last().expect("at least one packet");
        for packet in before {
            assert_eq!(response.feed(packet)?, None, "answered too early");
        }
        response.feed(last)
    }

    fn table(status: u16) -> Vec<Vec<u8>> {
        vec![
            vec![2],
            column("a", ColumnType::MYSQL_TYPE_LONG),
            column("b", ColumnType::MYSQL_TYPE_VAR_STRING),
            eof(status),
            b"\x011\x03xyz".to_vec(),
            b"\xfb\x00".to_vec(),
            eof(status),
        ]
    }

    #[test]
    fn an_ok_packet_is_an_answer() {
        let answer = feed_all(&[ok(3, AUTOCOMMIT | IN_TRANSACTION)]).expect("parses");
        let answer = answer.expect("complete").expect("no error");
        assert_eq!((answer.affected, answer.in_transaction), (Some(3), Some(true)));
        assert!(answer.results.is_empty());
    }

    #[test]
    fn a_call_gives_several_results_and_one_answer() {
        let mut packets = table(MORE | AUTOCOMMIT);
        packets.extend(table(MORE | AUTOCOMMIT));
        packets.push(ok(0, AUTOCOMMIT));
        let answer = feed_all(&packets).expect("parses").expect("complete").expect("no error");
        assert_eq!(answer.results.len(), 2);
        assert_eq!(answer.results[1].columns, ["a", "b"]);
        assert_eq!(
            answer.results[1].rows,
            [
                vec![Value::Int(1), Value::Text("xyz".into())],
                vec![Value::Null, Value::Text(String::new())]
            ]
        );
        assert_eq!((answer.affected, answer.in_transaction), (Some(0), Some(false)));
    }

    #[test]
    fn an_error_in_the_middle_of_rows_is_the_answer() {
        let mut packets = table(AUTOCOMMIT);
        packets.pop();
        packets.push(b"\xff\xbd\x04#40001Deadlock found".to_vec());
        let error = feed_all(&packets).expect("parses").expect("complete").expect_err("an error");
        assert_eq!((error.code, error.message.as_str()), (1213, "Deadlock found"));
        assert_eq!(error.results[0].rows.len(), 2);
    }

    #[test]
    fn nonsense_is_an_error_and_never_a_panic() {
        for packets in [
            vec![vec![]],
            vec![vec![0]],
            vec![vec![LOCAL_INFILE_HEADER]],
            vec![vec![0xFC, 1]],
            vec![vec![ERR_HEADER, 1]],
            vec![vec![1], vec![3, b'd']],
            vec![vec![1], column("a", ColumnType::MYSQL_TYPE_LONG), vec![9]],
            vec![vec![1], column("a", ColumnType::MYSQL_TYPE_LONG), eof(0), b"\x09x".to_vec()],
        ] {
            assert!(feed_all(&packets).is_err(), "{packets:?}");
        }
    }
}
