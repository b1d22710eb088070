//! Nested events, in the manner of a social network's stream: who did what to which record.
//!
//! Shaped like the documents that JSONBench asks about, at about 450 bytes: a few kinds, most
//! with a `commit` that has an operation and a collection, and a record whose members depend
//! on that collection. Some members are on every line, some on one in a hundred; deletions
//! have no record. Drawn from a fixed seed.

use std::fmt::Write as _;

/// Collections of records, and how many of a thousand events are about them.
const COLLECTIONS: [(&str, u64); 9] = [
    ("app.bsky.feed.like", 450),
    ("app.bsky.graph.follow", 300),
    ("app.bsky.feed.post", 110),
    ("app.bsky.feed.repost", 80),
    ("app.bsky.graph.block", 32),
    ("app.bsky.actor.profile", 15),
    ("app.bsky.graph.listitem", 8),
    ("app.bsky.feed.threadgate", 3),
    ("app.bsky.graph.starterpack", 2),
];

const LANGUAGES: [&str; 5] = ["en", "ja", "pt", "de", "fr"];

/// The first event, in microseconds since 1970.
const START: u64 = 1_735_689_600_000_000;

/// Steps of time are below this, in microseconds: a million events are about an hour.
const STEP: u64 = 7_200;

/// An endless source of events, in order of time.
pub(crate) struct Events {
    state: u64,
    number: u64,
    time: u64,
    /// Users there are.
    users: u64,
}

impl Events {
    /// Events of a number of users that suits a number of documents.
    pub(crate) fn new(documents: u64) -> Self {
        Self { state: 42, number: 0, time: START, users: (documents / 5).max(100) }
    }

    /// A number below a bound (xorshift*, Vigna 2014).
    fn below(&mut self, bound: u64) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        (self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % bound
    }

    /// Letters and digits of a base-32 name.
    fn name(&mut self, size: usize) -> String {
        const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
        (0..size).map(|_| char::from(DIGITS[self.below(32) as usize])).collect()
    }

    /// A user: the same number, the same name. Some are much busier than others.
    fn user(&mut self) -> String {
        let draw = self.below(1 << 20);
        let number = (((draw * draw) >> 20) * self.users) >> 20;
        let state =
            std::mem::replace(&mut self.state, (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let name = format!("did:plc:{}", self.name(24));
        self.state = state;
        name
    }

    fn moment(&self) -> String {
        let seconds = (self.time - START) / 1_000_000;
        let (hour, minute) = (seconds / 3_600 % 24, seconds / 60 % 60);
        let milliseconds = self.time / 1_000 % 1_000;
        format!("2025-01-01T{hour:02}:{minute:02}:{:02}.{milliseconds:03}Z", seconds % 60)
    }

    /// What a like, a repost or a reply is about.
    fn subject(&mut self) -> String {
        let (cid, user, key) = (self.name(52), self.user(), self.name(13));
        format!(r#"{{"cid":"bafyrei{cid}","uri":"at://{user}/app.bsky.feed.post/{key}"}}"#)
    }

    fn words(&mut self, most: u64) -> String {
        let count = 3 + self.below(most - 2);
        let words = (0..count).map(|_| {
            let size = 2 + self.below(8) as usize;
            self.name(size)
        });
        words.collect::<Vec<_>>().join(" ")
    }

    fn record(&mut self, collection: &str) -> String {
        let mut record = format!(r#"{{"$type":"{collection}","createdAt":"{}""#, self.moment());
        let last = collection.rsplit('.').next().unwrap_or_default();
        let _ = match last {
            "like" | "repost" => write!(record, r#","subject":{}"#, self.subject()),
            "follow" | "block" | "listitem" => write!(record, r#","subject":"{}""#, self.user()),
            "post" => {
                let language = LANGUAGES[self.below(5) as usize];
                let _ = write!(record, r#","langs":["{language}"],"text":"{}""#, self.words(40));
                match self.below(2) {
                    0 => Ok(()),
                    _ => {
                        let (parent, root) = (self.subject(), self.subject());
                        write!(record, r#","reply":{{"parent":{parent},"root":{root}}}"#)
                    }
                }
            }
            "profile" => {
                let (name, text) = (self.name(10), self.words(14));
                write!(record, r#","displayName":"{name}","description":"{text}""#)
            }
            _ => Ok(()),
        };
        record.push('}');
        record
    }

    fn commit(&mut self) -> String {
        let mut draw = self.below(1_000);
        let (collection, _) = COLLECTIONS
            .iter()
            .find(|(_, weight)| {
                let is_it = draw < *weight;
                draw = draw.saturating_sub(*weight);
                is_it
            })
            .unwrap_or(&COLLECTIONS[0]);
        let operation = match self.below(100) {
            0 => "update",
            1..=7 => "delete",
            _ => "create",
        };
        let (revision, key) = (self.name(13), self.name(13));
        let mut commit = format!(
            r#"{{"rev":"{revision}","operation":"{operation}","collection":"{collection}","rkey":"{key}""#
        );
        if operation != "delete" {
            let (record, cid) = (self.record(collection), self.name(52));
            let _ = write!(commit, r#","record":{record},"cid":"bafyrei{cid}""#);
        }
        commit.push('}');
        commit
    }
}

impl Iterator for Events {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        self.number += 1;
        self.time += 1 + self.below(STEP);
        let (number, time, user) = (self.number, self.time, self.user());
        let (kind, body) = match self.below(1_000) {
            0..6 => {
                let (handle, moment) = (self.name(8), self.moment());
                let body = format!(
                    r#"{{"did":"{user}","handle":"{handle}.bsky.social","seq":{number},"time":"{moment}"}}"#
                );
                ("identity", body)
            }
            6..10 => {
                let moment = self.moment();
                let body =
                    format!(r#"{{"active":true,"did":"{user}","seq":{number},"time":"{moment}"}}"#);
                ("account", body)
            }
            _ => ("commit", self.commit()),
        };
        Some(format!(
            r#"{{"_id":"e{number:08}","did":"{user}","time_us":{time},"kind":"{kind}","{kind}":{body}}}"#
        ))
    }
}
