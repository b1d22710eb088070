//! Runs `conformance/ziql` through the command.

#![allow(clippy::unwrap_used)] // a test that panics has failed

#[path = "../../conformance/ziql/script.rs"]
mod script;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use script::{Answer, Answered, Ask, Surface};
use tempfile::TempDir;

struct Shell {
    folder: TempDir,
}

impl Shell {
    fn database(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn run(&self, arguments: &[&str]) -> Result<String, String> {
        let output = Command::new(env!("CARGO_BIN_EXE_folio"))
            .arg("--quiet")
            .args(arguments)
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        match output.status.code() {
            Some(0) => Ok(text),
            Some(1) => Err(errors.strip_prefix("error: ").unwrap_or(&errors).to_owned()),
            code => panic!("{arguments:?} exits with {code:?}: {errors}"),
        }
    }

    fn rows(&self, arguments: &[&str]) -> Answer {
        // Rows are on separate lines, and text has no line feed in JSON.
        let json = self.run(arguments)?.replace('\n', "");
        if json.is_empty() {
            return Ok(Answered::Lines(Vec::new()));
        }
        let parsed: serde_json::Value = serde_json::from_str(&json).expect("answers are JSON");
        Ok(Answered::Rows(json, parsed.as_array().map_or(0, Vec::len)))
    }

    fn lines(&self, arguments: &[&str]) -> Answer {
        Ok(Answered::Lines(self.run(arguments)?.lines().map(str::to_owned).collect()))
    }
}

impl Surface for Shell {
    fn ask(&mut self, ask: &Ask) -> Answer {
        let database = self.database();
        let database = database.to_str().unwrap();
        match ask {
            Ask::Schema { text, allow_drop } => {
                fs::write(self.folder.path().join("schema.zq"), text).unwrap();
                let mut arguments = vec!["schema", "apply", database, "schema.zq"];
                arguments.extend(allow_drop.then_some("--allow-drop"));
                self.lines(&arguments)
            }
            Ask::Show => self.lines(&["schema", "show", database]),
            Ask::Ziql { text, parameters } => {
                let given: Vec<String> =
                    parameters.iter().map(|(name, value)| format!("-p{name}={value}")).collect();
                let mut arguments = vec!["ziql", "-o", "json", database, text];
                arguments.extend(given.iter().map(String::as_str));
                self.rows(&arguments)
            }
            Ask::Sql(text) => self.rows(&["sql", "-o", "json", database, text]),
        }
    }
}

#[test]
fn conformance() {
    // Only the library's runner writes the files.
    assert!(std::env::var_os("UPDATE_ZIQL").is_none(), "update through the library");
    script::run(|| Shell { folder: tempfile::tempdir().unwrap() });
}
