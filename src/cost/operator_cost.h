// FLOPs and bytes of one recorded operator, from the shapes in its profiler record.
//
// FLOPs count a multiply-add as 2. Bytes are the compulsory traffic: every distinct input element
// is read once and every output element is written once, at its stored type. They leave out caches,
// re-reads and workspace (the roofline model of Williams, Waterman and Patterson, CACM 2009).
//
// Nesting: operators call operators, so costs overlap along a chain of calls. An autocast aten::mm
// on float32 calls itself on float16; aten::_scaled_dot_product_flash_attention calls
// aten::_flash_attention_forward. A sum over a trace assigns each kernel to the INNERMOST operator
// around its launch that has a cost. It counts the cost of each operator once if at least one
// kernel was assigned to the operator. A cost therefore leaves out the work of costed operators
// that the operator calls (aten::zero_ in a loss's backward).
//
// A profile does not show that two arguments are the same tensor. If a well-known caller passes a
// tensor twice (Adam's addcmul_), the bytes count the tensor once. Otherwise the bytes may be too
// high.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cost/dtype.h"
#include "cost/operator_call.h"
#include "cost/work_family.h"

namespace headroom {

/// Minimum work of one operator call.
struct OperatorCost {
  double flops = 0;  ///< >= 0.
  double bytes = 0;  ///< >= 0; compulsory traffic.
  WorkFamily family = WorkFamily::kUnclassified;
  /// Type of the arithmetic. Matmul, convolution, attention: the operands' type. There, kF32
  /// becomes kTF32 only if the kernel's name shows it (see ResolveMathDType). All others: kF32 also
  /// for 16-bit and 8-bit data, because PyTorch computes them in float32.
  DType math_dtype = DType::kUnknown;
  /// The bytes assume 4-byte elements: profilers record the shapes of tensor lists without their
  /// element type (optimizers).
  bool assumes_fp32 = false;
};

/// Returns the cost, or nullopt if it is unknown:
/// - The operator has no formula.
/// - The shapes were not recorded or contradict each other.
/// - The profiler dropped the lists.
/// - The work exceeds the exact range of a double (2^53).
std::optional<OperatorCost> CostOf(const OperatorCall& call);

/// Returns the family by the operator's name; kUnclassified if there is no rule. More operators
/// have a family than a cost.
WorkFamily FamilyOfOperator(std::string_view name);

/// Returns true if an operator runs a whole recurrent network, step by step: aten::_cudnn_rnn,
/// miopen_rnn and their backwards.
bool IsRecurrent(std::string_view operator_name);

/// A recurrent operator. Extents are counts of elements, exact in a double.
struct RecurrentShape {
  double rows = 0;                   ///< Steps of all sequences together.
  std::optional<double> batch = {};  ///< Sequences; nullopt if no state was recorded.
  double inputs = 0, hidden = 0;     ///< Per row: the first layer's input, and a state.
  double projection = 0;             ///< Elements of a projected output; 0 without projection.
  double layers = 1, directions = 1;
  double gates = 4;  ///< 4 for an LSTM, 3 for a GRU, else 1.
  bool backward = false;
  DType dtype = DType::kUnknown;
};

/// Returns the shape of a recurrent operator. Returns nullopt for other operators and for damaged
/// shapes.
std::optional<RecurrentShape> RecurrentShapeOf(const OperatorCall& call);

/// Returns the batch size of a recurrent operator. Returns nullopt for other operators, for
/// sequences packed into one dimension, and if the order of the dimensions was not recorded.
std::optional<std::int64_t> RecurrentBatchOf(const OperatorCall& call);

/// Shape of a matrix product: [m, k] x [k, n], `batch` times.
struct GemmShape {
  std::int64_t batch = 1;
  std::int64_t m = 0, n = 0, k = 0;
  DType dtype = DType::kUnknown;  ///< Type of the operands.
};

/// Returns the shape of aten::mm, addmm, bmm, baddbmm, mv, addmv, dot, _int_mm, _scaled_mm,
/// _grouped_mm and _scaled_grouped_mm. Returns nullopt for other operators and for damaged shapes.
/// A grouped product is returned as one product of equal work: batch 1 and the full ragged extent.
std::optional<GemmShape> GemmShapeOf(const OperatorCall& call);

/// A convolution, described by its forward: input [batch, in_channels, in...], output [batch,
/// out_channels, out...].
struct ConvolutionShape {
  std::int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 1;
  std::vector<std::int64_t> in, kernel, out;  ///< Spatial extents: 1 to 3 each.
  bool transposed = false;
  bool dilated = false;
  bool channels_last = false;  ///< Memory order of the activations.
  /// Gradients that a backward computes; all false for a forward.
  bool data_gradient = false;
  bool weight_gradient = false;
  bool bias_gradient = false;
  DType dtype = DType::kUnknown;

  /// Returns the FLOPs of a forward. The data gradient and the weight gradient each have the same
  /// FLOPs:
  /// 2 * batch * out_channels * prod(out) * (in_channels / groups) * prod(kernel).
  /// A transposed convolution uses prod(in) instead of prod(out). The formula follows from first
  /// principles. Padding counts as work, as in every FLOP convention.
  double FlopsPerPart() const;
};

/// Returns the shape of aten::cudnn_convolution, miopen_convolution, convolution_overrideable,
/// convolution_backward and similar operators. Returns nullopt for other operators and for damaged
/// shapes.
std::optional<ConvolutionShape> ConvolutionShapeOf(const OperatorCall& call);

/// Returns true for a convolution with few channels per group, such as a depthwise one. No library
/// uses matrix products for such a convolution, so its kernels are memory-bound.
bool IsFewChannelsConvolution(const OperatorCall& call);

/// Returns true if a forward convolution records that its library chose the algorithm by
/// heuristics, without benchmarking (torch.backends.cudnn.benchmark = False). Some operators do not
/// record this flag.
bool IsUntriedConvolution(const OperatorCall& call);

/// Lengths of the sequences of a fused attention operator.
struct AttentionLengths {
  std::int64_t queries = 0, keys = 0;
};

/// Returns the lengths of a forward or backward of fused attention. Returns nullopt for other
/// operators, for packed sequences, whose lengths are not recorded, and for damaged shapes.
std::optional<AttentionLengths> AttentionLengthsOf(const OperatorCall& call);

}  // namespace headroom
