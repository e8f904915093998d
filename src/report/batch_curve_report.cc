#include "report/batch_curve_report.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "analysis/format.h"

namespace headroom {

namespace {

Span NoteOn(const BatchPoint& point, const BatchCurve& curve) {
  if (point.too_large) return {"does not fit the GPU's memory", Style::kWarning};
  if (point.samples == curve.knee) return {"knee", Style::kGood};
  return {point.samples == curve.recorded ? "as recorded" : "", Style::kDim};
}

}  // namespace

std::string MemoryText(std::optional<std::int64_t> delta_bytes) {
  if (!delta_bytes) return "unknown";
  if (*delta_bytes == 0) return "none";
  return fmt::format("{}{}", *delta_bytes > 0 ? '+' : '-',
                     FormatBytes(std::abs(static_cast<double>(*delta_bytes))));
}

void WriteBatchCurveJson(const BatchCurve& curve, JsonWriter& json) {
  json.BeginObject();
  json.Key("recorded_samples").Integer(curve.recorded);
  json.Key("knee_samples").Integer(curve.knee);
  json.Key("points").BeginArray();
  for (const BatchPoint& point : curve.points) {
    json.BeginObject();
    json.Key("samples").Integer(point.samples);
    json.Key("step_ms").Number(point.step_ms);
    json.Key("samples_per_s").Number(point.samples_per_s());
    json.Key("memory_delta_bytes").Integer(point.memory_delta_bytes);
    json.Key("too_large").Raw(point.too_large ? "true" : "false");
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void WriteBatchCurveText(std::string_view name, const BatchCurve& curve, TextPage& page) {
  page.Blank();
  page.Line({{"  Batch size ", Style::kBold}, {std::string(name), Style::kDim}});
  std::vector<std::vector<Span>> rows;
  for (const BatchPoint& point : curve.points) {
    rows.push_back({{fmt::format("{}", point.samples)},
                    {fmt::format("{:.2f} ms", point.step_ms)},
                    {fmt::format("{:.1f}", point.samples_per_s())},
                    {MemoryText(point.memory_delta_bytes)},
                    NoteOn(point, curve)});
  }
  page.Table({{"samples"}, {"step"}, {"samples/s"}, {"memory"}, {"", TableColumn::Kind::kText}},
             rows);
  const std::string less = fmt::format("{:.0f} %", 100 * (kWorthDoubling - 1));
  page.Paragraph(
      "  ", curve.knee
                ? fmt::format("From {} samples on, twice the batch brings less than {} more "
                              "throughput.",
                              *curve.knee, less)
                : fmt::format("Each doubling up to {} samples brings {} more throughput or more.",
                              curve.points.back().samples, less));
}

}  // namespace headroom
