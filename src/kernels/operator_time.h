// How long a recorded operator takes on a GPU by the models, from its shapes.
#pragma once

#include <optional>

#include "cost/kernel_class.h"
#include "cost/operator_call.h"
#include "cost/operator_cost.h"
#include "kernels/device_rates.h"
#include "kernels/kernel_constants.h"
#include "kernels/kernel_work.h"

namespace headroom {

/// What is known of a recorded operator.
struct OperatorWork {
  const OperatorCall* call = nullptr;
  const OperatorCost* cost = nullptr;
  KernelClass longest;  ///< Of its longest kernel.
  /// Whether NVIDIA's library may run it in TF32, where it is a convolution in float32 and the GPU
  /// can: PyTorch's default, which shows only on such a GPU.
  bool allows_tf32 = false;
};

WorkClass ClassOf(const OperatorWork& work);

/// An operator on a GPU. Its type, units, model and peak there are found once.
class OperatorOnGpu {
 public:
  /// Requires that `rates` and what `work` points to outlive it.
  OperatorOnGpu(const OperatorWork& work, const DeviceRates& rates);

  /// Returns the nanoseconds of all its kernels; nullopt: nothing is known of it. Products and
  /// convolutions by KernelNs() or kernels/tensor_core_time.h; all others, and other types
  /// (float64), by their compulsory bytes and FLOPs (roofline), where the data sheet gives a peak,
  /// uncorrected. What a GPU has no tensor cores for runs in float32 there.
  std::optional<double> Ns(const KernelConstants& constants) const;

  /// Returns the correction from operators that were measured on the GPU
  /// (kernels/local_correction.h): by shape for products and convolutions, by bytes for all others.
  /// Ns() already includes the former.
  Correction MeasuredCorrection() const;

  /// Returns whether it is a product or convolution with a model of its shape, not of its bytes
  /// alone.
  bool has_own_model() const { return shape_.has_value(); }

  /// Returns whether it is a product, convolution or attention that runs on tensor cores there.
  bool on_tensor_cores() const;

  /// Returns the nanoseconds that its arithmetic, at the rate that the power allows for long, and
  /// then its bytes would take: how much of its time a GPU draws all of its power. nullopt: its
  /// cost is not known.
  std::optional<double> FullPowerNs() const;

 private:
  /// A recorded product or convolution as a piece of work, so many times.
  struct Shape {
    KernelWork work;
    double times = 1;
    std::optional<GemmShape> product = {};
    std::optional<ConvolutionShape> convolution = {};
  };
  static std::optional<Shape> ShapeOf(const OperatorCall& call, DType dtype);

  std::optional<double> ShapeNs(DType dtype, const KernelConstants& constants) const;
  /// On tensor cores, with the layout that the call says.
  std::optional<double> TensorCoreNs() const;
  double RooflineNs(const KernelConstants& constants) const;

  OperatorWork work_;
  const DeviceRates& rates_;
  DType dtype_ = DType::kUnknown;  ///< That products of it compute in.
  DType units_ = DType::kUnknown;  ///< Whose units compute it.
  std::optional<double> peak_;     ///< Of these, in FLOP/s. None: the data sheet does not tell.
  std::optional<Shape> shape_;     ///< None: it has no model of its own.
};

}  // namespace headroom
