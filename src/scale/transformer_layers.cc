#include "scale/transformer_layers.h"

#include <algorithm>
#include <map>

namespace headroom {
namespace {

using Kind = ForwardOperator::Kind;

class LayerFinder {
 public:
  explicit LayerFinder(std::span<const ForwardOperator> forward) : forward_(forward) {}

  std::optional<TransformerLayers> Find() {
    const std::vector<Attention> attentions = Attentions();
    if (attentions.empty()) return std::nullopt;
    found_.width = MostCommonWidth(attentions);
    for (const Attention& attention : attentions) {
      // Another width belongs to another network, such as the image encoder of a language model.
      if (forward_[attention.output].outputs != found_.width) continue;
      if (found_.shards.empty()) found_.rows = forward_[attention.output].rows;
      AddAttention(attention);
    }
    AddFeedForward(forward_.size());
    AddHead();
    AddLookup();
    return std::move(found_);
  }

 private:
  struct Attention {
    /// First operator of the attention, and the product after the attention.
    std::size_t first, output;
  };

  std::vector<Attention> Attentions() const {
    std::vector<Attention> all;
    std::size_t first = Next(0, Kind::kAttention);
    while (first < forward_.size()) {
      const std::size_t output = Next(first, Kind::kProduct);
      if (output == forward_.size()) break;
      all.push_back({first, output});
      first = Next(output, Kind::kAttention);
    }
    return all;
  }

  double MostCommonWidth(const std::vector<Attention>& attentions) const {
    std::map<double, int> counts;
    for (const Attention& attention : attentions) ++counts[forward_[attention.output].outputs];
    return std::max_element(counts.begin(), counts.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }

  std::size_t Next(std::size_t from, Kind kind) const {
    while (from < forward_.size() && forward_[from].kind != kind) ++from;
    return from;
  }

  /// Returns one past the last operator of a shard.
  std::size_t End() const { return found_.shards.empty() ? 0 : found_.shards.back().last + 1; }

  void AddAttention(const Attention& attention) {
    if (!found_.shards.empty()) AddFeedForward(attention.first);
    constexpr int kMaxInputs = 3;  // Query, key and value.
    std::size_t first = attention.first;
    int inputs = 0;
    for (std::size_t i = attention.first; i-- > End() && inputs < kMaxInputs;) {
      if (forward_[i].kind != Kind::kProduct) continue;
      if (forward_[i].inputs != found_.width) break;
      first = i;
      ++inputs;
    }
    found_.shards.push_back(
        {.kind = TensorShard::Kind::kAttention, .first = first, .last = attention.output});
  }

  /// Adds the feed-forward part after the last attention and before `end`, if present.
  void AddFeedForward(std::size_t end) {
    const std::size_t first = Next(End(), Kind::kProduct);
    if (first >= end || forward_[first].inputs != found_.width ||
        forward_[first].outputs == found_.width)
      return;
    for (std::size_t last = Next(first + 1, Kind::kProduct); last < end;
         last = Next(last + 1, Kind::kProduct)) {
      if (forward_[last].outputs != found_.width) continue;
      found_.shards.push_back(
          {.kind = TensorShard::Kind::kFeedForward, .first = first, .last = last});
      return;
    }
  }

  void AddHead() {
    std::size_t head = forward_.size();
    double widest = found_.width;
    for (std::size_t i = Next(End(), Kind::kProduct); i < forward_.size();
         i = Next(i + 1, Kind::kProduct)) {
      if (forward_[i].inputs != found_.width || forward_[i].outputs <= widest) continue;
      head = i;
      widest = forward_[i].outputs;
    }
    if (head == forward_.size()) return;
    found_.shards.push_back(
        {.kind = TensorShard::Kind::kHead, .first = head, .last = forward_.size() - 1});
  }

  void AddLookup() {
    const std::size_t end = found_.shards.front().first;
    std::size_t lookup = end;
    // A smaller parameter is a bias or a scale.
    double largest = 2 * found_.width;
    for (std::size_t i = Next(0, Kind::kLookup); i < end; i = Next(i + 1, Kind::kLookup)) {
      if (forward_[i].table <= largest) continue;
      lookup = i;
      largest = forward_[i].table;
    }
    if (lookup == end) return;
    found_.shards.insert(
        found_.shards.begin(),
        TensorShard{.kind = TensorShard::Kind::kLookup, .first = lookup, .last = lookup});
  }

  std::span<const ForwardOperator> forward_;
  TransformerLayers found_;
};

}  // namespace

std::vector<std::size_t> TransformerLayers::LayerBegins() const {
  std::vector<std::size_t> begins;
  for (const TensorShard& shard : shards) {
    if (shard.kind == TensorShard::Kind::kAttention) begins.push_back(shard.first);
  }
  return begins;
}

std::optional<TransformerLayers> FindTransformerLayers(std::span<const ForwardOperator> forward) {
  return LayerFinder(forward).Find();
}

}  // namespace headroom
