#include "serve/timeline_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>

#include "analysis/names/name_facts.h"
#include "answers/whatif/answer.h"
#include "render/escape.h"
#include "render/json_writer.h"
#include "serve/tile_bytes.h"
#include "serve/timeline/range_statistics.h"
#include "serve/timeline/span_links.h"
#include "serve/timeline/span_search.h"
#include "serve/timeline/tile.h"
#include "whatif/timeline.h"

namespace headroom {
namespace {

constexpr std::size_t kMaxHits = 1000;
constexpr std::size_t kMaxNames = 200;

void WriteTracks(const TrackSet& set, JsonWriter& json) {
  json.Key("first_ns").Integer(set.begin.ns());
  json.Key("length_ns").Integer((set.end - set.begin).ns());
  json.Key("tile_buckets").Integer(kTileBuckets);
  json.Key("tracks").BeginArray(JsonWriter::Layout::kLines);
  for (std::size_t i = 0; i < set.tracks.size(); ++i) {
    const Track& track = set.tracks[i];
    json.BeginObject();
    json.Key("id").Integer(static_cast<std::int64_t>(i));
    json.Key("kind").String(Name(track.kind));
    json.Key("name").String(Printable(track.name));
    json.Key("group").String(Printable(track.group));
    json.Key("first_lane").Integer(track.first_lane);
    json.Key("lanes").Integer(track.lanes);
    json.Key("spans").Integer(track.spans);
    json.Key("overlapping").Integer(track.overlapping);
    const bool is_counter = track.kind == TrackKind::kCounter;
    json.Key("minimum").Number(is_counter ? std::optional(track.minimum) : std::nullopt);
    json.Key("maximum").Number(is_counter ? std::optional(track.maximum) : std::nullopt);
    json.Key("unit").StringOrNull(track.unit);
    json.EndObject();
  }
  json.EndArray();
}

struct StepSpan {
  std::int64_t index;
  TimeNs start;
  DurationNs length;
};

void WriteSteps(std::span<const StepSpan> steps, TimeNs begin, JsonWriter& json) {
  json.Key("steps").BeginArray(JsonWriter::Layout::kLines);
  for (const StepSpan& step : steps) {
    json.BeginObject();
    json.Key("index").Integer(step.index);
    json.Key("start_ns").Integer((step.start - begin).ns());
    json.Key("wall_ns").Integer(step.length.ns());
    json.EndObject();
  }
  json.EndArray();
}

void WriteSpan(const TrackSet& set, std::uint32_t lane, std::uint32_t row, JsonWriter& json) {
  const SpanTable& table = *set.lanes[lane].table;
  json.Key("lane").Integer(lane);
  json.Key("row").Integer(row);
  json.Key("start_ns").Integer((table.start[row] - set.begin).ns());
  json.Key("duration_ns").Integer(table.duration[row].ns());
  json.Key("label").String(LabelOf(table.names->Get(table.name[row]), table.style[row]));
}

/// Writes the trace's facts about a span, without its times; `args` as JSON text.
void WriteFacts(const TraceStore& store, bool on_gpu, std::uint32_t row, JsonWriter& json) {
  const StringId args = on_gpu ? store.gpu_tasks.args[row] : store.host_events.args[row];
  const auto number = [&](const char* key, std::int64_t value, std::int64_t unknown) {
    if (value == unknown) return;
    json.Key(key).String(std::to_string(value));
  };
  json.Key("facts").BeginObject();
  if (on_gpu) {
    const auto& tasks = store.gpu_tasks;
    if (tasks.grid_x[row] != kUnknown32) {
      json.Key("grid").String(
          fmt::format("{} x {} x {}", tasks.grid_x[row], tasks.grid_y[row], tasks.grid_z[row]));
      json.Key("block").String(
          fmt::format("{} x {} x {}", tasks.block_x[row], tasks.block_y[row], tasks.block_z[row]));
    }
    number("registers per thread", tasks.registers[row], kUnknown32);
    number("shared memory per block, bytes", tasks.shared_memory[row], kUnknown32);
    number("estimated occupancy, %", tasks.occupancy_pct[row], kUnknown32);
    number("bytes", tasks.bytes[row], kUnknown);
  } else {
    json.Key("category").String(Printable(store.Text(store.host_events.category[row])));
    number("sequence", store.host_events.sequence[row], kUnknown);
  }
  json.EndObject();
  json.Key("args").StringOrNull(Printable(store.Text(args)));
}

}  // namespace

TimelineAnswers::TimelineAnswers(const TraceStore& store, const ReferenceData& reference,
                                 std::vector<StepRow> steps, const Job* job, std::mutex& job_mutex)
    : store_(store),
      reference_(reference),
      steps_(std::move(steps)),
      job_(job),
      job_mutex_(job_mutex) {}

const TraceTracks& TimelineAnswers::Tracks() {
  std::call_once(made_, [this] {
    NameFacts names(store_, reference_);
    const std::lock_guard<std::mutex> lock(job_mutex_);
    tracks_.emplace(store_, names, job_);
  });
  return *tracks_;
}

std::string TimelineAnswers::TracksJson() {
  const TrackSet& set = Tracks().set();
  JsonWriter json;
  json.BeginObject(JsonWriter::Layout::kLines);
  json.Key("schema").String("headroom.timeline/1");
  json.Key("scenario").Null();
  json.Key("recorded_begin_ns").Integer(0);
  WriteTracks(set, json);
  std::vector<StepSpan> steps;
  for (const StepRow& step : steps_) steps.push_back({step.index, step.start, step.wall});
  WriteSteps(steps, set.begin, json);
  json.EndObject();
  return std::move(json).Take();
}

Result<std::shared_ptr<const ForecastTracks>> TimelineAnswers::Forecast(
    const std::string& scenario) {
  if (job_ == nullptr) return Status::Usage("there is no forecast: this trace cannot be replayed");
  const std::string texts[] = {scenario};
  const Result<std::vector<std::vector<ScenarioCall>>> calls = ParseScenarios(texts);
  if (!calls.ok()) return calls.status();
  const std::lock_guard<std::mutex> lock(job_mutex_);
  const auto kept =
      std::find_if(forecasts_.begin(), forecasts_.end(),
                   [&](const KeptForecast& forecast) { return forecast.scenario == scenario; });
  if (kept != forecasts_.end()) {
    forecasts_.splice(forecasts_.begin(), forecasts_, kept);
    return forecasts_.front().tracks;
  }
  if (!forecaster_) forecaster_.emplace(*job_);
  const headroom::Forecast forecast = forecaster_->Run(scenario, calls.value().front());
  if (!forecast.applies)
    return Status::Usage(fmt::format("there is no forecast for {}: {}", scenario, forecast.why));
  // The page shows the last forecast until the next is complete, and may be open twice.
  constexpr std::size_t kMaxForecasts = 3;
  forecasts_.push_front({scenario, std::make_shared<const ForecastTracks>(
                                       *job_, PredictTimeline(*job_, forecaster_->last_plan()))});
  if (forecasts_.size() > kMaxForecasts) forecasts_.pop_back();
  return forecasts_.front().tracks;
}

Result<std::string> TimelineAnswers::ForecastJson(const std::string& scenario) {
  const Result<std::shared_ptr<const ForecastTracks>> forecast = Forecast(scenario);
  if (!forecast.ok()) return forecast.status();
  const ForecastTracks& tracks = *forecast.value();
  JsonWriter json;
  json.BeginObject(JsonWriter::Layout::kLines);
  json.Key("schema").String("headroom.timeline/1");
  json.Key("scenario").String(scenario);
  json.Key("recorded_begin_ns").Integer((tracks.recorded_begin() - Tracks().set().begin).ns());
  WriteTracks(tracks.set(), json);
  std::vector<StepSpan> steps;
  for (const TimelineStep& step : tracks.steps())
    steps.push_back({step.index, TimeNs(step.start_ns), DurationNs(step.duration_ns)});
  WriteSteps(steps, TimeNs(), json);
  json.EndObject();
  return std::move(json).Take();
}

Result<std::string> TimelineAnswers::TileBytes(const TileQuery& query) {
  std::shared_ptr<const ForecastTracks> forecast;
  if (!query.scenario.empty()) {
    Result<std::shared_ptr<const ForecastTracks>> made = Forecast(query.scenario);
    if (!made.ok()) return made.status();
    forecast = std::move(made).value();
  }
  const TrackSet& set = forecast ? forecast->set() : Tracks().set();
  if (query.level < 0 || query.level > kMaxLevel)
    return Status::Usage(fmt::format("level must be from 0 to {}", kMaxLevel));
  const std::int64_t tiles = ((set.end - set.begin).ns() >> query.level) / kTileBuckets + 1;
  if (query.index < 0 || query.index >= tiles)
    return Status::Usage(fmt::format("index must be from 0 to {} at this level", tiles - 1));
  std::vector<std::uint32_t> tracks;
  for (const std::int64_t track : query.tracks) {
    if (track < 0 || track >= static_cast<std::int64_t>(set.tracks.size()))
      return Status::Usage(fmt::format("there is no track {}", track));
    tracks.push_back(static_cast<std::uint32_t>(track));
  }
  std::vector<std::uint32_t> sorted = tracks;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    return Status::Usage(fmt::format("track {} is given more than once", *twice));
  return EncodeTile(MakeTile(set, tracks, static_cast<int>(query.level), query.index), set);
}

std::vector<TimelineAnswers::KeptTile> TimelineAnswers::CoarseTiles(std::size_t most_bytes) {
  constexpr std::int64_t kSmallestWindow = 256;  // Pixels.
  constexpr int kMaxLevels = 8;                  // More than any window needs initially.
  const TrackSet& set = Tracks().set();
  const std::int64_t length = (set.end - set.begin).ns();
  std::vector<std::uint32_t> tracks(set.tracks.size());
  std::iota(tracks.begin(), tracks.end(), 0u);
  int level = 0;
  while (level < kMaxLevel && (length >> level) > kSmallestWindow) ++level;
  std::vector<KeptTile> kept;
  const int finest = std::max(0, level - kMaxLevels + 1);
  for (std::size_t bytes = 0; level >= finest; --level) {
    std::vector<KeptTile> finer;
    for (std::int64_t index = 0; index <= (length >> level) / kTileBuckets; ++index) {
      finer.push_back({level, index, EncodeTile(MakeTile(set, tracks, level, index), set)});
      bytes += finer.back().bytes.size();
      if (bytes > most_bytes) return kept;
    }
    std::move(finer.begin(), finer.end(), std::back_inserter(kept));
  }
  return kept;
}

Result<std::string> TimelineAnswers::SpanJson(std::int64_t lane_number, std::int64_t row_number) {
  const TraceTracks& tracks = Tracks();
  const TrackSet& set = tracks.set();
  const auto lane = static_cast<std::uint32_t>(lane_number);
  if (lane_number < 0 || lane_number >= static_cast<std::int64_t>(set.lanes.size()))
    return Status::Usage("no such lane");
  const SpanTable& table = *set.lanes[lane].table;
  if (row_number < 0 || row_number >= static_cast<std::int64_t>(table.start.size()))
    return Status::Usage("no such row");
  const auto row = static_cast<std::uint32_t>(row_number);
  JsonWriter json;
  json.BeginObject(JsonWriter::Layout::kLines);
  json.Key("schema").String("headroom.span/1");
  WriteSpan(set, lane, row, json);
  json.Key("name").String(Printable(table.names->Get(table.name[row])));
  json.Key("track").Integer(set.lanes[lane].track);
  json.Key("value").Number(table.value.empty() ? std::nullopt : std::optional(table.value[row]));
  const bool on_gpu = &table == &tracks.gpu();
  std::vector<SpanLink> links;
  if (on_gpu || &table == &tracks.host()) {
    WriteFacts(store_, on_gpu, row, json);
    links = on_gpu ? FindLinks(store_, GpuTaskId(row)) : FindLinks(store_, HostEventId(row));
  }
  json.Key("links").BeginArray(JsonWriter::Layout::kLines);
  for (const SpanLink& link : links) {
    json.BeginObject();
    json.Key("relation").String(link.relation);
    WriteSpan(
        set,
        link.on_gpu ? tracks.LaneOf(GpuTaskId(link.row)) : tracks.LaneOf(HostEventId(link.row)),
        link.row, json);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return std::move(json).Take();
}

std::string TimelineAnswers::SearchJson(const std::string& text) {
  const TrackSet& set = Tracks().set();
  const SearchResult found = text.empty() ? SearchResult() : FindSpans(set, text, kMaxHits);
  JsonWriter json;
  json.BeginObject(JsonWriter::Layout::kLines);
  json.Key("schema").String("headroom.search/1");
  json.Key("text").String(text);
  json.Key("count").Integer(found.count);
  json.Key("total_ns").Integer(found.total.ns());
  json.Key("names").BeginArray();
  for (const std::uint32_t name : found.names) json.Integer(name);
  json.EndArray();
  json.Key("hits").BeginArray(JsonWriter::Layout::kLines);
  for (const SpanHit& hit : found.hits) {
    json.BeginObject();
    WriteSpan(set, hit.lane, hit.row, json);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return std::move(json).Take();
}

std::string TimelineAnswers::PlaceJson(std::int64_t start_ns,
                                       std::optional<std::int64_t> duration_ns) {
  const TrackSet& set = Tracks().set();
  // Clamps to the trace, because times far outside would overflow.
  const TimeNs start = std::clamp(TimeNs(start_ns), set.begin, set.end);
  std::optional<DurationNs> duration;
  if (duration_ns) duration = std::clamp(DurationNs(*duration_ns), DurationNs(), set.end - start);
  const std::optional<SpanHit> span =
      start.ns() == start_ns ? SpanAt(set, start, duration) : std::nullopt;
  JsonWriter json;
  json.BeginObject(JsonWriter::Layout::kLines);
  json.Key("schema").String("headroom.place/1");
  json.Key("start_ns").Integer((start - set.begin).ns());
  json.Key("duration_ns").Integer(duration.value_or(DurationNs()).ns());
  json.Key("span");
  if (span) {
    json.BeginObject();
    WriteSpan(set, span->lane, span->row, json);
    json.EndObject();
  } else {
    json.Null();
  }
  json.EndObject();
  return std::move(json).Take();
}

Result<std::string> TimelineAnswers::RangeJson(std::int64_t from_ns, std::int64_t to_ns) {
  if (to_ns < from_ns)
    return Status::Usage("`to` is before `from`: give a `to` of at least `from`");
  const TrackSet& set = Tracks().set();
  const std::int64_t length = (set.end - set.begin).ns();
  // Clamps to the trace, because times far outside would overflow.
  const auto at = [&](std::int64_t ns) {
    return set.begin + DurationNs(std::clamp<std::int64_t>(ns, 0, length));
  };
  const RangeStatistics sums = SumRange(set, at(from_ns), at(to_ns));
  JsonWriter json;
  json.BeginObject(JsonWriter::Layout::kLines);
  json.Key("schema").String("headroom.range/1");
  json.Key("from_ns").Integer(from_ns);
  json.Key("to_ns").Integer(to_ns);
  json.Key("streams").BeginArray(JsonWriter::Layout::kLines);
  for (const RangeStatistics::StreamTime& stream : sums.streams) {
    json.BeginObject();
    json.Key("track").Integer(stream.track);
    json.Key("busy_ns").Integer(stream.busy.ns());
    json.Key("idle_for_host_ns").Integer(stream.idle_for_host.ns());
    json.Key("idle_for_others_ns").Integer(stream.idle_for_others.ns());
    json.Key("idle_unknown_ns").Integer(stream.idle_unknown.ns());
    json.Key("idle_others_work_ns").Integer(stream.idle_others_work.ns());
    json.EndObject();
  }
  json.EndArray();
  for (const auto& [key, totals] : {std::pair("gpu", &sums.gpu), std::pair("host", &sums.host)}) {
    json.Key(key).BeginArray(JsonWriter::Layout::kLines);
    for (std::size_t i = 0; i < std::min(kMaxNames, totals->size()); ++i) {
      const NameTotal& total = (*totals)[i];
      json.BeginObject();
      json.Key("label").String(LabelOf(total.name, total.style));
      json.Key("style").Integer(total.style);
      json.Key("count").Integer(total.count);
      json.Key("total_ns").Integer(total.total.ns());
      json.EndObject();
    }
    json.EndArray();
  }
  json.EndObject();
  return std::move(json).Take();
}

}  // namespace headroom
