#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace scanline::testing {

// A folder of one test's own, which goes with it.
class Scratch {
 public:
  Scratch() {
    std::string pattern = ::testing::TempDir() + "/scanline-XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~Scratch() { std::filesystem::remove_all(root_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string Path(const std::string& name) const { return root_ + "/" + name; }
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
    return Path(name);
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(Path(name), std::ios::binary);
    EXPECT_TRUE(file) << name;
    return std::string((std::istreambuf_iterator<char>(file)), {});
  }
  bool Has(const std::string& name) const { return std::filesystem::exists(Path(name)); }

 private:
  std::string root_;
};

inline int CountLines(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace scanline::testing
