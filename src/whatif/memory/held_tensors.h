// Which memory a tensor in a profile is. Records have shapes and no identity, so this keeps what a
// program can still hold at a moment: the shapes and types under which memory was last written or
// looked at. What is read is the most recent of them with exactly that shape and type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "cost/operator_call.h"

namespace headroom {

/// What one operator has already taken: no two of its arguments are one tensor.
struct Taken {
  std::vector<std::size_t> storages;
  std::vector<std::int64_t> holds;  ///< Those that stay held.
};

class HeldTensors {
 public:
  /// Memory was written, and is held under the tensor's shape.
  void Write(const TensorArg& tensor, std::size_t storage);
  /// Memory is held under this shape, too.
  void Hold(const TensorArg& tensor, std::size_t storage);

  /// The memory of a tensor that is read; nullopt: none that was written in the step.
  ///
  /// @param stays  somebody reads it later; else nobody holds it from here on under this shape
  std::optional<std::size_t> Take(const TensorArg& tensor, bool stays, Taken& taken);

  /// The type under which a tensor of this shape is held, where the record does not say; float32
  /// where none is.
  DType TypeOf(const TensorArg& tensor) const;

 private:
  struct Held {
    std::size_t storage = 0;
    std::int64_t serial = 0;
  };
  using Shape = std::pair<std::vector<std::int64_t>, DType>;
  using Size = std::pair<double, DType>;

  std::map<Shape, std::vector<Held>> held_;
  std::map<Size, std::vector<std::size_t>> written_;  ///< Storages, in order.
  std::int64_t serial_ = 0;
};

}  // namespace headroom
