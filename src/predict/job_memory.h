// What a job takes of a GPU's memory, and whether it fits another.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cost/device_spec.h"
#include "predict/memory_timeline.h"
#include "whatif/job/job.h"
#include "whatif/memory/step_memory.h"

namespace headroom {

/// One rank of a sharded job.
struct ShardedMemory {
  Sharding sharding;
  double peak_bytes = 0;
};

/// At another batch size.
struct BatchMemory {
  std::int64_t samples = 0;  ///< A step.
  double peak_bytes = 0;
  double taken_bytes = 0;  ///< From the driver.
};

/// What is known of a job's memory, by a model of its step or by what was recorded.
struct JobMemory {
  std::optional<StepMemoryModel> model = {};
  std::string no_model = {};  ///< Why there is none; empty: there is.
  StepMemory peak = {};       ///< By the model.
  double reserved_bytes = 0;  ///< Of the driver, at that peak.
  /// The most that was allocated: by the trace's memory records, or by a memory timeline.
  std::optional<double> recorded_bytes = {};
  std::optional<RecordedMemory> recorded = {};  ///< Of a memory timeline.
  std::vector<ShardedMemory> sharded = {};
  std::vector<BatchMemory> batches = {};     ///< Halves and doubles of `samples`; ascending.
  std::optional<std::int64_t> samples = {};  ///< A step; none: not told by the trace.

  /// Bytes at the peak with so many times the samples. What was recorded counts before the model,
  /// which then tells the growth alone. nullopt: not known.
  std::optional<double> PeakAt(double batch_ratio, Workspaces workspaces = Workspaces::kGrow) const;
  /// What the caching allocator takes from the driver for it, nullopt: not known.
  std::optional<double> TakenAt(double batch_ratio,
                                Workspaces workspaces = Workspaces::kGrow) const;
  /// The most samples, as a multiple of those recorded, for which so many bytes are enough;
  /// nullopt: not known.
  std::optional<double> LargestBatch(double bytes, Workspaces workspaces = Workspaces::kGrow) const;
  /// Whether what cuDNN's workspaces do decides how much that batch takes.
  bool WorkspaceDecides(double batch_ratio) const {
    return model && model->PeakAt(batch_ratio).workspace_uncertain;
  }
  /// Why memory at other batch sizes is a range; empty: it is not.
  std::string BatchDoubt() const;
  /// That a memory timeline can hardly be of this job; empty: it may be, or there is none.
  std::string Doubt() const;

 private:
  /// Recorded bytes, of those that the model says.
  double Scale() const;
  /// Reserved bytes, of those allocated; from 1 up.
  double Reserve() const;
};

/// Of a GPU's memory, what is left for the CUDA context and for memory in pieces when a batch is
/// chosen to fit.
inline constexpr double kMemoryMargin = 0.1;

/// @param timeline  of the same job; none: what the trace itself says
JobMemory MemoryOf(const Job& job, const std::optional<RecordedMemory>& timeline);

/// How a job fits one memory.
struct MemoryFit {
  std::optional<bool> fits = {};       ///< None: too close to tell; memory in pieces decides.
  std::optional<double> samples = {};  ///< The most that fit, with kMemoryMargin left.
  /// The same were cuDNN's workspaces to stay as they are; none: they do not decide it.
  std::optional<double> samples_at_best = {};
};

/// For each of several memories, in bytes.
std::vector<MemoryFit> FitsOf(const JobMemory& memory, std::span<const double> memory_bytes);

}  // namespace headroom
