#include "cost/device_spec.h"

#include <re2/re2.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/text.h"

namespace headroom {
namespace {

/// A figure of the file: its key, required unit, member, and the limits that hold for any GPU. The
/// limits refuse figures in a wrong unit.
struct FigureField {
  std::string_view key;
  std::string_view unit;
  std::optional<double> DeviceSpec::*member;
  double least, most;
  bool whole = false;
};

constexpr std::array kFigures = {
    FigureField{"sm_count", "1", &DeviceSpec::sm_count, 1, 100000, true},
    FigureField{"fp32_lanes_per_sm", "1", &DeviceSpec::fp32_lanes_per_sm, 8, 1024, true},
    FigureField{"boost_clock_mhz", "MHz", &DeviceSpec::boost_clock_mhz, 50, 20000},
    FigureField{"base_clock_mhz", "MHz", &DeviceSpec::base_clock_mhz, 50, 20000},
    FigureField{"memory_bytes", "B", &DeviceSpec::memory_bytes, 1 << 28, 1ll << 45},
    FigureField{"memory_bandwidth_gbs", "GB/s", &DeviceSpec::memory_bandwidth_gbs, 1, 1e6},
    FigureField{"l2_bytes", "B", &DeviceSpec::l2_bytes, 1 << 14, 1ll << 36},
    FigureField{"l3_bytes", "B", &DeviceSpec::l3_bytes, 1 << 14, 1ll << 40},
    FigureField{"fp64_tflops", "TFLOP/s", &DeviceSpec::fp64_tflops, 0.001, 100000},
    FigureField{"fp64_tensor_tflops", "TFLOP/s", &DeviceSpec::fp64_tensor_tflops, 0.001, 100000},
    FigureField{"fp32_tflops", "TFLOP/s", &DeviceSpec::fp32_tflops, 0.001, 100000},
    FigureField{"fp32_matrix_tflops", "TFLOP/s", &DeviceSpec::fp32_matrix_tflops, 0.001, 100000},
    FigureField{"tf32_tensor_tflops", "TFLOP/s", &DeviceSpec::tf32_tensor_tflops, 0.001, 1e6},
    FigureField{"bf16_tensor_tflops", "TFLOP/s", &DeviceSpec::bf16_tensor_tflops, 0.001, 1e6},
    FigureField{"fp16_tensor_tflops", "TFLOP/s", &DeviceSpec::fp16_tensor_tflops, 0.001, 1e6},
    FigureField{"fp8_tensor_tflops", "TFLOP/s", &DeviceSpec::fp8_tensor_tflops, 0.001, 1e6},
    FigureField{"fp4_tensor_tflops", "TFLOP/s", &DeviceSpec::fp4_tensor_tflops, 0.001, 1e6},
    FigureField{"int8_tensor_tops", "TOP/s", &DeviceSpec::int8_tensor_tops, 0.001, 1e6},
    FigureField{"tdp_w", "W", &DeviceSpec::tdp_w, 1, 100000},
    FigureField{"process_nm", "nm", &DeviceSpec::process_nm, 0.1, 1000},
    FigureField{"link_bandwidth_gbs", "GB/s", &DeviceSpec::link_bandwidth_gbs, 0.1, 1e6},
    FigureField{"pcie_bandwidth_gbs", "GB/s", &DeviceSpec::pcie_bandwidth_gbs, 0.1, 100000},
    FigureField{"delivered_bandwidth_share", "1", &DeviceSpec::delivered_bandwidth_share, 0.05, 1},
    FigureField{"max_threads_per_sm", "1", &DeviceSpec::max_threads_per_sm, 64, 65536, true},
    FigureField{"registers_per_sm", "1", &DeviceSpec::registers_per_sm, 1024, 1 << 24, true},
    FigureField{"shared_memory_per_sm_bytes", "B", &DeviceSpec::shared_memory_per_sm_bytes, 1024,
                1 << 28},
    FigureField{"l1_bytes", "B", &DeviceSpec::l1_bytes, 1024, 1 << 28},
};

/// A device and the regular expressions that match its names in full.
struct Entry {
  DeviceSpec spec;
  std::vector<std::unique_ptr<RE2>> patterns;
};

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return ToLower(x) == ToLower(y); });
}

/// Reads one device file. Every message names the file, the key and the remedy.
class DeviceFile {
 public:
  explicit DeviceFile(std::string_view name) : name_(name) {}

  Result<Entry> Read(const toml::table& table) {
    Entry entry;
    Status status = ReadText(table, "name", entry.spec.name, /*required=*/true);
    if (status.ok()) status = ReadText(table, "short_name", entry.spec.short_name, true);
    if (status.ok()) status = ReadText(table, "vendor", entry.spec.vendor, true);
    if (status.ok()) status = ReadText(table, "architecture", entry.spec.architecture, false);
    if (status.ok())
      status = ReadText(table, "compute_capability", entry.spec.compute_capability, false);
    if (status.ok()) status = ReadText(table, "memory_type", entry.spec.memory_type, false);
    if (status.ok()) status = ReadMemoryKind(table, entry.spec);
    if (status.ok()) status = ReadPatterns(table, entry);
    if (status.ok()) status = ReadFigures(table, entry.spec);
    if (status.ok()) status = RefuseOtherKeys(table);
    if (!status.ok()) return status;
    return entry;
  }

 private:
  /// @param at  node whose line the message states; null if the key is missing
  Status Bad(std::string_view key, std::string_view what, const toml::node* at = nullptr) const {
    const std::string line = at != nullptr ? fmt::format(", line {}", at->source().begin.line) : "";
    return Status::BadInput(fmt::format("device file {}{}: key '{}': {}", name_, line, key, what));
  }

  Status ReadText(const toml::table& table, std::string_view key, std::string& out,
                  bool required) const {
    const toml::node* node = table.get(key);
    if (node == nullptr)
      return required ? Bad(key, "is missing; add it as a string in quotes") : Status::Ok();
    const auto text = node->value_exact<std::string>();
    if (!text || text->empty()) return Bad(key, "must be a non-empty string in quotes", node);
    out = *text;
    return Status::Ok();
  }

  Status ReadMemoryKind(const toml::table& table, DeviceSpec& spec) const {
    constexpr std::string_view kKey = "memory_is_usable";
    const toml::node* node = table.get(kKey);
    if (node == nullptr) return Status::Ok();
    const auto usable = node->value_exact<bool>();
    if (!usable) return Bad(kKey, "must be true or false, without quotes", node);
    spec.memory_is_usable = *usable;
    return Status::Ok();
  }

  Status ReadPatterns(const toml::table& table, Entry& entry) const {
    const toml::node* node = table.get("match");
    if (node == nullptr) return Status::Ok();
    const toml::array* list = node->as_array();
    if (list == nullptr)
      return Bad("match", "must be a list of regular expressions in quotes", node);
    for (const toml::node& item : *list) {
      const auto text = item.value_exact<std::string>();
      if (!text) return Bad("match", "must be a list of regular expressions in quotes", &item);
      RE2::Options options;
      options.set_case_sensitive(false);
      options.set_log_errors(false);
      auto pattern = std::make_unique<RE2>(*text, options);
      if (!pattern->ok()) {
        return Bad("match",
                   fmt::format("'{}' is not a valid RE2 expression ({}); correct or remove it",
                               *text, pattern->error()),
                   &item);
      }
      if (RE2::FullMatch("", *pattern) || RE2::FullMatch("a name of no GPU", *pattern)) {
        return Bad(
            "match",
            fmt::format("'{}' matches any name or an empty one; write the GPU's name in full",
                        *text),
            &item);
      }
      entry.patterns.push_back(std::move(pattern));
    }
    return Status::Ok();
  }

  Status ReadFigures(const toml::table& table, DeviceSpec& spec) const {
    const toml::node* node = table.get("figures");
    if (node == nullptr) return Status::Ok();
    const toml::table* figures = node->as_table();
    if (figures == nullptr) return Bad("figures", "must be a table", node);
    for (const auto& entry : *figures) {
      const std::string_view key = entry.first.str();
      const auto field = std::find_if(kFigures.begin(), kFigures.end(),
                                      [&](const FigureField& f) { return f.key == key; });
      if (field == kFigures.end())
        return Bad(key, "is an unknown figure; correct or remove it", &entry.second);
      Status status = ReadFigure(*field, entry.second, spec);
      if (!status.ok()) return status;
    }
    return CheckClock(*figures, spec);
  }

  /// Refuses figures that are plausible alone but not together.
  Status CheckClock(const toml::table& figures, const DeviceSpec& spec) const {
    if (!spec.fp32_tflops || !spec.sm_count || !spec.fp32_lanes_per_sm) return Status::Ok();
    constexpr double kTera = 1e12, kGiga = 1e9, kMultiplyAndAdd = 2;
    constexpr double kMinGhz = 0.2;
    // More than twice any real clock, because some lanes issue twice.
    constexpr double kMaxGhz = 10;
    const double ghz = *spec.fp32_tflops * kTera /
                       (kMultiplyAndAdd * *spec.sm_count * *spec.fp32_lanes_per_sm) / kGiga;
    if (ghz > kMaxGhz || ghz < kMinGhz) {
      return Bad("fp32_tflops",
                 fmt::format("implies, with sm_count and fp32_lanes_per_sm, an impossible clock of "
                             "{:.3g} GHz; correct the wrong figure",
                             ghz),
                 figures.get("fp32_tflops"));
    }
    return Status::Ok();
  }

  Status ReadFigure(const FigureField& field, const toml::node& node, DeviceSpec& spec) const {
    constexpr std::string_view kForm =
        "must be {{ value = NUMBER, unit = \"{}\", source = \"DOCUMENT\" }}";
    const toml::table* figure = node.as_table();
    if (figure == nullptr) return Bad(field.key, fmt::format(kForm, field.unit), &node);
    const auto value = (*figure)["value"].value<double>();
    const auto unit = (*figure)["unit"].value_exact<std::string>();
    const auto source = (*figure)["source"].value_exact<std::string>();
    if (!value || !unit || !source || figure->size() != 3)
      return Bad(field.key, fmt::format(kForm, field.unit), &node);
    if (!std::isfinite(*value) || *value <= 0) {
      return Bad(field.key, "must be above 0; remove the figure if it is unknown", &node);
    }
    if (*unit != field.unit)
      return Bad(field.key, fmt::format("must be in {}, not in {}", field.unit, *unit), &node);
    if (*value < field.least || *value > field.most) {
      return Bad(field.key,
                 fmt::format("must be from {:g} to {:g}{}", field.least, field.most,
                             field.unit == "1" ? "" : fmt::format(" {}", field.unit)),
                 &node);
    }
    if (field.whole && *value != std::floor(*value))
      return Bad(field.key, "must be a whole number", &node);
    if (source->empty())
      return Bad(field.key, "has no source; name the document that states it", &node);
    spec.*field.member = *value;
    spec.sources.emplace(field.key, *source);
    return Status::Ok();
  }

  Status RefuseOtherKeys(const toml::table& table) const {
    constexpr std::array<std::string_view, 9> kKeys = {
        "name",        "short_name",       "vendor", "architecture", "compute_capability",
        "memory_type", "memory_is_usable", "match",  "figures"};
    for (const auto& [key, value] : table) {
      if (std::find(kKeys.begin(), kKeys.end(), key.str()) == kKeys.end()) {
        return Bad(key.str(), "is an unknown key; correct or remove it", &value);
      }
    }
    return Status::Ok();
  }

  std::string_view name_;
};

}  // namespace

std::optional<double> DeviceSpec::UsableBytes() const {
  constexpr double kOfGddr = 0.92, kOfHbm = 0.99, kOfGeForce = 0.98;
  if (!memory_bytes || memory_is_usable) return memory_bytes;
  if (name.find("GeForce") != std::string::npos) return *memory_bytes * kOfGeForce;
  return *memory_bytes * (memory_type.starts_with("GDDR") ? kOfGddr : kOfHbm);
}

std::string_view DeviceSpec::SourceOf(std::string_view key) const {
  const auto it = sources.find(key);
  return it == sources.end() ? std::string_view() : std::string_view(it->second);
}

struct DeviceCatalog::Impl {
  std::vector<DeviceSpec> devices;                          ///< Sorted by short name.
  std::vector<std::vector<std::unique_ptr<RE2>>> patterns;  ///< Parallel to `devices`.
};

DeviceCatalog::DeviceCatalog(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeviceCatalog::DeviceCatalog(DeviceCatalog&&) noexcept = default;
DeviceCatalog& DeviceCatalog::operator=(DeviceCatalog&&) noexcept = default;
DeviceCatalog::~DeviceCatalog() = default;

Result<DeviceCatalog> DeviceCatalog::Load(std::span<const NamedText> files) {
  std::map<std::string, Entry, std::less<>> by_name;
  for (const NamedText& file : files) {
    toml::table table;
    try {
      table = toml::parse(file.content);
    } catch (const toml::parse_error& error) {
      return Status::BadInput(fmt::format("device file {}, line {}: {}; correct the TOML there",
                                          file.name, error.source().begin.line,
                                          error.description()));
    }
    Result<Entry> entry = DeviceFile(file.name).Read(table);
    if (!entry.ok()) return entry.status();
    std::string key = entry.value().spec.short_name;
    by_name.insert_or_assign(std::move(key), std::move(entry).value());
  }
  auto impl = std::make_unique<Impl>();
  for (auto& [name, entry] : by_name) {
    impl->devices.push_back(std::move(entry.spec));
    impl->patterns.push_back(std::move(entry.patterns));
  }
  return DeviceCatalog(std::move(impl));
}

const DeviceSpec* DeviceCatalog::Find(std::string_view name) const {
  constexpr std::size_t kLongestName = 256;
  name = TrimBlanks(name);
  if (name.empty() || name.size() > kLongestName) return nullptr;
  for (const DeviceSpec& device : impl_->devices) {
    if (EqualIgnoringCase(name, device.name) || EqualIgnoringCase(name, device.short_name))
      return &device;
  }
  for (std::size_t i = 0; i < impl_->devices.size(); ++i) {
    for (const auto& pattern : impl_->patterns[i]) {
      if (RE2::FullMatch(re2::StringPiece(name.data(), name.size()), *pattern))
        return &impl_->devices[i];
    }
  }
  return nullptr;
}

const DeviceSpec* DeviceCatalog::FindBySize(std::int64_t sms, std::int64_t memory_bytes,
                                            std::string_view compute_capability) const {
  constexpr double kTolerance = 0.03;
  // HIP reports gfx942 as 9.4. The last digit of gfx942 is the stepping.
  std::string gfx = "gfx";
  for (const char c : compute_capability) {
    if (c != '.') gfx += c;
  }
  const DeviceSpec* found = nullptr;
  for (const DeviceSpec& device : impl_->devices) {
    const std::string_view own = device.compute_capability;
    const bool is_generation = compute_capability.empty() || own == compute_capability ||
                               (own.starts_with(gfx) && own.size() == gfx.size() + 1);
    const std::optional<double> bytes = device.UsableBytes();
    if (!is_generation || !bytes || device.sm_count != static_cast<double>(sms) ||
        std::abs(static_cast<double>(memory_bytes) / *bytes - 1) > kTolerance) {
      continue;
    }
    if (found != nullptr) return nullptr;
    found = &device;
  }
  return found;
}

std::span<const DeviceSpec> DeviceCatalog::devices() const { return impl_->devices; }

}  // namespace headroom
