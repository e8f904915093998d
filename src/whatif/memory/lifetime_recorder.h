// Records the memory that the walks through a step's forward and backward find.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "cost/operator_call.h"
#include "whatif/memory/tensor_lifetimes.h"

namespace headroom {

/// Element sizes of the types between which autocast converts.
inline constexpr double kHalfBytes = 2, kFloatBytes = 4;

/// Extents, ascending: operators also read weights transposed.
using WeightShape = std::vector<std::int64_t>;
WeightShape ShapeOfWeight(std::vector<std::int64_t> dims);

class LifetimeRecorder {
 public:
  LifetimeRecorder(const Job& job, const StepOperators& step, const MemoryChange& change);

  const StepOperators& step() const { return step_; }
  const MemoryChange& change() const { return change_; }
  const StepOperator& Op(std::size_t position) const { return step_.list[position]; }

  /// Adds memory that lives as long as one operator. Returns its index in the storages.
  ///
  /// @param element_bytes  element size of floating-point types, if the change alters the recorded
  /// one
  std::size_t Make(const TensorArg& tensor, std::size_t op, StorageKind kind,
                   std::optional<double> element_bytes = {});
  /// Adds temporary tensors for all parameters at once.
  void MakeForAllParameters(std::size_t op);
  void LiveUntil(std::size_t storage, std::size_t op);
  /// Records that the forward reads a weight that was not written in the step.
  ///
  /// @param operation  the kind of operator. A tied weight has one reader of each kind.
  void ReadWeight(std::string_view operation, const TensorArg& weight);
  /// Adds the weights that the forward reads but the backward does not train. Operators of a kind
  /// read each weight once per micro-batch. If trained weights have the same shape, only the
  /// remaining reads count: a weight with several readers has one gradient, and an addition for
  /// each further reader.
  ///
  /// @param trained  number of gradients and of additions to gradients, by shape
  void AddFrozenWeights(const std::map<WeightShape, std::size_t>& trained,
                        std::size_t micro_batches);
  /// Adds the library's workspace if the operator is a convolution.
  void AddWorkspace(std::size_t op);

  Storage& At(std::size_t storage) { return out_.storages[storage]; }
  const Storage& At(std::size_t storage) const { return out_.storages[storage]; }
  TensorLifetimes& out() { return out_; }

 private:
  const Job& job_;
  const StepOperators& step_;
  const MemoryChange& change_;
  TensorLifetimes out_;
  struct WeightReads {
    std::size_t count = 0;
    double bytes = 0;  ///< Bytes of one weight.
  };
  std::map<std::pair<std::string_view, WeightShape>, WeightReads> weights_read_;
  std::set<double> scores_;  ///< Element counts of tensors that fused attention does not need.
};

}  // namespace headroom
