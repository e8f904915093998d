#include "kernels/kernel_constants.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "embedded/kernel_constant_files.h"

namespace headroom {
namespace {

/// A number in the file: its section and key, the member that receives it, and its valid range.
struct Number {
  std::string_view section, key;
  double KernelConstants::*member;
  double least, most;
};

constexpr std::array kNumbers = {
    Number{"product", "hiding_warps", &KernelConstants::hiding_warps, 1e-3, 1e4},
    Number{"product", "result_ns", &KernelConstants::result_ns, 0, 1e4},
    Number{"product", "l2_share", &KernelConstants::l2_share, 1e-3, 1e4},
    Number{"product", "overlap", &KernelConstants::overlap, 1, 64},
    Number{"product", "split_us", &KernelConstants::split_us, 1e-3, 1e4},
    Number{"product", "skew", &KernelConstants::skew, 0, 1},
    Number{"product", "tlb_miss_clocks", &KernelConstants::tlb_miss_clocks, 0, 1e4},
    Number{"product", "issue_share", &KernelConstants::issue_share, 0.1, 1},
    Number{"power", "full_power", &KernelConstants::full_power, 0, 4},
    Number{"power", "low_power", &KernelConstants::low_power, 0, 4},
    Number{"convolution", "direct", &KernelConstants::direct, 1e-3, 1e4},
    Number{"convolution", "direct_result_ns", &KernelConstants::direct_result_ns, 0, 1e4},
    Number{"convolution", "winograd_fused", &KernelConstants::winograd_fused, 1e-3, 1e4},
    Number{"convolution", "winograd_block_us", &KernelConstants::winograd_block_us, 0, 1e4},
    Number{"convolution", "ampere_share", &KernelConstants::ampere_share, 0.1, 1.2},
    Number{"convolution", "winograd_product", &KernelConstants::winograd_product, 1e-3, 1e4},
    Number{"convolution", "winograd_bytes", &KernelConstants::winograd_bytes, 1e-3, 1e4},
    Number{"convolution", "winograd_filter", &KernelConstants::winograd_filter, 1e-3, 1e4},
    Number{"memory", "hbm", &KernelConstants::hbm, 0.05, 1},
    Number{"memory", "gddr", &KernelConstants::gddr, 0.05, 1},
    Number{"memory", "gddr_small", &KernelConstants::gddr_small, 0.05, 1},
    Number{"memory", "amd", &KernelConstants::amd, 0.05, 1},
    Number{"memory", "l2_bytes_a_clock", &KernelConstants::l2_bytes_a_clock, 1e-3, 1e4},
    Number{"memory", "row_fits", &KernelConstants::row_fits, 1e-3, 1e4},
    Number{"memory", "row_misses", &KernelConstants::row_misses, 1e-3, 1e4},
    Number{"memory", "row_l1_fits", &KernelConstants::row_l1_fits, 1e-3, 1e4},
    Number{"memory", "row_l1_misses", &KernelConstants::row_l1_misses, 1e-3, 1e4},
    Number{"memory", "row_hit", &KernelConstants::row_hit, 1e-3, 1e4},
    Number{"memory", "row_overlap", &KernelConstants::row_overlap, 1, 64},
    Number{"memory", "warp_row_us", &KernelConstants::warp_row_us, 1e-3, 1e4},
    Number{"memory", "softmax_row_us", &KernelConstants::softmax_row_us, 1e-3, 1e4},
    Number{"memory", "norm_row_us", &KernelConstants::norm_row_us, 1e-3, 1e4},
    Number{"memory", "softmax_loop_us", &KernelConstants::softmax_loop_us, 1e-3, 1e4},
    Number{"memory", "norm_split_us", &KernelConstants::norm_split_us, 1e-3, 1e4},
    Number{"launch", "start_us", &KernelConstants::start_us, 1e-3, 1e4},
    Number{"launch", "call_us", &KernelConstants::call_us, 1e-3, 1e4},
    Number{"launch", "bmm_call_us", &KernelConstants::bmm_call_us, 1e-3, 1e4},
    Number{"launch", "linear_call_us", &KernelConstants::linear_call_us, 1e-3, 1e4},
    Number{"launch", "convolution_call_us", &KernelConstants::convolution_call_us, 1e-3, 1e4},
    Number{"launch", "softmax_call_us", &KernelConstants::softmax_call_us, 1e-3, 1e4},
    Number{"launch", "norm_call_us", &KernelConstants::norm_call_us, 1e-3, 1e4},
    Number{"launch", "host_error", &KernelConstants::host_error, 0, 3},
    Number{"local", "radius", &KernelConstants::local_radius, 1e-2, 10},
    Number{"local", "prior", &KernelConstants::local_prior, 1e-3, 100},
    Number{"extrapolated", "nvidia", &KernelConstants::extrapolated_nvidia, 1, 10},
    Number{"extrapolated", "amd", &KernelConstants::extrapolated_amd, 1, 10},
    Number{"energy", "idle", &KernelConstants::energy_idle, 0, 1},
    Number{"energy", "busy", &KernelConstants::energy_busy, 0, 1},
    Number{"energy", "error", &KernelConstants::energy_error, 0, 1},
    Number{"energy", "error_elsewhere", &KernelConstants::energy_error_elsewhere, 0, 1},
};

/// The same for the optional section [tensor_cores].
struct TensorCoreNumber {
  std::string_view key;
  double TensorCoreConstants::*member;
};
constexpr std::array kTensorCoreNumbers = {
    TensorCoreNumber{"start_clocks", &TensorCoreConstants::start_clocks},
    TensorCoreNumber{"end_clocks", &TensorCoreConstants::end_clocks},
    TensorCoreNumber{"end_exponent", &TensorCoreConstants::end_exponent},
    TensorCoreNumber{"split_clocks", &TensorCoreConstants::split_clocks},
    TensorCoreNumber{"efficiency", &TensorCoreConstants::efficiency},
    TensorCoreNumber{"efficiency_exponent", &TensorCoreConstants::efficiency_exponent},
    TensorCoreNumber{"most_efficiency", &TensorCoreConstants::most_efficiency},
    TensorCoreNumber{"overlap", &TensorCoreConstants::overlap},
    TensorCoreNumber{"processor_bytes", &TensorCoreConstants::processor_bytes},
    TensorCoreNumber{"l2_bytes", &TensorCoreConstants::l2_bytes},
    TensorCoreNumber{"multicast", &TensorCoreConstants::multicast},
};

constexpr std::array<std::string_view, kWorkClasses> kClassNames = {
    "product", "convolution",    "pointwise", "rowwise",
    "other",   "tensor_product", "attention", "instruction"};

class ConstantFile {
 public:
  explicit ConstantFile(const NamedText& file) : file_(file) {}

  Result<KernelConstants> Read(const toml::table& root) {
    KernelConstants out;
    Status status = RefuseOtherSections(root);
    if (status.ok()) status = ReadAbout(root, out);
    if (status.ok()) status = ReadNumbers(root, out);
    if (status.ok()) status = ReadTensorCores(root, out.tensor_cores);
    if (status.ok()) status = ReadTiles(root, out);
    if (status.ok()) status = ReadLibraries(root, out);
    if (status.ok()) status = ReadErrors(root, "error", out.errors, out.step_error);
    if (status.ok())
      status = ReadErrors(root, "error_low_power", out.low_power_errors, out.low_power_step_error);
    if (status.ok())
      status = ReadErrors(root, "error_measured", out.measured_errors, out.measured_step_error);
    if (status.ok()) status = ReadError(root, "untried", "convolution", out.untried_convolution);
    if (status.ok()) status = ReadResiduals(root, out);
    if (!status.ok()) return status;
    return out;
  }

 private:
  Status Bad(std::string_view what) const {
    return Status::BadInput(fmt::format("kernel constants {}: {}", file_.name, what));
  }

  Status RefuseOtherSections(const toml::table& root) const {
    constexpr std::array<std::string_view, 19> kSections = {"validated_tensor_cores",
                                                            "tensor_cores",
                                                            "extrapolated",
                                                            "about",
                                                            "validated",
                                                            "tile",
                                                            "library",
                                                            "product",
                                                            "power",
                                                            "convolution",
                                                            "memory",
                                                            "launch",
                                                            "energy",
                                                            "error",
                                                            "error_low_power",
                                                            "error_measured",
                                                            "local",
                                                            "residual",
                                                            "untried"};
    for (const auto& [key, node] : root) {
      if (std::find(kSections.begin(), kSections.end(), key.str()) == kSections.end())
        return Bad(fmt::format("unknown section '{}'; correct or remove it", key.str()));
    }
    return Status::Ok();
  }

  Status ReadAbout(const toml::table& root, KernelConstants& out) const {
    const std::optional<std::string> about = root["about"].value_exact<std::string>();
    const toml::array* validated = root["validated"].as_array();
    if (!about || validated == nullptr)
      return Bad("`about` must be a string; `validated` must be a list of architectures");
    out.about = *about;
    out.energy_gpu = root["energy"]["gpu"].value_or(std::string());
    if (out.energy_gpu.empty()) return Bad("gpu in [energy] must be the full name of a GPU");
    for (const toml::node& item : *validated) out.validated.push_back(item.value_or(std::string()));
    if (const toml::array* of_tensor_cores = root["validated_tensor_cores"].as_array()) {
      for (const toml::node& item : *of_tensor_cores)
        out.validated_tensor_cores.push_back(item.value_or(std::string()));
    }
    return Status::Ok();
  }

  /// Fails if a table has any other key. A misspelt key would otherwise have no effect.
  Status RefuseOtherKeys(const toml::node& node, std::string_view what,
                         std::span<const std::string_view> keys) const {
    const toml::table* table = node.as_table();
    if (table == nullptr) return Bad(fmt::format("{} must be a table", what));
    for (const auto& [key, value] : *table) {
      if (std::find(keys.begin(), keys.end(), key.str()) == keys.end()) {
        return Bad(fmt::format("line {}: unknown key '{}' of {}; correct or remove it",
                               value.source().begin.line, key.str(), what));
      }
    }
    return Status::Ok();
  }

  static std::optional<double> NumberOf(const toml::node_view<const toml::node>& node) {
    const std::optional<double> number = node.value<double>();
    if (node.is_boolean() || node.is_string() || !number || !std::isfinite(*number))
      return std::nullopt;
    return number;
  }

  Status ReadNumbers(const toml::table& root, KernelConstants& out) const {
    for (const Number& constant : kNumbers) {
      const std::optional<double> number = NumberOf(root[constant.section][constant.key]);
      if (!number || *number < constant.least || *number > constant.most) {
        return Bad(fmt::format("{} in [{}] is required: a number from {} to {}", constant.key,
                               constant.section, constant.least, constant.most));
      }
      out.*constant.member = *number;
    }
    if (out.energy_idle + out.energy_busy > 1)
      return Bad("idle and busy in [energy] must be shares that add up to at most 1");
    for (const std::string_view section : {"product", "power", "convolution", "memory", "launch",
                                           "energy", "local", "extrapolated"}) {
      for (const auto& [key, node] : *root[section].as_table()) {
        const std::string_view name = key.str();
        if (section == "energy" && name == "gpu") continue;
        const bool known = std::any_of(kNumbers.begin(), kNumbers.end(), [&](const Number& number) {
          return number.section == section && number.key == name;
        });
        if (!known) {
          return Bad(fmt::format("unknown key '{}' of [{}]; correct or remove it", name, section));
        }
      }
    }
    return Status::Ok();
  }

  Status ReadTensorCores(const toml::table& root, TensorCoreConstants& out) const {
    const toml::table* table = root["tensor_cores"].as_table();
    if (table == nullptr) return Status::Ok();
    for (const auto& [key, node] : *table) {
      const std::string_view name = key.str();
      const auto known = std::find_if(kTensorCoreNumbers.begin(), kTensorCoreNumbers.end(),
                                      [&](const TensorCoreNumber& n) { return n.key == name; });
      const std::optional<double> number = NumberOf(toml::node_view<const toml::node>(node));
      constexpr double kLeast = 1e-3, kMost = 1e6;
      if (known == kTensorCoreNumbers.end())
        return Bad(fmt::format("unknown key '{}' of [tensor_cores]; correct or remove it", name));
      const double least = name == "overlap" ? 1 : kLeast;
      if (!number || *number < least || *number > kMost) {
        return Bad(fmt::format("{} in [tensor_cores] must be a number from {} to {:g}", name, least,
                               kMost));
      }
      out.*known->member = *number;
    }
    return Status::Ok();
  }

  Status ReadTiles(const toml::table& root, KernelConstants& out) const {
    const toml::array* list = root["tile"].as_array();
    if (list == nullptr || list->empty()) return Bad("[[tile]] is required; add at least one");
    for (const toml::node& node : *list) {
      constexpr std::array<std::string_view, 6> kKeys = {"name",    "columns",   "rows",
                                                         "threads", "registers", "efficiency"};
      if (Status status = RefuseOtherKeys(node, "[[tile]]", kKeys); !status.ok()) return status;
      const toml::node_view<const toml::node> row(node);
      GemmTile tile;
      tile.name = row["name"].value_or(std::string());
      struct Part {
        std::string_view key;
        double GemmTile::*member;
      };
      for (const Part part :
           {Part{"columns", &GemmTile::columns}, Part{"rows", &GemmTile::rows},
            Part{"threads", &GemmTile::threads}, Part{"registers", &GemmTile::registers},
            Part{"efficiency", &GemmTile::efficiency}}) {
        const std::optional<double> number = NumberOf(row[part.key]);
        if (!number || *number <= 0) {
          return Bad(fmt::format("{} of [[tile]] {} '{}' is required: a number above 0", part.key,
                                 out.tiles.size() + 1, tile.name));
        }
        tile.*part.member = *number;
      }
      if (tile.name.empty() || FindTile(out, tile.name))
        return Bad(fmt::format("[[tile]] {}: a unique name is required", out.tiles.size() + 1));
      out.tiles.push_back(std::move(tile));
    }
    return Status::Ok();
  }

  static std::optional<std::size_t> FindTile(const KernelConstants& constants,
                                             std::string_view name) {
    for (std::size_t i = 0; i < constants.tiles.size(); ++i) {
      if (constants.tiles[i].name == name) return i;
    }
    return std::nullopt;
  }

  Status ReadLibraries(const toml::table& root, KernelConstants& out) const {
    constexpr double kMinPiece = 4;
    const toml::array* list = root["library"].as_array();
    if (list == nullptr || list->empty()) return Bad("[[library]] is required; add at least one");
    for (const toml::node& node : *list) {
      constexpr std::array<std::string_view, 10> kKeys = {"name",
                                                          "architectures",
                                                          "dual_issue",
                                                          "piece_bytes",
                                                          "ampere_convolutions",
                                                          "untried_convolutions",
                                                          "single",
                                                          "batched",
                                                          "winograd_products",
                                                          "winograd_blocks"};
      if (Status status = RefuseOtherKeys(node, "[[library]]", kKeys); !status.ok()) return status;
      const toml::node_view<const toml::node> row(node);
      GemmLibrary library;
      library.name = row["name"].value_or(std::string());
      struct Flag {
        std::string_view key;
        bool GemmLibrary::*member;
      };
      for (const Flag flag : {Flag{"dual_issue", &GemmLibrary::dual_issue},
                              Flag{"ampere_convolutions", &GemmLibrary::ampere_convolutions},
                              Flag{"untried_convolutions", &GemmLibrary::untried_convolutions}}) {
        if (row[flag.key] && !row[flag.key].is_boolean()) {
          return Bad(
              fmt::format("[[library]] '{}': {} must be true or false", library.name, flag.key));
        }
        library.*flag.member = row[flag.key].value_or(false);
      }
      const std::optional<double> piece = NumberOf(row["piece_bytes"]);
      if (!piece || (*piece != 0 && (*piece < kMinPiece || *piece > kCacheLine))) {
        return Bad(
            fmt::format("[[library]] '{}': piece_bytes is required: a number from {} to "
                        "{}, or 0 if unknown",
                        library.name, kMinPiece, kCacheLine));
      }
      library.piece_bytes = *piece;
      for (const std::string_view key :
           {"architectures", "single", "batched", "winograd_products"}) {
        const toml::array* names = row[key].as_array();
        if (names == nullptr || names->empty()) {
          return Bad(
              fmt::format("[[library]] '{}': {} must be a list of names", library.name, key));
        }
        for (const toml::node& item : *names) {
          const std::string name = item.value_or(std::string());
          if (key == "architectures") {
            library.architectures.push_back(name);
            continue;
          }
          const std::optional<std::size_t> tile = FindTile(out, name);
          if (!tile)
            return Bad(
                fmt::format("[[library]] '{}': no [[tile]] is named '{}'", library.name, name));
          TilesOf(library, key).push_back(*tile);
        }
      }
      if (Status status = ReadWinogradBlocks(row, library); !status.ok()) return status;
      out.libraries.push_back(std::move(library));
    }
    return Status::Ok();
  }

  static std::vector<std::size_t>& TilesOf(GemmLibrary& library, std::string_view key) {
    if (key == "single") return library.single;
    return key == "batched" ? library.batched : library.winograd_products;
  }

  Status ReadWinogradBlocks(const toml::node_view<const toml::node>& row,
                            GemmLibrary& library) const {
    const toml::array* blocks = row["winograd_blocks"].as_array();
    bool good = blocks != nullptr && !blocks->empty();
    for (std::size_t i = 0; good && i < blocks->size(); ++i) {
      const toml::node_view<const toml::node> block(*blocks->get(i));
      const std::optional<double> images = NumberOf(block[0]), rows = NumberOf(block[1]),
                                  columns = NumberOf(block[2]);
      constexpr double kSquares = 32;  // Per block, for every shape.
      good = images && rows && columns && *images >= 1 && *rows >= 1 && *columns >= 1 &&
             *images * *rows * *columns == kSquares;
      if (good) library.winograd_blocks.push_back({*images, *rows, *columns});
    }
    if (good) return Status::Ok();
    return Bad(
        fmt::format("[[library]] '{}': winograd_blocks must be a list of [IMAGES, ROWS, COLUMNS], "
                    "whose product "
                    "is 32",
                    library.name));
  }

  Status ReadError(const toml::table& root, std::string_view section, std::string_view key,
                   ErrorRange& out) const {
    const auto pair = root[section][key];
    const std::optional<double> low = NumberOf(pair[0]), high = NumberOf(pair[1]);
    constexpr double kMax = 3;
    if (!low || !high || *low > 0 || *high < 0 || *low < -kMax || *high > kMax) {
      return Bad(
          fmt::format("{} in [{}] must be [LOW, HIGH]: natural logarithms with LOW <= 0 <= HIGH",
                      key, section));
    }
    out = {.low = *low, .high = *high};
    return Status::Ok();
  }

  Status ReadErrors(const toml::table& root, std::string_view section,
                    std::array<ErrorRange, kWorkClasses>& classes, ErrorRange& step) const {
    if (const toml::node* node = root.get(section)) {
      std::vector<std::string_view> keys(kClassNames.begin(), kClassNames.end());
      keys.emplace_back("step");
      if (Status status = RefuseOtherKeys(*node, fmt::format("[{}]", section), keys); !status.ok())
        return status;
    }
    for (std::size_t i = 0; i < kWorkClasses; ++i) {
      if (Status status = ReadError(root, section, kClassNames[i], classes[i]); !status.ok())
        return status;
    }
    return ReadError(root, section, "step", step);
  }

  Status ReadResiduals(const toml::table& root, KernelConstants& out) const {
    if (const toml::node* node = root.get("residual")) {
      if (Status status = RefuseOtherKeys(*node, "[residual]", kClassNames); !status.ok())
        return status;
    }
    for (std::size_t i = 0; i < kWorkClasses; ++i) {
      const auto pair = root["residual"][kClassNames[i]];
      const std::optional<double> same = NumberOf(pair[0]), other = NumberOf(pair[1]);
      if (!same || !other || *same < 0 || *same > 1 || *other < 0 || *other > 1) {
        return Bad(fmt::format(
            "{} in [residual] must be [SAME, OTHER]: shares from 0 to 1, for a GPU that runs the "
            "same kernels and for any other GPU",
            kClassNames[i]));
      }
      out.residual_same[i] = *same;
      out.residual_other[i] = *other;
    }
    return Status::Ok();
  }

  const NamedText& file_;
};

}  // namespace

std::string_view Name(WorkClass work) { return kClassNames[static_cast<std::size_t>(work)]; }

Result<KernelConstants> KernelConstants::LoadBuiltIn() {
  return Parse(KernelConstantFiles().front());
}

Result<KernelConstants> KernelConstants::Parse(const NamedText& file) {
  toml::table root;
  try {
    root = toml::parse(file.content);
  } catch (const toml::parse_error& error) {
    return Status::BadInput(fmt::format("kernel constants {}, line {}: {}; correct the TOML there",
                                        file.name, error.source().begin.line, error.description()));
  }
  return ConstantFile(file).Read(root);
}

const GemmLibrary* KernelConstants::LibraryOf(std::string_view architecture) const {
  for (const GemmLibrary& library : libraries) {
    if (std::find(library.architectures.begin(), library.architectures.end(), architecture) !=
        library.architectures.end())
      return &library;
  }
  return nullptr;
}

bool KernelConstants::Validated(std::string_view architecture, double vector_share) const {
  const auto has = [&](const std::vector<std::string>& architectures) {
    return std::find(architectures.begin(), architectures.end(), architecture) !=
           architectures.end();
  };
  constexpr double kSome = 0.2;
  return has(validated) || (vector_share < kSome && has(validated_tensor_cores));
}

}  // namespace headroom
