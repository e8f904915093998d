// Memory that a job takes on a GPU, and whether it fits another GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cost/device_spec.h"
#include "predict/memory_timeline.h"
#include "whatif/job/job.h"
#include "whatif/memory/step_memory.h"

namespace headroom {

/// Memory of one rank of a sharded job.
struct ShardedMemory {
  Sharding sharding;
  double peak_bytes = 0;
};

/// Memory at another batch size.
struct BatchMemory {
  std::int64_t samples = 0;  ///< Samples per step.
  double peak_bytes = 0;
  double taken_bytes = 0;  ///< Reserved from the driver.
};

struct BytesInterval {
  double low = 0, high = 0;
};

/// Memory of a job, from a model of its step or from the recording.
struct JobMemory {
  std::optional<StepMemoryModel> model = {};
  std::string no_model = {};  ///< Reason why there is no model; empty if there is a model.
  StepMemory peak = {};       ///< Peak of the recorded batch, from the model.
  double reserved_bytes = 0;  ///< Reserved from the driver at that peak.
  /// Maximum allocated bytes, from the trace's memory records or a memory timeline.
  std::optional<double> recorded_bytes = {};
  std::optional<RecordedMemory> recorded = {};  ///< Peak in a memory timeline; nullopt without one.
  std::vector<ShardedMemory> sharded = {};
  /// Memory at 1/4, 1/2, 1, 2, 4, 8 and 16 times `samples`. Omits batches with a fraction of a
  /// sample.
  std::vector<BatchMemory> batches = {};
  /// Samples per step; nullopt if the trace does not show them.
  std::optional<std::int64_t> samples = {};

  /// Returns the peak in bytes at a multiple of the recorded samples; nullopt if unknown. Recorded
  /// bytes take precedence. The model then contributes only the growth.
  std::optional<double> PeakAt(double batch_ratio, Workspaces workspaces = Workspaces::kGrow) const;
  /// Returns the bytes that the caching allocator reserves from the driver for that peak; nullopt
  /// if unknown.
  std::optional<double> TakenAt(double batch_ratio,
                                Workspaces workspaces = Workspaces::kGrow) const;
  /// Returns the 80 % interval of PeakAt(1). Recorded bytes are exact.
  std::optional<BytesInterval> PeakInterval() const;
  /// Returns the 80 % interval of TakenAt(1).
  std::optional<BytesInterval> TakenInterval() const;
  /// Returns the maximum samples that fit into this many bytes, as a multiple of the recorded
  /// samples; nullopt if unknown.
  std::optional<double> LargestBatch(double bytes, Workspaces workspaces = Workspaces::kGrow) const;
  /// Returns true if the size of cuDNN's workspaces determines the memory at a multiple of the
  /// recorded samples.
  bool WorkspaceDecides(double batch_ratio) const {
    return model && model->PeakAt(batch_ratio).workspace_uncertain;
  }
  /// Returns why memory at other batch sizes is a range; empty if it is a single value.
  std::string BatchDoubt() const;
  /// Returns why a memory timeline seems to be from another job. Empty if the timeline matches, or
  /// without a timeline.
  std::string Doubt() const;

 private:
  /// Returns the ratio of recorded to modelled bytes.
  double Scale() const;
  /// Returns the ratio of reserved to allocated bytes; at least 1.
  double Reserve() const;
};

/// Share of a GPU's memory to leave free when choosing a batch, for the CUDA context and for
/// fragmentation.
inline constexpr double kMemoryMargin = 0.1;

/// @param timeline  memory timeline of the same job; nullopt to use the trace's records
JobMemory MemoryOf(const Job& job, const std::optional<RecordedMemory>& timeline);

/// How certain it is that a job fits, from the intervals of its memory.
enum class FitConfidence {
  kFits,        ///< The high end of the reserve leaves kMemoryMargin free.
  kLikely,      ///< The expected reserve does.
  kMayNotFit,   ///< Fragmentation or the model's error decides.
  kDoesNotFit,  ///< The low end of the peak exceeds the memory.
};

/// Returns "fits", "likely", "may not fit" or "does not fit".
std::string_view NameOf(FitConfidence confidence);

/// Returns true for kFits and kLikely, false for kDoesNotFit, otherwise nullopt.
std::optional<bool> Decision(const std::optional<FitConfidence>& confidence);

/// How a job fits into a GPU's memory.
struct MemoryFit {
  /// nullopt if the job's memory is unknown.
  std::optional<FitConfidence> confidence = {};
  std::optional<double> samples = {};  ///< Maximum samples per step that leave kMemoryMargin free.
  /// cuDNN's workspaces may grow with the batch or keep their size. If that matters, `samples` is
  /// the smaller of the two maxima, and this is the larger; otherwise nullopt.
  std::optional<double> samples_at_best = {};
};

/// Returns the fit for each of several memory sizes in bytes.
std::vector<MemoryFit> FitsOf(const JobMemory& memory, std::span<const double> memory_bytes);

/// Returns how certain it is that the job fits after a change of its peak; nullopt if the memory is
/// unknown. Assumes that the intervals and the reserve grow with the peak.
std::optional<FitConfidence> ConfidenceAfter(const JobMemory& memory, double peak_delta_bytes,
                                             double memory_bytes);

}  // namespace headroom
