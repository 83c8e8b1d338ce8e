#!/usr/bin/env python3
"""Detection in a clip as a multiple of real time, and where the time goes.

Usage: detect.py --client PROGRAM --server HOST:PORT [--clip FILE] [--seconds 12] [--frames 120]
                 [--interval 1] [--runs 5] [--json FILE] [--check TIMES]
`scanline detect` asks a running server, which finds the people, --runs times one after the other
after one that does not count; the run with the median total counts. The parts are the answer's own
Timing. With --check the exit code is 1 below TIMES real time, or where more frames are decoded than
the clip has.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

from common import ROOT, at_least_one, keep, origin, result_file, show, start

CLIP = ROOT / "assets/clips/pedestrians_12s.avi"
PARTS = {"find_people": "detector", "inference": "backbone", "decode": "decode",
         "decode_queue": "decode queue", "batch_queue": "batch queue", "receive": "receive"}
TIMEOUT_S = 600


def ask(args):
    """The ClipResult of one run of the program."""
    command = [args.client, "detect", str(args.clip), "--server", args.server, "--interval",
               str(args.interval), "--format", "ndjson", "--timeout", str(TIMEOUT_S)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"detect.py: {done.stderr.strip() or done.stdout.strip()}")
    return json.loads(done.stdout)["result"]


def engine(args):
    """What the server's forward passes run on, as GetModel says."""
    done = subprocess.run([args.client, "models", "--server", args.server], capture_output=True,
                          text=True, check=True)
    model = json.loads(done.stdout.splitlines()[0])
    return {name: model[name] for name in ("device", "kernel", "precision")}


def seconds(result, part):
    return float(result["timing"].get(part, "0s").removesuffix("s"))


def run(args):
    """The results of the runs, quickest first."""
    results = []
    for turn in range(args.runs + 1):
        show(f"run {turn} of {args.runs}")
        results.append(ask(args))
    show("")
    return sorted(results[1:], key=lambda result: seconds(result, "total"))


def report(args, results, load):
    median = results[len(results) // 2]
    total = seconds(median, "total")
    parts = {name: round(seconds(median, part), 4) for part, name in PARTS.items()}
    looks = {d["keyframe_offset"] for d in median["detections"]}
    return {
        "what": f"detection every {args.interval:g} s in {args.clip.name} ({args.seconds:g} s), "
                "people found by the server, default settings",
        **origin("./dev bench detect"), "load_average_1_min_at_start": round(load, 1),
        **engine(args), "model": median["model"], "runs": args.runs,
        "total_seconds": [round(seconds(result, "total"), 4) for result in results],
        "median_total_seconds": round(total, 4),
        "times_real_time": round(args.seconds / total, 2),
        "seconds_by_part": parts,
        "share_by_part": {name: round(value / total, 3) for name, value in parts.items()},
        "frames_of_the_clip": args.frames,
        "frames_decoded": median["usage"]["frames_decoded"],
        "keyframes_with_people": len(looks), "people": len(median["detections"]),
    }


def table(result):
    print(result["what"])
    print(f"{result['times_real_time']:.2f} times real time: "
          f"{result['median_total_seconds']:.3f} s, median of {result['runs']}; "
          f"{result['frames_decoded']} of {result['frames_of_the_clip']} frames decoded; "
          f"{result['people']} people at {result['keyframes_with_people']} keyframes")
    print(f"{'PART':14}{'SECONDS':>9}{'SHARE':>8}")
    for name, value in result["seconds_by_part"].items():
        print(f"{name:14}{value:>9.4f}{100 * result['share_by_part'][name]:>6.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--client", required=True)
    parser.add_argument("--server", required=True)
    parser.add_argument("--clip", type=pathlib.Path, default=CLIP)
    parser.add_argument("--seconds", type=float, default=12, help="how long the clip is")
    parser.add_argument("--frames", type=int, default=120, help="how many it has")
    parser.add_argument("--interval", type=float, default=1)
    parser.add_argument("--runs", type=at_least_one, default=5)
    parser.add_argument("--json", type=result_file)
    parser.add_argument("--check", type=float)
    args = parser.parse_args()
    load = os.getloadavg()[0]
    result = report(args, run(args), load)
    table(result)
    keep(result, args.json)
    if args.check is None:
        return
    if result["times_real_time"] < args.check:
        sys.exit(f"detect.py: {result['times_real_time']} times real time; at least {args.check}")
    if result["frames_decoded"] > args.frames:
        sys.exit(f"detect.py: {result['frames_decoded']} frames decoded of {args.frames}")


if __name__ == "__main__":
    start(main)
