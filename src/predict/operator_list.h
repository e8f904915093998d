// What a step computes, told by operators and shapes alone: no trace, no GPU.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "kernels/kernel_work.h"

namespace headroom {

enum class StepPhase : std::uint8_t { kForward, kBackward, kAccumulate };

/// Kernels of one operator.
struct ListedWork {
  std::int64_t op = 0;  ///< Number of the operator in its list.
  StepPhase phase = StepPhase::kForward;
  double repeats = 1;
  KernelWork work;
  double gradient_bytes = 0;  ///< Of kAccumulate: of the parameter's gradient.
};

/// One step of one model: forward, and for training backward and the accumulation of gradients; no
/// loss, no optimizer.
struct OperatorList {
  std::string name;  ///< "gpt2_large train seq=1024 batch=4"; empty: the file names none.
  std::optional<std::int64_t> batch = {};  ///< Samples; none: not listed as a whole number.
  std::vector<ListedWork> works;
  std::int64_t operators = 0;
  /// Operators that are listed without kernels or shapes and are taken to cost nothing on a GPU:
  /// views, sizes, and names that are not known.
  std::int64_t without_work = 0;
  std::int64_t collectives = 0;  ///< Communication between GPUs, which is in no time here.
  /// Kernels of kinds that are not known, by kind: those of vector operators (VEC) are taken as
  /// reading one tensor and writing one ...
  std::map<std::string, std::int64_t> guessed = {};
  std::map<std::string, std::int64_t> unpredicted =
      {};  ///< ... and all others are in no time here.

  /// What of it is guessed or missing; empty: nothing.
  std::string Doubt() const;
};

/// Reads a list of operators: CSV with the columns that docs/predict.md describes (`op`, `fw`, and
/// as they are there `bw`, `acc`, `repeat`, `name`, `inputs`, `output`, `model`, `mode`, `seq`,
/// `batch`, `parallelism`), or JSON, an array of objects with the same keys; also gzip or zstd.
/// Rows of one (model, mode, seq, batch, parallelism) are one step; the steps are in the order of
/// the file. BadInput names the file, the line or object, and the remedy.
Result<std::vector<OperatorList>> ReadOperatorLists(const std::string& path);

}  // namespace headroom
