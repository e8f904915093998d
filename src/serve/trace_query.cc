#include "serve/trace_query.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <string_view>
#include <thread>

#include "answers/query/query_output.h"
#include "query/database.h"

namespace headroom {
namespace {

/// Sets a flag when an answer is no longer wanted.
class Watch {
 public:
  explicit Watch(const IsWanted& is_wanted) : thread_([this, is_wanted] { Run(is_wanted); }) {}
  ~Watch() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ended_ = true;
    }
    end_.notify_all();
    thread_.join();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  const std::atomic<bool>& unwanted() const { return unwanted_; }

 private:
  void Run(const IsWanted& is_wanted) {
    constexpr std::chrono::milliseconds kInterval(50);
    std::unique_lock<std::mutex> lock(mutex_);
    while (!end_.wait_for(lock, kInterval, [this] { return ended_; })) unwanted_ = !is_wanted();
  }

  std::atomic<bool> unwanted_ = false;
  std::mutex mutex_;
  bool ended_ = false;
  std::condition_variable end_;
  std::thread thread_;  ///< Last, because it uses the other members.
};

}  // namespace

Result<std::string> TraceQuery::Json(const std::string& sql, const IsWanted& is_wanted) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!is_wanted()) return Status::NoAnswer("the client no longer waits for the answer");
  if (!tables_) tables_.emplace(store_);
  const Result<std::unique_ptr<Database>> database = Database::Open(*tables_);
  if (!database.ok()) return database.status();
  constexpr std::int64_t kMaxSeconds = 20, kNsPerSecond = 1'000'000'000;
  constexpr std::int64_t kMaxBytes = 256'000'000, kMaxAnswerBytes = 16'000'000;
  const Watch watch(is_wanted);
  QueryOutput output(
      {.format = QueryFormat::kJson, .max_rows = kMaxRows, .most_bytes = kMaxAnswerBytes});
  const Result<std::string_view> rest =
      database.value()->RunFirst(sql,
                                 {.time = DurationNs(kMaxSeconds * kNsPerSecond),
                                  .memory_bytes = kMaxBytes,
                                  .interrupted = &watch.unwanted(),
                                  .more_time = "headroom query --timeout-s N",
                                  .more_memory = "headroom query --memory-mb N"},
                                 output);
  if (!rest.ok()) return rest.status();
  if (!output.began()) return Status::Usage("missing statement: write one, such as SELECT");
  if (database.value()->HoldsStatement(rest.value()))
    return Status::Usage("several statements: run one at a time");
  if (Status status = output.status(); !status.ok()) return status;
  return output.Text(sql);
}

}  // namespace headroom
