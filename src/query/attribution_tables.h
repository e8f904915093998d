// Results of the analyses as columns. Host events and GPU tasks get phase, operator, layer, source
// line and step. Steps are as a report measures them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "query/trace_tables.h"
#include "store/trace_store.h"

namespace headroom {

/// The columns of the tables host_attribution, gpu_attribution and step_times.
class AttributionTables {
 public:
  /// Returns the tables without their columns' data.
  static std::vector<Table> Declared(const TraceStore& store);
  /// Computes all columns in one pass over the trace, which takes about as long as a report.
  static Result<AttributionTables> Make(const TraceStore& store);

  AttributionTables(AttributionTables&&) noexcept;
  AttributionTables& operator=(AttributionTables&&) noexcept;
  ~AttributionTables();

  /// Sets the data of the declared tables' columns. The data lives as long as this object.
  void FillIn(std::span<Table> declared) const;

 private:
  struct Columns;
  explicit AttributionTables(std::unique_ptr<Columns> columns);
  std::unique_ptr<Columns> columns_;
};

}  // namespace headroom
