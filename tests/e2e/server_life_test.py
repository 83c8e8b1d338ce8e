"""Start, settings, operations pages, and the end of the real process."""

import concurrent.futures
import contextlib
import os
import pty
import re
import signal
import socket
import subprocess
import threading
import time

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from server_process import BIN, CLIPS, MODEL, classify_request, pb, ready_seconds, running

CLIP = (CLIPS / "m00_pan_left.mp4").read_bytes()


def run(*flags, env=None):
    return subprocess.run([str(BIN / "scanline-server"), *flags], text=True, timeout=20,
                          capture_output=True, check=False, env={**os.environ, **(env or {})})


def test_help_version_and_usage_errors():
    shown = run("--help")
    assert shown.returncode == 0 and shown.stdout.count("\n") <= 25
    assert re.fullmatch(r"scanline-server \d+\.\d+\.\d+\n", run("--version").stdout)
    wrong = run("--lisen", "127.0.0.1:0")
    assert wrong.returncode == 2
    assert "did you mean --listen?" in wrong.stderr
    assert wrong.stdout == ""


def test_settings_errors_exit_with_2_and_say_why(tmp_path):
    for flags, sentence in [(("--workers", "-1"), "workers"),
                            (("--config", str(tmp_path / "none.toml")), "none.toml"),
                            (("--lame-duck", "nan"), "lame-duck"),
                            (("--kernel", "foo"), "kernel foo is not known; expected auto or"),
                            (("--precision", "fp8"), "expected auto, fp32 or bf16"),
                            (("--kernel", "avx2", "--precision", "bf16"), "bf16"),
                            (("--device", "tpu"), "device tpu"),
                            (("--device", "cuda:99"), "device cuda:99"),
                            (("--device", "cpu,cpu"), "each once, found cpu,cpu"),
                            (("--device", "cpu,"), 'found \\"cpu,\\"'),
                            (("--model", str(MODEL), "--model", str(MODEL)),
                             "two models are called models/tagger24@1.0.0"),
                            (("--upload-dir", str(tmp_path / "none")), "--upload-dir, found"),
                            (("--person-detector", str(tmp_path)), "person detector in"),
                            (("--model", str(tmp_path)), "config.json")]:
        done = run(*flags)
        assert done.returncode == 2, done.stderr
        assert sentence in done.stderr


def test_print_config_names_origins():
    done = run("--print-config", "--workers", "3", env={"SCANLINE_THREADS": "2"})
    assert done.returncode == 0
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert "# flag" in lines["workers"] and " 3 " in lines["workers"]
    assert "# environment SCANLINE_THREADS" in lines["threads"]
    assert "# default" in lines["listen"]


def test_a_taken_port_exits_with_1_and_names_it():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = "127.0.0.1:%d" % taken.getsockname()[1]
        for flag, other in (("--listen", "--ops-listen"), ("--ops-listen", "--listen")):
            done = run(flag, address, other, "127.0.0.1:0")
            assert done.returncode == 1, done.stderr
            assert address in done.stderr
            assert done.stderr.count("\n") == 1, "one line, nothing of gRPC's own"


def test_on_a_terminal_it_says_where_and_how_to_stop():
    """The first Ctrl-C begins the lame duck's minute, the second ends it."""
    ours, theirs = pty.openpty()
    server = subprocess.Popen(
        [str(BIN / "scanline-server"), "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0",
         "--workers", "1", "--lame-duck", "60"], stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    try:
        seen = b""
        for wanted in (rb"gRPC on 127\.0\.0\.1:[1-9]\d*, .*http://127\.0\.0\.1:[1-9]\d*; Ctrl-C stops",
                       rb"a second signal stops at once", rb"second signal: stopping now"):
            while not re.search(wanted, seen):
                seen += os.read(ours, 65536)  # Fails when the server has ended.
            if server.poll() is None:
                server.send_signal(signal.SIGINT)
        assert server.wait(timeout=10) == 1
    finally:
        server.kill()
        server.wait()
        os.close(ours)


def test_operations_pages_and_figures():
    with running("--workers", "1") as server:
        assert ready_seconds(server) < 3, "G8: to SERVING in at most 3 s"
        for page in ("/livez", "/readyz", "/startupz"):
            assert server.get(page) == (200, "ok\n"), page
        assert server.get("/etc/passwd")[0] == 404
        assert server.get("/../../etc/passwd")[0] == 404
        assert server.get("/")[0] == 404
        for _ in range(3):
            server.video.AnalyzeClip(classify_request(CLIP), timeout=30)
        with pytest.raises(grpc.RpcError):
            server.video.AnalyzeClip(classify_request(b"no video"), timeout=30)
        ok = 'scanline_requests_total{model="models/tagger24@1.0.0",outcome="ok"'
        assert server.metric(ok) == 3
        assert server.metric('scanline_rejected_total{reason="VIDEO_UNREADABLE"}') == 1
        assert server.metric('scanline_frames_decoded_total{codec="h264"}') >= 48
        assert server.metric("scanline_inflight_requests") == 0
        assert server.metric("scanline_inflight_bytes") == 0
        assert server.metric("scanline_ready") == 1
        assert server.metric("process_resident_memory_bytes") > 1e6
        assert handled(server, "AnalyzeClip") == {"OK": 3, "InvalidArgument": 1}


def test_what_passes_run_on_is_said_and_threads_change_no_bit():
    logits = []
    for threads in ("1", "2", "3"):
        with running("--threads", threads, "--device", "cpu", "--kernel", "scalar",
                     "--workers", "1") as server:
            assert f"device=cpu kernel=scalar precision=fp32 threads={threads}" in server.log()
            model = server.models.GetModel(pb.GetModelRequest(), timeout=10).model
            assert (model.device, model.kernel, model.precision) == ("cpu", "scalar", "fp32")
            assert server.metric('scanline_engine_info{device="cpu",kernel="scalar",'
                                 'model="models/tagger24@1.0.0",precision="fp32",'
                                 f'threads="{threads}"}}') == 1
            assert server.metric("scanline_workers ") == 1
            answer = server.video.AnalyzeClip(
                classify_request(CLIP, include_logits=True, top_k=100), timeout=50)
            logits.append({c.class_index: c.logit for c in answer.result.classes})
    assert logits[0] and logits[0] == logits[1] == logits[2]


def test_connections_that_send_no_request_delay_no_probe():
    """Half a request, or none: from a prober that hangs, or from someone who means harm."""
    with running("--workers", "1") as server, contextlib.ExitStack() as idle:
        port = int(server.ops.rsplit(":", 1)[1])
        for number in range(32):
            connection = idle.enter_context(socket.create_connection(("127.0.0.1", port)))
            if number % 2 == 0:
                connection.sendall(b"GET /metrics HT")
        for page in ("/livez", "/readyz"):
            begin = time.monotonic()
            assert server.get(page) == (200, "ok\n")
            assert time.monotonic() - begin < 2, page


def handled(server, method):
    """Codes of the calls of a method that are over, and how many ended with each."""
    lines = [line for line in server.get("/metrics")[1].splitlines()
             if line.startswith("grpc_server_handled_total") and f'"{method}"' in line]
    return {re.search(r'grpc_code="(\w+)"', line).group(1): float(line.rsplit(" ", 1)[1])
            for line in lines}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_loses_nothing_and_exits_with_0(number):
    """Callers go on through the lame-duck wait; every call that was let in is answered."""
    with running("--workers", "1", "--lame-duck", "0.5") as server:
        stopping = threading.Event()

        def call(_):
            answered = 0
            while not stopping.is_set():
                server.video.AnalyzeClip(classify_request(CLIP), timeout=30)
                answered += 1
            return answered

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            counts = pool.map(call, range(4))
            time.sleep(0.3)
            server.process.send_signal(number)
            time.sleep(0.3)
            health = health_pb2_grpc.HealthStub(server.channel)
            status = health.Check(health_pb2.HealthCheckRequest(), timeout=10).status
            assert status == health_pb2.HealthCheckResponse.NOT_SERVING
            assert server.get("/readyz")[0] == 503
            assert server.get("/livez")[0] == 200
            assert server.metric("scanline_draining") == 1
            stopping.set()
            assert sum(counts) > 0
        assert server.process.wait(10) == 0
        assert "stopped" in server.log()


def test_open_watches_and_streams_do_not_hold_up_a_stop():
    with running() as server:
        health = health_pb2_grpc.HealthStub(server.channel)
        watch = health.Watch(health_pb2.HealthCheckRequest())
        assert next(watch).status == health_pb2.HealthCheckResponse.SERVING
        begin = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - begin < 3


def test_the_log_says_how_many_workers_and_warns_of_what_is_slow():
    cores = len(os.sched_getaffinity(0))
    for flags, workers, warning in (
            ((), cores, None), (("--threads", str(cores)), 1, None),
            (("--workers", str(cores + 1)), cores + 1, "--workers times --threads is too much"),
            (("--kernel", "scalar", "--workers", "1"), 1, "run on kernel scalar")):
        with running("--lame-duck", "0", *flags) as server:
            assert server.metric("scanline_workers ") == workers
            server.stop()
            log = server.log()
            assert f" workers={workers} seconds=" in log, log
            warnings = [line for line in log.splitlines() if '"level":"warning"' in line]
            assert len(warnings) == (warning is not None), log
            assert warning is None or warning in warnings[0], log


def test_a_second_signal_stops_at_once():
    with running("--lame-duck", "60") as server:
        server.process.send_signal(signal.SIGTERM)
        while "stopping" not in server.log():
            time.sleep(0.01)
        begin = time.monotonic()
        assert server.stop() != 0
        assert time.monotonic() - begin < 2
        assert "second signal" in server.log()


def test_abandoned_calls_leave_nothing_behind():
    """G6: callers that go away at random moments; afterwards nothing is in flight."""
    with running("--workers", "1", "--decode-threads", "1") as server:
        calls = []
        for i in range(300):
            calls.append(server.video.AnalyzeClip.future(classify_request(CLIP),
                                                         timeout=0.002 * (i % 40) + 0.001))
            if i % 3 == 0:
                calls[i // 2].cancel()
        for call in calls:
            try:
                call.result()
            except (grpc.RpcError, grpc.FutureCancelledError):
                pass
        deadline = time.monotonic() + 10
        while server.metric("scanline_inflight_requests") != 0:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert server.metric("scanline_inflight_bytes") == 0
        result = server.video.AnalyzeClip(classify_request(CLIP), timeout=30).result
        assert result.classes[0].label == "pan_left"


def test_two_models_are_told_apart(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for file in MODEL.iterdir():
        if file.is_file():
            (other / file.name).write_bytes(file.read_bytes())
    text = (other / "config.json").read_text()
    changed = re.sub(r'"name":\s*"[^"]*"', '"name": "other"', text, count=1)
    assert changed != text
    (other / "config.json").write_text(changed)
    with running("--model", str(MODEL), "--model", str(other)) as server:
        for asked, resolved in [("", "models/tagger24@1.0.0"), ("models/other", "models/other@1.0.0"),
                                ("models/tagger24", "models/tagger24@1.0.0")]:
            request = classify_request(CLIP)
            request.spec.model = asked
            assert server.video.AnalyzeClip(request, timeout=30).result.model == resolved
