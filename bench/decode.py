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
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

from decode_peers import PEERS, middles

ROOT = pathlib.Path(__file__).resolve().parent.parent
OURS, BASE = "scanline", "torchcodec"
CLIP = ROOT / "bench/data/p720_10s_30fps.mp4"
TIMEOUT_S = 120


def show(progress):
    if sys.stderr.isatty():
        print(f"\r\033[K{progress}", end="", file=sys.stderr, flush=True)


def measure(command, timeout_s=TIMEOUT_S):
    """The JSON line of one process, or {"error": ...}."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s,
                              check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"no answer in {timeout_s} s"}
    except OSError as error:
        return {"error": str(error)}
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return {"error": last[0][:200]}
    return json.loads(done.stdout)


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


def output_of(*command):
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    return done.stdout.strip()


def machine():
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    cpu = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")),
               platform.machine())
    return {"cpu": cpu, "cores": os.cpu_count(), "system": platform.platform()}


def report(args, rows):
    commit = output_of("git", "rev-parse", "HEAD") or None
    changed = bool(output_of("git", "status", "--porcelain", "--untracked-files=no", "--",
                             "decode", "base", "bench", "CMakeLists.txt", "cmake"))
    result = {
        "what": f"{args.frames} frames of {args.clip.name}, RGB {args.size}x{args.size}, "
                "one thread; CPU seconds a clip",
        "command": "./dev bench decode",
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit, "changed_since_commit": changed, "machine": machine(),
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


def keep(result, path):
    """Writes the result to the file of --json; None: nowhere."""
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clip", nargs="?", type=pathlib.Path, default=CLIP)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--frames", type=int, default=16)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path)
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
    main()
