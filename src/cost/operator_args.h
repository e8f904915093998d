// Reading the arguments of a recorded operator, and adding up what it moves. Internal to the cost
// formulas.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cost/operator_call.h"
#include "cost/operator_cost.h"

namespace headroom {

/// 2^53: above it a double skips integers.
inline constexpr double kLargestExact = 9007199254740992.0;

/// Argument `index` as one tensor; nullptr if there is none.
const TensorArg* TensorAt(const OperatorCall& call, std::size_t index);

/// Every single tensor among the arguments, in order; those inside lists are not among them.
std::vector<const TensorArg*> SingleTensors(const OperatorCall& call);

/// The recorded value of argument `index`; nullopt if it was not recorded or is of another kind.
std::optional<std::int64_t> IntAt(const OperatorCall& call, std::size_t index);
std::optional<bool> BoolAt(const OperatorCall& call, std::size_t index);
std::optional<std::vector<std::int64_t>> IntListAt(const OperatorCall& call, std::size_t index);
std::optional<std::vector<bool>> BoolListAt(const OperatorCall& call, std::size_t index);
/// A torch.dtype argument, recorded as its number in c10::ScalarType; kUnknown if it was not
/// recorded.
DType DTypeAt(const OperatorCall& call, std::size_t index);

/// Product of the extents, as a double: exact below 2^53, and sums of such products cannot
/// overflow.
double Elements(std::span<const std::int64_t> dims);

/// Elements of the tensor that differ in memory: extents with stride 0 (an expanded tensor) count
/// once.
double DistinctElements(const TensorArg& tensor);

/// The broadcast of the shapes by the rules of NumPy; nullopt if they do not fit.
std::optional<std::vector<std::int64_t>> BroadcastShape(
    const std::vector<const TensorArg*>& tensors);

/// Compulsory traffic of one operator: the distinct elements of its inputs and the elements of its
/// outputs, at their stored size. Unknown as soon as one element type is.
class Traffic {
 public:
  void Read(const TensorArg& tensor) { Add(DistinctElements(tensor), tensor.dtype); }
  /// Nothing for a null tensor.
  void Read(const TensorArg* tensor) {
    if (tensor != nullptr) Read(*tensor);
  }
  void Read(double elements, DType dtype) { Add(elements, dtype); }
  void Write(double elements, DType dtype) { Add(elements, dtype); }

  /// nullopt if an element type was unknown or the sum exceeds 2^53.
  std::optional<double> bytes() const;

 private:
  void Add(double elements, DType dtype);

  double bytes_ = 0;
  bool known_ = true;
};

bool IsComplex(DType dtype);
/// Real or complex floating point of any width, 8-bit floats included.
bool IsFloating(DType dtype);

/// The type that PyTorch computes elements in outside of matrix products: float32 for all but
/// float64 and complex data.
DType MathType(DType dtype);

/// The cost of `flops` in type `math`; nullopt if the traffic is not known.
std::optional<OperatorCost> FinishCost(const Traffic& traffic, double flops, DType math,
                                       WorkFamily family);

/// The cost of work on elements of type `data`: computed in MathType, and no FLOPs where they are
/// integers or bools.
std::optional<OperatorCost> FinishElementCost(const Traffic& traffic, double flops, DType data,
                                              WorkFamily family);

}  // namespace headroom
