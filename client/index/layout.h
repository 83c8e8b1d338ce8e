#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/index/index_info.h"

// The files of an index folder, and how they change so that they are one index at every moment.
//
// index.json is the commit record: its `count` first rows of embeddings.npy and lines of
// items.jsonl are the index, whatever follows them is not. Rows that come are written behind these
// first, index.json last.
//
// Where rows go or move, whole new files are written as NAME.next; replace.json then commits them
// at once: while it is there it stands for index.json, and NAME.next, where there is one, for NAME.
// The writer goes on to give them their names, after a crash the next one does.
namespace scanline::index_layout {

inline constexpr char kInfo[] = "index.json";
inline constexpr char kReplace[] = "replace.json";
inline constexpr char kRows[] = "embeddings.npy";
inline constexpr char kItems[] = "items.jsonl";
inline constexpr char kSkipped[] = "skipped.ndjson";
inline constexpr char kLock[] = ".lock";
inline constexpr char kNext[] = ".next";

std::string PathOf(const std::string& folder, const char* name);

struct State {
  IndexInfo info;
  bool replacing = false;  // replace.json is there

  bool operator==(const State&) const = default;
};

// NOT_FOUND: the folder holds no index. INVALID_ARGUMENT: one that cannot be read.
absl::StatusOr<State> ReadState(const std::string& folder);

}  // namespace scanline::index_layout
