#include "capture/metrics_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/metrics/board/clock.h"
#include "capture/metrics/board/ticker.h"
#include "capture/trace_encoder.h"

namespace headroom {
namespace {

/// Longest wait for the last sample. Exceeds the time limits for opening and reading a GPU driver
/// that does not answer.
constexpr std::chrono::seconds kPatience(10);

/// Returns true if a process has loaded PyTorch's Python library but not the timer of Headroom's
/// Python module.
bool RunsTorchUntimed(std::int64_t pid) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  bool torch = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/headroom/_timer.") != std::string::npos) return false;
    torch |= line.find("/libtorch_python.so") != std::string::npos;
  }
  return torch;
}

}  // namespace

class MetricsRecorder::Sampling {
 public:
  Sampling(SamplerOptions options, Recorder* recorder)
      : options_(std::move(options)), recorder_(recorder) {}

  void Run();
  /// Makes Run() take the last sample, and waits for it. Returns false after a timeout; nothing is
  /// recorded afterwards. Call it from another thread.
  bool Stop();
  std::vector<std::string> SilentGpus() {
    const std::lock_guard lock(mutex_);
    return silent_gpus_;
  }
  std::int64_t untimed_torch() const { return untimed_torch_; }

 private:
  /// Writes the product names of the GPUs, with the program's device numbers.
  void NameGpus(const SystemSampler& sampler);
  void Write(const SystemSampler& sampler, const Reading& reading);
  void LookForTorch(const SystemSampler& sampler);

  const SamplerOptions options_;
  struct Counter {
    std::string instance;
    TraceEncoder::Track track;
  };
  std::vector<Counter> counters_;  ///< In the order of SystemSampler::metrics().
  std::map<std::string, TraceEncoder::Track> instances_;
  TraceEncoder::Track users_track_ = 0;
  /// Resource and pid of the foreign users already written.
  std::set<std::pair<std::string, std::int64_t>> named_;
  TimeNs next_look_;
  DurationNs look_after_{250'000'000};
  std::set<std::int64_t> seen_untimed_;  ///< Processes without the timer in the last check.
  bool gpus_are_named_ = false;
  std::atomic<std::int64_t> untimed_torch_ = 0;  ///< Pid for UntimedTorch(); 0: none.

  std::mutex mutex_;
  std::condition_variable wake_, end_;
  std::vector<std::string> silent_gpus_;
  Recorder* recorder_;  ///< Null once the recording is over.
  bool stopping_ = false, ended_ = false;
};

void MetricsRecorder::Sampling::Run() {
  // Opened here, on the thread: opening a driver's library may take seconds.
  SystemSampler sampler(options_);
  Write(sampler, sampler.Sample());
  Ticker ticker(MonotonicNow(), options_.period);
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      const std::chrono::nanoseconds wait((ticker.next() - MonotonicNow()).ns());
      if (wake_.wait_for(lock, wait, [this] { return stopping_; })) break;
    }
    Write(sampler, sampler.Sample());
    LookForTorch(sampler);
    ticker.Advance(MonotonicNow());
  }
  Write(sampler, sampler.SampleLast());
  const std::lock_guard lock(mutex_);
  ended_ = true;
  end_.notify_one();
}

bool MetricsRecorder::Sampling::Stop() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  wake_.notify_one();
  const bool ended = end_.wait_for(lock, kPatience, [this] { return ended_; });
  recorder_ = nullptr;
  return ended;
}

void MetricsRecorder::Sampling::LookForTorch(const SystemSampler& sampler) {
  if (untimed_torch_ != 0 || MonotonicNow() < next_look_) return;
  constexpr std::size_t kMaxLookedAt = 16;
  std::set<std::int64_t> untimed;
  std::size_t looked_at = 0;
  for (const std::int64_t pid : sampler.tree()) {
    if (++looked_at > kMaxLookedAt) break;
    if (RunsTorchUntimed(pid)) untimed.insert(pid);
  }
  for (const std::int64_t pid : untimed) {
    if (seen_untimed_.contains(pid)) untimed_torch_ = pid;
  }
  // /proc/PID/maps may have a thousand lines, so the checks become less frequent. One hit is not
  // enough: the timer loads when PyTorch's import has finished, some time after PyTorch's
  // libraries.
  constexpr DurationNs kLongestImport(2'000'000'000);
  look_after_ = look_after_ + look_after_;
  next_look_ = MonotonicNow() + (untimed.empty() ? look_after_ : kLongestImport);
  seen_untimed_ = std::move(untimed);
}

void MetricsRecorder::Sampling::NameGpus(const SystemSampler& sampler) {
  const std::lock_guard lock(mutex_);
  if (recorder_ == nullptr) return;
  recorder_->Write([&](TraceEncoder& encoder) {
    TraceEncoder::Track track = 0;
    for (const GpuIdentity& gpu : sampler.gpus()) {
      constexpr std::string_view kPrefix = "GPU ";
      std::int64_t ordinal = -1;
      if (!gpu.instance.starts_with(kPrefix) || gpu.name.empty()) continue;
      std::from_chars(gpu.instance.data() + kPrefix.size(),
                      gpu.instance.data() + gpu.instance.size(), ordinal);
      if (ordinal < 0) continue;
      if (track == 0) track = encoder.ChildTrack(0, "GPUs");
      const std::array<TraceArg, 2> args{TraceArg{"device", ordinal},
                                         TraceArg{"product", std::string_view(gpu.name)}};
      encoder.Instant(track, MonotonicNow(), encoder.Intern("device"), encoder.Category("headroom"),
                      args);
    }
  });
}

void MetricsRecorder::Sampling::Write(const SystemSampler& sampler, const Reading& reading) {
  if (!gpus_are_named_ && !sampler.gpus().empty()) {
    gpus_are_named_ = true;
    NameGpus(sampler);
  }
  const std::lock_guard lock(mutex_);
  for (const std::string& gpu : sampler.silent_gpus()) {
    if (std::find(silent_gpus_.begin(), silent_gpus_.end(), gpu) == silent_gpus_.end())
      silent_gpus_.push_back(gpu);
  }
  if (recorder_ == nullptr) return;
  recorder_->Write([&](TraceEncoder& encoder) {
    const std::vector<Metric>& metrics = sampler.metrics();
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      const Metric& metric = metrics[i];
      if (i < counters_.size() && counters_[i].instance == metric.instance) continue;
      TraceEncoder::Track parent = 0;
      if (!metric.instance.empty()) {
        auto [track, is_new] = instances_.try_emplace(metric.instance);
        if (is_new) track->second = encoder.ChildTrack(0, metric.instance);
        parent = track->second;
      }
      if (i == counters_.size()) counters_.emplace_back();
      counters_[i] = {metric.instance, encoder.CounterTrack(parent, metric.name, metric.unit)};
    }
    for (std::size_t i = 0; i < reading.values.size(); ++i) {
      if (!std::isnan(reading.values[i]))
        encoder.Counter(counters_[i].track, reading.time, reading.values[i]);
    }
    for (const ResourceUser& user : reading.users) {
      if (user.in_tree || !named_.emplace(user.resource, user.pid).second) continue;
      if (users_track_ == 0) users_track_ = encoder.ChildTrack(0, "other users of the machine");
      const std::array<TraceArg, 4> args{
          TraceArg{"resource", std::string_view(user.resource)}, TraceArg{"pid", user.pid},
          TraceArg{"name", std::string_view(user.name)}, TraceArg{"value", user.value}};
      encoder.Instant(users_track_, reading.time, encoder.Intern("foreign_user"),
                      encoder.Category("headroom"),
                      std::span(args.data(), std::isnan(user.value) ? 3 : 4));
    }
  });
}

MetricsRecorder::MetricsRecorder(const SamplerOptions& options, Recorder* recorder)
    : sampling_(std::make_shared<Sampling>(options, recorder)),
      thread_([sampling = sampling_] { sampling->Run(); }) {}

bool MetricsRecorder::Stop() {
  if (!thread_.joinable()) return true;
  const bool ended = sampling_->Stop();
  ended ? thread_.join() : thread_.detach();
  return ended;
}

std::vector<std::string> MetricsRecorder::SilentGpus() const { return sampling_->SilentGpus(); }

std::optional<std::int64_t> MetricsRecorder::UntimedTorch() const {
  const std::int64_t pid = sampling_->untimed_torch();
  return pid != 0 ? std::optional(pid) : std::nullopt;
}

}  // namespace headroom
