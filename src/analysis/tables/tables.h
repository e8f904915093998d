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

/// Which rows the tables count. Shares are of the GPU time of these.
struct TableScope {
  std::vector<bool> tasks, events;  ///< By row; empty: all.

  bool HasTask(std::size_t row) const { return tasks.empty() || tasks[row]; }
  bool HasEvent(std::size_t row) const { return events.empty() || events[row]; }
};

/// All of the trace, or, where the user named steps, these: the GPU tasks that belong to them, and
/// the host events that begin while the host is in one.
TableScope ScopeOf(const TraceStore& store, const StepAnalysis& steps,
                   const AnalysisOptions& options);

/// GPU tasks by name. TimeRow::per_step is of `steps`.
std::vector<TimeRow> KernelTable(const TraceStore& store, NameFacts& names,
                                 const StepAnalysis& steps, const TableScope& scope = {});

/// GPU tasks by kernel class; copies and sets apart.
std::vector<ClassRow> ClassTable(const TraceStore& store, NameFacts& names,
                                 const TableScope& scope = {});

/// Operators by name. A task belongs to the innermost operator open at its launch, so rows do not
/// overlap; host time includes what an operator calls. FLOPs, bytes and roofline are those of
/// costed operators (cost/operator_cost.h) and the kernels below them.
std::vector<TimeRow> OperatorTable(const TraceStore& store, const Attribution& attribution,
                                   std::span<const CostedCall> work, const TableScope& scope = {});

/// Layers by module frame or `layer::` range; empty where neither was recorded.
std::vector<TimeRow> LayerTable(const TraceStore& store, NameFacts& names,
                                const Attribution& attribution, const TableScope& scope = {});

/// GPU time by Python function of the user's own code, backward included; empty where frames were
/// not recorded.
std::vector<LineRow> LineTable(const TraceStore& store, const Attribution& attribution,
                               const TableScope& scope = {});

}  // namespace headroom
