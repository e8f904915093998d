#include "compare/job_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "analysis/loop/breakdown.h"
#include "analysis/names/attribution.h"
#include "analysis/verdict/remedies.h"
#include "base/interval_set.h"
#include "base/statistics.h"
#include "compare/comparability.h"
#include "render/number_format.h"

namespace headroom {
namespace {

constexpr std::size_t kLongest = 160;          ///< Maximum length of a row's name, in bytes.
constexpr std::string_view kCutMark = "...#";  ///< Precedes the hash in a truncated name.

/// Returns the part of the step for a GPU activity; kUnknown for idle time, see SplitIdle().
StepPart PartOf(GpuActivity activity) {
  switch (activity) {
    case GpuActivity::kCompute:
      return StepPart::kCompute;
    case GpuActivity::kCommunication:
      return StepPart::kCommunication;
    case GpuActivity::kCopyIn:
      return StepPart::kCopiesIn;
    case GpuActivity::kOtherCopy:
      return StepPart::kCopies;
    case GpuActivity::kIdle:
      break;
  }
  return StepPart::kUnknown;
}

/// Returns true if host events determine the part; GPU work determines the others.
bool TellsOfHost(StepPart part) {
  return part == StepPart::kDataWait || part == StepPart::kCallback || part == StepPart::kHost;
}

/// Sums of one name by step. Stores only steps with values, in step order if the tasks come in that
/// order.
class SumsByStep {
 public:
  void Add(std::int32_t step, double calls, double ns) {
    calls_ += calls;
    for (std::size_t back = 0; back < std::min<std::size_t>(4, sums_.size()); ++back) {
      auto& [of, sum] = sums_[sums_.size() - 1 - back];
      if (of != step) continue;
      sum += ns;
      return;
    }
    sums_.emplace_back(step, ns);
  }
  double calls() const { return calls_; }
  /// Returns the mean in ms; `row_of` maps a step to its row among the `steps` that count.
  Estimate Of(std::size_t steps, const std::vector<std::int32_t>& row_of) const {
    std::vector<double> series(steps);
    for (const auto& [step, sum] : sums_)
      series[static_cast<std::size_t>(row_of[static_cast<std::size_t>(step)])] += sum / 1e6;
    return EstimateMean(series);
  }

 private:
  std::vector<std::pair<std::int32_t, double>> sums_;
  double calls_ = 0;
};

struct NamedSums {
  SumsByStep sums;
  double exposed_ns = 0;
  std::unordered_map<std::uint32_t, double> operators;  ///< For kernels: time by operator name.
};
using SumsByName = std::map<StringId, NamedSums>;

void SortRows(std::vector<ProfileRow>& rows) {
  std::sort(rows.begin(), rows.end(), [](const ProfileRow& a, const ProfileRow& b) {
    return a.ms.value != b.ms.value ? a.ms.value > b.ms.value : a.name < b.name;
  });
}

/// One pass over a trace, with its sums by step.
class Profiler {
 public:
  Profiler(const TraceStore& store, NameFacts& names, const AnalyzedTrace& trace)
      : store_(store), names_(names), trace_(trace), attribution_(*trace.attribution) {}

  Result<JobProfile> Make();

 private:
  using Parts = std::array<double, kStepPartNames.size()>;

  bool IsWhole(std::int32_t step) const { return step >= 0 && row_of_[step] >= 0; }
  void FindSteps();
  void SumTasks();
  /// Splits the spans of the steps by GPU activity, and GPU idle time by host activity.
  void SplitSteps();
  /// @param host_wait, queue_wait  idle time that neither a loader nor a callback explains
  void SplitIdle(const StepPiece& idle, const IntervalSet& host_wait,
                 const IntervalSet& queue_wait);
  double& PartOfStep(std::size_t step, StepPart part) {
    return parts_[step][static_cast<std::size_t>(part)];
  }
  std::vector<ProfileRow> Rows(const SumsByName& sums) const;
  bool HasOperators() const;
  void AddFigures(JobProfile& profile) const;
  void AddFacts(JobProfile& profile) const;

  const TraceStore& store_;
  NameFacts& names_;
  const AnalyzedTrace& trace_;
  const Attribution& attribution_;

  /// Index among whole steps by row of steps.list; -1: not whole.
  std::vector<std::int32_t> row_of_;
  std::vector<Interval> spans_;        ///< Spans of whole steps, in order.
  std::vector<Parts> parts_;           ///< One per whole step, in ns.
  std::vector<StepBreakdown> phases_;  ///< One per whole step.
  std::vector<double> launches_, task_ns_, operators_called_;
  SumsByName kernels_, by_operator_, layers_;
};

void Profiler::FindSteps() {
  const StepAnalysis& steps = trace_.steps;
  row_of_.assign(steps.steps.list.size(), -1);
  for (const std::size_t row : JudgedRows(steps)) {
    row_of_[row] = static_cast<std::int32_t>(spans_.size());
    spans_.push_back(steps.spans[row]);
  }
  parts_.resize(spans_.size());
  launches_.resize(spans_.size());
  task_ns_.resize(spans_.size());
  operators_called_.resize(spans_.size());
}

void Profiler::SumTasks() {
  const auto& tasks = store_.gpu_tasks;
  const auto& events = store_.host_events;
  std::vector<bool> op_seen(events.rows()), layer_seen(events.rows());
  const auto first_time = [](std::vector<bool>& seen, HostEventId event) {
    if (seen[event.index()]) return 0.0;
    seen[event.index()] = true;
    return 1.0;
  };
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    const std::int32_t step = trace_.steps.step_of_task[i];
    if (!IsWhole(step)) continue;
    const auto row = static_cast<std::size_t>(row_of_[step]);
    const auto ns = static_cast<double>(tasks.duration[i].ns());
    launches_[row] += 1;
    task_ns_[row] += ns;
    const HostContext& context = attribution_.Of(GpuTaskId(i));
    NamedSums& kernel = kernels_[tasks.name[i]];
    kernel.sums.Add(step, 1, ns);
    if (context.op.valid()) {
      const StringId name = events.name[context.op.index()];
      kernel.operators[static_cast<std::uint32_t>(name.index())] += ns;
      by_operator_[name].sums.Add(step, first_time(op_seen, context.op), ns);
    }
    if (context.layer.valid()) {
      const StringId name = events.name[context.layer.index()];
      layers_[name].sums.Add(step, first_time(layer_seen, context.layer), ns);
    }
  }
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (events.kind[row] != HostEventKind::kOperator) continue;
    const auto at =
        std::partition_point(trace_.steps.hosts.begin(), trace_.steps.hosts.end(),
                             [&](const Interval& host) { return host.end <= events.start[row]; });
    if (at == trace_.steps.hosts.end() || events.start[row] < at->start) continue;
    const auto step = static_cast<std::int32_t>(at - trace_.steps.hosts.begin());
    if (IsWhole(step)) operators_called_[static_cast<std::size_t>(row_of_[step])] += 1;
  }
}

void Profiler::SplitSteps() {
  const StepAnalysis& steps = trace_.steps;
  const IntervalSet called = Unite(trace_.host.data_wait, trace_.host.callback);
  const IntervalSet host_wait = Subtract(steps.late, called);
  const IntervalSet queue_wait = Subtract(steps.queued, called);
  phases_.resize(spans_.size());
  ForEachPiece(store_, names_, steps.process, spans_, [&](const StepPiece& piece) {
    AddPiece(piece, attribution_, trace_.host, phases_[piece.span]);
    if (piece.activity == GpuActivity::kIdle) return SplitIdle(piece, host_wait, queue_wait);
    const auto ns = static_cast<double>(piece.time.length().ns());
    PartOfStep(piece.span, PartOf(piece.activity)) += ns;
    if (piece.activity != GpuActivity::kCompute) return;
    const HostContext& context = attribution_.Of(piece.task);
    if (context.op.valid())
      by_operator_[store_.host_events.name[context.op.index()]].exposed_ns += ns;
  });
}

void Profiler::SplitIdle(const StepPiece& idle, const IntervalSet& host_wait,
                         const IntervalSet& queue_wait) {
  DurationNs rest = idle.time.length();
  const auto add = [&](StepPart part, DurationNs time) {
    PartOfStep(idle.span, part) += static_cast<double>(time.ns());
    rest -= time;
  };
  add(StepPart::kDataWait, trace_.host.data_wait.MeasureWithin(idle.time));
  add(StepPart::kCallback, trace_.host.callback.MeasureWithin(idle.time));
  if (store_.gpu_tasks.rows() == 0) return add(StepPart::kHost, rest);
  add(StepPart::kHost, host_wait.MeasureWithin(idle.time));
  add(StepPart::kQueue, queue_wait.MeasureWithin(idle.time));
  add(StepPart::kUnknown, rest);
}

std::vector<ProfileRow> Profiler::Rows(const SumsByName& sums) const {
  std::vector<ProfileRow> list;
  const auto steps = static_cast<double>(spans_.size());
  for (const auto& [name, sum] : sums) {
    ProfileRow& row = list.emplace_back(ProfileRow{.name = std::string(store_.Text(name)),
                                                   .calls = sum.sums.calls() / steps,
                                                   .ms = sum.sums.Of(spans_.size(), row_of_),
                                                   .exposed_ms = sum.exposed_ns / steps / 1e6});
    double most = 0;
    for (const auto& [of, ns] : sum.operators) {
      const std::string op(store_.Text(StringId(of)));
      if (ns > most || (ns == most && op < row.inside)) row.inside = op;
      most = std::max(most, ns);
    }
  }
  SortRows(list);
  return list;
}

bool Profiler::HasOperators() const {
  const auto& kinds = store_.host_events.kind;
  for (std::size_t row = 0; row < store_.host_events.rows(); ++row) {
    if (kinds[row] == HostEventKind::kOperator) return true;
  }
  return false;
}

void Profiler::AddFigures(JobProfile& profile) const {
  RunFigures& figures = profile.runs.emplace_back();
  const std::size_t n = spans_.size();
  std::vector<double> walls, busy(n);
  for (const Interval& span : spans_) walls.push_back(span.length().ms());
  figures["step_ms"] = EstimateMedian(walls);
  figures["mean_step_ms"] = EstimateMean(walls);
  std::vector<double> sorted = walls;
  std::sort(sorted.begin(), sorted.end());
  profile.least_ms = SortedPercentile(sorted, 10);
  profile.most_ms = SortedPercentile(sorted, 90);
  profile.median_ms = figures["step_ms"].value;
  // Data that was not recorded gives no figure, because a rule on it would always pass.
  const bool has_gpu = store_.gpu_tasks.rows() > 0, has_host = store_.host_events.rows() > 0;
  for (std::size_t part = 0; part < kStepPartNames.size(); ++part) {
    std::vector<double> series;
    for (const Parts& parts : parts_) series.push_back(parts[part] / 1e6);
    const Estimate mean = EstimateMean(series);
    profile.parts_ms[part] = mean.value;
    if (part <= static_cast<std::size_t>(StepPart::kCopies)) {
      for (std::size_t i = 0; i < n; ++i) busy[i] += series[i];
    }
    if (TellsOfHost(static_cast<StepPart>(part)) ? has_host : has_gpu)
      figures[fmt::format("{}_ms", kStepPartNames[part])] = mean;
  }
  for (std::size_t phase = 0; phase < kPhaseNames.size(); ++phase) {
    std::vector<double> series;
    for (const StepBreakdown& step : phases_)
      series.push_back((step.step.*kBreakdownParts[phase].time).ms());
    const Estimate mean = EstimateMean(series);
    profile.phases_ms[phase] = mean.value;
    if (has_host) figures[fmt::format("phase.{}_ms", kPhaseNames[phase])] = mean;
  }
  if (HasOperators()) figures["operators"] = EstimateMean(operators_called_);
  if (has_gpu) {
    figures["gpu_busy_ms"] = EstimateMean(busy);
    std::vector<double> idle;
    for (std::size_t i = 0; i < n; ++i) idle.push_back(walls[i] - busy[i]);
    figures["gpu_idle_ms"] = EstimateMean(idle);
    std::vector<double> task_ms;
    for (const double ns : task_ns_) task_ms.push_back(ns / 1e6);
    figures["gpu_work_ms"] = EstimateMean(task_ms);
    figures["gpu_tasks"] = EstimateMean(launches_);
  }
  std::int64_t peak = 0;
  for (const MemoryUse& use : trace_.report.memory) {
    if (use.device) peak = std::max(peak, use.peak.allocated_bytes);
  }
  // The peak is one moment of one run. Only repeated runs show how it varies.
  if (peak > 0)
    figures["memory_peak_mb"] = {
        .value = static_cast<double>(peak) / 1e6, .error = 0, .freedom = 1};
}

/// Returns the values of the metric's rows as one string; empty if not recorded.
std::string MetricText(const TraceReport& report, std::string_view name) {
  std::set<std::string> values;
  for (const MetricRow& row : report.metrics) {
    if (row.name == name) values.insert(fmt::format("{:.0f} {}", row.mean, row.unit));
  }
  return fmt::format("{}", fmt::join(values, ", "));
}

void Profiler::AddFacts(JobProfile& profile) const {
  const TraceReport& report = trace_.report;
  const auto add = [&](std::string_view name, std::string value) {
    if (!value.empty()) profile.facts.push_back({std::string(name), std::move(value)});
  };
  std::set<std::string> gpus;
  std::int64_t unnamed = 0;
  for (const DeviceInfo& device : report.input.devices) {
    if (device.name.empty()) {
      ++unnamed;
    } else {
      gpus.insert(device.name);
    }
  }
  if (unnamed == 0) add("gpu", fmt::format("{}", fmt::join(gpus, ", ")));
  if (!report.gpu_time.empty()) add("gpus_used", fmt::format("{}", report.gpu_time.size()));
  if (report.input.rank) add("ranks", fmt::format("{}", *report.input.rank));
  if (report.input.world_size) add("world_size", fmt::format("{}", *report.input.world_size));
  if (store_.metadata.cuda_driver_version)
    add("cuda_driver", CudaVersionText(*store_.metadata.cuda_driver_version));
  for (const SoftwareVersion& row : store_.metadata.versions)
    add("version." + row.name, row.version);
  add("math_dtype", report.efficiency.math_dtype);
  if (report.efficiency.flops_per_step)
    add("flops_per_step", fmt::format("{:.4g}", *report.efficiency.flops_per_step));
  add("sm_clock", MetricText(report, "gpu_sm_clock_mhz"));
  add("memory_clock", MetricText(report, "gpu_memory_clock_mhz"));
  add("power_limit", MetricText(report, "gpu_power_limit_w"));
  add("format", report.input.recorded_as);
  // Recording shapes and frames slows the host with each operator.
  const bool host = HasOperators();
  bool frames = false;
  for (std::size_t row = 0; row < store_.host_events.rows(); ++row)
    frames |= store_.host_events.kind[row] == HostEventKind::kPythonFrame;
  const auto has_issue = [&](ImportIssue issue) {
    return std::any_of(report.health.issues.begin(), report.health.issues.end(),
                       [&](const HealthIssue& row) { return row.issue == issue; });
  };
  std::vector<std::string> recorded;
  if (host) recorded.emplace_back("operators");
  if (host && !has_issue(ImportIssue::kNoShapes)) recorded.emplace_back("shapes");
  if (frames) recorded.emplace_back("stacks");
  if (store_.memory_events.rows() > 0) recorded.emplace_back("memory");
  if (store_.gpu_tasks.rows() > 0) recorded.emplace_back("GPU work");
  add("recorded", store_.metadata.is_forecast ? "a forecast of headroom whatif"
                                              : fmt::format("{}", fmt::join(recorded, ", ")));
  add("layers", report.layers.empty() ? "not recorded" : "recorded");
}

Result<JobProfile> Profiler::Make() {
  FindSteps();
  if (spans_.empty()) {
    return Status::NoAnswer(
        fmt::format("{}: the trace has no complete step, which a comparison requires; {}",
                    trace_.report.input.path, HowToTellSteps(store_.metadata.recorded_as())));
  }
  SumTasks();
  SplitSteps();
  JobProfile profile;
  profile.paths = {trace_.report.input.path};
  profile.steps = static_cast<std::int64_t>(spans_.size());
  profile.grade = trace_.report.health.grade;
  AddFigures(profile);
  profile.kernels = Rows(kernels_);
  profile.operators = Rows(by_operator_);
  profile.layers = Rows(layers_);
  AddFacts(profile);
  return profile;
}

using Rows = std::vector<ProfileRow>;

/// Returns the mean rows over `count` runs. `all` holds the rows of all these runs.
Rows JoinRows(const Rows& all, double count) {
  std::map<std::string, ProfileRow> by_name;
  for (const ProfileRow& row : all) {
    ProfileRow& joined = by_name[row.name];
    if (joined.name.empty()) joined.inside = row.inside;
    joined.name = row.name;
    joined.calls += row.calls / count;
    joined.exposed_ms += row.exposed_ms / count;
    joined.ms.value += row.ms.value / count;
    joined.ms.error = std::hypot(joined.ms.error, row.ms.error / count);
    joined.ms.freedom += row.ms.freedom;
  }
  Rows rows;
  for (auto& [name, row] : by_name) rows.push_back(std::move(row));
  SortRows(rows);
  return rows;
}

/// Merges facts into one value each. `of_what` ("runs") names the objects whose values differ.
void JoinFacts(const std::vector<ProfileFact>& more, std::string_view of_what,
               std::vector<ProfileFact>& facts) {
  const std::string differs = fmt::format("differs between {}: ", of_what);
  for (const ProfileFact& fact : more) {
    const auto same = std::find_if(facts.begin(), facts.end(), [&](const ProfileFact& other) {
      return other.name == fact.name;
    });
    if (same == facts.end()) {
      facts.push_back(fact);
    } else if (!FactsAgree(fact.name, same->value, fact.value) &&
               !same->value.starts_with(differs)) {
      same->value = fmt::format("{}{}; {}", differs, same->value, fact.value);
    }
  }
}

/// Adds the figures of one of `count` runs to the means of the same ranks.
void JoinRankFigures(const std::vector<RankFigures>& more, double count,
                     std::vector<RankFigures>& ranks) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    ranks[i].step_ms += more[i].step_ms / count;
    ranks[i].compute_ms += more[i].compute_ms / count;
    ranks[i].exposed_communication_ms += more[i].exposed_communication_ms / count;
    ranks[i].idle_ms += more[i].idle_ms / count;
    if (ranks[i].waited_ms && more[i].waited_ms)
      *ranks[i].waited_ms += *more[i].waited_ms / count;
    else
      ranks[i].waited_ms.reset();
  }
}

/// Returns the means over profiles and collects their figures; see JoinRuns() and JoinRanks().
JobProfile Join(std::vector<JobProfile> profiles, std::string_view of_what) {
  const auto count = static_cast<double>(profiles.size());
  JobProfile joined = std::move(profiles.front());
  const auto scale = [&](auto& values) {
    for (double& value : values) value /= count;
  };
  scale(joined.parts_ms);
  scale(joined.phases_ms);
  joined.median_ms /= count;
  for (std::size_t r = 1; r < profiles.size(); ++r) {
    JobProfile& more = profiles[r];
    for (std::string& path : more.paths) {
      // Several ranks may come from one file.
      if (std::find(joined.paths.begin(), joined.paths.end(), path) == joined.paths.end())
        joined.paths.push_back(std::move(path));
    }
    joined.steps += more.steps;
    joined.grade = std::max(joined.grade, more.grade);
    joined.median_ms += more.median_ms / count;
    joined.least_ms = std::min(joined.least_ms, more.least_ms);
    joined.most_ms = std::max(joined.most_ms, more.most_ms);
    for (std::size_t i = 0; i < joined.parts_ms.size(); ++i)
      joined.parts_ms[i] += more.parts_ms[i] / count;
    for (std::size_t i = 0; i < joined.phases_ms.size(); ++i)
      joined.phases_ms[i] += more.phases_ms[i] / count;
    joined.runs.insert(joined.runs.end(), more.runs.begin(), more.runs.end());
    const auto append = [](Rows& to, const Rows& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(joined.kernels, more.kernels);
    append(joined.operators, more.operators);
    append(joined.layers, more.layers);
    JoinFacts(more.facts, of_what, joined.facts);
  }
  joined.kernels = JoinRows(joined.kernels, count);
  joined.operators = JoinRows(joined.operators, count);
  joined.layers = JoinRows(joined.layers, count);
  return joined;
}

/// Returns the figures that all ranks of a run have, as figures of the job.
RunFigures FiguresOverRanks(const std::vector<RunFigures>& ranks) {
  const auto count = static_cast<double>(ranks.size());
  RunFigures figures;
  for (const auto& [name, first] : ranks.front()) {
    Estimate over = {.value = 0, .error = 0, .freedom = first.freedom};
    Estimate most = first;
    bool known = true;
    for (const RunFigures& rank : ranks) {
      const auto found = rank.find(name);
      if (found == rank.end()) {
        known = false;
        break;
      }
      const Estimate& estimate = found->second;
      over.value += estimate.value / count;
      over.error += estimate.error / count;
      over.freedom = std::min(over.freedom, estimate.freedom);
      if (estimate.value > most.value) most = estimate;
    }
    if (!known) continue;
    // The rank with the highest peak runs out of memory first.
    figures[name] = name == "memory_peak_mb" ? most : over;
    if (name == "step_ms") figures["slowest_rank_step_ms"] = most;
    if (name == "compute_ms") figures["busiest_rank_compute_ms"] = most;
  }
  return figures;
}

/// Returns the most frequent verdict of the ranks; in a tie, that of the lowest rank.
std::string UsualVerdict(const std::vector<RankProfile>& ranks) {
  std::string_view usual;
  std::ptrdiff_t most = 0;
  for (const RankProfile& rank : ranks) {
    const auto count = std::count_if(ranks.begin(), ranks.end(), [&](const RankProfile& other) {
      return other.profile.verdict == rank.profile.verdict;
    });
    if (count > most) usual = rank.profile.verdict;
    most = std::max(most, count);
  }
  return std::string(usual);
}

/// Returns ranks in the form "0-3, 6".
std::string RangesOf(const std::vector<RankFigures>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1].rank == ranks[last].rank + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", ranks[i].rank);
    if (last > i) text += fmt::format("-{}", ranks[last].rank);
    i = last + 1;
  }
  return text;
}

}  // namespace

double JobProfile::mean_ms() const {
  return std::accumulate(parts_ms.begin(), parts_ms.end(), 0.0);
}

std::string_view FactOf(const JobProfile& profile, std::string_view fact) {
  for (const ProfileFact& row : profile.facts) {
    if (row.name == fact) return row.value;
  }
  return {};
}

std::string NameInProfile(std::string_view name) {
  constexpr std::size_t kKept = 140;
  if (name.size() <= kLongest) return std::string(name);
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a hash.
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  std::size_t kept = kKept;
  // Truncates at a whole UTF-8 character.
  while ((static_cast<unsigned char>(name[kept]) & 0xC0) == 0x80) --kept;
  return fmt::format("{}{}{:08x}", name.substr(0, kept), kCutMark, hash >> 32);
}

bool IsCutName(std::string_view name) {
  constexpr std::size_t kDigits = 8;
  return name.size() <= kLongest && name.size() > kDigits + kCutMark.size() &&
         name.substr(0, name.size() - kDigits).ends_with(kCutMark);
}

Result<JobProfile> MakeProfile(const TraceStore& store, NameFacts& names,
                               const AnalyzedTrace& trace) {
  return Profiler(store, names, trace).Make();
}

void AddForecasts(const TraceReport& report, JobProfile& profile) {
  if (report.steps.corrected_p50 && profile.median_ms > 0) {
    Estimate corrected = profile.runs.front()["step_ms"];
    // The corrected step varies in proportion to the recorded step. The error of the correction
    // affects both runs equally.
    const double share = report.steps.corrected_p50->ms() / corrected.value;
    corrected.value *= share;
    corrected.error *= share;
    profile.runs.front()["corrected_step_ms"] = corrected;
    if (report.engine) profile.calibration = report.engine->calibration;
  }
  if (!report.throughput) return;
  profile.facts.push_back({"batch", fmt::format("{}", report.throughput->batch_size)});
  const auto& figures = profile.runs.front();
  const auto corrected = figures.find("corrected_step_ms");
  const Estimate& step = corrected != figures.end() ? corrected->second : figures.at("step_ms");
  if (step.value <= 0) return;
  const double rate = 1e3 * static_cast<double>(report.throughput->batch_size) / step.value;
  profile.runs.front()["samples_per_s"] = {
      .value = rate, .error = rate * step.error / step.value, .freedom = step.freedom};
}

std::optional<Imbalance> ImbalanceOf(const JobProfile& profile) {
  if (profile.ranks.empty()) return std::nullopt;
  const auto busiest = std::max_element(
      profile.ranks.begin(), profile.ranks.end(),
      [](const RankFigures& a, const RankFigures& b) { return a.compute_ms < b.compute_ms; });
  // The mean of equal values may round to more than the largest.
  return Imbalance{busiest->rank,
                   std::max(0.0, busiest->compute_ms - profile.PartMs(StepPart::kCompute))};
}

JobProfile JoinRuns(std::vector<JobProfile> runs) {
  if (runs.size() == 1) return std::move(runs.front());
  const auto count = static_cast<double>(runs.size());
  std::vector<RankFigures> ranks = runs.front().ranks;
  for (RankFigures& rank : ranks) rank = {.rank = rank.rank, .waited_ms = 0.0};
  std::optional<RankWaiting> waiting = runs.front().waiting;
  if (waiting) waiting->lost_ms = 0;
  for (const JobProfile& run : runs) {
    JoinRankFigures(run.ranks, count, ranks);
    if (!waiting) continue;
    if (!run.waiting) {
      waiting.reset();
      continue;
    }
    waiting->lost_ms += run.waiting->lost_ms / count;
    if (run.waiting->late != waiting->late) waiting->late = "differs between runs";
  }
  JobProfile joined = Join(std::move(runs), "runs");
  joined.ranks = std::move(ranks);
  joined.waiting = std::move(waiting);
  return joined;
}

JobProfile JoinRanks(std::vector<RankProfile> ranks) {
  std::sort(ranks.begin(), ranks.end(),
            [](const RankProfile& a, const RankProfile& b) { return a.rank < b.rank; });
  std::vector<RankFigures> figures;
  std::vector<JobProfile> profiles;
  std::string verdict = UsualVerdict(ranks);
  std::int64_t fewest_steps = ranks.front().profile.steps;
  for (RankProfile& rank : ranks) {
    JobProfile& profile = rank.profile;
    const auto idle = profile.runs.front().find("gpu_idle_ms");
    figures.push_back(
        {.rank = rank.rank,
         .step_ms = profile.median_ms,
         .compute_ms = profile.PartMs(StepPart::kCompute),
         .exposed_communication_ms = profile.PartMs(StepPart::kCommunication),
         .idle_ms = idle != profile.runs.front().end() ? idle->second.value : profile.mean_ms()});
    fewest_steps = std::min(fewest_steps, profile.steps);
    // The job's list of ranks replaces this fact below.
    std::erase_if(profile.facts, [](const ProfileFact& fact) { return fact.name == "ranks"; });
    profiles.push_back(std::move(profile));
  }
  JobProfile job = Join(std::move(profiles), "ranks");
  job.runs = {FiguresOverRanks(job.runs)};
  job.steps = fewest_steps;
  job.verdict = std::move(verdict);
  job.facts.push_back({"ranks", RangesOf(figures)});
  job.ranks = std::move(figures);
  return job;
}

void KeepLargest(std::size_t most, JobProfile& profile) {
  const auto cut = [&](Rows& rows, JobProfile::Rest& rest) {
    for (std::size_t i = most; i < rows.size(); ++i) {
      ++rest.rows;
      rest.ms += rows[i].ms.value;
    }
    if (rows.size() > most) rows.resize(most);
  };
  cut(profile.kernels, profile.other_kernels);
  cut(profile.operators, profile.other_operators);
  cut(profile.layers, profile.other_layers);
}

}  // namespace headroom
