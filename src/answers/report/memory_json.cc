#include "answers/report/memory_json.h"

#include <algorithm>
#include <cstddef>

#include "analysis/loop/memory_use.h"
#include "answers/report/columns.h"

namespace headroom {
namespace {

using Layout = JsonWriter::Layout;

void WriteParts(JsonWriter& json, const MemoryUse& use) {
  json.Key("parts").BeginArray();
  for (const MemoryPart& part : use.parts) {
    json.BeginObject();
    json.Key("kind").String(part.kind);
    json.Key("bytes").Integer(part.bytes);
    json.Key("allocations").Integer(part.allocations);
    json.EndObject();
  }
  json.EndArray();
}

void WriteHolders(JsonWriter& json, const MemoryUse& use, const TraceReport& file,
                  const ReportOptions& options) {
  json.Key("holders").BeginArray(Layout::kLines);
  const std::size_t shown = std::min(use.holders.size(), options.top.value_or(use.holders.size()));
  for (std::size_t i = 0; i < shown; ++i)
    WriteRow(columns::Holders(), {&use.holders[i], &use, &file}, json);
  json.EndArray();
}

void WriteSteps(JsonWriter& json, const MemoryUse& use, TimeNs zero) {
  json.Key("steps").BeginArray(Layout::kLines);
  for (const MemoryStep& step : use.steps) {
    json.BeginObject();
    json.Key("index").Integer(step.index);
    json.Key("start_ms").Milliseconds(step.start - zero);
    json.Key("peak_bytes").Integer(step.peak_bytes);
    json.Key("end_bytes").Integer(step.end_bytes);
    json.EndObject();
  }
  json.EndArray();
}

/// Writes one array per column. Values of one point have the same index in all arrays.
void WriteCurve(JsonWriter& json, const MemoryUse& use, TimeNs zero) {
  json.Key("curve").BeginObject(Layout::kLines);
  const auto column = [&](std::string_view key, auto&& write) {
    json.Key(key).BeginArray();
    for (const MemoryMoment& moment : use.curve) write(moment);
    json.EndArray();
  };
  column("ms", [&](const MemoryMoment& m) { json.Milliseconds(m.time - zero); });
  column("allocated_bytes", [&](const MemoryMoment& m) { json.Integer(m.allocated_bytes); });
  column("reserved_bytes", [&](const MemoryMoment& m) { json.Integer(m.reserved_bytes); });
  json.Key("parts").BeginArray(Layout::kLines);
  for (std::size_t kind = 0; kind < kMemoryKinds.size(); ++kind) {
    if (std::none_of(use.curve.begin(), use.curve.end(),
                     [&](const MemoryMoment& m) { return m.parts[kind] != 0; }))
      continue;
    json.BeginObject();
    json.Key("kind").String(kMemoryKinds[kind]);
    column("bytes", [&](const MemoryMoment& m) { json.Integer(m.parts[kind]); });
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void WriteDevice(JsonWriter& json, const MemoryUse& use, const TraceReport& file,
                 const ReportOptions& options) {
  json.BeginObject(Layout::kLines);
  json.Key("rank").Integer(file.input.rank);
  json.Key("device").Integer(use.device);
  json.Key("process").StringOrNull(use.process);
  json.Key("peak_bytes").Integer(use.peak.allocated_bytes);
  json.Key("peak_ms").Milliseconds(use.peak.time - file.trace_start);
  json.Key("peak_step").Integer(use.peak_step);
  json.Key("reserved_at_peak_bytes").Integer(use.peak.reserved_bytes);
  json.Key("most_reserved_bytes").Integer(use.most_reserved_bytes);
  json.Key("first_bytes").Integer(use.first_bytes);
  json.Key("last_bytes").Integer(use.last_bytes);
  json.Key("growth_bytes_per_step").Integer(use.growth_bytes_per_step);
  json.Key("allocations").Integer(use.allocations);
  json.Key("frees").Integer(use.frees);
  json.Key("turnover_bytes").Integer(use.turnover_bytes);
  WriteParts(json, use);
  WriteHolders(json, use, file, options);
  WriteSteps(json, use, file.trace_start);
  WriteCurve(json, use, file.trace_start);
  json.EndObject();
}

}  // namespace

void WriteMemory(JsonWriter& json, const JobReport& job, const ReportOptions& options) {
  json.Key("memory");
  if (std::all_of(job.files().begin(), job.files().end(),
                  [](const TraceReport& file) { return file.memory.empty(); })) {
    return json.Null();
  }
  json.BeginObject(Layout::kLines);
  json.Key("devices").BeginArray(Layout::kLines);
  for (const TraceReport& file : job.files()) {
    for (const MemoryUse& use : file.memory) WriteDevice(json, use, file, options);
  }
  json.EndArray();
  json.EndObject();
}

}  // namespace headroom
