#!/usr/bin/env python3
"""Clips a second of a server that never runs out of work, beside the bare engine in the same run.

Usage: service.py --bench PROGRAM --server-program PROGRAM [--model tiny|DIR] [--workers 2]
                  [--threads 1] [--kernel auto] [--precision auto] [--seconds 4] [--rounds 5]
                  [--json FILE] [--check RATIO]
Starts a server of its own. Server and engine work in turns, --seconds each, on the same model with
the same settings; clips are sent as raw frames over gRPC, three callers a worker. `tiny` is
VideoMamba-Tiny with weights made up here. With --check the exit code is 1 where the median ratio
of a round is below RATIO.
"""

import argparse
import array
import json
import math
import os
import pathlib
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import time

from common import at_least_one, keep, measure, origin, result_file, show, start

TINY = {"embed_dim": 192, "depth": 24, "d_state": 16, "dt_rank": 12, "patch": 16, "tubelet": 1,
        "frames": 8, "size": 224}
CLASSES = 400
START_S = 120


def tiny_shapes():
    dim, state, rank = TINY["embed_dim"], TINY["d_state"], TINY["dt_rank"]
    inner, cells = 2 * dim, (TINY["size"] // TINY["patch"]) ** 2
    yield "cls_token", [1, 1, dim]
    yield "pos_embed", [1, 1 + cells, dim]
    yield "temporal_pos_embedding", [1, TINY["frames"], dim]
    yield "patch_embed.proj.weight", [dim, 3, 1, TINY["patch"], TINY["patch"]]
    yield "patch_embed.proj.bias", [dim]
    for i in range(TINY["depth"]):
        layer = f"layers.{i}."
        mixer = layer + "mixer."
        yield layer + "norm.weight", [dim]
        yield mixer + "in_proj.weight", [2 * inner, dim]
        yield mixer + "out_proj.weight", [dim, inner]
        for side, a_log in (("", "A_log"), ("_b", "A_b_log")):
            yield f"{mixer}conv1d{side}.weight", [inner, 1, 4]
            yield f"{mixer}conv1d{side}.bias", [inner]
            yield f"{mixer}x_proj{side}.weight", [rank + 2 * state, inner]
            yield f"{mixer}dt_proj{side}.weight", [inner, rank]
            yield f"{mixer}dt_proj{side}.bias", [inner]
            yield mixer + a_log, [inner, state]
            yield f"{mixer}D{side}", [inner]
    yield "norm_f.weight", [dim]
    yield "head.weight", [CLASSES, dim]
    yield "head.bias", [CLASSES]


def write_tiny(folder):
    """A bundle of VideoMamba-Tiny's shapes with small random weights."""
    numbers = random.Random(7)
    noise = array.array("f", (numbers.uniform(-0.04, 0.04) for _ in range(65_537)))
    header, data = {}, bytearray()
    for name, shape in tiny_shapes():
        count = math.prod(shape)
        values = (noise * (count // len(noise) + 1))[:count]
        if "norm" in name or name.endswith((".D", ".D_b")):
            values = array.array("f", (1 + value for value in values))
        begin = len(data)
        data += values.tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    (folder / "labels.txt").write_text("".join(f"class {i}\n" for i in range(CLASSES)))
    (folder / "config.json").write_text(json.dumps({
        "format": 1, "name": "videomamba-tiny-noise", "version": "1", "license": "none",
        "tasks": ["classify"],
        "backbone": {"arch": "videomamba", "mixer": "videomamba", "pool": "cls", **TINY},
        "preprocess": {"resize": "short_side_bilinear", "size": TINY["size"],
                       "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]},
        "sampling": {"rule": "uniform"},
        "classify": {"score": "softmax", "labels": "labels.txt", "label_index_offset": 0},
        "weights": {"file": "model.safetensors"}}))
    return folder


def engine_flags(args):
    return ["--workers", str(args.workers), "--threads", str(args.threads),
            "--kernel", args.kernel, "--precision", args.precision]


class Server:
    """A server process with one model, ready when entered."""

    def __init__(self, args, model, folder):
        self.log = folder / "server.log"
        self.ports = folder / "ports"
        command = [args.server_program, "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0",
                   "--lame-duck", "0", "--port-file", str(self.ports), "--model", str(model),
                   *engine_flags(args)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                        stderr=self.log.open("w"))

    def __enter__(self):
        end = time.monotonic() + START_S
        try:
            while not self.ports.exists():
                if self.process.poll() is not None or time.monotonic() > end:
                    sys.exit("service.py: the server did not start:\n" + self.log.read_text()[-2000:])
                time.sleep(0.05)
            return "127.0.0.1:" + self.ports.read_text().split()[0]
        except BaseException:  # Then nothing calls __exit__.
            self.__exit__()
            raise

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def run(args):
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        model = write_tiny(folder / "tiny") if args.model == "tiny" else pathlib.Path(args.model)
        with Server(args, model, folder) as address:
            show(f"{args.rounds} rounds of {2 * args.seconds:g} s")
            line = measure([args.bench, "--server", address, "--model", str(model),
                            *engine_flags(args), "--seconds", str(args.seconds),
                            "--rounds", str(args.rounds)],
                           timeout_s=60 + 4 * args.seconds * args.rounds)
            show("")
    if "error" in line:
        sys.exit(f"service.py: {line['error']}")
    return line


def report(args, line, load):
    engine, service = line["engine_clips_per_s"], line["service_clips_per_s"]
    ratios = [round(s / e, 3) for e, s in zip(engine, service)]
    name = "VideoMamba-Tiny, random weights" if args.model == "tiny" else args.model
    return {
        "what": f"raw frames of {name} through the server and through the bare engine",
        **origin("./dev bench service"), "load_average_1_min_at_start": round(load, 1),
        **line, "ratios": ratios, "median_ratio": statistics.median(ratios),
    }


def table(result):
    print(result["what"])
    print(f"kernel {result['kernel']}, {result['precision']}; {result['workers']} workers of "
          f"{result['threads']} thread(s), {result['callers']} callers")
    print(f"{'ROUND':8}{'ENGINE clips/s':>16}{'SERVER clips/s':>16}{'RATIO':>8}")
    rows = zip(result["engine_clips_per_s"], result["service_clips_per_s"], result["ratios"])
    for turn, (engine, service, ratio) in enumerate(rows, 1):
        print(f"{turn:<8}{engine:>16.2f}{service:>16.2f}{ratio:>8.3f}")
    print(f"{'median':40}{result['median_ratio']:>8.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--server-program", required=True)
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--workers", type=at_least_one, default=2)
    parser.add_argument("--threads", type=at_least_one, default=1)
    parser.add_argument("--kernel", default="auto")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=at_least_one, default=5)
    parser.add_argument("--json", type=result_file)
    parser.add_argument("--check", type=float)
    args = parser.parse_args()
    load = os.getloadavg()[0]
    result = report(args, run(args), load)
    table(result)
    keep(result, args.json)
    if args.check is not None and result["median_ratio"] < args.check:
        sys.exit(f"service.py: {result['median_ratio']} of the bare engine; at least {args.check}")


if __name__ == "__main__":
    start(main)
