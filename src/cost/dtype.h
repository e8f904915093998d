// DType: element and arithmetic types of tensors, as profilers and kernel names write them.
#pragma once

#include <optional>
#include <string_view>

namespace headroom {

/// Element type of a tensor, or type in which the arithmetic units multiply.
enum class DType {
  kUnknown,
  kF64,
  kF32,
  /// Arithmetic only: tensor cores round float32 operands to 10 mantissa bits. Stored as 4 bytes.
  kTF32,
  kBF16,
  kF16,
  kF8,
  kC128,
  kC64,
  kI64,
  kI32,
  kI16,
  kI8,  ///< Also uint8 and quantized 8-bit integers.
  kBool,
};

/// Returns the size of one stored element in bytes; 0 for kUnknown.
int BytesPerElement(DType dtype);

/// Returns true if the kernel models have a tensor-core rate for this type.
constexpr bool IsTensorCoreType(DType dtype) {
  return dtype == DType::kTF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

/// Returns the short lower-case name in reports: "fp32", "tf32", "bf16", "int64", "unknown", ...
std::string_view Name(DType dtype);

/// Inverse of Name. Returns nullopt for any other string.
std::optional<DType> DTypeFromName(std::string_view name);

/// Returns the type for the C++ name in a PyTorch profile's "Input type": "float", "c10::Half",
/// "long int", "c10::Float8_e4m3fn"... Returns kUnknown for strings that name no element type
/// ("Scalar", "TensorList", "").
DType DTypeFromProfiler(std::string_view type_name);

}  // namespace headroom
