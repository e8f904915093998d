#include "analysis/loop/stacks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/interval_set.h"
#include "base/statistics.h"

namespace headroom {
namespace {

constexpr std::string_view kOutside = "outside steps", kOtherThreads = "other threads",
                           kWorkers = "loader workers";

bool IsOfLibrary(std::string_view frame) {
  return frame == kImportFrame || frame.starts_with("site-packages/") ||
         frame.starts_with("dist-packages/") || frame.starts_with("python3.") ||
         frame.starts_with('<');
}

/// Calls `use` for each frame of a stack, outermost first.
void ForEachFrame(std::string_view stack, const std::function<void(std::string_view)>& use) {
  while (!stack.empty()) {
    const std::size_t end = std::min(stack.find(';'), stack.size());
    use(stack.substr(0, end));
    stack.remove_prefix(std::min(end + 1, stack.size()));
  }
}

/// Returns "json/decoder.py: decode" of "python3.11/json/decoder.py(355): decode".
std::string WithoutLine(std::string_view frame) {
  const std::size_t open = frame.rfind('('),
                    close = frame.find("): ", std::min(open, frame.size()));
  if (open == std::string_view::npos || close == std::string_view::npos) return std::string(frame);
  return std::string(frame.substr(0, open)) + std::string(frame.substr(close + 1));
}

std::string Shown(std::string_view stack) {
  std::string shown, last;
  ForEachFrame(stack, [&](std::string_view frame) {
    std::string text = IsOfLibrary(frame) ? WithoutLine(frame) : std::string(frame);
    if (text == last) return;
    if (!shown.empty()) shown += ';';
    shown += text;
    last = std::move(text);
  });
  return shown;
}

bool Contains(const IntervalSet& set, TimeNs time) {
  const auto& intervals = set.intervals();
  const auto after = std::ranges::upper_bound(intervals, time, {}, &Interval::start);
  return after != intervals.begin() && time < std::prev(after)->end;
}

std::int64_t SamplesOf(const TraceStore& store, std::size_t row) {
  const std::string_view text = store.Arg(store.instants.args[row], "samples");
  std::int64_t samples = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), samples);
  return read.ec == std::errc() ? std::max<std::int64_t>(samples, 1) : 1;
}

/// Rows by stack and part.
using Rows = std::map<std::pair<std::string, std::string>, StackRow>;

void Add(const StackRow& row, Rows& rows) {
  StackRow& sum = rows.try_emplace({row.stack, row.part},
                                   StackRow{.stack = row.stack, .part = row.part, .total = {}})
                      .first->second;
  sum.samples += row.samples;
  sum.total += row.total;
}

std::vector<StackRow> Sorted(const Rows& found) {
  DurationNs all;
  std::vector<StackRow> rows;
  for (const auto& [key, row] : found) {
    all += row.total;
    rows.push_back(row);
  }
  for (StackRow& row : rows) row.share_pct = SharePct(row.total, all);
  std::ranges::stable_sort(rows, std::greater<>(), &StackRow::total);
  return rows;
}

/// The part of the loop at a time.
class Parts {
 public:
  Parts(const StepAnalysis& steps, const HostActivity& host)
      : steps_(IntervalSet::UnionOf(steps.hosts)),
        parts_{{{"data wait", &host.data_wait},
                {"callback", &host.callback},
                {"copy to GPU", &host.host_to_device},
                {"communication", &host.communication},
                {"optimizer", &host.optimizer},
                {"backward", &host.backward},
                {"forward", &host.forward}}} {}

  std::string_view At(TimeNs time) const {
    if (!Contains(steps_, time)) return kOutside;
    for (const auto& [name, set] : parts_) {
      if (Contains(*set, time)) return name;
    }
    return "other";
  }

 private:
  IntervalSet steps_;
  std::array<std::pair<std::string_view, const IntervalSet*>, 7> parts_;
};

}  // namespace

std::string_view OwnFrame(std::string_view stack) {
  std::string_view own, innermost;
  ForEachFrame(stack, [&](std::string_view frame) {
    if (!IsOfLibrary(frame)) own = frame;
    innermost = frame;
  });
  return own.empty() ? innermost : own;
}

bool HasFrame(std::string_view stack, std::string_view frame) {
  bool found = false;
  ForEachFrame(stack, [&](std::string_view one) { found |= one == frame; });
  return found;
}

IntervalSet StackSamples::TimeOf(const std::function<bool(StringId)>& is_wanted) const {
  IntervalSet time;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!is_wanted(list[i].stack)) continue;
    const TimeNs held = list[i].time + DurationNs(interval.ns() * list[i].count);
    time.AppendInOrder({list[i].time, i + 1 < list.size() ? list[i + 1].time : held});
  }
  return time;
}

std::map<ThreadId, StackSamples> StacksByThread(const TraceStore& store) {
  const auto& instants = store.instants;
  const StringId category = store.strings.Find(kStackCategory);
  std::map<ThreadId, StackSamples> threads;
  for (std::size_t row = 0; category.valid() && row < instants.rows(); ++row) {
    if (instants.category[row] != category || !instants.thread[row].valid()) continue;
    threads[instants.thread[row]].list.push_back(
        {instants.time[row], instants.name[row], SamplesOf(store, row)});
  }
  for (auto& [thread, samples] : threads) {
    std::ranges::stable_sort(samples.list, {}, &StackSamples::Sample::time);
    std::int64_t requests = 0;
    for (const auto& sample : samples.list) requests += sample.count;
    // The last requests of the last call are after the last sample's time.
    requests -= samples.list.back().count;
    const DurationNs span = samples.list.back().time - samples.list.front().time;
    if (requests > 0) samples.interval = DurationNs(span.ns() / requests);
  }
  return threads;
}

std::vector<StackRow> StackTable(const TraceStore& store, const StepAnalysis& steps,
                                 const HostActivity& host) {
  const Parts parts(steps, host);
  const ThreadId loop = store.steps.rows() > 0 ? store.steps.thread[0] : ThreadId::None();
  const auto& process = store.threads.process;
  std::map<StringId, std::string> shown;
  Rows found;
  for (const auto& [thread, samples] : StacksByThread(store)) {
    const bool of_loop = !loop.valid() || thread == loop;
    const std::string_view elsewhere =
        loop.valid() && process[thread.index()] == process[loop.index()] ? kOtherThreads : kWorkers;
    for (const StackSamples::Sample& sample : samples.list) {
      auto [text, is_new] = shown.try_emplace(sample.stack);
      if (is_new) text->second = Shown(store.Text(sample.stack));
      Add({.stack = text->second,
           .part = std::string(of_loop ? parts.At(sample.time) : elsewhere),
           .samples = sample.count,
           .total = DurationNs(samples.interval.ns() * sample.count)},
          found);
    }
  }
  return Sorted(found);
}

std::vector<StackRow> ByOwnLine(const std::vector<StackRow>& rows) {
  Rows found;
  for (const StackRow& row : rows) {
    StackRow line = row;
    line.stack = OwnFrame(row.stack);
    Add(line, found);
  }
  return Sorted(found);
}

}  // namespace headroom
