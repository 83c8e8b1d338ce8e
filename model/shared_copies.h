#pragma once

#include <map>
#include <memory>

#include "base/mutex.h"

namespace scanline {

// What is made of a bundle's weights (packed, rounded) and held by as many workers as there are,
// once: the value of a key lives as long as anyone holds it.
template <typename Key, typename Value>
class SharedCopies {
 public:
  // `make()` returns std::shared_ptr<const Value>, and may throw.
  template <typename Make>
  std::shared_ptr<const Value> Get(const Key& key, const Make& make) {
    const MutexLock lock(mutex_);
    for (auto at = alive_.begin(); at != alive_.end();) {
      at = at->second.expired() ? alive_.erase(at) : std::next(at);
    }
    const auto known = alive_.find(key);
    if (known != alive_.end()) {
      if (auto value = known->second.lock()) return value;
    }
    std::shared_ptr<const Value> value = make();
    alive_[key] = value;
    return value;
  }

 private:
  Mutex mutex_;
  std::map<Key, std::weak_ptr<const Value>> alive_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace scanline
