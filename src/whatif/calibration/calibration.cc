#include "whatif/calibration/calibration.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "embedded/calibration_files.h"

namespace headroom {
namespace {

constexpr double kMicrosecond = 1'000;  // ns

/// Maps a number in the file to a member. The member is the number times `unit`.
struct Field {
  std::string_view section, key;
  double unit;
  double& (*member)(Calibration&);
};

#define HEADROOM_FIELD(section, key, unit, member)                         \
  Field {                                                                  \
    section, key, unit, [](Calibration& c) -> double& { return c.member; } \
  }

constexpr std::array kFields = {
    HEADROOM_FIELD("recording", "operator_us", kMicrosecond, recording.operator_record),
    HEADROOM_FIELD("recording", "call_us", kMicrosecond, recording.call_record),
    HEADROOM_FIELD("recording", "frame_us", kMicrosecond, recording.frame_record),
    HEADROOM_FIELD("recording", "error", 1, recording_error),
    HEADROOM_FIELD("host", "after_wait", 1, recording.after_wait),
    HEADROOM_FIELD("host", "error", 1, host.error),
    HEADROOM_FIELD("host", "cast_work_us", kMicrosecond, host.cast_work),
    HEADROOM_FIELD("host", "cast_launch_us", kMicrosecond, host.cast_launch),
    HEADROOM_FIELD("host", "gradient_scaler_us", kMicrosecond, host.gradient_scaler),
    HEADROOM_FIELD("host", "tf32_product_us", kMicrosecond, host.tf32_product),
    HEADROOM_FIELD("host", "forward_convolution_us", kMicrosecond, host.forward_convolution),
    HEADROOM_FIELD("host", "backward_convolution_us", kMicrosecond, host.backward_convolution),
    HEADROOM_FIELD("host", "fused_optimizer_us", kMicrosecond, host.fused_optimizer),
    HEADROOM_FIELD("host", "foreach_optimizer_us", kMicrosecond, host.foreach_optimizer),
    HEADROOM_FIELD("host", "forward_attention_us", kMicrosecond, host.forward_attention),
    HEADROOM_FIELD("host", "backward_attention_us", kMicrosecond, host.backward_attention),
    HEADROOM_FIELD("host", "checkpointed_block_us", kMicrosecond, host.checkpointed_block),
    HEADROOM_FIELD("host", "graph_step_us", kMicrosecond, host.graph_step),
    HEADROOM_FIELD("host", "graph_launch_us", kMicrosecond, host.graph_launch),
    HEADROOM_FIELD("kernels", "gemm_8", 1, kernels.gemm_8),
    HEADROOM_FIELD("kernels", "gemm_16", 1, kernels.gemm_16),
    HEADROOM_FIELD("kernels", "gemm_tf32", 1, kernels.gemm_tf32),
    HEADROOM_FIELD("kernels", "gemm_bytes_16", 1, kernels.gemm_bytes_16),
    HEADROOM_FIELD("kernels", "gemm_bytes_tf32", 1, kernels.gemm_bytes_tf32),
    HEADROOM_FIELD("kernels", "gemm_weight_gradient_tf32", 1, kernels.gemm_weight_gradient_tf32),
    HEADROOM_FIELD("kernels", "gemm_efficiency_tf32", 1, kernels.gemm_efficiency_tf32),
    HEADROOM_FIELD("kernels", "gemm_misaligned", 1, kernels.gemm_misaligned),
    HEADROOM_FIELD("kernels", "convolution_16", 1, kernels.convolution_16),
    HEADROOM_FIELD("kernels", "convolution_tf32", 1, kernels.convolution_tf32),
    HEADROOM_FIELD("kernels", "convolution_weight_16", 1, kernels.convolution_weight_16),
    HEADROOM_FIELD("kernels", "convolution_weight_tf32", 1, kernels.convolution_weight_tf32),
    HEADROOM_FIELD("kernels", "convolution_bytes", 1, kernels.convolution_bytes),
    HEADROOM_FIELD("kernels", "reorder_16", 1, kernels.reorder_16),
    HEADROOM_FIELD("kernels", "reorder_tf32", 1, kernels.reorder_tf32),
    HEADROOM_FIELD("kernels", "convolution_narrow", 1, kernels.convolution_narrow),
    HEADROOM_FIELD("kernels", "convolution_start_us", 1, kernels.convolution_start_us),
    HEADROOM_FIELD("kernels", "attention_forward", 1, kernels.attention_forward),
    HEADROOM_FIELD("kernels", "attention_backward", 1, kernels.attention_backward),
    HEADROOM_FIELD("kernels", "attention_float32", 1, kernels.attention_float32),
    HEADROOM_FIELD("kernels", "attention_dropout_flops", 1, kernels.attention_dropout_flops),
    HEADROOM_FIELD("kernels", "update_bytes", 1, kernels.update_bytes),
    HEADROOM_FIELD("kernels", "cast_bytes", 1, kernels.cast_bytes),
    HEADROOM_FIELD("kernels", "narrowing_bytes", 1, kernels.narrowing_bytes),
    HEADROOM_FIELD("kernels", "widening_bytes", 1, kernels.widening_bytes),
    HEADROOM_FIELD("kernels", "half_batch_norm", 1, kernels.half_batch_norm),
    HEADROOM_FIELD("kernels", "half_gelu", 1, kernels.half_gelu),
    HEADROOM_FIELD("kernels", "half_dropout", 1, kernels.half_dropout),
    HEADROOM_FIELD("kernels", "bf16_batch_norm", 1, kernels.bf16_batch_norm),
    HEADROOM_FIELD("kernels", "mixed_addition", 1, kernels.mixed_addition),
    HEADROOM_FIELD("kernels", "gemm_vector", 1, kernels.gemm_vector),
    HEADROOM_FIELD("kernels", "convolution_vector", 1, kernels.convolution_vector),
    HEADROOM_FIELD("kernels", "gemm_lost_when_growing", 1, kernels.gemm_lost_when_growing),
    HEADROOM_FIELD("kernels", "convolution_lost_when_growing", 1,
                   kernels.convolution_lost_when_growing),
    HEADROOM_FIELD("kernels", "lost_when_shrinking", 1, kernels.lost_when_shrinking),
    HEADROOM_FIELD("kernels", "most_lost", 1, kernels.most_lost),
};

#undef HEADROOM_FIELD

Status Bad(const NamedText& file, std::string_view what) {
  return Status::BadInput(fmt::format("calibration file {}: {}", file.name, what));
}

/// Returns nullopt unless the number is finite and not negative.
std::optional<double> NumberOf(const toml::node& node) {
  const std::optional<double> number = node.value<double>();
  if (node.is_boolean() || node.is_string() || !number || !std::isfinite(*number) || *number < 0)
    return std::nullopt;
  return number;
}

Status ReadSpeeds(const NamedText& file, const toml::table& table, std::string_view thread,
                  ReferenceSpeeds& out) {
  out.clear();
  for (const auto& [key, node] : table) {
    const std::optional<double> number = NumberOf(node);
    if (!number || *number == 0) {
      return Bad(file, fmt::format("[reference.{}] \"{}\" must be a number of microseconds above 0",
                                   thread, key.str()));
    }
    out.emplace(std::string(key.str()), *number * kMicrosecond);
  }
  return Status::Ok();
}

Status ReadReference(const NamedText& file, const toml::table& table, Calibration& out) {
  for (const auto& [key, node] : table) {
    const bool loop = key.str() == "loop";
    if ((!loop && key.str() != "autograd") || !node.is_table())
      return Bad(file, "[reference] accepts only the tables loop and autograd");
    Status status = ReadSpeeds(file, *node.as_table(), key.str(), loop ? out.loop : out.autograd);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status ReadSection(const NamedText& file, std::string_view section, const toml::table& table,
                   Calibration& out) {
  for (const auto& [key, node] : table) {
    const Field* found = nullptr;
    for (const Field& field : kFields) {
      if (field.section == section && field.key == key.str()) found = &field;
    }
    if (found == nullptr) {
      return Bad(file, fmt::format("key '{}' of [{}] is unknown; correct or remove it", key.str(),
                                   section));
    }
    const std::optional<double> number = NumberOf(node);
    if (!number) {
      return Bad(file, fmt::format("{} of [{}] must be a number, 0 or more", found->key, section));
    }
    if (section == "kernels" && *number == 0 && key.str().find("lost") == std::string_view::npos)
      return Bad(file, fmt::format("{} of [kernels] must be a number above 0", found->key));
    if (found->key == "error" && *number >= 1)
      return Bad(file, fmt::format("error of [{}] must be a share below 1", section));
    found->member(out) = *number * found->unit;
  }
  return Status::Ok();
}

}  // namespace

Result<Calibration> Calibration::LoadBuiltIn() {
  return Parse(CalibrationFiles().front(), Calibration());
}

Result<Calibration> Calibration::Parse(const NamedText& file, const Calibration& otherwise) {
  toml::table root;
  try {
    root = toml::parse(file.content);
  } catch (const toml::parse_error& error) {
    return Bad(file, fmt::format("line {}: {}; correct the TOML there", error.source().begin.line,
                                 error.description()));
  }
  Calibration out = otherwise;
  for (const auto& [key, node] : root) {
    const std::string_view name = key.str();
    if (name == "about" || name == "machine") {
      const std::optional<std::string> text = node.value_exact<std::string>();
      if (!text) return Bad(file, fmt::format("{} must be a string in quotes", name));
      (name == "about" ? out.about : out.machine) = *text;
      continue;
    }
    const toml::table* table = node.as_table();
    if (table == nullptr ||
        (name != "recording" && name != "host" && name != "kernels" && name != "reference"))
      return Bad(file, fmt::format("'{}' is unknown; correct or remove it", name));
    Status status = name == "reference" ? ReadReference(file, *table, out)
                                        : ReadSection(file, name, *table, out);
    if (!status.ok()) return status;
  }
  return out;
}

std::string MachineOf(const TraceStore& store) {
  std::map<std::string, int> kinds;
  for (std::size_t row = 0; row < store.devices.rows(); ++row) {
    if (!store.devices.name[row].valid()) continue;
    ++kinds[fmt::format("{} ({} bytes)", store.Text(store.devices.name[row]),
                        store.devices.memory_bytes[row])];
  }
  std::string machine;
  for (const auto& [kind, count] : kinds)
    machine += fmt::format("{}{} x {}", machine.empty() ? "" : ", ", count, kind);
  if (machine.empty()) return "no GPU";
  if (store.metadata.cuda_driver_version)
    machine += fmt::format(", driver {}", *store.metadata.cuda_driver_version);
  return machine;
}

}  // namespace headroom
