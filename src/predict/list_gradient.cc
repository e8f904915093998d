#include "predict/list_gradient.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/kernel_work.h"

namespace headroom {
namespace {

/// The extents of a product, in order of size. A layer's product and both of its gradients have the
/// same.
using SortedExtents = std::array<double, 3>;

SortedExtents SortedExtentsOf(const ProductWork& product) {
  SortedExtents extents = {product.m, product.k, product.n};
  std::sort(extents.begin(), extents.end());
  return extents;
}

/// Returns the gradient of the first operand.
ProductWork InputGradient(ProductWork product) {
  std::swap(product.k, product.n);
  product.second_along_k = false;
  return product;
}

/// Returns the gradient of a layer's weight.
ProductWork WeightGradient(ProductWork product) {
  product = {.batch = product.batch, .m = product.n, .k = product.m, .n = product.k};
  product.first_along_k = false;
  return product;
}

struct ProductCount {
  double forward = 0, backward = 0;
};

class LostGradients {
 public:
  explicit LostGradients(const OperatorList& list) : list_(list) {}

  std::vector<ListedWork> Find() {
    for (const ListedWork& listed : list_.works) Count(listed);
    const bool trains =
        std::any_of(list_.works.begin(), list_.works.end(),
                    [](const ListedWork& listed) { return listed.phase != StepPhase::kForward; });
    if (!trains || attention_.forward == 0 || attention_.backward > 0 ||
        all_.backward < all_.forward)
      return {};
    for (const ListedWork& listed : list_.works) {
      if (listed.phase == StepPhase::kForward) AddOf(listed);
    }
    return std::move(added_);
  }

 private:
  void Count(const ListedWork& listed) {
    const bool forward = listed.phase == StepPhase::kForward;
    const auto add = [&](ProductCount& to) {
      (forward ? to.forward : to.backward) += listed.repeats;
    };
    if (std::holds_alternative<AttentionWork>(listed.work.shape)) add(attention_);
    const auto* product = std::get_if<ProductWork>(&listed.work.shape);
    if (product == nullptr || product->batched) return;
    add(all_);
    add(products_[SortedExtentsOf(*product)]);
  }

  void AddOf(const ListedWork& listed) {
    if (const auto* attention = std::get_if<AttentionWork>(&listed.work.shape)) {
      AttentionWork gradient = *attention;
      gradient.backward = true;
      Add(listed, gradient, listed.repeats);
      return;
    }
    const auto* product = std::get_if<ProductWork>(&listed.work.shape);
    if (product == nullptr || product->batched) return;
    ProductCount& count = products_[SortedExtentsOf(*product)];
    const std::array gradients = {InputGradient(*product), WeightGradient(*product)};
    for (const ProductWork& gradient : gradients) {
      // The listed ones belong to the first products of these extents.
      const double known = std::min(count.backward, listed.repeats);
      count.backward -= known;
      if (known < listed.repeats) Add(listed, gradient, listed.repeats - known);
    }
  }

  template <typename Shape>
  void Add(const ListedWork& forward, const Shape& shape, double repeats) {
    ListedWork gradient = forward;
    gradient.repeats = repeats;
    gradient.op = list_.operators + static_cast<std::int64_t>(added_.size());
    gradient.phase = StepPhase::kBackward;
    gradient.work.shape = shape;
    gradient.result = 0;
    gradient.largest_input = 0;
    added_.push_back(std::move(gradient));
  }

  const OperatorList& list_;
  ProductCount attention_, all_;
  std::map<SortedExtents, ProductCount> products_;
  std::vector<ListedWork> added_;
};

}  // namespace

void AddLostGradients(OperatorList& list) {
  std::vector<ListedWork> lost = LostGradients(list).Find();
  list.added = static_cast<std::int64_t>(lost.size());
  list.operators += list.added;
  list.works.insert(list.works.end(), lost.begin(), lost.end());
}

}  // namespace headroom
