#!/usr/bin/env python3
"""Texts a second: scanline's BERT text tower beside PyTorch eager, in one go, as ratios.

Usage: text.py --bench PROGRAM --python VENV_PYTHON [--depth 9 12] [--threads 2] [--rounds 3]
               [--runs 5] [--json FILE] [--check RATIO]
BERT-base's width with made-up weights, 16 captions (bench/data/captions.txt), one at a time and all
at once. Every program runs in each round, in a process of its own; its best run counts, which a
busy machine disturbs least. With --check the exit code is 1 where scanline's throughput is below
RATIO times that of any eager peer at any batch, or the embeddings differ.
"""

import argparse
import json
import os
import sys

from common import ROOT, at_least_one, keep, measure, origin, result_file, show, start

VOCAB = ROOT / "tests/data/tokenizer/vocab.txt"
TEXTS = ROOT / "bench/data/captions.txt"
BATCHES = ("1", "16")
TOLERANCE = 2e-5  # of an element, where a vector has length 1
GEMMS = ("gemms_alone", "gemms_packed")
TIMEOUT_S = 600
# Threads that wait give up their core: with other load present, spinning ones measure each other.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def measure_both(args, depth):
    """What scanline took, then what the peers took for the same token ids."""
    task = ["--depth", str(depth), "--threads", str(args.threads), "--runs", str(args.runs)]
    got = []
    for command in ([args.bench, str(VOCAB), str(TEXTS)],
                    [args.python, str(ROOT / "bench/text_peers.py")]):
        if got:
            command.append(json.dumps(got[0]["ids"]))
        got.append(measure([*command, *task], TIMEOUT_S))
        if "error" in got[-1]:
            sys.exit(f"text.py: {command[0]}: not measured: {got[-1]['error']}")
    return got


def keep_best(rows, name, seconds):
    for batch, value in seconds.items():
        row = rows.setdefault(name, {})
        row[batch] = min(row.get(batch, value), value)


def difference(ours, theirs):
    return max(abs(a - b) for one, two in zip(ours, theirs) for a, b in zip(one, two))


def run(args, depth):
    rows, result = {}, {}
    for turn in range(args.rounds):
        show(f"{depth} layers, round {turn + 1} of {args.rounds}")
        ours, peers = measure_both(args, depth)
        keep_best(rows, "scanline", ours["seconds"])
        for name, seconds in peers["seconds"].items():
            keep_best(rows, name, seconds)
        result = {"kernel": ours["kernel"], "torch": peers["version"], "tokens": [len(ids) for ids in ours["ids"]],
                  "largest_difference": max(difference(ours["embeddings"], theirs)
                                            for theirs in peers["embeddings"].values())}
    show("")
    texts = len(result["tokens"])
    result["texts_per_second"] = {
        name: {batch: round(texts / seconds, 1) for batch, seconds in row.items()}
        for name, row in rows.items()}
    result["scanline_times_as_fast_as"] = {
        name: {batch: round(seconds / rows["scanline"][batch], 2) for batch, seconds in row.items()}
        for name, row in rows.items() if name != "scanline"}
    return result


def report(args, layers):
    return {
        "what": f"16 captions of 6 to 20 tokens, BERT-base width, made-up weights, fp32, "
                f"{args.threads} threads; tokenising counted for scanline only",
        **origin("./dev bench text", "model", "base", "bench"),
        "load_average_1_min_at_start": round(os.getloadavg()[0], 1),
        "rounds": args.rounds, "runs_a_round": args.runs, "layers": layers,
    }


def table(result):
    print(result["what"])
    for depth, row in result["layers"].items():
        print(f"{depth} layers, kernel {row['kernel']}, torch {row['torch']}; largest difference of "
              f"an element {row['largest_difference']:.1e}")
        print(f"{'':18}{'TEXTS/S at 1':>14}{'at 16':>8}{'SCANLINE x at 1':>18}{'at 16':>8}")
        for name, speed in row["texts_per_second"].items():
            times = row["scanline_times_as_fast_as"].get(name)
            ratios = "".join(f"{times[b]:>{w}.2f}" for b, w in zip(BATCHES, (18, 8))) if times else ""
            print(f"{name:18}{speed['1']:>14.1f}{speed['16']:>8.1f}{ratios}")


def complaint(result, least):
    for depth, row in result["layers"].items():
        if row["largest_difference"] > TOLERANCE:
            return f"embeddings differ by {row['largest_difference']}; at most {TOLERANCE}"
        for name, times in row["scanline_times_as_fast_as"].items():
            slow = [batch for batch in BATCHES if name not in GEMMS and times[batch] < least]
            if slow:
                return f"{depth} layers: {times[slow[0]]} times {name} at batch {slow[0]}; at least {least}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--depth", type=int, nargs="+", default=[9, 12])
    parser.add_argument("--threads", type=at_least_one, default=2)
    parser.add_argument("--rounds", type=at_least_one, default=3)
    parser.add_argument("--runs", type=at_least_one, default=5)
    parser.add_argument("--json", type=result_file)
    parser.add_argument("--check", type=float)
    args = parser.parse_args()
    result = report(args, {str(depth): run(args, depth) for depth in args.depth})
    table(result)
    keep(result, args.json)
    wrong = complaint(result, args.check) if args.check is not None else None
    if wrong:
        sys.exit(f"text.py: {wrong}")


if __name__ == "__main__":
    start(main)
