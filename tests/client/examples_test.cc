// examples/ as a user runs them. `python3` and `grpcurl` are the tests' own
// (tests/requirements.txt);
// ./dev test puts them on the path.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/client/real_server.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"

namespace scanline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::ProcessResult;
using testing::RealServer;

const std::string kExamples = SCANLINE_SOURCE_DIR "/examples";
const std::string kClip = SCANLINE_SOURCE_DIR "/assets/models/tagger24/clips/m00_zoom_in.mp4";

TEST(Examples, PlainPythonGetsLabelsAndTypedErrors) {
  const RealServer server;
  ASSERT_TRUE(server.ready());
  const std::string no_video = kExamples + "/README.md";
  const ProcessResult result =
      testing::RunProcess({"/usr/bin/env", "python3", kExamples + "/python/classify.py",
                           server.host_port(), kClip, no_video});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr(kClip + "\tzoom_in\t0."));
  EXPECT_THAT(result.err, HasSubstr(no_video + ": INVALID_ARGUMENT VIDEO_UNREADABLE: "));
}

TEST(Examples, GrpcurlGetsLabelsThroughReflection) {
  const RealServer server;
  ASSERT_TRUE(server.ready());
  const ProcessResult result =
      testing::RunProcess({kExamples + "/grpcurl.sh", server.host_port(), kClip});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("\"label\": \"zoom_in\""), HasSubstr("\"frame_indices\"")));
}

// The databases' own clients are not installed for the tests (examples/README.md says what the
// loaders were run with): here is what all three read, on what the real verbs write.
TEST(Examples, WhatTheVectorDatabaseLoadersReadIsWhatExportAndEmbedWrite) {
  const RealServer server;
  ASSERT_TRUE(server.ready());
  const testing::TempFolder scratch;
  const auto scanline = [&](std::vector<std::string> words, const std::string& out) {
    words.insert(words.begin(), SCANLINE_BIN_DIR "/scanline");
    const ProcessResult result = testing::RunProcess(
        words, {.env = {"SCANLINE_SERVER=" + server.host_port()}, .out_file = out});
    EXPECT_EQ(result.exit_code, 0) << result.err;
  };
  const std::string index = (scratch / "idx"), moments = scratch.Write("moments.jsonl", "");
  const std::string query = scratch.Write("query.ndjson", "");
  scanline({"index", kClip, "-o", index}, scratch.Write("said", ""));
  scanline({"export", index, "--to", "jsonl"}, moments);
  scanline({"embed", "--text", "the camera zooms in", "--format", "ndjson"}, query);
  const std::string program =
      "import py_compile, sys\n"
      "sys.path.insert(0, sys.argv[1])\n"
      "for name in ('qdrant', 'milvus', 'pgvector'):\n"
      "    py_compile.compile(f'{sys.argv[1]}/load_{name}.py', cfile=sys.argv[4], doraise=True)\n"
      "import exported\n"
      "m = exported.first(sys.argv[2])\n"
      "assert [n for b in exported.moments(sys.argv[2]) for n in b] == [m]\n"
      "q = exported.text_vector(sys.argv[3])\n"
      "dot = sum(a * b for a, b in zip(m['vector'], q, strict=True))\n"
      "exported.show([(dot, m['path'], m['start_s'], m['end_s'])])\n"
      "print(len(m['id']), len(m['sha256']))\n";
  const ProcessResult read =
      testing::RunProcess({"/usr/bin/env", "python3", "-B", "-c", program, kExamples + "/vector-db",
                           moments, query, (scratch / "x.pyc")});
  ASSERT_EQ(read.exit_code, 0) << read.err;
  // The similarity of the card's own implementation for this clip and text.
  EXPECT_THAT(read.out,
              AllOf(HasSubstr("0.8059\t"), HasSubstr("m00_zoom_in.mp4\t0.00-2.00 s\tmpv "),
                    HasSubstr("\n34 64\n")));
}

}  // namespace
}  // namespace scanline
