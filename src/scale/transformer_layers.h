// The layers of a transformer, told by the shapes of its forward alone, and how tensor parallelism
// shares them out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace headroom {

/// One operator of a forward, as far as it tells a transformer.
struct ForwardOperator {
  enum class Kind : std::uint8_t {
    kOther,
    kProduct,    ///< With a weight: (rows x inputs) by (inputs x outputs).
    kAttention,  ///< Of activations with each other: batched products, or a fused attention.
    kLookup,     ///< Of rows of a table, as embeddings are.
  };
  Kind kind = Kind::kOther;
  double rows = 0, inputs = 0, outputs = 0;
  double table = 0;  ///< Elements.
};

/// A stretch of the forward that the GPUs of a tensor-parallel group share out.
struct TensorShard {
  enum class Kind : std::uint8_t {
    kLookup,       ///< The table by rows.
    kAttention,    ///< By heads: the products in front of it by columns, the one behind by rows.
    kFeedForward,  ///< The first products by columns, the last by rows.
    kHead,         ///< The product by columns, and the loss behind it with it.
  };
  Kind kind = Kind::kAttention;
  std::size_t first = 0, last = 0;  ///< Operators, both in it.

  /// Whether the results of all GPUs are summed behind its forward, or its gradients behind its
  /// backward (Shoeybi et al., "Megatron-LM", 2019, section 3).
  bool SumsForward() const { return kind != Kind::kHead; }
  bool SumsBackward() const { return kind != Kind::kLookup; }
};

struct TransformerLayers {
  double rows = 0;                  ///< Of what layers hand on: tokens of a step.
  double width = 0;                 ///< Its columns.
  std::vector<TensorShard> shards;  ///< In order; they do not overlap.

  /// Where each layer begins: the first operators of its attentions.
  std::vector<std::size_t> LayerBegins() const;
};

/// An attention is a run of kAttention operators without a product between them; the product behind
/// it brings its result back to the model's width (that of most of them), and up to three products
/// of that width in front are its query, key and value. Products behind them that widen, up to the
/// one that is back at the width, are the feed-forward part. The widest of what follows the last
/// layer is the head, and the largest table of what comes before the first is that of the words.
/// nullopt: no attention is there.
///
/// @param forward  of one step, in order
std::optional<TransformerLayers> FindTransformerLayers(std::span<const ForwardOperator> forward);

}  // namespace headroom
