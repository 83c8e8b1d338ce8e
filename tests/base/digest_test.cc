#include "base/digest.h"

#include <gtest/gtest.h>

#include "absl/strings/escaping.h"

namespace scanline {
namespace {

std::string HexOf(const std::vector<std::string>& pieces) {
  Digest digest;
  for (const std::string& piece : pieces) digest.Add(piece);
  return absl::BytesToHexString(digest.Finish());
}

// FIPS 180-4's examples.
TEST(Digest, GivesTheStandardsDigests) {
  EXPECT_EQ(HexOf({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HexOf({"abc"}), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HexOf({std::string(1'000'000, 'a')}),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Digest, DoesNotDependOnHowTheBytesAreCut) {
  EXPECT_EQ(HexOf({"a", "", "bc"}), HexOf({"abc"}));
}

}  // namespace
}  // namespace scanline
