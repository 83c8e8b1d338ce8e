#!/usr/bin/env python3
"""Forward passes of a model: milliseconds, memory, and ratios to peers measured in the same rounds.

Usage: engine.py --bench PROGRAM --python VENV_PYTHON [--model tiny|small|middle|base|default]
                 [--frames 8] [--threads 2] [--path NAME] [--precision fp32|bf16|auto]
                 [--rounds 3] [--runs 5] [--ours] [--json FILE] [--check]
Without --path: every path that the machine has. Ours and the peers (bench/engine_peers.py) take
turns, each in a process of its own, and ratios are of the best runs, which a busy machine disturbs
least; medians over the rounds stand beside them. --ours leaves out peers and long clips. A table on
a terminal, else JSON. With --check the exit code is 1 where a target is missed; the targets are those
of Tiny, 8 frames, 2 threads.
"""

import argparse
import json
import os
import statistics
import sys

from common import ROOT, at_least_one, keep, measure, origin, result_file, show, start
from engine_report import (OFFICIAL, bounds_ms, missed, ratio, ratios_of, rel_max, scaled,
                           scan_bound_ns, summary, table, targets, worst_error)

DEFAULT_MODEL = ROOT / "assets/models/tagger24"
VECTORS = ROOT / "tests/data/reference"
VARIANTS = [("avx512", "fp32"), ("avx512_bf16", "bf16"), ("avx2", "fp32")]
AVX2_ONLY = {"ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
             "ATEN_CPU_CAPABILITY": "avx2"}
SHORT, LONG = 8, 64  # frames
PAIRS = 3  # of them in a round
STEADY_RUNS = 20
TIMEOUT_S = 1200
# Threads that wait spin for as long as ours do, then sleep: on a shared machine spinning ones measure
# each other.
os.environ.update({"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "4000"})


def answer(command, extra=None):
    """The JSON of one process; `extra`: variables that it alone sees."""
    before = {key: os.environ.get(key) for key in extra or {}}
    os.environ.update(extra or {})
    got = measure([str(part) for part in command], TIMEOUT_S)
    for key, value in before.items():
        if value is None:
            del os.environ[key]
        else:
            os.environ[key] = value
    if "error" in got:
        sys.exit(f"engine.py: {command[0]}: not measured: {got['error']}")
    return got


class Bench:
    def __init__(self, args):
        self.args = args
        self.model = f"{DEFAULT_MODEL}/" if args.model == "default" else args.model
        self.task = ["--model", self.model, "--threads", args.threads]
        self.frames = ["--frames", args.frames] if args.frames else []

    def ours(self, path, precision, *more, frames=None):
        return answer([self.args.bench, *self.task, *(frames or self.frames), "--path", path,
                       "--precision", precision, *more])

    def peer(self, what, runs, path):
        return answer([self.args.python, ROOT / "bench/engine_peers.py", what, *self.task,
                       *self.frames, "--runs", runs], AVX2_ONLY if path == "avx2" else None)

    def pair_with_long(self, variant):
        """Clips and a long one behind them: the clock of a shared machine changes within minutes."""
        passes = ["--profile", "latency", "--runs"]
        return (self.ours(*variant, *passes, LONG // SHORT),
                self.ours(*variant, *passes, 1, frames=["--frames", LONG]))

    def paths_here(self):
        return answer([self.args.bench, "--runs", 0])["paths_here"]

    def scalar_cpu_s(self, layers):
        """From models of one layer and of two: all of them would take a minute."""
        one, two = (answer([self.args.bench, *self.task, *self.frames, "--path", "scalar",
                            "--layers", count, "--runs", 1, "--profile", "throughput"])
                    for count in (1, 2))
        return scaled(one["throughput"]["cpu_s"], two["throughput"]["cpu_s"], layers)


def chosen(args, here):
    if args.path:
        if args.path not in here:
            sys.exit(f"engine.py: expected --path of {', '.join(here)} on this machine, found "
                     f"{args.path}")
        precision = args.precision if args.precision != "auto" else "fp32"
        return [(args.path, precision)]
    wanted = [v for v in VARIANTS if args.precision in ("auto", v[1])]
    return [v for v in wanted if v[0] in here]


def run_rounds(bench, variants):
    """Of each variant what every round measured; and pairs of usual clips and a long one."""
    args, rounds, long = bench.args, {v: [] for v in variants}, []
    for turn in range(args.rounds):
        say = lambda what, turn=turn: show(f"round {turn + 1} of {args.rounds}: {what}")
        eager = None
        if not args.ours:
            say("PyTorch eager")
            eager = bench.peer("eager", 1, None)
        for path, precision in variants:
            say(f"{path} {precision}")
            one = {"ours": bench.ours(path, precision, "--runs", args.runs)}
            if not args.ours:
                say(f"matrix products alone, for {path}")
                one |= {"gemms": bench.peer("gemms", args.runs, path), "eager": eager["eager"],
                        "eager_alone": eager["eager_alone"], "eager_logits": eager["logits"]}
            rounds[path, precision].append(one)
        if args.long:
            say(f"{LONG} frames")
            long += [bench.pair_with_long(variants[0]) for _ in range(PAIRS)]
    return rounds, long


def variant_of(bench, name, rounds, scalar_cpu_s):
    path, precision = name
    ours = [one["ours"] for one in rounds]
    first = ours[0]
    ms = lambda profile: [1e3 * one[profile]["clip_s"] for one in ours]
    variant = {
        "latency_ms": summary(ms("latency")), "throughput_ms": summary(ms("throughput")),
        "clips_per_s": max(one["throughput"]["clips_per_s"] for one in ours),
        "cpu_ms": 1e3 * min(one["throughput"]["cpu_s"] for one in ours),
        "shares": min(ours, key=lambda one: one["latency"]["shares"]["waiting"])["latency"]["shares"],
        "activations_mb": max(one["latency"]["memory"]["activations_mb"] for one in ours),
        "peak_mb": max(one["latency"]["memory"]["peak_mb"] for one in ours),
    }
    if scalar_cpu_s:
        variant["scalar_cpu_s"] = scalar_cpu_s
    if "eager_logits" in rounds[0]:
        variant["logits_beside_eager"] = rel_max(first["logits"], rounds[0]["eager_logits"])
    show(f"{path} {precision}: peaks, memory, errors")
    more = bench.ours(path, precision, "--runs", STEADY_RUNS, "--profile", "latency", "--peaks",
                      "--check-vectors", VECTORS)
    memory = more["latency"]["memory"]
    variant["steady_growth_mb"] = memory["after_all_mb"] - memory["after_2_mb"]
    variant["errors"] = worst_error(more["errors"])
    bound = scan_bound_ns(path, more["peaks"])
    if bound:
        variant["scan"] = {"ns": more["scan_ns"], "bound_ns": bound, "ratio": more["scan_ns"] / bound}
    variant["ratios"] = ratios_of(variant, rounds)
    return variant, more["peaks"]


def long_of(pairs):
    """`pairs`: usual clips and, right behind them, one of LONG frames, which takes about as long."""
    short, long = zip(*pairs)
    memory = [one["latency"]["memory"] for one in long]
    times = [one["latency"]["clip_s"] for one in long]
    result = {"frames": LONG, "path": long[0]["path"], "precision": long[0]["precision"],
              "latency_ms": summary([1e3 * t for t in times]),
              "activations_mb": max(one["activations_mb"] for one in memory),
              "peak_mb": max(one["peak_mb"] for one in memory)}
    if short[0]["frames"] == SHORT:
        means = [statistics.fmean(one["latency"]["pass_s"]) for one in short]
        result["ratio"] = ratio(times, means)
        result["cpu_ratio"] = ratio(*([one["latency"]["cpu_s"] for one in of] for of in (long, short)))
    return result


def peak_of_long(bench, variant):
    """Peak memory of a pass over LONG frames by every official size."""
    peaks = {}
    for model in ("tiny", "small", "middle", "base"):
        show(f"{model}, {LONG} frames")
        got = answer([bench.args.bench, "--model", model, "--frames", LONG, "--threads",
                      bench.args.threads, "--path", variant[0], "--precision", variant[1],
                      "--runs", 1, "--profile", "latency"])
        peaks[model] = got["latency"]["memory"]["peak_mb"]
    return peaks


def peer_times(rounds):
    return {f"{kind}_ms": summary([1e3 * min(one[f"{kind}_s"]) for one in rounds])
            for kind in ("wall", "cpu")}


def peers_of(rounds):
    """Seconds of the peers, best and median; by the instructions that they were held to."""
    peers = {}
    for (path, _), of_path in rounds.items():
        if "gemms" not in of_path[0]:
            continue
        isa = of_path[0]["gemms"]["capability"]
        for name in ("gemms", "gemms_packed"):
            peers[f"{name} {isa}"] = peer_times([one["gemms"][name] for one in of_path])
        for name in ("eager", "eager_alone"):
            peers[name] = peer_times([one[name] for one in of_path])
        peers["torch"] = of_path[0]["gemms"]["version"]
    return peers


def report(args):
    bench = Bench(args)
    load = os.getloadavg()[0]
    here = bench.paths_here()
    variants = chosen(args, here)
    if not variants:
        sys.exit(f"engine.py: this machine has the paths {', '.join(here)}; none of them was asked for")
    rounds, long = run_rounds(bench, variants)
    first = rounds[variants[0]][0]["ours"]
    scalar = None
    if not args.ours and args.model != "default":
        show("scalar")
        scalar = bench.scalar_cpu_s(first["layers"])
    done = {f"{path} {precision}": variant_of(bench, (path, precision), rounds[path, precision], scalar)
            for path, precision in variants}
    result = {
        "what": "forward passes from uint8 pictures to class logits, made weights but for default"
                + ("" if args.ours else
                   "; matrix products alone, PyTorch eager and the scalar code in the same run")
                + ("; scalar scaled from models of one and two layers" if scalar else ""),
        **origin("./dev bench engine" + "".join(f" {part}" for part in args.given), "model", "base",
                 "bench"),
        "load_average_1_min_at_start": round(load, 1),
        "rounds": args.rounds, "runs_a_round": args.runs,
        "model": args.model, "frames": first["frames"], "tokens": first["tokens"],
        "threads": args.threads, "paths_here": here,
        "lacking": [path for path, _ in VARIANTS if path not in here],
        "variants": {name: variant for name, (variant, _) in done.items()},
        "peaks": best_peaks([peaks for _, peaks in done.values()]),
        "peers": peers_of(rounds),
    }
    for name, variant in result["variants"].items():
        if args.model in OFFICIAL and not name.startswith("scalar"):
            variant["bounds_ms"] = bounds_ms(args.model, first["tokens"], args.threads, name, result["peaks"])
            variant["times_bound"] = {of: variant["latency_ms"]["best"] / ms
                                      for of, ms in variant["bounds_ms"].items()}
    if args.long:
        result["long"] = long_of(long)
        result["peak_64_frames_mb"] = peak_of_long(bench, variants[0])
    show("")
    result["targets"] = targets(result)
    return result


def best_peaks(all_peaks):
    return {key: (min if key.startswith("fma_ns") else max)(peaks[key] for peaks in all_peaks)
            for key in all_peaks[0]}


def rounded(value):
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--model", default="tiny", choices=("tiny", "small", "middle", "base", "default"))
    parser.add_argument("--frames", type=at_least_one)
    parser.add_argument("--threads", type=at_least_one, default=2)
    parser.add_argument("--path")
    parser.add_argument("--precision", default="auto", choices=("auto", "fp32", "bf16"))
    parser.add_argument("--rounds", type=at_least_one, default=3)
    parser.add_argument("--runs", type=at_least_one, default=5)
    parser.add_argument("--ours", action="store_true")
    parser.add_argument("--json", type=result_file)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    args.given = given(sys.argv[1:])
    args.long = not args.ours and args.model != "default" and args.frames != LONG
    result = rounded(report(args))
    if sys.stdout.isatty():
        print("\n".join(table(result)))
    else:
        print(json.dumps(result, indent=1))
    keep(result, args.json)
    wrong = missed(result["targets"])
    if args.check and wrong:
        sys.exit(f"engine.py: missed: {'; '.join(wrong)}")


def given(words):
    """The words of the command without those that ./dev adds or that change nothing."""
    shown = []
    words = iter(words)
    for word in words:
        if word in ("--bench", "--python", "--json"):
            next(words, None)
        elif word != "--check":
            shown.append(word)
    return shown


if __name__ == "__main__":
    start(main)
