#include "serve/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "serve/timeline_questions.h"

namespace headroom {
namespace {

/// Each value costs one or more replays, and a request runs its replays in sequence.
Status CheckCount(std::string_view what, std::size_t asked, std::string_view command) {
  constexpr std::size_t kMax = 64;
  if (asked <= kMax) return Status::Ok();
  return Status::Usage(
      fmt::format("{}: {} values in one request, but at most {} are allowed; run {} for more", what,
                  asked, kMax, command));
}

Result<std::string> Report(JobSession& job, Query& query) {
  constexpr std::int64_t kMax = 1'000'000;
  const std::optional<std::int64_t> trace = query.Count("trace", kMax);
  const std::optional<std::int64_t> rank = query.OptionalInteger("rank");
  if (Status status = query.Finish(); !status.ok()) return status;
  if (trace && rank)
    return Status::Usage("trace and rank: choose one; other jobs are compared as a whole");
  return trace ? job.OtherReportJson(*trace) : job.ReportJson(rank);
}

Result<std::string> Traces(JobSession& job, Query& query) {
  if (Status status = query.Finish(); !status.ok()) return status;
  return job.TracesJson();
}

Result<std::string> Diff(JobSession& job, Query& query) {
  constexpr std::int64_t kMax = 1'000'000;
  const std::int64_t trace = query.Count("trace", kMax).value_or(2);
  if (Status status = query.Finish(); !status.ok()) return status;
  return job.DiffJson(trace);
}

Result<std::string> StepOfRanks(JobSession& job, Query& query) {
  const std::int64_t step = query.Integer("step");
  if (Status status = query.Finish(); !status.ok()) return status;
  return job.RankStepJson(step);
}

Result<std::string> Scenarios(TraceSession&, Query& query, const IsWanted&) {
  if (Status status = query.Finish(); !status.ok()) return status;
  return RenderScenariosJson();
}

Result<std::string> Whatif(TraceSession& session, Query& query, const IsWanted& is_wanted) {
  const std::vector<std::string> scenarios = query.Texts("scenario");
  if (Status status = query.Finish(); !status.ok()) return status;
  if (Status status = CheckCount("scenario", scenarios.size(), "headroom whatif"); !status.ok())
    return status;
  return session.WhatifJson(scenarios, is_wanted);
}

Result<std::string> Progress(TraceSession& session, Query& query, const IsWanted&) {
  if (Status status = query.Finish(); !status.ok()) return status;
  return session.ProgressJson();
}

Result<std::string> Predict(TraceSession& session, Query& query, const IsWanted&) {
  TraceSession::PredictQuestion question;
  question.gpus = query.List("gpu");
  question.only_current = query.Flag("current");
  JobPlanQuestion plan;
  plan.total_steps = query.Count("total-steps", kMaxTotalSteps);
  plan.provider = query.Text("provider");
  plan.max_hours = query.Number("max-hours");
  plan.max_money = query.Number("max-money");
  plan.region = query.Text("region");
  plan.pue = query.Text("pue");
  question.batch_curve = query.Flag("batch-curve");
  if (Status status = query.Finish(); !status.ok()) return status;
  return session.PredictJson(question, plan);
}

Result<std::string> Scale(TraceSession& session, Query& query, const IsWanted& is_wanted) {
  constexpr std::int64_t kMax = 10'000'000;
  NetworkQuestion network;
  if (std::vector<std::string> gpus = query.List("gpus"); !gpus.empty())
    network.gpus = std::move(gpus);
  network.cluster = query.Text("cluster");
  network.bandwidths_gbps = query.Numbers("bandwidth-gbps");
  network.latency_us = query.Number("latency-us");
  network.gpus_per_node = query.Count("gpus-per-node", kMax);
  ScaleQuestion question;
  question.strong = query.Flag("strong");
  question.changes = query.Text("with");
  if (const std::string schedule = query.Text("schedule"); !schedule.empty())
    question.schedule = schedule;
  if (Status status = query.Finish(); !status.ok()) return status;
  const std::size_t points =
      network.gpus.size() * std::max<std::size_t>(1, network.bandwidths_gbps.size());
  if (Status status = CheckCount("gpus times bandwidth-gbps", points, "headroom scale");
      !status.ok())
    return status;
  question.is_wanted = is_wanted;
  return session.ScaleJson(std::move(question), std::move(network));
}

Result<std::string> Data(TraceSession& session, Query& query, const IsWanted&) {
  constexpr std::int64_t kMax = 1'000'000;
  const std::int64_t loader = query.Count("loader", kMax).value_or(1);
  const std::vector<std::string> changes = query.Texts("change");
  if (Status status = query.Finish(); !status.ok()) return status;
  if (Status status = CheckCount("change", changes.size(), "headroom data"); !status.ok())
    return status;
  return session.DataJson(loader, changes);
}

Result<std::string> Metrics(TraceSession& session, Query& query, const IsWanted&) {
  if (Status status = query.Finish(); !status.ok()) return status;
  return session.MetricsJson();
}

Result<std::string> Source(TraceSession& session, Query& query, const IsWanted&) {
  const std::string location = query.Text("location");
  if (Status status = query.Finish(); !status.ok()) return status;
  return session.SourceJson(location);
}

Result<std::string> Gpus(TraceSession& session, Query& query, const IsWanted&) {
  if (Status status = query.Finish(); !status.ok()) return status;
  return session.GpusJson();
}

Result<std::string> Sql(TraceSession& session, Query& query, const IsWanted& is_wanted) {
  const std::string sql = query.Text("sql");
  if (Status status = query.Finish(); !status.ok()) return status;
  return session.query().Json(sql, is_wanted);
}

Result<std::string> Clusters(TraceSession&, Query& query, const IsWanted&) {
  if (Status status = query.Finish(); !status.ok()) return status;
  return RenderClustersJson();
}

}  // namespace

Result<std::string> AnswerTo(const Question& question, JobSession& job, Query& query,
                             const IsWanted& is_wanted) {
  if (question.job_answer != nullptr) return question.job_answer(job, query);
  constexpr std::int64_t kMax = 1'000'000;
  const std::optional<std::int64_t> number = query.Count("trace", kMax);
  const std::optional<std::int64_t> rank = query.OptionalInteger("rank");
  if (!query.status().ok()) return query.status();
  if (number && rank) return Status::Usage("trace and rank: choose one");
  query.LeaveOut("trace");
  const Result<std::shared_ptr<TraceSession>> trace =
      number ? job.TraceOf(*number) : job.Trace(rank);
  if (!trace.ok()) return trace.status();
  return question.answer(*trace.value(), query, is_wanted);
}

const std::map<std::string, Question>& Questions() {
  static const auto* const questions = new std::map<std::string, Question>{
      {"report", {.job_answer = Report}},
      {"diff", {.job_answer = Diff}},
      {"ranks/step", {.job_answer = StepOfRanks}},
      {"traces", {.job_answer = Traces, .is_kept = false}},
      {"scenarios", {.answer = Scenarios, .is_kept = false}},
      {"whatif", {.answer = Whatif, .is_kept = false}},
      {"whatif/progress", {.answer = Progress, .is_kept = false}},
      {"predict", {.answer = Predict}},
      {"scale", {.answer = Scale}},
      {"data", {.answer = Data}},
      {"metrics", {.answer = Metrics}},
      {"gpus", {.answer = Gpus}},
      {"source", {.answer = Source, .is_kept = false}},
      {"clusters", {.answer = Clusters}},
      {"query", {.answer = Sql}},
      {"timeline", {.answer = AskTimeline, .is_kept = false}},
      {"timeline/tile", {.answer = AskTile, .type = kBytes, .is_kept = false}},
      {"timeline/span", {.answer = AskSpan, .is_kept = false}},
      {"timeline/search", {.answer = AskSearch, .is_kept = false}},
      {"timeline/place", {.answer = AskPlace, .is_kept = false}},
      {"timeline/range", {.answer = AskRange, .is_kept = false}}};
  return *questions;
}

}  // namespace headroom
