#!/usr/bin/env python3
"""Counts the machine instructions of the scan's inner loop for each state and token.

Usage: sass.py CUOBJDUMP OBJECT ELEMENT LIMIT

OBJECT holds ScanKernel<ELEMENT, lanes, state, pass> for sm_90. The inner loop is the one that has
no other with an ex2 inside; where the compiler made several, each counts. Exits with 1 when the
scan with one lane a channel and 16 states (pass kOutput) needs more than LIMIT instructions for a
state, or when a loop has another number of MUFU operations than one ex2 for each. The elements of
an iteration are its four tokens times the states of a lane. CUOBJDUMP: the one of the triton wheel
(requirements.txt), with its nvdisasm beside it.
"""

import collections
import pathlib
import re
import subprocess
import sys

TOKENS = 4  # an iteration: kStep of scan_kernel.h
INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]+)\*/\s+(.*?)\s*;")
BRANCH = re.compile(r"\bBRA\S*\s+(?:\S+,\s*)?0x([0-9a-f]+)")
KERNEL = re.compile(r"ScanKernelI(\w+?)Li(\d)ELi(\d+)ELNS0_8ScanPassE(\d)E")
PASSES = ("kStates", "kOutput", "kMasked", "kCumulative")


def functions(cuobjdump, path):
    """{mangled name: [(address, instruction)]} of the sm_90 code."""
    if not pathlib.Path(cuobjdump).exists():
        sys.exit(f"no {cuobjdump}: run ./dev test, which fetches it")
    text = subprocess.run([cuobjdump, "-sass", "-arch", "sm_90", path], capture_output=True,
                          text=True, check=True).stdout
    found = {}
    for line in text.splitlines():
        if "Function :" in line:
            current = found.setdefault(line.split(":")[1].strip(), [])
        elif match := INSTRUCTION.match(line):
            current.append((int(match[1], 16), match[2]))
    return found


def inner_loops(instructions):
    """The bodies of the loops with an ex2 of data in shared memory and no such loop inside."""
    loops = []
    for address, text in instructions:
        match = BRANCH.search(text)
        if match and int(match[1], 16) < address:
            body = [t for a, t in instructions if int(match[1], 16) <= a <= address]
            if any("MUFU.EX2" in t for t in body) and any("LDS" in t for t in body):
                loops.append((int(match[1], 16), address, body))
    return [body for begin, end, body in loops
            if not any(begin <= b and e <= end and (b, e) != (begin, end) for b, e, _ in loops)]


def name_of(text):
    words = text.split()
    return next(word for word in words if not word.startswith("@")).split(".")[0]


def main():
    cuobjdump, path, element, limit = sys.argv[1:]
    mangled = {"float": "f", "Bf16": "NS0_4Bf16E"}[element]
    wrong = []
    measured = {}
    for name, instructions in sorted(functions(cuobjdump, path).items()):
        match = KERNEL.search(name)
        if not match or match[1] != mangled:
            continue
        lanes, state, which = int(match[2]), int(match[3]), PASSES[int(match[4])]
        elements = TOKENS * state // lanes
        bodies = inner_loops(instructions)
        title = f"{element}, {lanes} lanes, {state} states, {which}"
        if not bodies:
            wrong.append(f"{title}: no inner loop found")
        for body in bodies:
            mufu = [text for text in body if "MUFU" in text]
            counts = collections.Counter(map(name_of, body)).most_common(6)
            print(f"{title}: {len(body) / elements:.2f} instructions a state, "
                  + ", ".join(f"{op} {count / elements:.2f}" for op, count in counts))
            measured[lanes, state, which] = len(body) / elements
            if len(mufu) != elements or not all("MUFU.EX2" in text for text in mufu):
                wrong.append(f"{title}: {len(mufu)} MUFU for {elements} states, expected one ex2 each")
    if (1, 16, "kOutput") not in measured:
        wrong.append(f"no scan with one lane and 16 states in {path}")
    elif measured[1, 16, "kOutput"] > float(limit):
        wrong.append(f"one lane, 16 states: {measured[1, 16, 'kOutput']:.2f} instructions a state, "
                     f"the limit is {limit}")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
