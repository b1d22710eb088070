"""Compares counted instructions with the counts that were accepted last.

usage: compare.py [--accept] ACCEPTED COUNTED [COUNTED …]

`COUNTED` is what the runner prints, a JSON object for each workload; of several files, the lowest
count of each workload is taken. `ACCEPTED` is one object: the compiler and the processor that the
counts belong to, and the count of each workload. A workload above its accepted count by more than
LIMIT fails, and so does one that is in one file only. One below it by as much is said, so that the
gain is accepted and kept. `--accept` writes what was counted. With another compiler or processor
there is nothing to compare: exit status 77.
"""

import json
import platform
import subprocess
import sys
from pathlib import Path

# Hash seeds and addresses move a count by some tenths of a per cent.
LIMIT = 0.03
SKIPPED = 77


def main(arguments):
    accept = arguments[0] == "--accept"
    accepted_file, *counted_files = map(Path, arguments[accept:])
    counted, here = lowest([read_counted(file.read_text()) for file in counted_files]), place()
    if accept:
        accepted_file.write_text(json.dumps(here | {"counts": counted}, indent=2, sort_keys=True) + "\n")
        print(f"{len(counted)} counts accepted")
        return 0
    accepted = json.loads(accepted_file.read_text())
    if any(accepted[key] != value for key, value in here.items()):
        print(f"SKIPPED: the accepted counts are of {accepted['compiler']} on {accepted['processor']}, not of {here['compiler']} on {here['processor']}")
        return SKIPPED
    return 0 if judge(accepted["counts"], counted) else 1


def place():
    """What counts depend on besides the program and its data."""
    compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    flags = Path("/proc/cpuinfo").read_text().split()
    vectors = "with" if "avx2" in flags else "without"
    return {"compiler": f"rustc {compiler}", "processor": f"{platform.machine()} {vectors} avx2"}


def judge(accepted, counted):
    """Prints a line for each workload; whether all are within their limits."""
    names = sorted(accepted | counted)
    passed = sum(judge_one(name, accepted.get(name), counted.get(name)) for name in names)
    if passed < len(names):
        print("A change that is worth its price: scripts/instructions accept")
    print(f"instructions: {passed} passed, {len(names) - passed} failed")
    return passed == len(names)


def judge_one(name, before, now):
    """Prints the line of a workload; whether it is within its limit."""
    if before is None or now is None:
        print(f"FAILED  {name:30} {'not accepted yet' if before is None else 'not counted any more'}")
        return False
    change = now / before - 1
    within = change <= LIMIT
    note = "  less than accepted: accept it, so that it stays" if change < -LIMIT else ""
    print(f"{'ok' if within else 'FAILED':7} {name:30} {now:>12,} {change:+7.1%}{note}")
    return within


def lowest(runs):
    """The lowest count of each workload."""
    return {name: min(run[name] for run in runs if name in run) for name in set().union(*runs)}


def read_counted(text):
    """The instructions of each workload by its name, `group::workload`."""
    decoder, counts = json.JSONDecoder(), {}
    while text := text.lstrip():
        summary, end = decoder.raw_decode(text)
        text = text[end:]
        counts[summary["module_path"].split("::", 1)[1]] = instructions(summary)
    return counts


def instructions(summary):
    """The count of this run, whatever ran before it."""
    (profile,) = (profile for profile in summary["profiles"] if profile["tool"] == "Callgrind")
    return profile["data"]["total"]["metrics"]["Ir"]["values"]["new"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
