// Caches the parsed texts of kernels.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "ingest/names/xla_names.h"

namespace headroom::xplane {

/// Caches kernel details. Launches of one kernel refer to one text ("regs:32 grid:80,1,1 ..."), so
/// its address is the key. Keeps a bounded number of entries.
class KernelDetailsCache {
 public:
  /// Returns details that stay valid until the next call.
  const xla::KernelDetails& Of(std::string_view text) {
    const auto place = reinterpret_cast<std::uintptr_t>(text.data());
    Slot& slot = slots_[(place ^ place >> 8) % slots_.size()];
    if (slot.text.data() != text.data() || slot.text.size() != text.size())
      slot = {text, xla::ParseKernelDetails(text)};
    return slot.details;
  }
  /// Call it before the memory of the texts is released.
  void Forget() { slots_ = {}; }

 private:
  struct Slot {
    std::string_view text;
    xla::KernelDetails details;
  };
  std::array<Slot, 1024> slots_;
};

}  // namespace headroom::xplane
