#!/usr/bin/env python3
"""Counts the instructions of the core's hot functions and compares them with bench/baseline.json.

  tools/check_instructions.py [--program build/bench/instructions] [--update] [CASE ...]

Each case of bench/instructions.cc runs under callgrind. What counts is what the program itself executes below
measured_work(), divided by the repetitions: no set-up, and nothing of libc and libstdc++, whose code depends on the
processor. So the counts are the same on every machine with the same compiler. Fails when a case is more than 15 % above
the baseline, is missing in it, or cannot be counted. More than 15 % below is told, and is no failure.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BASELINE = os.path.join(ROOT, "bench", "baseline.json")
LIMIT = 0.15
# Another major version of the compiler makes other code: only what no compiler explains is a failure then.
LIMIT_OTHER_COMPILER = 0.60
SECONDS_PER_CASE = 300


def listed(program):
    """The compiler, and per case its repetitions."""
    lines = subprocess.run([program, "--list"], check=True, capture_output=True, text=True).stdout.splitlines()
    if not lines or not lines[0].startswith("compiler "):
        sys.exit(f"{program} --list does not name its compiler")
    return lines[0].removeprefix("compiler "), {name: int(times) for name, times in (line.split() for line in lines[1:])}


def own_instructions(out_file, program):
    """The sum over all functions of the program's own object; costs of calls are part of the called function."""
    total, inside, after_call = 0, False, False
    names = {}
    with open(out_file, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            match = re.match(r"ob=(?:\((\d+)\))?\s*(.*)", line)
            if match:
                number, name = match.groups()
                if name:
                    names[number] = name
                inside = os.path.basename(name or names.get(number, "")) == os.path.basename(program)
            elif line.startswith("calls="):
                after_call = True
            elif re.match(r"[+\-*\d]", line):
                if inside and not after_call:
                    total += int(line.split()[1])
                after_call = False
            elif match := re.match(r"cob=\((\d+)\)\s*(.+)", line):
                names[match.group(1)] = match.group(2).strip()
    return total


def count(program, case):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--toggle-collect=measured_work",
                   "--collect-atstart=no", program, case]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_PER_CASE)
        if done.returncode != 0:
            sys.exit(f"{case}: {' '.join(command)}\n{done.stderr}")
        return own_instructions(out, program)


def major(compiler):
    match = re.match(r"(\S+) (\d+)", compiler)
    return match.groups() if match else compiler


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "bench", "instructions"))
    parser.add_argument("--update", action="store_true", help="writes what was counted into bench/baseline.json")
    parser.add_argument("cases", nargs="*", help="these only")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is missing: apt-get install valgrind")
    program = os.path.abspath(options.program)
    compiler, times = listed(program)
    unknown = [case for case in options.cases if case not in times]
    if unknown:
        sys.exit(f"no such case: {', '.join(unknown)}; there are {', '.join(times)}")
    wanted = options.cases or list(times)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counted = dict(zip(wanted, pool.map(lambda case: round(count(program, case) / times[case]), wanted)))
    with open(BASELINE, encoding="utf-8") as file:
        baseline = json.load(file)

    limit = LIMIT
    if major(compiler) != major(baseline["compiler"]):
        limit = LIMIT_OTHER_COMPILER
        print(f"The baseline was taken with {baseline['compiler']}, this program is made by {compiler}: compared all the "
              f"same, but only {limit:.0%} more is a failure.")
    above, below = [], []
    print(f"{'case':28} {'baseline':>12} {'now':>12} {'change':>8}   instructions of the program per repetition")
    for case in wanted:
        before, now = baseline["instructions"].get(case, 0), counted[case]
        change = now / before - 1 if before else float("inf")
        note = ""
        if now == 0 or change > limit:
            above.append(case)
            note = "NOTHING COUNTED" if now == 0 else "not in the baseline" if not before else "ABOVE"
        elif change < -LIMIT:
            below.append(case)
            note = "below"
        print(f"{case:28} {before:12,} {now:12,} {change:+8.1%}   {note}")
    gone = [] if options.cases else [case for case in baseline["instructions"] if case not in times]

    if options.update:
        kept = {case: n for case, n in baseline["instructions"].items() if case in times}
        baseline = {"compiler": compiler, "flags": baseline["flags"],
                    "instructions": {case: counted.get(case, kept.get(case)) for case in times
                                     if case in counted or case in kept}}
        with open(BASELINE, "w", encoding="utf-8") as file:
            json.dump(baseline, file, indent=2)
            file.write("\n")
        print(f"written: {os.path.relpath(BASELINE, ROOT)}")
        return 0
    if below:
        print(f"Well done; renew the baseline: tools/check_instructions.py --update {' '.join(below)}")
    if gone:
        print(f"in the baseline, but no case any more: {', '.join(gone)}")
    if above:
        print(f"more than {limit:.0%} above bench/baseline.json: {', '.join(above)}. Either make it cheaper, or say why it has "
              "to cost more and renew the baseline (--update).", file=sys.stderr)
    return 1 if above or gone else 0


if __name__ == "__main__":
    sys.exit(main())
