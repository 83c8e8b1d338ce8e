#include "client/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scanline {
namespace {

using ::testing::HasSubstr;

TEST(ParseServerAddress, TakesNamesAndBothKindsOfAddresses) {
  const auto name = ParseServerAddress("gpu-box:50051", "--server");
  ASSERT_TRUE(name.ok()) << name.status();
  EXPECT_EQ(name->host, "gpu-box");
  EXPECT_EQ(name->port, 50051);
  EXPECT_EQ(name->origin, "--server");
  EXPECT_EQ(ParseServerAddress("10.0.0.7:1", "")->host_port(), "10.0.0.7:1");
  const auto ipv6 = ParseServerAddress("[::1]:65535", "");
  ASSERT_TRUE(ipv6.ok()) << ipv6.status();
  EXPECT_EQ(ipv6->host, "::1");
  EXPECT_EQ(ipv6->host_port(), "[::1]:65535");
}

TEST(ParseServerAddress, SaysWhatIsWrong) {
  const auto message = [](const char* text) {
    const auto parsed = ParseServerAddress(text, "SCANLINE_SERVER");
    return parsed.ok() ? "accepted" : std::string(parsed.status().message());
  };
  EXPECT_THAT(message("http://x:1"), HasSubstr("leave out the scheme"));
  EXPECT_THAT(message("gpu-box"), HasSubstr("the port is missing"));
  EXPECT_THAT(message("[::1]"), HasSubstr("the port is missing"));
  EXPECT_THAT(message("::1"), HasSubstr("goes in brackets"));
  EXPECT_THAT(message(":50051"), HasSubstr("the host is missing"));
  EXPECT_THAT(message("x:0"), HasSubstr("from 1 to 65535"));
  EXPECT_THAT(message("x:65536"), HasSubstr("from 1 to 65535"));
  EXPECT_THAT(message("x:1/ui"), HasSubstr("from 1 to 65535"));
  EXPECT_THAT(message("a b:1"), HasSubstr("not a name or an address"));
  EXPECT_THAT(message("gpu-box"), HasSubstr("\"gpu-box\" (SCANLINE_SERVER)"));
}

}  // namespace
}  // namespace scanline
