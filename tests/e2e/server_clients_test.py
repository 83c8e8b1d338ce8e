"""grpcurl and plain Python grpcio work against the server as they are, without our client."""

import base64
import json
import subprocess

import grpc
import pytest
from google.protobuf import descriptor_pool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase)

from server_process import CLIPS, classify_request, details, pb, running, tool


@pytest.fixture(scope="module")
def server():
    with running("--workers", "1") as started:
        yield started


def grpcurl(server, method, request=None):
    call = [tool("grpcurl"), "-plaintext"]
    if request is not None:
        call += ["-d", "@"]
    done = subprocess.run([*call, server.address, *method.split()], text=True, check=False,
                          input=json.dumps(request) if request is not None else None,
                          capture_output=True, timeout=30)
    return done


def test_grpcurl_lists_describes_and_calls_by_reflection(server):
    listed = grpcurl(server, "list")
    assert listed.returncode == 0, listed.stderr
    assert set(listed.stdout.split()) >= {"scanline.v1.VideoService", "scanline.v1.ModelService",
                                          "grpc.health.v1.Health"}
    described = grpcurl(server, "describe scanline.v1.VideoService")
    assert "rpc AnalyzeClip" in described.stdout, described.stderr

    health = grpcurl(server, "grpc.health.v1.Health/Check", {})
    assert json.loads(health.stdout) == {"status": "SERVING"}, health.stderr

    clip = base64.b64encode((CLIPS / "m00_pan_left.mp4").read_bytes()).decode()
    answer = grpcurl(server, "scanline.v1.VideoService/AnalyzeClip",
                     {"spec": {"tasks": ["TASK_CLASSIFY"]}, "content": clip})
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["result"]["classes"][0]["label"] == "pan_left"

    texts = grpcurl(server, "scanline.v1.VideoService/EmbedText", {"texts": ["pans left", "zebra up"]})
    assert texts.returncode == 0, texts.stderr
    found = json.loads(texts.stdout)
    assert [len(embedding["values"]) for embedding in found["embeddings"]] == [64, 64]
    assert [warning["reason"] for warning in found["warnings"]] == ["UNKNOWN_TERMS"]

    refused = grpcurl(server, "scanline.v1.VideoService/AnalyzeClip",
                      {"spec": {"tasks": ["TASK_CLASSIFY"]}, "content": "AAAA"})
    assert refused.returncode != 0
    assert "InvalidArgument" in refused.stderr
    assert '"reason":"VIDEO_UNREADABLE"' in refused.stderr


def test_python_classifies_asks_for_models_and_reads_error_details(server):
    clip = (CLIPS / "m00_zoom_in.mp4").read_bytes()
    result = server.video.AnalyzeClip(classify_request(clip, top_k=3), timeout=30).result
    assert result.model == "models/tagger24@1.0.0"
    assert [score.label for score in result.classes][0] == "zoom_in"
    assert len(result.classes) == 3
    assert result.sampling.codec == "h264"

    listed = server.models.ListModels(pb.ListModelsRequest(), timeout=10)
    assert [model.name for model in listed.models] == ["models/tagger24"]
    got = server.models.GetModel(pb.GetModelRequest(name="models/tagger24@1.0.0"), timeout=10)
    assert got.model.license and len(got.model.labels) == 24
    assert got.limits.max_inline_bytes == 16 << 20

    request = classify_request(clip)
    request.spec.sampling.frame_count = 8
    with pytest.raises(grpc.RpcError) as caught:
        server.video.AnalyzeClip(request, timeout=10)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    found = details(caught.value)
    assert found["ErrorInfo"].reason == "FIELD_INVALID"
    assert found["ErrorInfo"].domain == "scanline"
    assert found["ErrorInfo"].metadata["found"] == "8"
    assert found["BadRequest"].field_violations[0].field == "spec.sampling.frame_count"

    with pytest.raises(grpc.RpcError) as caught:
        server.models.GetModel(pb.GetModelRequest(name="models/none"), timeout=10)
    assert details(caught.value)["ResourceInfo"].resource_name == "models/none"


def test_the_standard_health_client_checks_and_watches(server):
    stub = health_pb2_grpc.HealthStub(server.channel)
    for name in ("", "liveness", "startup", "scanline.v1.VideoService"):
        status = stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=10).status
        assert status == health_pb2.HealthCheckResponse.SERVING, name
    with pytest.raises(grpc.RpcError) as caught:
        stub.Check(health_pb2.HealthCheckRequest(service="nobody"), timeout=10)
    assert caught.value.code() == grpc.StatusCode.NOT_FOUND
    watch = stub.Watch(health_pb2.HealthCheckRequest(service="nobody"), timeout=10)
    assert next(watch).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
    watch.cancel()


def test_reflection_gives_a_program_the_whole_contract(server):
    pool = descriptor_pool.DescriptorPool(ProtoReflectionDescriptorDatabase(server.channel))
    service = pool.FindServiceByName("scanline.v1.VideoService")
    assert {m.name for m in service.methods} == {"AnalyzeClip", "UploadClip", "StreamAnalyze",
                                                 "EmbedText"}
    assert "match_text" in pool.FindMessageTypeByName("scanline.v1.AnalysisSpec").fields_by_name


def test_pings_every_ten_seconds_without_calls_are_welcome(server):
    """Faster here than 10 s would be refused; the setting is looked at, not waited for."""
    channel = grpc.insecure_channel(server.address, options=[
        ("grpc.keepalive_time_ms", 10_000), ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0)])
    health = health_pb2_grpc.HealthStub(channel)
    assert health.Check(health_pb2.HealthCheckRequest(), timeout=10).status == 1
    channel.close()
