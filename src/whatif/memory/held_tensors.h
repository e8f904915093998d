// Maps tensors in a profile to memory. Records have shapes but no identity. This class therefore
// tracks the tensors that a program can still hold: shapes and types under which memory was last
// written or viewed. A read takes the most recent of them with exactly that shape, type and
// strides. Strides distinguish, for example, a view of a packed QKV tensor from a contiguous
// tensor. Unknown strides match any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "cost/operator_call.h"

namespace headroom {

/// Tensors already taken by one operator: no two of its arguments are the same tensor.
struct Taken {
  std::vector<std::size_t> storages;
  std::vector<std::int64_t> holds;  ///< Serial numbers of holds that remain after the operator.
};

class HeldTensors {
 public:
  /// Records that memory was written, and is held under the tensor's shape.
  void Write(const TensorArg& tensor, std::size_t storage);
  /// Records that memory is also held under this shape.
  void Hold(const TensorArg& tensor, std::size_t storage);

  /// Returns the memory of a tensor that is read; nullopt if it was not written in the step.
  ///
  /// @param stays  true if a later operator reads it; otherwise the memory is no longer held under
  /// this shape
  std::optional<std::size_t> Take(const TensorArg& tensor, bool stays, Taken& taken);

  /// Returns the type under which a tensor of this shape is held, for records without a type;
  /// float32 if none is held. Prefers floating-point types: the indices of a max pooling have the
  /// shape of its output.
  DType TypeOf(const TensorArg& tensor) const;

 private:
  struct Held {
    std::size_t storage = 0;
    std::int64_t serial = 0;
    std::vector<std::int64_t> strides;
  };
  using Shape = std::pair<std::vector<std::int64_t>, DType>;
  using Size = std::pair<double, DType>;

  std::map<Shape, std::vector<Held>> held_;
  std::map<Size, std::vector<std::size_t>> written_;  ///< Storages, in order.
  std::int64_t serial_ = 0;
};

}  // namespace headroom
