#include "ingest/chakra/work_rows.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <set>

#include "base/ascii.h"
#include "ingest/input/json_members.h"
#include "ingest/names/category.h"
#include "ingest/names/range_names.h"
#include "store/args_text.h"
#include "store/kineto_args.h"

namespace headroom::chakra {
namespace {

constexpr std::uint32_t kNoNode = UINT32_MAX;
constexpr std::int64_t kNsPerMicro = 1000;
constexpr std::uint64_t kFurthestMicros = INT64_MAX / 4 / kNsPerMicro;
constexpr std::size_t kLargestGroupList = std::size_t{4} << 20;
/// `scope` of PyTorch's RecordFunction for a range that the program names.
constexpr std::int64_t kUserScope = 7;

/// Names in PyTorch's profiler, indexed by CommType.
constexpr std::array<std::string_view, 10> kCollectives = {
    "allreduce", "reduce",   "allgather",      "gather",         "scatter",
    "broadcast", "alltoall", "reduce_scatter", "reduce_scatter", "barrier"};

bool IsCommunication(NodeType type) {
  return type == NodeType::kCommColl || type == NodeType::kCommSend || type == NodeType::kCommRecv;
}

/// Returns the prefix for a communication node whose name does not show that it communicates.
std::string_view NameOf(NodeType type) {
  return type == NodeType::kCommSend   ? "COMM_SEND_NODE"
         : type == NodeType::kCommRecv ? "COMM_RECV_NODE"
                                       : "COMM_COLL_NODE";
}

bool TellsCommunication(std::string_view name) {
  std::string lower(name.substr(0, 256));
  for (char& c : lower) c = ToLower(c);
  return lower.find("nccl") != std::string::npos || lower.find("rccl") != std::string::npos ||
         lower.find("comm_") != std::string::npos;
}

/// Returns the last id. The format allows several callers. Writers that list several put the actual
/// caller last.
std::optional<std::uint64_t> LastOf(const std::vector<std::uint64_t>& ids) {
  return ids.empty() ? std::nullopt : std::optional(ids.back());
}

/// Returns the text if it is a nested list of numbers, in the syntax that Python and JSON share;
/// otherwise an empty string.
std::string_view Shapes(std::string_view text) {
  const bool is_list = text.starts_with('[') && text.ends_with(']') &&
                       text.find_first_not_of("0123456789-[], ") == std::string_view::npos;
  return is_list && SkipValue(text, 0) == text.size() &&
                 text.find_first_of("0123456789") != std::string_view::npos
             ? text
             : std::string_view();
}

/// Converts "['Tensor(float)', 'Int']" to the form of PyTorch's profiler: ["float","Scalar"].
std::string Types(std::string_view text) {
  std::string out = "[";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = text.find_first_of("'\"", at);
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find(text[open], open + 1);
    if (close == std::string_view::npos) return {};
    std::string_view type = text.substr(open + 1, close - open - 1);
    at = close + 1;
    constexpr std::string_view kTensor = "Tensor(";
    if (type.starts_with(kTensor) && type.ends_with(')')) {
      type = type.substr(kTensor.size(), type.size() - kTensor.size() - 1);
    } else if (type.starts_with("GenericList[Tensor")) {
      type = "TensorList";
    } else if (type == "Int" || type == "Double" || type == "Bool") {
      type = "Scalar";
    }
    if (type.find_first_of("\\\"") != std::string_view::npos) return {};
    for (const char c : type) {
      if (static_cast<unsigned char>(c) < 0x20) return {};
    }
    out += fmt::format("{}\"{}\"", out.size() > 1 ? "," : "", type);
  }
  return out + "]";
}

/// Returns "aten::mm" for "aten::mm(1)": Chakra's converter splits an operator after each GPU task
/// that it launches, and numbers the pieces.
std::string_view WithoutPiece(std::string_view name) {
  if (!name.ends_with(')')) return name;
  const std::size_t open = name.find_last_not_of("0123456789", name.size() - 2);
  const bool has_number = open != std::string_view::npos && open + 2 < name.size();
  return has_number && open > 0 && name[open] == '(' ? name.substr(0, open) : name;
}

}  // namespace

void WorkRows::ReadMetadata(const Metadata& metadata) {
  if (const Attribute* const pid = metadata.Find("pid");
      pid != nullptr && pid->kind == Attribute::Kind::kInteger)
    process_ = fmt::format("{}", pid->integer);
}

void WorkRows::ReadGroups(std::string_view list) {
  // The value is a list with one element, a JSON text: ['[{"pg_name": "0", "ranks": [0, 1]}]'].
  const std::size_t begin = list.find("[{"), end = list.rfind("}]");
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin ||
      list.size() > kLargestGroupList)
    return;
  const nlohmann::json groups = nlohmann::json::parse(list.substr(begin, end + 2 - begin), nullptr,
                                                      /*allow_exceptions=*/false);
  if (!groups.is_array()) return;
  for (const nlohmann::json& group : groups) {
    if (!group.is_object()) continue;
    const auto name = group.find("pg_name");
    if (name == group.end() || !name->is_string()) continue;
    const std::string& key = name->get_ref<const std::string&>();
    const auto ranks = group.find("ranks"), size = group.find("group_size");
    if (ranks != group.end() && ranks->is_array() && !ranks->empty()) {
      std::string text;
      bool whole = true;
      for (const nlohmann::json& rank : *ranks) {
        whole = whole && rank.is_number_unsigned();
        if (!whole) break;
        text += fmt::format("{}{}", text.empty() ? "" : ", ", rank.get<std::uint64_t>());
      }
      if (!whole) continue;
      ranks_of_group_[key] = fmt::format("[{}]", text);
      members_of_group_[key] = static_cast<std::int64_t>(ranks->size());
    } else if (size != group.end() && size->is_number_unsigned() &&
               size->get<std::uint64_t>() <= INT32_MAX) {
      members_of_group_[key] = size->get<std::int64_t>();
    }
  }
}

std::string WorkRows::OperatorArgs(const Node& node) const {
  const std::string_view shapes = Shapes(node.inputs.shapes);
  if (shapes.empty()) return {};
  std::string args = fmt::format("\"{}\":{}", kInputDimsArg, shapes);
  if (const std::string types = Types(node.inputs.types); types.size() > 2)
    args += fmt::format(",\"{}\":{}", kInputTypesArg, types);
  return args;
}

void WorkRows::Add(const Node& node, std::int64_t offset) {
  ++store_.metadata.events;
  if (node.type == NodeType::kMetadata) {
    if (node.name == kGroupsNode) ReadGroups(node.inputs.values);
    // Keeps the metadata node: its duration is 0, but other nodes may depend on it.
  }
  Work work;
  work.id = node.id;
  work.offset = offset;
  work.type = node.type;
  work.on_cpu = node.type == NodeType::kMetadata || node.Integer("is_cpu_op", 0) != 0;
  if (const auto caller = LastOf(node.ctrl_deps)) {
    work.caller = *caller;
    work.has_caller = true;
  }
  ScheduledNode times;
  if (node.duration_micros > kFurthestMicros) {
    store_.log.Add(ImportIssue::kBadDuration, offset);
  } else {
    times.duration = DurationNs(static_cast<std::int64_t>(node.duration_micros) * kNsPerMicro);
  }
  has_times_ = has_times_ || node.start_micros > 0;
  if (node.start_micros <= kFurthestMicros) {
    times.start = TimeNs(static_cast<std::int64_t>(node.start_micros) * kNsPerMicro);
    times.has_time = true;
  }
  // Data dependencies give the order of execution; control dependencies give the callers.
  times.deps_begin = static_cast<std::uint32_t>(dep_ids_.size());
  const auto& deps = node.data_deps.empty() ? node.ctrl_deps : node.data_deps;
  dep_ids_.insert(dep_ids_.end(), deps.begin(), deps.end());
  times.deps_end = static_cast<std::uint32_t>(dep_ids_.size());

  if (work.on_cpu) {
    work.is_range = node.Integer("scope", 0) == kUserScope;
    const std::string_view name = work.is_range ? node.name : WithoutPiece(node.name);
    work.is_piece = name.size() < node.name.size();
    work.name = store_.strings.Intern(name);
    work.thread = node.Integer("tid", 0);
    const std::int64_t sequence = node.Integer("seq_id", -1);
    if (sequence >= 0) work.sequence = sequence;
    const std::int64_t forward = node.Integer("fw_tid", 0);
    if (forward > 0 && forward <= INT32_MAX)
      work.forward_thread = static_cast<std::int32_t>(forward);
    const std::int64_t record = node.Integer("rf_id", -1);
    if (record >= 0) work.record_function = record;
    std::string args = OperatorArgs(node);
    if (!args.empty() && !AreJsonMembers(args)) {
      store_.log.Add(ImportIssue::kBadArgument, offset);
      args = SoundMembers(args);
    }
    if (!args.empty()) work.args = store_.strings.Intern(args);
  } else {
    const bool is_communication = IsCommunication(node.type);
    work.name = is_communication && !TellsCommunication(node.name)
                    ? store_.strings.Intern(fmt::format("{} {}", NameOf(node.type), node.name))
                    : store_.strings.Intern(node.name);
    const Attribute* const stream = node.Find("stream");
    lacks_stream_ = lacks_stream_ || stream == nullptr;
    work.stream = node.Integer("stream", is_communication ? 1 : 0);
    work.device = node.Integer("device", 0);
    work.bytes = node.Integer(is_communication ? "comm_size" : "tensor_size", kUnknown);
    if (work.bytes < 0) work.bytes = kUnknown;
    work.comm_type = node.Integer("comm_type", -1);
    if (const std::string_view group = node.Text("pg_name"); !group.empty())
      work.group = store_.strings.Intern(group);
    const std::int64_t peer = node.type == NodeType::kCommSend   ? node.Integer("comm_dst", -1)
                              : node.type == NodeType::kCommRecv ? node.Integer("comm_src", -1)
                                                                 : -1;
    if (peer >= 0) {
      work.args = store_.strings.Intern(fmt::format(
          "\"{}\":{}", node.type == NodeType::kCommSend ? kDestinationRankArg : kSourceRankArg,
          peer));
    }
  }
  work_.push_back(work);
  nodes_.push_back(times);
}

std::uint32_t WorkRows::IndexOf(std::uint64_t id) const {
  const auto found = std::lower_bound(index_of_.begin(), index_of_.end(), std::pair(id, 0u));
  return found != index_of_.end() && found->first == id ? found->second : kNoNode;
}

void WorkRows::DropCopies() {
  index_of_.reserve(work_.size());
  for (std::uint32_t i = 0; i < work_.size(); ++i) index_of_.emplace_back(work_[i].id, i);
  std::sort(index_of_.begin(), index_of_.end());
  std::vector<bool> is_copy(work_.size());
  for (std::size_t i = 1; i < index_of_.size(); ++i) {
    if (index_of_[i].first == index_of_[i - 1].first) is_copy[index_of_[i].second] = true;
  }
  if (std::find(is_copy.begin(), is_copy.end(), true) == is_copy.end()) return;
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < work_.size(); ++i) {
    if (is_copy[i]) {
      store_.log.Add(ImportIssue::kDuplicateEvent, work_[i].offset,
                     fmt::format("another node has the same id, {}", work_[i].id));
      continue;
    }
    work_[kept] = work_[i];
    nodes_[kept] = nodes_[i];
    ++kept;
  }
  work_.resize(kept);
  nodes_.resize(kept);
  index_of_.clear();
  for (std::uint32_t i = 0; i < kept; ++i) index_of_.emplace_back(work_[i].id, i);
  std::sort(index_of_.begin(), index_of_.end());
}

void WorkRows::ResolveDependencies() {
  std::set<std::uint64_t> absent;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    ScheduledNode& node = nodes_[i];
    const auto begin = static_cast<std::uint32_t>(deps_.size());
    for (std::uint32_t at = node.deps_begin; at < node.deps_end; ++at) {
      const std::uint32_t dep = IndexOf(dep_ids_[at]);
      if (dep != kNoNode) {
        deps_.push_back(dep);
      } else if (absent.insert(dep_ids_[at]).second) {
        store_.log.Add(
            ImportIssue::kLostEvent, work_[i].offset,
            fmt::format("node {} depends on node {}, which is missing", work_[i].id, dep_ids_[at]));
      }
    }
    node.deps_begin = begin;
    node.deps_end = static_cast<std::uint32_t>(deps_.size());
  }
}

void WorkRows::FindTimes() {
  if (!has_times_) {
    // Number each thread and each stream as one resource.
    std::map<std::array<std::int64_t, 3>, std::uint32_t> resources;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const Work& work = work_[i];
      const std::array<std::int64_t, 3> key =
          work.on_cpu ? std::array<std::int64_t, 3>{0, work.thread, 0}
                      : std::array<std::int64_t, 3>{1, work.device, work.stream};
      nodes_[i].resource =
          resources.try_emplace(key, static_cast<std::uint32_t>(resources.size())).first->second;
    }
    ScheduleNodes(nodes_, deps_);
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].has_time || work_[i].type == NodeType::kMetadata) continue;
    store_.log.Add(ImportIssue::kBadTime, work_[i].offset,
                   has_times_ ? fmt::format("node {}: out of range", work_[i].id)
                              : fmt::format("node {}: it is in or after a cycle of dependencies, "
                                            "or its end is out of range",
                                            work_[i].id));
  }
}

void WorkRows::KeepInputsOnce() {
  // PyTorch numbers each call of an operator.
  std::map<std::pair<std::int64_t, StringId>, std::vector<std::uint32_t>> calls;
  for (std::uint32_t i = 0; i < work_.size(); ++i) {
    const Work& work = work_[i];
    if (work.is_piece && work.record_function > 0 && work.args.valid())
      calls[{work.record_function, work.name}].push_back(i);
  }
  if (calls.empty()) return;
  std::vector<DurationNs> launched(work_.size());
  for (std::uint32_t i = 0; i < work_.size(); ++i) {
    if (work_[i].on_cpu) continue;
    if (const std::uint32_t launcher = LauncherOf(i); launcher != kNoNode)
      launched[launcher] += nodes_[i].duration;
  }
  for (const auto& [call, pieces] : calls) {
    const std::uint32_t kept = *std::max_element(
        pieces.begin(), pieces.end(),
        [&](std::uint32_t a, std::uint32_t b) { return launched[a] < launched[b]; });
    for (const std::uint32_t piece : pieces) {
      if (piece != kept) work_[piece].args = StringId::None();
    }
  }
}

void WorkRows::StretchCallers() {
  around_.resize(nodes_.size());
  std::vector<std::uint32_t> latest_first;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    around_[i] = nodes_[i].start + nodes_[i].duration;
    if (work_[i].on_cpu && nodes_[i].has_time) latest_first.push_back(i);
  }
  std::stable_sort(latest_first.begin(), latest_first.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return around_[a] > around_[b]; });
  for (const std::uint32_t node : latest_first) {
    const TimeNs end = nodes_[node].start + nodes_[node].duration;
    // Nodes are visited in descending order of their ends, so each caller is visited once.
    for (std::uint32_t at = node; work_[at].has_caller;) {
      const std::uint32_t caller = IndexOf(work_[at].caller);
      // Pieces contain no other nodes: in their `ctrl_deps`, the converter leaves ids of a
      // different numbering.
      if (caller == kNoNode || !work_[caller].on_cpu || work_[caller].is_piece ||
          !nodes_[caller].has_time || work_[caller].thread != work_[node].thread ||
          nodes_[caller].start > nodes_[node].start || around_[caller] >= end)
        break;
      around_[caller] = end;
      at = caller;
    }
  }
}

ThreadId WorkRows::ThreadOf(std::int64_t number) {
  const auto [known, is_new] = threads_.try_emplace(number);
  if (!is_new) return known->second;
  if (store_.processes.rows() == 0) {
    AppendUnknown(store_.processes);
    store_.processes.pid.MutablePending(0) = store_.strings.Intern(process_);
  }
  const std::size_t row = AppendUnknown(store_.threads);
  store_.threads.process.MutablePending(row) = ProcessId(0u);
  store_.threads.tid.MutablePending(row) = store_.strings.Intern(fmt::format("{}", number));
  return known->second = ThreadId(row);
}

StreamId WorkRows::StreamOf(std::int64_t device, std::int64_t number) {
  const auto [known, is_new] = streams_.try_emplace({device, number});
  if (!is_new) return known->second;
  std::size_t row = 0;
  while (row < store_.devices.rows() && store_.devices.ordinal.Pending(row) != device) ++row;
  if (row == store_.devices.rows()) {
    AppendUnknown(store_.devices);
    store_.devices.ordinal.MutablePending(row) = device;
  }
  const std::size_t stream = AppendUnknown(store_.streams);
  store_.streams.device.MutablePending(stream) = DeviceId(row);
  store_.streams.number.MutablePending(stream) = number;
  return known->second = StreamId(stream);
}

void WorkRows::AppendHost() {
  auto& rows = store_.host_events;
  NamedRanges ranges;
  const StringId of_operators = store_.strings.Intern("cpu_op");
  const StringId of_ranges = store_.strings.Intern("user_annotation");
  for (std::size_t i = 0; i < work_.size(); ++i) {
    const Work& work = work_[i];
    if (!work.on_cpu || !nodes_[i].has_time || work.type == NodeType::kMetadata) continue;
    const std::size_t row = AppendUnknown(rows);
    rows.start.MutablePending(row) = nodes_[i].start;
    rows.duration.MutablePending(row) = around_[i] - nodes_[i].start;
    rows.name.MutablePending(row) = work.name;
    rows.category.MutablePending(row) = work.is_range ? of_ranges : of_operators;
    rows.kind.MutablePending(row) =
        work.is_range ? HostEventKind::kAnnotation : HostEventKind::kOperator;
    rows.thread.MutablePending(row) = ThreadOf(work.thread);
    rows.sequence.MutablePending(row) = work.sequence;
    rows.forward_thread.MutablePending(row) = work.forward_thread;
    if (work.record_function != kUnknown && work.record_function <= INT32_MAX)
      rows.record_function.MutablePending(row) = static_cast<std::int32_t>(work.record_function);
    rows.args.MutablePending(row) = work.args;
    if (work.is_range) ranges.Note(row, store_.Text(work.name));
  }
  ranges.Mark(store_);
}

/// Returns the host node after which a task is launched: its caller, else the dependency that ends
/// last.
std::uint32_t WorkRows::LauncherOf(std::uint32_t index) const {
  const auto launches = [&](std::uint32_t node) {
    return node != kNoNode && work_[node].on_cpu && nodes_[node].has_time &&
           work_[node].type != NodeType::kMetadata;
  };
  if (work_[index].has_caller) {
    const std::uint32_t caller = IndexOf(work_[index].caller);
    if (launches(caller)) return caller;
  }
  std::uint32_t last = kNoNode;
  for (std::uint32_t at = nodes_[index].deps_begin; at < nodes_[index].deps_end; ++at) {
    const std::uint32_t dep = deps_[at];
    if (!launches(dep)) continue;
    if (last == kNoNode ||
        nodes_[dep].start + nodes_[dep].duration > nodes_[last].start + nodes_[last].duration)
      last = dep;
  }
  return last;
}

void WorkRows::AppendTasks() {
  auto& rows = store_.gpu_tasks;
  auto& calls = store_.host_events;
  const StringId launch_name = store_.strings.Intern("(launch)");
  const StringId launch_category = store_.strings.Intern("cuda_runtime");
  for (std::uint32_t i = 0; i < work_.size(); ++i) {
    const Work& work = work_[i];
    if (work.on_cpu || !nodes_[i].has_time) continue;
    if (nodes_[i].duration == DurationNs(0))
      store_.log.Add(ImportIssue::kMissingDuration, work.offset);
    const std::string_view name = store_.Text(work.name);
    const bool is_transfer = work.type == NodeType::kMemLoad || work.type == NodeType::kMemStore;
    const std::size_t row = AppendUnknown(rows);
    rows.start.MutablePending(row) = nodes_[i].start;
    rows.duration.MutablePending(row) = nodes_[i].duration;
    rows.name.MutablePending(row) = work.name;
    rows.stream.MutablePending(row) = StreamOf(work.device, work.stream);
    rows.args.MutablePending(row) = work.args;
    if (name.starts_with("Memset")) {
      rows.kind.MutablePending(row) = GpuTaskKind::kMemset;
    } else if (name.starts_with("Memcpy") || is_transfer) {
      rows.kind.MutablePending(row) = GpuTaskKind::kMemcpy;
      CopyKind copy = CopyKindOf(name);
      if (copy == CopyKind::kOther && is_transfer) {
        copy = work.type == NodeType::kMemLoad ? CopyKind::kHostToDevice : CopyKind::kDeviceToHost;
      }
      rows.copy.MutablePending(row) = copy;
    }
    if (rows.kind.Pending(row) != GpuTaskKind::kKernel) rows.bytes.MutablePending(row) = work.bytes;
    if (IsCommunication(work.type)) AppendCollective(i, GpuTaskId(row));
    const std::uint32_t launcher = LauncherOf(i);
    if (launcher == kNoNode) continue;
    has_launches_ = true;
    rows.correlation.MutablePending(row) = i;
    const std::size_t call = AppendUnknown(calls);
    // Places the launch 1 ns before the end of the launcher, so that it is inside. The next node
    // begins at the end.
    const DurationNs before = std::max(DurationNs(0), nodes_[launcher].duration - DurationNs(1));
    calls.start.MutablePending(call) = nodes_[launcher].start + before;
    calls.duration.MutablePending(call) = DurationNs(0);
    calls.name.MutablePending(call) = launch_name;
    calls.category.MutablePending(call) = launch_category;
    calls.kind.MutablePending(call) = HostEventKind::kRuntimeCall;
    calls.thread.MutablePending(call) = ThreadOf(work_[launcher].thread);
    calls.correlation.MutablePending(call) = i;
  }
}

void WorkRows::AppendCollective(std::size_t index, GpuTaskId task) {
  const Work& work = work_[index];
  auto& rows = store_.collectives;
  const std::size_t row = AppendUnknown(rows);
  rows.task.MutablePending(row) = task;
  const bool is_sent = work.type == NodeType::kCommSend,
             is_received = work.type == NodeType::kCommRecv;
  if (is_sent || is_received) {
    rows.name.MutablePending(row) = store_.strings.Intern(is_sent ? "send" : "recv");
  } else if (work.comm_type >= 0 &&
             work.comm_type < static_cast<std::int64_t>(kCollectives.size())) {
    rows.name.MutablePending(row) =
        store_.strings.Intern(kCollectives[static_cast<std::size_t>(work.comm_type)]);
  }
  rows.process_group.MutablePending(row) = work.group;
  std::optional<std::int64_t> members;
  if (work.group.valid()) {
    const std::string_view group = store_.Text(work.group);
    if (const auto known = members_of_group_.find(group); known != members_of_group_.end())
      members = known->second;
    if (const auto ranks = ranks_of_group_.find(group);
        ranks != ranks_of_group_.end() && !work.args.valid()) {
      store_.gpu_tasks.args.MutablePending(task.index()) =
          store_.strings.Intern(fmt::format("\"{}\":\"{}\"", kGroupRanksArg, ranks->second));
    }
  }
  if (members) rows.group_size.MutablePending(row) = *members;
  if (work.bytes == kUnknown) return;
  // The recorded size is that of one rank's input. The file has no data type, so elements are
  // counted as bytes.
  rows.dtype.MutablePending(row) = store_.strings.Intern("Byte");
  std::int64_t in = work.bytes, out = work.bytes;
  const auto type = static_cast<CommType>(work.comm_type);
  if (work.type == NodeType::kCommColl &&
      (type == CommType::kAllGather || type == CommType::kReduceScatter)) {
    if (!members || *members <= 0) return;  // The size of the whole tensor is unknown.
    if (type == CommType::kReduceScatter) {
      out = in / *members;
    } else if (__builtin_mul_overflow(in, *members, &out)) {
      return;
    }
  }
  if (is_sent) out = kUnknown;
  if (is_received) in = kUnknown;
  rows.in_elements.MutablePending(row) = in;
  rows.out_elements.MutablePending(row) = out;
}

void WorkRows::SayWhatIsMissing() {
  std::string missing;
  const auto add = [&](std::string_view what) {
    missing += fmt::format("{}{}", missing.empty() ? "" : "; ", what);
  };
  if (!has_times_ && !work_.empty()) {
    store_.metadata.computed_starts = true;
    add("start times (computed: a node begins when all its dependencies have ended and "
        "its thread or stream is free)");
  }
  if (has_launches_) {
    add("GPU runtime calls (each GPU task gets a call of length 0 at the end of the host work "
        "that it depends on)");
  }
  if (lacks_stream_) add("streams (computation is on stream 0, communication on stream 1)");
  if (!missing.empty()) store_.log.Add(ImportIssue::kNotCollected, -1, missing);
}

void WorkRows::Finish() {
  DropCopies();
  ResolveDependencies();
  FindTimes();
  KeepInputsOnce();
  StretchCallers();
  AppendHost();
  AppendTasks();
  SayWhatIsMissing();
}

}  // namespace headroom::chakra
