#include "serve/trace_query.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string_view>

#include "answers/query/query_output.h"
#include "query/database.h"

namespace headroom {
namespace {

/// Calls `run` on another thread, because only this thread knows if the answer is still wanted, and
/// raises `unwanted` once it is not.
Result<std::string> RunWhileWanted(const std::function<Result<std::string>()>& run,
                                   const IsWanted& is_wanted, std::atomic<bool>& unwanted) {
  constexpr std::chrono::milliseconds kInterval(50);
  std::future<Result<std::string>> answer = std::async(std::launch::async, run);
  while (answer.wait_for(kInterval) != std::future_status::ready) {
    if (!is_wanted()) unwanted = true;
  }
  return answer.get();
}

Result<std::string> Run(Database& database, const std::string& sql,
                        const std::atomic<bool>& unwanted) {
  constexpr std::int64_t kMaxSeconds = 20, kNsPerSecond = 1'000'000'000;
  constexpr std::int64_t kMaxBytes = 256'000'000, kMaxAnswerBytes = 16'000'000;
  QueryOutput output({.format = QueryFormat::kJson,
                      .max_rows = TraceQuery::kMaxRows,
                      .most_bytes = kMaxAnswerBytes,
                      .large_integers_as_text = true});
  const Result<std::string_view> rest =
      database.RunFirst(sql,
                        {.time = DurationNs(kMaxSeconds * kNsPerSecond),
                         .memory_bytes = kMaxBytes,
                         .interrupted = &unwanted,
                         .more_time = "headroom query --timeout-s N",
                         .more_memory = "headroom query --memory-mb N"},
                        output);
  if (!rest.ok()) return rest.status();
  if (!output.began()) return Status::Usage("missing statement: write one, such as SELECT");
  if (database.HoldsStatement(rest.value()))
    return Status::Usage("several statements: run one at a time");
  if (Status status = output.status(); !status.ok()) return status;
  return output.Text(sql);
}

}  // namespace

Result<std::string> TraceQuery::Json(const std::string& sql, const IsWanted& is_wanted) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!is_wanted()) return Status::NoAnswer("the client no longer waits for the answer");
  if (!tables_) tables_.emplace(store_);
  const Result<std::unique_ptr<Database>> database = Database::Open(*tables_);
  if (!database.ok()) return database.status();
  std::atomic<bool> unwanted = false;
  return RunWhileWanted([&] { return Run(*database.value(), sql, unwanted); }, is_wanted, unwanted);
}

}  // namespace headroom
