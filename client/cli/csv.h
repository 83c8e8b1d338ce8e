#pragma once

#include <string>
#include <vector>

namespace scanline::cli {

// One record of RFC 4180, with its line end (a plain newline, as other tools of a pipe expect).
std::string CsvLine(const std::vector<std::string>& fields);

// A number with as many digits as tell it from its neighbours, up to six.
std::string CsvNumber(double value);

}  // namespace scanline::cli
