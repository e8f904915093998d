// Reads one GPU through its vendor's library, call by call. A failing call does not affect the
// others.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "capture/metrics/board/metric_source.h"
#include "capture/metrics/board/sample_interval.h"

namespace headroom {

/// Result of a call to a vendor's library.
enum class GpuCall {
  kOk,
  kTransient,  ///< Tried again at the next sample.
  kPermanent,  ///< Unsupported by this GPU, or not permitted: never tried again.
  kLost,       ///< The GPU fell off the bus: no call for it is tried again.
};

class GpuProbes {
 public:
  using Probe = std::function<GpuCall(SampleRun& run)>;

  /// Adds a call that sets one or several metrics.
  void Add(Probe probe) { probes_.push_back(std::move(probe)); }

  /// Makes every call that can still succeed. Each call goes through the driver, and some take
  /// hundreds of microseconds. A sample skips all of them while their share of one core would
  /// exceed 0.1 %, but for at most 0.9 s.
  void Read(SampleRun& run);

 private:
  std::vector<Probe> probes_;
  SampleInterval pace_{/*factor=*/1000,
                       // The limit is below 1 s so that samples 1 s apart are never skipped.
                       DurationNs(900'000'000)};
};

/// Identity of a GPU, known before the first sample.
struct GpuIdentity {
  std::string instance;  ///< "GPU 0", as the program numbers it.
  std::string name;      ///< "NVIDIA H200"; empty if not reported.
  std::string uuid;      ///< Empty if not reported.
};

/// Unit that is read separately: one GPU, or a library's data on all GPUs together. A driver may
/// answer for one part and never for another.
struct GpuPart {
  explicit GpuPart(std::string name) : instance(std::move(name)) {}

  std::string instance;  ///< "GPU 0"; empty: all GPUs.
  MetricBoard board;     ///< Metrics of this part.
  GpuProbes probes;
};

/// All GPUs of one vendor, through an open library.
class GpuSource {
 public:
  virtual ~GpuSource() = default;
  GpuSource(const GpuSource&) = delete;
  GpuSource& operator=(const GpuSource&) = delete;

  /// GPUs in the program's order.
  const std::vector<GpuIdentity>& gpus() const { return gpus_; }
  /// Parts to read. Threads may read different parts concurrently.
  std::deque<GpuPart>& parts() { return parts_; }

 protected:
  GpuSource() = default;

  std::vector<GpuIdentity> gpus_;
  /// Must be cleared before the library is closed, because probes may own resources of the library.
  std::deque<GpuPart> parts_;
};

/// Returns a metric with scope kDevice.
Metric GpuMetric(std::string name, std::string unit, std::string instance,
                 std::string counter = {});

}  // namespace headroom
