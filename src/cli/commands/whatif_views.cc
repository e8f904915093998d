#include "cli/commands/whatif_views.h"

#include <fmt/format.h>

#include <utility>

#include "answers/whatif/graph_dump.h"
#include "answers/whatif/timeline_trace.h"
#include "base/gzip.h"
#include "cli/terminal/output.h"
#include "whatif/timeline.h"

namespace headroom::cli {

void WhatifViews::AddFlags(Command command) {
  command.AddFlag("--explain", explain_, "Also show the critical path, slack and unexplained time");
  command.AddFlag(
      "--sweep", sweep_,
      "Also show the step time with each part of the work sped up, from 1.1x to infinitely fast");
  command.AddFlag("--self-check", self_check_,
                  "Also test the engine on this trace; exit code 1 if it fails");
  command.AddOption("--dump-graph", graph_path_, "Write the graph to FILE, as JSON lines")
      .TypeName("FILE");
  command
      .AddOption("--write-trace", timeline_path_,
                 "Write the predicted timeline of the scenario, or of the job without its "
                 "profiler, to FILE (.json or .json.gz)")
      .TypeName("FILE");
}

Status WhatifViews::RefuseWithoutGraph(const std::string& trace, const Status& why) const {
  const char* flag = self_check_            ? "--self-check"
                     : !graph_path_.empty() ? "--dump-graph"
                                            : "--write-trace";
  return Status::NoAnswer(
      fmt::format("{} requires a graph, but {} has none: {}", flag, trace, why.message()));
}

Status WhatifViews::Check(const std::vector<std::string>& inputs,
                          const std::vector<std::string>& scenarios) const {
  for (const auto& [flag, path] :
       {std::pair("--dump-graph", &graph_path_), std::pair("--write-trace", &timeline_path_)}) {
    if (path->empty()) continue;
    if (Status status = RefuseToOverwrite(flag, *path, inputs); !status.ok()) return status;
  }
  if (graph_path_ == "-")
    return Status::Usage("--dump-graph -: name a file, because stdout has the forecasts");
  if (timeline_path_.empty()) return Status::Ok();
  if (timeline_path_ == graph_path_)
    return Status::Usage("--dump-graph and --write-trace require two different files: " +
                         graph_path_);
  if (!timeline_path_.ends_with(".json") && !timeline_path_.ends_with(".json.gz"))
    return Status::Usage("--write-trace requires a file name that ends in .json or .json.gz: " +
                         timeline_path_);
  if (scenarios.size() > 1) {
    return Status::Usage(
        "--write-trace takes at most one scenario; A+B applies both in one timeline");
  }
  return Status::Ok();
}

Status WhatifViews::WriteJob(const Job& job, const std::string& trace,
                             const std::vector<std::string>& scenarios) const {
  if (!graph_path_.empty()) {
    if (Status status = WriteData(RenderGraph(job, trace), graph_path_); !status.ok())
      return status;
  }
  if (!timeline_path_.empty() && scenarios.empty())
    return WriteTimeline(job, Edit(job.graph(), job.corrected()).Finish(), "");
  return Status::Ok();
}

Status WhatifViews::WriteScenario(const Job& job, const Forecast& forecast,
                                  const EditedPlan& plan) const {
  if (timeline_path_.empty()) return Status::Ok();
  if (!forecast.applies) {
    return Status::Usage("--write-trace: there is no forecast for " + forecast.name + ": " +
                         forecast.why);
  }
  return WriteTimeline(job, plan, forecast.name);
}

Status WhatifViews::WriteTimeline(const Job& job, const EditedPlan& plan,
                                  const std::string& scenario) const {
  std::string text = RenderTimeline(job, PredictTimeline(job, plan), scenario);
  return WriteResult(timeline_path_.ends_with(".gz") ? Gzip(text) : std::move(text),
                     timeline_path_);
}

Status WhatifViews::Gate(const ForecastReport& report) {
  std::string failed;
  for (const SelfCheck& check : report.self_check) {
    if (!check.passed()) failed += (failed.empty() ? "" : ", ") + std::string(check.name);
  }
  return failed.empty() ? Status::Ok() : Status::GateFailed("self-check failed: " + failed);
}

}  // namespace headroom::cli
