#include "analysis/loop/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "render/number_format.h"

namespace headroom {
namespace {

/// Accumulates a counter's samples in order of time.
class Series {
 public:
  void Add(TimeNs time, double value) {
    if (!std::isfinite(value)) {
      follows_ = false;
      return;
    }
    if (follows_) {
      const auto weight = static_cast<double>((time - last_time_).ns());
      weighted_ += weight * (value / 2 + last_ / 2);
      weight_ += weight;
    }
    min_ = count_ == 0 ? value : std::min(min_, value);
    max_ = count_ == 0 ? value : std::max(max_, value);
    plain_mean_ += (value - plain_mean_) / static_cast<double>(++count_);
    last_ = value;
    last_time_ = time;
    follows_ = true;
  }

  std::int64_t count() const { return count_; }

  void Fill(MetricRow& row) const {
    // Isolated samples, or samples at one time, have equal weight.
    const double mean = weight_ > 0 ? weighted_ / weight_ : plain_mean_;
    row.mean = std::clamp(mean, min_, max_);  // Rounding may put the mean slightly outside.
    row.min = min_;
    row.max = max_;
    row.last = last_;
    row.samples = count_;
  }

 private:
  std::int64_t count_ = 0;
  double min_ = 0, max_ = 0, last_ = 0, plain_mean_ = 0, weighted_ = 0, weight_ = 0;
  TimeNs last_time_;
  bool follows_ = false;  ///< The previous sample holds a number.
};

/// Returns the number in "GPU 3"; nullopt for other text.
std::optional<std::int64_t> GpuOf(std::string_view instance) {
  constexpr std::string_view kPrefix = "GPU ";
  if (!instance.starts_with(kPrefix)) return std::nullopt;
  instance.remove_prefix(kPrefix.size());
  std::int64_t number = 0;
  const auto [end, error] =
      std::from_chars(instance.data(), instance.data() + instance.size(), number);
  if (error != std::errc() || end != instance.data() + instance.size() || number < 0)
    return std::nullopt;
  return number;
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Returns "GPU 0", "eth0" or "the machine".
std::string_view Of(const MetricRow& row) {
  return row.instance.empty() ? std::string_view("the machine") : row.instance;
}

std::string Amount(const MetricRow& row, double value) {
  if (row.unit == "%") return FormatPercent(value);
  return fmt::format("{:.4g}{}{}", value, row.unit.empty() ? "" : " ", row.unit);
}

/// Reports a throttled clock, unless idleness or a setting is the cause.
std::string GpuThrottled(const MetricRow& row) {
  if (!row.gpu || !Contains(row.name, "throttle") || row.max <= 0) return {};
  for (const std::string_view harmless : {"idle", "app_clocks", "applications", "display"}) {
    if (Contains(row.name, harmless)) return {};
  }
  return fmt::format("{} was slowed down: {} was {} on average, at most {}", Of(row), row.name,
                     Amount(row, row.mean), Amount(row, row.max));
}

std::string CpuThrottled(const MetricRow& row) {
  if (row.gpu || !Contains(row.name, "throttle") || row.max <= 0) return {};
  return fmt::format(
      "the CPU quota of the container throttled the job: {} was {} on average, at most {}",
      row.name, Amount(row, row.mean), Amount(row, row.max));
}

std::string MemoryShort(const MetricRow& row) {
  constexpr double kNearLimitPct = 95;
  if (row.unit != "%" || !Contains(row.name, "memory") || Contains(row.name, "free") ||
      Contains(row.name, "available") || row.max < kNearLimitPct) {
    return {};
  }
  // Excludes memory-bus utilization, which shows traffic, and memory pressure, which is time.
  if (Contains(row.name, "util") || Contains(row.name, "pressure")) return {};
  return fmt::format("memory of {} ran short: {} reached {}", Of(row), row.name,
                     Amount(row, row.max));
}

/// Reports threads that were runnable but had no CPU core.
std::string NoProcessor(const MetricRow& row) {
  constexpr double kOften = 10;
  if (row.name != "process_tree_runqueue_wait_pct" || row.mean < kOften) return {};
  return fmt::format(
      "the job was ready to run but had no CPU core: {} of the time on average, at most {} ({})",
      Amount(row, row.mean), Amount(row, row.max), row.name);
}

/// Reports times at which all tasks of the machine or the container waited.
std::string UnderPressure(const MetricRow& row) {
  constexpr double kOftenForMemory = 5, kOftenForFiles = 20;
  const bool memory = row.name.ends_with("memory_pressure_full_pct");
  const bool files = row.name.ends_with("io_pressure_full_pct");
  if (!(memory && row.mean >= kOftenForMemory) && !(files && row.mean >= kOftenForFiles)) return {};
  return fmt::format("all tasks waited for {}: {} of the time on average, at most {} ({})",
                     memory ? "memory (swapping)" : "files", Amount(row, row.mean),
                     Amount(row, row.max), row.name);
}

/// Returns a string argument of an instant without its quotes, or an empty string without the
/// argument.
std::string Member(const TraceStore& store, std::size_t row, std::string_view key) {
  std::string_view text = store.Arg(store.instants.args[row], key);
  if (text.size() >= 2 && text.front() == '"') text = text.substr(1, text.size() - 2);
  return std::string(text);
}

bool IsOfRecording(const TraceStore& store, std::size_t instant, std::string_view name) {
  return store.Text(store.instants.category[instant]) == "headroom" &&
         store.Text(store.instants.name[instant]) == name;
}

/// Names of the machines whose counters a trace holds, if recorded.
class Hosts {
 public:
  explicit Hosts(const TraceStore& store) : store_(store) {
    for (std::size_t row = 0; row < store.instants.rows(); ++row) {
      if (!IsOfRecording(store, row, "about")) continue;
      std::string host = Member(store, row, "host");
      if (!host.empty()) of_process_[ProcessOf(store.instants.thread[row])] = std::move(host);
    }
    std::set<std::string_view> different;
    for (const auto& [process, host] : of_process_) different.insert(host);
    if (different.size() == 1) all_ = *different.begin();
  }

  /// Returns the machine of a counter's track. Several recordings in one file have different
  /// processes.
  std::string_view Of(ThreadId track) const {
    if (!all_.empty() || of_process_.empty()) return all_;
    const auto known = of_process_.find(ProcessOf(track));
    return known != of_process_.end() ? std::string_view(known->second) : std::string_view();
  }

 private:
  ProcessId ProcessOf(ThreadId track) const { return store_.threads.process[track.index()]; }

  const TraceStore& store_;
  std::map<ProcessId, std::string> of_process_;
  std::string_view all_;  ///< The only machine, if there is just one.
};

/// Returns one note per resource that processes outside the job used.
std::vector<std::string> ForeignUsers(const TraceStore& store) {
  constexpr std::size_t kMaxNamed = 3;
  const auto& instants = store.instants;
  std::map<std::string, std::set<std::string>> by_resource;
  for (std::size_t row = 0; row < instants.rows(); ++row) {
    if (!IsOfRecording(store, row, "foreign_user")) continue;
    std::string who = Member(store, row, "name");
    if (who.empty()) who = "an unknown process";
    if (const std::string pid = Member(store, row, "pid"); !pid.empty())
      who += fmt::format(" ({})", pid);
    by_resource[Member(store, row, "resource")].insert(std::move(who));
  }
  std::vector<std::string> notes;
  for (const auto& [resource, users] : by_resource) {
    std::string named;
    std::size_t count = 0;
    for (const std::string& user : users) {
      if (++count > kMaxNamed) break;
      named += fmt::format("{}{}", named.empty() ? "" : ", ", user);
    }
    if (users.size() > kMaxNamed) named += fmt::format(" and {} more", users.size() - kMaxNamed);
    notes.push_back(fmt::format("other processes used {} while the job ran: {}",
                                resource.empty() ? "the machine" : resource, named));
  }
  return notes;
}

}  // namespace

std::vector<MetricRow> MetricTable(const TraceStore& store) {
  const auto& counters = store.counters;
  std::vector<std::size_t> order(counters.rows());
  for (std::size_t row = 0; row < order.size(); ++row) order[row] = row;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return counters.time[a] < counters.time[b];
  });
  const Hosts hosts(store);
  std::map<std::tuple<StringId, StringId, StringId, std::string_view>, Series> found;
  for (const std::size_t row : order) {
    found[{counters.name[row], counters.series[row], counters.unit[row],
           hosts.Of(counters.thread[row])}]
        .Add(counters.time[row], counters.value[row]);
  }
  std::vector<MetricRow> rows;
  for (const auto& [key, series] : found) {
    if (series.count() == 0) continue;
    const auto& [name, instance, unit, host] = key;
    MetricRow& row = rows.emplace_back();
    row.name = store.Text(name);
    row.host = host;
    row.instance = store.Text(instance);
    row.unit = store.Text(unit);
    row.gpu = GpuOf(row.instance);
    series.Fill(row);
  }
  std::sort(rows.begin(), rows.end(), [](const MetricRow& a, const MetricRow& b) {
    return std::tie(a.name, a.host, a.gpu, a.instance, a.unit) <
           std::tie(b.name, b.host, b.gpu, b.instance, b.unit);
  });
  return rows;
}

std::vector<MachineNote> ExplainMachine(const TraceStore& store,
                                        const std::vector<MetricRow>& metrics) {
  using About = MachineNote::About;
  std::vector<MachineNote> notes;
  for (const auto rule : {CpuThrottled, NoProcessor, UnderPressure, GpuThrottled, MemoryShort}) {
    for (const MetricRow& row : metrics) {
      if (std::string note = rule(row); !note.empty())
        notes.push_back({row.gpu ? About::kGpu : About::kHost, std::move(note)});
    }
  }
  for (std::string& note : ForeignUsers(store))
    notes.push_back({About::kOtherUsers, std::move(note)});
  return notes;
}

}  // namespace headroom
