#include <optional>
#include <string_view>
#include <vector>

#include "base/ascii.h"
#include "ingest/nsight/function_name.h"
#include "ingest/nsight/tables.h"

namespace headroom::nsight {

using sqlite::NamedColumns;
using sqlite::RowScan;

namespace {

/// Properties of a CUDA function, derived from its name in the file.
struct Function {
  StringId name;
  HostEventKind kind = HostEventKind::kOther;
  bool allocates = false;  ///< Allocates or frees memory.
};

/// Caches Function by the store's id of the name in the file.
class Functions {
 public:
  explicit Functions(TraceStore& store) : store_(store) {}

  const Function& Of(StringId written) {
    if (written.index() >= functions_.size()) functions_.resize(written.index() + 1);
    if (!functions_[written.index()].name.valid()) {
      const std::string_view name = FunctionName(store_.Text(written));
      Function function = {store_.strings.Intern(name), HostEventKind::kRuntimeCall, false};
      // Driver functions begin with "cu" and a capital, as in cuLaunchKernel. Functions such as
      // cudaLaunchKernel, cublasCreate and cusparseCreate belong to libraries.
      if (name.starts_with("cu") && name.size() > 2 && IsUpper(name[2]))
        function.kind = HostEventKind::kDriverCall;
      function.allocates = name.find("Malloc") != std::string_view::npos ||
                           name.find("MemAlloc") != std::string_view::npos ||
                           name.find("Free") != std::string_view::npos;
      functions_[written.index()] = function;
    }
    return functions_[written.index()];
  }

 private:
  TraceStore& store_;
  std::vector<Function> functions_;
};

void ReadCalls(Reading& reading, std::string_view table, Functions& functions) {
  static constexpr NamedColumns kColumns{"start",         "end",    "globalTid",
                                         "correlationId", "nameId", "name"};
  const StringId runtime = reading.store.strings.Intern("cuda_runtime");
  const StringId driver = reading.store.strings.Intern("cuda_driver");
  reading.ForEach(table, kColumns, 2, [&](const RowScan& row) {
    ++reading.store.metadata.events;
    const std::optional<TimeNs> start = reading.TimeAt(row, kColumns["start"], table);
    if (!start) return;
    StringId name = reading.NameAt(row, kColumns["nameId"]);
    if (!name.valid()) name = reading.NameAt(row, kColumns["name"]);
    const Function function = functions.Of(reading.NameOr(name, "(unnamed call)", table));
    const std::int64_t global = row.Integer(kColumns["globalTid"], kUnknown);
    const ThreadId thread = reading.tracks.ThreadOf(global);
    const std::int64_t correlation = row.Integer(kColumns["correlationId"], 0);
    reading.AddHostEvent(
        {.start = *start,
         .duration = reading.DurationTo(row, kColumns["end"], *start, table),
         .name = function.name,
         .category = function.kind == HostEventKind::kDriverCall ? driver : runtime,
         .thread = thread,
         .kind = function.kind,
         .correlation = reading.CorrelationOf(correlation, global)});
    if (correlation != 0 && function.allocates)
      reading.allocating[{PidOrZero(global), correlation}] = thread;
  });
}

}  // namespace

void ReadCudaCalls(Reading& reading) {
  Functions functions(reading.store);
  ReadCalls(reading, kCalls, functions);
  ReadCalls(reading, kDriverCalls, functions);
}

void ReadOsCalls(Reading& reading) {
  static constexpr NamedColumns kColumns{"start", "end", "globalTid", "nameId"};
  const StringId category = reading.store.strings.Intern("osrt");
  reading.ForEach(kOsCalls, kColumns, 2, [&](const RowScan& row) {
    ++reading.store.metadata.events;
    const std::optional<TimeNs> start = reading.TimeAt(row, kColumns["start"], kOsCalls);
    if (!start) return;
    reading.AddHostEvent(
        {.start = *start,
         .duration = reading.DurationTo(row, kColumns["end"], *start, kOsCalls),
         .name =
             reading.NameOr(reading.NameAt(row, kColumns["nameId"]), "(unnamed call)", kOsCalls),
         .category = category,
         .thread = reading.tracks.ThreadOf(row.Integer(kColumns["globalTid"], kUnknown)),
         .kind = HostEventKind::kOther});
  });
}

}  // namespace headroom::nsight
