// What the names of NVTX ranges tell: operators of PyTorch, and steps of a training loop.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "store/tables.h"

namespace headroom::nsight {

/// A range that PyTorch wrote of an operator ("aten::mm, seq = 12, op_id = 5, sizes = [[8, 4], [4,
/// 2]]"). Views into the name of the range.
struct OperatorRange {
  std::string_view name;
  std::int64_t sequence = kUnknown;
  std::int64_t id = kUnknown;
  std::string_view sizes;  ///< Nested lists of integers, as JSON; empty where there are none.
};
std::optional<OperatorRange> ParseOperatorRange(std::string_view name);

/// Words for a step, best first: who writes both steps and batches means the steps.
enum class StepWord : std::uint8_t { kStep, kIteration, kBatch };
inline constexpr int kStepWords = 3;
/// Of a range with a number, "train step 12", "iter_12" and the like; nothing for other names.
std::optional<StepWord> NumberedStep(std::string_view name);

/// The name of a CUDA function without the version of its interface: "cudaLaunchKernel_v7000" and
/// "cudaLaunchKernel_ptsz_v7000" are cudaLaunchKernel. The driver's own _v2 belongs to the name.
std::string_view FunctionName(std::string_view name);

}  // namespace headroom::nsight
