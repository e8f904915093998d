// OperatorCall: one recorded operator with the shapes of its arguments, read from the texts of a
// profiler record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/dtype.h"

namespace headroom {

/// One tensor as recorded. No dims = a scalar tensor with one element.
struct TensorArg {
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> strides;  ///< In elements, as long as dims; empty if not recorded.
  DType dtype = DType::kUnknown;
};

/// One argument of an operator.
struct OperatorArg {
  enum class Kind {
    kNone,        ///< Not given, or of a type that is not recorded.
    kTensor,      ///< tensors has one element.
    kTensorList,  ///< tensors may be empty: profilers drop long lists, so an empty list is an
                  ///< unknown one.
    kScalar,      ///< A number, bool, string or a list of them; its value is in `concrete` where
                  ///< recorded.
  };
  Kind kind = Kind::kNone;
  std::vector<TensorArg> tensors;
  std::string concrete;  ///< "1", "[1, 1]", "False"; empty if not recorded.
};

/// One operator call. Pure value.
struct OperatorCall {
  std::string name;  ///< "aten::mm".
  std::vector<OperatorArg> args;
};

/// The texts of a PyTorch profiler record ("args" of a cpu_op), each a JSON list or empty if not
/// recorded.
struct OperatorTexts {
  std::string_view dims;  ///< "Input Dims": [[8, 384], [], [[3], [4]]].
  std::string_view
      types;  ///< "Input type" (older: "Input Types"): ["float", "Scalar", "TensorList"].
  std::string_view strides;   ///< "Input Strides".
  std::string_view concrete;  ///< "Concrete Inputs": ["", "1", "[1, 1]"].
};

/// Reads the texts; nullopt if `dims` or `types` is missing, is not such a list, disagrees in
/// length, or is larger than any profiler writes (1 MiB of text, 4096 arguments, 65536 tensors, 64
/// dimensions). Damaged strides or concrete inputs are taken as not recorded. Never fails
/// otherwise, whatever the text.
std::optional<OperatorCall> ParseOperatorCall(std::string_view name, const OperatorTexts& texts);

}  // namespace headroom
