//! What an editor asks, and what it is told.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Stdout};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::check::{self, Problem};
use super::document::Document;
use super::frame::{self, Frame};
use super::known::Known;
use crate::language::{
    Completion, Kind, Language, Relation, completions, end_of_statement, statements, tokens,
};

/// Codes of errors, of JSON-RPC and of the protocol.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const NOT_INITIALIZED: i32 = -32002;
pub(super) const CANCELLED: i32 = -32800;

/// Kinds of completions, by the numbers of the protocol.
const KEYWORD: u32 = 14;
const KIND_OF: [(&str, u32); 4] = [("function", 3), ("table", 7), ("collection", 7), ("view", 8)];
const FIELD: u32 = 5;

/// The most completions of one answer; the editor asks again as the word grows.
const COMPLETIONS_MAX: usize = 200;

/// The most columns that a hover names.
const COLUMNS_MAX: usize = 40;

/// Whether to continue.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Continue,
    /// The end, with the exit code of the process.
    End(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Begun,
    Ready,
    ShutDown,
}

/// A language server.
pub(super) struct Server {
    output: Stdout,
    phase: Phase,
    known: Known,
    documents: BTreeMap<String, Document>,
    /// Those that have changed since they were checked.
    unchecked: BTreeSet<String>,
}

impl Server {
    pub(super) fn new(database: Option<PathBuf>) -> Self {
        Self {
            output: io::stdout(),
            phase: Phase::Begun,
            known: Known::new(database),
            documents: BTreeMap::new(),
            unchecked: BTreeSet::new(),
        }
    }

    /// Handles one frame.
    pub(super) fn take(&mut self, frame: &Frame) -> io::Result<Flow> {
        let message = match frame {
            Frame::Message(message) => message,
            Frame::Garbage(why) => {
                self.refuse(&Value::Null, PARSE_ERROR, why)?;
                return Ok(Flow::Continue);
            }
        };
        let id = message.get("id");
        match (message["method"].as_str(), id) {
            (Some("exit"), _) => {
                return Ok(Flow::End(u8::from(self.phase != Phase::ShutDown)));
            }
            (Some(method), Some(id)) => self.answer(id, method, &message["params"])?,
            (Some(method), None) => self.note(method, &message["params"]),
            // An answer: this server asks nothing, so it is none of its business.
            (None, Some(_)) if message.get("result").or(message.get("error")).is_some() => {}
            (None, id) => {
                let why = "the message has no method";
                self.refuse(id.unwrap_or(&Value::Null), INVALID_REQUEST, why)?;
            }
        }
        Ok(Flow::Continue)
    }

    /// Answers a request with an error.
    pub(super) fn refuse(&mut self, id: &Value, code: i32, why: &str) -> io::Result<()> {
        frame::write(&mut self.output, &frame::error(id, code, why))
    }

    fn answer(&mut self, id: &Value, method: &str, params: &Value) -> io::Result<()> {
        match self.phase {
            Phase::Begun if method != "initialize" => {
                return self.refuse(id, NOT_INITIALIZED, "the server is not initialized");
            }
            Phase::Ready if method == "initialize" => {
                return self.refuse(id, INVALID_REQUEST, "the server is initialized");
            }
            Phase::ShutDown => return self.refuse(id, INVALID_REQUEST, "the server shuts down"),
            _ => {}
        }
        let result = match method {
            "initialize" => self.initialize(params),
            "shutdown" => {
                self.phase = Phase::ShutDown;
                Value::Null
            }
            "textDocument/completion" | "textDocument/hover" | "textDocument/codeLens" => {
                let Some(document) = self.documents.get(uri(params)) else {
                    return self.refuse(id, INVALID_PARAMS, "the text is not open");
                };
                let at = document.offset(&params["position"]);
                match method {
                    "textDocument/completion" => completion(document, at, &mut self.known),
                    "textDocument/hover" => hover(document, at, &mut self.known),
                    _ => lenses(document, uri(params)),
                }
            }
            _ => return self.refuse(id, METHOD_NOT_FOUND, &format!("there is no {method:?}")),
        };
        frame::write(&mut self.output, &json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    fn initialize(&mut self, params: &Value) -> Value {
        self.phase = Phase::Ready;
        if let Some(path) = params["initializationOptions"]["database"].as_str()
            && !path.is_empty()
        {
            self.known = Known::new(Some(PathBuf::from(path)));
        }
        json!({
            "capabilities": {
                "positionEncoding": "utf-16",
                "textDocumentSync": {"openClose": true, "change": 2},
                "completionProvider": {"triggerCharacters": ["."]},
                "hoverProvider": true,
                "codeLensProvider": {},
            },
            "serverInfo": {"name": "folio", "version": env!("CARGO_PKG_VERSION")},
        })
    }

    fn note(&mut self, method: &str, params: &Value) {
        if self.phase != Phase::Ready {
            return;
        }
        let uri = uri(params);
        let own = &params["textDocument"];
        match method {
            "textDocument/didOpen" => {
                let Some(text) = own["text"].as_str() else { return };
                let language = match own["languageId"].as_str() {
                    Some("ziql") => Language::Ziql,
                    _ => Language::Sql,
                };
                let document = Document::new(text.to_owned(), language, own["version"].clone());
                self.documents.insert(uri.to_owned(), document);
            }
            "textDocument/didChange" => {
                let Some(document) = self.documents.get_mut(uri) else { return };
                for change in params["contentChanges"].as_array().into_iter().flatten() {
                    document.change(change);
                }
                document.version = own["version"].clone();
            }
            "textDocument/didClose" => drop(self.documents.remove(uri)),
            _ => return,
        }
        self.unchecked.insert(uri.to_owned());
    }

    /// Checks one text that has changed, and tells the editor. Whether there was one.
    pub(super) fn check_one(&mut self) -> io::Result<bool> {
        let Some(uri) = self.unchecked.pop_first() else { return Ok(false) };
        let (found, version) = match self.documents.get(&uri) {
            Some(own) => {
                let found = check::problems(&own.text, own.language, self.known.session());
                let found = found.iter().map(|problem| diagnostic(own, problem)).collect();
                (found, own.version.clone())
            }
            // A text that is closed has no problems.
            None => (Vec::new(), Value::Null),
        };
        let mut params = json!({"uri": uri, "diagnostics": found});
        if !version.is_null() {
            params["version"] = version;
        }
        self.tell("textDocument/publishDiagnostics", &params)?;
        if let Some(problem) = self.known.take_problem() {
            let message = format!("names are not checked: {problem}");
            self.tell("window/showMessage", &json!({"type": 2, "message": message}))?;
        }
        Ok(true)
    }

    fn tell(&mut self, method: &str, params: &Value) -> io::Result<()> {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        frame::write(&mut self.output, &message)
    }
}

fn uri(params: &Value) -> &str {
    params["textDocument"]["uri"].as_str().unwrap_or_default()
}

fn diagnostic(document: &Document, problem: &Problem) -> Value {
    json!({
        "range": document.range(&problem.range),
        "severity": 1,
        "code": problem.code,
        "source": "folio",
        "message": problem.message,
    })
}

/// What may stand at an offset.
fn completion(document: &Document, at: usize, known: &mut Known) -> Value {
    let Document { text, language, .. } = document;
    let mut start = 0;
    while let Some(end) = end_of_statement(&text[start..at], *language) {
        start += end.end;
    }
    let rest = end_of_statement(&text[start..], *language);
    let end = rest.map_or(text.len(), |end| start + end.start).max(at);
    let relations = known.relations_of(&text[start..end], *language);
    let found = completions(&text[start..at], &text[at..end], *language, relations);
    let is_cut = found.len() > COMPLETIONS_MAX;
    let item = |(rank, found): (usize, &Completion)| {
        let kind = KIND_OF.iter().find(|(what, _)| *what == found.what);
        let kind =
            kind.map_or(if found.what.is_empty() { KEYWORD } else { FIELD }, |(_, kind)| *kind);
        let range = document.range(&(start + found.start..at));
        json!({
            "label": found.value,
            "kind": kind,
            "detail": found.what,
            "sortText": format!("{rank:04}"),
            "filterText": found.value.trim_matches(['"', '`']),
            "textEdit": {"range": range, "newText": found.value},
        })
    };
    let shown = found.iter().take(COMPLETIONS_MAX).enumerate();
    json!({"isIncomplete": is_cut, "items": shown.map(item).collect::<Vec<_>>()})
}

/// The relation that a word names.
fn hover(document: &Document, at: usize, known: &mut Known) -> Value {
    let Document { text, language, .. } = document;
    let found = tokens(text, *language).find(|token| token.range.contains(&at));
    let named = found.filter(|token| matches!(token.kind, Kind::Word | Kind::QuotedName));
    let Some(token) = named else { return Value::Null };
    let word = &text[token.range.clone()];
    let name = word.trim_matches(['"', '`']);
    let relations = known.relations_of(word, *language);
    let Some(relation) = relations.find(name) else { return Value::Null };
    let contents = json!({"kind": "plaintext", "value": described(relation)});
    json!({"contents": contents, "range": document.range(&token.range)})
}

fn described(relation: &Relation) -> String {
    let unit = if relation.kind == "collection" { "documents" } else { "rows" };
    let count = relation.count.map(|count| format!(", {count} {unit}")).unwrap_or_default();
    let members: Vec<&str> = relation.members().take(COLUMNS_MAX + 1).collect();
    let (shown, more) = match members.get(..COLUMNS_MAX) {
        Some(shown) if members.len() > COLUMNS_MAX => (shown, ", …"),
        _ => (&members[..], ""),
    };
    format!("{}: {}{count}\n{}{more}", relation.name, relation.kind, shown.join(", "))
}

/// A command above each statement that runs it.
fn lenses(document: &Document, uri: &str) -> Value {
    if check::is_schema(&document.text, document.language) {
        return json!([]);
    }
    let lens = |range| {
        let range = document.range(&range);
        let place = json!({"start": range["start"], "end": range["start"]});
        let run = json!({"title": "Run", "command": "foliodb.run", "arguments": [uri, range]});
        json!({"range": place, "command": run})
    };
    statements(&document.text, document.language).map(lens).collect()
}
