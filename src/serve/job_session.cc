#include "serve/job_session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <span>

#include "answers/diff/answer.h"
#include "answers/diff/render.h"
#include "answers/report/json.h"
#include "answers/report/rank_set.h"
#include "render/json_writer.h"
#include "serve/rank_step_json.h"

namespace headroom {

JobSession::JobSession(std::unique_ptr<TraceSession> trace)
    : path_(trace->path()), trace_(std::move(trace)) {}

JobSession::JobSession(Ranks ranks) : path_(ranks.path), ranks_(std::move(ranks)) {
  AddIssues(ranks_->job, ranks_->files.front());  // A report shows issues of the set once.
  const JobReport report(ranks_->files);
  first_ = static_cast<std::size_t>(&report.slowest() - ranks_->files.data());
}

Result<std::unique_ptr<JobSession>> JobSession::Of(Ranks ranks) {
  std::unique_ptr<JobSession> session(new JobSession(std::move(ranks)));
  if (const std::optional<std::int64_t> first = session->ranks_->first) {
    const Result<std::size_t> index = session->IndexOf(first);
    if (!index.ok()) return index.status();
    session->first_ = index.value();
  }
  return session;
}

std::vector<std::int64_t> JobSession::RankNumbers() const {
  std::vector<std::int64_t> numbers;
  if (!IsOfSeveralRanks()) return numbers;
  for (const TraceReport& file : ranks_->files) numbers.push_back(file.input.rank.value_or(0));
  return numbers;
}

std::optional<std::int64_t> JobSession::FirstRank() const {
  return IsOfSeveralRanks() ? ranks_->files[first_].input.rank : std::nullopt;
}

Result<std::size_t> JobSession::IndexOf(std::optional<std::int64_t> rank) const {
  if (!rank) return first_;
  if (!IsOfSeveralRanks())
    return Status::Usage(fmt::format("rank {}: this job has the trace of one rank", *rank));
  for (std::size_t i = 0; i < ranks_->files.size(); ++i) {
    if (ranks_->files[i].input.rank == rank) return i;
  }
  std::vector<std::int64_t> numbers = RankNumbers();
  std::sort(numbers.begin(), numbers.end());
  return Status::Usage(
      fmt::format("rank {}: the job has ranks {}", *rank, fmt::join(numbers, ", ")));
}

Result<std::shared_ptr<TraceSession>> JobSession::Trace(std::optional<std::int64_t> rank) {
  const Result<std::size_t> index = IndexOf(rank);
  if (!index.ok()) return index.status();
  if (trace_) return trace_;
  return OpenOnce(index.value(), [&]() -> Result<std::shared_ptr<TraceSession>> {
    Result<std::unique_ptr<TraceSession>> opened =
        ranks_->open(ranks_->files[index.value()].input.path);
    if (!opened.ok()) return opened.status();
    return std::shared_ptr<TraceSession>(std::move(opened).value());
  });
}

Result<std::shared_ptr<TraceSession>> JobSession::TraceOf(std::int64_t trace) {
  if (trace == 1) return Trace();
  const Result<const Other*> other = OtherJob(trace, 1);
  if (!other.ok()) return other.status();
  const std::size_t files = ranks_ ? ranks_->files.size() : 0;
  return OpenOnce(files + static_cast<std::size_t>(trace), other.value()->open);
}

Result<const JobSession::Other*> JobSession::OtherJob(std::int64_t trace,
                                                      std::int64_t least) const {
  const auto traces = static_cast<std::int64_t>(others_.size()) + 1;
  if (trace < 2 || trace > traces)
    return Status::Usage(fmt::format("trace {}: must be from {} to {}", trace, least, traces));
  return &others_[static_cast<std::size_t>(trace - 2)];
}

Result<std::shared_ptr<TraceSession>> JobSession::OpenOnce(std::size_t key, const Opener& open) {
  if (std::shared_ptr<TraceSession> kept = InMemory(key)) return kept;
  const std::lock_guard<std::mutex> reading(reading_mutex_);
  if (std::shared_ptr<TraceSession> kept = InMemory(key)) return kept;
  Result<std::shared_ptr<TraceSession>> opened = open();
  if (!opened.ok()) return opened.status();
  std::shared_ptr<TraceSession> session = std::move(opened).value();
  const std::lock_guard<std::mutex> lock(open_mutex_);
  open_.push_front({.key = key, .session = session});
  constexpr std::size_t kMaxBytes = 400'000'000;
  std::size_t bytes = session->MemoryBytes();
  for (auto kept = std::next(open_.begin()); kept != open_.end();) {
    const std::size_t total = bytes + kept->session->MemoryBytes();
    if (total <= kMaxBytes) {
      bytes = total;
      ++kept;
    } else {
      kept = open_.erase(kept);
    }
  }
  return session;
}

std::shared_ptr<TraceSession> JobSession::InMemory(std::size_t key) {
  const std::lock_guard<std::mutex> lock(open_mutex_);
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [&](const OpenTrace& open) { return open.key == key; });
  if (found == open_.end()) return nullptr;
  open_.splice(open_.begin(), open_, found);
  return open_.front().session;
}

Result<std::string> JobSession::ReportJson(std::optional<std::int64_t> rank) const {
  const Result<std::size_t> index = IndexOf(rank);
  if (!index.ok()) return index.status();
  if (trace_) return trace_->ReportJson();
  ReportOptions options = ranks_->options;
  if (!IsOfSeveralRanks()) return RenderJson(ranks_->files, options);
  if (rank && index.value() > 0) {
    TraceReport file = ranks_->files[index.value()];
    AddIssues(ranks_->job, file);
    return RenderJson(std::span(&file, 1), options);
  }
  if (rank) return RenderJson(std::span(&ranks_->files.front(), 1), options);
  options.ranks = &ranks_->job;
  // The page shows whole tables of one rank at a time; those of all ranks may be large.
  constexpr std::size_t kMaxRows = 400;
  options.top = std::max<std::size_t>(1, kMaxRows / ranks_->files.size());
  return RenderJson(ranks_->files, options);
}

Result<std::string> JobSession::OtherReportJson(std::int64_t trace) const {
  if (trace == 1) return ReportJson();
  const Result<const Other*> other = OtherJob(trace, 1);
  if (!other.ok()) return other.status();
  return other.value()->report_json;
}

std::vector<std::int64_t> JobSession::StepsOfRanks() const {
  if (!IsOfSeveralRanks()) return {};
  std::map<std::int64_t, DurationNs> waited;
  for (const RankTimeline& rank : ranks_->job.ranks) {
    for (const RankStep& step : rank.steps) waited.try_emplace(step.number);
  }
  for (const RankStepWaits& row : ranks_->job.waits.steps_of_ranks) waited[row.step] += row.waited;
  std::vector<std::int64_t> steps;
  steps.reserve(waited.size());
  for (const auto& [step, time] : waited) steps.push_back(step);
  std::ranges::stable_sort(steps, std::greater<>(),
                           [&](std::int64_t step) { return waited[step]; });
  return steps;
}

Result<std::string> JobSession::RankStepJson(std::int64_t step) const {
  if (!IsOfSeveralRanks())
    return Status::Usage("this job has the trace of one rank: open the folder of all ranks");
  return RenderRankStepJson(ranks_->job, step);
}

std::string JobSession::TracesJson(bool all) const {
  JsonWriter json;
  json.BeginObject(JsonWriter::Layout::kLines);
  json.Key("schema").String("headroom.traces/1");
  json.Key("traces").BeginArray(JsonWriter::Layout::kLines);
  const auto write = [&json](std::int64_t trace, const std::string& name, bool is_earlier) {
    json.BeginObject();
    json.Key("trace").Integer(trace);
    json.Key("path").String(name);
    json.Key("earlier").Bool(is_earlier);
    json.EndObject();
  };
  write(1, path(), false);
  for (std::size_t i = 0; all && i < others_.size(); ++i)
    write(static_cast<std::int64_t>(i) + 2, others_[i].path, others_[i].is_earlier);
  json.EndArray();
  json.Key("first_rank").Integer(FirstRank());
  json.Key("forecast_arguments").BeginArray();
  for (const std::string& argument :
       trace_ ? trace_->forecast_arguments() : ranks_->options.forecast_arguments)
    json.String(argument);
  json.EndArray();
  json.EndObject();
  return std::move(json).Take();
}

Result<JobProfile> JobSession::Profile() const {
  return trace_ ? trace_->Profile() : ranks_->profile();
}

Result<std::string> JobSession::DiffJson(std::int64_t trace) {
  const Result<const Other*> found = OtherJob(trace, 2);
  if (!found.ok()) return found.status();
  const Other& other = *found.value();
  if (!other.profile.ok()) return other.profile.status();
  const std::lock_guard<std::mutex> lock(profile_mutex_);
  if (!profile_) profile_ = Profile();
  if (!profile_->ok()) return profile_->status();
  const JobProfile& own = profile_->value();
  JobDiff diff = other.is_earlier ? Compare(other.profile.value(), own, {})
                                  : Compare(own, other.profile.value(), {});
  return RenderDiffJson({.diff = std::move(diff), .gate = std::nullopt});
}

}  // namespace headroom
