#include "cost/dtype.h"

#include <array>
#include <utility>

namespace headroom {
namespace {

struct DTypeEntry {
  DType dtype;
  int bytes;
  std::string_view name;
};

constexpr std::array kDTypes = {
    DTypeEntry{DType::kUnknown, 0, "unknown"}, DTypeEntry{DType::kF64, 8, "fp64"},
    DTypeEntry{DType::kF32, 4, "fp32"},        DTypeEntry{DType::kTF32, 4, "tf32"},
    DTypeEntry{DType::kBF16, 2, "bf16"},       DTypeEntry{DType::kF16, 2, "fp16"},
    DTypeEntry{DType::kF8, 1, "fp8"},          DTypeEntry{DType::kC128, 16, "complex128"},
    DTypeEntry{DType::kC64, 8, "complex64"},   DTypeEntry{DType::kI64, 8, "int64"},
    DTypeEntry{DType::kI32, 4, "int32"},       DTypeEntry{DType::kI16, 2, "int16"},
    DTypeEntry{DType::kI8, 1, "int8"},         DTypeEntry{DType::kBool, 1, "bool"},
};

// Names of element types as caffe2::TypeMeta::name() prints them (PyTorch, c10/core/ScalarType.h).
constexpr std::array<std::pair<std::string_view, DType>, 27> kProfilerNames = {{
    {"float", DType::kF32},
    {"double", DType::kF64},
    {"c10::Half", DType::kF16},
    {"c10::BFloat16", DType::kBF16},
    {"c10::Float8_e4m3fn", DType::kF8},
    {"c10::Float8_e4m3fnuz", DType::kF8},
    {"c10::Float8_e5m2", DType::kF8},
    {"c10::Float8_e5m2fnuz", DType::kF8},
    {"c10::Float8_e8m0fnu", DType::kF8},
    {"c10::complex<double>", DType::kC128},
    {"c10::complex<float>", DType::kC64},
    {"long int", DType::kI64},
    {"long", DType::kI64},
    {"__int64", DType::kI64},
    {"unsigned long", DType::kI64},
    {"int", DType::kI32},
    {"unsigned int", DType::kI32},
    {"short int", DType::kI16},
    {"short", DType::kI16},
    {"short unsigned int", DType::kI16},
    {"unsigned short", DType::kI16},
    {"signed char", DType::kI8},
    {"unsigned char", DType::kI8},
    {"c10::qint8", DType::kI8},
    {"c10::quint8", DType::kI8},
    {"c10::qint32", DType::kI32},
    {"bool", DType::kBool},
}};

const DTypeEntry& EntryOf(DType dtype) {
  for (const DTypeEntry& entry : kDTypes) {
    if (entry.dtype == dtype) return entry;
  }
  return kDTypes[0];
}

}  // namespace

int BytesPerElement(DType dtype) { return EntryOf(dtype).bytes; }

std::string_view Name(DType dtype) { return EntryOf(dtype).name; }

std::optional<DType> DTypeFromName(std::string_view name) {
  for (const DTypeEntry& entry : kDTypes) {
    if (entry.name == name) return entry.dtype;
  }
  return std::nullopt;
}

DType DTypeFromProfiler(std::string_view type_name) {
  for (const auto& [name, dtype] : kProfilerNames) {
    if (name == type_name) return dtype;
  }
  return DType::kUnknown;
}

}  // namespace headroom
