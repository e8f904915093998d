// The sections of the report: values of `--only`, and targets of check commands.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace headroom {

/// Sections, in the order of the report.
enum class Section {
  kHealth,
  kBottleneck,
  kSteps,
  kBreakdown,
  kLoop,
  kRun,
  kRanks,
  kGpu,
  kIdle,
  kFindings,
  kKernels,
  kOperators,
  kLayers,
  kLines,
  kStacks,
  kRegions,
  kCallbacks,
  kClasses,
  kSyncs,
  kEfficiency,
  kMetrics,
  kMemory,
};

inline constexpr std::array<std::string_view, 22> kSectionNames = {
    "health",    "bottleneck", "steps",   "breakdown",  "loop",    "run",   "ranks",  "gpu",
    "idle",      "findings",   "kernels", "operators",  "layers",  "lines", "stacks", "regions",
    "callbacks", "classes",    "syncs",   "efficiency", "metrics", "memory"};

inline std::string_view NameOf(Section section) {
  return kSectionNames[static_cast<std::size_t>(section)];
}

inline std::optional<Section> SectionNamed(std::string_view name) {
  for (std::size_t i = 0; i < kSectionNames.size(); ++i) {
    if (kSectionNames[i] == name) return static_cast<Section>(i);
  }
  return std::nullopt;
}

}  // namespace headroom
