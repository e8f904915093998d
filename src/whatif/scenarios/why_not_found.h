// Explains why a scenario finds nothing to change: the job has no such operators, or the trace
// lacks the data. Only missing data has a remedy, so the two reasons must stay distinct.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cost/work_family.h"
#include "whatif/job/operators.h"
#include "whatif/scenarios/scenario.h"

namespace headroom {

/// Operators whose shapes a scenario needs.
struct Wanted {
  std::string_view kind;  ///< Plural noun, such as "convolutions".
  std::function<bool(const LaunchingOperator&)> is;
};

/// Returns true for operators of a family, by name or, if the name is unknown, by their kernels.
bool IsOfFamily(const Job& job, const LaunchingOperator& op, WorkFamily family);
/// Returns true for matrix products and convolutions.
bool IsProduct(const Job& job, const LaunchingOperator& op);
/// Returns true if any operator of the job is of the kind.
bool HasAny(const Job& job, const std::function<bool(const LaunchingOperator&)>& is);
/// Returns true if the recorded steps have GPU work of a backward.
bool HasBackward(const Job& job);

/// Returns the reason if only names matter: no operators were recorded, or `nothing`.
std::string WhyNotFound(const Job& job, std::string_view nothing);

/// Returns the reason if shapes matter. It may also be that the shapes of all or some of these
/// operators were not recorded.
std::string WhyNotFound(const Job& job, std::string_view nothing, const Wanted& wanted);

/// Abstains with WhyNotFound(). The scenario has nothing to do if the trace has all data that it
/// needs. REQUIRES: the scenario left the edit unchanged.
Effect NotFound(const Job& job, std::string_view nothing);
Effect NotFound(const Job& job, std::string_view nothing, const Wanted& wanted);

/// Returns a note if some operators of a phase with this name have no shapes, so that a sum over
/// them is too small. Returns "" if all or none have shapes. `kind` is a plural noun for these
/// operators.
std::string WhatShapesMiss(const Job& job, Phase phase, std::string_view name,
                           std::string_view kind);

/// Returns the reason why Job::device() is unknown. REQUIRES: Job::device() is nullptr.
std::string WhyNoDevice(const Job& job);

/// Returns the reason why a figure of the GPU is missing: WhyNoDevice(), or that the device
/// catalogue lacks the figure.
std::string WhyNoFigure(const Job& job, std::string_view figure);

}  // namespace headroom
