// Reads the names of a program's ranges (NVTX, ROCTx): operators of PyTorch, and steps of a
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

/// A range that PyTorch wrote for an operator ("aten::mm, seq = 12, op_id = 5, sizes = [[8, 4], [4,
/// 2]]"). Views into the name of the range.
struct OperatorRange {
  std::string_view name;
  std::int64_t sequence = kUnknown;
  std::int64_t id = kUnknown;
  std::string_view sizes;  ///< Nested lists of integers, as JSON; empty if there are none.
};
std::optional<OperatorRange> ParseOperatorRange(std::string_view name);

/// Returns true if PyTorch itself names a range like this. Other ranges without a category are
/// operators or user ranges, which are indistinguishable.
inline bool IsRangeOfPyTorch(std::string_view name) {
  return name.starts_with("ProfilerStep#") || name.starts_with("Optimizer.") ||
         name.starts_with("enumerate(DataLoader)#");
}

/// Words for a step, best first: in a program with both steps and batches, the steps count.
enum class StepWord : std::uint8_t { kStep, kIteration, kBatch };
inline constexpr int kStepWords = 3;
/// Returns the word of a range with a number ("train step 12", "iter_12", ...); nullopt for other
/// names.
std::optional<StepWord> NumberedStep(std::string_view name);

/// Finds steps in the names of all ranges of a trace. Numbered ranges are the steps of a loop if
/// PyTorch's profiler did not mark any.
class NamedRanges {
 public:
  /// Sets the name of a range's row and, for an operator, its columns. Records a range that is not
  /// an operator as a step candidate.
  void Describe(TraceStore& store, std::size_t event, std::string_view name);
  /// Records the range of this host event as a step candidate.
  void Note(std::size_t event, std::string_view name);
  /// Selects the best word with at least two numbered ranges, and gives these ranges the category
  /// of steps. Call it before the store is frozen.
  void Mark(TraceStore& store) const;

 private:
  std::array<std::vector<std::size_t>, kStepWords> numbered_;  ///< Indexed by word.
  bool has_profiler_steps_ = false;
};

}  // namespace headroom
