#include "query/database.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "store/store_builder.h"

namespace headroom {
namespace database_test {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kMain = 1, kBackward = 2, kStream = 7;

/// Returns a store with two threads, names that share a prefix, values that are not recorded, and
/// enough rows for lookups to create indexes.
std::unique_ptr<TraceStore> MakeStore() {
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200");
  for (int step = 0; step < 3; ++step) b.Step(step, kMain, 20'000 * step, 19'000);
  for (int i = 0; i < 2500; ++i) {
    const std::int64_t at = 20 * i;
    b.Launch(i % 5 == 0 ? "aten::mm" : "aten::add", kMain, at, i % 5 == 0 ? "gemm" : "add", kStream,
             at + 8, 5 + i % 7);
    if (i % 2 == 0) b.Op("aten::mul", kBackward, at + 1, i % 11).Sequence(i);
  }
  b.Copy(CopyKind::kHostToDevice, kStream, 60'000, 10).Bytes(4096);
  b.Op("it's", kBackward, 1, 1);
  b.Op("", kBackward, 70'000, 1);
  return b.Build();
}

const TraceStore& Store() {
  static const std::unique_ptr<TraceStore> store = MakeStore();
  return *store;
}

class Rows : public QuerySink {
 public:
  void Begin(std::span<const std::string> names) override {
    columns.assign(names.begin(), names.end());
  }
  bool Add(std::span<const QueryValue> row) override {
    std::string text;
    for (const QueryValue& value : row) {
      if (&value != row.data()) text += '|';
      if (const auto* number = std::get_if<std::int64_t>(&value)) text += std::to_string(*number);
      if (const auto* real = std::get_if<double>(&value)) text += fmt::format("{}", *real);
      if (const auto* words = std::get_if<std::string_view>(&value)) text += *words;
      if (std::holds_alternative<std::monostate>(value)) text += "null";
    }
    rows.push_back(std::move(text));
    return rows.size() < most;
  }
  std::vector<std::string> columns, rows;
  std::size_t most = SIZE_MAX;
};

class DatabaseTest : public testing::Test {
 protected:
  QueryTables tables_{Store()};
  std::unique_ptr<Database> database_ = Database::Open(tables_).value();

  std::vector<std::string> Ask(std::string_view sql) {
    Rows rows;
    const Result<std::string_view> rest = database_->RunFirst(sql, {}, rows);
    EXPECT_TRUE(rest.ok()) << sql << ": " << rest.status().message();
    return rows.rows;
  }
  Status Refused(std::string_view sql, const QueryLimits& limits = {}) {
    Rows rows;
    return database_->RunFirst(sql, limits, rows).status();
  }
  std::string Plan(std::string_view sql) {
    std::string text;
    for (const std::string& row : Ask("explain query plan " + std::string(sql))) text += row + "\n";
    return text;
  }
};

TEST_F(DatabaseTest, TablesAndViewsAreListed) {
  const auto names = Ask("select name from sqlite_master where type = 'table' order by name");
  for (const char* name : {"host_events", "gpu_tasks", "gpu_attribution", "collectives"})
    EXPECT_THAT(names, testing::Contains(name));
  for (const QueryView& view : QueryViews())
    EXPECT_FALSE(Ask(fmt::format("select count(*) from {}", view.name)).empty());
}

TEST_F(DatabaseTest, TheColumnsOfAViewAreThoseOfItsSelect) {
  class Columns : public QuerySink {
   public:
    void Begin(std::span<const std::string> columns) override {
      names.assign(columns.begin(), columns.end());
    }
    bool Add(std::span<const QueryValue>) override { return false; }
    std::vector<std::string> names;
  };
  for (const QueryView& view : QueryViews()) {
    Columns columns;
    ASSERT_TRUE(database_->RunFirst(fmt::format("select * from {}", view.name), {}, columns).ok());
    std::vector<std::string> declared;
    for (const QueryView::Column& column : view.columns) declared.emplace_back(column.name);
    EXPECT_EQ(declared, columns.names) << view.name;
  }
}

TEST_F(DatabaseTest, ValuesAreThoseOfTheStore) {
  EXPECT_THAT(Ask("select count(*), min(start_ns), max(id) from host_events"),
              ElementsAre(fmt::format("{}|0|{}", Store().host_events.rows(),
                                      Store().host_events.rows() - 1)));
  EXPECT_THAT(Ask("select kind, copy, bytes, start_ns, duration_ns, grid_x from gpu_tasks where "
                  "copy = 'host_to_device'"),
              ElementsAre("memcpy|host_to_device|4096|60000000|10000|null"));
  EXPECT_THAT(Ask("select copy from gpu_tasks where kind = 'kernel' limit 1"), ElementsAre("null"));
  EXPECT_THAT(Ask("select count(*) from host_events where name = ''"), ElementsAre("1"));
  EXPECT_THAT(Ask("select start_ns from host_events where name = 'it''s'"), ElementsAre("1000"));
  EXPECT_THAT(Ask("select name, ordinal from devices"), ElementsAre("NVIDIA H200|0"));
}

TEST_F(DatabaseTest, ATaskKnowsItsOperatorAndStep) {
  EXPECT_THAT(Ask("select operator, phase, step, class, count(*) from kernels where name = 'gemm' "
                  "and step = "
                  "1 group by 1, 2, 3, 4"),
              ElementsAre("aten::mm|forward|1|matmul|190"));
  EXPECT_THAT(Ask("select number, tasks from step_times order by number limit 1"),
              ElementsAre("0|950"));
  EXPECT_THAT(Ask("select step, count(*) from operators where name = 'aten::mm' group by step"),
              ElementsAre("null|20", "0|190", "1|190", "2|100"));
}

TEST_F(DatabaseTest, GroupsAndOrdersThatAreThereAreNotSorted) {
  for (const char* sql : {"select name, count(*) from host_events group by name",
                          "select id from gpu_tasks order by start_ns",
                          "select id from gpu_tasks order by start_ns desc limit 3",
                          "select id from host_events where thread_id = 1 order by start_ns, id",
                          "select id from host_events order by thread_id, start_ns",
                          "select count(*) from host_events group by name order by name"}) {
    EXPECT_THAT(Plan(sql), testing::Not(HasSubstr("TEMP B-TREE"))) << sql;
  }
  // Across threads, starts are not sorted.
  EXPECT_THAT(Plan("select id from host_events order by start_ns"), HasSubstr("TEMP B-TREE"));
}

TEST_F(DatabaseTest, GroupsComeInTheOrderThatIsAskedFor) {
  EXPECT_THAT(Ask("select name, count(*) from host_events where kind = 'operator' group by name "
                  "order by name"),
              ElementsAre("|1", "aten::add|2000", "aten::mm|500", "aten::mul|1250", "it's|1"));
  EXPECT_THAT(
      Ask("select name from host_events where kind = 'operator' group by name order by name "
          "desc limit 2"),
      ElementsAre("it's", "aten::mul"));
  EXPECT_THAT(
      Ask("select sequence is null, kind, count(*) from host_events group by kind, 1 order "
          "by kind desc, 1"),
      ElementsAre("1|runtime_call|2500", "0|operator|1250", "1|operator|2502", "1|annotation|3"));
}

TEST_F(DatabaseTest, JoinsAreNoNestedWalks) {
  // 2500 x 6000 comparisons would take far longer than this bound of instructions.
  Rows rows;
  const auto rest = database_->RunFirst(
      "select count(*) from gpu_tasks t join host_events e on e.correlation = t.correlation where "
      "e.kind = 'runtime_call'",
      {.time = DurationNs(2'000'000'000)}, rows);
  ASSERT_TRUE(rest.ok()) << rest.status().message();
  EXPECT_THAT(rows.rows, ElementsAre("2500"));
}

TEST_F(DatabaseTest, OnlyReadingIsAllowed) {
  for (const char* sql : {"create table x (a)",
                          "create temp table x (a)",
                          "insert into steps values (1)",
                          "delete from host_events",
                          "update steps set number = 1",
                          "delete from kernels",
                          "insert into kernels (id) values (1)",
                          "drop table steps",
                          "drop view kernels",
                          "attach database '/tmp/x.db' as y",
                          "attach ':memory:' as y",
                          "detach main",
                          "vacuum",
                          "vacuum into '/tmp/headroom-vacuum.db'",
                          "pragma user_version = 3",
                          "pragma temp_store_directory = '/tmp'",
                          "pragma writable_schema = on",
                          "begin",
                          "commit",
                          "savepoint a",
                          "analyze",
                          "reindex",
                          "select load_extension('/tmp/x.so')",
                          "create virtual table v using fts5(a)",
                          "alter table steps rename to x",
                          "create view v as select 1",
                          "create trigger t after insert on steps begin select 1; end",
                          "update sqlite_master set sql = ''",
                          "delete from sqlite_master",
                          "with x as (select 1) insert into steps select * from x",
                          "explain insert into steps values (1)"}) {
    const Status status = Refused(sql);
    EXPECT_EQ(status.code(), StatusCode::kUsage) << sql << ": " << status.message();
  }
  EXPECT_THAT(Ask("with recursive n(i) as (select 1 union all select i + 1 from n where i < 5) "
                  "select sum(i) from n"),
              ElementsAre("15"));
}

TEST_F(DatabaseTest, AChangeIsRefusedInTheSameWordsForATableAndAView) {
  for (const char* sql : {"delete from gpu_tasks", "delete from kernels", "drop view kernels",
                          "update kernels set name = ''"})
    EXPECT_THAT(Refused(sql).message(), HasSubstr("queries are read-only")) << sql;
}

TEST_F(DatabaseTest, MistakesAreShownWhereTheyAre) {
  EXPECT_THAT(Refused("select dur from host_events").message(),
              testing::AllOf(HasSubstr("no such column: dur"), HasSubstr("line 1, column 8"),
                             HasSubstr("did you mean duration_ns")));
  EXPECT_THAT(Refused("select *\nfrom host_event").message(),
              HasSubstr("did you mean host_events"));
  EXPECT_THAT(Refused("select *\nfrm host_events").message(), HasSubstr("line 2"));
  EXPECT_THAT(Refused("select ?").message(), HasSubstr("has no value"));
  EXPECT_THAT(Refused("select \"nosuch\" from steps").message(), HasSubstr("no such column"));
}

TEST_F(DatabaseTest, TimeAndMemoryAreBounded) {
  const Status late = Refused(
      "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n",
      {.time = DurationNs(50'000'000)});
  EXPECT_EQ(late.code(), StatusCode::kEnvironment);
  EXPECT_THAT(late.message(), HasSubstr("--timeout-s"));
  const Status large = Refused(
      "with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000000) select "
      "count(*) from (select i, randomblob(100) r from n order by r)",
      {.memory_bytes = 8 << 20});
  EXPECT_EQ(large.code(), StatusCode::kEnvironment);
  EXPECT_THAT(large.message(), HasSubstr("--memory-mb"));
  const std::atomic<bool> interrupted = true;
  EXPECT_THAT(Refused("with recursive n(i) as (select 1 union all select i + 1 from n) select "
                      "count(*) from n",
                      {.interrupted = &interrupted})
                  .message(),
              HasSubstr("interrupted"));
  EXPECT_THAT(Ask("select 1"), ElementsAre("1"));  // The connection still works.
}

TEST_F(DatabaseTest, OneStatementAtATime) {
  Rows rows;
  const std::string sql = "select 1; -- first\n select 2;  ";
  const Result<std::string_view> rest = database_->RunFirst(sql, {}, rows);
  ASSERT_TRUE(rest.ok());
  EXPECT_EQ(rest.value(), " -- first\n select 2;  ");
  rows.most = 1;
  EXPECT_TRUE(database_->RunFirst("select id from host_events", {}, rows).ok());
}

/// Compares the results of random conditions with those of SQLite alone. LIMIT keeps SQLite from
/// passing the conditions to the table.
RC_GTEST_PROP(DatabaseProperty, PushDownChangesNoAnswer, ()) {
  static QueryTables tables(Store());
  static const std::unique_ptr<Database> database = Database::Open(tables).value();
  const auto pick = [](std::vector<std::string> words) {
    return *rc::gen::elementOf(std::move(words));
  };
  const bool host = *rc::gen::arbitrary<bool>();
  const auto number = [&] {
    return pick({"0", "7", "-1", "null", "'7'", "1e3", "20000.5", "4000000", "41000000", "2.5e7",
                 "60000000", "9223372036854775807", "-9223372036854775808", "1e300", "'x'", "150",
                 "1000", "5000", "9007199254740993"});
  };
  const auto text = [&] {
    return pick({"'aten::mm'", "'aten::add'", "'aten::mul'", "''", "'none such'", "'it''s'", "7",
                 "null", "'gemm'", "x'67656d6d'", "'operator'", "'kernel'", "'memcpy'"});
  };
  const std::vector<std::string> numbers =
      host ? std::vector<std::string>{"id",       "start_ns",    "duration_ns", "thread_id",
                                      "sequence", "correlation", "parent_id"}
           : std::vector<std::string>{"id",          "start_ns", "duration_ns", "stream_id",
                                      "correlation", "bytes",    "launch_id"};
  const std::vector<std::string> texts = host ? std::vector<std::string>{"name", "category", "kind"}
                                              : std::vector<std::string>{"name", "kind", "copy"};
  std::string where;
  const int terms = *rc::gen::inRange(1, 4);
  for (int i = 0; i < terms; ++i) {
    const bool is_text = *rc::gen::arbitrary<bool>();
    const std::string column = pick(is_text ? texts : numbers);
    const auto value = [&] { return is_text ? text() : number(); };
    const std::string comparison =
        pick({" = {}", " in ({}, {}, {})", " > {}", " >= {}", " < {}", " <= {}", " is {}",
              " between {} and {}", " collate nocase = {}", " <> {}", " is not null", " in ({})"});
    where += i == 0 ? "" : pick({" and ", " and ", " or "});
    where += column + fmt::format(fmt::runtime(comparison), value(), value(), value());
  }
  const std::string fast = host ? "host_events" : "gpu_tasks";
  const std::string slow = fmt::format("(select * from {} limit -1)", fast);
  const std::string order =
      pick({" order by id", " order by start_ns, id", " order by name, id",
            " order by name desc, id", " order by track, id", " order by kind, id desc",
            " order by start_ns desc, id desc", " order by id desc"});
  const auto ask = [&](const std::string& table, const std::string& sorted) {
    Rows rows;
    const auto rest = database->RunFirst(
        fmt::format("select id, name from {} where {}{}", table, where, sorted), {}, rows);
    RC_ASSERT(rest.ok());
    return rows.rows;
  };
  const std::string sorted = order.find("track") == std::string::npos ? order
                             : host ? " order by thread_id, start_ns, id"
                                    : " order by stream_id, id";
  RC_LOG() << fast << " where " << where << sorted << "\n";
  RC_ASSERT(ask(fast, sorted) == ask(slow, sorted));
  // Groups by one column, in any order.
  const std::string grouped_by = pick(texts);
  const auto groups = [&](const std::string& table) {
    Rows rows;
    RC_ASSERT(
        database
            ->RunFirst(fmt::format("select {0}, count(*), sum(duration_ns) from {1} where {2} "
                                   "group by {0}",
                                   grouped_by, table, where),
                       {}, rows)
            .ok());
    std::sort(rows.rows.begin(), rows.rows.end());
    return rows.rows;
  };
  RC_ASSERT(groups(fast) == groups(slow));
}

}  // namespace database_test
}  // namespace headroom
