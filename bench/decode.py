#!/usr/bin/env python3
"""CPU seconds a clip: scanline's decoder beside others, in one go, as ratios.

Usage: decode.py --bench PROGRAM --python VENV_PYTHON [CLIP] [--frames 16] [--size 224]
                 [--rounds 5] [--runs 2] [--json FILE] [--check RATIO]
Every decoder runs in each round, in a process of its own, on one thread; its best run counts,
which a busy machine disturbs least. The clip's frames are numbered: what a decoder delivered is
read from its pictures. With --check the exit code is 1 where scanline takes more than RATIO of
torchcodec's seconds, or either delivers other frames than asked for.
"""

import argparse
import pathlib
import statistics
import sys

from common import ROOT, at_least_one, keep, measure, origin, result_file, show, start
from decode_peers import PEERS, middles

OURS, BASE = "scanline", "torchcodec"
CLIP = ROOT / "bench/data/p720_10s_30fps.mp4"


def commands(args):
    task = [str(args.clip), "--frames", str(args.frames), "--size", str(args.size),
            "--runs", str(args.runs)]
    yield OURS, [args.bench, *task]
    for peer in PEERS:
        yield peer, [args.python, str(ROOT / "bench/decode_peers.py"), peer, *task]


def run(args):
    rows = {}
    for turn in range(args.rounds):
        for name, command in commands(args):
            if "error" in rows.get(name, {}):
                continue
            show(f"round {turn + 1} of {args.rounds}: {name}")
            got = measure(command)
            row = rows.setdefault(name, got | {"cpu_s": []})
            if "error" in got:
                row["error"] = got["error"]
            elif got["numbers"] != row["numbers"]:
                row["error"] = "it delivers other frames each time"
            else:
                row["cpu_s"] += got["cpu_s"]
    show("")
    return rows


def report(args, rows):
    result = {
        "what": f"{args.frames} frames of {args.clip.name}, RGB {args.size}x{args.size}, "
                "one thread; CPU seconds a clip",
        **origin("./dev bench decode", "decode", "base", "bench"),
        "rounds": args.rounds, "runs_a_round": args.runs, "decoders": {},
    }
    base = min(rows[BASE]["cpu_s"], default=None)
    for name, row in rows.items():
        if "error" in row:
            result["decoders"][name] = {"error": row["error"]}
            continue
        best = min(row["cpu_s"])
        result["decoders"][name] = {
            **{key: row[key] for key in ("version", "frames_decoded") if key in row},
            "best_cpu_s": round(best, 4),
            "median_cpu_s": round(statistics.median(row["cpu_s"]), 4),
            f"ratio_to_{BASE}": round(best / base, 3) if base else None,
            "numbers": row["numbers"],
            "right_frames": row["numbers"] == args.wanted,
        }
    return result


def table(result):
    print(result["what"])
    print(f"{'DECODER':32}{'BEST':>8}{'MEDIAN':>8}{'RATIO':>8}  FRAMES")
    for name, row in result["decoders"].items():
        if "error" in row:
            print(f"{name:32}not measured: {row['error']}")
            continue
        ratio = row[f"ratio_to_{BASE}"]
        title = f"{name} {row.get('version', '')}".strip()
        print(f"{title:32}{row['best_cpu_s']:8.3f}{row['median_cpu_s']:8.3f}"
              f"{'-' if ratio is None else f'{ratio:.3f}':>8}"
              f"  {'right' if row['right_frames'] else 'wrong'}")


def complaints(result, most):
    ours, base = result["decoders"][OURS], result["decoders"][BASE]
    for name, row in ((OURS, ours), (BASE, base)):
        if "error" in row:
            return f"{name} was not measured: {row['error']}"
        if not row["right_frames"]:
            return f"{name} delivered other frames than asked for: {row['numbers']}"
    if ours[f"ratio_to_{BASE}"] > most:
        return f"{OURS} takes {ours[f'ratio_to_{BASE}']} of {BASE}'s CPU seconds; at most {most}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clip", nargs="?", type=pathlib.Path, default=CLIP)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--frames", type=at_least_one, default=16)
    parser.add_argument("--size", type=at_least_one, default=224)
    parser.add_argument("--rounds", type=at_least_one, default=5)
    parser.add_argument("--runs", type=at_least_one, default=2)
    parser.add_argument("--json", type=result_file)
    parser.add_argument("--check", type=float)
    args = parser.parse_args()
    args.wanted = middles(300, args.frames) if args.clip == CLIP else None
    rows = run(args)
    if args.wanted is None:  # Another clip: whoever agrees with scanline is right.
        args.wanted = rows[OURS].get("numbers")
    result = report(args, rows)
    table(result)
    keep(result, args.json)
    complaint = complaints(result, args.check) if args.check is not None else None
    if complaint:
        sys.exit(f"decode.py: {complaint}")


if __name__ == "__main__":
    start(main)
