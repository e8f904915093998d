// Maps ids of interned texts to the texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/ids.h"

namespace headroom::perfetto {

/// Maps ids, which writers count from 1 up, to texts.
class InternTable {
 public:
  /// Sets the text of an id. Returns false if the id had another text before, which the new one
  /// replaces.
  bool Set(std::uint64_t iid, StringId text) {
    StringId& slot = Slot(iid);
    const bool agrees = !slot.valid() || slot == text;
    slot = text;
    return agrees;
  }

  /// Returns none if the id was never set.
  StringId Find(std::uint64_t iid) const {
    if (iid < dense_.size()) return dense_[static_cast<std::size_t>(iid)];
    const auto found = sparse_.find(iid);
    return found == sparse_.end() ? StringId::None() : found->second;
  }

  void Clear() { *this = {}; }

 private:
  StringId& Slot(std::uint64_t iid) {
    // Uses the dense table only for dense ids, so that a large id in a file cannot demand memory.
    if (iid >= dense_.size() && iid < 2 * dense_.size() + 64)
      dense_.resize(static_cast<std::size_t>(iid) + 1);
    return iid < dense_.size() ? dense_[static_cast<std::size_t>(iid)] : sparse_[iid];
  }

  std::vector<StringId> dense_;
  std::map<std::uint64_t, StringId> sparse_;
};

}  // namespace headroom::perfetto
