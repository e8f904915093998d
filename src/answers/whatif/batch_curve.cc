#include "answers/whatif/batch_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "render/number_format.h"

namespace headroom {

namespace {

Span NoteOn(const BatchPoint& point, const BatchCurve& curve) {
  if (point.too_large) return {"does not fit the GPU's memory", Style::kWarning};
  if (point.samples == curve.knee) return {"knee", Style::kGood};
  return {point.samples == curve.recorded ? "recorded batch" : "", Style::kDim};
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
    json.Key("samples_per_s").Number(point.samples_per_s);
    json.Key("memory_delta_bytes").Integer(point.memory_delta_bytes);
    json.Key("too_large").Bool(point.too_large);
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
                    {FormatMs(point.step_ms)},
                    {FormatNumber(point.samples_per_s)},
                    {MemoryText(point.memory_delta_bytes)},
                    NoteOn(point, curve)});
  }
  page.Table({{"samples"}, {"step"}, {"samples/s"}, {"memory"}, {"", TextColumn::Kind::kText}},
             rows);
  const auto too_large = std::find_if(curve.points.begin(), curve.points.end(),
                                      [](const BatchPoint& point) { return point.too_large; });
  const std::string less = fmt::format("{:.0f} %", 100 * (kWorthDoubling - 1));
  if (curve.knee) {
    page.Paragraph("  ", fmt::format("Beyond {} samples, doubling the batch adds less than {} "
                                     "throughput.",
                                     *curve.knee, less));
  } else if (too_large != curve.points.begin()) {
    page.Paragraph("  ", fmt::format("Each doubling up to {} samples adds at least {} throughput.",
                                     std::prev(too_large)->samples, less));
  }
}

}  // namespace headroom
