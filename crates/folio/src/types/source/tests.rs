//! The text that is written, and that Python can read it.

use std::process::Command;

use super::*;

const LANGUAGES: [TypeLanguage; 3] =
    [TypeLanguage::TypeScript, TypeLanguage::TypedDict, TypeLanguage::Pydantic];

fn tree(lines: &[&str]) -> Tree {
    let mut tree = Tree::default();
    lines.iter().for_each(|line| tree.observe(line.as_bytes()).expect(line));
    tree
}

fn events() -> Tree {
    tree(&[
        r#"{"_id":"a","at":1,"tags":["x",1],"commit":{"$type":"post","lat":1.5},"class":true}"#,
        r#"{"_id":"b","at":2,"tags":[],"commit":null,"more":[{"y":1},{"y":null,"z":{}}]}"#,
        r#"{"_id":"c","at":9007199254740993,"tags":[null],"commit":{"$type":"like"},"2 d":[[]]}"#,
    ])
}

#[test]
fn typescript() {
    let expected = r#"// The documents of the collection "my-events", as they are now.

export interface MyEvents {
  _id: string;
  at: number | bigint;
  tags: (number | string | null)[];
  commit: MyEventsCommit | null;
  class?: boolean;
  more?: MyEventsMore[];
  "2 d"?: unknown[][];
}

export interface MyEventsMore {
  y: number | null;
  z?: Record<string, unknown>;
}

export interface MyEventsCommit {
  $type: string;
  lat?: number;
}
"#;
    assert_eq!(source(&events(), "my-events", TypeLanguage::TypeScript), expected);
}

#[test]
fn keys_that_are_data() {
    let lines: Vec<_> = (0..1_001)
        .map(|key| {
            format!("{{\"votes\":{{\"u{key}\":{key}}},\"by\":{{\"u{key}\":{{\"n\":1.5}}}}}}")
        })
        .collect();
    let types = tree(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let text = LANGUAGES.map(|language| source(&types, "polls", language));
    assert!(text[0].contains("  votes: Record<string, number>;\n"), "{}", text[0]);
    assert!(text[0].contains("  by: Record<string, PollsBy>;\n"), "{}", text[0]);
    assert!(text[1].contains("    votes: dict[str, int]\n"), "{}", text[1]);
    assert!(text[2].contains("    by: dict[str, PollsBy]\n"), "{}", text[2]);
}

#[test]
fn typed_dictionaries() {
    let expected = r#"# The documents of the collection "my-events", as they are now.

from typing import Any, NotRequired, TypedDict


MyEventsCommit = TypedDict(
    "MyEventsCommit",
    {
        "$type": str,
        "lat": NotRequired[float],
    },
)


class MyEventsMore(TypedDict):
    y: int | None
    z: NotRequired[dict[str, Any]]


MyEvents = TypedDict(
    "MyEvents",
    {
        "_id": str,
        "at": int,
        "tags": list[int | str | None],
        "commit": MyEventsCommit | None,
        "class": NotRequired[bool],
        "more": NotRequired[list[MyEventsMore]],
        "2 d": NotRequired[list[list[Any]]],
    },
)
"#;
    assert_eq!(source(&events(), "my-events", TypeLanguage::TypedDict), expected);
}

#[test]
fn models() {
    let expected = r#"# The documents of the collection "my-events", as they are now.

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class MyEventsCommit(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    type: str = Field(alias="$type")
    lat: float | None = None


class MyEventsMore(BaseModel):
    y: int | None
    z: dict[str, Any] | None = None


class MyEvents(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    id: str = Field(alias="_id")
    at: int
    tags: list[int | str | None]
    commit: MyEventsCommit | None
    class_: bool | None = Field(default=None, alias="class")
    more: list[MyEventsMore] | None = None
    field_2_d: list[list[Any]] | None = Field(default=None, alias="2 d")
"#;
    assert_eq!(source(&events(), "my-events", TypeLanguage::Pydantic), expected);
}

/// Names that mean something to the languages, or to the text itself.
#[test]
fn any_name_is_written_so_that_python_can_read_it() {
    let names = [
        "_id",
        "id",
        "__x",
        "str",
        "list",
        "model_name",
        "copy",
        "None",
        "é",
        "a.b",
        "a b",
        "",
        "\\\"",
        "\\n",
        "'",
        "0",
        "def",
        "Any",
        "x_",
        "x",
        "Field",
        "\\u2028",
    ];
    let members: Vec<_> = names.iter().map(|name| format!("\"{name}\":{{\"v\":1}}")).collect();
    let strange = tree(&[&format!("{{{}}}", members.join(",")), "{\"str\":null}"]);
    let names = ["any", "2", "-", "List", "ein-ö_b"];
    for types in [&strange, &events(), &Tree::default(), &tree(&["{}"])] {
        for (collection, language) in
            names.iter().flat_map(|name| LANGUAGES.map(|language| (name, language)))
        {
            let text = source(types, collection, language);
            if language == TypeLanguage::TypeScript {
                assert_eq!(text.matches('{').count(), text.matches('}').count(), "{text}");
                continue;
            }
            let compile = "import sys; compile(sys.argv[1], 'types', 'exec')";
            match Command::new("python3").args(["-c", compile, &text]).output() {
                Err(_) => eprintln!("not compiled: there is no python3"),
                Ok(output) => assert!(output.status.success(), "{output:?}\n{text}"),
            }
        }
    }
}
