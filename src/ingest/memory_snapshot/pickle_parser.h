// Reads Python's pickles as data: a stack machine for the opcodes that make numbers, text, lists,
// tuples and dictionaries, protocols 0 to 5. Never imports, calls or builds anything: an opcode
// that would do so ends the reading. Format: the docstrings of CPython's pickletools.py.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ingest/input/byte_source.h"
#include "ingest/memory_snapshot/pickle_values.h"

namespace headroom::memory_snapshot {

/// Returns true if these first bytes of a file belong to a pickle of protocol 2 to 5.
bool LooksLikePickle(std::string_view head);

enum class PickleEnd : std::uint8_t {
  kWhole,    ///< The pickle ended with STOP.
  kCut,      ///< The source ended before STOP.
  kDamaged,  ///< An invalid opcode, or an opcode without its operands.
  kCode,     ///< An opcode that makes objects by running code.
};

struct PickleResult {
  /// The outermost value. If reading ended early, the containers that were open hold the values
  /// read so far.
  Value root;
  PickleEnd end = PickleEnd::kWhole;
  std::int64_t offset = 0;  ///< Bytes read; for kDamaged and kCode the offset of the opcode.
  std::string_view opcode;  ///< Name of the opcode for kCode.
  std::int64_t opcodes =
      0;  ///< Number of executed opcodes; bounds the values that a walk may visit.
  std::int64_t long_strings = 0;  ///< Number of strings over the length limit, which were dropped.
};

struct PickleOptions {
  /// Longer strings are dropped, to bound memory. At least 1.
  std::int64_t max_string_bytes = std::int64_t{64} << 20;
  /// Bytes per read, at least 1. Does not affect the result.
  std::size_t chunk_bytes = std::size_t{1} << 20;
  /// Called for each dictionary with its first items: alternating keys and values. Returns the
  /// number of a record that replaces the dictionary, which saves memory; nullopt keeps the
  /// dictionary. May be empty.
  std::function<std::optional<std::uint32_t>(const PickleValues&, std::span<const Value>)> record;
  /// Called occasionally with the number of compressed bytes read so far; may be empty.
  std::function<void(std::int64_t)> progress;
};

/// Reads one pickle. Fails only if the source fails. May throw std::bad_alloc.
Result<PickleResult> ParsePickle(ByteSource& source, const PickleOptions& options,
                                 PickleValues& values);

}  // namespace headroom::memory_snapshot
