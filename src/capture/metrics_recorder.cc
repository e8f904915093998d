#include "capture/metrics_recorder.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <utility>

#include "capture/metrics/clock.h"
#include "capture/metrics/ticker.h"

namespace headroom {

MetricsRecorder::MetricsRecorder(const SamplerOptions& options, Recorder* recorder)
    : sampler_(options), period_(options.period), recorder_(recorder) {
  thread_ = std::thread([this] { Run(); });
}

MetricsRecorder::~MetricsRecorder() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void MetricsRecorder::Run() {
  Write(sampler_.Sample());
  NameGpus();
  Ticker ticker(MonotonicNow(), period_);
  std::unique_lock lock(mutex_);
  for (;;) {
    const std::chrono::nanoseconds wait((ticker.next() - MonotonicNow()).ns());
    if (wake_.wait_for(lock, wait, [this] { return stopping_; })) break;
    Write(sampler_.Sample());
    ticker.Advance(MonotonicNow());
  }
  Write(sampler_.SampleLast());
}

void MetricsRecorder::NameGpus() {
  recorder_->Write([&](TraceEncoder& encoder) {
    TraceEncoder::Track track = 0;
    for (const GpuIdentity& gpu : sampler_.gpus()) {
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

void MetricsRecorder::Write(const Reading& reading) {
  recorder_->Write([&](TraceEncoder& encoder) {
    const std::vector<Metric>& metrics = sampler_.metrics();
    for (std::size_t i = tracks_.size(); i < metrics.size(); ++i) {
      const Metric& metric = metrics[i];
      TraceEncoder::Track parent = 0;
      if (!metric.instance.empty()) {
        auto [track, is_new] = instances_.try_emplace(metric.instance);
        if (is_new) track->second = encoder.ChildTrack(0, metric.instance);
        parent = track->second;
      }
      tracks_.push_back(encoder.CounterTrack(parent, metric.name, metric.unit));
    }
    for (std::size_t i = 0; i < reading.values.size(); ++i) {
      if (!std::isnan(reading.values[i]))
        encoder.Counter(tracks_[i], reading.time, reading.values[i]);
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

}  // namespace headroom
