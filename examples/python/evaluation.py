"""An evaluation that can be interrupted, and its failures inspected with jq.

Each verdict is stored as it is reached. Started again, the run asks only for what is
missing; afterwards every tool that reads JSON Lines reads the verdicts.

Prints:

    interrupted after 40 of 120 questions
    resumed: 80 questions to go
    accuracy 0.75
    failures by kind, with jq: {"add":10,"multiply":10,"subtract":10}
    $ jq -r 'select(.passed | not) | .question' …/data.jsonl | head -2
    3 + 3 = ?
    7 - 1 = ?
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import foliodb

KINDS = {"add": "+", "subtract": "-", "multiply": "*"}
VERDICTS = "evaluation/collections/verdicts/meta/data.jsonl"


def questions() -> dict[str, dict]:
    """120 small sums."""
    kinds = list(KINDS)
    return {
        f"q{number:03}": {
            "kind": kinds[number % 3],
            "question": f"{number} {KINDS[kinds[number % 3]]} {number % 3 or 3} = ?",
            "expected": answer(number, kinds[number % 3], number % 3 or 3),
        }
        for number in range(120)
    }


def answer(left: int, kind: str, right: int) -> int:
    """The right answer."""
    return {"add": left + right, "subtract": left - right, "multiply": left * right}[kind]


def model(number: int, expected: int) -> int:
    """Stands for a model: wrong every fourth time."""
    return expected if number % 4 != 3 else expected + 1


def evaluate(db: foliodb.Database, limit: int | None = None) -> int:
    """Asks what was not asked yet; answers how many questions that were."""
    verdicts = db["verdicts"]
    missing = [question for question in db["questions"].scan() if question["_id"] not in verdicts]
    for question in missing[:limit]:
        name = question["_id"]
        given = model(int(name[1:]), question["expected"])
        passed = given == question["expected"]
        verdicts[name] = {**question, "given": given, "passed": passed}
    return len(missing)


def main() -> None:
    """Two runs, and a look at what failed."""
    if shutil.which("jq") is None:
        print("jq is not installed", file=sys.stderr)
        sys.exit(77)
    with foliodb.open("evaluation") as db:
        db["questions"].put_many(questions())
        evaluate(db, limit=40)
        print(f"interrupted after {db['verdicts'].count()} of {db['questions'].count()} questions")

    with foliodb.open("evaluation") as db:
        print(f"resumed: {evaluate(db)} questions to go")
        passed = [verdict["passed"] for verdict in db["verdicts"].scan(["passed"])]
        print(f"accuracy {sum(passed) / len(passed):.2f}")

    counts = jq("-n", "-c", "[inputs | select(.passed | not) | .kind] | group_by(.)"
                " | map({(.[0]): length}) | add")  # fmt: skip
    print(f"failures by kind, with jq: {json.dumps(json.loads(counts), separators=(',', ':'))}")
    print("$ jq -r 'select(.passed | not) | .question' …/data.jsonl | head -2")
    print("\n".join(jq("-r", "select(.passed | not) | .question").splitlines()[:2]))


def jq(*arguments: str) -> str:
    """What jq makes of the verdicts."""
    command = ["jq", *arguments, VERDICTS]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
