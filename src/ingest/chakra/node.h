// The messages of a Chakra execution trace, marked field by field in place, without copies or
// interpretation.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/chakra_fields.h"

namespace headroom::chakra {

/// A name and one value, as views into the message.
struct Attribute {
  enum class Kind : std::uint8_t {
    kNone,  ///< No value, or a value of an unsupported type.
    kInteger,
    kReal,
    kText,
    kIntegers,  ///< `bytes` is the message of the list.
    kReals,
    kTexts,
  };

  std::string_view name;
  Kind kind = Kind::kNone;
  std::int64_t integer = 0;  ///< 0 or 1 for a bool. Unsigned values above INT64_MAX are negative.
  double real = 0;
  std::string_view bytes;
};

/// Returns false if the message is not well-formed or a value has the wrong type.
bool ReadAttribute(std::string_view message, Attribute& out);

/// Appends the elements of an attribute if it is a list.
void AppendElements(const Attribute& list, std::vector<std::int64_t>& out);
void AppendElements(const Attribute& list, std::vector<double>& out);
void AppendElements(const Attribute& list, std::vector<std::string_view>& out);

/// The message `GlobalMetadata`.
struct Metadata {
  std::vector<Attribute> attributes;

  const Attribute* Find(std::string_view attribute) const;
};

/// Returns false if the message is not well-formed; the fields read before the damage are kept.
bool ReadMetadata(std::string_view message, Metadata& out);

struct IoInfo {
  std::string_view values, shapes, types;
};

/// One node, as views into the message.
struct Node {
  std::uint64_t id = 0;
  std::string_view name;
  NodeType type = NodeType::kInvalid;
  std::uint64_t start_micros = 0, duration_micros = 0;  ///< 0 if not recorded.
  IoInfo inputs;
  std::vector<std::uint64_t> ctrl_deps, data_deps;
  std::vector<Attribute> attributes;

  /// Returns the attribute with this name, or null. O(number of attributes).
  const Attribute* Find(std::string_view attribute) const;
  /// Returns the attribute's value if it has this kind, else `otherwise`.
  std::int64_t Integer(std::string_view attribute, std::int64_t otherwise) const;
  std::string_view Text(std::string_view attribute) const;
};

/// Returns false if the message is not well-formed.
bool ReadNode(std::string_view message, Node& out);

/// Returns true if a message is well-formed, its fields have the types of the format, and it has a
/// name or a type. Without the last condition a zero byte would be a node. `cut` means that only
/// its beginning is available. `as_found` means that its position is a guess, so it must have both
/// a name and a type.
bool IsNode(std::string_view message, bool cut, bool as_found);

/// Returns the number of attributes if a message is metadata, else nullopt. If `cut`, counts the
/// available attributes.
std::optional<int> AttributesOfMetadata(std::string_view message, bool cut);

}  // namespace headroom::chakra
