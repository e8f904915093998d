// DeviceSpec and DeviceCatalog: data-sheet figures of GPUs, looked up by the name that a profiler
// recorded.
//
// The figures come from data/devices/*.toml, each with its source. A figure that the vendor does
// not publish, or that is uncertain, is absent from the file and nullopt here. It is never 0 and
// never copied from a similar GPU. Tensor peaks are dense: the doubled "with sparsity" figures of
// data sheets are not stored.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/named_text.h"
#include "base/status.h"
#include "cost/dtype.h"
#include "cost/sustained_shares.h"

namespace headroom {

/// Data-sheet figures of one GPU model, as one device of a profiler: for an MI250, one of its two
/// dies.
struct DeviceSpec {
  std::string name;                ///< Full name, e.g. "NVIDIA H200".
  std::string short_name;          ///< Name on the command line, e.g. "H200", "A100-40".
  std::string vendor;              ///< "NVIDIA" or "AMD".
  std::string architecture;        ///< "Hopper", "CDNA3", ...
  std::string compute_capability;  ///< NVIDIA "9.0", AMD "gfx942"; empty if unknown.
  std::string memory_type;         ///< "HBM2e", "GDDR6", ...; empty if unknown.

  std::optional<double> sm_count;  ///< Streaming multiprocessors or compute units.
  std::optional<double> fp32_lanes_per_sm;
  std::optional<double> boost_clock_mhz;
  std::optional<double> base_clock_mhz;
  /// Data-sheet capacity. UsableBytes() returns the part that a program can use.
  std::optional<double> memory_bytes;
  bool memory_is_usable = false;               ///< `memory_bytes` is as reported by the driver.
  std::optional<double> memory_bandwidth_gbs;  ///< 1e9 bytes per second.
  std::optional<double> l2_bytes;
  std::optional<double> l3_bytes;  ///< Between L2 and memory: AMD's Infinity Cache.
  // Peaks in 1e12 operations per second; a multiply-add is 2.
  std::optional<double> fp64_tflops;         ///< Vector units.
  std::optional<double> fp64_tensor_tflops;  ///< Matrix units.
  std::optional<double> fp32_tflops;         ///< Vector units.
  std::optional<double> fp32_matrix_tflops;  ///< Matrix units in full float32 (AMD only).
  std::optional<double> tf32_tensor_tflops;  ///< Dense, like all tensor peaks below.
  std::optional<double> bf16_tensor_tflops;
  std::optional<double> fp16_tensor_tflops;
  std::optional<double> fp8_tensor_tflops;
  std::optional<double> fp4_tensor_tflops;  ///< Block-scaled: NVFP4, MXFP4.
  std::optional<double> int8_tensor_tops;
  std::optional<double> tdp_w;
  std::optional<double> process_nm;  ///< Process node, as the vendor names it.
  /// Total bandwidth of all links to other GPUs (NVLink, Infinity Fabric), per direction.
  std::optional<double> link_bandwidth_gbs;
  std::optional<double> pcie_bandwidth_gbs;  ///< To the host, per direction.
  /// Share of `memory_bandwidth_gbs` that streaming copies reach, as published by the vendor or
  /// measured.
  std::optional<double> delivered_bandwidth_share;
  std::optional<double> max_threads_per_sm;
  std::optional<double> registers_per_sm;  ///< 32-bit registers.
  std::optional<double> shared_memory_per_sm_bytes;
  /// L1 cache per multiprocessor, with the smallest possible part reserved for shared memory.
  std::optional<double> l1_bytes;

  SustainedShares sustained;

  /// Returns the memory that the driver leaves to programs; nullopt if unknown.
  ///
  /// Device files hold nominal figures unless they set `memory_is_usable`. Error correction
  /// reserves 6 to 10 % of GDDR memory (A10, A40, L4, T4, P4), but not on GeForce cards. The driver
  /// reserves 1 to 2 % of any memory.
  std::optional<double> UsableBytes() const;

  /// Returns the source of a figure by its key in the file, e.g. SourceOf("tdp_w"). Empty if the
  /// figure is unknown.
  std::string_view SourceOf(std::string_view key) const;

  std::map<std::string, std::string, std::less<>>
      sources;  ///< Sources of the figures, by key in the file.
};

/// All known GPUs. Immutable once loaded; safe to read from several threads.
class DeviceCatalog {
 public:
  /// Reads device files. A later file replaces an earlier device of the same short name, so pass
  /// built-in files first and the user's last. Fails with kBadInput and a message that names the
  /// file, the key and the remedy.
  static Result<DeviceCatalog> Load(std::span<const NamedText> files);

  DeviceCatalog(DeviceCatalog&&) noexcept;
  DeviceCatalog& operator=(DeviceCatalog&&) noexcept;
  ~DeviceCatalog();

  /// Returns the device with that name or short name, or with a `match` expression that matches
  /// `name`. Ignores case and surrounding blanks. Returns nullptr if unknown. The pointer is valid
  /// as long as the catalog exists.
  const DeviceSpec* Find(std::string_view name) const;
  /// Returns the only device of that size, for traces that do not name their device. Returns
  /// nullptr if no device or several devices match.
  ///
  /// @param sms                 streaming multiprocessors or compute units
  /// @param memory_bytes  memory as reported by the driver; may differ by up to 3 %
  /// @param compute_capability  "9.0", for AMD's gfx942 "9.4"; empty if unknown
  const DeviceSpec* FindBySize(std::int64_t sms, std::int64_t memory_bytes,
                               std::string_view compute_capability) const;

  /// Sorted by short name.
  std::span<const DeviceSpec> devices() const;

 private:
  struct Impl;
  explicit DeviceCatalog(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace headroom
