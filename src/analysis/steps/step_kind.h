// What a step does: training, evaluation, the prefill or decode of a language model.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/values/report.h"

namespace headroom {

/// What the mark of a step says.
struct MarkedKind {
  StepKind kind = StepKind::kUnknown;
  std::optional<std::int64_t> tokens;  ///< That the iteration computes, of all its sequences.
};

/// Reads "execute_context_1(888_788544)_generation_0(0)" and the like (vLLM, SGLang), "step[DECODE
/// bs=32]" (SGLang), and words such as "eval", "train", "prefill".
MarkedKind KindOfMark(std::string_view name);

/// Tokens of a step over its mean time. None: its tokens are not known.
std::optional<double> TokensPerSecond(const StepKindRow& row);

/// Returns the kind whose steps count in the figures of the steps: training if any step trains,
/// else the one that takes most time. kUnknown: the steps are not known to differ.
StepKind MainKind(const std::vector<StepRow>& rows);

/// The whole steps by kind, the main one first; empty if no two kinds are known and the marks tell
/// no tokens.
std::vector<StepKindRow> TableOfKinds(const std::vector<StepRow>& rows);

/// Returns the kind of all steps that count. kUnknown: the table is empty, or some count whose kind
/// is not known.
StepKind CountedKind(const std::vector<StepKindRow>& table);

}  // namespace headroom
