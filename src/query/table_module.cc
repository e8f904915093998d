#include "query/table_module.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace headroom {
namespace {

/// Kind of a comparison that restricts the scan.
enum class Comparison : std::uint8_t { kEqual, kLess, kGreater, kAnyOf };

/// A comparison that the scan uses. SQLite checks each row again, so a term may accept more rows
/// than its comparison.
struct Term {
  std::size_t column;
  Comparison comparison;
  bool operator==(const Term&) const = default;
};

/// The decision of xBestIndex, for xFilter: argument i belongs to term i.
struct Plan {
  std::vector<Term> terms;
  ScanOrder order;
  std::vector<std::size_t> read;  ///< Columns with keys that the statement reads.
  bool operator==(const Plan&) const = default;
};

/// SQLite requires its base struct first.
struct VirtualTable : sqlite3_vtab {
  QueryTables* shared;
  std::size_t index;
  /// Plans of statements by number. Equal plans are stored once, so their number stays small.
  std::deque<Plan> plans;

  const Table& table() const { return shared->tables().table(index); }
};

struct VirtualCursor : sqlite3_vtab_cursor {
  explicit VirtualCursor(VirtualTable& of)
      : sqlite3_vtab_cursor(), scan(of.table(), of.shared->indexes(of.index)) {}
  TableScan scan;
};

/// Returns the column's index. In SQL, the first column is the row's number.
std::size_t ColumnOf(int sql_column) {
  return sql_column <= 0 ? kIdColumn : static_cast<std::size_t>(sql_column) - 1;
}

int Fail(VirtualTable& table, const std::string& message) {
  sqlite3_free(table.zErrMsg);
  table.zErrMsg = sqlite3_mprintf("%s", message.c_str());
  return SQLITE_ERROR;
}

/// Loads the table's data, which the scan requires.
int EnsureLoaded(VirtualTable& table) {
  const Status status = table.shared->tables().Load(table.index);
  return status.ok() ? SQLITE_OK : Fail(table, status.message());
}

std::string_view SqlType(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::kString:
    case ColumnKind::kLabel:
      return "TEXT";
    case ColumnKind::kReal:
      return "REAL";
    case ColumnKind::kInt64:
    case ColumnKind::kInt32:
    case ColumnKind::kRow:
    case ColumnKind::kFlag:
      break;
  }
  return "INTEGER";
}

int Connect(sqlite3* connection, void* context, int, const char* const* arguments,
            sqlite3_vtab** made, char** error) {
  auto& shared = *static_cast<QueryTables*>(context);
  const std::string_view name = arguments[2];
  for (std::size_t i = 0; i < shared.tables().size(); ++i) {
    const Table& table = shared.tables().table(i);
    if (table.name != name) continue;
    std::string declaration = fmt::format("CREATE TABLE {} (id INTEGER", table.name);
    for (const TableColumn& column : table.columns)
      declaration += fmt::format(", \"{}\" {}", column.name, SqlType(column.kind));
    declaration += ")";
    if (const int code = sqlite3_declare_vtab(connection, declaration.c_str()); code != SQLITE_OK)
      return code;
    // The table only reads memory, so views may use it.
    sqlite3_vtab_config(connection, SQLITE_VTAB_INNOCUOUS);
    auto virtual_table = std::make_unique<VirtualTable>();
    virtual_table->shared = &shared;
    virtual_table->index = i;
    *made = virtual_table.release();
    return SQLITE_OK;
  }
  *error = sqlite3_mprintf("a trace has no table %s", arguments[2]);
  return SQLITE_ERROR;
}

int Disconnect(sqlite3_vtab* table) {
  delete static_cast<VirtualTable*>(table);
  return SQLITE_OK;
}

bool IsBinary(sqlite3_index_info* info, int constraint) {
  const char* const collation = sqlite3_vtab_collation(info, constraint);
  return collation != nullptr && std::string_view(collation) == "BINARY";
}

bool HoldsText(ColumnKind kind) {
  return kind == ColumnKind::kString || kind == ColumnKind::kLabel;
}

/// Returns the term of a constraint; nullopt if the scan cannot use it.
std::optional<Term> TermOf(const Table& table, sqlite3_index_info* info, int i) {
  const auto& constraint = info->aConstraint[i];
  if (constraint.usable == 0) return std::nullopt;
  const std::size_t column = ColumnOf(constraint.iColumn);
  const bool text = column != kIdColumn && HoldsText(table.columns[column].kind);
  if (column != kIdColumn && table.columns[column].kind == ColumnKind::kReal) return std::nullopt;
  if (text && !IsBinary(info, i)) return std::nullopt;
  switch (constraint.op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
      // Takes a whole list of ids or names. SQLite passes the values of other columns one by one.
      if ((column == kIdColumn || text) && sqlite3_vtab_in(info, i, -1) != 0) {
        sqlite3_vtab_in(info, i, 1);
        return Term{column, Comparison::kAnyOf};
      }
      return Term{column, Comparison::kEqual};
    case SQLITE_INDEX_CONSTRAINT_LT:
    case SQLITE_INDEX_CONSTRAINT_LE:
      if (text) return std::nullopt;
      return Term{column, Comparison::kLess};
    case SQLITE_INDEX_CONSTRAINT_GT:
    case SQLITE_INDEX_CONSTRAINT_GE:
      if (text) return std::nullopt;
      return Term{column, Comparison::kGreater};
    default:
      return std::nullopt;
  }
}

bool HasTerm(const Plan& plan, std::size_t column) {
  return std::any_of(plan.terms.begin(), plan.terms.end(),
                     [&](const Term& term) { return term.column == column; });
}

/// Returns true if the order of row numbers meets the statement's order.
bool IsNaturalOrder(const Table& table, const Plan& plan, const sqlite3_index_info& info) {
  // Columns that rise with the row number, the most significant first.
  std::vector<std::size_t> rising;
  const bool in_one_run = table.runs.size() == 1 ||
                          (table.run_key != Table::kNoColumn &&
                           std::find(plan.terms.begin(), plan.terms.end(),
                                     Term{table.run_key, Comparison::kEqual}) != plan.terms.end());
  if (table.run_key != Table::kNoColumn) rising.push_back(table.run_key);
  if (!table.runs.empty()) rising.push_back(table.time);
  rising.push_back(kIdColumn);
  std::size_t next = 0;
  for (int i = 0; i < info.nOrderBy; ++i) {
    const std::size_t column = ColumnOf(info.aOrderBy[i].iColumn);
    if (info.aOrderBy[i].desc != info.aOrderBy[0].desc) return false;
    if (i == 0 && column == kIdColumn)
      return true;  // The row number is unique, so further columns
                    // have no effect.
    if (next == 0 && rising[0] == table.run_key && in_one_run && column != rising[0]) ++next;
    if (next >= rising.size() || rising[next] != column) return false;
    if (column == kIdColumn) return true;
    ++next;
  }
  return true;
}

/// Lets the scan produce the statement's order if possible.
void ChooseOrder(const Table& table, sqlite3_index_info& info, Plan& plan) {
  // For DISTINCT alone, SQLite keeps a set of values in any order.
  constexpr int kDistinctOnly = 2;
  if (info.nOrderBy == 0 || sqlite3_vtab_distinct(&info) == kDistinctOnly) return;
  const bool reverse = info.aOrderBy[0].desc != 0;
  if (IsNaturalOrder(table, plan, info)) {
    // Lists of ids are also processed in row order.
    plan.order.reverse = reverse;
    info.orderByConsumed = 1;
    return;
  }
  const std::size_t column = ColumnOf(info.aOrderBy[0].iColumn);
  if (info.nOrderBy != 1 || column == kIdColumn || !HasRanks(table.columns[column].kind)) return;
  // An index visits all rows, so SQLite should sort if the terms leave few rows. A term on a column
  // with few distinct words leaves many.
  const bool narrows = std::any_of(plan.terms.begin(), plan.terms.end(), [&](const Term& term) {
    if (term.column == kIdColumn || term.column == table.time) return true;
    const bool one_key =
        term.comparison == Comparison::kEqual || term.comparison == Comparison::kAnyOf;
    return one_key && table.columns[term.column].kind != ColumnKind::kLabel;
  });
  if (narrows) return;
  plan.order = {column, reverse};
  info.orderByConsumed = 1;
}

/// Returns a rough estimate of the share of rows that a term leaves, for SQLite's choice between
/// joins.
double ShareOf(const QueryTables& shared, const Table& table, const Term& term) {
  const auto rows = static_cast<double>(std::max<std::size_t>(1, table.rows));
  if (term.comparison == Comparison::kLess || term.comparison == Comparison::kGreater) {
    const bool sorted = term.column == kIdColumn || term.column == table.time;
    return sorted ? 0.05 : 0.3;
  }
  if (term.column == kIdColumn) {
    constexpr double kListed = 20;
    return (term.comparison == Comparison::kAnyOf ? kListed : 1) / rows;
  }
  const TableColumn& column = table.columns[term.column];
  switch (column.kind) {
    case ColumnKind::kLabel:
    case ColumnKind::kFlag:
      return 0.3;
    case ColumnKind::kString:
      return 0.02;
    case ColumnKind::kRow:
      for (std::size_t i = 0; i < shared.tables().size(); ++i) {
        const Table& other = shared.tables().table(i);
        if (other.name == column.refers)
          return 1 / static_cast<double>(std::max<std::size_t>(1, other.rows));
      }
      return 0.01;
    case ColumnKind::kInt64:
    case ColumnKind::kInt32:
    case ColumnKind::kReal:
      break;
  }
  return 4 / rows;
}

int BestIndex(sqlite3_vtab* base, sqlite3_index_info* info) {
  auto& virtual_table = *static_cast<VirtualTable*>(base);
  if (const int code = EnsureLoaded(virtual_table); code != SQLITE_OK) return code;
  const Table& table = virtual_table.table();
  const auto rows = static_cast<double>(table.rows);
  Plan plan;
  double walked = rows, found = rows;  // Estimated numbers of visited and returned rows.
  for (int i = 0; i < info->nConstraint; ++i) {
    const std::optional<Term> term = TermOf(table, info, i);
    if (!term) continue;
    const bool one_key =
        term->comparison == Comparison::kEqual || term->comparison == Comparison::kAnyOf;
    // One list or key per column suffices; bounds may come in pairs.
    if (one_key && HasTerm(plan, term->column)) continue;
    plan.terms.push_back(*term);
    info->aConstraintUsage[i].argvIndex = static_cast<int>(plan.terms.size());
    const double share = ShareOf(*virtual_table.shared, table, *term);
    found *= share;
    const bool narrows_walk = term->column == kIdColumn || term->column == table.time ||
                              term->column == table.run_key ||
                              (term->comparison == Comparison::kEqual &&
                               table.columns[term->column].kind != ColumnKind::kLabel);
    if (narrows_walk) walked *= share;
    if (term->column == kIdColumn && term->comparison == Comparison::kEqual)
      info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
  }
  ChooseOrder(table, *info, plan);
  constexpr int kBits = 64;  // The last bit represents all further columns.
  for (int i = 1; i < kBits - 1 && static_cast<std::size_t>(i) <= table.columns.size(); ++i) {
    const std::size_t column = ColumnOf(i);
    if ((info->colUsed >> i & 1) != 0 && table.columns[column].kind != ColumnKind::kReal)
      plan.read.push_back(column);
  }
  constexpr double kWalkCost = 0.02, kStartCost = 2;  // Relative to a cost of 1 per returned row.
  info->estimatedRows = static_cast<sqlite3_int64>(std::ceil(std::max(1.0, found)));
  info->estimatedCost = kStartCost + walked * kWalkCost + found;
  const auto known = std::find(virtual_table.plans.begin(), virtual_table.plans.end(), plan);
  info->idxNum = static_cast<int>(known - virtual_table.plans.begin());
  if (known == virtual_table.plans.end()) virtual_table.plans.push_back(std::move(plan));
  return SQLITE_OK;
}

int Open(sqlite3_vtab* base, sqlite3_vtab_cursor** cursor) {
  *cursor = std::make_unique<VirtualCursor>(*static_cast<VirtualTable*>(base)).release();
  return SQLITE_OK;
}

int Close(sqlite3_vtab_cursor* cursor) {
  delete static_cast<VirtualCursor*>(cursor);
  return SQLITE_OK;
}

/// Returns the key of a text in a column; nullopt if no row has it.
std::optional<std::int64_t> KeyOfText(const QueryTables& shared, const TableColumn& column,
                                      sqlite3_value* value) {
  const auto* const text = static_cast<const char*>(sqlite3_value_blob(value));
  const std::string_view wanted(text == nullptr ? "" : text,
                                static_cast<std::size_t>(sqlite3_value_bytes(value)));
  if (column.kind == ColumnKind::kString) {
    const StringId id = shared.tables().store().strings.Find(wanted);
    if (!id.valid()) return std::nullopt;
    return id.index();
  }
  const auto at = std::find(column.labels.begin(), column.labels.end(), wanted);
  if (at == column.labels.end() || wanted.empty()) return std::nullopt;
  return at - column.labels.begin();
}

/// Adds the keys that equal a value. Sets `certain` to false if the list may be incomplete: SQL's
/// conversions, which only SQLite applies, can make a value of another type equal.
void AddKey(const QueryTables& shared, const TableColumn* column, sqlite3_value* value,
            bool& certain, std::vector<std::int64_t>& keys) {
  const int type = sqlite3_value_type(value);
  if (type == SQLITE_NULL) return;  // Null equals nothing.
  if (column != nullptr && HoldsText(column->kind)) {
    if (type != SQLITE_TEXT) {
      certain = false;
    } else if (const auto key = KeyOfText(shared, *column, value)) {
      keys.push_back(*key);
    }
    return;
  }
  if (type == SQLITE_INTEGER) {
    keys.push_back(sqlite3_value_int64(value));
  } else if (type == SQLITE_FLOAT) {
    const double number = sqlite3_value_double(value);
    constexpr double kExact = 9007199254740992;  // 2^53: a larger double can equal several
                                                 // integers.
    if (!(std::abs(number) < kExact)) {
      certain = false;
    } else if (number == std::floor(number)) {
      keys.push_back(static_cast<std::int64_t>(number));
    }
  } else {
    certain = false;
  }
}

void AddEqual(const QueryTables& shared, const TableColumn* column, const Term& term,
              sqlite3_value* value, KeyCondition& condition) {
  bool certain = true;
  std::vector<std::int64_t> keys;
  if (term.comparison == Comparison::kAnyOf) {
    sqlite3_value* one = nullptr;
    int code = sqlite3_vtab_in_first(value, &one);
    for (; code == SQLITE_OK && one != nullptr; code = sqlite3_vtab_in_next(value, &one))
      AddKey(shared, column, one, certain, keys);
    if (code != SQLITE_DONE && code != SQLITE_OK) certain = false;
  } else {
    AddKey(shared, column, value, certain, keys);
  }
  if (!certain) return;
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  if (keys.size() == 1) {
    condition.low = std::max(condition.low, keys[0]);
    condition.high = std::min(condition.high, keys[0]);
  } else {
    condition.any_of = std::move(keys);
  }
}

/// Adds an inclusive bound. SQLite itself excludes the bound's value if necessary.
void AddBound(const Term& term, sqlite3_value* value, KeyCondition& condition) {
  constexpr double kLimit = 9.2e18;  // Below 2^63.
  const int type = sqlite3_value_type(value);
  std::int64_t low = 0, high = 0;
  if (type == SQLITE_INTEGER) {
    low = high = sqlite3_value_int64(value);
  } else if (type == SQLITE_FLOAT && std::abs(sqlite3_value_double(value)) < kLimit) {
    low = static_cast<std::int64_t>(std::floor(sqlite3_value_double(value)));
    high = static_cast<std::int64_t>(std::ceil(sqlite3_value_double(value)));
  } else {
    return;
  }
  if (term.comparison == Comparison::kLess) {
    condition.high = std::min(condition.high, high);
  } else {
    condition.low = std::max(condition.low, low);
  }
}

int Filter(sqlite3_vtab_cursor* base, int plan_number, const char*, int argc,
           sqlite3_value** argv) {
  auto& cursor = *static_cast<VirtualCursor*>(base);
  auto& virtual_table = *static_cast<VirtualTable*>(base->pVtab);
  if (const int code = EnsureLoaded(virtual_table); code != SQLITE_OK) return code;
  const Table& table = virtual_table.table();
  const Plan& plan = virtual_table.plans[static_cast<std::size_t>(plan_number)];
  if (argc == 1 && plan.terms[0] == Term{kIdColumn, Comparison::kEqual} &&
      sqlite3_value_type(argv[0]) == SQLITE_INTEGER) {
    cursor.scan.StartAt(sqlite3_value_int64(argv[0]));
    return SQLITE_OK;
  }
  std::vector<KeyCondition> conditions;
  for (int i = 0; i < argc; ++i) {
    const Term& term = plan.terms[static_cast<std::size_t>(i)];
    auto at = std::find_if(
        conditions.begin(), conditions.end(),
        [&](const KeyCondition& condition) { return condition.column == term.column; });
    if (at == conditions.end()) {
      conditions.emplace_back().column = term.column;
      at = conditions.end() - 1;
    }
    if (term.comparison == Comparison::kLess || term.comparison == Comparison::kGreater) {
      AddBound(term, argv[i], *at);
    } else {
      const TableColumn* const column =
          term.column == kIdColumn ? nullptr : &table.columns[term.column];
      AddEqual(*virtual_table.shared, column, term, argv[i], *at);
    }
  }
  cursor.scan.Start(std::move(conditions), plan.order, plan.read);
  return SQLITE_OK;
}

int Next(sqlite3_vtab_cursor* cursor) {
  static_cast<VirtualCursor*>(cursor)->scan.Next();
  return SQLITE_OK;
}

int AtEnd(sqlite3_vtab_cursor* cursor) {
  return static_cast<VirtualCursor*>(cursor)->scan.AtEnd() ? 1 : 0;
}

void ShowText(sqlite3_context* context, std::string_view text) {
  // The text is part of the trace, which outlives the statement.
  sqlite3_result_text64(context, text.empty() ? "" : text.data(), text.size(), SQLITE_STATIC,
                        SQLITE_UTF8);
}

int Column(sqlite3_vtab_cursor* base, sqlite3_context* context, int sql_column) {
  const auto& cursor = *static_cast<VirtualCursor*>(base);
  const auto& virtual_table = *static_cast<VirtualTable*>(base->pVtab);
  const std::size_t at = ColumnOf(sql_column);
  if (at == kIdColumn) {
    sqlite3_result_int64(context, cursor.scan.row());
    return SQLITE_OK;
  }
  const Table& table = virtual_table.table();
  const TableColumn& column = table.columns[at];
  if (column.kind == ColumnKind::kReal) {
    sqlite3_result_double(context, table.Real(at, cursor.scan.row()));
    return SQLITE_OK;
  }
  const std::int64_t key = cursor.scan.Key(at);
  if (table.IsNull(at, key)) return SQLITE_OK;  // An unset result is null.
  if (column.kind == ColumnKind::kString) {
    ShowText(context, virtual_table.shared->tables().store().Text(
                          StringId(static_cast<std::uint32_t>(key))));
  } else if (column.kind == ColumnKind::kLabel) {
    ShowText(context, column.labels[static_cast<std::size_t>(key)]);
  } else {
    sqlite3_result_int64(context, key);
  }
  return SQLITE_OK;
}

int RowId(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
  *id = static_cast<VirtualCursor*>(cursor)->scan.row();
  return SQLITE_OK;
}

/// SQLite is written in C, so exceptions must not leave a callback.
template <auto callback>
struct Guarded;

template <typename... Arguments, int (*callback)(Arguments...)>
struct Guarded<callback> {
  static int Call(Arguments... arguments) {
    try {
      return callback(arguments...);
    } catch (const std::bad_alloc&) {
      return SQLITE_NOMEM;
    }
  }
};

sqlite3_module MakeModule() {
  sqlite3_module module{};
  module.xCreate = module.xConnect = Guarded<Connect>::Call;
  module.xBestIndex = Guarded<BestIndex>::Call;
  module.xDisconnect = module.xDestroy = Disconnect;
  module.xOpen = Guarded<Open>::Call;
  module.xClose = Close;
  module.xFilter = Guarded<Filter>::Call;
  module.xNext = Next;
  module.xEof = AtEnd;
  module.xColumn = Column;
  module.xRowid = RowId;
  return module;
}

}  // namespace

QueryTables::QueryTables(const TraceStore& store) : tables_(store) {
  for (std::size_t i = 0; i < tables_.size(); ++i) indexes_.emplace_back(tables_, i);
}

int RegisterTables(sqlite3* connection, QueryTables& tables) {
  static const sqlite3_module module = MakeModule();
  return sqlite3_create_module_v2(connection, "headroom_table", &module, &tables, nullptr);
}

}  // namespace headroom
