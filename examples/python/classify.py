#!/usr/bin/env python3
"""Labels for clips, with nothing but grpcio: classify.py HOST:PORT CLIP...

Needs `pip install grpcio grpcio-tools grpcio-status`. The stubs are made from the contract at each
start; a program of yours would make them once:
  python3 -m grpc_tools.protoc -I proto --python_out=. --grpc_python_out=. \
      scanline/v1/video_service.proto
"""

import pathlib
import sys

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto"
sys.path.insert(0, str(PROTO))
pb, rpc = grpc.protos_and_services("scanline/v1/video_service.proto")

# A clip may be larger than gRPC's own limit of 4 MiB a message; the server says how large.
OPTIONS = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]


def reason_of(error):
    """The stable UPPER_SNAKE_CASE reason to branch on, or "" where there is none."""
    status = rpc_status.from_call(error)
    for detail in status.details if status else []:
        info = error_details_pb2.ErrorInfo()
        if detail.Unpack(info):
            return info.reason
    return ""


def classify(videos, path):
    """Prints the three likeliest labels of one clip. False if it was refused."""
    request = pb.AnalyzeClipRequest(
        content=pathlib.Path(path).read_bytes(),
        spec=pb.AnalysisSpec(tasks=[pb.TASK_CLASSIFY], classify=pb.ClassifyOptions(top_k=3)),
    )
    try:
        result = videos.AnalyzeClip(request, timeout=60).result
    except grpc.RpcError as error:
        print(f"{path}: {error.code().name} {reason_of(error)}: {error.details()}", file=sys.stderr)
        return False
    for entry in result.classes:
        print(f"{path}\t{entry.label}\t{entry.score:.3f}")
    return True


def main(address, *paths):
    with grpc.insecure_channel(address, options=OPTIONS) as channel:
        videos = rpc.VideoServiceStub(channel)
        return 0 if all([classify(videos, path) for path in paths]) else 1


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
