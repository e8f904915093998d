// The tables by kernel, class, operator, layer and source line.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "analysis/names/attribution.h"
#include "analysis/steps/steps.h"
#include "analysis/tables/costed_work.h"
#include "analysis/values/options.h"
#include "analysis/values/report.h"
#include "store/trace_store.h"

namespace headroom {

/// Rows that the tables count. Shares are of the GPU time of these rows.
struct TableScope {
  std::vector<bool> tasks, events;  ///< By row; empty means all.

  bool HasTask(std::size_t row) const { return tasks.empty() || tasks[row]; }
  bool HasEvent(std::size_t row) const { return events.empty() || events[row]; }
};

/// Returns the scope of the table: the whole trace, or the steps that the user named. A step's
/// scope includes its GPU tasks and the host events that begin in it.
TableScope ScopeOf(const TraceStore& store, const StepAnalysis& steps,
                   const AnalysisOptions& options);

/// Returns GPU tasks by name. TimeRow::per_step covers `steps`.
std::vector<TimeRow> KernelTable(const TraceStore& store, NameFacts& names,
                                 const StepAnalysis& steps, const TableScope& scope = {});

/// Returns GPU tasks by kernel class; copies and memsets have separate rows.
std::vector<ClassRow> ClassTable(const TraceStore& store, NameFacts& names,
                                 const TableScope& scope = {});

/// Returns operators by name. A task belongs to the innermost operator open at its launch, so rows
/// do not overlap. Host time includes the operators inside. FLOPs, bytes and roofline are those of
/// costed operators (cost/operator_cost.h) and the kernels below them.
std::vector<TimeRow> OperatorTable(const TraceStore& store, const Attribution& attribution,
                                   std::span<const CostedCall> work, const TableScope& scope = {});

/// Returns layers by module frame or `layer::` range; empty if neither was recorded.
std::vector<TimeRow> LayerTable(const TraceStore& store, NameFacts& names,
                                const Attribution& attribution, const TableScope& scope = {});

/// Returns GPU time by Python function of the user's code, backward included; empty if frames were
/// not recorded.
std::vector<LineRow> LineTable(const TraceStore& store, const Attribution& attribution,
                               const TableScope& scope = {});

}  // namespace headroom
