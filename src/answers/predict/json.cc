#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "answers/predict/render.h"
#include "render/json_writer.h"

namespace headroom {
namespace {

using Layout = JsonWriter::Layout;

void WriteRange(JsonWriter& json, const PredictedMs& ms) {
  json.BeginObject();
  json.Key("low").Number(ms.low);
  json.Key("mid").Number(ms.mid);
  json.Key("high").Number(ms.high);
  json.EndObject();
}

void WriteEnergy(JsonWriter& json, const std::optional<StepEnergy>& energy, std::int64_t gpus,
                 std::optional<std::int64_t> samples) {
  constexpr double kPercent = 100;
  json.Key("energy_joules").Number(energy ? std::optional(energy->joules) : std::nullopt);
  json.Key("energy_error_pct")
      .Number(energy ? std::optional(energy->error * kPercent) : std::nullopt);
  json.Key("energy_source").StringOrNull(energy ? Name(energy->source) : "");
  json.Key("energy_carried").Number(energy ? energy->carried : std::nullopt);
  json.Key("energy_joules_per_sample")
      .Number(energy && samples
                  ? std::optional(energy->joules / static_cast<double>(*samples * gpus))
                  : std::nullopt);
  json.Key("energy_parts_joules");
  if (!energy || energy->idle_joules <= 0) {
    json.Null();
    return;
  }
  json.BeginObject();
  constexpr std::array kNames = {"forward", "backward", "optimizer", "other"};
  for (std::size_t i = 0; i < kGpuPhases; ++i) json.Key(kNames[i]).Number(energy->phase_joules[i]);
  json.Key("idle").Number(energy->idle_joules);
  json.EndObject();
}

void WriteOption(JsonWriter& json, const PlannedOption& planned) {
  const DeploymentOption& option = planned.option;
  json.BeginObject();
  json.Key("workload").StringOrNull(planned.workload);
  json.Key("provider").String(option.instance.provider);
  json.Key("instance").String(option.instance.instance);
  json.Key("region").String(option.instance.region);
  json.Key("gpu").String(option.instance.gpu);
  json.Key("gpus").Integer(option.instance.gpus);
  json.Key("instances").Integer(option.instances);
  json.Key("price_per_hour").Number(option.instance.price_per_hour);
  json.Key("currency").String(option.instance.currency);
  json.Key("date").String(option.instance.date);
  json.Key("source").String(option.instance.source);
  json.Key("hours").Number(option.hours);
  json.Key("money").Number(option.money);
  json.Key("co2_kg").Number(planned.co2_kg);
  json.Key("carbon").String(planned.carbon);
  json.Key("scaled_out");
  if (planned.scaled_out) {
    const MachineStep& on = *planned.scaled_out;
    json.BeginObject();
    WriteRange(json.Key("step_ms"), on.step);
    json.Key("efficiency_pct").Number(100 * on.efficiency);
    json.Key("network").String(on.network);
    json.EndObject();
  } else {
    json.Null();
  }
  json.Key("cheapest").Bool(option.cheapest);
  json.Key("fastest").Bool(option.fastest);
  json.Key("pareto").Bool(option.pareto);
  json.EndObject();
}

void WriteRecorded(JsonWriter& json, const std::optional<RecordedMemory>& recorded) {
  json.Key("recorded");
  if (!recorded) {
    json.Null();
    return;
  }
  json.BeginObject();
  json.Key("parameters_bytes").Number(recorded->parameters);
  json.Key("gradients_bytes").Number(recorded->gradients);
  json.Key("optimizer_state_bytes").Number(recorded->optimizer_state);
  json.Key("activations_bytes").Number(recorded->activations);
  json.Key("inputs_bytes").Number(recorded->inputs);
  json.Key("temporaries_bytes").Number(recorded->temporaries);
  json.Key("autograd_bytes").Number(recorded->autograd);
  json.Key("unknown_bytes").Number(recorded->unknown);
  json.EndObject();
}

void WriteInterval(JsonWriter& json, const BytesInterval& interval) {
  json.BeginObject();
  json.Key("low").Number(interval.low);
  json.Key("high").Number(interval.high);
  json.EndObject();
}

void WriteMemory(JsonWriter& json, const PredictBaseline& baseline) {
  json.Key("memory");
  if (!baseline.memory) {
    json.Null();
    return;
  }
  const JobMemory& memory = *baseline.memory;
  const MemoryParts& parts = memory.peak.parts;
  json.BeginObject();
  json.Key("peak_bytes").Number(memory.peak.peak_bytes);
  json.Key("recorded_peak_bytes").Number(memory.recorded_bytes);
  json.Key("reserved_bytes").Number(memory.reserved_bytes);
  WriteInterval(json.Key("peak_interval_bytes"), *memory.PeakInterval());
  WriteInterval(json.Key("reserved_interval_bytes"), *memory.TakenInterval());
  json.Key("parameters_bytes").Number(parts.parameters);
  json.Key("gradients_bytes").Number(parts.gradients);
  json.Key("optimizer_state_bytes").Number(parts.optimizer_state);
  json.Key("activations_bytes").Number(parts.activations);
  json.Key("temporaries_bytes").Number(parts.temporaries);
  json.Key("workspace_bytes").Number(parts.workspace);
  WriteRecorded(json, memory.recorded);
  json.Key("recorded_doubt").StringOrNull(memory.Doubt());
  json.Key("batch_doubt").StringOrNull(memory.BatchDoubt());
  json.Key("optimizer").StringOrNull(memory.model->optimizer());
  json.Key("unknown_operators").Integer(memory.model->unknown_operators());
  json.Key("samples").Integer(memory.samples);
  json.Key("sharded").BeginArray();
  for (const ShardedMemory& sharded : memory.sharded) {
    json.BeginObject();
    json.Key("zero_stage").Integer(std::int64_t{sharded.sharding.stage});
    json.Key("ranks").Integer(std::int64_t{sharded.sharding.ranks});
    json.Key("peak_bytes").Number(sharded.peak_bytes);
    json.EndObject();
  }
  json.EndArray();
  json.Key("batch_sizes").BeginArray();
  for (const BatchMemory& batch : memory.batches) {
    json.BeginObject();
    json.Key("samples").Integer(batch.samples);
    json.Key("peak_bytes").Number(batch.peak_bytes);
    json.Key("reserved_bytes").Number(batch.taken_bytes);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void WriteBaseline(JsonWriter& json, const PredictBaseline& baseline) {
  constexpr double kPercent = 100;
  json.BeginObject();
  json.Key("trace").String(baseline.trace);
  json.Key("gpu").String(baseline.gpu);
  json.Key("step_ms").Number(baseline.step.mid);
  json.Key("step_low_ms").Number(baseline.step.low);
  json.Key("step_high_ms").Number(baseline.step.high);
  json.Key("host_limit_ms").Number(baseline.host_ms);
  json.Key("gpu_limit_ms").Number(baseline.gpu_ms);
  json.Key("gpus").Integer(baseline.gpus);
  WriteEnergy(json, baseline.energy, baseline.gpus, baseline.samples);
  WriteMemory(json, baseline);
  json.Key("no_memory").StringOrNull(baseline.no_memory);
  json.Key("steps_note").StringOrNull(baseline.steps_note);
  json.Key("ratio_only_pct").Number(baseline.ratio_only_share * kPercent);
  json.EndObject();
}

void WriteCurve(JsonWriter& json, const std::optional<TargetBatchCurve>& curve) {
  json.Key("batch_curve");
  if (!curve) {
    json.Null();
    return;
  }
  json.BeginObject();
  json.Key("recorded_samples").Integer(curve->recorded);
  json.Key("knee_samples").Integer(curve->knee);
  json.Key("best_samples").Integer(curve->best);
  json.Key("points").BeginArray();
  for (const TargetBatch& point : curve->points) {
    json.BeginObject();
    json.Key("samples").Integer(point.samples);
    WriteRange(json.Key("step_ms"), point.step);
    json.Key("samples_per_s").Number(point.samples_per_s);
    json.Key("memory_bytes").Number(point.memory_bytes);
    json.Key("memory_other_bytes").Number(point.memory_other_bytes);
    json.Key("fits");
    point.fits ? json.Bool(*point.fits) : json.Null();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void WriteTarget(JsonWriter& json, const PredictedTarget& target) {
  json.BeginObject();
  json.Key("gpu").String(target.gpu);
  json.Key("name").String(target.full_name);
  json.Key("workload").StringOrNull(target.workload);
  WriteRange(json.Key("step_ms"), target.step);
  json.Key("unchanged_step_ms");
  if (target.unchanged) {
    WriteRange(json, *target.unchanged);
  } else {
    json.Null();
  }
  json.Key("speedup").Number(target.speedup);
  json.Key("phases_ms");
  if (target.phases_ms) {
    json.BeginObject();
    json.Key("forward").Number((*target.phases_ms)[0]);
    json.Key("backward").Number((*target.phases_ms)[1]);
    json.Key("accumulate").Number((*target.phases_ms)[2]);
    json.Key("optimizer").Number((*target.phases_ms)[3]);
    json.EndObject();
  } else {
    json.Null();
  }
  json.Key("gpu_memory_bytes").Number(target.gpu_memory_bytes);
  json.Key("gpus").Integer(target.gpus);
  WriteEnergy(json, target.energy, target.gpus, target.samples);
  json.Key("hours").Number(target.hours);
  json.Key("money").Number(target.money);
  json.Key("money_per_million_samples").Number(target.money_per_million_samples);
  json.Key("currency").StringOrNull(target.currency);
  json.Key("co2_kg").Number(target.co2_kg);
  json.Key("memory_bytes").Number(target.memory_bytes);
  json.Key("fits");
  target.fits ? json.Bool(*target.fits) : json.Null();
  json.Key("fit_confidence")
      .StringOrNull(target.fit_confidence ? NameOf(*target.fit_confidence) : "");
  json.Key("largest_batch").Number(target.largest_batch);
  json.Key("largest_batch_at_best").Number(target.largest_batch_at_best);
  WriteCurve(json, target.batch_curve);
  json.Key("limited_by").StringOrNull(target.limited_by);
  json.Key("measured_operators").Integer(static_cast<std::int64_t>(target.measured_operators));
  constexpr double kPercent = 100;
  json.Key("measured_pct").Number(target.measured_share * kPercent);
  json.Key("extrapolated").Bool(!target.doubt.empty());
  json.Key("extrapolated_why").StringOrNull(target.doubt);
  json.Key("ties").BeginArray();
  for (const std::string& tie : target.ties) json.String(tie);
  json.EndArray();
  json.Key("why").String(target.why + (target.why.empty() || target.doubt.empty() ? "" : "; ") +
                         target.doubt);
  json.EndObject();
}

}  // namespace

std::string RenderPredictJson(const PredictReport& report) {
  JsonWriter json;
  json.BeginObject(Layout::kLines);
  json.Key("schema").String("headroom.predict/1");
  json.Key("source_gpu");
  report.source_gpu ? json.String(*report.source_gpu) : json.Null();
  json.Key("with").StringOrNull(report.change);
  json.Key("baseline");
  if (report.baselines.size() == 1) {
    WriteBaseline(json, report.baselines.front());
  } else {
    json.Null();
  }
  json.Key("baselines").BeginArray(Layout::kLines);
  for (const PredictBaseline& baseline : report.baselines) WriteBaseline(json, baseline);
  json.EndArray();
  json.Key("targets").BeginArray(Layout::kLines);
  for (const PredictedTarget& target : report.targets) WriteTarget(json, target);
  json.EndArray();
  json.Key("abstained").BeginArray(Layout::kLines);
  for (const PredictAbstention& abstention : report.abstained) {
    json.BeginObject();
    json.Key("trace").String(abstention.trace);
    json.Key("gpu").StringOrNull(abstention.gpu);
    json.Key("why").String(abstention.why);
    json.EndObject();
  }
  json.EndArray();
  json.Key("total_steps").Number(report.total_steps);
  json.Key("carbon").StringOrNull(report.carbon);
  json.Key("equivalents").BeginArray(Layout::kLines);
  for (const std::string& equivalent : report.equivalents) json.String(equivalent);
  json.EndArray();
  json.Key("options").BeginArray(Layout::kLines);
  for (const PlannedOption& option : report.options) WriteOption(json, option);
  json.EndArray();
  json.Key("not_scaled_out").StringOrNull(WhyNotScaledOut(report));
  json.Key("options_over_limits").Integer(report.options_over_limits);
  json.Key("prices").StringOrNull(report.prices);
  json.Key("constants").String(report.constants);
  json.EndObject();
  return std::move(json).Take() + "\n";
}

}  // namespace headroom
