#include <string_view>
#include <utility>

#include "answers/data/render.h"
#include "answers/data/stages.h"
#include "base/units.h"
#include "render/json_writer.h"

namespace headroom {
namespace {

using Layout = JsonWriter::Layout;

void WriteSettings(JsonWriter& json, const LoaderProfile& loader) {
  const LoaderSettings& s = loader.settings;
  json.BeginObject();
  json.Key("workers").Integer(s.workers);
  json.Key("prefetch_factor").Integer(s.workers > 0 ? std::optional(s.prefetch) : std::nullopt);
  json.Key("batch_size").Integer(s.batch_size);
  json.Key("dataset_size").Integer(s.dataset_size);
  json.Key("pin_memory").Bool(s.pin);
  json.Key("persistent_workers").Bool(s.persistent);
  json.Key("cpus").Integer(s.cpus);
  json.Key("batches").Integer(static_cast<std::int64_t>(loader.batches.size()));
  json.Key("fetches").Integer(static_cast<std::int64_t>(loader.fetches.size()));
  json.Key("epochs").Integer(loader.epochs);
  json.Key("wait_ms").Milliseconds(loader.Wait());
  json.EndObject();
}

void WriteOutcome(JsonWriter& json, const LoadingOutcome& outcome, const LoadingModel& recorded) {
  json.Key("step_ms").BeginObject();
  json.Key("low").Number(outcome.low_ms);
  json.Key("mid").Number(outcome.mid_ms);
  json.Key("high").Number(outcome.high_ms);
  json.EndObject();
  json.Key("speedup").Number(SpeedupOf(outcome, recorded));
  json.Key("samples_per_s")
      .Number(outcome.samples_per_s > 0 ? std::optional(outcome.samples_per_s) : std::nullopt);
  json.Key("wait_ms").Number(outcome.wait_ms);
  json.Key("busy_cpus").Number(outcome.run.busy_cpus);
  json.Key("worker_use").Number(outcome.run.worker_use);
}

void WriteOption(JsonWriter& json, const LoadingOption& option, const LoadingModel& recorded) {
  json.BeginObject();
  json.Key("setting").String(option.name);
  WriteOutcome(json, option.outcome, recorded);
  json.Key("memory_bytes")
      .Number(option.memory_bytes > 0 ? std::optional(option.memory_bytes) : std::nullopt);
  json.Key("exceeds_memory").Bool(option.exceeds_memory);
  json.Key("oversubscribed").Bool(option.oversubscribed);
  json.EndObject();
}

void WriteProbe(JsonWriter& json, const DataReport& report) {
  if (!report.probe) {
    json.Key("probe").Null();
    return;
  }
  const InputProbe& probe = *report.probe;
  const auto time = [&](std::string_view key, const std::optional<ProbedMs>& ms) {
    if (!ms) {
      json.Key(key).Null();
      return;
    }
    json.Key(key).BeginObject();
    json.Key("low").Number(ms->low);
    json.Key("mid").Number(ms->mid);
    json.Key("high").Number(ms->high);
    json.Key("count").Integer(static_cast<std::int64_t>(ms->count));
    json.EndObject();
  };
  json.Key("probe").BeginObject(Layout::kLines);
  time("step_ms", probe.step);
  time("loop_ms", probe.loop);
  time("loader_cost_ms", probe.loader_cost);
  time("loader_ms", probe.loader);
  time("again_ms", probe.again);
  json.Key("storage_ms");
  if (probe.storage) {
    json.BeginObject();
    json.Key("low").Number(probe.storage->low);
    json.Key("mid").Number(probe.storage->mid);
    json.Key("high").Number(probe.storage->high);
    json.EndObject();
  } else {
    json.Null();
  }
  json.Key("limit_ms").Number(probe.LimitMs());
  json.Key("doubts").BeginArray(Layout::kLines);
  for (const std::string& doubt : probe.doubts) json.String(doubt);
  json.EndArray();
  json.EndObject();
}

void WriteForecast(JsonWriter& json, const DataReport& report) {
  if (!report.model) {
    json.Key("forecast").Null();
    json.Key("no_forecast").String(report.no_forecast);
    return;
  }
  const double recorded_ms = static_cast<double>(report.model->period.ns()) / kNsPerMs;
  json.Key("forecast").BeginObject(Layout::kLines);
  json.Key("simulated_step_ms").Number(recorded_ms / report.correction);
  json.Key("correction").Number(report.correction);
  json.Key("cores").Number(report.model->machine.cores);
  json.Key("ideal").BeginObject();
  WriteOutcome(json, report.search.ideal, *report.model);
  json.EndObject();
  json.Key("best").String(report.search.options[report.search.best].name);
  json.Key("cheapest").String(report.search.options[report.search.cheapest].name);
  const auto rows = [&](std::string_view key, const std::vector<LoadingOption>& options) {
    json.Key(key).BeginArray(Layout::kLines);
    for (const LoadingOption& option : options) WriteOption(json, option, *report.model);
    json.EndArray();
  };
  rows("asked", report.asked);
  rows("options", report.search.options);
  json.EndObject();
  json.Key("no_forecast").Null();
}

}  // namespace

std::string RenderDataJson(const DataReport& report) {
  const LoadingSplit& split = report.split;
  const LoaderProfile* loader = report.loaders.empty() ? nullptr : &report.loaders.front();
  const auto known = [&](DurationNs time) { return loader ? std::optional(time) : std::nullopt; };
  JsonWriter json;
  json.BeginObject(Layout::kLines);
  json.Key("schema").String("headroom.data/1");
  json.Key("path").String(report.path);
  json.Key("bound").String(NameOf(split.bound));
  json.Key("loop").BeginObject();
  json.Key("step_ms").Milliseconds(split.period);
  json.Key("wait_ms").Milliseconds(split.wait);
  json.Key("wait_share_pct").Number(100 * split.wait_share);
  json.Key("exposed_wait_ms").Milliseconds(split.exposed_wait);
  json.Key("transfer_ms").Milliseconds(split.transfer);
  json.Key("handover_ms").Milliseconds(known(split.handover));
  json.Key("ready_batches").Number(loader ? std::optional(split.ready) : std::nullopt);
  json.Key("epoch_start_ms").Milliseconds(known(split.epoch_start));
  json.EndObject();
  json.Key("batch").BeginObject();
  json.Key("prepare_ms").Milliseconds(known(split.batch));
  json.Key("cpu_ms").Milliseconds(split.cpu);
  json.Key("blocked_ms").Milliseconds(split.blocked);
  json.Key("queued_ms").Milliseconds(split.queued);
  json.Key("called_bytes").Number(split.called_bytes);
  json.Key("read_bytes").Number(split.read_bytes);
  json.Key("workers_busy_share").Number(loader ? std::optional(split.workers_busy) : std::nullopt);
  json.Key("throttled_cores").Number(split.throttled_cores);
  json.EndObject();
  json.Key("stages").BeginArray(Layout::kLines);
  for (const StageRow& row : loader ? StageRows(*loader) : std::vector<StageRow>()) {
    json.BeginObject();
    json.Key("name").StringOrNull(row.name);
    json.Key("kind").String(row.kind);
    json.Key("count").Integer(row.count);
    json.Key("total_ms").Milliseconds(row.total);
    json.Key("own_ms").Milliseconds(row.own);
    json.Key("cpu_ms").Milliseconds(row.cpu);
    json.Key("per_sample_us").Number(row.per_sample_us);
    json.Key("share_pct").Number(row.share_pct);
    json.EndObject();
  }
  json.EndArray();
  json.Key("workers").BeginArray(Layout::kLines);
  for (const LoaderWorker& worker : loader ? loader->workers : std::vector<LoaderWorker>()) {
    json.BeginObject();
    json.Key("pid").String(worker.pid);
    json.Key("busy_ms").Milliseconds(worker.busy);
    json.Key("idle_ms").Milliseconds(worker.waiting);
    json.Key("starting_ms").Milliseconds(worker.starting);
    json.EndObject();
  }
  json.EndArray();
  json.Key("loaders").BeginArray(Layout::kLines);
  for (const LoaderProfile& each : report.loaders) WriteSettings(json, each);
  json.EndArray();
  json.Key("failures").BeginArray(Layout::kLines);
  for (const std::string& failure : loader ? loader->failures : std::vector<std::string>())
    json.String(failure);
  json.EndArray();
  WriteProbe(json, report);
  WriteForecast(json, report);
  json.EndObject();
  return std::move(json).Take() + "\n";
}

}  // namespace headroom
