// The counters of the machine, of the control group, of a process tree and of the GPUs, sampled
// together on one clock. docs/metrics.md defines each.
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
  std::string root;  ///< Comes before "/proc" and "/sys"; tests have recorded files there.
  /// Root of the process tree to watch; its control group is watched, too. nullopt: no tree, and
  /// the control group is ours.
  std::optional<std::int64_t> process = std::nullopt;
  DurationNs period = DurationNs(1'000'000'000);  ///< Between samples, as planned.
  /// CUDA_VISIBLE_DEVICES of the program; nullopt: not set. See VisibleDevicesOf().
  std::optional<std::string> visible_devices = std::nullopt;
  /// ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES, the first that is set.
  std::optional<std::string> visible_amd_devices = std::nullopt;
  std::vector<std::string> nvml_libraries = {"libnvidia-ml.so.1"};
  std::vector<std::string> rocm_libraries = {"librocm_smi64.so.7", "librocm_smi64.so.6",
                                             "librocm_smi64.so.5", "librocm_smi64.so"};
};

/// Sets both `visible_...` from the environment of a process as it was started (nullopt: from
/// ours). Leaves them where it cannot be read.
void SetVisibleDevices(std::optional<std::int64_t> process, SamplerOptions& options);

/// Takes a sample when asked to, and never sleeps; only GPUs are read on a thread of their own.
/// Used by one thread at a time. Take one when the run begins, one a period, and SampleLast() when
/// it ends: a run shorter than a period then has its rates, too.
class SystemSampler {
 public:
  explicit SystemSampler(SamplerOptions options);
  SystemSampler(const SystemSampler&) = delete;
  SystemSampler& operator=(const SystemSampler&) = delete;
  ~SystemSampler();

  /// Grows at its end while sampling (a disk, an interface or a process appears); what is there
  /// stays where it is, but the metrics of a process that ended become those of another.
  const std::vector<Metric>& metrics() const { return board_.metrics(); }
  const std::vector<GpuIdentity>& gpus() const;

  /// The GPUs that were asked and have not answered in time so far ("GPU 1"; "the GPUs' driver"):
  /// their metrics are missing, all others go on.
  const std::vector<std::string>& silent_gpus() const;

  /// Whether the last sample found no process of the tree. Without a tree: false.
  bool tree_is_gone() const;

  /// Processes of the tree, as of the last sample. Without a tree: none.
  std::vector<std::int64_t> tree() const;

  /// Valid until the next one.
  const Reading& Sample() { return Take(/*last=*/false); }
  /// The sample at the end of a run. Rates are missing where the last window is shorter than half a
  /// period, unless it is the only one.
  const Reading& SampleLast() { return Take(/*last=*/true); }

 private:
  const Reading& Take(bool last);
  void NameUsers();

  SamplerOptions options_;
  MetricBoard board_;
  ReadBuffer buffer_;
  std::vector<std::unique_ptr<MetricSource>> sources_;
  GpuReader* gpus_ = nullptr;          ///< Owned by sources_.
  ProcessTreeSource* tree_ = nullptr;  ///< Likewise.
  int samples_ = 0;
  TimeNs last_begin_;
  TimeNs last_slow_;
  std::uint64_t own_cpu_ns_ = 0;  ///< That all samples took, but for the GPUs.
  MetricBoard::Id own_cpu_id_ = 0;
};

}  // namespace headroom
