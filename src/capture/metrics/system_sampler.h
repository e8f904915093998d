// Samples the counters of the machine, the control group, a process tree and the GPUs together on
// one clock. docs/metrics.md defines each.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "capture/metrics/board/metric.h"
#include "capture/metrics/board/metric_board.h"
#include "capture/metrics/board/metric_source.h"
#include "capture/metrics/gpu/gpu_probes.h"

namespace headroom {

class GpuReader;
class ProcessTreeSource;

struct SamplerOptions {
  std::string root;  ///< Prefix of "/proc" and "/sys"; tests have recorded files there.
  /// Root of the process tree to watch, together with its control group. nullopt: no tree, and this
  /// process's control group.
  std::optional<std::int64_t> process = std::nullopt;
  DurationNs period = DurationNs(1'000'000'000);  ///< Planned time between samples.
  /// CUDA_VISIBLE_DEVICES of the program; nullopt: not set. See SetVisibleDevices().
  std::optional<std::string> visible_devices = std::nullopt;
  /// ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES: the first that is set.
  std::optional<std::string> visible_amd_devices = std::nullopt;
  std::vector<std::string> nvml_libraries = {"libnvidia-ml.so.1"};
  std::vector<std::string> rocm_libraries = {"librocm_smi64.so.7", "librocm_smi64.so.6",
                                             "librocm_smi64.so.5", "librocm_smi64.so"};
};

/// Sets both `visible_...` options from the environment at a process's start (nullopt: from this
/// process's environment). Leaves them unchanged if it cannot be read.
void SetVisibleDevices(std::optional<std::int64_t> process, SamplerOptions& options);

/// Takes a sample on request and never sleeps. Only GPUs are read on other threads. Use it from one
/// thread at a time.
///
/// Take one sample at the run's begin, one per period, and SampleLast() at its end. A run shorter
/// than a period then also has rates.
class SystemSampler {
 public:
  explicit SystemSampler(SamplerOptions options);
  SystemSampler(const SystemSampler&) = delete;
  SystemSampler& operator=(const SystemSampler&) = delete;
  ~SystemSampler();

  /// Metrics of the samples. The list grows at its end during sampling, when a disk, an interface
  /// or a process appears. Existing entries keep their index, but a new process may take over the
  /// metrics of an ended one.
  const std::vector<Metric>& metrics() const { return board_.metrics(); }
  const std::vector<GpuIdentity>& gpus() const;

  /// GPUs that have not answered in time so far ("GPU 1"; "the GPUs' driver"). Their metrics are
  /// missing; all others continue.
  const std::vector<std::string>& silent_gpus() const;

  /// Returns true if the last sample found no process of the tree. Without a tree: false.
  bool tree_is_gone() const;

  /// Returns the processes of the tree at the last sample. Without a tree: none.
  std::vector<std::int64_t> tree() const;

  /// Takes a sample, valid until the next one.
  const Reading& Sample() { return Take(/*last=*/false); }
  /// Takes the sample at the end of a run. Rates are missing if the last window is shorter than
  /// half a period, unless it is the only one.
  const Reading& SampleLast() { return Take(/*last=*/true); }

 private:
  const Reading& Take(bool last);
  void NameUsers();

  SamplerOptions options_;
  MetricBoard board_;
  ReadBuffer buffer_;
  std::vector<std::unique_ptr<MetricSource>> sources_;
  GpuReader* gpus_ = nullptr;          ///< Owned by sources_.
  ProcessTreeSource* tree_ = nullptr;  ///< Owned by sources_.
  int samples_ = 0;
  TimeNs last_begin_;
  TimeNs last_slow_;
  std::uint64_t own_cpu_ns_ = 0;  ///< CPU time of all samples, without the GPUs.
  MetricBoard::Id own_cpu_id_ = 0;
};

}  // namespace headroom
