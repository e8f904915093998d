#include "store/trace_store.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/testing/growth.h"

namespace headroom {
namespace trace_store_test {

constexpr auto kOperator = HostEventKind::kOperator;
constexpr auto kCall = HostEventKind::kRuntimeCall;

/// A store under construction; a test sets only the columns that it uses.
struct Builder {
  struct Host {
    std::int64_t start = 0, duration = 0;
    std::string name = {};
    std::uint32_t thread = 0;
    HostEventKind kind = kOperator;
    std::int64_t correlation = kUnknown;
    std::int32_t event_index = kUnknown32;
  };
  struct Task {
    std::int64_t start = 0, duration = 0;
    std::string name = {};
    std::uint32_t stream = 0;
    std::int64_t correlation = kUnknown;
    bool collective = false;
  };

  Builder(std::uint32_t threads, std::uint32_t streams) {
    store.processes.pid.MutablePending(AppendUnknown(store.processes)) = store.strings.Intern("1");
    for (std::uint32_t t = 0; t < threads; ++t) {
      const std::size_t row = AppendUnknown(store.threads);
      store.threads.process.MutablePending(row) = ProcessId(0u);
      store.threads.tid.MutablePending(row) = store.strings.Intern(std::to_string(t));
    }
    for (std::uint32_t s = 0; s < streams; ++s) {
      const std::size_t row = AppendUnknown(store.streams);
      store.streams.device.MutablePending(row) = DeviceId(0u);
      store.streams.number.MutablePending(row) = s;
    }
  }

  Builder& Add(const Host& event) {
    auto& rows = store.host_events;
    const std::size_t row = AppendUnknown(rows);
    rows.start.MutablePending(row) = TimeNs(event.start);
    rows.duration.MutablePending(row) = DurationNs(event.duration);
    rows.name.MutablePending(row) = store.strings.Intern(event.name);
    rows.category.MutablePending(row) = StringId(0u);
    rows.thread.MutablePending(row) = ThreadId(event.thread);
    rows.kind.MutablePending(row) = event.kind;
    rows.correlation.MutablePending(row) = event.correlation;
    rows.event_index.MutablePending(row) = event.event_index;
    return *this;
  }

  Builder& Add(const Task& task) {
    auto& rows = store.gpu_tasks;
    const std::size_t row = AppendUnknown(rows);
    if (task.collective) {
      auto& collectives = store.collectives;
      const std::size_t collective = AppendUnknown(collectives);
      collectives.task.MutablePending(collective) = GpuTaskId(row);
      collectives.name.MutablePending(collective) = store.strings.Intern(task.name);
    }
    rows.start.MutablePending(row) = TimeNs(task.start);
    rows.duration.MutablePending(row) = DurationNs(task.duration);
    rows.name.MutablePending(row) = store.strings.Intern(task.name);
    rows.stream.MutablePending(row) = StreamId(task.stream);
    rows.correlation.MutablePending(row) = task.correlation;
    return *this;
  }

  TraceStore& Freeze(int workers = 1) {
    store.Freeze(workers);
    return store;
  }

  TraceStore store;
};

std::string Name(const TraceStore& store, HostEventId id) {
  return id.valid() ? std::string(store.Text(store.host_events.name[id.index()])) : "-";
}

/// Returns "child<parent" for every host event, in order.
std::string Tree(const TraceStore& store) {
  std::string out;
  for (std::size_t row = 0; row < store.host_events.rows(); ++row) {
    out += fmt::format("{}{}<{}", row == 0 ? "" : " ", Name(store, HostEventId(row)),
                       Name(store, store.host_events.parent[row]));
  }
  return out;
}

/// Returns "task<launch" for every task, in order.
std::string Launches(const TraceStore& store) {
  std::string out;
  for (std::size_t row = 0; row < store.gpu_tasks.rows(); ++row) {
    out += fmt::format("{}{}<{}", row == 0 ? "" : " ", store.Text(store.gpu_tasks.name[row]),
                       Name(store, store.gpu_tasks.launch[row]));
  }
  return out;
}

struct TreeCase {
  const char* name;
  std::vector<Builder::Host> events;
  const char* tree;
  std::int64_t overlapping = 0;
};

const TreeCase kTreeCases[] = {
    {"nested and side by side",
     {{0, 10, "a"}, {0, 4, "b"}, {1, 2, "c"}, {5, 5, "d"}},
     "a<- b<a c<b d<a"},
    {"read in any order", {{5, 5, "d"}, {1, 2, "c"}, {0, 4, "b"}, {0, 10, "a"}}, "a<- b<a c<b d<a"},
    {"equal spans of one kind nest as read", {{0, 4, "a"}, {0, 4, "b"}}, "a<- b<a"},
    {"equal spans of several kinds nest by kind",
     {{0, 4, "overhead", 0, HostEventKind::kOverhead},
      {0, 4, "call", 0, kCall},
      {0, 4, "op"},
      {0, 4, "range", 0, HostEventKind::kAnnotation},
      {0, 4, "frame", 0, HostEventKind::kPythonFrame},
      {0, 4, "second op"}},
     "frame<- range<frame op<range second op<op call<second op overhead<call"},
    {"touching spans are no parents", {{0, 4, "a"}, {4, 4, "b"}}, "a<- b<-"},
    {"an empty span at the end of its parent", {{0, 4, "a"}, {4, 0, "b"}}, "a<- b<a"},
    {"an empty span at the start of the next one",
     {{0, 4, "a"}, {4, 4, "b"}, {4, 0, "c"}},
     "a<- b<- c<b"},
    {"overlapping spans are siblings", {{0, 10, "a"}, {5, 10, "b"}}, "a<- b<-", 1},
    {"inside the later of two that overlap",
     {{0, 10, "a"}, {5, 10, "b"}, {6, 2, "c"}},
     "a<- b<- c<b",
     1},
    {"overlapping within a parent",
     {{0, 90, "p"}, {0, 10, "a"}, {5, 10, "b"}, {12, 2, "c"}},
     "p<- a<p b<p c<b",
     1},
    {"past the overlap, inside the first no more",
     {{0, 10, "a"}, {5, 10, "b"}, {11, 9, "c"}},
     "a<- b<- c<-",
     2},
    {"whole microseconds: two may be off",
     {{0, 90'000, "p"}, {0, 10'000, "a"}, {3'000, 9'000, "b"}, {4'000, 1'000, "c"}},
     "p<- a<p b<a c<b"},
    {"whole microseconds: three are an overlap",
     {{0, 90'000, "p"}, {0, 10'000, "a"}, {3'000, 10'000, "b"}},
     "p<- a<p b<p",
     1},
    {"whole microseconds: what is off does not add up",
     {{0, 10'000, "a"}, {1'000, 11'000, "b"}, {2'000, 12'000, "c"}},
     "a<- b<a c<-",
     1},
    {"whole microseconds: the next one may seem to begin early",
     {{0, 10'000, "a"}, {9'000, 20'000, "b"}},
     "a<- b<-"},
    {"whole microseconds: the next one begins where the parent ends, not its child",
     {{0, 10'000, "a"}, {3'000, 9'000, "b"}, {10'000, 1'000, "c"}},
     "a<- b<a c<-"},
    {"only starts are whole: one may be off",
     {{0, 10'500, "a"}, {1'000, 10'500, "b"}, {2'000, 9'501, "c"}},
     "a<- b<a c<-",
     1},
    {"a microsecond is an overlap where stamps are finer",
     {{0, 10'000, "a"}, {3'000, 8'000, "b"}, {20'001, 1'001, "c"}},
     "a<- b<- c<-",
     1},
    {"threads are apart", {{0, 10, "a", 1}, {1, 2, "b", 0}}, "b<- a<-"},
};

TEST(TraceStoreTest, TheParentIsTheInnermostSpanThatContains) {
  for (const TreeCase& c : kTreeCases) {
    Builder builder(2, 0);
    for (const auto& event : c.events) builder.Add(event);
    TraceStore& store = builder.Freeze();
    EXPECT_EQ(Tree(store), c.tree) << c.name;
    EXPECT_EQ(store.log.Count(ImportIssue::kOverlapping), c.overlapping) << c.name;
  }
}

RC_GTEST_PROP(TraceStoreProperty, ParentsAgreeWithASearchOfAllRowsBefore, ()) {
  const auto spans = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 20), rc::gen::inRange(0, 12)));
  const int step = *rc::gen::element(1, 500, 1000);
  Builder builder(1, 0);
  for (const auto& [start, duration] : spans)
    builder.Add(Builder::Host{start * step, duration * step, "x"});
  TraceStore& store = builder.Freeze(2);
  const DurationNs tolerance = store.HostTolerance();
  if (step == 1000) RC_ASSERT(tolerance == DurationNs(2000));
  std::vector<TimeNs> ends(spans.size());  // Ends as if each span were cut at its parent's end.
  for (std::size_t row = 0; row < spans.size(); ++row) {
    const TimeNs start = store.host_events.start[row];
    const TimeNs end = store.HostEnd(HostEventId(row));
    HostEventId expected;
    for (std::size_t before = 0; before < row; ++before) {
      const bool open = ends[before] > start || (ends[before] == start && end == start);
      if (open && ends[before] + tolerance >= end) expected = HostEventId(before);
    }
    ends[row] = expected.valid() ? std::min(end, ends[expected.index()]) : end;
    RC_ASSERT(store.host_events.parent[row] == expected);
  }
}

struct LaunchCase {
  const char* name;
  std::vector<Builder::Host> calls;
  std::vector<Builder::Task> tasks;
  const char* launches;
};

const LaunchCase kLaunchCases[] = {
    {"by correlation, in any order",
     {{0, 1, "l1", 0, kCall, 7}, {2, 1, "l2", 0, kCall, 5}},
     {{10, 1, "k1", 0, 5}, {20, 1, "k2", 0, 7}},
     "k1<l2 k2<l1"},
    {"all tasks of a graph launch",
     {{0, 1, "graph", 0, kCall, 7}},
     {{10, 1, "k1", 0, 7}, {20, 1, "k2", 0, 7}, {20, 1, "k3", 1, 7}},
     "k1<graph k2<graph k3<graph"},
    {"orphans", {{0, 1, "l1", 0, kCall, 7}}, {{10, 1, "k1", 0, 8}, {20, 1, "k2"}}, "k1<- k2<-"},
    {"operators do not launch", {{0, 1, "op", 0, kOperator, 7}}, {{10, 1, "k1", 0, 7}}, "k1<-"},
    {"the driver call inside a runtime call is not the launch",
     {{0, 9, "runtime", 0, kCall, 7}, {1, 5, "driver", 0, HostEventKind::kDriverCall, 7}},
     {{3, 1, "k1", 0, 7}},
     "k1<runtime"},
    {"an id used again: the last call that began before the task",
     {{0, 1, "l1", 0, kCall, 7}, {100, 1, "l2", 0, kCall, 7}, {200, 1, "l3", 0, kCall, 7}},
     {{50, 1, "k1", 0, 7}, {100, 1, "k2", 0, 7}, {150, 1, "k3", 0, 7}, {250, 1, "k4", 0, 7}},
     "k1<l1 k2<l2 k3<l2 k4<l3"},
    {"an id used on two threads at once",
     {{0, 10, "l1", 0, kCall, 7}, {5, 10, "l2", 1, kCall, 7}},
     {{20, 1, "k1", 0, 7}},
     "k1<l2"},
    {"calls that began after the task: the first",
     {{100, 1, "l1", 0, kCall, 7}, {200, 1, "l2", 0, kCall, 7}},
     {{50, 1, "k1", 0, 7}},
     "k1<l1"},
};

TEST(TraceStoreTest, TheLaunchOfATaskIsJoinedByCorrelation) {
  for (const LaunchCase& c : kLaunchCases) {
    Builder builder(2, 2);
    for (const auto& call : c.calls) builder.Add(call);
    for (const auto& task : c.tasks) builder.Add(task);
    EXPECT_EQ(Launches(builder.Freeze()), c.launches) << c.name;
  }
}

TEST(TraceStoreTest, ManyCallsAndTasksWithOneIdTakeNoQuadraticTime) {
  ExpectNoQuadraticTime(50'000, [](int n) {
    auto builder = std::make_shared<Builder>(1, 1);
    for (int i = 0; i < n; ++i) builder->Add(Builder::Host{i * 10, 1, "l", 0, kCall, 0});
    for (int i = 0; i < n; ++i) builder->Add(Builder::Task{i * 10 + 5, 1, "k", 0, 0});
    return [builder, n] {
      const TraceStore& store = builder->Freeze();
      for (int i = 0; i < n; i += 1000)
        EXPECT_EQ(store.gpu_tasks.launch[i].index(), static_cast<std::uint32_t>(i));
    };
  });
}

TEST(TraceStoreTest, ManySpansThatOverlapTakeNoQuadraticTime) {
  for (const int step : {1, 3000}) {  // The factor 3000 makes all timestamps whole microseconds.
    ExpectNoQuadraticTime(75'000, [step](int n) {
      auto builder = std::make_shared<Builder>(1, 0);
      const int duration = 1'000'000'000 + step % 1000;
      for (int i = 0; i < n; ++i) builder->Add(Builder::Host{i * step, duration, "x"});
      return [builder, n] {
        EXPECT_EQ(builder->Freeze().log.Count(ImportIssue::kOverlapping), n - 1);
      };
    });
  }
}

TEST(TraceStoreTest, TasksAreSortedByStartAndFoundByStream) {
  Builder builder(0, 3);
  builder.Add(Builder::Task{30, 1, "c", 0})
      .Add(Builder::Task{10, 1, "b", 1})
      .Add(Builder::Task{10, 1, "a", 0});
  TraceStore& store = builder.Freeze();
  EXPECT_EQ(Launches(store), "a<- b<- c<-");
  ASSERT_EQ(store.TasksOf(StreamId(0u)).size(), 2u);
  EXPECT_EQ(store.TasksOf(StreamId(0u))[1].index(), 2u);
  EXPECT_EQ(store.TasksOf(StreamId(1u)).size(), 1u);
  EXPECT_EQ(store.TasksOf(StreamId(2u)).size(), 0u);
}

TEST(TraceStoreTest, HostEventsAreFoundByThread) {
  Builder builder(3, 0);
  builder.Add(Builder::Host{5, 1, "b", 2})
      .Add(Builder::Host{1, 1, "a", 2})
      .Add(Builder::Host{9, 1, "c", 0});
  TraceStore& store = builder.Freeze();
  EXPECT_EQ(Tree(store), "c<- a<- b<-");
  EXPECT_EQ(store.HostEventsOf(ThreadId(0u)).last, 1u);
  EXPECT_EQ(store.HostEventsOf(ThreadId(1u)).first, store.HostEventsOf(ThreadId(1u)).last);
  EXPECT_EQ(store.HostEventsOf(ThreadId(2u)).first, 1u);
  EXPECT_EQ(store.HostEventsOf(ThreadId(2u)).last, 3u);
}

struct CopyCase {
  const char* name;
  std::vector<Builder::Host> events;
  std::vector<Builder::Task> tasks;
  std::int64_t dropped;
};

const CopyCase kCopyCases[] = {
    {"a call with the same id", {{0, 1, "l", 0, kCall, 7}, {0, 1, "l", 0, kCall, 7}}, {}, 1},
    {"three of them",
     {{0, 1, "l", 0, kCall, 7}, {0, 1, "l", 0, kCall, 7}, {0, 1, "l", 0, kCall, 7}},
     {},
     2},
    {"an operator with the same index",
     {{0, 1, "o", 0, kOperator, kUnknown, 3}, {0, 1, "o", 0, kOperator, kUnknown, 3}},
     {},
     1},
    {"copies of two nested spans of one length",
     {{0, 1, "a", 0, kOperator, kUnknown, 3},
      {0, 1, "b", 0, kOperator, kUnknown, 4},
      {0, 1, "a", 0, kOperator, kUnknown, 3},
      {0, 1, "b", 0, kOperator, kUnknown, 4}},
     {},
     2},
    {"without any id, both are kept", {{0, 1, "o"}, {0, 1, "o"}}, {}, 0},
    {"another id", {{0, 1, "l", 0, kCall, 7}, {0, 1, "l", 0, kCall, 8}}, {}, 0},
    {"another length", {{0, 1, "l", 0, kCall, 7}, {0, 2, "l", 0, kCall, 7}}, {}, 0},
    {"another thread", {{0, 1, "l", 0, kCall, 7}, {0, 1, "l", 1, kCall, 7}}, {}, 0},
    {"a task", {}, {{0, 1, "k", 0, 7}, {0, 1, "k", 0, 7}}, 1},
    {"copies of tasks on two streams",
     {},
     {{0, 1, "k", 0, 7}, {0, 1, "k", 1, 7}, {0, 1, "k", 0, 7}, {0, 1, "k", 1, 7}},
     2},
    {"nodes of a graph shorter than the clock's step",
     {},
     {{0, 0, "k", 0, 7}, {0, 0, "k", 0, 7}},
     0},
    {"tasks without correlation", {}, {{0, 1, "k"}, {0, 1, "k"}}, 0},
    {"a task on another stream", {}, {{0, 1, "k", 0, 7}, {0, 1, "k", 1, 7}}, 0},
};

TEST(TraceStoreTest, CopiesOfOneRecordAreDroppedAndCounted) {
  for (const CopyCase& c : kCopyCases) {
    Builder builder(2, 2);
    for (const auto& event : c.events) builder.Add(event);
    for (const auto& task : c.tasks) builder.Add(task);
    // A last event on every track shows that rows after a copy are still found.
    builder.Add(Builder::Host{100, 1, "last", 0}).Add(Builder::Host{100, 1, "last", 1});
    builder.Add(Builder::Task{100, 1, "last", 1});
    TraceStore& store = builder.Freeze();
    EXPECT_EQ(store.log.Count(ImportIssue::kDuplicateEvent), c.dropped) << c.name;
    const std::size_t rows =
        c.events.size() + c.tasks.size() + 3 - static_cast<std::size_t>(c.dropped);
    EXPECT_EQ(store.host_events.rows() + store.gpu_tasks.rows(), rows) << c.name;
    for (const ThreadId thread : {ThreadId(0u), ThreadId(1u)}) {
      EXPECT_EQ(Name(store, HostEventId(store.HostEventsOf(thread).last - 1)), "last") << c.name;
    }
    EXPECT_EQ(store.gpu_tasks.start[store.TasksOf(StreamId(1u)).back().index()].ns(), 100)
        << c.name;
  }
}

TEST(TraceStoreTest, CollectivesFollowTheirTask) {
  Builder builder(0, 2);
  builder.Add(Builder::Task{50, 1, "b", 0, 7, true}).Add(Builder::Task{0, 1, "a", 0, 6});
  builder.Add(Builder::Task{50, 1, "b", 0, 7, true}).Add(Builder::Task{90, 1, "c", 1, 8, true});
  TraceStore& store = builder.Freeze();
  ASSERT_EQ(store.collectives.rows(), 2u);
  EXPECT_EQ(store.collectives.task[0].index(), 1u);
  EXPECT_EQ(store.collectives.task[1].index(), 2u);
  EXPECT_EQ(store.Text(store.collectives.name[1]), "c");
}

TEST(TraceStoreTest, ACollectiveOfADroppedCopyGoesWithIt) {
  Builder builder(0, 1);
  builder.Add(Builder::Task{50, 1, "b", 0, 7}).Add(Builder::Task{50, 1, "b", 0, 7, true});
  EXPECT_EQ(builder.Freeze().collectives.rows(), 0u);
}

TEST(TraceStoreTest, StepsAreTheAnnotatedOnesInOrder) {
  Builder builder(2, 0);
  builder.Add(Builder::Host{50, 10, "ProfilerStep#2", 0, HostEventKind::kAnnotation});
  builder.Add(Builder::Host{10, 10, "ProfilerStep#1", 1, HostEventKind::kAnnotation});
  builder.Add(Builder::Host{90, 10, "ProfilerStep#3", 0, HostEventKind::kGpuAnnotation});
  builder.Add(Builder::Host{95, 10, "ProfilerStep#x", 0, HostEventKind::kAnnotation});
  TraceStore& store = builder.Freeze();
  ASSERT_EQ(store.steps.rows(), 3u);
  EXPECT_EQ(store.steps.index[0], 1);
  EXPECT_EQ(store.steps.start[0].ns(), 10);
  EXPECT_EQ(store.steps.thread[0].index(), 1u);
  EXPECT_EQ(Name(store, store.steps.event[0]), "ProfilerStep#1");
  EXPECT_EQ(store.steps.index[1], 2);
  EXPECT_EQ(store.steps.index[2], -1) << "a number that cannot be read";
}

TEST(TraceStoreTest, AStepThatGotNoBatchIsNone) {
  Builder builder(2, 0);
  builder.Add(Builder::Host{10, 10, "ProfilerStep#1", 0, HostEventKind::kAnnotation});
  builder.Add(Builder::Host{20, 5, "ProfilerStep#2", 0, HostEventKind::kAnnotation});
  TraceStore& store = builder.store;
  for (const auto& [time, thread] : {std::pair{15, 1U}, std::pair{24, 0U}}) {
    const std::size_t row = AppendUnknown(store.instants);
    store.instants.time.MutablePending(row) = TimeNs(time);
    store.instants.name.MutablePending(row) = store.strings.Intern("step.empty");
    store.instants.thread.MutablePending(row) = ThreadId(thread);
  }
  builder.Freeze();
  ASSERT_EQ(store.steps.rows(), 1u);
  EXPECT_EQ(store.steps.index[0], 1) << "the mark inside it is another thread's";
}

TEST(TraceStoreTest, ReplayedEventsLieBehindAllOthers) {
  Builder builder(1, 1);
  builder.Add(Builder::Host{10, 10, "cudaGraphLaunch", 0, kCall, 5});
  builder.Add(Builder::Task{15, 3, "a", 0, 5});
  builder.Add(Builder::Task{18, 3, "b", 0, 5});
  TraceStore& store = builder.Freeze();
  EXPECT_EQ(store.RanBy(GpuTaskId(0u)), HostEventId(0u));

  TraceStore::ReplayedEvents replayed;
  for (const char* name : {"outer", "inner"}) {
    const std::size_t row = AppendUnknown(replayed.events);
    replayed.events.name.MutablePending(row) = store.strings.Intern(name);
    replayed.events.start.MutablePending(row) = TimeNs(10);
    replayed.events.correlation.MutablePending(row) = 5;
  }
  replayed.parents = {HostEventId::None(), HostEventId(0u)};
  replayed.ran = {HostEventId(1u), HostEventId::None()};
  store.AddReplayed(std::move(replayed));

  EXPECT_EQ(store.host_events.rows(), 3u);
  EXPECT_EQ(store.RanBy(GpuTaskId(0u)), HostEventId(2u));
  EXPECT_EQ(store.RanBy(GpuTaskId(1u)), HostEventId(0u))
      << "its launch, as the capture does not tell";
  EXPECT_EQ(store.Text(store.host_events.name[2]), "inner");
  EXPECT_EQ(store.host_events.parent[2], HostEventId(1u));
  EXPECT_FALSE(store.host_events.parent[1].valid());
  EXPECT_EQ(store.host_events.correlation[2], kUnknown) << "or it would be a launch";
  const TraceStore::RowRange rows = store.HostEventsOf(store.replay_thread());
  EXPECT_EQ(rows.first, 1u);
  EXPECT_EQ(rows.last, 3u);
  EXPECT_EQ(store.HostEventsOf(ThreadId(0u)).last, 1u);
}

TEST(TraceStoreTest, AnEmptyStoreFreezes) {
  Builder builder(0, 0);
  EXPECT_EQ(builder.Freeze(8).host_events.rows(), 0u);
}

TEST(TraceStoreTest, TheResultDoesNotDependOnWorkers) {
  const auto build = [](int workers) {
    Builder builder(3, 2);
    for (std::int64_t i = 0; i < 70'000; ++i) {
      builder.Add(Builder::Host{i * 7919 % 100'000, i % 50, std::to_string(i % 100),
                                static_cast<std::uint32_t>(i % 3), kCall, i});
      builder.Add(
          Builder::Task{i * 104'729 % 100'000, 3, "k", static_cast<std::uint32_t>(i % 2), i});
    }
    TraceStore& store = builder.Freeze(workers);
    return Tree(store) + Launches(store);
  };
  EXPECT_TRUE(build(1) == build(8));
}

}  // namespace trace_store_test
}  // namespace headroom
