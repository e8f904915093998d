// Samples the metrics of the machine, a control group, a process tree and the GPUs on one clock.
// docs/metrics.md defines each metric.
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
  std::string root;  ///< Prefix of "/proc" and "/sys", for tests with recorded files.
  /// Pid of the root of the process tree to sample, together with its control group. nullopt: no
  /// tree, and this process's control group.
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

/// Sets both `visible_...` options from the environment with which `process` started, or from this
/// process's environment if nullopt. Leaves the options unchanged if the environment cannot be
/// read.
void SetVisibleDevices(std::optional<std::int64_t> process, SamplerOptions& options);

/// Takes samples on request. Reads GPUs on separate threads and all other sources on the caller's.
/// Not thread-safe.
///
/// Take one sample at the start of the run, one per period, and SampleLast() at the end. Even a run
/// shorter than a period then has rates.
class SystemSampler {
 public:
  explicit SystemSampler(SamplerOptions options);
  SystemSampler(const SystemSampler&) = delete;
  SystemSampler& operator=(const SystemSampler&) = delete;
  ~SystemSampler();

  /// Metrics, in the order of a sample's values. The list grows at its end during sampling, when a
  /// disk, an interface or a process appears. Existing entries keep their index, but a new process
  /// may take over the metrics of an ended one.
  const std::vector<Metric>& metrics() const { return board_.metrics(); }
  const std::vector<GpuIdentity>& gpus() const;

  /// GPUs that did not answer the last sample in time: "GPU 1", or "the GPUs' driver" for all.
  /// Their metrics are missing; all others continue.
  const std::vector<std::string>& silent_gpus() const;

  /// Returns true if the last sample found no process of the tree; false without a tree.
  bool tree_is_gone() const;

  /// Returns the pids of the tree at the last sample; empty without a tree.
  std::vector<std::int64_t> tree() const;

  /// Takes a sample, valid until the next one.
  const Reading& Sample() { return Take(/*last=*/false); }
  /// Takes the sample at the end of a run. Rates are missing if the last interval is shorter than
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
  std::uint64_t own_cpu_ns_ = 0;  ///< CPU time of all samples, excluding GPU threads.
  MetricBoard::Id own_cpu_id_ = 0;
};

}  // namespace headroom
