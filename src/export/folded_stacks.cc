#include "export/folded_stacks.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "render/escape.h"

namespace headroom {
namespace {

std::string Frame(std::string_view name) {
  std::string frame;
  for (const char c : ValidUtf8(name)) {
    const bool ends_line = static_cast<unsigned char>(c) < 0x20;
    frame += c == ';' ? ':' : ends_line ? ' ' : c;
  }
  return frame.empty() ? "(no name)" : frame;
}

/// Stacks as a tree of names: equal ones of different events are one node.
class StackTree {
 public:
  using Node = std::uint32_t;
  static constexpr Node kRoot = 0;

  StackTree() : nodes_(1) {}

  Node Child(Node parent, std::string_view name) {
    const auto [found, is_new] =
        children_.try_emplace({parent, std::string(name)}, static_cast<Node>(nodes_.size()));
    if (is_new) nodes_.push_back({.parent = parent, .name = &found->first.second, .time = {}});
    return found->second;
  }
  void Add(Node node, DurationNs time) { nodes_[node].time += time; }

  std::string Lines() const {
    std::map<std::string, std::int64_t> lines;
    for (const Entry& entry : nodes_) {
      if (entry.time.ns() <= 0) continue;
      std::string stack = Frame(*entry.name);
      for (Node at = entry.parent; at != kRoot; at = nodes_[at].parent)
        stack.insert(0, Frame(*nodes_[at].name).append(";"));
      lines[stack] += entry.time.ns();
    }
    std::string text;
    for (const auto& [stack, ns] : lines) text += fmt::format("{} {}\n", stack, ns);
    return text;
  }

 private:
  struct Entry {
    Node parent = kRoot;
    const std::string* name = nullptr;  ///< A key of children_, which stays where it is.
    DurationNs time;
  };
  std::map<std::pair<Node, std::string>, Node> children_;
  std::vector<Entry> nodes_;
};

class StackFolder {
 public:
  explicit StackFolder(const TraceStore& store)
      : store_(store), node_of_(store.host_events.rows()) {
    const auto& rows = store.host_events;
    for (std::size_t row = 0; row < node_of_.size(); ++row) {
      const HostEventId parent = rows.parent[row];  // Comes before it.
      node_of_[row] =
          tree_.Child(parent.valid() ? node_of_[parent.index()] : OfThread(rows.thread[row]),
                      store.Text(rows.name[row]));
    }
  }

  std::string HostTime() {
    const auto& rows = store_.host_events;
    std::vector<DurationNs> self(rows.duration.values().begin(), rows.duration.values().end());
    for (std::size_t row = 0; row < self.size(); ++row) {
      if (const HostEventId parent = rows.parent[row]; parent.valid())
        self[parent.index()] -= rows.duration[row];
    }
    for (std::size_t row = 0; row < self.size(); ++row) {
      // Drawn over a stream: no work of the host.
      if (rows.kind[row] != HostEventKind::kGpuAnnotation) tree_.Add(node_of_[row], self[row]);
    }
    return tree_.Lines();
  }

  std::string GpuTime() {
    const auto& rows = store_.gpu_tasks;
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      const HostEventId launch = rows.launch[row];
      const StackTree::Node below = launch.valid()
                                        ? node_of_[launch.index()]
                                        : tree_.Child(StackTree::kRoot, "(no launch recorded)");
      tree_.Add(tree_.Child(below, store_.Text(rows.name[row])), rows.duration[row]);
    }
    return tree_.Lines();
  }

 private:
  StackTree::Node OfThread(ThreadId thread) {
    const std::string_view name = store_.Text(store_.threads.name[thread.index()]);
    if (!name.empty()) return tree_.Child(StackTree::kRoot, name);
    return tree_.Child(StackTree::kRoot,
                       fmt::format("thread {}", store_.Text(store_.threads.tid[thread.index()])));
  }

  const TraceStore& store_;
  StackTree tree_;
  std::vector<StackTree::Node> node_of_;  ///< By host event.
};

}  // namespace

std::string FoldedStacks(const TraceStore& store, StackTime time) {
  StackFolder folder(store);
  return time == StackTime::kHost ? folder.HostTime() : folder.GpuTime();
}

}  // namespace headroom
