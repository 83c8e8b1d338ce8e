"""What the benchmarks of this folder share: running what is measured, where a result comes from, and
keeping it."""

import argparse
import datetime
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
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
        said = [line for line in done.stderr.strip().splitlines() if not line.startswith("Run with --help")]
        return {"error": said[-1][:200] if said else f"exit code {done.returncode}"}
    return json.loads(done.stdout)


def start(body):
    """A program's main: a signal ends it in few words, and what it measures with it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        body()
    except KeyboardInterrupt:
        show("")
        sys.exit(128 + signal.SIGINT)


def at_least_one(text):
    """The type of a count."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, found {text!r}")
    return int(text)


def result_file(text):
    """The type of --json: what cannot be written is told before minutes of measuring."""
    path = pathlib.Path(text)
    try:
        if path.is_dir():
            raise IsADirectoryError("it is a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            return path
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot write {text}: {error}") from error


def keep(result, path):
    """Writes the result to the file of --json, whole or not at all; None: nowhere."""
    if path:
        text = json.dumps(result, indent=1) + "\n"
        part = path.with_name(f".{path.name}.{os.getpid()}")
        part.write_text(text, encoding="utf-8")
        part.replace(path)


def output_of(*command):
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    return done.stdout.strip()


def machine():
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    cpu = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")),
               platform.machine())
    return {"cpu": cpu, "cores": os.cpu_count(), "system": platform.platform()}


def origin(command, *folders):
    """Of a result: the command that makes it again, when and of what it was made. Changes count that are
    in `folders`, or anywhere where none is given."""
    within = ["--", *folders, "CMakeLists.txt", "cmake"] if folders else []
    changes = output_of("git", "status", "--porcelain", "--untracked-files=no", *within)
    return {
        "command": command,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": output_of("git", "rev-parse", "HEAD") or None,
        "changed_since_commit": bool(changes), "machine": machine(),
    }
