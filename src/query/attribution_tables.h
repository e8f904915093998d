// What the analyses say of each row, as columns: phase, operator, layer, source line and step of
// host events and GPU tasks, and the steps as a report measures them.
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
  /// The tables without their columns' data.
  static std::vector<Table> Declared(const TraceStore& store);
  /// One pass over the trace, about as long as a report takes.
  static Result<AttributionTables> Make(const TraceStore& store);

  AttributionTables(AttributionTables&&) noexcept;
  AttributionTables& operator=(AttributionTables&&) noexcept;
  ~AttributionTables();

  /// Points the columns of the declared tables at the data, which live as long as this object.
  void FillIn(std::span<Table> declared) const;

 private:
  struct Columns;
  explicit AttributionTables(std::unique_ptr<Columns> columns);
  std::unique_ptr<Columns> columns_;
};

}  // namespace headroom
