// Where the walks through a step's forward and backward write down the memory that they find.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include "cost/operator_call.h"
#include "whatif/memory/tensor_lifetimes.h"

namespace headroom {

/// Bytes of an element of the types between which autocast converts.
inline constexpr double kHalfBytes = 2, kFloatBytes = 4;

class LifetimeRecorder {
 public:
  LifetimeRecorder(const Job& job, const StepOperators& step, const MemoryChange& change);

  const StepOperators& step() const { return step_; }
  const MemoryChange& change() const { return change_; }
  const StepOperator& Op(std::size_t position) const { return step_.list[position]; }

  /// New memory that lives as long as one operator.
  ///
  /// @param element_bytes  of floating-point types, where the change makes them other than recorded
  std::size_t Make(const TensorArg& tensor, std::size_t op, StorageKind kind,
                   std::optional<double> element_bytes = {});
  /// Temporary tensors for all parameters at once.
  void MakeForAllParameters(std::size_t op);
  void LiveUntil(std::size_t storage, std::size_t op);
  /// What the library takes, if the operator is a convolution.
  void AddWorkspace(std::size_t op);

  Storage& At(std::size_t storage) { return out_.storages[storage]; }
  const Storage& At(std::size_t storage) const { return out_.storages[storage]; }
  TensorLifetimes& out() { return out_; }

 private:
  const Job& job_;
  const StepOperators& step_;
  const MemoryChange& change_;
  TensorLifetimes out_;
  std::set<double> scores_;  ///< Elements of tensors that fused attention does without.
};

}  // namespace headroom
