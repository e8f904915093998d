#include "loader/input_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

namespace headroom {
namespace {

constexpr std::string_view kBegin = "loader.probe begin", kEnd = "loader.probe end";
constexpr std::string_view kGaveUp = "loader.probe gave up: ";
constexpr std::size_t kTurns = 4, kGroups = 5;

/// Student's t at 97.5 %, by degrees of freedom. The last value also applies to higher degrees, for
/// which t is slightly smaller.
constexpr std::array<double, 5> kStudent = {0, 12.706, 4.303, 3.182, 2.776};

struct Mean {
  double value = 0, standard_error = 0;
};

/// Returns nullopt for fewer than two values.
std::optional<Mean> MeanOf(std::span<const double> values) {
  if (values.size() < 2) return std::nullopt;
  const auto n = static_cast<double>(values.size());
  const double mean = std::reduce(values.begin(), values.end()) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return Mean{mean, std::sqrt(squares / (n - 1) / n)};
}

std::optional<ProbedMs> Interval95(std::span<const double> values) {
  const std::optional<Mean> mean = MeanOf(values);
  if (!mean) return std::nullopt;
  const double half =
      kStudent[std::min(values.size() - 1, kStudent.size() - 1)] * mean->standard_error;
  return ProbedMs{mean->value - half, mean->value, mean->value + half, values.size()};
}

/// Returns the interval of a mean time, cut at 0 because times are not negative.
std::optional<ProbedMs> TimeOf(std::span<const double> values) {
  std::optional<ProbedMs> time = Interval95(values);
  if (time) time->low = std::max(time->low, 0.0);
  return time;
}

std::optional<StorageMs> StorageOf(std::span<const double> loader, std::span<const double> again) {
  const std::optional<Mean> cold = MeanOf(loader), warm = MeanOf(again);
  if (!cold || !warm) return std::nullopt;
  constexpr double kErrors = 3;  // A difference within this many standard errors counts as 0.
  const double difference = cold->value - warm->value;
  const double error = kErrors * std::hypot(cold->standard_error, warm->standard_error);
  StorageMs storage{.low = {}, .mid = {}, .high = std::max(difference, 0.0) + error};
  if (difference > error) {
    storage.low = difference - error;
    storage.mid = difference;
  }
  return storage;
}

struct Sample {
  TimeNs time;
  double value;
};

/// Returns the finite values of a counter within the spans, in order of time, with one list per
/// device.
std::vector<std::vector<Sample>> SeriesOf(const TraceStore& store, std::string_view name,
                                          std::span<const Interval> spans) {
  const StringId id = store.strings.Find(name);
  std::map<ThreadId, std::vector<Sample>> by_track;
  const auto& rows = store.counters;
  for (std::size_t row = 0; id.valid() && row < rows.rows(); ++row) {
    if (rows.name[row] != id || !std::isfinite(rows.value[row])) continue;
    const bool inside = std::ranges::any_of(spans, [&](const Interval& span) {
      return rows.time[row] >= span.start && rows.time[row] <= span.end;
    });
    if (inside) by_track[rows.thread[row]].push_back({rows.time[row], rows.value[row]});
  }
  std::vector<std::vector<Sample>> series;
  for (auto& [track, samples] : by_track) {
    std::ranges::stable_sort(samples, {}, &Sample::time);
    series.push_back(std::move(samples));
  }
  return series;
}

/// Returns the samples of all devices in order of time.
std::vector<Sample> SamplesOf(const TraceStore& store, std::string_view name,
                              std::span<const Interval> spans) {
  std::vector<Sample> all;
  for (const std::vector<Sample>& series : SeriesOf(store, name, spans))
    all.insert(all.end(), series.begin(), series.end());
  std::ranges::stable_sort(all, {}, &Sample::time);
  return all;
}

/// Adds a doubt for each missing measurement, and for each change of the machine during the turns.
void AddUncertainty(const TraceStore& store, std::span<const Interval> spans, InputProbe& probe) {
  const auto doubt = [&](std::string text) { probe.doubts.push_back(std::move(text)); };
  const auto check = [&](std::string_view name, const std::optional<ProbedMs>& time,
                         std::size_t wanted, std::string_view what) {
    if (!time) {
      doubt(fmt::format("{} was not measured", name));
    } else if (time->count < wanted) {
      doubt(fmt::format("{}: only {} of {} {}", name, time->count, wanted, what));
    }
  };
  check("the loop alone", probe.loop, kTurns, "turns");
  check("the loader alone", probe.loader, kGroups, "groups of batches");
  check("the loader with cached samples", probe.again, kGroups, "groups of batches");
  double others = 0;
  for (const Sample& sample : SamplesOf(store, "loader.probe_other_size", spans))
    others += sample.value;
  if (others > 0)
    doubt(fmt::format("{:.0f} batches differed in size from the repeated batch", others));
  constexpr double kThrottled = 0.01, kPressure = 10, kClock = 0.05;
  const auto throttled = SamplesOf(store, "cgroup_cpu_throttled_cores", spans);
  if (std::ranges::any_of(throttled, [](const Sample& s) { return s.value > kThrottled; }))
    doubt("the control group's quota throttled the CPUs during the probe");
  // Each half contains turns of both kinds. The phase in which the loader runs alone is excluded.
  std::vector<Interval> turns(spans.begin(), spans.end());
  for (Interval& span : turns) {
    // The probe writes these counters when a turn ends.
    const std::vector<Sample> ends = SamplesOf(store, "loader.probe_replay_us", {&span, 1});
    if (!ends.empty()) span.end = ends.back().time;
  }
  const std::vector<Sample> pressure = SamplesOf(store, "cpu_pressure_some_pct", turns);
  const std::size_t half = pressure.size() / 2;
  const auto mean = [](std::span<const Sample> samples) {
    double sum = 0;
    for (const Sample& sample : samples) sum += sample.value;
    return sum / static_cast<double>(samples.size());
  };
  if (half > 0 && std::abs(mean(std::span(pressure).first(half)) -
                           mean(std::span(pressure).last(half))) > kPressure)
    doubt("the load of the machine changed during the probe (CPU pressure)");
  for (const std::vector<Sample>& clock : SeriesOf(store, "gpu_sm_clock_mhz", turns)) {
    const auto [least, most] = std::ranges::minmax(clock, {}, &Sample::value);
    if (most.value - least.value <= kClock * most.value) continue;
    doubt("the clock of a GPU changed during the probe");
    break;
  }
}

}  // namespace

std::optional<double> InputProbe::LimitMs() const {
  if (!loop || !again) return std::nullopt;
  return std::max(loop->mid, again->mid);
}

std::vector<Interval> ProbeSpans(const TraceStore& store) {
  // Times of the marks, in order of time; true for a mark that begins a probe.
  std::vector<std::pair<TimeNs, bool>> marks;
  const auto& instants = store.instants;
  for (std::size_t row = 0; row < instants.rows(); ++row) {
    const std::string_view name = store.Text(instants.name[row]);
    if (name == kBegin || name == kEnd) marks.emplace_back(instants.time[row], name == kBegin);
  }
  std::ranges::stable_sort(marks, {}, &std::pair<TimeNs, bool>::first);
  std::vector<Interval> spans;
  bool open = false;
  for (const auto& [time, begins] : marks) {
    if (begins && !open) spans.push_back({time, TimeNs(INT64_MAX)});
    if (!begins && open) spans.back().end = time;
    open = begins;
  }
  return spans;
}

std::optional<InputProbe> FindInputProbe(const TraceStore& store) {
  const std::vector<Interval> spans = ProbeSpans(store);
  InputProbe probe;
  const auto& instants = store.instants;
  for (std::size_t row = 0; row < instants.rows(); ++row) {
    const std::string_view name = store.Text(instants.name[row]);
    if (name.starts_with(kGaveUp)) probe.doubts.emplace_back(name.substr(kGaveUp.size()));
  }
  if (spans.empty() && probe.doubts.empty()) return std::nullopt;
  constexpr double kMsPerUs = 1e-3;
  const auto values = [&](std::string_view name) {
    std::vector<double> ms;
    for (const Sample& sample : SamplesOf(store, name, spans))
      ms.push_back(sample.value * kMsPerUs);
    return ms;
  };
  const std::vector<double> steps = values("loader.probe_real_us");
  const std::vector<double> replays = values("loader.probe_replay_us");
  const std::vector<double> loader = values("loader.probe_alone_us");
  const std::vector<double> again = values("loader.probe_again_us");
  probe.step = TimeOf(steps);
  probe.loop = TimeOf(replays);
  if (steps.size() == replays.size()) {
    std::vector<double> differences;
    for (std::size_t i = 0; i < steps.size(); ++i) differences.push_back(steps[i] - replays[i]);
    probe.loader_cost = Interval95(differences);
  }
  probe.loader = TimeOf(loader);
  probe.again = TimeOf(again);
  probe.storage = StorageOf(loader, again);
  AddUncertainty(store, spans, probe);
  return probe;
}

}  // namespace headroom
