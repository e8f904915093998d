// Finds the layers of a transformer from the shapes of its forward, and how tensor parallelism
// splits them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace headroom {

/// One operator of a forward, with the properties that identify transformer layers.
struct ForwardOperator {
  enum class Kind : std::uint8_t {
    kOther,
    kProduct,    ///< With a weight: (rows x inputs) by (inputs x outputs).
    kAttention,  ///< Between activations: batched products, or a fused attention.
    kLookup,     ///< Reads rows of a table, as embeddings do.
  };
  Kind kind = Kind::kOther;
  double rows = 0, inputs = 0, outputs = 0;
  double table = 0;  ///< Elements of the table.
};

/// A part of the forward that the GPUs of a tensor-parallel group share.
struct TensorShard {
  enum class Kind : std::uint8_t {
    kLookup,       ///< Splits the table by rows.
    kAttention,    ///< Splits by heads: the products before the attention by columns, the product
                   ///< after it by rows.
    kFeedForward,  ///< Splits the first products by columns, the last by rows.
    kHead,         ///< Splits the product, and with it the loss, by columns.
  };
  Kind kind = Kind::kAttention;
  std::size_t first = 0, last = 0;  ///< First and last operator, inclusive.

  /// Returns true if the group all-reduces the results after the shard's forward. SumsBackward()
  /// does the same for the gradients after the shard's backward (Shoeybi et al., "Megatron-LM",
  /// 2019, section 3).
  bool SumsForward() const { return kind != Kind::kHead; }
  bool SumsBackward() const { return kind != Kind::kLookup; }
};

struct TransformerLayers {
  double rows = 0;                  ///< Rows of the data that layers pass on: tokens per step.
  double width = 0;                 ///< Columns of that data.
  std::vector<TensorShard> shards;  ///< In order; they do not overlap.

  /// Returns the start of each layer: the first operator of its attention.
  std::vector<std::size_t> LayerBegins() const;
};

/// Identifies layers by these rules:
/// - An attention is a run of kAttention operators without a product between them.
/// - The product after an attention returns to the model's width, which is the most common width of
///   these products.
/// - Up to three products of that width before an attention are its query, key and value.
/// - The feed-forward part is the widening products after an attention, up to the product that
///   returns to the width.
/// - The head is the widest product after the last layer.
/// - The embedding is the largest table before the first layer.
///
/// Returns nullopt if there is no attention.
///
/// @param forward  operators of one step's forward, in order
std::optional<TransformerLayers> FindTransformerLayers(std::span<const ForwardOperator> forward);

}  // namespace headroom
