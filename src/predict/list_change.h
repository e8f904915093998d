// Changes to a list of operators: the types and the memory order of its work.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "predict/operator_list.h"

namespace headroom {

/// Applies changes as `headroom whatif` names them, joined by "+", to every list:
/// - tf32: products run in TF32 on GPUs that have it.
/// - amp, amp:dtype=bf16, amp:dtype=fp16 [bf16]: autocast. Operators run in the type that the list
///   states (AutocastType) or that PyTorch chooses by the operator. Casts of operands, and of
///   weights in each step, are added.
/// - channels-last: activations of two-dimensional convolutions are in NHWC.
/// - compile, compile:mode=default, max-autotune-no-cudagraphs, reduce-overhead or max-autotune:
///   torch.compile (predict/list_compile.h); the last two launch one CUDA graph.
/// - cuda-graph: one CUDA graph, whose inputs each call copies.
/// - unfused-attention: fused attention runs as separate operators (before PyTorch 2).
/// - half:dtype=bf16, half:dtype=fp16 [bf16]: the model and its inputs are in that type.
/// - fp8: products of layers in 16 bits (by amp or half) run in 8 bits.
/// Rows that state their type keep it. Fails with kUsage for other changes, and lists these.
Status ApplyToLists(std::string_view changes, std::vector<OperatorList>& lists);

}  // namespace headroom
