#include "loader/machine_limits.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <vector>

namespace headroom {
namespace {

/// Returns the finite values of a metric that are at least 0.
std::vector<double> ValuesOf(const TraceStore& store, std::string_view metric) {
  std::vector<double> values;
  const auto& rows = store.counters;
  const StringId name = store.strings.Find(metric);
  for (std::size_t row = 0; name.valid() && row < rows.rows(); ++row) {
    if (rows.name[row] == name && std::isfinite(rows.value[row]) && rows.value[row] >= 0)
      values.push_back(rows.value[row]);
  }
  return values;
}

std::optional<double> Least(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return *std::ranges::min_element(values);
}

}  // namespace

std::optional<double> CpuQuotaOf(const TraceStore& store) {
  std::vector<double> quotas = ValuesOf(store, "cgroup_cpu_limit_cores");
  std::erase(quotas, 0);
  return Least(quotas);
}

std::optional<double> FreeMemoryOf(const TraceStore& store) {
  std::optional<double> free = Least(ValuesOf(store, "free_memory"));
  if (const std::optional<double> group = Least(ValuesOf(store, "cgroup_memory_free_bytes")))
    free = std::min(free.value_or(*group), *group);
  return free;
}

std::optional<double> ThrottledCoresOf(const TraceStore& store) {
  const std::vector<double> values = ValuesOf(store, "cgroup_cpu_throttled_cores");
  if (values.empty()) return std::nullopt;
  return std::reduce(values.begin(), values.end()) / static_cast<double>(values.size());
}

}  // namespace headroom
