#include "export/folded_stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/string_pool.h"
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

/// Stacks as a tree of frames. Equal stacks of different events share a node.
class StackTree {
 public:
  using Node = std::uint32_t;
  static constexpr Node kRoot = 0;

  StackTree() : nodes_(1) {}

  Node Child(Node parent, std::string_view name) {
    const StringId frame = frames_.Intern(Frame(name));
    const auto [found, is_new] =
        children_.try_emplace({parent, frame}, static_cast<Node>(nodes_.size()));
    if (is_new) nodes_.push_back({.parent = parent, .frame = frame, .time = {}});
    return found->second;
  }
  void Add(Node node, DurationNs time) { nodes_[node].time += time; }

  /// Returns the size of Lines() in bytes. Each line repeats its whole stack, so n nested frames
  /// write n * n / 2 frames.
  std::int64_t LineBytes() const {
    constexpr std::int64_t kNumberBytes = 20;
    std::int64_t bytes = 0;
    std::vector<std::int64_t> stack_bytes(nodes_.size());
    for (Node node = 1; node < nodes_.size(); ++node) {  // A parent comes before its children.
      const Entry& entry = nodes_[node];
      stack_bytes[node] = stack_bytes[entry.parent] + 1 +
                          static_cast<std::int64_t>(frames_.Get(entry.frame).size());
      if (entry.time.ns() > 0) bytes += stack_bytes[node] + kNumberBytes;
    }
    return bytes;
  }

  std::string Lines() const {
    std::vector<std::vector<Node>> children(nodes_.size());
    for (Node node = 1; node < nodes_.size(); ++node) children[nodes_[node].parent].push_back(node);
    std::string text, stack;
    /// Each node with the bytes of the stack above it.
    std::vector<std::pair<Node, std::size_t>> open;
    const auto open_children = [&](Node parent) {
      std::vector<Node>& nodes = children[parent];
      std::sort(nodes.begin(), nodes.end(), [&](Node a, Node b) {
        return frames_.Get(nodes_[a].frame) >
               frames_.Get(nodes_[b].frame);  // Pushed in reverse: the last one is written first.
      });
      for (const Node node : nodes) open.emplace_back(node, stack.size());
    };
    for (open_children(kRoot); !open.empty();) {
      const auto [node, above] = open.back();
      open.pop_back();
      const Entry& entry = nodes_[node];
      stack.resize(above);
      if (above > 0) stack += ';';
      stack += frames_.Get(entry.frame);
      if (entry.time.ns() > 0) {
        text += stack;
        fmt::format_to(std::back_inserter(text), " {}\n", entry.time.ns());
      }
      open_children(node);
    }
    return text;
  }

 private:
  struct Entry {
    Node parent = kRoot;
    StringId frame;
    DurationNs time;
  };
  StringPool frames_;
  std::map<std::pair<Node, StringId>, Node> children_;
  std::vector<Entry> nodes_;
};

class StackFolder {
 public:
  explicit StackFolder(const TraceStore& store)
      : store_(store), node_of_(store.host_events.rows()) {
    const auto& rows = store.host_events;
    for (std::size_t row = 0; row < node_of_.size(); ++row) {
      const HostEventId parent = rows.parent[row];  // The parent's row comes before this one.
      node_of_[row] =
          tree_.Child(parent.valid() ? node_of_[parent.index()] : OfThread(rows.thread[row]),
                      store.Text(rows.name[row]));
    }
  }

  const StackTree& HostTime() {
    const auto& rows = store_.host_events;
    std::vector<DurationNs> self(rows.duration.values().begin(), rows.duration.values().end());
    for (std::size_t row = 0; row < self.size(); ++row) {
      if (const HostEventId parent = rows.parent[row]; parent.valid())
        self[parent.index()] -= rows.duration[row];
    }
    for (std::size_t row = 0; row < self.size(); ++row) {
      // GPU annotations describe streams and are not host work.
      if (rows.kind[row] != HostEventKind::kGpuAnnotation) tree_.Add(node_of_[row], self[row]);
    }
    return tree_;
  }

  const StackTree& GpuTime() {
    const auto& rows = store_.gpu_tasks;
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      const HostEventId launch = rows.launch[row];
      const StackTree::Node below = launch.valid()
                                        ? node_of_[launch.index()]
                                        : tree_.Child(StackTree::kRoot, "(no launch recorded)");
      tree_.Add(tree_.Child(below, store_.Text(rows.name[row])), rows.duration[row]);
    }
    return tree_;
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
  std::vector<StackTree::Node> node_of_;  ///< Indexed by host event.
};

}  // namespace

Result<std::string> FoldedStacks(const TraceStore& store, StackTime time, const std::string& path,
                                 ExpansionLimit limit) {
  StackFolder folder(store);
  const StackTree& stacks = time == StackTime::kHost ? folder.HostTime() : folder.GpuTime();
  if (Status status = limit.CheckWritten(path, stacks.LineBytes(), store.metadata.file_bytes);
      !status.ok())
    return status;
  return stacks.Lines();
}

}  // namespace headroom
