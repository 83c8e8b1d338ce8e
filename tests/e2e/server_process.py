"""Starts the real server and talks to it as any Python program would: stubs made by grpc_tools."""

import contextlib
import importlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import grpc
import grpc_tools.protoc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

SOURCE = pathlib.Path(os.environ.get("SCANLINE_SOURCE_DIR",
                                     pathlib.Path(__file__).resolve().parents[2]))
BIN = pathlib.Path(os.environ.get("SCANLINE_BIN_DIR", SOURCE / "build/release/bin"))
MODEL = SOURCE / "assets/models/tagger24"
CLIPS = pathlib.Path(os.environ.get("SCANLINE_MODEL_CLIPS_DIR", MODEL / "clips"))


def tool(name):
    """A program of the tests' Python environment, or of PATH."""
    beside = pathlib.Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    assert found, f"{name} is missing: run ./dev setup"
    return found


def _stubs():
    folder = tempfile.mkdtemp(prefix="scanline_stubs_")
    well_known = pathlib.Path(grpc_tools.__file__).parent / "_proto"
    code = grpc_tools.protoc.main([
        "protoc", f"-I{SOURCE / 'proto'}", f"-I{well_known}", f"--python_out={folder}",
        f"--grpc_python_out={folder}", str(SOURCE / "proto/scanline/v1/video_service.proto")])
    assert code == 0, "protoc failed"
    sys.path.insert(0, folder)
    modules = (importlib.import_module("scanline.v1.video_service_pb2"),
               importlib.import_module("scanline.v1.video_service_pb2_grpc"))
    shutil.rmtree(folder)
    return modules


pb, pb_grpc = _stubs()


class Server:
    """A running server; `channel` is connected to it."""

    def __init__(self, process, grpc_port, ops_port, log_path):
        self.process = process
        self.address = f"127.0.0.1:{grpc_port}"
        self.ops = f"http://127.0.0.1:{ops_port}"
        self.log_path = log_path
        self.channel = grpc.insecure_channel(
            self.address, options=[("grpc.max_send_message_length", 64 << 20)])
        self.video = pb_grpc.VideoServiceStub(self.channel)
        self.models = pb_grpc.ModelServiceStub(self.channel)

    def log(self):
        return self.log_path.read_text()

    def get(self, path):
        """(HTTP status, body) of a page of the operations port."""
        try:
            with urllib.request.urlopen(self.ops + path, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metric(self, line_start):
        """The value of the sample whose line starts so; 0 where there is none."""
        for line in self.get("/metrics")[1].splitlines():
            if line.startswith(line_start):
                return float(line.rsplit(" ", 1)[1])
        return 0.0

    def stop(self, number=signal.SIGTERM, timeout=20):
        self.process.send_signal(number)
        return self.process.wait(timeout)


@contextlib.contextmanager
def running(*flags):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        ports = folder / "ports"
        log_path = folder / "log"
        with open(log_path, "wb") as log:
            process = subprocess.Popen(
                [str(BIN / "scanline-server"), "--listen", "127.0.0.1:0", "--ops-listen",
                 "127.0.0.1:0", "--port-file", str(ports), "--lame-duck", "0", *flags],
                stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 30
            while not ports.exists():
                assert process.poll() is None, log_path.read_text()
                assert time.monotonic() < deadline, "not ready after 30 s: " + log_path.read_text()
                time.sleep(0.01)
            server = Server(process, *ports.read_text().split(), log_path)
            yield server
            server.channel.close()
            if process.poll() is None:
                assert server.stop() == 0, server.log()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


def classify_request(content, **classify):
    request = pb.AnalyzeClipRequest(content=content)
    request.spec.tasks.append(pb.TASK_CLASSIFY)
    for name, value in classify.items():
        setattr(request.spec.classify, name, value)
    return request


def details(error):
    """{message name: message} of the details that came with a grpc.RpcError."""
    kinds = {kind.DESCRIPTOR.full_name: kind
             for kind in (error_details_pb2.ErrorInfo, error_details_pb2.BadRequest,
                          error_details_pb2.RetryInfo, error_details_pb2.ResourceInfo,
                          error_details_pb2.PreconditionFailure)}
    found = {}
    for packed in rpc_status.from_call(error).details:
        message = kinds[packed.TypeName()]()
        packed.Unpack(message)
        found[message.DESCRIPTOR.name] = message
    return found


def _expected():
    for place in (CLIPS, CLIPS.parent, SOURCE / "tests/data/tagger24"):
        if (place / "expected.json").exists():
            break
    return json.loads((place / "expected.json").read_text())


def expected_texts():
    """Texts, known and unknown, and what the same implementation says of them."""
    texts = _expected()["texts"]
    assert texts, "no texts in expected.json"
    return texts


def expected_clips():
    """The clips of the set and what a plain PyTorch implementation says of them."""
    expected = _expected()
    clips = [clip for clip in expected["clips"] if (CLIPS / clip["file"]).exists()]
    assert clips, f"no clips in {CLIPS}"
    assert len(clips) == len(expected["clips"]), f"clips are missing in {CLIPS}"
    return expected["summary"], clips


def ready_seconds(server):
    return float(re.search(r"seconds=([0-9.]+)", server.log()).group(1))
