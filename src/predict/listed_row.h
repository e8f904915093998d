// A row of an operator list, as its file states it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cost/dtype.h"
#include "predict/operator_list.h"

namespace headroom {

/// Extents of a tensor.
using Extents = std::vector<double>;

struct ListedRow {
  std::string place;  ///< For messages.
  std::string op = {}, name = {}, mode = {};
  double repeats = 1;
  /// Kernels: lists of [kind, dimensions].
  nlohmann::json forward = {}, backward = {}, accumulate = {};
  std::vector<Extents> inputs = {};
  Extents output = {};
  std::optional<DType> dtype = {};  ///< Type that the row states.
  /// Type under autocast that the row states; nullopt if the list has no such column.
  std::optional<AutocastType> autocast = {};
  bool channels_last = false;  ///< Memory order of a convolution's activations.

  bool IsTraining() const { return !mode.starts_with("inf"); }
};

/// Returns the failure of a row.
Status BadRow(const std::string& place, std::string_view what);

inline constexpr double kMaxListedElements = 1e15;

/// Returns true above kMaxListedElements, and for NaN, which results from infinity times 0.
inline bool IsTooMany(double elements) { return !(elements <= kMaxListedElements); }

/// Returns the extents of a tensor, with a number as one extent; nullopt for other values.
std::optional<Extents> ExtentsOf(const nlohmann::json& value);

/// Returns the number of elements of a tensor.
double ElementsOf(const Extents& extents);

/// Returns the number of elements of the largest tensor of [shape, shape, ...]; 0 without tensors.
double LargestElements(const nlohmann::json& shapes);

/// Returns the number of elements of all tensors of [shape, shape, ...].
double AllElements(const nlohmann::json& shapes);

/// Parses a list as Python prints it, "[['BMM', (20, 64, 1)]]", or in JSON.
std::optional<nlohmann::json> ParseLiteral(std::string_view text);

}  // namespace headroom
