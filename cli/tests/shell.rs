//! `folio shell` with a person at the keyboard, and with a script on its input.

#![allow(clippy::unwrap_used)] // a test that panics has failed

mod sandbox;
mod terminal;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Output, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use sandbox::Sandbox;
use terminal::{CONTROL_C, CONTROL_D, ENTER, RIGHT, TAB, Terminal, UP};

/// A query that runs until it is cancelled.
const ENDLESS: &str =
    "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n;";

fn planets() -> Sandbox {
    let sandbox = Sandbox::new();
    let made = sandbox.run(
        "folio sql -q data \"create table planets (id int primary key, name text, moons int); \
         insert into planets values (1, 'Mars', 2), (2, 'Venus', 0)\"",
    );
    assert!(made.status.success());
    sandbox
}

#[test]
fn a_session_answers_errs_and_goes_on() {
    let sandbox = planets();
    let mut terminal = Terminal::start(&sandbox, 100, "folio shell data");
    terminal.expect("sql> ");
    terminal.ask("select name", "> ");
    terminal.ask("from planets", "> ");
    let table = terminal.ask("order by id;", "2 rows");
    assert!(table.contains("│ Mars  │") && table.contains("│ Venus │"), "{table}");
    let error = terminal.ask("select nam from planets;", "did you mean \"name\"?");
    assert!(error.contains("       ^^^  help: "), "a caret points at it: {error}");
    terminal.ask(".mod json", "did you mean .mode?");
    terminal.ask(".mode json", "\nsql> ");
    terminal.ask("select moons from planets where id = 1;", "{\"moons\":2}");
    terminal.ask(".timing on", "timing is on");
    terminal.ask("delete from planets where id = 2;", "1 row changed");
    terminal.expect("s"); // ms, µs or s
    terminal.expect("sql> ");
    assert!(terminal.leave().success());
}

#[test]
fn ziql_is_understood_where_it_stands() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path().join("schema.zq"), "User ( name: str, friends: []User )").unwrap();
    assert!(sandbox.run("folio schema apply data schema.zq").status.success());
    let mut terminal = Terminal::start(&sandbox, 100, "folio data");
    terminal.expect("sql> ");
    terminal.ask("ADD User (name = 'Ann') ('Bob');", "2 rows");
    terminal.ask(".ziql", "ziql> ");
    terminal.ask("UPDATE User {name = 'Ann'} TO (friends = {name = 'Bob'});", "1 row");
    terminal.ask("GRAB User [1; name, friends", "> ");
    let answer = terminal.ask("[name]] |name|;", "1 row");
    assert!(answer.contains("[{\"name\":\"Bob\"}]"), "{answer}");
    terminal.ask(".schema", "friends: []User");
    terminal
        .ask("select count(*) from \"User\";", "│ 2     │".replace(" 2     ", "     2 ").as_str());
    terminal.ask("GRAB User {name = Bob};", "help: strings are quoted: 'Bob'");
    assert!(terminal.leave().success());
}

#[test]
fn names_are_completed_and_lines_come_back() {
    let sandbox = planets();
    let mut terminal = Terminal::start(&sandbox, 100, "folio shell data");
    terminal.expect("sql> ");
    terminal.press("select na");
    terminal.press(TAB);
    terminal.press("me from pl");
    terminal.press(TAB);
    terminal.expect("planets");
    terminal.ask(" where id = 1;", "1 row");
    assert!(terminal.leave().success());

    let history = sandbox.path().join(".local/state/folio/history");
    let kept = fs::read_to_string(&history).unwrap();
    assert!(kept.contains("from planets where id = 1;"), "{kept}");
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(fs::metadata(&history).unwrap().permissions().mode() & 0o777, 0o600);

    let mut terminal = Terminal::start(&sandbox, 100, "folio shell data");
    terminal.expect("sql> ");
    terminal.press(UP);
    terminal.expect("from planets where id = 1;");
    terminal.press(ENTER);
    terminal.expect("1 row");
    terminal.expect("sql> ");
    // Earlier input is suggested, and accepted with an arrow key.
    terminal.press("sel");
    terminal.expect("ect");
    terminal.press(RIGHT);
    terminal.press(ENTER);
    terminal.expect("1 row");
    assert!(terminal.leave().success());
}

#[test]
fn a_shell_shows_what_others_have_written_and_edited() {
    let sandbox = Sandbox::new();
    let put = |n: u32| {
        let put = format!("folio put data -c notes a --data '{{\"n\": {n}}}'");
        assert!(sandbox.run(&put).status.success());
    };
    put(1);
    let mut terminal = Terminal::start(&sandbox, 100, "folio shell data");
    terminal.expect("sql> ");
    terminal.ask("select n + 100 as m from notes;", "101");
    put(2);
    terminal.ask("select n + 100 as m from notes;", "102");
    assert!(sandbox.run("sed -i s/2/3/ data/collections/notes/meta/data.jsonl").status.success());
    terminal.ask("update notes set n = n + 10;", "1 row changed");
    terminal.ask("select n + 100 as m from notes;", "113");
    assert!(terminal.leave().success());
}

#[test]
fn control_c_cancels_the_statement_and_drops_the_line() {
    let sandbox = planets();
    let mut terminal = Terminal::start(&sandbox, 100, "folio shell data");
    terminal.expect("sql> ");
    terminal.ask(ENDLESS, "Ctrl-C cancels");
    terminal.press(CONTROL_C);
    terminal.expect("error: the statement was cancelled");
    terminal.expect("sql> ");
    terminal.ask("select moons from planets", "> ");
    terminal.press(CONTROL_C);
    terminal.expect("sql> ");
    terminal.ask("select count(*) as n from planets;", "1 row");
    terminal.ask("begin;", "sql*> ");
    terminal.ask("delete from planets;", "2 rows changed");
    terminal.ask(ENDLESS, "Ctrl-C cancels");
    terminal.press(CONTROL_C);
    terminal.expect("cancelled");
    terminal.expect("sql*> ");
    terminal.press(CONTROL_D);
    terminal.expect("note: the open transaction was rolled back");
    assert!(terminal.wait().success());
    let left = sandbox.run("folio sql data 'select count(*) as n from planets'");
    assert_eq!(left.stdout, b"{\"n\":2}\n");
}

#[test]
fn a_terminal_may_change_its_width() {
    let sandbox = planets();
    let mut terminal = Terminal::start(&sandbox, 100, "folio shell data");
    let begun = terminal.expect("sql> ");
    let tty = begun.lines().find(|line| line.starts_with("/dev/")).unwrap().to_owned();
    terminal.ask("select repeat('x', 50) as wide;", &"x".repeat(50));
    terminal.expect("sql> ");
    assert!(sandbox.run(&format!("stty -F {tty} cols 40")).status.success());
    let table = terminal.ask("select repeat('x', 50) as wide;", "1 row");
    assert!(table.contains("x…") && !table.contains(&"x".repeat(50)), "{table}");
    terminal.expect("sql> ");
    assert!(terminal.leave().success());
}

/// The first words between backticks.
fn quoted(text: &str) -> &str {
    text.split('`').nth(1).unwrap()
}

#[test]
fn a_terminal_shows_a_thousand_rows_and_how_to_see_all() {
    let sandbox = planets();
    let query = "select i from generate_series(1, 1234) as t(i);";
    let mut terminal = Terminal::start(&sandbox, 100, "folio shell data");
    terminal.expect("sql> ");
    let shown = terminal.ask(query, "from here on");
    assert!(shown.contains("│ 1000 │") && !shown.contains("│ 1001 │"), "{shown}");
    let hint = quoted(shown.split("note:").nth(1).unwrap()).to_owned();
    terminal.expect("sql> ");
    terminal.ask(&hint, "sql> ");
    let all = terminal.ask(query, "1234 rows");
    assert!(all.contains("│ 1234 │"), "{hint} shows all");
    terminal.expect("sql> ");
    terminal.ask(".rows 2", "sql> ");
    terminal.ask(query, "the first 2 rows");
    terminal.expect("sql> ");
    assert!(terminal.leave().success());

    // The command's hint names one of its options.
    let command = "folio sql data \"select i from generate_series(1, 1234) as t(i)\"";
    let mut terminal = Terminal::start(&sandbox, 100, command);
    let shown = terminal.expect("shows all");
    assert!(terminal.wait().success());
    let hint = shown.split("rows; ").nth(1).unwrap().trim_end_matches("shows all");
    let mut terminal = Terminal::start(&sandbox, 100, &format!("{command} {hint}"));
    terminal.expect("{\"i\":1234}");
    assert!(terminal.wait().success());
}

#[test]
fn null_is_told_from_empty_text_and_rows_stand_upright() {
    let sandbox = planets();
    let mut terminal = Terminal::start(&sandbox, 100, "folio shell data");
    terminal.expect("sql> ");
    let query = "select null as a, '' as b, 7 as c;";
    let table = terminal.ask(query, "1 row");
    assert!(table.contains("│ NULL ┆   ┆ 7 │"), "{table}");
    terminal.expect("sql> ");
    terminal.ask(".null ∅", "sql> ");
    let table = terminal.ask(query, "1 row");
    assert!(table.contains("│ ∅ ┆   ┆ 7 │"), "{table}");
    terminal.expect("sql> ");
    terminal.ask("\\x", "sql> ");
    let upright = terminal.ask(query, "c  7");
    assert!(upright.contains("── row 1 ──\na  ∅\nb\n"), "{upright}");
    terminal.expect("sql> ");
    terminal.ask("\\x", "sql> ");
    terminal.ask(query, "│ ∅ ┆   ┆ 7 │");
    terminal.expect("sql> ");
    assert!(terminal.leave().success());
}

#[test]
fn collections_functions_and_members_are_completed_and_described() {
    let sandbox = planets();
    let put =
        "folio put -q data -c comets c1 --data '{\"tail_length\": 7, \"orbit\": {\"years\": 76}}'";
    assert!(sandbox.run(put).status.success());
    let mut terminal = Terminal::start(&sandbox, 100, "folio shell data");
    terminal.expect("sql> ");
    terminal.press("select tail_l");
    terminal.press(TAB);
    terminal.expect("tail_length");
    terminal.press(" from com");
    terminal.press(TAB);
    terminal.expect("comets");
    terminal.ask(";", "1 row");
    terminal.expect("sql> ");
    terminal.press("select upper(substri");
    terminal.press(TAB);
    terminal.expect("substring(");
    terminal.ask("'comet', 1, 2));", "CO");
    terminal.expect("sql> ");
    terminal.press("\\d com");
    terminal.press(TAB);
    terminal.expect("comets");
    let members = terminal.ask("", "3 rows");
    for member in ["_id", "tail_length", "orbit"] {
        assert!(members.contains(member), "{members}");
    }
    terminal.expect("sql> ");
    assert!(terminal.leave().success());
}

/// A signal to the shell only; its terminal stays open.
#[test]
fn a_shell_that_is_told_to_end_ends() {
    for signal in ["HUP", "TERM"] {
        let sandbox = planets();
        let mut terminal = Terminal::start(&sandbox, 100, "folio shell data");
        terminal.expect("sql> ");
        terminal.ask(ENDLESS, "Ctrl-C cancels");
        // A package's command runs in a Python or Node process.
        let reported = "ps -eo pid,args | sed -nE 's/^ *([0-9]+) ([^ ]*(python|node)[0-9.]* )?[^ ]*folio(\\.js)? shell data$/\\1/p'";
        let found = sandbox.run(&format!("{reported} | while read p; do [ \"$(readlink /proc/$p/cwd)\" = \"$PWD\" ] && kill -{signal} $p; done"));
        drop(found);
        terminal.wait();
        let left = sandbox.run("folio sql data 'delete from planets'");
        assert!(left.status.success(), "{signal}: nobody holds the lock");
    }
}

/// A shell that did not end would keep a core busy, and the writer's lock.
#[test]
fn a_shell_ends_with_its_terminal() {
    let sandbox = planets();
    let mut terminal = Terminal::start(&sandbox, 100, "folio shell data");
    terminal.expect("sql> ");
    terminal.ask("begin;", "sql*> ");
    terminal.ask("delete from planets;", "2 rows changed");
    terminal.expect("sql*> ");
    let write = || sandbox.run("folio sql data 'delete from planets where id = 1'");
    assert!(!write().status.success(), "the shell holds the lock");
    drop(terminal);
    let begun = Instant::now();
    while !write().status.success() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the shell is still there");
        thread::sleep(Duration::from_millis(50));
    }
    let left = sandbox.run("folio sql data 'select count(*) as n from planets'");
    assert_eq!(left.stdout, b"{\"n\":1}\n");
}

fn piped(sandbox: &Sandbox, command: &str, input: &str) -> Output {
    let mut shell = sandbox.shell(command);
    let shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = shell.spawn().unwrap();
    // A command that ends early does not read all input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

#[test]
fn a_script_runs_to_its_end_or_its_first_error() {
    let sandbox = planets();
    fs::write(sandbox.path().join("more.sql"), "select 2 as b; -- read\n.mode csv\n").unwrap();
    fs::write(sandbox.path().join("round.sql"), ".read round.sql\n").unwrap();
    fs::write(sandbox.path().join("docs.jsonl"), "{\"_id\":\"a\",\"n\":1}\n").unwrap();
    let script = "select 1 as a;\n.read more.sql\nselect 3 as c;\n.import docs.jsonl -c docs\n\
                  .tables doc\n.mode jsonl\nselect n from docs";
    let output = piped(&sandbox, "folio shell data", script);
    let expected = "{\"a\":1}\n{\"b\":2}\nc\n3\n1 inserted, 0 replaced\nname,kind,rows\ndocs,collection,1\n{\"n\":1}\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");

    let output = piped(&sandbox, "folio shell data", ".tables nobody\n.schema\n");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("no name contains \"nobody\""),
        "{output:?}"
    );
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("-- collection docs\n{"),
        "{output:?}"
    );

    let output = piped(&sandbox, "folio shell data", "select 1 as a; select x; select 2 as b;");
    assert_eq!((output.status.code(), &*output.stdout), (Some(1), &b"{\"a\":1}\n"[..]));
    let script = ".bail off\nselect 1 as a; select x; select 2 as b;";
    let output = piped(&sandbox, "folio shell data", script);
    assert_eq!((output.status.code(), &*output.stdout), (Some(1), &b"{\"a\":1}\n{\"b\":2}\n"[..]));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: column \"x\""));
    // Statements for a transaction that did not begin must not be committed separately.
    let script = ".bail off\nbegin nonsense; insert into planets values (3, 'Saturn', 146);\n\
        -- and so on\ninsert into planets values (4, 'Pluto', 5); commit;\n\
        insert into planets values (5, 'Io', 0); select max(id) as id, count(*) from planets;";
    let output = piped(&sandbox, "folio shell data", script);
    let answer = &b"{\"id\":5,\"count\":3}\n"[..];
    assert_eq!((output.status.code(), &*output.stdout), (Some(1), answer));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(errors.matches("its transaction did not begin").count(), 2, "{errors}");
    assert!(errors.contains("nothing was committed: the transaction did not begin"), "{errors}");
    let script = ".bail off\nbegin nonsense; delete from planets; begin; delete from planets where id = 5; \
        commit; start transaction nonsense; delete from planets; rollback; select count(*) from planets;";
    let output = piped(&sandbox, "folio shell data", script);
    assert_eq!((output.status.code(), &*output.stdout), (Some(1), &b"{\"count\":2}\n"[..]));
    for (line, error) in [
        (".read round.sql", "error: the files read each other in a cycle\n"),
        (
            ".read none.sql",
            "error: cannot read \"none.sql\": No such file or directory (os error 2)\n",
        ),
        (".import", "error: write the file after .import\n"),
        (".read", "error: write the file after .read\n"),
        (
            ".mode xml",
            "error: unknown format \"xml\"; use one of table, jsonl, json, csv, md, vertical\n",
        ),
    ] {
        let output = piped(&sandbox, "folio shell data", line);
        assert_eq!(
            (output.status.code(), &*String::from_utf8_lossy(&output.stderr)),
            (Some(2), error)
        );
    }
}

#[test]
fn a_pipe_sees_what_others_have_written_meanwhile() {
    const PATIENCE: Duration = Duration::from_secs(60);
    let sandbox = Sandbox::new();
    let put = |n: u32| {
        let put = format!("folio put data -c notes a --data '{{\"n\": {n}}}'");
        assert!(sandbox.run(&put).status.success());
    };
    put(0);
    let mut shell = sandbox.shell("exec folio shell data");
    let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (sender, answers) = channel();
    thread::spawn(move || {
        BufReader::new(output).lines().for_each(|line| sender.send(line.unwrap()).unwrap());
    });
    for n in 1..4 {
        put(n);
        input.write_all(b"select n from notes;\n").unwrap();
        assert_eq!(answers.recv_timeout(PATIENCE).unwrap(), format!("{{\"n\":{n}}}"));
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

/// A program that writes a statement and waits for its answer would wait forever.
#[test]
fn a_pipe_is_answered_while_it_stays_open() {
    const PATIENCE: Duration = Duration::from_secs(60);
    let sandbox = planets();
    let mut shell = sandbox.shell("exec folio shell data");
    let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (sender, answers) = channel();
    thread::spawn(move || {
        BufReader::new(output).lines().for_each(|line| sender.send(line.unwrap()).unwrap());
    });
    for (text, expected) in [
        ("select 1 as a;\n", vec!["{\"a\":1}"]),
        ("-- a note\nselect 2 as b; sel", vec![]),
        ("ect 3 as c; select 'x;\n", vec!["{\"b\":2}", "{\"c\":3}"]),
        ("y;' as d\n", vec![]),
        (";.mode csv\nselect 4 as e;\n", vec!["{\"d\":\"x;\\ny;\"}", "e", "4"]),
        (".ziql\nGRAB planets [1;\nname] |name|;\n", vec!["name", "Mars"]),
    ] {
        input.write_all(text.as_bytes()).unwrap();
        for line in expected {
            assert_eq!(answers.recv_timeout(PATIENCE).unwrap(), line, "{text}");
        }
    }
    input.write_all(b"select no_end").unwrap();
    sandbox.run(&format!("kill -TERM {}", child.id()));
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None => assert!(begun.elapsed() < PATIENCE, "the shell is still there"),
        }
        thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(status.code(), Some(130));
}
