// FLOPs and bytes of one recorded operator, from the shapes in its profiler record.
//
// FLOPs count a multiply-add as 2. Bytes are the compulsory traffic: every distinct input element
// read once, every output element written once, at its stored type; caches, re-reads and workspace
// are not in it (the roofline model of Williams, Waterman and Patterson, CACM 2009).
//
// Nesting: operators call operators, and costs overlap along a chain of calls (an autocast aten::mm
// on float32 calls itself on float16; aten::_scaled_dot_product_flash_attention calls
// aten::_flash_attention_forward). A sum over a trace gives each kernel to the INNERMOST operator
// around its launch that has a cost, and counts an operator once if it got a kernel so. A cost
// therefore leaves out what the operator hands to costed operators below it (aten::zero_ in a
// loss's backward).
//
// Not visible in a profile: that two arguments are one tensor. Where a well-known caller does that
// (Adam's addcmul_), the bytes count it once; elsewhere they may be too many.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cost/dtype.h"
#include "cost/operator_call.h"
#include "cost/work_family.h"

namespace headroom {

/// What one call of an operator has to do at least.
struct OperatorCost {
  double flops = 0;  ///< >= 0.
  double bytes = 0;  ///< >= 0; compulsory traffic.
  WorkFamily family = WorkFamily::kUnclassified;
  /// Type that the arithmetic runs in. Matmul, convolution, attention: the operands' type (kF32
  /// becomes kTF32 only once the kernel's name says so: see ResolveMathDType). All others: kF32 for
  /// 16-bit and 8-bit data too, as PyTorch computes there in float32.
  DType math_dtype = DType::kUnknown;
  /// The bytes rest on 4-byte elements: profilers record shapes of tensor lists without their
  /// element type (optimizers).
  bool assumes_fp32 = false;
};

/// The cost, or nullopt where it cannot be known: an operator without a formula, shapes not
/// recorded, lists dropped by the profiler, shapes that contradict each other, or more work than
/// fits a double exactly (2^53).
std::optional<OperatorCost> CostOf(const OperatorCall& call);

/// The family by the operator's name alone; kUnclassified if there is no rule. Known more often
/// than the cost.
WorkFamily FamilyOfOperator(std::string_view name);

/// Whether an operator runs a whole recurrent network, step by step: aten::_cudnn_rnn, miopen_rnn
/// and their backwards.
bool IsRecurrent(std::string_view operator_name);

/// Samples of a recurrent operator; nullopt for others, for sequences that are packed into one
/// dimension, and where the order of its dimensions was not recorded.
std::optional<std::int64_t> RecurrentBatchOf(const OperatorCall& call);

/// (batch) x [m, k] x [k, n].
struct GemmShape {
  std::int64_t batch = 1;
  std::int64_t m = 0, n = 0, k = 0;
  DType dtype = DType::kUnknown;  ///< Of the operands.
};

/// Of aten::mm, addmm, bmm, baddbmm, mv, addmv, dot, _int_mm, _scaled_mm, _grouped_mm,
/// _scaled_grouped_mm; nullopt for others and for damaged shapes. A grouped product is given as one
/// of the same work: batch 1, the ragged extent as a whole.
std::optional<GemmShape> GemmShapeOf(const OperatorCall& call);

/// A convolution in the orientation of its forward: input [batch, in_channels, in...], output
/// [batch, out_channels, out...].
struct ConvolutionShape {
  std::int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 1;
  std::vector<std::int64_t> in, kernel, out;  ///< Spatial extents, 1 to 3 of each.
  bool transposed = false;
  bool dilated = false;
  bool data_gradient = false;  ///< Which parts a backward computes; a forward has none of them.
  bool weight_gradient = false;
  bool bias_gradient = false;
  DType dtype = DType::kUnknown;

  /// FLOPs of one part (forward, data gradient and weight gradient are equal):
  /// 2 * batch * out_channels * prod(out) * (in_channels / groups) * prod(kernel); transposed:
  /// prod(in) in place of prod(out). First principles; padding counted as work, as every FLOP
  /// convention does.
  double FlopsPerPart() const;
};

/// Of aten::cudnn_convolution, miopen_convolution, convolution_overrideable, convolution_backward
/// and their kin; nullopt for others and for damaged shapes.
std::optional<ConvolutionShape> ConvolutionShapeOf(const OperatorCall& call);

/// Whether it is a convolution of few channels a group, as a depthwise one: no library multiplies
/// matrices for it; its kernels are bound by what they move.
bool IsFewChannelsConvolution(const OperatorCall& call);

/// Whether a forward convolution says that its library chose the algorithm by rules and did not try
/// all (torch.backends.cudnn.benchmark = False). Not every operator says.
bool IsUntriedConvolution(const OperatorCall& call);

}  // namespace headroom
