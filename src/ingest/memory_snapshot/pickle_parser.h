// Python's pickles as data: a stack machine for the opcodes that make numbers, text, lists, tuples
// and dictionaries, protocols 0 to 5. Nothing is imported, called or built: an opcode that would do
// so ends the reading. (The format: the docstrings of CPython's pickletools.py.)
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

/// Whether these first bytes of a file are those of a pickle of protocol 2 to 5.
bool LooksLikePickle(std::string_view head);

enum class PickleEnd : std::uint8_t {
  kWhole,    ///< It ended with STOP.
  kCut,      ///< The source ended before that.
  kDamaged,  ///< An opcode that is none, or without what it needs.
  kCode,     ///< An opcode that makes objects by running code.
};

struct PickleResult {
  /// The outermost value. Where reading ended early, the containers that were open then hold what
  /// had come.
  Value root;
  PickleEnd end = PickleEnd::kWhole;
  std::int64_t offset = 0;        ///< Bytes read; of kDamaged and kCode where the opcode is.
  std::string_view opcode;        ///< Of kCode: its name.
  std::int64_t opcodes = 0;       ///< How many were carried out: bounds what a walk may visit.
  std::int64_t long_strings = 0;  ///< Longer than the limit, left out.
};

struct PickleOptions {
  /// Longer strings are left out, to bound memory. From 1 up.
  std::int64_t max_string_bytes = std::int64_t{64} << 20;
  /// Bytes read at a time, from 1 up; the result does not depend on it.
  std::size_t chunk_bytes = std::size_t{1} << 20;
  /// Asked of each dictionary as it gets its first items, keys and values in turn: the number of a
  /// record that the caller keeps in its stead, which saves memory; nullopt: it stays. May be
  /// empty.
  std::function<std::optional<std::uint32_t>(const PickleValues&, std::span<const Value>)> record;
  /// Called now and then with the compressed bytes read so far; may be empty.
  std::function<void(std::int64_t)> progress;
};

/// Reads one pickle. Fails only where the source does. Throws std::bad_alloc.
Result<PickleResult> ParsePickle(ByteSource& source, const PickleOptions& options,
                                 PickleValues& values);

}  // namespace headroom::memory_snapshot
