// Kind of a step: training, evaluation, the prefill or decode of a language model.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/values/report.h"

namespace headroom {

/// Facts that the mark of a step states.
struct MarkedKind {
  StepKind kind = StepKind::kUnknown;
  std::optional<std::int64_t> tokens;  ///< Tokens in the iteration, over all its sequences.
};

/// Parses marks such as "execute_context_1(888_788544)_generation_0(0)" (vLLM, SGLang),
/// "step[DECODE bs=32]" (SGLang), and words such as "eval", "train", "prefill".
MarkedKind KindOfMark(std::string_view name);

/// Returns the tokens of a step over its mean time, or nullopt if its tokens are unknown.
std::optional<double> TokensPerSecond(const StepKindRow& row);

/// Returns the kind that the figures of the steps cover: training if any step trains, else the kind
/// with the most time. Returns kUnknown if no step's kind is known.
StepKind MainKind(const std::vector<StepRow>& rows);

/// Returns the whole steps by kind, the main one first. Empty if fewer than two kinds are known and
/// the marks state no tokens.
std::vector<StepKindRow> TableOfKinds(const std::vector<StepRow>& rows);

/// Returns the kind of all steps that count. Returns kUnknown if the table is empty, or if the kind
/// of a counted step is unknown.
StepKind CountedKind(const std::vector<StepKindRow>& table);

}  // namespace headroom
