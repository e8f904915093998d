#include "ingest/chakra/chakra_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/chakra_fields.h"
#include "base/protobuf_writer.h"
#include "ingest/chakra/node_stream.h"
#include "ingest/chakra/schedule.h"
#include "ingest/input/memory_source.h"

namespace headroom::chakra {
namespace chakra_reader_test {

std::string BehindItsLength(const std::string& message) {
  char length[kMaxVarintBytes];
  return std::string(length, PutVarint(length, message.size())) + message;
}

/// Builds a message, attribute by attribute.
class MessageMaker {
 public:
  explicit MessageMaker(std::uint32_t attribute_field) : attribute_field_(attribute_field) {}
  template <typename Field>
  MessageMaker& Number(Field field, std::uint64_t value) {
    Writer().Varint(field, value);
    return *this;
  }
  template <typename Field>
  MessageMaker& Bytes(Field field, std::string_view value) {
    Writer().Bytes(field, value);
    return *this;
  }
  MessageMaker& Integer(std::string_view name, std::int64_t value) {
    return Attribute(name, [&] { Writer().Varint(AttrField::kInt64, value); });
  }
  MessageMaker& Bool(std::string_view name, bool value) {
    return Attribute(name, [&] { Writer().Varint(AttrField::kBool, value); });
  }
  MessageMaker& Text(std::string_view name, std::string_view value) {
    return Attribute(name, [&] { Writer().Bytes(AttrField::kString, value); });
  }
  MessageMaker& Integers(std::string_view name, const std::vector<std::int64_t>& values) {
    return Attribute(name, [&] {
      Writer().Message(AttrField::kInt64List, [&] {
        for (const std::int64_t value : values) Writer().Varint(ListField::kValues, value);
      });
    });
  }
  MessageMaker& Texts(std::string_view name, const std::vector<std::string_view>& values) {
    return Attribute(name, [&] {
      Writer().Message(AttrField::kStringList, [&] {
        for (const std::string_view value : values) Writer().Bytes(ListField::kValues, value);
      });
    });
  }
  const std::string& text() const { return text_; }
  std::string message() const { return BehindItsLength(text_); }

 private:
  ProtobufWriter Writer() { return ProtobufWriter(text_); }
  template <typename Fill>
  MessageMaker& Attribute(std::string_view name, Fill&& fill) {
    Writer().Message(attribute_field_, [&] {
      Writer().Bytes(AttrField::kName, name);
      fill();
    });
    return *this;
  }

  std::uint32_t attribute_field_;
  std::string text_;
};

MessageMaker MadeMetadata(std::string_view schema) {
  return MessageMaker(static_cast<std::uint32_t>(MetadataField::kAttr)).Text("schema", schema);
}

/// A node as in a converted PyTorch execution trace: durations and dependencies, no times.
MessageMaker MadeNode(std::uint64_t id, std::string_view name, NodeType type, std::uint64_t micros,
                      const std::vector<std::uint64_t>& data_deps, bool on_cpu) {
  MessageMaker node(static_cast<std::uint32_t>(NodeField::kAttr));
  node.Number(NodeField::kId, id).Bytes(NodeField::kName, name);
  node.Number(NodeField::kType, static_cast<std::uint64_t>(type));
  for (const std::uint64_t dep : data_deps) node.Number(NodeField::kDataDeps, dep);
  node.Number(NodeField::kDurationMicros, micros).Bool("is_cpu_op", on_cpu);
  return node;
}
MessageMaker HostNode(std::uint64_t id, std::string_view name, std::uint64_t micros,
                      const std::vector<std::uint64_t>& deps = {}) {
  return MadeNode(id, name, NodeType::kComp, micros, deps, true).Integer("tid", 1);
}
MessageMaker GpuNode(std::uint64_t id, std::string_view name, std::uint64_t micros,
                     const std::vector<std::uint64_t>& deps = {}) {
  return MadeNode(id, name, NodeType::kComp, micros, deps, false).Integer("stream", 7);
}

std::string Converted(const std::vector<std::string>& nodes) {
  std::string bytes = MadeMetadata("1.1.1-chakra.0.0.4").message();
  for (const std::string& node : nodes) bytes += node;
  return bytes;
}

std::unique_ptr<TraceStore> ReadBytes(std::string bytes, std::size_t chunk_bytes = 4096,
                                      std::int64_t max_node_bytes = 1 << 20) {
  EXPECT_TRUE(LooksLikeTrace(bytes));
  MemoryByteSource source(std::move(bytes));
  ReadOptions options;
  options.chunk_bytes = chunk_bytes;
  options.max_node_bytes = max_node_bytes;
  auto store = std::make_unique<TraceStore>();
  EXPECT_TRUE(Read(source, "test", options, *store).ok());
  return store;
}

std::int64_t EndOfTask(const TraceStore& store, std::string_view name) {
  for (std::size_t row = 0; row < store.gpu_tasks.rows(); ++row) {
    if (store.Text(store.gpu_tasks.name[row]) == name) return store.TaskEnd(GpuTaskId(row)).ns();
  }
  ADD_FAILURE() << "no task " << name;
  return -1;
}

TEST(ChakraReader, WorkWithoutTimesRunsAsItsDependenciesAllow) {
  const auto store = ReadBytes(
      Converted({HostNode(2, "aten::mm", 10).message(), GpuNode(3, "gemm", 50, {2}).message(),
                 HostNode(4, "aten::relu", 5, {2}).message(), GpuNode(5, "relu", 20, {4}).message(),
                 HostNode(6, "aten::view", 5, {4}).message()}));
  EXPECT_EQ(EndOfTask(*store, "gemm"), 60'000);
  // The launch is at 15 us, but the stream is busy until 60 us.
  EXPECT_EQ(EndOfTask(*store, "relu"), 80'000);
  EXPECT_EQ(store->metadata.events, 5);
  EXPECT_EQ(store->log.Count(ImportIssue::kNotCollected), 1) << "start times, calls";
  const HostEventId launch = store->gpu_tasks.launch[1];
  ASSERT_TRUE(launch.valid());
  EXPECT_EQ(store->host_events.start[launch.index()], TimeNs(14'999));
  const HostEventId op = store->host_events.parent[launch.index()];
  ASSERT_TRUE(op.valid());
  EXPECT_EQ(store->Text(store->host_events.name[op.index()]), "aten::relu");
}

TEST(ChakraReader, ACallerIsAroundWhatItCalls) {
  const auto store = ReadBytes(
      Converted({HostNode(1, "aten::linear", 3).message(),
                 HostNode(2, "aten::t", 4, {1}).Number(NodeField::kCtrlDeps, 1).message(),
                 HostNode(3, "aten::addmm", 6, {2}).Number(NodeField::kCtrlDeps, 1).message(),
                 HostNode(9, "aten::relu", 1, {3}).message()}));
  ASSERT_EQ(store->host_events.rows(), 4u);
  EXPECT_EQ(store->Text(store->host_events.name[0]), "aten::linear");
  EXPECT_EQ(store->host_events.duration[0], DurationNs(13'000));
  EXPECT_EQ(store->host_events.parent[2], HostEventId(0u));
  EXPECT_FALSE(store->host_events.parent[3].valid());
}

TEST(ChakraReader, TimesOfTheFileAreKept) {
  const auto store = ReadBytes(
      Converted({GpuNode(1, "a", 5).Number(NodeField::kStartTimeMicros, 100).message(),
                 GpuNode(2, "b", 5, {1}).Number(NodeField::kStartTimeMicros, 300).message()}));
  EXPECT_EQ(store->gpu_tasks.start[1], TimeNs(300'000));
  EXPECT_EQ(store->log.Count(ImportIssue::kNotCollected), 0);
}

TEST(ChakraReader, CollectivesHaveTheirSizeAndGroup) {
  const auto store = ReadBytes(Converted(
      {MadeNode(1, kGroupsNode, NodeType::kMetadata, 0, {}, true)
           .Bytes(NodeField::kInputs,
                  MessageMaker(0)
                      .Bytes(IoField::kValues, R"(['[{"pg_name": "0", "ranks": [0, 1, 2, 3]}]'])")
                      .text())
           .message(),
       MadeNode(2, "layer_ALLGATHER", NodeType::kCommColl, 30, {}, false)
           .Integer("comm_type", 2)
           .Integer("comm_size", 1000)
           .Text("pg_name", "0")
           .message(),
       MadeNode(3, "ncclDevKernel_SendRecv", NodeType::kCommSend, 30, {}, false)
           .Integer("comm_dst", 3)
           .Integer("comm_size", 64)
           .message()}));
  ASSERT_EQ(store->collectives.rows(), 2u);
  EXPECT_EQ(store->Text(store->collectives.name[0]), "allgather");
  EXPECT_EQ(store->collectives.in_elements[0], 1000);
  EXPECT_EQ(store->collectives.out_elements[0], 4000);
  EXPECT_EQ(store->collectives.group_size[0], 4);
  const std::size_t task = store->collectives.task[0].index();
  EXPECT_EQ(store->Text(store->gpu_tasks.name[task]), "COMM_COLL_NODE layer_ALLGATHER");
  EXPECT_EQ(store->Arg(store->gpu_tasks.args[task], "Process Group Ranks"), R"("[0, 1, 2, 3]")");
  EXPECT_EQ(store->Text(store->collectives.name[1]), "send");
  EXPECT_EQ(store->collectives.out_elements[1], kUnknown);
}

TEST(ChakraReader, ShapesAndTypesAreThoseOfTheProfiler) {
  MessageMaker node = HostNode(1, "aten::mm", 3);
  node.Bytes(NodeField::kInputs,
             MessageMaker(0)
                 .Bytes(IoField::kShapes, "[[8, 4], [4, 2], []]")
                 .Bytes(IoField::kTypes, "['Tensor(float)', 'Tensor(c10::Half)', 'Int']")
                 .text());
  const auto store = ReadBytes(Converted({node.message()}));
  const StringId args = store->host_events.args[0];
  EXPECT_EQ(store->Arg(args, "Input Dims"), "[[8, 4], [4, 2], []]");
  EXPECT_EQ(store->Arg(args, "Input type"), R"(["float","c10::Half","Scalar"])");
}

TEST(ChakraReader, PiecesOfAnOperatorAreOneCallOfItsName) {
  const auto piece = [](std::uint64_t id, std::string_view name, std::int64_t call) {
    return HostNode(id, name, 3)
        .Integer("rf_id", call)
        .Bytes(NodeField::kInputs, MessageMaker(0).Bytes(IoField::kShapes, "[[8, 4]]").text())
        .message();
  };
  const auto store = ReadBytes(Converted(
      {piece(1, "aten::bmm(0)", 9), GpuNode(2, "small", 5, {1}).message(),
       piece(3, "aten::bmm(1)", 9), GpuNode(4, "large", 50, {3}).message(),
       piece(5, "aten::bmm(12)", 10), HostNode(6, "layer(3)", 3).Integer("scope", 7).message(),
       HostNode(7, "aten::odd()", 3).message(), HostNode(8, "(4)", 3).message()}));
  std::vector<std::string> rows;
  for (std::size_t row = 0; row < store->host_events.rows(); ++row) {
    const std::string name(store->Text(store->host_events.name[row]));
    const bool has_shapes = !store->Arg(store->host_events.args[row], "Input Dims").empty();
    if (name != "(launch)") rows.push_back(name + (has_shapes ? " with shapes" : ""));
  }
  std::sort(rows.begin(), rows.end());
  EXPECT_EQ(rows, (std::vector<std::string>{"(4)", "aten::bmm", "aten::bmm with shapes",
                                            "aten::bmm with shapes", "aten::odd()", "layer(3)"}));
  // The piece that launches the large kernel has the shapes of its call.
  for (std::size_t row = 0; row < store->gpu_tasks.rows(); ++row) {
    const HostEventId call = store->gpu_tasks.launch[row];
    const StringId args = store->host_events.args[store->host_events.parent[call.index()].index()];
    EXPECT_EQ(!store->Arg(args, "Input Dims").empty(),
              store->Text(store->gpu_tasks.name[row]) == "large");
  }
}

TEST(ChakraReader, TextsThatAreNoShapesAreNone) {
  for (const std::string_view shapes : {"[[8, 4", "[8] 4]", "[]", "[\"x\"]", "[1}"}) {
    MessageMaker node = HostNode(1, "aten::mm", 3);
    node.Bytes(NodeField::kInputs, MessageMaker(0).Bytes(IoField::kShapes, shapes).text());
    const auto store = ReadBytes(Converted({node.message()}));
    EXPECT_FALSE(store->host_events.args[0].valid()) << shapes;
  }
}

TEST(ChakraReader, ACircleOfDependenciesGivesNoTimes) {
  const auto store = ReadBytes(
      Converted({GpuNode(1, "a", 5).message(), GpuNode(2, "b", 5, {3}).message(),
                 GpuNode(3, "c", 5, {2}).message(), GpuNode(4, "itself", 5, {4}).message(),
                 GpuNode(5, "behind", 5, {3}).message()}));
  EXPECT_EQ(store->gpu_tasks.rows(), 1u);
  EXPECT_EQ(store->log.Count(ImportIssue::kBadTime), 4);
  for (const ImportLogRow& row : store->log.rows()) {
    if (row.issue == ImportIssue::kBadTime) {
      EXPECT_GT(row.offset, 0);
    }
  }
}

TEST(ChakraReader, WhatIsNotInTheFileIsCountedOnce) {
  const auto store = ReadBytes(
      Converted({GpuNode(1, "a", 5, {77}).message(), GpuNode(2, "b", 5, {77, 78}).message()}));
  EXPECT_EQ(store->gpu_tasks.rows(), 2u);
  EXPECT_EQ(store->log.Count(ImportIssue::kLostEvent), 2);
}

TEST(ChakraReader, AnIdStandsForItsFirstNode) {
  const auto store =
      ReadBytes(Converted({GpuNode(1, "a", 5).message(), GpuNode(1, "copy", 5).message()}));
  EXPECT_EQ(store->gpu_tasks.rows(), 1u);
  EXPECT_EQ(store->log.Count(ImportIssue::kDuplicateEvent), 1);
}

TEST(ChakraReader, HostileNumbersAreNoTimes) {
  const auto store = ReadBytes(Converted({GpuNode(1, "long", UINT64_MAX).message(),
                                          GpuNode(2, "end", INT64_MAX / 4000, {1}).message(),
                                          GpuNode(3, "beyond", INT64_MAX / 4000, {2}).message()}));
  EXPECT_EQ(store->log.Count(ImportIssue::kBadDuration), 1);
  EXPECT_EQ(store->log.Count(ImportIssue::kBadTime), 1);
  EXPECT_EQ(store->gpu_tasks.rows(), 2u);
}

TEST(ChakraReader, ADamagedNodeIsLostAlone) {
  std::string damaged = GpuNode(2, "damaged", 5).text();
  damaged[2] = '\x0b';  // The wire type of a group, which the format does not use.
  const auto store = ReadBytes(Converted(
      {GpuNode(1, "a", 5).message(), BehindItsLength(damaged), GpuNode(3, "c", 5).message()}));
  EXPECT_EQ(store->gpu_tasks.rows(), 2u);
  EXPECT_EQ(store->log.Count(ImportIssue::kLostEvent), 1);
  EXPECT_EQ(store->metadata.events, 3);
}

TEST(ChakraReader, BehindAWrongLengthReadingGoesOn) {
  std::string bytes = Converted({GpuNode(1, "a", 5).message()});
  std::string wrong = GpuNode(2, "b", 5).message();
  wrong[0] = static_cast<char>(wrong[0] + 3);
  bytes += wrong + GpuNode(3, "c", 5).message() + GpuNode(4, "d", 5).message();
  for (const std::size_t chunk : {1u, 7u, 4096u}) {
    const auto store = ReadBytes(bytes, chunk);
    EXPECT_EQ(store->gpu_tasks.rows(), 3u) << chunk;
    EXPECT_EQ(store->log.Count(ImportIssue::kLostEvent), 1) << chunk;
  }
}

TEST(ChakraReader, ACutFileKeepsWhatIsWhole) {
  const std::string whole = Converted({GpuNode(1, "a", 5).message(), GpuNode(2, "b", 5).message()});
  const auto store = ReadBytes(whole.substr(0, whole.size() - 3));
  EXPECT_EQ(store->gpu_tasks.rows(), 1u);
  EXPECT_EQ(store->log.Count(ImportIssue::kTruncated), 1);
}

TEST(ChakraReader, LargeNodesArePassedOver) {
  const auto store =
      ReadBytes(Converted({GpuNode(1, std::string(500, 'a'), 5).message(),
                           GpuNode(2, "b", 5).message(), GpuNode(3, "c", 5).message()}),
                4096, 200);
  EXPECT_EQ(store->gpu_tasks.rows(), 2u);
  EXPECT_EQ(store->log.Count(ImportIssue::kOversizedEvent), 1);
}

TEST(ChakraReader, ZerosAreOneLoss) {
  const auto store = ReadBytes(Converted(
      {GpuNode(1, "a", 5).message(), std::string(100'000, '\0'), GpuNode(2, "b", 5).message()}));
  EXPECT_EQ(store->gpu_tasks.rows(), 2u);
  EXPECT_EQ(store->log.Count(ImportIssue::kLostEvent), 1);
  EXPECT_EQ(store->metadata.events, 3);
}

TEST(ChakraReader, OtherFormatsAreNotTakenForIt) {
  EXPECT_FALSE(LooksLikeTrace(""));
  EXPECT_FALSE(LooksLikeTrace("{\n  \"traceEvents\": [{\"ph\": \"X\"}]}"));
  EXPECT_FALSE(LooksLikeTrace(std::string_view("SQLite format 3\0\x10\x00", 18)));
  EXPECT_FALSE(LooksLikeTrace("\x80\x02}q\x01."));
  EXPECT_FALSE(LooksLikeTrace(std::string_view("\x02\x0a\x00", 3))) << "a version of no letters";
  const std::string metadata = MadeMetadata("x").message();
  EXPECT_TRUE(LooksLikeTrace(metadata)) << "a trace without work";
  EXPECT_FALSE(LooksLikeTrace(metadata + "no node"));
}

/// A trace exported by Headroom: a thread, a stream, and the test's nodes.
std::string Own(const std::vector<std::string>& nodes) {
  const auto table = [](std::string_view name, std::uint64_t id) {
    return MadeNode(id, "headroom", NodeType::kMetadata, 0, {}, true).Text("table", name);
  };
  std::string bytes =
      MadeMetadata(kOwnSchema).Integer("rank", 3).Integer("damage:truncated", 1).message();
  bytes += table("processes", 1)
               .Integers("row", {0})
               .Integers("pid", {0})
               .Texts("texts", {"42"})
               .message();
  bytes += table("threads", 2)
               .Integers("row", {5})
               .Integers("process", {0})
               .Integers("tid", {0})
               .Texts("texts", {"7"})
               .message();
  for (const std::string& node : nodes) bytes += node;
  return bytes;
}

MessageMaker OwnTask(std::int64_t row, std::int64_t start, std::int64_t duration) {
  return MadeNode(static_cast<std::uint64_t>(10 + row), "k", NodeType::kComp, 0, {}, false)
      .Integer("task", row)
      .Integer("start_ns", start)
      .Integer("duration_ns", duration)
      .Integer("stream", 7)
      .Integer("device", 1);
}

TEST(ChakraReader, OwnTracesHaveTheirRowsToTheNanosecond) {
  const auto store = ReadBytes(
      Own({OwnTask(1, 2'001, 333).message(), OwnTask(0, 1'003, 20).Integer("grid_x", 9).message(),
           MadeNode(20, "aten::mm", NodeType::kComp, 0, {}, true)
               .Integer("event", 0)
               .Integer("event_start_ns", 77)
               .Integer("event_duration_ns", 101)
               .Integer("tid", 1)
               .Text("category", "cpu_op")
               .message()}));
  ASSERT_EQ(store->gpu_tasks.rows(), 2u);
  EXPECT_EQ(store->gpu_tasks.start[0], TimeNs(1'003));
  EXPECT_EQ(store->gpu_tasks.grid_x[0], 9);
  EXPECT_EQ(store->streams.number[store->gpu_tasks.stream[1].index()], 7);
  EXPECT_EQ(store->host_events.rows(), 0u) << "its thread, 1, is in no table";
  EXPECT_EQ(store->log.Count(ImportIssue::kLostEvent), 1);
  EXPECT_EQ(store->metadata.rank, 3);
  EXPECT_EQ(store->log.Count(ImportIssue::kTruncated), 1) << "carried";
}

TEST(ChakraReader, ListsOfDifferentLengthsAreNoRows) {
  const auto store = ReadBytes(Own({MadeNode(3, "headroom", NodeType::kMetadata, 0, {}, true)
                                        .Text("table", "instants")
                                        .Integers("row", {0, 1})
                                        .Integers("time", {5})
                                        .message()}));
  EXPECT_EQ(store->instants.rows(), 0u);
  EXPECT_EQ(store->log.Count(ImportIssue::kLostEvent), 2);
}

TEST(ScheduleNodes, StartsWhatCouldBeginFirst) {
  std::vector<ScheduledNode> nodes(4);
  const std::vector<std::uint32_t> deps = {0, 1};
  nodes[0] = {.start = {}, .duration = DurationNs(10), .resource = 0};
  nodes[1] = {.start = {}, .duration = DurationNs(4), .resource = 1};
  nodes[2] = {
      .start = {}, .duration = DurationNs(5), .deps_begin = 0, .deps_end = 1, .resource = 2};
  nodes[3] = {
      .start = {}, .duration = DurationNs(3), .deps_begin = 1, .deps_end = 2, .resource = 2};
  ScheduleNodes(nodes, deps);
  EXPECT_EQ(nodes[3].start, TimeNs(4));
  EXPECT_EQ(nodes[2].start, TimeNs(10));
}

}  // namespace chakra_reader_test
}  // namespace headroom::chakra
