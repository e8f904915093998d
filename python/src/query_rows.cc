#include "query_rows.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <utility>

#include "errors.h"

namespace headroom::python {
namespace {

constexpr double kNsPerS = 1e9;
constexpr double kLongestS =
    1e9;  ///< Largest time limit in seconds: limits are counted in nanoseconds.
constexpr std::int64_t kMaxMb = 1'000'000'000;

}  // namespace

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
    columns_[i].kinds.push_back(static_cast<std::uint8_t>(kind));
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

const QueryRows::Values& QueryRows::column(std::int64_t column) const {
  if (column < 0 || column >= static_cast<std::int64_t>(columns_.size()))
    ThrowUsage("no such column");
  return columns_[static_cast<std::size_t>(column)];
}

headroom_texts QueryRows::Texts() const {
  TextList texts;
  std::vector<std::int64_t> codes;
  for (std::uint32_t i = 0; i < texts_.size(); ++i) {
    codes.push_back(i);
    texts.Add(texts_.Get(StringId(i)));
  }
  return std::move(texts).Take(std::move(codes));
}

std::shared_ptr<QueryRows> RunQuery(const std::shared_ptr<const Trace>& trace,
                                    const std::string& sql, double timeout_s,
                                    std::int64_t memory_mb, const std::atomic<bool>& stop) {
  if (!(timeout_s >= 0 && timeout_s <= kLongestS))
    ThrowUsage(fmt::format("timeout_s: requires seconds from 0 (no limit) to {:.0f}", kLongestS));
  if (memory_mb < 0 || memory_mb > kMaxMb)
    ThrowUsage(fmt::format("memory_mb: requires megabytes from 0 (no limit) to {}", kMaxMb));
  const QueryLimits limits = {.time = DurationNs(std::llround(timeout_s * kNsPerS)),
                              .memory_bytes = memory_mb << 20,
                              .interrupted = &stop,
                              .more_time = "timeout_s=N",
                              .more_memory = "memory_mb=N"};
  const std::unique_ptr<Database> database = ValueOrThrow(Database::Open(trace->tables()));
  auto result = std::make_shared<QueryRows>(limits.memory_bytes);
  const std::string_view rest = ValueOrThrow(database->RunFirst(sql, limits, *result));
  if (const Status status = result->status(); !status.ok()) throw StatusError(status);
  if (!result->began()) ThrowUsage("SQL: there is no statement");
  if (database->HoldsStatement(rest)) ThrowUsage("SQL: requires one statement at a time");
  return result;
}

}  // namespace headroom::python
