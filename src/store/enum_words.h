// Words for the tables' enumerators, as SQL, tables and files of other tools show them.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "store/tables.h"

namespace headroom {

// Each list is in the order of the enumerators.
inline constexpr std::array<std::string_view, 8> kHostEventKindWords = {
    "python_frame", "annotation", "operator",       "runtime_call",
    "driver_call",  "overhead",   "gpu_annotation", "other"};
inline constexpr std::array<std::string_view, 3> kGpuTaskKindWords = {"kernel", "memcpy", "memset"};
/// The word for kNotACopy is empty.
inline constexpr std::array<std::string_view, 6> kCopyKindWords = {
    "", "host_to_device", "device_to_host", "device_to_device", "peer", "other"};
inline constexpr std::array<std::string_view, 5> kSyncKindWords = {"context", "stream", "event",
                                                                   "stream_wait_event", "other"};
inline constexpr std::array<std::string_view, 3> kFlowPhaseWords = {"start", "step", "finish"};

constexpr const auto& WordsOf(HostEventKind) { return kHostEventKindWords; }
constexpr const auto& WordsOf(GpuTaskKind) { return kGpuTaskKindWords; }
constexpr const auto& WordsOf(CopyKind) { return kCopyKindWords; }
constexpr const auto& WordsOf(SyncKind) { return kSyncKindWords; }
constexpr const auto& WordsOf(FlowPhase) { return kFlowPhaseWords; }

template <typename Enum>
constexpr std::string_view WordOf(Enum value) {
  return WordsOf(value)[static_cast<std::size_t>(value)];
}

/// Finds the enumerator of a word. Returns false and leaves `out` unchanged for an unknown word.
template <typename Enum>
constexpr bool FromWord(std::string_view word, Enum& out) {
  const auto& words = WordsOf(out);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != word) continue;
    out = static_cast<Enum>(i);
    return true;
  }
  return false;
}

}  // namespace headroom
