"""The edge check passes what docs/design.md allows and fails, by name, what it forbids."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).parents[2] / "cmake" / "check_edges.py"

ALLOWED = {
    "base/error.h": ['"absl/status/status.h"', "<string>", "<sys/mman.h>"],
    "base/log.cc": ['"base/log.h"', "<spdlog/spdlog.h>"],
    "decode/reader.cc": ['"base/clip.h"', "<libavformat/avformat.h>", "<nlohmann/json.hpp>"],
    "model/ops.cc": ['"model/kernels/scan.h"', "<torch/torch.h>"],
    "model/config.cc": ['"model/strict_json.h"', "<nlohmann/json.hpp>"],
    "model/checkpoint/plan.cc": ['"model/tensor_spec.h"', "<zip.h>"],
    "model/kernels/scan.cc": ['"model/kernels/scan.h"', "<immintrin.h>"],
    "model/cuda/gemm.cc": ["<cuda_runtime.h>"],
    "server/service.cc": ['"decode/reader.h"', '"model/predictor.h"', "<grpcpp/grpcpp.h>",
                          '"scanline/v1/video_service.grpc.pb.h"'],
    "server/metrics.cc": ["<prometheus/registry.h>"],
    "client/client_error.cc": ['"base/error.h"', '"google/rpc/status.pb.h"'],
    "client/cli/probe.cc": ['"decode/reader.h"', '"client/client.h"'],
    "client/render/sheet.cc": ["<libavfilter/avfilter.h>"],
    "tests/decode/reader_test.cc": ['"decode/reader.h"', '"tests/support/npy.h"',
                                    "<gtest/gtest.h>"],
    "tests/e2e/server_test.cc": ['"client/client.h"', "<grpcpp/grpcpp.h>"],
}

FORBIDDEN = [
    ("base/error.h", "<nlohmann/json.hpp>"),
    ("base/error.h", '"decode/reader.h"'),
    ("decode/reader.cc", '"model/predictor.h"'),
    ("decode/reader.cc", "<torch/torch.h>"),
    ("decode/reader.cc", '"google/rpc/status.pb.h"'),
    ("model/predictor.cc", '"decode/reader.h"'),
    ("model/predictor.cc", "<libavutil/frame.h>"),
    ("model/predictor.cc", "<grpcpp/grpcpp.h>"),
    ("model/kernels/scan.cc", "<ATen/ATen.h>"),
    ("model/kernels/scan.cc", '"base/check.h"'),
    ("model/kernels/scan.cc", '"absl/types/span.h"'),
    ("model/checkpoint/reader.cc", "<torch/torch.h>"),
    ("model/checkpoint/reader.cc", '"model/bundle.h"'),
    ("model/safetensors.cc", "<torch/torch.h>"),
    ("model/config.cc", '"model/weights.h"'),
    ("client/cli/probe.cc", '"model/bundle.h"'),
    ("server/service.cc", "<libavformat/avformat.h>"),
    ("server/service.cc", "<torch/torch.h>"),
    ("server/service.cc", "<prometheus/counter.h>"),
    ("server/service.cc", '"client/client.h"'),
    ("client/client.cc", '"decode/reader.h"'),
    ("client/client_error.cc", '"decode/reader.h"'),
    ("client/cli/probe.cc", '"server/config.h"'),
    ("client/cli/probe.cc", "<libavformat/avformat.h>"),
    ("tests/decode/reader_test.cc", '"model/predictor.h"'),
    ("decode/reader.cc", '"../model/predictor.h"'),
]


class CheckEdges(unittest.TestCase):
    def setUp(self):
        self.tree = tempfile.TemporaryDirectory()
        self.addCleanup(self.tree.cleanup)
        self.root = pathlib.Path(self.tree.name)
        for path, names in ALLOWED.items():
            self.write(path, names)

    def write(self, path, names):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"#include {name}\n" for name in names))

    def run_check(self):
        return subprocess.run([sys.executable, CHECK, self.root], capture_output=True, text=True,
                              check=False)

    def test_allowed_edges_pass(self):
        result = self.run_check()
        self.assertEqual(result.stderr, "")
        self.assertEqual(result.returncode, 0)
        self.assertIn(f"{len(ALLOWED)} files, 0 forbidden", result.stdout)

    def test_each_forbidden_include_fails_by_name(self):
        for path, name in FORBIDDEN:
            with self.subTest(path=path, name=name):
                self.write(path, [name])
                result = self.run_check()
                self.assertEqual(result.returncode, 1)
                self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
                self.assertIn(f"{path}: includes {name[1:-1]}: ", result.stderr)
                self.write(path, ALLOWED.get(path, []))

    def test_torch_and_protobuf_may_not_meet_through_a_project_header(self):
        self.write("model/predictor.h", ["<torch/torch.h>"])
        result = self.run_check()
        self.assertEqual(result.returncode, 1)
        self.assertIn("server/service.cc: Torch and protobuf headers meet", result.stderr)

    def test_a_file_without_a_rule_fails(self):
        self.write("tests/misc/odd.cc", ["<string>"])
        result = self.run_check()
        self.assertEqual(result.returncode, 1)
        self.assertIn("tests/misc/odd.cc: includes string: no rule", result.stderr)

    def test_an_empty_tree_fails(self):
        with tempfile.TemporaryDirectory() as empty:
            self.root = pathlib.Path(empty)
            self.assertEqual(self.run_check().returncode, 1)


if __name__ == "__main__":
    unittest.main()
