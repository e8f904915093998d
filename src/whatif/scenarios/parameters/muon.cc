#include "whatif/scenarios/parameters/muon.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "kernels/tensor_core_time.h"
#include "whatif/job/operators.h"

namespace headroom {
namespace {

constexpr int kNewtonSchulzIterations = 5;

/// Rows of 16-bit matrices begin at multiples of 16 bytes if they have a multiple of this many
/// elements.
constexpr std::int64_t kAlignedElements = 8;

using Dims = std::vector<std::int64_t>;

/// Returns the number of parameters with each shape that are tables of embeddings or their head.
std::map<Dims, int> Tables(const Job& job) {
  std::map<Dims, int> tables;
  const auto& events = job.store().host_events;
  const Dims* largest = nullptr;
  double most = 0;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const HostEventId op(row);
    if (NameOfOperator(job, op) != "aten::embedding") continue;
    const OperatorCall* call = job.CallOf(op);
    const TensorArg* table = call != nullptr ? FirstTensor(*call) : nullptr;
    if (table == nullptr) continue;
    const auto known = tables.try_emplace(table->dims, 1).first;
    if (ElementsOf(*table) <= most) continue;
    most = ElementsOf(*table);
    largest = &known->first;
  }
  if (largest != nullptr) tables[*largest] = 2;
  return tables;
}

}  // namespace

std::vector<bool> MuonMatrices(const Job& job, const std::vector<TensorArg>& parameters,
                               bool output_first) {
  std::vector<bool> hidden(parameters.size());
  std::transform(parameters.begin(), parameters.end(), hidden.begin(),
                 [](const TensorArg& parameter) { return parameter.dims.size() >= 2; });
  std::map<Dims, int> tables = Tables(job);
  if (tables.empty()) {
    const auto head = output_first ? std::find(hidden.begin(), hidden.end(), true)
                                   : std::find(hidden.rbegin(), hidden.rend(), true).base() - 1;
    if (std::find(hidden.begin(), hidden.end(), true) != hidden.end()) *head = false;
    return hidden;
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto table = tables.find(parameters[i].dims);
    if (table != tables.end() && table->second-- > 0) hidden[i] = false;
  }
  return hidden;
}

std::vector<double> NewtonSchulzNs(const TensorArg& parameter, const DeviceSpec& device) {
  const std::int64_t rows = std::max<std::int64_t>(1, parameter.dims.front());
  const std::int64_t columns =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(ElementsOf(parameter)) / rows);
  const std::int64_t m = std::min(rows, columns), n = std::max(rows, columns);
  const bool aligned = m % kAlignedElements == 0 && n % kAlignedElements == 0;
  const std::optional<DurationNs> times[] = {
      TensorCoreGemmTime({.m = m, .n = m, .k = n}, {.aligned = aligned, .transposed_second = true},
                         DType::kBF16, device),
      TensorCoreGemmTime({.m = m, .n = m, .k = m}, {.aligned = aligned}, DType::kBF16, device),
      TensorCoreGemmTime({.m = m, .n = n, .k = m}, {.aligned = aligned}, DType::kBF16, device)};
  std::vector<double> products;
  for (int i = 0; i < kNewtonSchulzIterations; ++i) {
    for (const std::optional<DurationNs>& time : times) {
      if (!time) return {};
      products.push_back(static_cast<double>(time->ns()));
    }
  }
  return products;
}

}  // namespace headroom
