#include "pipeline/input_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <string_view>

namespace headroom {
namespace {

constexpr std::string_view kBegin = "loader.probe begin", kEnd = "loader.probe end";
constexpr std::string_view kGaveUp = "loader.probe gave up: ";
constexpr std::size_t kFewestOfAKind = 30;

/// Student's t, 97.5 %, with so many degrees of freedom.
constexpr std::array<double, 5> kStudent = {0, 12.706, 4.303, 3.182, 2.776};

struct Mean {
  double value = 0, standard_error = 0;
};

/// @param groups  2 to 5; values are split into so many, those that are over belong to none
std::optional<Mean> GroupedMean(std::span<const double> values, std::size_t groups) {
  const std::size_t size = values.size() / groups;
  if (size == 0) return std::nullopt;
  std::vector<double> means;
  for (std::size_t i = 0; i < groups; ++i) {
    const auto group = values.subspan(i * size, size);
    means.push_back(std::reduce(group.begin(), group.end()) / static_cast<double>(size));
  }
  const auto n = static_cast<double>(groups);
  const double mean = std::reduce(means.begin(), means.end()) / n;
  double squares = 0;
  for (const double m : means) squares += (m - mean) * (m - mean);
  return Mean{mean, std::sqrt(squares / (n - 1) / n)};
}

std::optional<ProbedMs> Interval95(std::span<const double> values, std::size_t groups) {
  const std::optional<Mean> mean = GroupedMean(values, groups);
  if (!mean) return std::nullopt;
  const double half = kStudent[groups - 1] * mean->standard_error;
  return ProbedMs{mean->value - half, mean->value, mean->value + half, values.size()};
}

/// Finite values of a counter by time; for a metric, within spans.
std::vector<double> ValuesOf(const TraceStore& store, std::string_view name,
                             std::span<const Interval> spans) {
  const StringId id = store.strings.Find(name);
  std::vector<std::pair<TimeNs, double>> found;
  const auto& rows = store.counters;
  for (std::size_t row = 0; id.valid() && row < rows.rows(); ++row) {
    if (rows.name[row] != id || !std::isfinite(rows.value[row])) continue;
    const bool inside = std::ranges::any_of(spans, [&](const Interval& span) {
      return rows.time[row] >= span.start && rows.time[row] <= span.end;
    });
    if (inside) found.emplace_back(rows.time[row], rows.value[row]);
  }
  std::ranges::stable_sort(found, {}, &std::pair<TimeNs, double>::first);
  std::vector<double> values;
  for (const auto& [time, value] : found) values.push_back(value);
  return values;
}

/// The guards: what else changed while it was measured.
void AddDoubts(const TraceStore& store, std::span<const Interval> spans, InputProbe& probe) {
  const auto doubt = [&](std::string text) { probe.doubts.push_back(std::move(text)); };
  for (const auto& [name, measured] :
       {std::pair("the loop alone", &probe.loop), std::pair("the loader alone", &probe.loader),
        std::pair("its samples again", &probe.again)}) {
    if (!*measured) {
      doubt(fmt::format("{} was not measured", name));
    } else if ((*measured)->count < kFewestOfAKind) {
      doubt(fmt::format("{}: only {} of {} values", name, (*measured)->count, kFewestOfAKind));
    }
  }
  const std::vector<double> others = ValuesOf(store, "loader.probe_other_size", spans);
  if (const double count = std::reduce(others.begin(), others.end()); count > 0)
    doubt(fmt::format("{:.0f} batches were not of the size of the one that was repeated", count));
  constexpr double kThrottled = 0.01, kPressure = 10, kClock = 0.05;
  const auto most = [](const std::vector<double>& values) {
    return values.empty() ? 0 : *std::ranges::max_element(values);
  };
  const auto least = [](const std::vector<double>& values) {
    return values.empty() ? 0 : *std::ranges::min_element(values);
  };
  if (most(ValuesOf(store, "cgroup_cpu_throttled_cores", spans)) > kThrottled)
    doubt("the quota of the control group took processors away meanwhile");
  const std::vector<double> pressure = ValuesOf(store, "cpu_pressure_some_pct", spans);
  if (most(pressure) - least(pressure) > kPressure)
    doubt("how many tasks waited for a processor changed meanwhile (pressure)");
  const std::vector<double> clock = ValuesOf(store, "gpu_sm_clock_mhz", spans);
  if (most(clock) - least(clock) > kClock * most(clock))
    doubt("the clock of the GPU changed meanwhile");
}

}  // namespace

std::optional<double> InputProbe::LimitMs() const {
  if (!loop) return std::nullopt;
  double limit = loop->mid;
  if (again) limit = std::max(limit, again->mid);
  if (storage && storage_is_clear) limit = std::max(limit, storage->mid);
  return limit;
}

std::vector<Interval> ProbeSpans(const TraceStore& store) {
  std::vector<std::pair<TimeNs, bool>> marks;  // By time; whether one begins.
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
  constexpr std::size_t kBlocks = 4, kGroups = 5;
  constexpr double kMsPerUs = 1e-3;
  const auto values = [&](std::string_view name) {
    std::vector<double> ms = ValuesOf(store, name, spans);
    for (double& value : ms) value *= kMsPerUs;
    return ms;
  };
  const std::vector<double> steps = values("loader.probe_real_us");
  const std::vector<double> replays = values("loader.probe_replay_us");
  const std::vector<double> loader = values("loader.probe_alone_us");
  const std::vector<double> again = values("loader.probe_again_us");
  probe.step = Interval95(steps, kBlocks);
  probe.loop = Interval95(replays, kBlocks);
  if (steps.size() == replays.size()) {
    std::vector<double> differences;
    for (std::size_t i = 0; i < steps.size(); ++i) differences.push_back(steps[i] - replays[i]);
    probe.loader_cost = Interval95(differences, kBlocks);
  }
  probe.loader = Interval95(loader, kGroups);
  probe.again = Interval95(again, kGroups);
  const std::optional<Mean> cold = GroupedMean(loader, kGroups), warm = GroupedMean(again, kGroups);
  if (cold && warm) {
    constexpr double kErrors = 3;  // Below it, a difference is none.
    const double difference = cold->value - warm->value;
    const double error = std::hypot(cold->standard_error, warm->standard_error);
    probe.storage_is_clear = difference > kErrors * error;
    probe.storage = ProbedMs{.high = std::max(difference, 0.0) + kErrors * error,
                             .count = std::min(loader.size(), again.size())};
    if (probe.storage_is_clear) {
      probe.storage->mid = difference;
      probe.storage->low = difference - kErrors * error;
    }
  }
  AddDoubts(store, spans, probe);
  return probe;
}

}  // namespace headroom
