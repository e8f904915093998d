// Measures queries on a large trace, and checks their answers against the generated data.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "query/database.h"

namespace headroom {
namespace {

constexpr std::int64_t kEvents = 4'000'000;
constexpr std::int64_t kThreads = 4, kNames = 400;
constexpr std::int64_t kPeriodNs = 2000, kLengthNs = 1500;

/// Returns 4 million operators with 400 names on 4 threads. Each thread starts one every 2 us.
std::unique_ptr<TraceStore> MakeStore() {
  auto store = std::make_unique<TraceStore>();
  const StringId category = store->strings.Intern("cpu_op");
  std::vector<StringId> names;
  for (std::int64_t i = 0; i < kNames; ++i)
    names.push_back(store->strings.Intern("aten::operator_" + std::to_string(i)));
  AppendUnknown(store->processes);
  store->processes.pid.MutablePending(0) = store->strings.Intern("1");
  for (std::int64_t t = 0; t < kThreads; ++t) {
    const std::size_t row = AppendUnknown(store->threads);
    store->threads.process.MutablePending(row) = ProcessId(std::size_t{0});
    store->threads.tid.MutablePending(row) = store->strings.Intern(std::to_string(t));
  }
  for (std::int64_t i = 0; i < kEvents; ++i) {
    auto& events = store->host_events;
    const std::size_t row = AppendUnknown(events);
    events.start.MutablePending(row) = TimeNs(i / kThreads * kPeriodNs);
    events.duration.MutablePending(row) = DurationNs(kLengthNs);
    // Names repeat with some disorder, like those of a layer's operators.
    events.name.MutablePending(row) = names[static_cast<std::size_t>(i * 7919 % 1009 % kNames)];
    events.category.MutablePending(row) = category;
    events.thread.MutablePending(row) = ThreadId(static_cast<std::size_t>(i % kThreads));
    events.kind.MutablePending(row) = HostEventKind::kOperator;
  }
  store->Freeze(2);
  return store;
}

const TraceStore& Store() {
  static const std::unique_ptr<TraceStore> store = MakeStore();
  return *store;
}

/// Sums the numbers of a column.
class Sum : public QuerySink {
 public:
  explicit Sum(std::size_t column) : column_(column) {}
  void Begin(std::span<const std::string>) override {}
  bool Add(std::span<const QueryValue> row) override {
    ++rows;
    if (const auto* number = std::get_if<std::int64_t>(&row[column_])) sum += *number;
    return true;
  }
  std::int64_t rows = 0, sum = 0;

 private:
  std::size_t column_;
};

/// Runs each time without existing indexes.
void RunFresh(benchmark::State& state, std::string_view sql, std::size_t column, std::int64_t rows,
              std::int64_t sum) {
  Store();
  for (auto _ : state) {
    state.PauseTiming();
    QueryTables tables(Store());
    auto database = Database::Open(tables);
    if (!database.ok()) std::abort();
    state.ResumeTiming();
    Sum found(column);
    if (!database.value()->RunFirst(sql, {}, found).ok()) std::abort();
    if (found.rows != rows || found.sum != sum) {
      state.SkipWithError(("wrong answer: " + std::to_string(found.rows) + " rows, sum " +
                           std::to_string(found.sum))
                              .c_str());
      break;
    }
  }
}

void BM_GroupByName(benchmark::State& state) {
  RunFresh(state, "select name, count(*), sum(duration_ns) from host_events group by name", 1,
           kNames, kEvents);
}
BENCHMARK(BM_GroupByName)->Unit(benchmark::kMillisecond);

void BM_TimeRange(benchmark::State& state) {
  RunFresh(state,
           "select name, duration_ns from host_events where start_ns between 1000000000 and "
           "1000100000",
           1, 51 * kThreads, 51 * kThreads * kLengthNs);
}
BENCHMARK(BM_TimeRange)->Unit(benchmark::kMillisecond);

void BM_OneName(benchmark::State& state) {
  RunFresh(state, "select count(*), sum(duration_ns) from host_events where name = 'none such'", 0,
           1, 0);
}
BENCHMARK(BM_OneName)->Unit(benchmark::kMillisecond);

void BM_Longest(benchmark::State& state) {
  RunFresh(state, "select duration_ns from host_events order by duration_ns desc limit 10", 0, 10,
           10 * kLengthNs);
}
BENCHMARK(BM_Longest)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace headroom
