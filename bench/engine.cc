// Measures the engine on one trace: building the graph, passes over it, and replays of its
// variants. Checks the answer behind every figure.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "analysis/names/reference_data.h"
#include "graph/build_graph.h"
#include "ingest/open_trace.h"
#include "sim/part_replay.h"
#include "whatif/job/job.h"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

/// Returns the median seconds of `work`, repeated for at least half a second.
template <typename Work>
double MedianSeconds(const Work& work) {
  std::vector<double> seconds;
  const Clock::time_point begin = Clock::now();
  while (seconds.size() < 5 || Clock::now() - begin < std::chrono::milliseconds(500)) {
    const Clock::time_point start = Clock::now();
    work();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::nth_element(seconds.begin(),
                   seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2),
                   seconds.end());
  return seconds[seconds.size() / 2];
}

/// Returns true if all edges of a pass hold, and every task starts as early as they allow, or at 0.
bool IsSchedule(const Plan& plan, std::span<const std::int64_t> moments) {
  for (std::size_t task = 0; task < plan.tasks(); ++task) {
    std::int64_t start = 0;
    for (std::uint32_t e = plan.shape->edge_begin[task]; e < plan.shape->edge_begin[task + 1];
         ++e) {
      if (plan.shape->from[e] < 0) continue;
      start = std::max(start, moments[static_cast<std::size_t>(plan.shape->from[e])] + plan.lag[e]);
    }
    if (moments[2 * task] != start || moments[2 * task + 1] != start + plan.duration[task])
      return false;
  }
  return true;
}

Status Measure(const std::string& path) {
  Result<std::unique_ptr<ReferenceData>> reference = ReferenceData::LoadBuiltIn();
  if (!reference.ok()) return reference.status();
  Result<std::unique_ptr<TraceStore>> store = OpenTrace(path, {});
  if (!store.ok()) return store.status();
  const Result<Calibration> calibration = Calibration::LoadBuiltIn();
  if (!calibration.ok()) return calibration.status();
  AnalysisOptions options;
  options.path = path;
  const Result<std::unique_ptr<Job>> made =
      Job::Make(*store.value(), *reference.value(), options, calibration.value());
  if (!made.ok()) return made.status();
  const Job& job = *made.value();
  const Plan& plan = job.corrected();

  NameFacts names(*store.value(), *reference.value());
  bool good = true;
  const double graph_s = MedianSeconds([&] {
    const Result<Graph> graph = BuildGraph(*store.value(), names, job.steps());
    good &= graph.ok() && graph.value().tasks.size() == job.graph().tasks.size() &&
            graph.value().edges.size() == job.graph().edges.size();
  });

  Replayer replayer;
  const double pass_s = MedianSeconds([&] { replayer.RunOnce(plan); });
  good &= IsSchedule(plan, replayer.RunOnce(plan));

  const double step = Replayer().Run(plan).step_ns;
  PartReplayer parts(plan);
  PlanPart everything;
  for (std::uint32_t task = 0; task < plan.tasks(); ++task) everything.tasks.emplace_back(task, 1);
  constexpr std::array kScales = {1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.25, 0.0};
  std::array<double, kScales.size()> steps{};
  const double parts_s = MedianSeconds([&] { steps = parts.Run(everything, kScales); });
  good &= steps[0] == step && std::is_sorted(steps.rbegin(), steps.rend());

  fmt::print(R"({{"events": {}, "tasks": {}, "moments": {}, "graph_ms": {}, "passes_per_s": {}, )"
             R"("moments_per_s": {}, "replays_per_s": {}, "good": {}}})"
             "\n",
             store.value()->metadata.events, plan.tasks(), 2 * plan.tasks(), 1e3 * graph_s,
             1 / pass_s, 2 * static_cast<double>(plan.tasks()) / pass_s,
             static_cast<double>(kScales.size()) / parts_s, good);
  return Status::Ok();
}

}  // namespace
}  // namespace headroom

int main(int argc, char** argv) {
  CLI::App app("Measures graph and replay of one trace; prints JSON.", "engine_bench");
  std::string trace;
  app.add_option("TRACE", trace, "A PyTorch-profiler trace")->required();
  CLI11_PARSE(app, argc, argv);
  const headroom::Status status = headroom::Measure(trace);
  if (status.ok()) return 0;
  fmt::print(stderr, "engine_bench: {}\n", status.message());
  return 1;
}
