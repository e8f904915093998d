// What share of a data sheet's peaks kernels sustain: what physics leaves to be measured.
#pragma once

namespace headroom {

/// Shares of a device's peaks and bandwidth, unless said otherwise. The values here were measured
/// on one H200 (PyTorch 2.11, cuBLAS 13, cuDNN 9.19) and are assumed of other devices; the section
/// [kernels] of a calibration file replaces them. Those of products, convolutions, casts and fp16
/// are rounded from what `tools/fit_calibration --operators` finds.
struct SustainedShares {
  // Matrix products on tensor cores: of the peak and of the bandwidth, in 16 bits and in TF32.
  double gemm_16 = 0.82, gemm_tf32 = 0.82;
  double gemm_bytes_16 = 0.82, gemm_bytes_tf32 = 0.75;
  double gemm_weight_gradient_tf32 = 0.8;  ///< Of that rate: first operand transposed.
  double gemm_split = 0.39;                ///< Of that rate, at most: split along k.
  double gemm_misaligned = 0.138;          ///< Of the 16-bit peak, where wide loads cannot be used.
  double gemm_start_us = 3;

  // Convolutions: of the peak, and of the bandwidth for activations as they lie and for reordering.
  double convolution_16 = 0.75, convolution_tf32 = 0.95;
  double convolution_weight_16 = 0.55, convolution_weight_tf32 = 0.4;  ///< Weight gradients.
  double convolution_bytes = 0.7;
  double reorder_16 = 0.57, reorder_tf32 = 0.63;
  double convolution_narrow = 0.6;  ///< Of that rate: the narrow side fills half a tile.
  double convolution_start_us = 4;  ///< Of each kernel.

  // Fused attention: of the 16-bit tensor peak, and of the float32 vector peak.
  double attention_forward = 0.4, attention_backward = 0.35;
  double attention_float32 = 0.3;
  /// Ordinary operations a score that dropout's random number is worth.
  double attention_dropout_flops = 110;

  // Kernels bound by memory: of the bandwidth.
  double update_bytes = 0.71;    ///< Fused updates of parameters, and the scaling of gradients.
  double cast_bytes = 0.67;      ///< Kernels that a change inserts (assumed); autocast's casts:
  double narrowing_bytes = 0.9;  ///< to 16 bits, and
  double widening_bytes = 0.44;  ///< to 32 bits, which are not vectorized.

  // What 16 bits make of the time of kernels that memory alone does not bound.
  double half_batch_norm = 0.84, half_gelu = 0.63, half_dropout = 0.55;
  double bf16_batch_norm = 1.35;  ///< Not cuDNN's kernel, but PyTorch's own.
  double mixed_addition = 1.7;    ///< A 16-bit and a float32 operand: not vectorized.

  // On vector units, of their peak: large products, and convolutions.
  double gemm_vector = 0.7, convolution_vector = 0.7;

  // What few blocks lose, as a share of a wave: with more samples it is won back, with fewer lost.
  double gemm_lost_when_growing = 1, convolution_lost_when_growing = 0.5;
  double lost_when_shrinking = 0.3;
  double most_lost = 0.25;
};

}  // namespace headroom
