// What the names of a program's ranges (NVTX, ROCTx) tell: operators of PyTorch, and steps of a
// training loop.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "store/trace_store.h"

namespace headroom {

/// A range that PyTorch wrote of an operator ("aten::mm, seq = 12, op_id = 5, sizes = [[8, 4], [4,
/// 2]]"). Views into the name of the range.
struct OperatorRange {
  std::string_view name;
  std::int64_t sequence = kUnknown;
  std::int64_t id = kUnknown;
  std::string_view sizes;  ///< Nested lists of integers, as JSON; empty where there are none.
};
std::optional<OperatorRange> ParseOperatorRange(std::string_view name);

/// Whether PyTorch itself names a range like this. All others without a category are operators or
/// the user's ranges, which nothing tells apart.
inline bool IsRangeOfPyTorch(std::string_view name) {
  return name.starts_with("ProfilerStep#") || name.starts_with("Optimizer.") ||
         name.starts_with("enumerate(DataLoader)#");
}

/// Words for a step, best first: who writes both steps and batches means the steps.
enum class StepWord : std::uint8_t { kStep, kIteration, kBatch };
inline constexpr int kStepWords = 3;
/// Of a range with a number, "train step 12", "iter_12" and the like; nothing for other names.
std::optional<StepWord> NumberedStep(std::string_view name);

/// What the names of all ranges of a trace tell together: those that are numbered are the steps of
/// a loop, where PyTorch's profiler did not mark them.
class NamedRanges {
 public:
  /// Gives the row of a range what its name tells: its name, and of an operator its columns. A
  /// range that is none is noted.
  void Describe(TraceStore& store, std::size_t event, std::string_view name);
  /// A range that is this host event of a store.
  void Note(std::size_t event, std::string_view name);
  /// Gives the ranges of the best word that numbers at least two of them the category of steps.
  /// Before the store is frozen.
  void Mark(TraceStore& store) const;

 private:
  std::array<std::vector<std::size_t>, kStepWords> numbered_;  ///< By word.
  bool has_profiler_steps_ = false;
};

}  // namespace headroom
