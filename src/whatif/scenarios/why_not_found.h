// Why a scenario finds nothing to change: the job has nothing of the kind, or the trace lacks what
// would tell. Only the latter has a remedy, so the two must not be mixed up.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cost/work_family.h"
#include "whatif/job/operators.h"

namespace headroom {

/// What a scenario goes by the shapes of.
struct Wanted {
  std::string_view kind;  ///< In the plural: "convolutions".
  std::function<bool(const LaunchingOperator&)> is;
};

/// The operators of a family, by name or, where a name tells nothing, by their kernels.
bool IsOfFamily(const Job& job, const LaunchingOperator& op, WorkFamily family);
/// Matrix products and convolutions.
bool IsProduct(const Job& job, const LaunchingOperator& op);
/// Whether any operator of the job is of a kind.
bool HasAny(const Job& job, const std::function<bool(const LaunchingOperator&)>& is);
/// Whether the recorded steps have GPU work of a backward.
bool HasBackward(const Job& job);

/// Why nothing was found that names alone tell: no operators were recorded, or `nothing`.
std::string WhyNotFound(const Job& job, std::string_view nothing);

/// The same of what shapes tell: also that they were not recorded, or of how many.
std::string WhyNotFound(const Job& job, std::string_view nothing, const Wanted& wanted);

/// A remark where some of a phase's operators of a name have no shapes, so that a sum over them is
/// too small; empty: all have, or none has. `kind`: what they are, in the plural.
std::string WhatShapesMiss(const Job& job, Phase phase, std::string_view name,
                           std::string_view kind);

/// Why Job::device() tells nothing of the GPU. REQUIRES: it is nullptr.
std::string WhyNoDevice(const Job& job);

/// Why a figure of the GPU is missing: WhyNoDevice(), or that its data sheet does not give it.
std::string WhyNoFigure(const Job& job, std::string_view figure);

}  // namespace headroom
