#include "export/table_csv.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <string>
#include <type_traits>

#include "render/escape.h"
#include "store/enum_words.h"

namespace headroom {
namespace {

class RowText {
 public:
  explicit RowText(const TraceStore& store) : store_(store) {}

  template <typename Value>
  void Add(const Value& value) {
    text_ += ',';
    if constexpr (std::is_same_v<Value, StringId>) {
      text_ += CsvField(store_.Text(value));
    } else if constexpr (std::is_same_v<Value, TimeNs> || std::is_same_v<Value, DurationNs>) {
      Number(value.ns());
    } else if constexpr (std::is_enum_v<Value>) {
      text_ += WordOf(value);
    } else if constexpr (std::is_same_v<Value, double>) {
      if (std::isfinite(value)) Number(value);
    } else if constexpr (std::is_integral_v<Value>) {
      if (value != UnknownValue<Value>()) Number(value);
    } else {
      if (value.valid()) Number(value.index());  // Row of another table.
    }
  }

  std::string& text() { return text_; }

 private:
  template <typename Value>
  void Number(Value value) {
    fmt::format_to(std::back_inserter(text_), "{}", value);
  }

  const TraceStore& store_;
  std::string text_;
};

/// Returns the name that SQL uses, so that "id" means only the row's number.
std::string ColumnName(std::string_view table, std::string_view member, std::string_view unit) {
  if (table == "flows" && member == "id") return "arrow_id";
  std::string name(member);
  if ((unit == "ns" || unit == "bytes") && member != unit &&
      !member.ends_with(fmt::format("_{}", unit)))
    name += fmt::format("_{}", unit);
  return name;
}

template <typename AddRow>
void WriteRows(const TraceStore& store, std::string_view header, std::size_t rows,
               const TextSink& sink, AddRow&& add_row) {
  constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  RowText row_text(store);
  std::string& text = row_text.text();
  text.append("id").append(header).append("\r\n");
  for (std::size_t row = 0; row < rows; ++row) {
    fmt::format_to(std::back_inserter(text), "{}", row);
    add_row(row_text, row);
    text += "\r\n";
    if (text.size() < kPieceBytes) continue;
    sink(text);
    text.clear();
  }
  sink(text);
}

}  // namespace

std::vector<std::string_view> TableNames() {
  std::vector<std::string_view> names;
#define T(Name, member, sentence) names.emplace_back(#member);
  HEADROOM_TABLES(T)
#undef T
  return names;
}

void WriteTableCsv(const TraceStore& store, std::string_view table, const TextSink& sink) {
#define HEADROOM_CSV_HEADER(type, member, unit, null, sentence) \
  header.append(",").append(ColumnName(table, #member, unit));
#define HEADROOM_CSV_FIELD(type, member, unit, null, sentence) text.Add(rows.member[row]);
#define HEADROOM_CSV_TABLE(table_member, COLUMNS)                                   \
  if (table == #table_member) {                                                     \
    const auto& rows = store.table_member;                                          \
    std::string header;                                                             \
    COLUMNS(HEADROOM_CSV_HEADER)                                                    \
    WriteRows(store, header, rows.rows(), sink,                                     \
              [&](RowText& text, std::size_t row) { COLUMNS(HEADROOM_CSV_FIELD) }); \
  }
  HEADROOM_CSV_TABLE(processes, HEADROOM_PROCESS_COLUMNS)
  HEADROOM_CSV_TABLE(threads, HEADROOM_THREAD_COLUMNS)
  HEADROOM_CSV_TABLE(devices, HEADROOM_DEVICE_COLUMNS)
  HEADROOM_CSV_TABLE(streams, HEADROOM_STREAM_COLUMNS)
  HEADROOM_CSV_TABLE(host_events, HEADROOM_HOST_EVENT_COLUMNS)
  HEADROOM_CSV_TABLE(gpu_tasks, HEADROOM_GPU_TASK_COLUMNS)
  HEADROOM_CSV_TABLE(syncs, HEADROOM_SYNC_COLUMNS)
  HEADROOM_CSV_TABLE(flows, HEADROOM_FLOW_COLUMNS)
  HEADROOM_CSV_TABLE(counters, HEADROOM_COUNTER_COLUMNS)
  HEADROOM_CSV_TABLE(memory_events, HEADROOM_MEMORY_EVENT_COLUMNS)
  HEADROOM_CSV_TABLE(instants, HEADROOM_INSTANT_COLUMNS)
  HEADROOM_CSV_TABLE(steps, HEADROOM_STEP_COLUMNS)
  HEADROOM_CSV_TABLE(collectives, HEADROOM_COLLECTIVE_COLUMNS)
#undef HEADROOM_CSV_TABLE
#undef HEADROOM_CSV_FIELD
#undef HEADROOM_CSV_HEADER
}

}  // namespace headroom
