//! A free loopback port, and who really listens on it.
//!
//! Idea: the kernel chooses a free port, we let go of it, and the server takes it. In between anybody
//! else may take it, and then *their* server would answer our readiness question. So the kernel is also asked
//! whether the listening socket belongs to the server's process group.
//! Source: `/proc/net/tcp`, `/proc/net/tcp6`, `/proc/PID/fd`. Assumption: IPv4 loopback.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};

use anchorite_owner::stat_field;

/// Who listens on a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listener {
    /// Nobody yet.
    Nobody,
    /// A process of the group that was asked about.
    Ours,
    /// Somebody else.
    Stranger,
}

/// A loopback port that is free at this moment.
pub(crate) fn free() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Who listens on the loopback port: a process of the group, or somebody else?
pub(crate) fn listener(port: u16, group: u32) -> Listener {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let inodes: Vec<String> = tables
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .flat_map(|table| listening_inodes(&table, port))
        .collect();
    if inodes.is_empty() {
        Listener::Nobody
    } else if members(group).into_iter().any(|pid| holds(pid, &inodes)) {
        Listener::Ours
    } else {
        Listener::Stranger
    }
}

/// The sockets in a table of the kernel that accept connections to 127.0.0.1 on this port.
fn listening_inodes(table: &str, port: u16) -> Vec<String> {
    // Addresses are in host byte order per 32-bit word: loopback, any, any of IPv6, loopback mapped into IPv6.
    const REACHABLE: [&str; 4] = [
        "0100007F",
        "00000000",
        "00000000000000000000000000000000",
        "0000000000000000FFFF00000100007F",
    ];
    const LISTEN: &str = "0A";
    let port = format!("{port:04X}");
    table
        .lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (address, number) = fields.get(1)?.split_once(':')?;
            let listens = number == port && REACHABLE.contains(&address) && fields[3] == LISTEN;
            listens.then(|| fields.get(9).map(|inode| (*inode).to_owned()))?
        })
        .collect()
}

/// The processes of a group.
fn members(group: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat_field(&stat, 5) == Some(group.into())
    })
    .collect()
}

fn holds(pid: u32, inodes: &[String]) -> bool {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok()).any(|link| {
        let link = link.to_string_lossy();
        let inode = link.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
        inode.is_some_and(|inode| inodes.iter().any(|wanted| wanted == inode))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::getpgrp;

    fn own_group() -> u32 {
        getpgrp().as_raw_nonzero().get().unsigned_abs()
    }

    #[test]
    fn listeners_are_told_apart() {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = socket.local_addr().unwrap().port();
        assert_eq!(listener(port, own_group()), Listener::Ours);
        assert_eq!(listener(port, 1), Listener::Stranger);
        // Not the port that was let go: a child of another test may still hold it between its fork and its exec.
        assert_eq!(listener(0, own_group()), Listener::Nobody);
    }

    #[test]
    fn only_listening_sockets_that_loopback_reaches_count() {
        let rest = "00000000:00000000 00:00000000 00000000 0 0";
        let rows = [
            ("0100007F:1F90", "0A", 111),
            ("0100007F:1F90", "01", 222),
            ("0A00000A:1F90", "0A", 333),
            ("00000000:1F90", "0A", 444),
            ("00000000:1F91", "0A", 555),
        ];
        let mut table = "  sl  local_address rem_address st ... inode\n".to_owned();
        for (address, state, inode) in rows {
            table += &format!("   0: {address} 00000000:0000 {state} {rest} {inode} 1 0 100\n");
        }
        assert_eq!(listening_inodes(&table, 8080), ["111", "444"]);
    }
}
