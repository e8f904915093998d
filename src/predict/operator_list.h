// The operators and shapes of a step, without a trace or a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "kernels/kernel_work.h"

namespace headroom {

/// Type in which autocast runs an operator.
enum class AutocastType : std::uint8_t {
  kInput,    ///< Type of its inputs.
  kHalf,     ///< 16 bits.
  kFloat32,  ///< float32.
};

enum class StepPhase : std::uint8_t { kForward, kBackward, kAccumulate, kUpdate };
inline constexpr std::size_t kStepPhases = 4;

/// How the host launches the kernels of a list.
enum class ListLaunch : std::uint8_t {
  kEager,     ///< One operator of PyTorch after another.
  kCompiled,  ///< Code that torch.compile generated.
  kGraph,     ///< One CUDA graph.
};

/// Kernels of one operator.
struct ListedWork {
  std::int64_t op = 0;  ///< Number of the operator in its list.
  StepPhase phase = StepPhase::kForward;
  double repeats = 1;
  KernelWork work;
  double gradient_bytes = 0;  ///< For kAccumulate: bytes of the parameter's gradient.
  AutocastType autocast = AutocastType::kInput;
  bool exact_type = false;  ///< The list states the type.
  /// PyTorch's defaults run it in TF32 on GPUs that have it: a convolution in float32.
  bool allows_tf32 = false;
  /// Elements of the operator's result and of its largest input, as listed; 0 if not listed.
  double result = 0, largest_input = 0;
};

/// One step of one model: the forward, and for training the backward, the accumulation of gradients
/// and, if listed, the optimizer's update.
struct OperatorList {
  std::string name;  ///< "gpt2_large train seq=1024 batch=4"; empty if the file has no names.
  /// Samples per step; nullopt if not listed as a whole number.
  std::optional<std::int64_t> batch = {};
  std::vector<ListedWork> works;
  ListLaunch launch = ListLaunch::kEager;
  std::int64_t operators = 0;
  /// Operators listed without kernels or shapes, assumed to have no GPU work: views, sizes and
  /// unknown names.
  std::int64_t without_work = 0;
  std::int64_t added = 0;        ///< Gradients that the list lacks (predict/list_gradient.h).
  std::int64_t collectives = 0;  ///< Communication between GPUs, which counts as 0 ns here.
  /// Kernels of unknown kinds, by kind. Those of vector operators (VEC) are assumed to read one
  /// tensor and write one ...
  std::map<std::string, std::int64_t> guessed = {};
  std::map<std::string, std::int64_t> unpredicted = {};  ///< ... and all others count as 0 ns here.

  /// Returns which parts are guessed or missing; empty if none is.
  std::string Doubt() const;
  /// Returns which kernels the step lacks; empty if none.
  std::string LeftOut() const;
};

/// Reads a list of operators, plain or compressed with gzip or zstd. Fails with kBadInput and names
/// the file, the line or object, and the fix.
///
/// The file is CSV with the columns in docs/predict.md, or a JSON array of objects with the same
/// keys. `op` and `fw` are required. Optional are `bw`, `acc`, `repeat`, `name`, `inputs`,
/// `output`, `model`, `mode`, `seq`, `batch` and `parallelism`. Rows with the same (model, mode,
/// seq, batch, parallelism) are one step. The steps are in the order of the file.
Result<std::vector<OperatorList>> ReadOperatorLists(const std::string& path);

}  // namespace headroom
