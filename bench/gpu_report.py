#!/usr/bin/env python3
"""One report of what bench/gpu_day.sh left in a folder.

Usage: gpu_report.py FOLDER COMMIT_FILE
Writes FOLDER/report.json and prints a summary; exits with 1 when a step failed, an answer is wrong,
or an answer depends on its batch.
"""

import json
import pathlib
import subprocess
import sys


def steps(folder):
    """What each step printed, by its name; the last line that is JSON."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        if path.name == "report.json":
            continue
        lines = [line for line in path.read_text().splitlines() if line.startswith("{")]
        if lines:
            found[path.stem] = json.loads(lines[-1])
    return found


def machine():
    query = "name,driver_version,clocks.max.sm,memory.total"
    run = subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"],
                         capture_output=True, text=True, check=False)
    return run.stdout.strip() or "nvidia-smi said nothing"


def faults(found):
    """What is wrong in the figures themselves."""
    wrong = []
    if not found.get("errors", {}).get("errors"):
        wrong.append("no vector was checked")
    for error in found.get("errors", {}).get("errors", []):
        if not error["good"]:
            wrong.append(f"{error['model']} {error['precision']}: rel L2 {error['rel_l2']:.2g}, "
                         f"cosine {error['cosine']:.5f}")
    for name, step in found.items():
        for speed in step.get("speed", []):
            if not speed.get("same_bits", True):
                wrong.append(f"{name}: a batch of {speed['batch']} changes the bits")
    return wrong


def main():
    folder = pathlib.Path(sys.argv[1])
    found = steps(folder)
    failures = folder / "failures"
    failed = failures.read_text().splitlines() if failures.exists() else []
    report = {"machine": machine(), "commit": pathlib.Path(sys.argv[2]).read_text().strip(),
              "not_done": failed, "wrong": faults(found), "steps": found}
    (folder / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    for name, step in found.items():
        for speed in step.get("speed", []):
            rates = ({"": speed["clips_per_s"]} if "clips_per_s" in speed else
                     {f" {peer}": speed["batch"] / min(speed[f"{peer}_s"])
                      for peer in ("eager", "graph")})
            for peer, rate in rates.items():
                print(f"{name + peer:<18} batch {speed['batch']:>2}  {rate:>9.1f} clips/s")
        for kernel in step.get("kernels", []):
            print(f"{name:<18} {kernel['kernel']:<9} {kernel['us']:>9.1f} us  bandwidth "
                  f"{kernel['bandwidth_share']:.2f}  MUFU {kernel.get('mufu_share', 0):.2f}")
    for line in report["not_done"] + report["wrong"]:
        print(line)
    print(f"{folder}/report.json")
    return 1 if report["wrong"] or failed else 0


if __name__ == "__main__":
    sys.exit(main())
