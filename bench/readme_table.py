#!/usr/bin/env python3
"""Makes README.md's table of measurements from bench/results/*.json.

Usage: readme_table.py [--write]
Prints the table; with --write it takes the place of what stands between the markers in README.md,
and the picture beside it, docs/pictures/engine.svg, is drawn anew.
"""

import json
import pathlib
import sys

import engine_picture
from engine_report import OFFICIAL

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN = "<!-- made by bench/readme_table.py --write -->"
END = "<!-- end of what is made -->"
PICTURE = "docs/pictures/engine.svg"


def engine(result):
    if (result["model"] not in OFFICIAL
            or not all("eager_cpu" in one["ratios"] for one in result["variants"].values())):
        sys.exit("readme_table.py: bench/results/engine.json is of a bundle or has no peers; expected what "
                 "./dev bench engine makes without --model default and --ours")
    yield (f"Forward pass of VideoMamba-{result['model'].capitalize()}, {result['frames']} frames of "
           f"224x224, {result['threads']} threads, from pictures to logits:")
    yield ""
    yield ("| kernels, precision | ms a clip, all threads on it | clips/s, a clip a thread, together | "
           "time / that of its matrix products alone: `at::linear`, oneDNN | PyTorch eager takes, in CPU "
           "time | error |")
    yield "|---|---|---|---|---|---|"
    for name, one in result["variants"].items():
        path, precision = name.split()
        ratios = one["ratios"]
        yield (f"| `{path}`, {precision} | {one['latency_ms']['best']:.0f} | "
               f"{one['clips_per_s']:.1f} | {ratios['gemms_latency']['best']:.2f}, "
               f"{ratios['packed_gemms_latency']['best']:.2f} | "
               f"{ratios['eager_cpu']['best']:.1f} times ours | {one['errors']['rel_l2']:.0e} |")
    for path in result["lacking"]:
        yield f"| `{path}` | the machine lacks it | | | | |"
    yield ""
    yield ("The products alone are in fp32, oneDNN's with weights laid out beforehand (less than 1: the "
           "whole pass is faster than PyTorch's products). Eager is our own PyTorch code with a "
           "chunked scan. The error is of logits against fp64, rel L2, the worst of the stored "
           "reference models.")
    yield ""
    yield source(result)
    yield ""
    yield f"![What a clip's milliseconds are spent on, beside PyTorch]({PICTURE})"


def gpu(result):
    """`result`: a report of bench/gpu_report.py."""
    speeds = {name: {speed["batch"]: speed["clips_per_s"] for speed in step["speed"]}
              for name, step in result["steps"].items() if name.startswith("speed_")}
    batches = sorted({batch for speed in speeds.values() for batch in speed})
    yield (f"On one {result['machine']['gpu']['name']}, bf16, from pictures in host memory to logits, "
           "clips a second of each batch:")
    yield ""
    yield ("| model, frames |" + "".join(f" {batch} |" for batch in batches)
           + " PyTorch eager, its best batch | as a CUDA graph |")
    yield "|---|" + "---|" * (len(batches) + 2)
    for name, speed in sorted(speeds.items(), key=lambda one: place(one[0])):
        _, model, frames = name.split("_")
        peers = [peer_rate(result["steps"], model, frames, peer) for peer in ("eager", "graph")]
        cells = [f"{speed[batch]:.0f}" if batch in speed else "-" for batch in batches] + peers
        yield f"| {model.capitalize()}, {frames} |" + "".join(f" {cell} |" for cell in cells)
    for line in result["not_done"] + result["wrong"]:
        yield f"- not in order: {line}"
    yield ""
    yield source(result)


def place(step):
    """Of speed_MODEL_FRAMES in the table."""
    _, model, frames = step.split("_")
    return ("tiny", "small", "middle").index(model), int(frames)


def peer_rate(steps, model, frames, peer):
    """Clips a second; the peers run clips of 8 frames."""
    found = steps.get(f"peer_{model}", {}).get("speed", []) if frames == "8" else []
    rates = [one["batch"] / min(one[f"{peer}_s"]) for one in found]
    return f"{max(rates):.0f}" if rates else "-"


def decode(result):
    ours = result["decoders"]["scanline"]
    return (f"{result['what']}: {ours['best_cpu_s']:.2f}, "
            f"{ours['ratio_to_torchcodec']:.2f} of torchcodec's")


def detect(result):
    return f"{result['what']}: {result['times_real_time']:.1f} times real time"


def search(result):
    found = result["search"]
    return (f"exact search in {result['rows']:,} vectors of {result['dim']}: "
            f"{found['query_p50_ms']:.0f} ms, {found['query_to_bound']:.2f} of the time that reading "
            "them from memory takes")


def service(result):
    engine = sorted(result["service_clips_per_s"])[len(result["service_clips_per_s"]) // 2]
    return (f"{result['what']}: {engine:.1f} clips a second, {result['median_ratio']:.2f} of the "
            f"engine's (`{result['kernel']}`, {result['precision']})")


def text(result):
    layers = max(result["layers"], key=int)
    speed = result["layers"][layers]["texts_per_second"]["scanline"]
    times = result["layers"][layers]["scanline_times_as_fast_as"]["padded_longest"]
    return (f"texts by BERT-base's width, {layers} layers, 16 at once: {speed['16']:.0f} a second, "
            f"{times['16']:.1f} times PyTorch eager")


OTHERS = {"decode": decode, "detect": detect, "search": search, "service": service,
          "text": text}


def source(result):
    """Where a figure comes from."""
    machine = result["machine"]
    load = result.get("load_average_1_min_at_start", machine.get("load_average"))
    return (f"`{result['command']}`: {machine['cores']} cores of {machine['cpu']}"
            + (f", load {load} at the start" if load is not None else "")
            + f", {result['date'][:10]}, commit {result['commit'][:8]}"
            + (" with changes" if result.get("changed_since_commit") else ""))


def lines(results):
    """`results`: of each bench, by its name."""
    if "engine" in results:
        yield from engine(results["engine"])
        yield ""
    if "gpu" in results:
        yield from gpu(results["gpu"])
    else:
        yield "GPU figures are not measured yet."
    yield ""
    for name, result in results.items():
        if name not in ("engine", "gpu"):
            say = OTHERS.get(name, lambda other: other["what"])
            yield f"- {say(result)} ({source(result)})"


def kept(folder=ROOT / "bench/results"):
    return {path.stem: json.loads(path.read_text(encoding="utf-8"))
            for path in sorted(folder.glob("*.json"))}


def made():
    return "\n".join(lines(kept())).strip() + "\n"


def picture():
    return engine_picture.drawn(kept()["engine"])


def replaced(readme, table):
    """The README with `table` between the markers, which have to be there once each."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in after:
        sys.exit(f"readme_table.py: README.md lacks one {BEGIN} and one {END} behind it")
    return f"{before}{BEGIN}\n{table}{END}{after}"


def main():
    if sys.argv[1:] not in ([], ["--write"]):
        sys.exit(__doc__)
    table = made()
    if not sys.argv[1:]:
        print(table, end="")
        return
    readme = ROOT / "README.md"
    readme.write_text(replaced(readme.read_text(encoding="utf-8"), table), encoding="utf-8")
    (ROOT / PICTURE).write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main()
