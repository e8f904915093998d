#include "answers/predict/operator_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "cost/device_spec.h"
#include "predict/kernel_table.h"
#include "render/number_format.h"

namespace headroom {
namespace {

std::vector<std::string> RemarksOn(const CsvTable& table,
                                   const std::vector<MeasuredOperator>& operators,
                                   const std::vector<std::optional<PredictedMs>>& predictions,
                                   const DeviceRates& source, const DeviceRates& target,
                                   const GpuModels& models) {
  std::size_t elsewhere = 0, without_model = 0, on_tensor_cores = 0;
  double all_ms = 0, vector_ms = 0;
  for (std::size_t row = 0; row < predictions.size(); ++row) {
    const std::optional<PredictedMs>& ms = predictions[row];
    if (!ms) ++(operators[row].on_source ? without_model : elsewhere);
    if (ms) {
      all_ms += ms->mid;
      vector_ms += OnTensorCores(operators[row].work) ? 0 : ms->mid;
    }
    // A row that was measured on the target keeps its measured time, so `low` equals `high`.
    const KernelWork& work = operators[row].work;
    if (ms && ms->low < ms->high && OnTensorCores(work) && ClassOf(work) == WorkClass::kConvolution)
      ++on_tensor_cores;
  }
  std::vector<std::string> remarks;
  const std::vector<std::string> misspelt = MisspeltColumns(table);
  if (!misspelt.empty())
    remarks.push_back(fmt::format("ignored: {} {}", misspelt.size() == 1 ? "column" : "columns",
                                  fmt::join(misspelt, ", ")));
  const TableUncertainty doubts = UncertaintyOf(operators, source, models.constants());
  if (doubts.implausible > 0) {
    remarks.push_back(
        fmt::format("{}: the time in {} is shorter than {} can reach, or over 100 times the "
                    "expected time; latency_ms is in milliseconds",
                    table.Place(doubts.first),
                    doubts.implausible == 1
                        ? "the row"
                        : fmt::format("this and {}", Plural(doubts.implausible - 1, "more row")),
                    source.device->short_name));
  }
  if (on_tensor_cores > 0) {
    remarks.push_back(fmt::format(
        "{} on tensor cores: validated against one H200 only, so their ranges are {} times as wide",
        Plural(on_tensor_cores, "convolution"), kTensorCoreDoubt));
  }
  if (elsewhere > 0) {
    remarks.push_back(fmt::format("{} without a prediction: not measured on {}",
                                  Plural(elsewhere, "row"), source.device->short_name));
  }
  if (without_model > 0)
    remarks.push_back(fmt::format("{} without a prediction: {} or {} has no peak for the type",
                                  Plural(without_model, "row"), source.device->short_name,
                                  target.device->short_name));
  const std::string why = models.WhyExtrapolated(target, all_ms > 0 ? vector_ms / all_ms : 1);
  if (!why.empty()) remarks.push_back(fmt::format("{}: {}", target.device->short_name, why));
  return remarks;
}

}  // namespace

Result<PredictedTable> PredictOperatorTable(const CsvTable& table, const std::string& path,
                                            const DeviceRates& source, const DeviceRates& target,
                                            const GpuModels& models) {
  const DeviceCatalog& catalog = models.devices();
  // For each device name in the table: true if it names `source`.
  std::map<std::string, bool> is_source;
  const Result<std::vector<MeasuredOperator>> operators =
      ReadMeasuredOperators(table, [&](const std::string& name) {
        const auto [entry, is_new] = is_source.try_emplace(name);
        if (is_new) entry->second = catalog.Find(name) == source.device;
        return entry->second;
      });
  if (!operators.ok()) return operators.status();
  const std::vector<std::optional<PredictedMs>> predictions =
      PredictOperators(operators.value(), source, target, models.constants());
  if (operators.value().empty())
    return Status::NoAnswer(fmt::format(
        "{}: has a header but no row; each row is an operator (docs/predict.md)", path));
  if (std::none_of(predictions.begin(), predictions.end(),
                   [](const auto& prediction) { return prediction.has_value(); })) {
    return Status::NoAnswer(
        fmt::format("{}: no row can be predicted: none was measured on {} in a data type with a "
                    "known peak on that GPU and on {}",
                    path, source.device->short_name, target.device->short_name));
  }
  std::vector<std::string> cells = table.header;
  for (const char* column : {"predicted_ms", "predicted_low_ms", "predicted_high_ms"}) {
    if (table.Column(column)) {
      return Status::BadInput(fmt::format("{}: already has a column {}; remove it", path, column));
    }
    cells.emplace_back(column);
  }
  std::string text = CsvLine(cells);
  for (std::size_t row = 0; row < predictions.size(); ++row) {
    cells = table.rows[row];
    const std::optional<PredictedMs>& ms = predictions[row];
    for (const double PredictedMs::*part :
         {&PredictedMs::mid, &PredictedMs::low, &PredictedMs::high})
      cells.push_back(ms ? fmt::format("{:.6f}", *ms.*part) : "");
    text += CsvLine(cells);
  }
  return PredictedTable{std::move(text),
                        RemarksOn(table, operators.value(), predictions, source, target, models)};
}

}  // namespace headroom
