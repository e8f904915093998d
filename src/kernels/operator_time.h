// Modelled time of a recorded operator on a GPU, from its shapes.
#pragma once

#include <optional>

#include "cost/kernel_class.h"
#include "cost/operator_call.h"
#include "cost/operator_cost.h"
#include "kernels/device_rates.h"
#include "kernels/kernel_constants.h"
#include "kernels/kernel_work.h"

namespace headroom {

/// The recorded data of an operator.
struct OperatorWork {
  const OperatorCall* call = nullptr;
  const OperatorCost* cost = nullptr;
  KernelClass longest;  ///< Class of its longest kernel.
  /// True if NVIDIA's library can run a float32 convolution in TF32 on a GPU that supports it.
  /// PyTorch allows it by default, but traces show it only on such a GPU.
  bool allows_tf32 = false;
};

WorkClass ClassOf(const OperatorWork& work);

/// An operator on a GPU. The constructor determines its type, units, model and peak once.
class OperatorOnGpu {
 public:
  /// Requires that `rates`, and the objects that `work` points to, outlive this object.
  OperatorOnGpu(const OperatorWork& work, const DeviceRates& rates);

  /// Returns the nanoseconds of all the operator's kernels; nullopt if unknown.
  /// - Products and convolutions: KernelNs() or kernels/tensor_core_time.h.
  /// - All others, and other types (float64): the roofline of their compulsory bytes and FLOPs,
  ///   uncorrected, if the data sheet has a peak.
  /// Work runs in float32 if the GPU has no tensor cores for its type.
  std::optional<double> Ns(const KernelConstants& constants) const;

  /// Returns the correction from operators that were measured on the GPU
  /// (kernels/local_correction.h). Uses shapes for products and convolutions, and bytes for all
  /// others. Ns() already includes the correction by shape.
  Correction MeasuredCorrection() const;

  /// Returns true if the operator is a product or convolution with a model of its shape, not only
  /// of its bytes.
  bool has_own_model() const { return shape_.has_value(); }

  /// Returns true if the operator is a product, convolution or attention that runs on tensor cores.
  bool on_tensor_cores() const;

  /// Returns the nanoseconds of the operator's arithmetic at the rate that the power limit
  /// sustains, plus those of its bytes. This is how long the GPU draws all of its power. Returns
  /// nullopt if the operator's cost or the GPU's bandwidth is unknown.
  std::optional<double> FullPowerNs() const;

 private:
  /// A recorded product or convolution as a piece of work that runs `times` times.
  struct Shape {
    KernelWork work;
    double times = 1;
    std::optional<GemmShape> product = {};
    std::optional<ConvolutionShape> convolution = {};
  };
  static std::optional<Shape> ShapeOf(const OperatorCall& call, DType dtype);

  std::optional<double> ShapeNs(DType dtype, const KernelConstants& constants) const;
  /// Returns the time on tensor cores with the layout of the recorded call.
  std::optional<double> TensorCoreNs(const KernelConstants& constants) const;
  double RooflineNs(const KernelConstants& constants) const;

  OperatorWork work_;
  const DeviceRates& rates_;
  DType dtype_ = DType::kUnknown;  ///< Type in which the operator's products compute.
  DType units_ = DType::kUnknown;  ///< Type whose units compute the operator.
  /// Peak of these units in FLOP/s; nullopt if the data sheet lacks it.
  std::optional<double> peak_;
  std::optional<Shape> shape_;  ///< nullopt if the operator has no model of its shape.
};

}  // namespace headroom
