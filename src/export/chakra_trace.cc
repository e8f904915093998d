#include "export/chakra_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/chakra_fields.h"
#include "base/protobuf_writer.h"
#include "ranks/collective_rows.h"
#include "render/escape.h"
#include "render/json_writer.h"
#include "store/carried_damage.h"
#include "store/enum_words.h"
#include "store/kineto_args.h"

namespace headroom {
namespace {

using chakra::AttrField;
using chakra::CommType;
using chakra::IoField;
using chakra::ListField;
using chakra::MetadataField;
using chakra::NodeField;
using chakra::NodeType;

constexpr std::size_t kChakraPiece = std::size_t{1} << 20;

/// Maximum rows and text of one metadata node, so that readers require little memory.
constexpr std::size_t kMaxRows = 4096;
constexpr std::size_t kMaxTextBytes = std::size_t{1} << 20;

/// Collectives by the names that frameworks and libraries use, in lower case and without
/// underscores. The first match in a name wins, so longer names come first: "reducescatter"
/// contains "reduce".
constexpr std::array<std::pair<std::string_view, CommType>, 9> kCommTypes = {{
    {"allreduce", CommType::kAllReduce},
    {"reducescatter", CommType::kReduceScatter},
    {"allgather", CommType::kAllGather},
    {"alltoall", CommType::kAllToAll},
    {"broadcast", CommType::kBroadcast},
    {"barrier", CommType::kBarrier},
    {"gather", CommType::kGather},
    {"scatter", CommType::kScatter},
    {"reduce", CommType::kReduce},
}};

std::string LettersOf(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c != '_') letters += ToLower(c);
  }
  return letters;
}

std::optional<CommType> CommTypeOf(std::string_view name) {
  const std::string letters = LettersOf(name);
  for (const auto& [text, type] : kCommTypes) {
    if (letters.find(text) != std::string::npos) return type;
  }
  return std::nullopt;
}

std::optional<std::int64_t> NumberOf(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Returns true for a complete list such as "[0, 1, 2]". Profilers may truncate long lists.
bool IsWholeList(std::string_view ranks) {
  return ranks.size() > 2 && ranks.front() == '[' && ranks.back() == ']' &&
         ranks.substr(1, ranks.size() - 2).find_first_not_of("0123456789, ") ==
             std::string_view::npos;
}

class ChakraWriter {
 public:
  ChakraWriter(const TraceStore& store, NameFacts& names, const AnalyzedTrace& trace,
               const ChakraNodes& nodes, ChakraRank rank,
               const std::function<void(std::string_view)>& sink)
      : store_(store),
        names_(names),
        trace_(trace),
        nodes_(nodes),
        rank_(rank.number),
        rank_is_told_(rank.is_told),
        sink_(sink),
        collectives_(store) {
    for (std::size_t row = 0; row < store.collectives.rows(); ++row)
      collective_of_[store.collectives.task[row].index()] = row;
    for (const CostedCall& call : trace.costed)
      if (call.main_task.valid()) cost_of_[call.main_task.index()] = call.cost;
  }

  ChakraCounts Write() {
    WriteMetadata();
    WriteGroups();
    WriteTables();
    for (std::size_t i = 0; i < nodes_.nodes.size(); ++i) WriteNode(i);
    Flush();
    return counts_;
  }

 private:
  /// Writes a message, preceded by its length.
  template <typename Fill>
  void Message(Fill&& fill) {
    message_.clear();
    std::forward<Fill>(fill)();
    char length[kMaxVarintBytes];
    piece_.append(length, PutVarint(length, message_.size()));
    piece_ += message_;
    if (piece_.size() >= kChakraPiece) Flush();
  }
  void Flush() {
    sink_(piece_);
    piece_.clear();
  }

  template <typename Field, typename Fill>
  void Attribute(Field field, std::string_view name, Fill&& fill) {
    out_.Message(field, [&] {
      out_.Bytes(AttrField::kName, name);
      std::forward<Fill>(fill)();
    });
  }
  void Int64(std::string_view name, std::int64_t value) {
    Attribute(NodeField::kAttr, name, [&] { out_.Varint(AttrField::kInt64, value); });
  }
  void Int32(std::string_view name, std::int64_t value) {
    Attribute(NodeField::kAttr, name, [&] { out_.Varint(AttrField::kInt32, value); });
  }
  void Uint64(std::string_view name, std::int64_t value) {
    Attribute(NodeField::kAttr, name, [&] { out_.Varint(AttrField::kUint64, value); });
  }
  void Bool(std::string_view name, bool value) {
    Attribute(NodeField::kAttr, name, [&] { out_.Varint(AttrField::kBool, value); });
  }
  void String(std::string_view name, std::string_view value) {
    Attribute(NodeField::kAttr, name, [&] { out_.Bytes(AttrField::kString, ValidUtf8(value)); });
  }

  void WriteMetadata() {
    Message([&] {
      const auto number = [&](std::string_view name, std::int64_t value) {
        Attribute(MetadataField::kAttr, name, [&] { out_.Varint(AttrField::kInt64, value); });
      };
      const auto text = [&](std::string_view name, std::string_view value) {
        Attribute(MetadataField::kAttr, name,
                  [&] { out_.Bytes(AttrField::kString, ValidUtf8(value)); });
      };
      text("schema", chakra::kOwnSchema);
      const TraceMetadata& metadata = store_.metadata;
      if (rank_is_told_) number("rank", rank_);
      if (metadata.world_size) number("world_size", *metadata.world_size);
      number("zero_ns", nodes_.zero.ns());
      number("work_nodes", static_cast<std::int64_t>(nodes_.nodes.size()));
      if (metadata.base_time_ns) number("base_time_ns", *metadata.base_time_ns);
      if (metadata.cuda_driver_version)
        number("cuda_driver_version", *metadata.cuda_driver_version);
      if (metadata.names_and_times_only) number("names_and_times_only", 1);
      if (metadata.is_forecast) number("is_forecast", 1);
      text("copy_of", metadata.recorded_as());
      for (const SoftwareVersion& software : metadata.versions)
        text(fmt::format("{}{}", chakra::kVersionPrefix, software.name), software.version);
      ForEachCarried(store_.log, [&](std::string_view code, std::int64_t count) {
        number(fmt::format("{}{}", chakra::kDamagePrefix, code), count);
      });
    });
  }

  /// Writes the recorded members of each group, in the form that ASTRA-sim expects in a metadata
  /// node: a list in quotes and brackets.
  void WriteGroups() {
    std::map<std::string_view, std::string_view> groups;
    for (const GpuTaskId task : store_.collectives.task.values()) {
      const std::optional<CollectiveArguments> known = collectives_.Of(task.index());
      if (known && NumberOf(known->group) && IsWholeList(known->ranks))
        groups[known->group] = known->ranks;
    }
    if (groups.empty()) return;
    std::string list;
    for (const auto& [name, ranks] : groups) {
      list += fmt::format("{}{{\"pg_name\": {}, \"ranks\": {}}}", list.empty() ? "" : ", ",
                          JsonString(name), ranks);
    }
    Message([&] {
      out_.Varint(NodeField::kId, next_id_);
      out_.Bytes(NodeField::kName, chakra::kGroupsNode);
      out_.Varint(NodeField::kType, NodeType::kMetadata);
      out_.Message(NodeField::kInputs,
                   [&] { out_.Bytes(IoField::kValues, fmt::format("['[{}]']", list)); });
      Bool("is_cpu_op", true);
    });
    ++counts_.nodes;
    ++next_id_;
  }

  /// Writes every row that has no work node, in metadata nodes: one list per column, and one list
  /// of shared strings. Simulators ignore these nodes.
  void WriteTables() {
    WriteTable("processes", store_.processes);
    WriteTable("threads", store_.threads);
    WriteTable("devices", store_.devices);
    WriteTable("streams", store_.streams);
    std::vector<bool> is_node(store_.host_events.rows());
    for (const ChakraNode& node : nodes_.nodes) {
      if (node.is_first) is_node[node.event.index()] = true;
    }
    WriteTable("host_events", store_.host_events, [&](std::size_t row) { return !is_node[row]; });
    WriteTable("syncs", store_.syncs);
    WriteTable("flows", store_.flows);
    WriteTable("counters", store_.counters);
    WriteTable("memory_events", store_.memory_events);
    WriteTable("instants", store_.instants);
  }

  template <typename Table>
  void WriteTable(std::string_view name, const Table& table) {
    WriteTable(name, table, [](std::size_t) { return true; });
  }

  template <typename Table, typename Chosen>
  void WriteTable(std::string_view name, const Table& table, Chosen&& chosen) {
    std::vector<std::size_t> rows;
    std::size_t text_bytes = 0;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      if (!chosen(row)) continue;
      rows.push_back(row);
      ForEachReadColumn(table, [&](std::string_view, const auto& column) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(column[row])>, StringId>)
          text_bytes += store_.Text(column[row]).size();
      });
      if (rows.size() < kMaxRows && text_bytes < kMaxTextBytes) continue;
      WriteRows(name, table, rows);
      rows.clear();
      text_bytes = 0;
    }
    if (!rows.empty()) WriteRows(name, table, rows);
  }

  /// Calls visit(name, column) for each column that readers fill.
  template <typename Table, typename Visitor>
  static void ForEachReadColumn(const Table& table, Visitor&& visit) {
    table.ForEachColumn([&](std::string_view name, const auto& column) {
      using Value = std::remove_cvref_t<decltype(column[0])>;
      if constexpr (!std::is_same_v<Value, HostEventId> && !std::is_same_v<Value, GpuTaskId>)
        visit(name, column);
    });
  }

  template <typename Table>
  void WriteRows(std::string_view name, const Table& table, const std::vector<std::size_t>& rows) {
    std::map<std::string_view, std::int64_t> number_of;
    std::vector<std::string_view> texts;
    const auto number = [&](std::string_view text) {
      const auto [known, is_new] =
          number_of.try_emplace(text, static_cast<std::int64_t>(texts.size()));
      if (is_new) texts.push_back(text);
      return known->second;
    };
    Message([&] {
      out_.Varint(NodeField::kId, next_id_);
      out_.Bytes(NodeField::kName, fmt::format("headroom:{}", name));
      out_.Varint(NodeField::kType, NodeType::kMetadata);
      Bool("is_cpu_op", true);
      String("table", name);
      std::vector<std::int64_t> values(rows.begin(), rows.end());
      Integers("row", values);
      ForEachReadColumn(table, [&](std::string_view column_name, const auto& column) {
        using Value = std::remove_cvref_t<decltype(column[0])>;
        values.clear();
        if constexpr (std::is_same_v<Value, double>) {
          Attribute(NodeField::kAttr, column_name, [&] {
            out_.Message(AttrField::kDoubleList, [&] {
              for (const std::size_t row : rows) out_.Double(ListField::kValues, column[row]);
            });
          });
          return;
        }
        // Every row has times, even if all are 0.
        bool is_known = std::is_same_v<Value, TimeNs> || std::is_same_v<Value, DurationNs>;
        for (const std::size_t row : rows) {
          const Value value = column[row];
          is_known = is_known || value != UnknownValue<Value>();
          if constexpr (std::is_same_v<Value, StringId>) {
            values.push_back(value.valid() ? number(store_.Text(value)) : -1);
          } else if constexpr (std::is_same_v<Value, TimeNs> || std::is_same_v<Value, DurationNs>) {
            values.push_back(value.ns());
          } else if constexpr (std::is_enum_v<Value>) {
            values.push_back(number(WordOf(value)));
          } else if constexpr (std::is_integral_v<Value>) {
            values.push_back(value == UnknownValue<Value>() ? kUnknown : value);
          } else if constexpr (!std::is_same_v<Value, double>) {
            values.push_back(value.valid() ? value.index() : -1);
          }
        }
        if (is_known) Integers(column_name, values);
      });
      if (texts.empty()) return;
      Attribute(NodeField::kAttr, "texts", [&] {
        out_.Message(AttrField::kStringList, [&] {
          for (const std::string_view text : texts) out_.Bytes(ListField::kValues, ValidUtf8(text));
        });
      });
    });
    ++counts_.nodes;
    ++next_id_;
  }

  void Integers(std::string_view name, const std::vector<std::int64_t>& values) {
    std::string packed;
    for (const std::int64_t value : values) {
      char bytes[kMaxVarintBytes];
      packed.append(bytes, PutVarint(bytes, static_cast<std::uint64_t>(value)));
    }
    Attribute(NodeField::kAttr, name, [&] {
      out_.Message(AttrField::kInt64List, [&] { out_.Bytes(ListField::kValues, packed); });
    });
  }

  /// Writes the columns of a row for which the node has no attribute.
  template <typename Table, typename Names>
  void WriteRow(const Table& table, std::size_t row, const Names& names) {
    ForEachReadColumn(table, [&](std::string_view column_name, const auto& column) {
      const std::string_view name = chakra::AttributeOf(names, column_name);
      using Value = std::remove_cvref_t<decltype(column[0])>;
      const Value value = column[row];
      if constexpr (std::is_same_v<Value, StringId>) {
        if (value.valid() && name != "name") String(name, store_.Text(value));
      } else if constexpr (std::is_same_v<Value, TimeNs> || std::is_same_v<Value, DurationNs>) {
        Int64(name, value.ns());
      } else if constexpr (std::is_enum_v<Value>) {
        if (!WordOf(value).empty()) String(name, WordOf(value));
      } else if constexpr (std::is_integral_v<Value>) {
        if (value != UnknownValue<Value>()) Int64(name, value);
      }  // References to rows have separate attributes.
    });
  }

  std::uint64_t IdOf(ChakraNodeIndex node) const { return next_id_ + node; }

  void WriteNode(std::size_t index) {
    const ChakraNode& node = nodes_.nodes[index];
    Message([&] {
      const std::int64_t start = nodes_.Micros(node.start), end = nodes_.Micros(node.end);
      out_.Varint(NodeField::kId, IdOf(static_cast<ChakraNodeIndex>(index)));
      out_.Bytes(NodeField::kName, ValidUtf8(node.name));
      const Communication communication = CommunicationOf(node);
      out_.Varint(NodeField::kType, TypeOf(node, communication));
      if (node.caller != kNoChakraNode) out_.Varint(NodeField::kCtrlDeps, IdOf(node.caller));
      for (const ChakraNodeIndex dep : nodes_.DepsOf(node))
        out_.Varint(NodeField::kDataDeps, IdOf(dep));
      out_.Varint(NodeField::kStartTimeMicros, start);
      out_.Varint(NodeField::kDurationMicros, end - start);
      WriteInputs(node);
      Bool("is_cpu_op", node.on_cpu);
      if (node.work != ChakraWork::kTask) {
        Int64("start_ns", node.start.ns());
        Int64("duration_ns", (node.end - node.start).ns());
      }
      WriteAttributes(node);
      WriteCommunication(communication);
    });
    ++counts_.nodes;
    counts_.dependencies += node.deps_end - node.deps_begin;
    (node.work == ChakraWork::kTask    ? counts_.tasks
     : node.work == ChakraWork::kDelay ? counts_.delays
                                       : counts_.host)++;
  }

  void WriteInputs(const ChakraNode& node) {
    if (!node.is_first || node.work != ChakraWork::kHost) return;
    const StringId args = store_.host_events.args[node.event.index()];
    const std::string_view shapes = store_.Arg(args, kInputDimsArg);
    const std::string_view types = store_.Arg(args, kInputTypesArg);
    if (shapes.empty() && types.empty()) return;
    out_.Message(NodeField::kInputs, [&] {
      out_.Bytes(IoField::kShapes, ValidUtf8(shapes));
      out_.Bytes(IoField::kTypes, ValidUtf8(types));
    });
  }

  void WriteAttributes(const ChakraNode& node) {
    switch (node.work) {
      case ChakraWork::kHost:
      case ChakraWork::kCall:
        Int64("tid", node.thread.index());
        if (node.event.valid()) Int64("event", node.event.index());
        if (node.is_first)
          WriteRow(store_.host_events, node.event.index(), chakra::kHostEventNames);
        return;
      case ChakraWork::kDelay:
        Bool("is_delay", true);
        return;
      case ChakraWork::kTask:
        break;
    }
    const auto& tasks = store_.gpu_tasks;
    const std::size_t row = node.task.index();
    const std::size_t stream = tasks.stream[row].index();
    Int64("task", node.task.index());
    WriteRow(tasks, row, chakra::kTaskNames);
    if (const auto found = collective_of_.find(row); found != collective_of_.end())
      WriteRow(store_.collectives, found->second, chakra::kCollectiveNames);
    Int64("stream", store_.streams.number[stream]);
    Int64("device", store_.devices.ordinal[store_.streams.device[stream].index()]);
    if (node.step >= 0)
      Int64("step", trace_.steps.steps.list[static_cast<std::size_t>(node.step)].index);
    if (const auto cost = cost_of_.find(row); cost != cost_of_.end()) {
      Int64("num_ops", std::llround(cost->second->flops));
      Uint64("tensor_size", std::llround(cost->second->bytes));
    } else if (tasks.bytes[row] != kUnknown) {
      Uint64("tensor_size", tasks.bytes[row]);
    }
  }

  /// The recorded facts about the operation of a communication kernel.
  struct Communication {
    std::optional<CommType> collective;
    std::optional<std::int64_t> send_to, receive_from;
    std::int64_t bytes = 0;  ///< Bytes that this rank sends.
    std::string_view group;
  };

  Communication CommunicationOf(const ChakraNode& node) {
    Communication out;
    if (node.work != ChakraWork::kTask) return out;
    const std::size_t row = node.task.index();
    const auto found = collective_of_.find(row);
    if (found == collective_of_.end()) {
      if (names_.IsCommunication(store_.gpu_tasks.name[row]))
        ++counts_.communication_as_computation;
      return out;
    }
    const std::optional<CollectiveArguments> known = collectives_.Of(row);
    const std::int64_t in = store_.collectives.in_elements[found->second];
    const std::int64_t most = std::max(in, store_.collectives.out_elements[found->second]);
    if (known && known->bytes && most > 0) {
      // A rank that only receives sends nothing, so use the received elements.
      const std::int64_t elements = in > 0 ? in : most;
      out.bytes =
          std::llround(*known->bytes * static_cast<double>(elements) / static_cast<double>(most));
      out.group = known->group;
      const std::string letters = LettersOf(known->name);
      const StringId args = store_.gpu_tasks.args[row];
      if (letters == "send") {
        out.send_to = NumberOf(store_.Arg(args, kDestinationRankArg));
      } else if (letters == "recv" || letters == "receive") {
        out.receive_from = NumberOf(store_.Arg(args, kSourceRankArg));
      } else {
        out.collective = CommTypeOf(known->name);
      }
    }
    if (out.collective) {
      ++counts_.collectives;
    } else if (out.send_to || out.receive_from) {
      ++counts_.point_to_point;
    } else {
      ++counts_.communication_as_computation;
    }
    return out;
  }

  void WriteCommunication(const Communication& what) {
    if (!what.collective && !what.send_to && !what.receive_from) return;
    if (what.collective) Int64("comm_type", static_cast<std::int64_t>(*what.collective));
    if (what.send_to || what.receive_from) {
      Int32("comm_src", what.receive_from.value_or(rank_));
      Int32("comm_dst", what.send_to.value_or(rank_));
      Int32("comm_tag", 0);
    }
    Int64("comm_size", what.bytes);
    if (!what.group.empty()) String("pg_name", what.group);
  }

  NodeType TypeOf(const ChakraNode& node, const Communication& communication) const {
    if (communication.collective) return NodeType::kCommColl;
    if (communication.send_to) return NodeType::kCommSend;
    if (communication.receive_from) return NodeType::kCommRecv;
    if (node.work != ChakraWork::kTask) return NodeType::kComp;
    const std::size_t row = node.task.index();
    // Host memory is the remote memory. A simulator requires the size of a copy.
    if (store_.gpu_tasks.bytes[row] == kUnknown) return NodeType::kComp;
    switch (store_.gpu_tasks.copy[row]) {
      case CopyKind::kHostToDevice:
        return NodeType::kMemLoad;
      case CopyKind::kDeviceToHost:
        return NodeType::kMemStore;
      default:
        return NodeType::kComp;
    }
  }

  const TraceStore& store_;
  NameFacts& names_;
  const AnalyzedTrace& trace_;
  const ChakraNodes& nodes_;
  const std::int64_t rank_;
  const bool rank_is_told_;
  const std::function<void(std::string_view)>& sink_;
  CollectiveRows collectives_;
  std::map<std::size_t, std::size_t> collective_of_;    ///< Row of the collective by GPU task.
  std::map<std::size_t, const OperatorCost*> cost_of_;  ///< Cost by GPU task.
  /// Ids start at 1, because readers may interpret 0 as none.
  std::uint64_t next_id_ = 1;
  std::string message_, piece_;
  ProtobufWriter out_{message_};
  ChakraCounts counts_;
};

}  // namespace

ChakraCounts WriteChakraTrace(const TraceStore& store, NameFacts& names, const AnalyzedTrace& trace,
                              const ChakraNodes& nodes, ChakraRank rank,
                              const std::function<void(std::string_view)>& sink) {
  return ChakraWriter(store, names, trace, nodes, rank, sink).Write();
}

}  // namespace headroom
