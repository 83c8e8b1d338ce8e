#include "client/cli/did_you_mean.h"

#include <gtest/gtest.h>

namespace scanline::cli {
namespace {

TEST(EditDistance, CountsEditsAndSwaps) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("calssify", "classify"), 1);  // One swap.
}

TEST(Nearest, FindsWhatWasMeant) {
  const std::vector<std::string> verbs = {"classify", "models", "health"};
  EXPECT_EQ(Nearest("clasify", verbs), "classify");
  EXPECT_EQ(Nearest("model", verbs), "models");
  EXPECT_EQ(Nearest("class", verbs), "classify");  // A beginning.
  EXPECT_EQ(Nearest("transcode", verbs), "");
}

TEST(DidYouMean, IsSilentWhereNothingIsNear) {
  EXPECT_EQ(DidYouMean("--tpo-k", {"--top-k", "--jobs"}), "; did you mean --top-k?");
  EXPECT_EQ(DidYouMean("--zebra", {"--top-k", "--jobs"}), "");
}

}  // namespace
}  // namespace scanline::cli
