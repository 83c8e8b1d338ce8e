#!/usr/bin/env python3
"""One report of what bench/gpu_day.sh left in a folder.

Usage: gpu_report.py FOLDER COMMIT_FILE
Writes FOLDER/report.json, which bench/readme_table.py reads as bench/results/gpu.json, and prints a
summary; exits with 1 when a step failed or was left out, an answer is wrong, or an answer depends on
its batch.
"""

import datetime
import json
import math
import pathlib
import subprocess
import sys

from common import machine

FOUND_BY_SANITIZER = "9"  # the --error-exitcode of gpu_day.sh
OUT_OF_TIME = ("124", "137")
LINES_OF_FAILED = 60
# Of logits from pictures beside those of the CPU in fp32: as the bench judges the vectors.
MOST_REL_L2 = 1e-5
LEAST_COSINE = 0.9995


def steps_of(folder):
    """What each step printed, by its name: the last line that is whole JSON."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        if path.name in ("report.json", "probe.json"):
            continue
        for line in reversed(path.read_text(errors="replace").splitlines()):
            try:
                found[path.stem] = json.loads(line)
                break
            except ValueError:
                continue
    return found


def exits_of(folder):
    """(step, exit code or why it was not begun) in the order of gpu_day.sh."""
    path = folder / "exits.tsv"
    lines = path.read_text().splitlines() if path.exists() else []
    return [tuple(line.split("\t", 1)) for line in lines]


def not_done(exits):
    """Steps without an answer, and why."""
    for name, code in exits:
        if not code.isdigit():
            yield f"{name}: {code}"
        elif code in OUT_OF_TIME:
            yield f"{name}: ran out of its time"
        elif code != "0" and not found_errors(name, code):
            yield f"{name}: exit code {code}"


def found_errors(name, code):
    return name.startswith("sanitizer_") and code == FOUND_BY_SANITIZER


def faults(steps, exits):
    """What is wrong in the figures themselves."""
    wrong = [f"{name}: errors, see its output" for name, code in exits if found_errors(name, code)]
    checked = 0
    for name, step in steps.items():
        for error in step.get("errors", []):
            checked += 1
            if not error["good"]:
                wrong.append(f"{name} {error['model']}: rel L2 {shown(error['rel_l2'], '.2g')}, cosine "
                             f"{shown(error['cosine'], '.6f')}, top class "
                             f"{'the same' if error['same_top1'] else 'another'}")
        for speed in step.get("speed", []):
            if not speed.get("same_bits", True):
                wrong.append(f"{name}: a batch of {speed['batch']} changes the bits")
    if not checked:
        wrong.append("no vector was checked")
    return wrong + wrong_pictures(steps)


def wrong_pictures(steps):
    """Logits from the same pictures and weights, on the GPU and on the CPU in fp32."""
    want = steps.get("pictures_cpu", {}).get("logits")
    wrong = []
    for precision in ("fp32", "bf16"):
        got = steps.get(f"pictures_{precision}", {}).get("logits")
        if not want or not got:
            continue
        rel_l2, cosine = distances(got, want)
        # Not a number is never good.
        good = rel_l2 <= MOST_REL_L2 if precision == "fp32" else cosine >= LEAST_COSINE
        if not good:
            wrong.append(f"from pictures, {precision}: rel L2 {rel_l2:.2g}, cosine {cosine:.6f} beside "
                         "the CPU's")
    return wrong


def distances(got, want):
    got = [math.nan if value is None else value for value in got]
    dot = lambda a, b: sum(x * y for x, y in zip(a, b, strict=True))
    difference = [x - y for x, y in zip(got, want, strict=True)]
    squares = dot(want, want)
    own = dot(got, got)
    return (math.sqrt(dot(difference, difference) / squares),
            dot(got, want) / math.sqrt(own * squares) if own else math.nan)


def shown(value, form):
    """JSON has null for what is not a number."""
    return "-" if value is None else format(value, form)


def gpu(steps):
    """What nvidia-smi and the bench say of it."""
    query = "name,driver_version,clocks.max.sm,memory.total"
    try:
        run = subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"],
                             capture_output=True, text=True, check=False, timeout=30)
        said = run.stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        said = ""
    chips = [step["chip"] for step in steps.values() if "chip" in step]
    return {"nvidia_smi": said or None, **(chips[0] if chips else {})}


def outputs_of_failed(folder, exits):
    """The last lines of both streams, since the report may be all that leaves the machine."""
    outputs = {}
    for name, code in exits:
        if code == "0":
            continue
        for ending in ("json", "log"):
            path = folder / f"{name}.{ending}"
            lines = path.read_text(errors="replace").splitlines() if path.exists() else []
            if lines:
                outputs[path.name] = [line[:400] for line in lines[-LINES_OF_FAILED:]]
    return outputs


def report_of(folder, commit):
    """`commit`: the lines of the file that gpu_day.sh packs."""
    steps, exits = steps_of(folder), exits_of(folder)
    wrong = faults(steps, exits)
    for step in steps.values():
        step.pop("logits", None)
    return {
        "what": "forward passes on a GPU, from uint8 pictures in host memory to class logits there, "
                "made weights",
        "command": "bench/gpu_day.sh run",
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit[0], "changed_since_commit": "changed" in commit[1:],
        "machine": machine() | {"gpu": gpu(steps)},
        "not_done": list(not_done(exits)), "wrong": wrong, "steps": steps,
        "failed_output": outputs_of_failed(folder, exits),
    }


def rates_of(speed):
    """Clips a second; of the bench, or of its peers by name."""
    if "clips_per_s" in speed:
        return {"": speed["clips_per_s"]}
    return {f" {peer}": speed["batch"] / min(speed[f"{peer}_s"]) for peer in ("eager", "graph")}


def summary(report):
    for name, step in report["steps"].items():
        for speed in step.get("speed", []):
            for peer, rate in rates_of(speed).items():
                yield f"{name + peer:<22} batch {speed['batch']:>2}  {rate:>9.1f} clips/s"
        for kernel in step.get("kernels", []):
            yield (f"{name:<22} {kernel['kernel']:<9} {kernel['us']:>9.1f} us  bandwidth "
                   f"{shown(kernel.get('bandwidth_share'), '.2f')}  MUFU "
                   f"{shown(kernel.get('mufu_share'), '.2f')}")
    for line in report["not_done"]:
        yield f"NOT DONE {line}"
    for line in report["wrong"]:
        yield f"WRONG {line}"


def main():
    folder = pathlib.Path(sys.argv[1])
    report = report_of(folder, pathlib.Path(sys.argv[2]).read_text().splitlines())
    (folder / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    for line in summary(report):
        print(line)
    print(f"{folder}/report.json")
    return 1 if report["wrong"] or report["not_done"] else 0


if __name__ == "__main__":
    sys.exit(main())
