#include "capture/metrics/host/cpu.h"

#include <algorithm>
#include <utility>

#include "capture/metrics/board/fields.h"

namespace headroom {
namespace {

std::optional<CpuTimes> ParseTimes(Fields& fields) {
  CpuTimes times;
  int read = 0;
  for (std::uint64_t* column : {&times.user, &times.nice, &times.system, &times.idle, &times.iowait,
                                &times.irq, &times.softirq, &times.steal}) {
    const std::optional<std::uint64_t> ticks = fields.NextNumber();
    if (!ticks) break;
    *column = *ticks;
    ++read;
  }
  constexpr int kOldest = 4;  // The line of Linux 2.4 ends with idle.
  return read >= kOldest ? std::optional(times) : std::nullopt;
}

}  // namespace

void ParseProcStat(std::string_view text, ProcStat& stat) {
  stat.all.reset();
  stat.cores.clear();
  stat.context_switches.reset();
  stat.running.reset();
  stat.blocked.reset();
  Lines lines(text);
  for (std::string_view line; lines.Next(line);) {
    Fields fields(line);
    if (line.starts_with("cpu")) {
      const std::string_view name = fields.Next();
      const std::optional<CpuTimes> times = ParseTimes(fields);
      if (!times) continue;
      if (name == "cpu") {
        stat.all = times;
      } else if (const auto id = ParseNumber<int>(name.substr(3))) {
        stat.cores.push_back({*id, *times});
      }
    } else if (line.starts_with("ctxt ")) {
      fields.Skip(1);
      stat.context_switches = fields.NextNumber();
    } else if (line.starts_with("procs_running ")) {
      fields.Skip(1);
      stat.running = fields.NextNumber();
    } else if (line.starts_with("procs_blocked ")) {
      fields.Skip(1);
      stat.blocked = fields.NextNumber();
    }
  }
}

std::optional<CpuShares> SharesBetween(const CpuTimes& last, const CpuTimes& now) {
  const auto grown = [](std::uint64_t a, std::uint64_t b) { return b > a ? b - a : 0; };
  if (now.user < last.user || now.nice < last.nice || now.system < last.system ||
      now.irq < last.irq || now.softirq < last.softirq || now.steal < last.steal) {
    return std::nullopt;
  }
  const std::uint64_t user = now.user - last.user + now.nice - last.nice;
  const std::uint64_t system =
      now.system - last.system + now.irq - last.irq + now.softirq - last.softirq;
  const std::uint64_t steal = now.steal - last.steal;
  const std::uint64_t iowait = grown(last.iowait, now.iowait);
  const std::uint64_t all = user + system + steal + iowait + grown(last.idle, now.idle);
  if (all == 0) return std::nullopt;
  const auto percent = [&](std::uint64_t part) {
    return 100 * static_cast<double>(part) / static_cast<double>(all);
  };
  return CpuShares{.busy = percent(user + system + steal),
                   .user = percent(user),
                   .system = percent(system),
                   .iowait = percent(iowait),
                   .steal = percent(steal)};
}

CpuSource::CpuSource(const std::string& root, MetricBoard& board)
    : file_(root + "/proc/stat"),
      util_(board.AddShare({"cpu_util_simple", "%"})),
      busiest_(board.AddShare({"cpu_busiest_core_pct", "%"})),
      user_(board.AddShare({"cpu_user_pct", "%"})),
      system_(board.AddShare({"cpu_system_pct", "%"})),
      iowait_(board.AddShare({"cpu_iowait_pct", "%"})),
      steal_(board.AddShare({"cpu_steal_pct", "%"})),
      running_(board.AddGauge({"tasks_running", "1"})),
      blocked_(board.AddGauge({"tasks_blocked", "1"})),
      switches_(board.AddRate(
          {.name = "context_switches_per_s", .unit = "1/s", .counter = "context_switches"})) {}

void CpuSource::Read(SampleRun& run) {
  const std::optional<KernelFile::Text> read = file_.Read(run.buffer);
  if (!read) return;
  ParseProcStat(read->text, now_);
  MetricBoard& board = run.board;
  if (now_.all && last_.all) {
    if (const std::optional<CpuShares> shares = SharesBetween(*last_.all, *now_.all)) {
      board.Set(util_, shares->busy);
      board.Set(user_, shares->user);
      board.Set(system_, shares->system);
      board.Set(iowait_, shares->iowait);
      board.Set(steal_, shares->steal);
    }
  }
  // Both readings list cores by number. Skips cores that were switched on or off in between.
  std::optional<double> busiest;
  auto last = last_.cores.begin();
  for (const ProcStat::Core& core : now_.cores) {
    while (last != last_.cores.end() && last->id < core.id) ++last;
    if (last == last_.cores.end()) break;
    if (last->id != core.id) continue;
    const std::optional<CpuShares> shares = SharesBetween(last->times, core.times);
    if (shares) busiest = std::max(busiest.value_or(0), shares->busy);
  }
  if (busiest) board.Set(busiest_, *busiest);
  if (now_.running) board.Set(running_, static_cast<double>(*now_.running));
  if (now_.blocked) board.Set(blocked_, static_cast<double>(*now_.blocked));
  board.Count(switches_, read->at, now_.context_switches);
  std::swap(last_, now_);
}

}  // namespace headroom
