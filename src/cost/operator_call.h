// OperatorCall: one recorded operator with the shapes of its arguments, parsed from a profiler
// record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/dtype.h"

namespace headroom {

/// One tensor as recorded. Empty dims mean a scalar tensor with one element.
struct TensorArg {
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> strides;  ///< In elements, one per dimension; empty if not recorded.
  DType dtype = DType::kUnknown;
};

/// One argument of an operator.
struct OperatorArg {
  enum class Kind {
    kNone,    ///< Not given, or its type is not recorded.
    kTensor,  ///< `tensors` has one element.
    /// `tensors` may be empty. Profilers drop long lists, so an empty list means unknown.
    kTensorList,
    /// A number, bool, string or a list of them. `concrete` holds the value if it was recorded.
    kScalar,
  };
  Kind kind = Kind::kNone;
  std::vector<TensorArg> tensors;
  std::string concrete;  ///< "1", "[1, 1]", "False"; empty if not recorded.
};

/// One operator call.
struct OperatorCall {
  std::string name;  ///< "aten::mm".
  std::vector<OperatorArg> args;
};

/// Strings of a PyTorch profiler record ("args" of a cpu_op). Each is a JSON list, or empty if not
/// recorded.
struct OperatorTexts {
  std::string_view dims;  ///< "Input Dims": [[8, 384], [], [[3], [4]]].
  /// "Input type" (older: "Input Types"): ["float", "Scalar", "TensorList"].
  std::string_view types;
  std::string_view strides;   ///< "Input Strides".
  std::string_view concrete;  ///< "Concrete Inputs": ["", "1", "[1, 1]"].
};

/// Parses the strings of one record. Returns nullopt in these cases:
/// - `dims` or `types` is missing or is not such a list.
/// - The lists have different lengths.
/// - The lists exceed any profiler's output: 1 MiB of text, 4096 arguments, 65536 tensors, 64
///   dimensions.
///
/// Damaged strides or concrete inputs count as not recorded.
std::optional<OperatorCall> ParseOperatorCall(std::string_view name, const OperatorTexts& texts);

}  // namespace headroom
