#include "ranks/collective_rows.h"

#include <algorithm>
#include <array>
#include <utility>

#include "store/kineto_args.h"

namespace headroom {
namespace {

/// Element types as c10::toString() prints them. Traces of collectives use these names.
constexpr std::array<std::pair<std::string_view, int>, 12> kElementBytes = {{
    {"Float", 4},
    {"Half", 2},
    {"BFloat16", 2},
    {"Double", 8},
    {"Long", 8},
    {"Int", 4},
    {"Short", 2},
    {"Char", 1},
    {"Byte", 1},
    {"Bool", 1},
    {"Float8_e4m3fn", 1},
    {"Float8_e5m2", 1},
}};

/// Returns 0 if the type is unknown.
int ElementBytes(std::string_view dtype) {
  const auto* const found = std::find_if(kElementBytes.begin(), kElementBytes.end(),
                                         [&](const auto& entry) { return entry.first == dtype; });
  return found == kElementBytes.end() ? 0 : found->second;
}

/// Removes the quotes of a JSON string without escapes; descriptions have none. Returns any other
/// string unchanged.
std::string_view Unquoted(std::string_view json) {
  if (json.size() >= 2 && json.front() == '"' && json.back() == '"')
    return json.substr(1, json.size() - 2);
  return json;
}

}  // namespace

CollectiveRows::CollectiveRows(const TraceStore& store) : store_(store) {
  for (std::size_t row = 0; row < store.collectives.rows(); ++row)
    row_of_[store.collectives.task[row].index()] = row;
}

std::optional<CollectiveArguments> CollectiveRows::Of(std::size_t gpu_task) const {
  const auto known = row_of_.find(gpu_task);
  if (known == row_of_.end()) return std::nullopt;
  const std::size_t row = known->second;
  const auto& rows = store_.collectives;
  CollectiveArguments arguments;
  arguments.name = store_.Text(rows.name[row]);
  arguments.group = store_.Text(rows.process_group[row]);
  arguments.description =
      Unquoted(store_.Arg(store_.gpu_tasks.args[gpu_task], kGroupDescriptionArg));
  arguments.ranks = Unquoted(store_.Arg(store_.gpu_tasks.args[gpu_task], kGroupRanksArg));
  // Kineto writes "[]" if it does not know the ranks.
  if (arguments.ranks == "[]") arguments.ranks = {};
  if (rows.group_size[row] > 0) arguments.members = rows.group_size[row];
  // The larger side is the whole tensor: the input of a reduce-scatter, the output of an
  // all-gather.
  const std::int64_t elements = std::max(rows.in_elements[row], rows.out_elements[row]);
  const int bytes = ElementBytes(store_.Text(rows.dtype[row]));
  if (bytes > 0 && elements > 0) arguments.bytes = static_cast<double>(elements) * bytes;
  return arguments;
}

}  // namespace headroom
