#include "client/index/plan.h"

#include <map>
#include <optional>
#include <set>
#include <unordered_map>

namespace scanline {
namespace {

enum class Fate {
  kStays,
  kFree,  // its bytes are not at its path any more; another path may take its rows over
};

class Planner {
 public:
  Planner(const std::vector<IndexedFile>& indexed, const std::vector<FileStamp>& found,
          const PlanQuestions& ask)
      : indexed_(indexed), found_(found), ask_(ask), kept_(indexed), fate_(indexed.size()) {}

  IndexPlan Make(bool prune) {
    for (size_t i = 0; i < indexed_.size(); ++i) place_of_[indexed_[i].stamp.path] = i;
    std::vector<size_t> fresh;
    std::set<size_t> seen;  // of indexed_
    for (size_t f = 0; f < found_.size(); ++f) {
      const auto place = place_of_.find(found_[f].path);
      if (place != place_of_.end()) seen.insert(place->second);
      if (place == place_of_.end() || !IsSame(place->second, f)) fresh.push_back(f);
    }
    std::set<size_t> gone;
    for (size_t i = 0; i < indexed_.size(); ++i) {
      if (seen.count(i) > 0 || ask_.exists(indexed_[i].stamp.path)) continue;
      gone.insert(i);
      fate_[i] = Fate::kFree;
    }
    PlaceFresh(fresh);
    for (size_t i = 0; i < indexed_.size(); ++i) Settle(i, gone.count(i) > 0, prune);
    return std::move(plan_);
  }

 private:
  // Whether indexed file `i` is what was found at its path. What is not, is free.
  bool IsSame(size_t i, size_t f) {
    const FileStamp& now = found_[f];
    const bool untouched = indexed_[i].stamp == now;
    if (untouched || (indexed_[i].stamp.bytes == now.bytes && ShaOf(f) == indexed_[i].sha256)) {
      kept_[i].stamp = now;
      ++plan_.unchanged;
      return true;
    }
    fate_[i] = Fate::kFree;
    return false;
  }

  const std::string& ShaOf(size_t f) {
    const auto [known, is_new] = sha256_.try_emplace(f);
    if (is_new) known->second = ask_.sha256(found_[f].path);
    return known->second;
  }

  // Files whose bytes the index may not have: sent, unless they turn out to be others' bytes.
  void PlaceFresh(const std::vector<size_t>& fresh) {
    std::map<uint64_t, int> of_length;
    std::unordered_map<std::string, size_t> of_sha;
    for (size_t i = 0; i < indexed_.size(); ++i) {
      ++of_length[indexed_[i].stamp.bytes];
      of_sha[indexed_[i].sha256] = i;
    }
    for (const size_t f : fresh) ++of_length[found_[f].bytes];
    std::map<std::string, size_t> sent;
    for (const size_t f : fresh) {
      const std::string sha = of_length[found_[f].bytes] > 1 ? ShaOf(f) : "";
      const auto had = of_sha.find(sha);
      if (!sha.empty() && had != of_sha.end()) {
        TakeOver(had->second, f);
      } else if (!sha.empty() && sent.count(sha) > 0) {
        plan_.duplicates.emplace_back(f, found_[sent[sha]].path);
      } else {
        plan_.send.push_back(f);
        plan_.changed += place_of_.count(found_[f].path) > 0 ? 1 : 0;
        if (!sha.empty()) sent[sha] = f;
      }
    }
  }

  void TakeOver(size_t i, size_t f) {
    if (fate_[i] == Fate::kStays) {
      plan_.duplicates.emplace_back(f, kept_[i].stamp.path);
      return;
    }
    fate_[i] = Fate::kStays;
    kept_[i].stamp = found_[f];
    ++plan_.moved;
  }

  void Settle(size_t i, bool gone, bool prune) {
    const bool free = fate_[i] == Fate::kFree;
    if (free && gone && !prune) plan_.missing.push_back(indexed_[i].stamp.path);
    const bool stays = !free || (gone && !prune);
    if (free && gone && prune) ++plan_.pruned;
    plan_.rewrite = plan_.rewrite || !stays || !(kept_[i] == indexed_[i]);
    if (stays) plan_.kept.push_back(kept_[i]);
  }

  const std::vector<IndexedFile>& indexed_;
  const std::vector<FileStamp>& found_;
  const PlanQuestions& ask_;
  std::vector<IndexedFile> kept_;  // as indexed_, with the stamps of now
  std::vector<Fate> fate_;
  std::unordered_map<std::string, size_t> place_of_;
  std::unordered_map<size_t, std::string> sha256_;
  IndexPlan plan_;
};

}  // namespace

IndexPlan PlanIndex(const std::vector<IndexedFile>& indexed, const std::vector<FileStamp>& found,
                    bool prune, const PlanQuestions& ask) {
  return Planner(indexed, found, ask).Make(prune);
}

}  // namespace scanline
