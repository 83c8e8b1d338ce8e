#pragma once

namespace scanline {

inline constexpr char kVersion[] = SCANLINE_VERSION;  // project(VERSION) of CMakeLists.txt

}  // namespace scanline
