#include "scale/transformer_layers.h"

#include <gtest/gtest.h>

namespace headroom {
namespace transformer_layers_test {

using Kind = ForwardOperator::Kind;
using ShardKind = TensorShard::Kind;

constexpr double kTokens = 4096, kWidth = 1280;

/// Collects the operators of a forward.
struct Forward {
  std::vector<ForwardOperator> operators;

  std::size_t Product(double inputs, double outputs) {
    operators.push_back(
        {.kind = Kind::kProduct, .rows = kTokens, .inputs = inputs, .outputs = outputs});
    return operators.size() - 1;
  }
  std::size_t Other() {
    operators.emplace_back();
    return operators.size() - 1;
  }
  std::size_t Lookup(double table) {
    operators.push_back({.kind = Kind::kLookup, .table = table});
    return operators.size() - 1;
  }
  void Attention() {
    operators.push_back({.kind = Kind::kAttention});
    Other();  // The softmax.
    operators.push_back({.kind = Kind::kAttention});
  }
};

TEST(TransformerLayersTest, OneProductForQueryKeyAndValue) {
  Forward f;
  f.Lookup(50257 * kWidth);
  f.Lookup(1024 * kWidth);  // Lookup of positions.
  struct Layer {
    std::size_t attention, output, up, down;
  };
  std::vector<Layer> layers;
  for (int i = 0; i < 2; ++i) {
    Layer layer{};
    f.Other();  // Norm.
    layer.attention = f.Product(kWidth, 3 * kWidth);
    f.Attention();
    layer.output = f.Product(kWidth, kWidth);
    f.Other();  // Sum, norm.
    layer.up = f.Product(kWidth, 4 * kWidth);
    f.Other();
    layer.down = f.Product(4 * kWidth, kWidth);
    f.Other();
    layers.push_back(layer);
  }
  const std::size_t head = f.Product(kWidth, 50257);
  const std::size_t loss = f.Other();
  const auto found = FindTransformerLayers(f.operators);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->width, kWidth);
  EXPECT_EQ(found->rows, kTokens);
  ASSERT_EQ(found->shards.size(), 6u);
  EXPECT_EQ(found->shards[0].kind, ShardKind::kLookup);
  EXPECT_EQ(found->shards[0].first, 0u);
  for (std::size_t i = 0; i < 2; ++i) {
    const TensorShard &attention = found->shards[1 + 2 * i], &rest = found->shards[2 + 2 * i];
    EXPECT_EQ(attention.kind, ShardKind::kAttention);
    EXPECT_EQ(attention.first, layers[i].attention);
    EXPECT_EQ(attention.last, layers[i].output);
    EXPECT_EQ(rest.kind, ShardKind::kFeedForward);
    EXPECT_EQ(rest.first, layers[i].up);
    EXPECT_EQ(rest.last, layers[i].down);
  }
  EXPECT_EQ(found->shards[5].kind, ShardKind::kHead);
  EXPECT_EQ(found->shards[5].first, head);
  EXPECT_EQ(found->shards[5].last, loss);
  EXPECT_EQ(found->LayerBegins(),
            (std::vector<std::size_t>{layers[0].attention, layers[1].attention}));
}

TEST(TransformerLayersTest, ThreeProductsInFrontAndAGateBehind) {
  Forward f;
  std::vector<std::size_t> queries, outputs, gates, downs;
  for (int i = 0; i < 2; ++i) {
    queries.push_back(f.Product(kWidth, kWidth));
    f.Product(kWidth, kWidth / 4);  // Fewer heads for keys and values.
    f.Product(kWidth, kWidth / 4);
    f.Attention();
    outputs.push_back(f.Product(kWidth, kWidth));
    gates.push_back(f.Product(kWidth, 3456));
    f.Product(kWidth, 3456);
    downs.push_back(f.Product(3456, kWidth));
  }
  const auto found = FindTransformerLayers(f.operators);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->shards.size(), 4u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(found->shards[2 * i].first, queries[i]);
    EXPECT_EQ(found->shards[2 * i].last, outputs[i]);
    EXPECT_EQ(found->shards[2 * i + 1].first, gates[i]);
    EXPECT_EQ(found->shards[2 * i + 1].last, downs[i]);
  }
}

TEST(TransformerLayersTest, AHeadOfTheModelsWidthComesBeforeTheWidestOne) {
  Forward f;
  f.Product(kWidth, 3 * kWidth);
  f.Attention();
  f.Product(kWidth, kWidth);
  f.Product(kWidth, kWidth);  // First product of BERT's head.
  const std::size_t head = f.Product(kWidth, 30522);
  const auto found = FindTransformerLayers(f.operators);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->shards.size(), 2u);
  EXPECT_EQ(found->shards[1].kind, ShardKind::kHead);
  EXPECT_EQ(found->shards[1].first, head);
}

TEST(TransformerLayersTest, TheWidthIsThatOfMostLayers) {
  Forward f;
  f.Attention();
  f.Product(32, 32);  // A small network before the layers.
  std::vector<std::size_t> outputs;
  for (int i = 0; i < 2; ++i) {
    f.Product(kWidth, 3 * kWidth);
    f.Attention();
    outputs.push_back(f.Product(2 * kWidth, kWidth));  // Heads are wider than the model.
  }
  const auto found = FindTransformerLayers(f.operators);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->width, kWidth);
  ASSERT_EQ(found->shards.size(), 2u);
  EXPECT_EQ(found->shards[0].last, outputs[0]);
  EXPECT_EQ(found->shards[1].last, outputs[1]);
}

TEST(TransformerLayersTest, WithoutAttentionThereAreNone) {
  Forward f;
  f.Product(kWidth, 4 * kWidth);
  f.Product(4 * kWidth, kWidth);
  EXPECT_FALSE(FindTransformerLayers(f.operators));
  EXPECT_FALSE(FindTransformerLayers({}));
}

}  // namespace transformer_layers_test
}  // namespace headroom
