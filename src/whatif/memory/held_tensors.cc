#include "whatif/memory/held_tensors.h"

#include <algorithm>

#include "cost/operator_args.h"

namespace headroom {
namespace {

template <typename T>
bool Contains(const std::vector<T>& values, const T& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

/// Returns false if both strides are recorded and place an element differently.
bool SameLayout(const TensorArg& tensor, const std::vector<std::int64_t>& strides) {
  if (tensor.strides.size() != tensor.dims.size() || strides.size() != tensor.dims.size())
    return true;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if (tensor.dims[d] > 1 && tensor.strides[d] != strides[d]) return false;
  }
  return true;
}

}  // namespace

void HeldTensors::Write(const TensorArg& tensor, std::size_t storage) {
  written_[{Elements(tensor.dims), tensor.dtype}].push_back(storage);
  Hold(tensor, storage);
}

void HeldTensors::Hold(const TensorArg& tensor, std::size_t storage) {
  held_[{tensor.dims, tensor.dtype}].push_back(
      {.storage = storage, .serial = serial_++, .strides = tensor.strides});
}

std::optional<std::size_t> HeldTensors::Take(const TensorArg& tensor, bool stays, Taken& taken) {
  if (const auto found = held_.find({tensor.dims, tensor.dtype}); found != held_.end()) {
    std::vector<Held>& stack = found->second;
    const auto take = [&](bool any_layout) -> std::optional<std::size_t> {
      for (std::size_t i = stack.size(); i-- > 0;) {
        const Held held = stack[i];
        if (Contains(taken.holds, held.serial)) continue;
        if (!any_layout && !SameLayout(tensor, held.strides)) continue;
        if (stays) {
          taken.holds.push_back(held.serial);
        } else {
          stack.erase(stack.begin() + static_cast<std::ptrdiff_t>(i));
        }
        return held.storage;
      }
      return std::nullopt;
    };
    if (const auto storage = take(false)) return storage;
    if (const auto storage = take(true)) return storage;
  }
  // Searches other shapes of the same size, for a view that was not recorded.
  const auto found = written_.find({Elements(tensor.dims), tensor.dtype});
  if (found == written_.end()) return std::nullopt;
  const std::vector<std::size_t>& storages = found->second;
  for (std::size_t i = storages.size(); i-- > 0;) {
    if (!Contains(taken.storages, storages[i])) return storages[i];
  }
  return std::nullopt;
}

DType HeldTensors::TypeOf(const TensorArg& tensor) const {
  DType type = DType::kF32;
  std::int64_t latest = -1;
  bool is_floating = false;
  for (auto it = held_.lower_bound({tensor.dims, DType::kUnknown});
       it != held_.end() && it->first.first == tensor.dims; ++it) {
    if (it->second.empty()) continue;
    const bool floating = IsFloating(it->first.second);
    if (floating == is_floating ? it->second.back().serial <= latest : is_floating) continue;
    is_floating = floating;
    latest = it->second.back().serial;
    type = it->first.second;
  }
  return type;
}

}  // namespace headroom
