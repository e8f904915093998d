// The rows of a Chakra execution trace that another tool wrote. Each node is work of the host, of a
// GPU or of the network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingest/chakra/node.h"
#include "ingest/chakra/schedule.h"
#include "store/trace_store.h"

namespace headroom::chakra {

class WorkRows {
 public:
  explicit WorkRows(TraceStore& store) : store_(store) {}

  void ReadMetadata(const Metadata& metadata);
  void Add(const Node& node, std::int64_t offset);
  /// Computes the times of nodes if the file has none, and makes rows of the nodes.
  void Finish();

 private:
  /// The kept data of a node.
  struct Work {
    std::uint64_t id = 0;
    std::int64_t offset = 0;
    NodeType type = NodeType::kInvalid;
    bool on_cpu = false;
    StringId name, args;
    std::int64_t thread = 0;              ///< Host work only.
    std::int64_t stream = 0, device = 0;  ///< GPU and network work only.
    std::int64_t sequence = kUnknown, record_function = kUnknown;
    std::int32_t forward_thread = kUnknown32;
    bool is_range = false;  ///< Host work: a range of the program instead of an operator.
    bool is_piece =
        false;  ///< Host work: a piece of an operator that a converter split after its launches.
    std::int64_t bytes = kUnknown;
    std::int64_t comm_type = -1;
    StringId group;
    std::uint64_t caller = 0;  ///< Id of the calling node, from `ctrl_deps`.
    bool has_caller = false;
  };

  void ReadGroups(std::string_view list);
  std::string OperatorArgs(const Node& node) const;
  void DropCopies();
  void ResolveDependencies();
  /// Sets the times of all nodes: from the file if it has any, else computed.
  void FindTimes();
  /// Keeps the inputs of an operator only in the piece that launches most work. The pieces then
  /// count as one call.
  void KeepInputsOnce();
  /// Stretches host nodes around the nodes that they call on their thread.
  void StretchCallers();
  void AppendHost();
  void AppendTasks();
  void AppendCollective(std::size_t index, GpuTaskId task);
  void SayWhatIsMissing();

  std::uint32_t IndexOf(std::uint64_t id) const;
  ThreadId ThreadOf(std::int64_t number);
  StreamId StreamOf(std::int64_t device, std::int64_t number);
  std::uint32_t LauncherOf(std::uint32_t index) const;

  TraceStore& store_;
  std::string process_ = "0";
  std::vector<Work> work_;
  std::vector<ScheduledNode> nodes_;  ///< Indexed like work_.
  std::vector<std::uint64_t> dep_ids_;
  std::vector<std::uint32_t> deps_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> index_of_;  ///< Sorted by id.
  std::vector<TimeNs> around_;  ///< For host nodes: the end of the last node that they call.
  bool has_times_ = false, lacks_stream_ = false, has_launches_ = false;
  std::map<std::string, std::string, std::less<>> ranks_of_group_;
  std::map<std::string, std::int64_t, std::less<>> members_of_group_;
  std::map<std::int64_t, ThreadId> threads_;
  std::map<std::pair<std::int64_t, std::int64_t>, StreamId> streams_;
};

}  // namespace headroom::chakra
