#include "analysis/gpu/unit_use.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace headroom {
namespace {

/// Finds the GPU of a counter by its series ("GPU 1"), else by the process of its track, which
/// Kineto names after the device number. Otherwise returns the only device that ran work.
DeviceId DeviceOf(const TraceStore& store, std::size_t counter, const std::set<DeviceId>& working) {
  const auto number_in = [](std::string_view text) -> std::optional<std::int64_t> {
    constexpr std::string_view kPrefix = "GPU ";
    if (text.starts_with(kPrefix)) text.remove_prefix(kPrefix.size());
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                    : std::nullopt;
  };
  std::optional<std::int64_t> ordinal = number_in(store.Text(store.counters.series[counter]));
  const ThreadId thread = store.counters.thread[counter];
  if (!ordinal && thread.valid())
    ordinal =
        number_in(store.Text(store.processes.pid[store.threads.process[thread.index()].index()]));
  for (const DeviceId device : working) {
    if (ordinal && store.devices.ordinal[device.index()] == *ordinal) return device;
  }
  return working.size() == 1 ? *working.begin() : DeviceId::None();
}

bool IsPercent(std::string_view name, std::string_view unit) {
  return unit == "%" || name.find("pct") != std::string_view::npos ||
         name.find('%') != std::string_view::npos || name.find("percent") != std::string_view::npos;
}

}  // namespace

UnitSamples::Metric UnitSamples::MetricOf(std::string_view counter) {
  struct Words {
    std::string_view part;
    Metric metric;
  };
  // Counter names in CUPTI, Nsight Systems, PyTorch and ROCm.
  static constexpr std::array<Words, 17> kWords = {
      {{"sm__cycles_active", {Unit::kMultiprocessor}},
       {"sms active", {Unit::kMultiprocessor}},
       {"sm active", {Unit::kMultiprocessor}},
       {"sm-active", {Unit::kMultiprocessor}},
       {"sm__pipe_tensor", {Unit::kTensorCore}},
       {"sm__inst_executed_pipe_tensor", {Unit::kTensorCore}},
       {"tensor active", {Unit::kTensorCore}},
       {"tensor pipe", {Unit::kTensorCore}},
       {"dram__throughput", {Unit::kMemory}},
       {"gpu__dram_throughput", {Unit::kMemory}},
       {"dram__read_throughput", {Unit::kMemoryRead}},
       {"dram__write_throughput", {Unit::kMemoryWrite}},
       {"dram throughput", {Unit::kMemory}},
       {"dram bandwidth", {Unit::kMemory}},
       {"dram read", {Unit::kMemoryRead}},
       {"dram write", {Unit::kMemoryWrite}},
       {"mfmautil", {Unit::kTensorCore, true, true}}}};
  for (const Words& words : kWords) {
    if (counter.find(words.part) != std::string_view::npos) return words.metric;
  }
  return {};
}

std::optional<double>& UnitSamples::FigureOf(UnitUse& use, Unit unit) {
  switch (unit) {
    case Unit::kMultiprocessor:
      return use.sm_active_pct;
    case Unit::kTensorCore:
      return use.tensor_active_pct;
    case Unit::kMemory:
    case Unit::kMemoryRead:
    case Unit::kMemoryWrite:
      return use.dram_active_pct;
  }
  return use.sm_active_pct;
}

void UnitSamples::AddReadsAndWrites() {
  std::map<DeviceId, std::vector<Sample>> sums;
  for (const auto& [of, reads] : samples_) {
    const auto writes = samples_.find({of.first, Unit::kMemoryWrite});
    if (of.second != Unit::kMemoryRead || writes == samples_.end()) continue;
    auto write = writes->second.begin();
    for (const Sample& read : reads) {
      while (write != writes->second.end() && write->time.start < read.time.start) ++write;
      if (write == writes->second.end()) break;
      if (write->time.start == read.time.start)
        sums[of.first].push_back({read.time, std::min(read.pct + write->pct, 100.0)});
    }
  }
  for (auto& [device, samples] : sums)
    samples_.try_emplace({device, Unit::kMemory}, std::move(samples));
  std::erase_if(samples_, [](const auto& of) {
    return of.first.second == Unit::kMemoryRead || of.first.second == Unit::kMemoryWrite;
  });
}

/// Keeps only samples taken while a dispatch runs. Between dispatches these counters read 0 because
/// nothing measures them.
void UnitSamples::KeepDispatches(const TraceStore& store, const std::set<Unit>& units) {
  if (units.empty()) return;
  std::set<std::pair<DeviceId, TimeNs>> starts;
  for (std::size_t i = 0; i < store.gpu_tasks.rows(); ++i)
    starts.emplace(store.DeviceOf(GpuTaskId(i)), store.gpu_tasks.start[i]);
  for (auto& [of, samples] : samples_) {
    if (!units.contains(of.second)) continue;
    std::erase_if(samples, [&, device = of.first](const Sample& sample) {
      return !starts.contains({device, sample.time.start});
    });
  }
}

UnitSamples::UnitSamples(const TraceStore& store) {
  const auto& counters = store.counters;
  if (counters.rows() == 0) return;
  std::set<DeviceId> working;
  for (const StreamId stream : store.gpu_tasks.stream.values())
    working.insert(store.streams.device[stream.index()]);
  // Assigns each counter to a unit by name or, if one event has several series, by series. Uses the
  // first counter name found for a unit: the other names measure the same quantity.
  std::map<std::pair<StringId, StringId>, Metric> metrics;
  std::map<Unit, std::string> chosen;
  std::set<Unit> of_dispatches;
  for (std::size_t row = 0; row < counters.rows(); ++row) {
    const std::pair key(counters.name[row], counters.series[row]);
    auto [known, is_new] = metrics.try_emplace(key);
    if (is_new) {
      for (const StringId text : {key.second, key.first}) {
        const std::string name = LowerCase(store.Text(text));
        const Metric metric = MetricOf(name);
        const bool is_percent =
            metric.is_percent || IsPercent(name, store.Text(counters.unit[row]));
        if (!metric.unit || !is_percent) continue;
        if (chosen.try_emplace(*metric.unit, name).first->second == name) known->second = metric;
        break;
      }
      if (known->second.of_dispatches) of_dispatches.insert(*known->second.unit);
    }
    const std::optional<Unit> unit = known->second.unit;
    const double value = counters.value[row];
    if (!unit || !(value >= 0 && value <= 100)) continue;
    const DeviceId device = DeviceOf(store, row, working);
    if (device.valid())
      samples_[{device, *unit}].push_back({{counters.time[row], counters.time[row]}, value});
  }
  for (auto& [of, samples] : samples_) {
    std::stable_sort(samples.begin(), samples.end(),
                     [](const Sample& a, const Sample& b) { return a.time.start < b.time.start; });
  }
  AddReadsAndWrites();
  for (auto& [of, samples] : samples_) {
    for (std::size_t i = 0; i + 1 < samples.size(); ++i)
      samples[i].time.end = samples[i + 1].time.start;
    samples.pop_back();  // The last sample's length is unknown.
  }
  KeepDispatches(store, of_dispatches);
  std::erase_if(samples_, [](const auto& of) { return of.second.empty(); });
}

UnitUse UnitSamples::MeanOver(DeviceId device, const IntervalSet& times) const {
  UnitUse use;
  for (const auto& [of, samples] : samples_) {
    if (of.first != device) continue;
    double weighted = 0, covered = 0;
    for (const Sample& sample : samples) {
      const auto part = static_cast<double>(times.MeasureWithin(sample.time).ns());
      weighted += part * sample.pct;
      covered += part;
    }
    if (covered > 0 && 2 * covered >= static_cast<double>(times.Measure().ns()))
      FigureOf(use, of.second) = weighted / covered;
  }
  return use;
}

std::map<StringId, UnitUse> UnitSamples::MeansByName(const TraceStore& store) const {
  constexpr double kAlone = 0.9;
  // Limits the work for traces with damaged times, in which any number of tasks may overlap.
  constexpr std::size_t kMaxAtOnce = 256;
  struct Sums {
    double weighted = 0, covered = 0;
  };
  std::map<std::pair<StringId, Unit>, Sums> sums;
  const auto& tasks = store.gpu_tasks;
  for (const auto& [of, samples] : samples_) {
    // `open` is a heap of the running tasks by their ends; `names` counts them by name.
    std::vector<std::uint32_t> open;
    std::map<StringId, std::int64_t> names;
    const auto ends_later = [&](std::uint32_t a, std::uint32_t b) {
      return store.TaskEnd(GpuTaskId(a)) > store.TaskEnd(GpuTaskId(b));
    };
    std::uint32_t next = 0;
    for (const Sample& sample : samples) {
      for (; next < tasks.rows() && tasks.start[next] < sample.time.end; ++next) {
        if (store.DeviceOf(GpuTaskId(next)) != of.first) continue;
        open.push_back(next);
        std::push_heap(open.begin(), open.end(), ends_later);
        ++names[tasks.name[next]];
      }
      while (!open.empty() && store.TaskEnd(GpuTaskId(open.front())) <= sample.time.start) {
        const auto name = names.find(tasks.name[open.front()]);
        if (--name->second == 0) names.erase(name);
        std::pop_heap(open.begin(), open.end(), ends_later);
        open.pop_back();
      }
      if (names.size() != 1 || open.size() > kMaxAtOnce) continue;
      std::vector<Interval> runs;
      runs.reserve(open.size());
      for (const std::uint32_t task : open)
        runs.push_back({tasks.start[task], store.TaskEnd(GpuTaskId(task))});
      const auto length = static_cast<double>(sample.time.length().ns());
      const IntervalSet alone = IntervalSet::UnionOf(std::move(runs));
      if (static_cast<double>(alone.MeasureWithin(sample.time).ns()) < kAlone * length) continue;
      Sums& of_name = sums[{names.begin()->first, of.second}];
      of_name.weighted += length * sample.pct;
      of_name.covered += length;
    }
  }
  std::map<StringId, UnitUse> means;
  for (const auto& [of, sum] : sums) {
    if (sum.covered > 0) FigureOf(means[of.first], of.second) = sum.weighted / sum.covered;
  }
  return means;
}

}  // namespace headroom
