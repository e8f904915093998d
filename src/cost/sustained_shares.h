// Measured shares of the data-sheet peaks that kernels sustain.
#pragma once

namespace headroom {

/// Shares of a device's peaks and bandwidth, unless stated otherwise.
/// The defaults were measured on one H200 (PyTorch 2.11, cuBLAS 13, cuDNN 9.19) and are assumed for
/// other devices. The section [kernels] of a calibration file replaces them. Shares of matrix
/// products, convolutions, casts and fp16 are rounded results of `tools/fit_calibration
/// --operators`.
struct SustainedShares {
  // Matrix products on tensor cores: shares of the peak that the power limit sustains, and shares
  // of the bandwidth, in 8 bits, in 16 bits and in TF32.
  double gemm_8 = 0.68, gemm_16 = 0.82, gemm_tf32 = 0.82;
  double gemm_bytes_16 = 0.8, gemm_bytes_tf32 = 0.75;
  double gemm_efficiency_tf32 = 0.8;        ///< Factor on the efficiency of tiles.
  double gemm_weight_gradient_tf32 = 0.74;  ///< Factor if only the first operand is transposed.
  double gemm_misaligned = 0.138;           ///< Share of the 16-bit peak if misaligned.

  // Convolutions: shares of the peak, and of the bandwidth for activations in place and for
  // reordering.
  double convolution_16 = 0.75, convolution_tf32 = 0.95;
  double convolution_weight_16 = 0.55, convolution_weight_tf32 = 0.4;  ///< Weight gradients.
  double convolution_bytes = 0.7;
  double reorder_16 = 0.57, reorder_tf32 = 0.63;
  double convolution_narrow = 0.6;  ///< Factor if the narrow side fills half a tile.
  double convolution_start_us = 4;  ///< Start time of each kernel.

  // Fused attention: shares of the 16-bit tensor peak, and of the float32 vector peak.
  double attention_forward = 0.4, attention_backward = 0.35;
  double attention_float32 = 0.3;
  /// Cost of dropout's random number per attention score, in FLOPs on vector units.
  double attention_dropout_flops = 110;

  // Memory-bound kernels: shares of the bandwidth.
  double update_bytes = 0.71;    ///< Fused parameter updates, and the scaling of gradients.
  double cast_bytes = 0.67;      ///< Kernels that a scenario inserts; not measured.
  double narrowing_bytes = 0.9;  ///< Autocast's casts to 16 bits.
  double widening_bytes = 0.44;  ///< Autocast's casts to 32 bits: not vectorized.

  // Ratio of the time in 16 bits to the time in float32, for kernels that are not purely
  // memory-bound.
  double half_batch_norm = 0.84, half_gelu = 0.63, half_dropout = 0.55;
  double bf16_batch_norm = 1.35;  ///< PyTorch's own kernel instead of cuDNN's.
  double mixed_addition = 1.7;    ///< One 16-bit and one float32 operand: not vectorized.

  // Large products and convolutions on vector units: shares of the vector peak.
  double gemm_vector = 0.7, convolution_vector = 0.7;

  // Time that kernels with few blocks lose, as a share of one wave. A larger batch recovers this
  // time, and a smaller batch loses more of it.
  double gemm_lost_when_growing = 1, convolution_lost_when_growing = 0.5;
  double lost_when_shrinking = 0.3;
  double most_lost = 0.25;  ///< Largest share of a kernel's time that a smaller batch loses.
};

}  // namespace headroom
