#include "tables.h"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <future>
#include <optional>
#include <utility>

#include "columns.h"
#include "errors.h"

namespace headroom::python {
namespace {

namespace py = pybind11;

constexpr double kNsPerS = 1e9;
constexpr double kLongestS =
    1e9;  ///< Largest time limit in seconds: limits are counted in nanoseconds.
constexpr std::int64_t kMaxMb = 1'000'000'000;

std::string_view NameOfKind(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::kInt64:
      return "int64";
    case ColumnKind::kInt32:
      return "int32";
    case ColumnKind::kReal:
      return "real";
    case ColumnKind::kString:
      return "string";
    case ColumnKind::kRow:
      return "row";
    case ColumnKind::kLabel:
      return "label";
    case ColumnKind::kFlag:
      return "flag";
  }
  return "";
}

py::object Decoded(std::string_view text) {
  PyObject* const decoded =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (decoded == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(decoded);
}

/// A read-only view of consecutive values.
template <typename T>
py::array ValuesView(const void* data, std::size_t rows, const py::capsule& owner) {
  // An empty column may have no memory.
  py::array array = rows == 0 ? py::array_t<T>(0)
                              : py::array_t<T>(static_cast<py::ssize_t>(rows),
                                               static_cast<const T*>(data), owner);
  MakeReadOnly(array);
  return array;
}

/// Returns the table and computes it first if necessary.
const Table& Loaded(const Trace& trace, std::size_t table) {
  const TraceTables& tables = trace.tables().tables();
  if (table >= tables.size()) throw py::index_error("no such table");
  const py::gil_scoped_release released;
  if (const Status status = tables.Load(table); !status.ok()) throw StatusError(status);
  return tables.table(table);
}

/// Returns true if a double represents the number exactly.
bool IsExactAsReal(std::int64_t number) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 53;
  return -kLargest <= number && number <= kLargest;
}

}  // namespace

py::list TableSchemas(const std::shared_ptr<const Trace>& trace) {
  const auto& tables = [&]() -> const TraceTables& {
    const py::gil_scoped_release released;
    return trace->tables().tables();
  }();
  py::list schemas;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const Table& table = tables.table(i);
    py::list columns;
    for (const TableColumn& column : table.columns) {
      columns.append(py::make_tuple(
          column.name, NameOfKind(column.kind), column.unit, column.nullable, column.refers,
          std::vector<std::string_view>(column.labels.begin(), column.labels.end()),
          column.sentence));
    }
    const bool computed = tables.IsComputed(i);
    schemas.append(py::make_tuple(table.name, table.sentence, computed,
                                  computed ? py::object(py::none()) : py::int_(table.rows),
                                  columns));
  }
  return schemas;
}

std::size_t TableRows(const std::shared_ptr<const Trace>& trace, std::size_t table) {
  return Loaded(*trace, table).rows;
}

py::array TableColumnView(const std::shared_ptr<const Trace>& trace, std::size_t table,
                          std::size_t column) {
  const Table& loaded = Loaded(*trace, table);
  if (column >= loaded.columns.size()) throw py::index_error("no such column");
  const py::capsule owner = KeepAlive(trace);
  const void* const data = loaded.columns[column].data;
  switch (loaded.columns[column].kind) {
    case ColumnKind::kInt64:
      return ValuesView<std::int64_t>(data, loaded.rows, owner);
    case ColumnKind::kInt32:
      return ValuesView<std::int32_t>(data, loaded.rows, owner);
    case ColumnKind::kReal:
      return ValuesView<double>(data, loaded.rows, owner);
    case ColumnKind::kString:
    case ColumnKind::kRow:
      return ValuesView<std::uint32_t>(data, loaded.rows, owner);
    case ColumnKind::kLabel:
      return ValuesView<std::uint8_t>(data, loaded.rows, owner);
    case ColumnKind::kFlag:
      return ValuesView<bool>(data, loaded.rows, owner);
  }
  return ValuesView<bool>(nullptr, 0, owner);
}

py::list TextsOf(const Trace& trace, const py::array_t<std::uint32_t>& ids) {
  const StringPool& strings = trace.store().strings;
  const auto rows = ids.unchecked<1>();
  py::list texts;
  for (py::ssize_t i = 0; i < rows.shape(0); ++i) {
    if (rows(i) >= strings.size()) throw py::index_error("no such text");
    texts.append(Decoded(strings.Get(StringId(rows(i)))));
  }
  return texts;
}

void QueryRows::Begin(std::span<const std::string> names) {
  began_ = true;
  names_.assign(names.begin(), names.end());
  columns_.resize(names.size());
}

std::int64_t QueryRows::MemoryBytes() const {
  const std::size_t cells = rows_ * columns_.size() * (sizeof(Kind) + sizeof(std::int64_t));
  return static_cast<std::int64_t>(cells + texts_.MemoryBytes());
}

bool QueryRows::Add(std::span<const QueryValue> row) {
  constexpr std::size_t kRowsPerLook = 256;
  for (std::size_t i = 0; i < row.size(); ++i) {
    Kind kind = Kind::kNull;
    std::int64_t payload = 0;
    if (const auto* const integer = std::get_if<std::int64_t>(&row[i])) {
      kind = Kind::kInteger;
      payload = *integer;
    } else if (const auto* const real = std::get_if<double>(&row[i])) {
      kind = Kind::kReal;
      payload = std::bit_cast<std::int64_t>(*real);
    } else if (const auto* const text = std::get_if<std::string_view>(&row[i])) {
      kind = Kind::kText;
      payload = texts_.Intern(*text).index();
    } else if (const auto* const bytes = std::get_if<QueryBytes>(&row[i])) {
      kind = Kind::kBytes;
      payload = texts_.Intern(bytes->bytes).index();
    }
    columns_[i].kinds.push_back(kind);
    columns_[i].payload.push_back(payload);
  }
  ++rows_;
  too_large_ = most_bytes_ > 0 && rows_ % kRowsPerLook == 0 && MemoryBytes() > most_bytes_;
  return !too_large_;
}

Status QueryRows::status() const {
  if (!too_large_) return Status::Ok();
  return Status::Environment(fmt::format(
      "the result is larger than {} MB; request fewer rows (LIMIT), or allow more memory "
      "with memory_mb=N (0: no limit)",
      most_bytes_ >> 20));
}

py::tuple QueryRows::Column(std::size_t column) const {
  if (column >= columns_.size()) throw py::index_error("no such column");
  const Values& values = columns_[column];
  bool integers = false, reals = false, others = false, nulls = false, exact = true;
  for (std::size_t row = 0; row < rows_; ++row) {
    const Kind kind = values.kinds[row];
    nulls |= kind == Kind::kNull;
    reals |= kind == Kind::kReal;
    others |= kind == Kind::kText || kind == Kind::kBytes;
    if (kind != Kind::kInteger) continue;
    integers = true;
    exact = exact && IsExactAsReal(values.payload[row]);
  }

  if (others || (reals && !exact) || (rows_ > 0 && !integers && !reals)) {
    py::array cells(py::dtype("O"), std::vector<py::ssize_t>{static_cast<py::ssize_t>(rows_)});
    auto** const cell = static_cast<PyObject**>(cells.mutable_data());
    std::vector<py::object> known(texts_.size());
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::int64_t payload = values.payload[row];
      py::object made = py::none();
      switch (values.kinds[row]) {
        case Kind::kNull:
          break;
        case Kind::kInteger:
          made = py::int_(payload);
          break;
        case Kind::kReal:
          made = py::float_(std::bit_cast<double>(payload));
          break;
        case Kind::kText: {
          py::object& text = known[static_cast<std::size_t>(payload)];
          if (!text) text = Decoded(texts_.Get(StringId(static_cast<std::uint32_t>(payload))));
          made = text;
          break;
        }
        case Kind::kBytes: {
          const std::string_view bytes = texts_.Get(StringId(static_cast<std::uint32_t>(payload)));
          made = py::bytes(bytes.data(), bytes.size());
          break;
        }
      }
      Py_XSETREF(cell[row], made.release().ptr());
    }
    MakeReadOnly(cells);
    return py::make_tuple(cells, py::none());
  }

  py::object mask = py::none();
  if (nulls) {
    std::vector<std::uint8_t> is_null(rows_);
    for (std::size_t row = 0; row < rows_; ++row)
      is_null[row] = values.kinds[row] == Kind::kNull ? 1 : 0;
    mask = OwnArray(std::move(is_null)).attr("view")("bool");
  }
  if (!reals) return py::make_tuple(OwnArray(values.payload), mask);
  std::vector<double> numbers(rows_);
  for (std::size_t row = 0; row < rows_; ++row) {
    const std::int64_t payload = values.payload[row];
    numbers[row] = values.kinds[row] == Kind::kReal      ? std::bit_cast<double>(payload)
                   : values.kinds[row] == Kind::kInteger ? static_cast<double>(payload)
                                                         : std::nan("");
  }
  return py::make_tuple(OwnArray(std::move(numbers)), mask);
}

std::shared_ptr<QueryRows> RunQuery(const std::shared_ptr<const Trace>& trace,
                                    const std::string& sql, double timeout_s,
                                    std::int64_t memory_mb) {
  if (!(timeout_s >= 0 && timeout_s <= kLongestS))
    ThrowUsage(fmt::format("timeout_s: requires seconds from 0 (no limit) to {:.0f}", kLongestS));
  if (memory_mb < 0 || memory_mb > kMaxMb)
    ThrowUsage(fmt::format("memory_mb: requires megabytes from 0 (no limit) to {}", kMaxMb));
  constexpr std::chrono::milliseconds kBetweenSignals(50);
  std::atomic<bool> interrupted{false};
  const QueryLimits limits = {.time = DurationNs(std::llround(timeout_s * kNsPerS)),
                              .memory_bytes = memory_mb << 20,
                              .interrupted = &interrupted,
                              .more_time = "timeout_s=N",
                              .more_memory = "memory_mb=N"};

  std::optional<py::error_already_set> raised;
  std::shared_ptr<QueryRows> rows;
  {
    const py::gil_scoped_release released;
    // A separate thread, so that this one can check for pending Python signals.
    std::future<std::shared_ptr<QueryRows>> running = std::async(std::launch::async, [&] {
      const std::unique_ptr<Database> database = ValueOrThrow(Database::Open(trace->tables()));
      auto result = std::make_shared<QueryRows>(limits.memory_bytes);
      const std::string_view rest = ValueOrThrow(database->RunFirst(sql, limits, *result));
      if (const Status status = result->status(); !status.ok()) throw StatusError(status);
      if (!result->began()) ThrowUsage("SQL: there is no statement");
      if (database->HoldsStatement(rest)) ThrowUsage("SQL: requires one statement at a time");
      return result;
    });
    while (running.wait_for(kBetweenSignals) == std::future_status::timeout) {
      const py::gil_scoped_acquire acquired;
      if (!raised && PyErr_CheckSignals() != 0) {
        raised.emplace();
        interrupted = true;
      }
    }
    try {
      rows = running.get();
    } catch (const StatusError&) {
      if (!raised) throw;
    }
  }
  if (raised) throw std::move(*raised);
  return rows;
}

}  // namespace headroom::python
