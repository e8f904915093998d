#include "cost/operator_args.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace headroom {
namespace {

std::optional<std::int64_t> ToInt(std::string_view text) {
  std::int64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<bool> ToBool(std::string_view text) {
  if (text == "True" || text == "true" || text == "1") return true;
  if (text == "False" || text == "false" || text == "0") return false;
  return std::nullopt;
}

std::string_view ConcreteAt(const OperatorCall& call, std::size_t index) {
  return index < call.args.size() ? TrimBlanks(call.args[index].concrete) : std::string_view();
}

/// Splits "[a, b]" and converts every part. Returns nullopt if `text` is not a list or a part
/// cannot be converted.
template <typename T, typename Convert>
std::optional<std::vector<T>> ToList(std::string_view text, Convert convert) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = TrimBlanks(text.substr(1, text.size() - 2));
  std::vector<T> values;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const auto value = convert(TrimBlanks(text.substr(0, comma)));
    if (!value) return std::nullopt;
    values.push_back(*value);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return values;
}

}  // namespace

const TensorArg* TensorAt(const OperatorCall& call, std::size_t index) {
  if (index >= call.args.size() || call.args[index].kind != OperatorArg::Kind::kTensor)
    return nullptr;
  return &call.args[index].tensors.front();
}

std::vector<const TensorArg*> SingleTensors(const OperatorCall& call) {
  std::vector<const TensorArg*> tensors;
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    if (const TensorArg* tensor = TensorAt(call, i)) tensors.push_back(tensor);
  }
  return tensors;
}

std::optional<std::int64_t> IntAt(const OperatorCall& call, std::size_t index) {
  return ToInt(ConcreteAt(call, index));
}

std::optional<bool> BoolAt(const OperatorCall& call, std::size_t index) {
  return ToBool(ConcreteAt(call, index));
}

std::optional<std::vector<std::int64_t>> IntListAt(const OperatorCall& call, std::size_t index) {
  return ToList<std::int64_t>(ConcreteAt(call, index), ToInt);
}

std::optional<std::vector<bool>> BoolListAt(const OperatorCall& call, std::size_t index) {
  return ToList<bool>(ConcreteAt(call, index), ToBool);
}

DType DTypeAt(const OperatorCall& call, std::size_t index) {
  const std::optional<std::int64_t> number = IntAt(call, index);
  switch (number.value_or(-1)) {  // c10/core/ScalarType.h
    case 0:
    case 1:
      return DType::kI8;
    case 2:
      return DType::kI16;
    case 3:
      return DType::kI32;
    case 4:
      return DType::kI64;
    case 5:
      return DType::kF16;
    case 6:
      return DType::kF32;
    case 7:
      return DType::kF64;
    case 9:
      return DType::kC64;
    case 10:
      return DType::kC128;
    case 11:
      return DType::kBool;
    case 15:
      return DType::kBF16;
    case 23:
    case 24:
    case 25:
    case 26:
      return DType::kF8;
    default:
      return DType::kUnknown;
  }
}

double Elements(std::span<const std::int64_t> dims) {
  double product = 1;
  for (const std::int64_t extent : dims) product *= static_cast<double>(extent);
  return product;
}

double DistinctElements(const TensorArg& tensor) {
  if (tensor.strides.size() != tensor.dims.size()) return Elements(tensor.dims);
  double product = 1;
  for (std::size_t i = 0; i < tensor.dims.size(); ++i) {
    if (tensor.strides[i] != 0 || tensor.dims[i] == 0)
      product *= static_cast<double>(tensor.dims[i]);
  }
  return product;
}

std::optional<std::vector<std::int64_t>> BroadcastShape(
    const std::vector<const TensorArg*>& tensors) {
  std::size_t rank = 0;
  for (const TensorArg* tensor : tensors) rank = std::max(rank, tensor->dims.size());
  std::vector<std::int64_t> shape(rank, 1);
  for (const TensorArg* tensor : tensors) {
    const std::size_t missing = rank - tensor->dims.size();
    for (std::size_t i = 0; i < tensor->dims.size(); ++i) {
      std::int64_t& extent = shape[missing + i];
      if (extent == 1) extent = tensor->dims[i];
      if (tensor->dims[i] != 1 && tensor->dims[i] != extent) return std::nullopt;
    }
  }
  return shape;
}

void Traffic::Add(double elements, DType dtype) {
  const int size = BytesPerElement(dtype);
  if (size == 0) known_ = false;
  bytes_ += elements * size;
}

std::optional<double> Traffic::bytes() const {
  if (!known_ || !(bytes_ <= kLargestExact)) return std::nullopt;
  return bytes_;
}

bool IsComplex(DType dtype) { return dtype == DType::kC64 || dtype == DType::kC128; }

bool IsFloating(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kF32:
    case DType::kTF32:
    case DType::kBF16:
    case DType::kF16:
    case DType::kF8:
      return true;
    default:
      return IsComplex(dtype);
  }
}

DType MathType(DType dtype) {
  return dtype == DType::kF64 || IsComplex(dtype) ? dtype : DType::kF32;
}

std::optional<OperatorCost> FinishCost(const Traffic& traffic, double flops, DType math,
                                       WorkFamily family) {
  const std::optional<double> bytes = traffic.bytes();
  if (!bytes) return std::nullopt;
  return OperatorCost{.flops = flops, .bytes = *bytes, .family = family, .math_dtype = math};
}

std::optional<OperatorCost> FinishElementCost(const Traffic& traffic, double flops, DType data,
                                              WorkFamily family) {
  return FinishCost(traffic, IsFloating(data) ? flops : 0, MathType(data), family);
}

}  // namespace headroom
