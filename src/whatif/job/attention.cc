#include "whatif/job/attention.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/names/operator_costs.h"
#include "whatif/job/operators.h"

namespace headroom {
namespace {

/// Maximum number of operators between a matrix product and the softmax: scale, mask, casts,
/// dropout.
constexpr std::size_t kMaxBetween = 8;

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Returns true for operators that only create another view of memory.
bool IsView(std::string_view name) {
  constexpr std::array<std::string_view, 8> kViews = {
      "aten::view",      "aten::reshape",      "aten::transpose", "aten::permute",
      "aten::unflatten", "aten::_unsafe_view", "aten::unsqueeze", "aten::split"};
  return std::find(kViews.begin(), kViews.end(), name) != kViews.end();
}

class AttentionFinder {
 public:
  explicit AttentionFinder(const Job& job) : job_(job) {}

  std::vector<EagerAttention> Find() {
    for (LaunchingOperator& op : LaunchingOperators(job_)) {
      const Phase phase = job_.ContextOf(op.tasks.front()).phase;
      if (phase == Phase::kOptimizer) continue;
      Known known{.launching = std::move(op), .name = {}, .call = {}};
      known.name = NameOfOperator(job_, known.launching.op);
      known.call = ReadOperatorCall(job_.store(), known.launching.op);
      (phase == Phase::kBackward ? backward_ : forward_).push_back(std::move(known));
    }
    for (std::size_t i = 0; i < forward_.size(); ++i) MatchAround(i);
    if (!found_.empty()) AddBackward();
    return std::move(found_);
  }

 private:
  struct Known {
    LaunchingOperator launching;
    std::string_view name;
    std::optional<OperatorCall> call;
  };
  /// Rows of host events, on one thread.
  struct Rows {
    std::uint32_t first = 0, last = 0;
  };

  ThreadId ThreadOf(const Known& op) const {
    return job_.store().host_events.thread[op.launching.op.index()];
  }
  bool IsCopyOf(const Known& op, double elements) const {
    return op.name == "aten::copy_" && op.call && LargestElements(*op.call) == elements;
  }

  /// Returns the position of the nearest matrix product before or after the softmax;
  /// forward_.size() if not found. Only operators on scores may lie between.
  std::size_t Product(std::size_t softmax, int direction, double scores) const {
    std::size_t i = softmax;
    for (std::size_t between = 0; between <= kMaxBetween; ++between) {
      if ((direction < 0 && i == 0) || (direction > 0 && i + 1 == forward_.size())) break;
      i = direction < 0 ? i - 1 : i + 1;
      const Known& op = forward_[i];
      if (!op.call || ThreadOf(op) != ThreadOf(forward_[softmax])) break;
      if (GemmShapeOf(*op.call)) return i;
      // Copies of the second product's operands may also lie between.
      if (LargestElements(*op.call) > scores || Contains(op.name, "softmax")) break;
    }
    return forward_.size();
  }

  void MatchAround(std::size_t softmax) {
    const Known& op = forward_[softmax];
    if (!Contains(op.name, "softmax") || Contains(op.name, "log_softmax") || !op.call) return;
    const TensorArg* scores = FirstTensor(*op.call);
    if (scores == nullptr || scores->dims.size() < 3) return;
    const std::size_t rank = scores->dims.size();
    const std::int64_t queries = scores->dims[rank - 2], keys = scores->dims[rank - 1];
    const double elements = ElementsOf(*scores);
    const std::size_t first = Product(softmax, -1, elements),
                      second = Product(softmax, +1, elements);
    if (first == forward_.size() || second == forward_.size()) return;
    const std::optional<GemmShape> qk = GemmShapeOf(*forward_[first].call);
    const std::optional<GemmShape> pv = GemmShapeOf(*forward_[second].call);
    const auto scores_of = static_cast<std::int64_t>(elements);
    if (qk->m != queries || qk->n != keys || qk->batch * qk->m * qk->n != scores_of) return;
    if (pv->m != queries || pv->k != keys || pv->batch != qk->batch) return;

    EagerAttention attention;
    attention.dtype = qk->dtype;
    attention.shape = {.sequences = static_cast<double>(qk->batch),
                       .queries = static_cast<double>(queries),
                       .keys = static_cast<double>(keys),
                       .key_size = static_cast<double>(qk->k),
                       .value_size = static_cast<double>(pv->n)};
    const AttentionShape& shape = attention.shape;
    for (std::size_t i = first; i < softmax; ++i)
      attention.shape.causal |= MasksPairs(*forward_[i].call, queries, keys, elements);
    for (std::size_t i = softmax + 1; i < second; ++i)
      attention.shape.dropout |= Contains(forward_[i].name, "dropout");

    // The operator around the product may also contain earlier operators: copies that make operands
    // contiguous, or a scale. These belong to the attention, unless that operator also contains the
    // projections.
    auto around =
        static_cast<std::uint32_t>(OutermostOperator(job_, forward_[first].launching.op).index());
    std::size_t begin = first;
    while (begin > 0 && ThreadOf(forward_[begin - 1]) == ThreadOf(op) &&
           forward_[begin - 1].launching.op.index() > around) {
      --begin;
      if (!forward_[begin].call || !GemmShapeOf(*forward_[begin].call)) continue;
      begin = first;
      around = static_cast<std::uint32_t>(forward_[first].launching.op.index());
    }
    // A copy after the second product makes the output contiguous. The fused kernel writes
    // contiguous output.
    std::size_t end = second + 1;
    if (end < forward_.size() && ThreadOf(forward_[end]) == ThreadOf(op) &&
        IsCopyOf(forward_[end], shape.sequences * shape.queries * shape.value_size)) {
      ++end;
    }
    for (std::size_t i = begin; i < end; ++i) {
      const LaunchingOperator& part = forward_[i].launching;
      attention.forward.insert(attention.forward.end(), part.tasks.begin(), part.tasks.end());
    }
    const std::uint32_t last =
        EndRow(job_, OutermostOperator(job_, forward_[end - 1].launching.op));
    for (std::uint32_t row = around; row < last; ++row) attention.host_events.emplace_back(row);
    rows_.push_back({around, last});
    found_.push_back(std::move(attention));
  }

  /// Returns true if the operator reads a mask over queries and keys that all heads share.
  static bool MasksPairs(const OperatorCall& call, std::int64_t queries, std::int64_t keys,
                         double scores) {
    if (queries != keys) return false;
    for (const OperatorArg& arg : call.args) {
      for (const TensorArg& tensor : arg.tensors) {
        const std::size_t rank = tensor.dims.size();
        if (rank < 2 || tensor.dims[rank - 2] != queries || tensor.dims[rank - 1] != keys) continue;
        if (ElementsOf(tensor) < scores && (rank == 2 || tensor.dims[rank - 3] == 1)) return true;
      }
    }
    return false;
  }

  std::size_t AttentionAround(HostEventId forward) const {
    const auto row = static_cast<std::uint32_t>(forward.index());
    const auto after =
        std::upper_bound(rows_.begin(), rows_.end(), row,
                         [](std::uint32_t value, const Rows& rows) { return value < rows.first; });
    if (after == rows_.begin() || row >= (after - 1)->last) return found_.size();
    return static_cast<std::size_t>(after - rows_.begin()) - 1;
  }

  void AddBackward() {
    // rows_ is sorted if one thread runs the whole forward. Otherwise, rows out of order do not
    // match.
    std::vector<int> gradients(found_.size());
    std::size_t current = found_.size();
    for (const Known& op : backward_) {
      const HostEventId forward = job_.ContextOf(op.launching.tasks.front()).forward;
      if (!forward.valid()) continue;
      const std::size_t around = AttentionAround(forward);
      if (around < found_.size()) {
        current = around;
      } else if (current == found_.size() || !IsGradientCopy(op, found_[current].shape) ||
                 !IsView(NameOfOperator(job_, forward)) || ++gradients[current] > 3) {
        // Accepts at most three such copies: the gradients of Q, K and V. The fused kernel writes
        // them in their final layout.
        continue;
      } else {
        found_[current].host_events.push_back(OutermostOperator(job_, op.launching.op));
      }
      EagerAttention& attention = found_[current];
      const std::vector<TaskIndex>& tasks = op.launching.tasks;
      attention.backward.insert(attention.backward.end(), tasks.begin(), tasks.end());
    }
    const auto& events = job_.store().host_events;
    for (std::size_t row = 0; row < events.rows(); ++row) {
      const HostContext& context = job_.attribution().Of(HostEventId(row));
      if (context.phase != Phase::kBackward || !context.forward.valid()) continue;
      const std::size_t around = AttentionAround(context.forward);
      if (around < found_.size()) found_[around].host_events.emplace_back(row);
    }
  }

  bool IsGradientCopy(const Known& op, const AttentionShape& shape) const {
    return IsCopyOf(op, shape.sequences * shape.queries * shape.key_size) ||
           IsCopyOf(op, shape.sequences * shape.keys * shape.key_size) ||
           IsCopyOf(op, shape.sequences * shape.keys * shape.value_size);
  }

  const Job& job_;
  std::vector<Known> forward_, backward_;
  std::vector<EagerAttention> found_;
  std::vector<Rows> rows_;  ///< Forward rows of each attention operation.
};

}  // namespace

std::vector<EagerAttention> FindEagerAttention(const Job& job) {
  return AttentionFinder(job).Find();
}

}  // namespace headroom
