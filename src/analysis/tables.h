// The tables by kernel, class, operator, layer and source line.
#pragma once

#include <span>
#include <vector>

#include "analysis/attribution.h"
#include "analysis/costed_work.h"
#include "analysis/report.h"
#include "store/trace_store.h"

namespace headroom {

/// GPU tasks by name.
std::vector<TimeRow> KernelTable(const TraceStore& store, NameFacts& names);

/// GPU tasks by kernel class; copies and sets apart.
std::vector<ClassRow> ClassTable(const TraceStore& store, NameFacts& names);

/// Operators by name. A task belongs to the innermost operator open at its launch, so rows do not
/// overlap; host time includes what an operator calls. FLOPs, bytes and roofline are those of
/// costed operators (cost/operator_cost.h) and the kernels below them.
std::vector<TimeRow> OperatorTable(const TraceStore& store, const Attribution& attribution,
                                   std::span<const CostedCall> work);

/// Layers by module frame or `layer::` range; empty where neither was recorded.
std::vector<TimeRow> LayerTable(const TraceStore& store, NameFacts& names,
                                const Attribution& attribution);

/// GPU time by Python function of the user's own code, backward included; empty where frames were
/// not recorded.
std::vector<LineRow> LineTable(const TraceStore& store, const Attribution& attribution);

}  // namespace headroom
