#include "ingest/chakra/node.h"

#include <bit>
#include <cstring>

#include "base/protobuf_reader.h"

namespace headroom::chakra {
namespace {

/// Decodes a field declared as sint32 or sint64: the sign is the lowest bit.
std::int64_t Zigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

const Attribute* FindIn(const std::vector<Attribute>& attributes, std::string_view name) {
  for (const Attribute& attribute : attributes) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

bool ReadIo(std::string_view message, IoInfo& out) {
  ProtobufReader reader(message);
  while (reader.Next()) {
    switch (reader.as<IoField>()) {
      case IoField::kValues:
        out.values = reader.bytes();
        break;
      case IoField::kShapes:
        out.shapes = reader.bytes();
        break;
      case IoField::kTypes:
        out.types = reader.bytes();
        break;
    }
  }
  return !reader.damaged();
}

/// The first byte of an attribute: the key of its name field.
constexpr char kAttributeBegin = static_cast<char>(FieldKey(AttrField::kName, WireType::kBytes));

bool IsNodeField(std::uint32_t field, WireType type) {
  switch (static_cast<NodeField>(field)) {
    case NodeField::kId:
    case NodeField::kType:
    case NodeField::kStartTimeMicros:
    case NodeField::kDurationMicros:
      return type == WireType::kVarint;
    case NodeField::kCtrlDeps:
    case NodeField::kDataDeps:
      return type == WireType::kVarint || type == WireType::kBytes;
    case NodeField::kName:
    case NodeField::kInputs:
    case NodeField::kOutputs:
    case NodeField::kAttr:
    case NodeField::kStorage:
      return type == WireType::kBytes;
  }
  return true;  // A field of a later version of the format.
}

}  // namespace

bool ReadAttribute(std::string_view message, Attribute& out) {
  ProtobufReader reader(message);
  out = Attribute();
  const auto expect = [&](WireType type, Attribute::Kind kind) {
    out.kind = kind;
    return reader.type() == type;
  };
  const auto integer = [&](WireType type, std::int64_t value) {
    out.integer = value;
    return expect(type, Attribute::Kind::kInteger);
  };
  const auto bytes = [&](Attribute::Kind kind) {
    out.bytes = reader.bytes();
    return expect(WireType::kBytes, kind);
  };
  bool whole = true;
  while (reader.Next()) {
    switch (reader.as<AttrField>()) {
      case AttrField::kName:
        out.name = reader.bytes();
        whole = whole && reader.type() == WireType::kBytes;
        break;
      case AttrField::kDoc:
        break;
      case AttrField::kDouble:
        out.real = reader.number();
        whole = whole && expect(WireType::kFixed64, Attribute::Kind::kReal);
        break;
      case AttrField::kFloat:
        out.real = std::bit_cast<float>(static_cast<std::uint32_t>(reader.integer()));
        whole = whole && expect(WireType::kFixed32, Attribute::Kind::kReal);
        break;
      case AttrField::kInt32:
      case AttrField::kInt64:
      case AttrField::kUint32:
      case AttrField::kUint64:
      case AttrField::kBool:
        whole = whole && integer(WireType::kVarint, reader.signed_integer());
        break;
      case AttrField::kSint32:
      case AttrField::kSint64:
        whole = whole && integer(WireType::kVarint, Zigzag(reader.integer()));
        break;
      case AttrField::kFixed32:
      case AttrField::kSfixed32:
        whole = whole && integer(WireType::kFixed32, reader.as<AttrField>() == AttrField::kFixed32
                                                         ? reader.signed_integer()
                                                         : std::int64_t{reader.integer32()});
        break;
      case AttrField::kFixed64:
      case AttrField::kSfixed64:
        whole = whole && integer(WireType::kFixed64, reader.signed_integer());
        break;
      case AttrField::kString:
      case AttrField::kBytes:
        whole = whole && bytes(Attribute::Kind::kText);
        break;
      case AttrField::kInt64List:
        whole = whole && bytes(Attribute::Kind::kIntegers);
        break;
      case AttrField::kDoubleList:
        whole = whole && bytes(Attribute::Kind::kReals);
        break;
      case AttrField::kStringList:
      case AttrField::kBytesList:
        whole = whole && bytes(Attribute::Kind::kTexts);
        break;
    }
  }
  return whole && !reader.damaged();
}

void AppendElements(const Attribute& list, std::vector<std::int64_t>& out) {
  if (list.kind != Attribute::Kind::kIntegers) return;
  for (ProtobufReader reader(list.bytes); reader.Next();) {
    if (reader.as<ListField>() != ListField::kValues) continue;
    ForEachInteger(reader,
                   [&](std::uint64_t value) { out.push_back(static_cast<std::int64_t>(value)); });
  }
}

void AppendElements(const Attribute& list, std::vector<double>& out) {
  if (list.kind != Attribute::Kind::kReals) return;
  for (ProtobufReader reader(list.bytes); reader.Next();) {
    if (reader.as<ListField>() != ListField::kValues) continue;
    if (reader.type() == WireType::kFixed64) out.push_back(reader.number());
    const std::string_view packed = reader.bytes();
    for (std::size_t at = 0; at + sizeof(double) <= packed.size(); at += sizeof(double)) {
      double value = 0;
      std::memcpy(&value, packed.data() + at, sizeof value);
      out.push_back(value);
    }
  }
}

void AppendElements(const Attribute& list, std::vector<std::string_view>& out) {
  if (list.kind != Attribute::Kind::kTexts) return;
  for (ProtobufReader reader(list.bytes); reader.Next();) {
    if (reader.as<ListField>() == ListField::kValues) out.push_back(reader.bytes());
  }
}

const Attribute* Metadata::Find(std::string_view attribute) const {
  return FindIn(attributes, attribute);
}

bool ReadMetadata(std::string_view message, Metadata& out) {
  ProtobufReader reader(message);
  bool whole = true;
  while (reader.Next()) {
    if (reader.as<MetadataField>() != MetadataField::kAttr) continue;
    Attribute attribute;
    if (ReadAttribute(reader.bytes(), attribute)) {
      out.attributes.push_back(attribute);
    } else {
      whole = false;
    }
  }
  return whole && !reader.damaged();
}

const Attribute* Node::Find(std::string_view attribute) const {
  return FindIn(attributes, attribute);
}

std::int64_t Node::Integer(std::string_view attribute, std::int64_t otherwise) const {
  const Attribute* const found = Find(attribute);
  return found != nullptr && found->kind == Attribute::Kind::kInteger ? found->integer : otherwise;
}

std::string_view Node::Text(std::string_view attribute) const {
  const Attribute* const found = Find(attribute);
  return found != nullptr && found->kind == Attribute::Kind::kText ? found->bytes
                                                                   : std::string_view();
}

bool ReadNode(std::string_view message, Node& out) {
  out.id = out.start_micros = out.duration_micros = 0;
  out.name = {};
  out.type = NodeType::kInvalid;
  out.inputs = {};
  out.ctrl_deps.clear();
  out.data_deps.clear();
  out.attributes.clear();
  ProtobufReader reader(message);
  bool whole = true;
  while (reader.Next()) {
    if (!IsNodeField(reader.field(), reader.type())) return false;
    switch (reader.as<NodeField>()) {
      case NodeField::kId:
        out.id = reader.integer();
        break;
      case NodeField::kName:
        out.name = reader.bytes();
        break;
      case NodeField::kType:
        out.type =
            reader.integer() > 0xff ? NodeType::kInvalid : static_cast<NodeType>(reader.integer());
        break;
      case NodeField::kCtrlDeps:
        ForEachInteger(reader, [&](std::uint64_t id) { out.ctrl_deps.push_back(id); });
        break;
      case NodeField::kDataDeps:
        ForEachInteger(reader, [&](std::uint64_t id) { out.data_deps.push_back(id); });
        break;
      case NodeField::kStartTimeMicros:
        out.start_micros = reader.integer();
        break;
      case NodeField::kDurationMicros:
        out.duration_micros = reader.integer();
        break;
      case NodeField::kInputs:
        whole = ReadIo(reader.bytes(), out.inputs) && whole;
        break;
      case NodeField::kAttr: {
        Attribute attribute;
        whole = ReadAttribute(reader.bytes(), attribute) && whole;
        out.attributes.push_back(attribute);
        break;
      }
      case NodeField::kOutputs:
      case NodeField::kStorage:
        break;
    }
  }
  return whole && !reader.damaged();
}

bool IsNode(std::string_view message, bool cut, bool as_found) {
  // Bounds the cost of hostile bytes. A node's first fields are the most distinctive.
  constexpr int kFieldsChecked = 64;
  ProtobufReader reader(message);
  bool has_name = false, has_type = false;
  int fields = 0;
  for (; fields < kFieldsChecked && reader.Next(); ++fields) {
    if (!IsNodeField(reader.field(), reader.type())) return false;
    if (as_found && reader.field() > static_cast<std::uint32_t>(NodeField::kStorage)) return false;
    // Writers put fields in the order of their numbers, and omit an id of 0.
    if (as_found && fields == 0 && reader.as<NodeField>() > NodeField::kName) return false;
    has_name = has_name || reader.as<NodeField>() == NodeField::kName;
    has_type = has_type || reader.as<NodeField>() == NodeField::kType;
    if (as_found && reader.as<NodeField>() == NodeField::kType && reader.integer() > 32)
      return false;
    if (as_found && reader.as<NodeField>() == NodeField::kAttr &&
        !reader.bytes().starts_with(kAttributeBegin))
      return false;
  }
  if (cut) return reader.damaged() && fields > 0;
  return !reader.damaged() && (as_found ? has_name && has_type : has_name || has_type);
}

std::optional<int> AttributesOfMetadata(std::string_view message, bool cut) {
  ProtobufReader reader(message);
  int versions = 0, attributes = 0;
  while (reader.Next()) {
    Attribute attribute;
    switch (reader.as<MetadataField>()) {
      case MetadataField::kVersion:
        if (reader.type() != WireType::kBytes || ++versions > 1) return std::nullopt;
        break;
      case MetadataField::kAttr:
        if (!ReadAttribute(reader.bytes(), attribute) || attribute.name.empty())
          return std::nullopt;
        ++attributes;
        break;
      default:
        return std::nullopt;
    }
  }
  return reader.damaged() == cut ? std::optional(attributes) : std::nullopt;
}

}  // namespace headroom::chakra
