#!/usr/bin/env python3
"""Compares what ptxas said of the kernels (-Xptxas -v) with the committed budget.

Usage: resources.py BUDGET LOG...        exits with 1 when a kernel spills, has a stack frame, needs
                                         more registers or other shared memory than its line says,
                                         or has no line; also when a line has no kernel.
       resources.py --write BUDGET LOG... writes the budget anew; read the difference before
                                         committing it.

A line: architecture, registers, bytes of shared memory, kernel. Registers are rounded up to the 8
that the hardware hands out at a time.
"""

import pathlib
import re
import subprocess
import sys

ENTRY = re.compile(r"Compiling entry function '(\S+)' for '(sm_\w+)'")
STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")


def demangled(names):
    """C++ names without parameters: ScanKernel<Bf16, 1, 16, 1>."""
    text = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True,
                          check=True).stdout
    short = []
    for line in text.splitlines():
        line = re.sub(r"\((anonymous namespace|scanline::cuda::\w+)\)(::)?", r"", line)
        line = re.sub(r"scanline::cuda::", "", line.removeprefix("void "))
        short.append(re.sub(r"\(\w+\)$", "", line))
    return dict(zip(names, short))


def kernels(logs):
    """{(architecture, kernel): (registers, shared, stack, spilled)} of all logs."""
    found = {}
    for log in logs:
        entry = stack = None
        for line in pathlib.Path(log).read_text(encoding="utf-8").splitlines():
            if match := ENTRY.search(line):
                entry = (match[2], match[1])
            elif match := STACK.search(line):
                stack = (int(match[1]), int(match[2]) + int(match[3]))
            elif (match := USED.search(line)) and entry:
                shared = SHARED.search(line)
                found[entry] = (int(match[1]), int(shared[1]) if shared else 0, *stack)
    names = demangled(sorted({name for _, name in found}))
    return {(arch, names[name]): figures for (arch, name), figures in found.items()}


def key(item):
    return (item[1], int(item[0].removeprefix("sm_")))


def write(path, found):
    lines = ["# What each kernel may use; tests/model/cuda/resources.py checks and writes it.",
             "# architecture, registers, bytes of shared memory, kernel"]
    for arch, name in sorted(found, key=key):
        registers, shared, *_ = found[arch, name]
        lines.append(f"{arch}\t{-(-registers // 8) * 8}\t{shared}\t{name}")
    pathlib.Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def read(path):
    budget = {}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        arch, registers, shared, name = line.split("\t")
        budget[arch, name] = (int(registers), int(shared))
    return budget


def complaints(budget, found):
    for item in sorted(found, key=key):
        registers, shared, stack, spilled = found[item]
        name = f"{item[1]} for {item[0]}"
        if stack or spilled:
            yield f"{name}: {stack} bytes of stack frame, {spilled} bytes spilled; expected none"
        if item not in budget:
            yield f"{name}: not in the budget"
            continue
        if registers > budget[item][0]:
            yield f"{name}: {registers} registers, the budget is {budget[item][0]}"
        if shared != budget[item][1]:
            yield f"{name}: {shared} bytes of shared memory, the budget says {budget[item][1]}"
    for arch, name in sorted(set(budget) - set(found), key=key):
        yield f"{name} for {arch}: in the budget, but was not compiled"


def main():
    arguments = sys.argv[1:]
    writes = arguments[:1] == ["--write"]
    path, *logs = arguments[writes:]
    found = kernels(logs)
    if not found:
        print(f"no kernels in {', '.join(logs)}", file=sys.stderr)
        return 1
    if writes:
        write(path, found)
        return 0
    wrong = list(complaints(read(path), found))
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{len(found)} kernels, {len(wrong)} over the budget")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
