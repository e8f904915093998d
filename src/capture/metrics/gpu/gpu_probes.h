// Reading one GPU through its vendor's library, call by call: one that fails harms no other.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "capture/metrics/board/metric_source.h"
#include "capture/metrics/board/sample_interval.h"

namespace headroom {

/// How a call of a vendor's library ended.
enum class GpuCall {
  kOk,
  kTransient,  ///< Tried again at the next sample.
  kPermanent,  ///< This GPU cannot, or we may not: never tried again.
  kLost,       ///< The GPU is gone (fell off the bus): no call of it is tried again.
};

class GpuProbes {
 public:
  using Probe = std::function<GpuCall(SampleRun& run)>;

  /// Adds a call that sets one metric or several.
  void Add(Probe probe) { probes_.push_back(std::move(probe)); }

  /// Makes every call that still may succeed. Each call goes through the driver, and some take
  /// hundreds of microseconds: all are left out of a sample as long as their share of one core
  /// would be above 0.1 %, but for 0.9 s at most.
  void Read(SampleRun& run);

 private:
  std::vector<Probe> probes_;
  SampleInterval pace_{
      /*factor=*/1000,
      DurationNs(
          900'000'000)};  // Less than a second: for samples per second apart it must have passed.
};

/// What is known of a GPU without reading it.
struct GpuIdentity {
  std::string instance;  ///< "GPU 0", as the program numbers it.
  std::string name;      ///< "NVIDIA H200"; empty: not told.
  std::string uuid;      ///< Empty: not told.
};

/// What is read at a time: one GPU, or what a library tells of all of them together. A driver may
/// answer for one and never for another.
struct GpuPart {
  explicit GpuPart(std::string name) : instance(std::move(name)) {}

  std::string instance;  ///< "GPU 0"; "": of all.
  MetricBoard board;     ///< Its own.
  GpuProbes probes;
};

/// All GPUs of one vendor, opened.
class GpuSource {
 public:
  virtual ~GpuSource() = default;
  GpuSource(const GpuSource&) = delete;
  GpuSource& operator=(const GpuSource&) = delete;

  /// In the order in which the program numbers them.
  const std::vector<GpuIdentity>& gpus() const { return gpus_; }
  /// One thread may read one of them while others read others.
  std::deque<GpuPart>& parts() { return parts_; }

 protected:
  GpuSource() = default;

  std::vector<GpuIdentity> gpus_;
  /// Probes may hold on to their own, and to the library: cleared before that is closed.
  std::deque<GpuPart> parts_;
};

/// A metric of a GPU.
Metric GpuMetric(std::string name, std::string unit, std::string instance,
                 std::string counter = {});

}  // namespace headroom
