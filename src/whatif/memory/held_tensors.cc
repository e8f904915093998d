#include "whatif/memory/held_tensors.h"

#include <algorithm>

#include "cost/operator_args.h"

namespace headroom {
namespace {

template <typename T>
bool Contains(const std::vector<T>& values, const T& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

void HeldTensors::Write(const TensorArg& tensor, std::size_t storage) {
  written_[{Elements(tensor.dims), tensor.dtype}].push_back(storage);
  Hold(tensor, storage);
}

void HeldTensors::Hold(const TensorArg& tensor, std::size_t storage) {
  held_[{tensor.dims, tensor.dtype}].push_back({.storage = storage, .serial = serial_++});
}

std::optional<std::size_t> HeldTensors::Take(const TensorArg& tensor, bool stays, Taken& taken) {
  if (const auto found = held_.find({tensor.dims, tensor.dtype}); found != held_.end()) {
    std::vector<Held>& stack = found->second;
    for (std::size_t i = stack.size(); i-- > 0;) {
      const Held held = stack[i];
      if (Contains(taken.holds, held.serial)) continue;
      if (stays) {
        taken.holds.push_back(held.serial);
      } else {
        stack.erase(stack.begin() + static_cast<std::ptrdiff_t>(i));
      }
      return held.storage;
    }
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
  for (auto it = held_.lower_bound({tensor.dims, DType::kUnknown});
       it != held_.end() && it->first.first == tensor.dims; ++it) {
    if (it->second.empty() || it->second.back().serial <= latest) continue;
    latest = it->second.back().serial;
    type = it->first.second;
  }
  return type;
}

}  // namespace headroom
