#include "base/string_pool.h"

#include <xxhash.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>

namespace headroom {
namespace {

constexpr std::size_t kFirstBlockBytes = 4096;
constexpr std::size_t kLargestBlockBytes = std::size_t{1} << 20;
constexpr std::size_t kFirstSlots = 256;

std::uint32_t HashOf(std::string_view text) {
  return static_cast<std::uint32_t>(XXH3_64bits(text.data(), text.size()));
}

}  // namespace

StringPool::StringPool() : slots_(kFirstSlots) { Intern({}); }

std::size_t StringPool::Probe(std::string_view text, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash & mask;; slot = (slot + 1) & mask) {
    const std::uint32_t ref = slots_[slot];
    if (ref == 0) return slot;
    const Entry& entry = entries_[ref - 1];
    if (entry.hash == hash && entry.view() == text) return slot;
  }
}

StringId StringPool::Intern(std::string_view text) {
  text = text.substr(0, std::numeric_limits<std::uint32_t>::max());
  const std::uint32_t hash = HashOf(text);
  std::size_t slot = Probe(text, hash);
  if (slots_[slot] != 0) return StringId(slots_[slot] - 1);
  if ((entries_.size() + 1) * 10 > slots_.size() * 7) {
    Grow();
    slot = Probe(text, hash);
  }
  assert(entries_.size() < StringId::kNoneValue);
  entries_.push_back({Store(text), static_cast<std::uint32_t>(text.size()), hash});
  slots_[slot] = static_cast<std::uint32_t>(entries_.size());
  return StringId(entries_.size() - 1);
}

StringId StringPool::Find(std::string_view text) const {
  text = text.substr(0, std::numeric_limits<std::uint32_t>::max());
  const std::uint32_t ref = slots_[Probe(text, HashOf(text))];
  return ref == 0 ? StringId::None() : StringId(ref - 1);
}

const char* StringPool::Store(std::string_view text) {
  if (block_size_ - block_used_ < text.size()) {
    // Block sizes double, so that a small trace does not pay for a large one.
    block_size_ =
        std::max(text.size(), std::clamp(block_size_ * 2, kFirstBlockBytes, kLargestBlockBytes));
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(block_size_));
    block_used_ = 0;
    text_bytes_ += block_size_;
  }
  if (text.empty()) return "";
  char* to = blocks_.back().get() + block_used_;
  std::memcpy(to, text.data(), text.size());
  block_used_ += text.size();
  return to;
}

void StringPool::Grow() {
  std::vector<std::uint32_t> old(slots_.size() * 2);
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    std::size_t slot = entries_[i].hash & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<std::uint32_t>(i + 1);
  }
}

std::size_t StringPool::MemoryBytes() const {
  return text_bytes_ + entries_.capacity() * sizeof(Entry) +
         slots_.capacity() * sizeof(std::uint32_t);
}

}  // namespace headroom
