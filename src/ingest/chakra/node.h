// The messages of a Chakra execution trace, marked field by field in place: nothing is copied and
// no meaning is given.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/chakra_fields.h"

namespace headroom::chakra {

/// A name and one value. Views into the message.
struct Attribute {
  enum class Kind : std::uint8_t {
    kNone,  ///< No value, or of a type that is not read.
    kInteger,
    kReal,
    kText,
    kIntegers,  ///< `bytes` is the message of the list.
    kReals,
    kTexts,
  };

  std::string_view name;
  Kind kind = Kind::kNone;
  std::int64_t integer = 0;  ///< 0 or 1 of a bool. Unsigned ones above the largest are negative.
  double real = 0;
  std::string_view bytes;
};

/// False where the message is not well-formed or gives a value the wrong type.
bool ReadAttribute(std::string_view message, Attribute& out);

/// The elements of an attribute that is a list; nothing where it is none.
void AppendElements(const Attribute& list, std::vector<std::int64_t>& out);
void AppendElements(const Attribute& list, std::vector<double>& out);
void AppendElements(const Attribute& list, std::vector<std::string_view>& out);

/// `GlobalMetadata`.
struct Metadata {
  std::vector<Attribute> attributes;

  const Attribute* Find(std::string_view attribute) const;
};

/// False where the message is not well-formed; what came before stays.
bool ReadMetadata(std::string_view message, Metadata& out);

struct IoInfo {
  std::string_view values, shapes, types;
};

/// One node. Views into the message.
struct Node {
  std::uint64_t id = 0;
  std::string_view name;
  NodeType type = NodeType::kInvalid;
  std::uint64_t start_micros = 0, duration_micros = 0;  ///< 0 where not told.
  IoInfo inputs;
  std::vector<std::uint64_t> ctrl_deps, data_deps;
  std::vector<Attribute> attributes;

  /// The attribute of a name, or null. O(number of attributes).
  const Attribute* Find(std::string_view attribute) const;
  /// Its value where it is one of that kind, else `otherwise`.
  std::int64_t Integer(std::string_view attribute, std::int64_t otherwise) const;
  std::string_view Text(std::string_view attribute) const;
};

/// False where the message is not well-formed.
bool ReadNode(std::string_view message, Node& out);

/// Whether a message is well-formed, its fields have the types that the format gives them, and it
/// has a name or a type: else a byte of zeros would be a node. `cut`: only its beginning is there.
/// `as_found`: nothing told where it begins, so it must have both.
bool IsNode(std::string_view message, bool cut, bool as_found);

/// How many attributes a message has, as metadata; nothing where it is none. `cut`: as above, and
/// then those that are there.
std::optional<int> AttributesOfMetadata(std::string_view message, bool cut);

}  // namespace headroom::chakra
