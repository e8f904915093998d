// Reads the arguments of a recorded operator and sums the bytes that it moves. Internal to the cost
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

/// 2^53: a double cannot represent every integer above this.
inline constexpr double kLargestExact = 9007199254740992.0;

/// Returns argument `index` as one tensor; nullptr if it is not a single tensor.
const TensorArg* TensorAt(const OperatorCall& call, std::size_t index);

/// Returns every argument that is a single tensor, in order. Leaves out the tensors in lists.
std::vector<const TensorArg*> SingleTensors(const OperatorCall& call);

/// Returns the recorded value of argument `index`; nullopt if it was not recorded or has another
/// type.
std::optional<std::int64_t> IntAt(const OperatorCall& call, std::size_t index);
std::optional<bool> BoolAt(const OperatorCall& call, std::size_t index);
std::optional<std::vector<std::int64_t>> IntListAt(const OperatorCall& call, std::size_t index);
std::optional<std::vector<bool>> BoolListAt(const OperatorCall& call, std::size_t index);
/// Returns a torch.dtype argument, recorded as its number in c10::ScalarType; kUnknown if it was
/// not recorded.
DType DTypeAt(const OperatorCall& call, std::size_t index);

/// Product of the extents as a double: exact below 2^53. Sums of such products cannot overflow.
double Elements(std::span<const std::int64_t> dims);

/// Number of elements at distinct addresses. An extent with stride 0 (an expanded tensor) counts as
/// 1.
double DistinctElements(const TensorArg& tensor);

/// Broadcasts the shapes by NumPy's rules. Returns nullopt if they are incompatible.
std::optional<std::vector<std::int64_t>> BroadcastShape(
    const std::vector<const TensorArg*>& tensors);

/// Compulsory traffic of one operator: the distinct elements of its inputs and the elements of its
/// outputs, at their stored size. Unknown if any element type is unknown.
class Traffic {
 public:
  void Read(const TensorArg& tensor) { Add(DistinctElements(tensor), tensor.dtype); }
  /// Adds nothing for a null tensor.
  void Read(const TensorArg* tensor) {
    if (tensor != nullptr) Read(*tensor);
  }
  void Read(double elements, DType dtype) { Add(elements, dtype); }
  void Write(double elements, DType dtype) { Add(elements, dtype); }

  /// Returns nullopt if an element type was unknown or the sum exceeds 2^53.
  std::optional<double> bytes() const;

 private:
  void Add(double elements, DType dtype);

  double bytes_ = 0;
  bool known_ = true;
};

bool IsComplex(DType dtype);
/// Returns true for real and complex floating-point types of any width, including 8-bit floats.
bool IsFloating(DType dtype);

/// Returns the type in which PyTorch computes outside matrix products: float32, except for float64
/// and complex data.
DType MathType(DType dtype);

/// Returns the cost of `flops` in type `math`; nullopt if the traffic is unknown.
std::optional<OperatorCost> FinishCost(const Traffic& traffic, double flops, DType math,
                                       WorkFamily family);

/// Returns the cost of work on elements of type `data`, computed in MathType. Integers and bools
/// count no FLOPs.
std::optional<OperatorCost> FinishElementCost(const Traffic& traffic, double flops, DType data,
                                              WorkFamily family);

}  // namespace headroom
