"""Runs every command that README.md shows, in order, against a server started as it says.

Blocks marked `bash` and `python` become one bash script, so that exports carry over, and run in a
scratch folder that looks like the checkout. `./dev serve` is started on free ports, which replace
the default ones. `./dev demo` has its own test beside this one. Blocks marked `text` are output.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
OWN_TEST = {"./dev demo"}
SERVE = "./dev serve"
BLOCK = re.compile(r"^```(bash|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(readme):
    """The README's blocks as one script, without what is started or tested elsewhere."""
    lines, seen = [], set()
    for language, body in BLOCK.findall(readme):
        if language == "python":
            lines += ["python3 - <<'PYTHON'", body.rstrip("\n"), "PYTHON"]
            continue
        for line in body.splitlines():
            command = line.split("#")[0].strip()
            if command in OWN_TEST | {SERVE}:
                seen.add(command)
            else:
                lines.append(line)
    missing = (OWN_TEST | {SERVE}) - seen
    if missing or len(lines) < 5:
        sys.exit(f"README.md does not show {', '.join(sorted(missing)) or 'enough commands'}")
    return "\n".join(lines) + "\n"


def start_server(scratch):
    """Starts `./dev serve` on free ports; returns the process and the ports of gRPC and HTTP."""
    ports = scratch / "ports"
    log = open(scratch / "server.log", "w", encoding="utf-8")
    server = subprocess.Popen(
        [*SERVE.split(), "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--lame-duck",
         "0", "--port-file", ports], cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
    for _ in range(300):
        lines = ports.read_text().split() if ports.exists() else []
        if len(lines) == 2 or server.poll() is not None:
            break
        time.sleep(0.1)
    else:
        lines = []
    if len(lines) != 2:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
        sys.exit("./dev serve did not start:\n" + (scratch / "server.log").read_text())
    return server, lines[0], lines[1]


def main():
    script = commands((ROOT / "README.md").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        for entry in ROOT.iterdir():
            if entry.name == "out":  # what a reader wrote there
                continue
            (scratch / entry.name).symlink_to(entry)
        server, grpc_port, http_port = start_server(scratch)
        address = f"127.0.0.1:{grpc_port}"
        script = script.replace("127.0.0.1:50051", address)
        script = script.replace("127.0.0.1:9090", f"127.0.0.1:{http_port}")
        try:
            environment = os.environ | {"SCANLINE_SERVER": address}
            result = subprocess.run(["bash", "-euxo", "pipefail", "-c", script], cwd=scratch,
                                    env=environment, stdin=subprocess.DEVNULL, timeout=45)
        finally:
            server.send_signal(signal.SIGTERM)
            status = server.wait(timeout=10)
        if status != 0:
            sys.exit(f"the server ended with {status} on SIGTERM; expected 0")
        sys.exit(result.returncode)


if __name__ == "__main__":
    main()
