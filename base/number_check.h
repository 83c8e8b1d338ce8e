#pragma once

#include <functional>
#include <string>

namespace scanline {

// How a flag's words are judged: "" where they are good, else what was expected and found. What
// CLI11 takes as a check.
using WordCheck = std::function<std::string(const std::string&)>;

// Words that are a number from `least` (itself included only if `with_least`) to `most`. NaN, which
// no comparison refuses, and the infinities are none. `what` names such a number in the complaint.
WordCheck NumberCheck(std::string what, double least, bool with_least, double most);

// The same, both ends included, for a number of `unit`: "expected seconds from 0 to 60, found nan".
WordCheck RangeCheck(const std::string& unit, double least, double most);

}  // namespace scanline
