#include "ingest/perfetto/event_args.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/perfetto_fields.h"
#include "ingest/input/json_escapes.h"
#include "store/kineto_args.h"

namespace headroom::perfetto {
namespace {

struct ColumnText {
  std::string_view text;
  ArgColumn column;
};

constexpr ColumnText kColumns[] = {
    // Headroom's names (docs/recording.md).
    {"correlation", ArgColumn::kCorrelation},
    {"external_id", ArgColumn::kExternalId},
    {"step", ArgColumn::kStep},
    {"continues", ArgColumn::kContinues},
    {"rank", ArgColumn::kRank},
    {"world_size", ArgColumn::kWorldSize},
    {"product", ArgColumn::kProduct},
    {"kind", ArgColumn::kKind},
    {"device", ArgColumn::kDevice},
    {"stream", ArgColumn::kStream},
    {"copy", ArgColumn::kCopy},
    {"bytes", ArgColumn::kBytes},
    {"grid", ArgColumn::kGrid},
    {"block", ArgColumn::kBlock},
    {"registers", ArgColumn::kRegisters},
    {"shared_memory", ArgColumn::kSharedMemory},
    {"graph_node", ArgColumn::kGraphNode},
    // Kineto's names, if they differ from Headroom's.
    {NameOf(KinetoArg::kExternalId), ArgColumn::kExternalId},
    {NameOf(KinetoArg::kSequence), ArgColumn::kSequence},
    {NameOf(KinetoArg::kForwardThread), ArgColumn::kForwardThread},
    {NameOf(KinetoArg::kPythonId), ArgColumn::kPythonId},
    {NameOf(KinetoArg::kPythonParentId), ArgColumn::kPythonParentId},
    {NameOf(KinetoArg::kEventIndex), ArgColumn::kEventIndex},
    {NameOf(KinetoArg::kRecordFunction), ArgColumn::kRecordFunction},
    {NameOf(KinetoArg::kRegisters), ArgColumn::kRegisters},
    {NameOf(KinetoArg::kSharedMemory), ArgColumn::kSharedMemory},
    {NameOf(KinetoArg::kOccupancy), ArgColumn::kOccupancy},
    {NameOf(KinetoArg::kGraphNode), ArgColumn::kGraphNode},
    {NameOf(KinetoArg::kCollectiveName), ArgColumn::kCollectiveName},
    {NameOf(KinetoArg::kInElements), ArgColumn::kInElements},
    {NameOf(KinetoArg::kOutElements), ArgColumn::kOutElements},
    {NameOf(KinetoArg::kGroupSize), ArgColumn::kGroupSize},
    {NameOf(KinetoArg::kDtype), ArgColumn::kDtype},
    {NameOf(KinetoArg::kProcessGroup), ArgColumn::kProcessGroup},
    {NameOf(KinetoArg::kAddress), ArgColumn::kAddress},
    {NameOf(KinetoArg::kMemoryBytes), ArgColumn::kMemoryBytes},
    {NameOf(KinetoArg::kTotalAllocated), ArgColumn::kTotalAllocated},
    {NameOf(KinetoArg::kTotalReserved), ArgColumn::kTotalReserved},
    {NameOf(KinetoArg::kDeviceType), ArgColumn::kDeviceType},
    {NameOf(KinetoArg::kDeviceId), ArgColumn::kDeviceId},
    {NameOf(KinetoArg::kWaitOnStream), ArgColumn::kWaitOnStream},
    {NameOf(KinetoArg::kWaitOnCorrelation), ArgColumn::kWaitOnCorrelation},
    // rocprofv3's names.
    {"corr_id", ArgColumn::kCorrelation},
    {"agent", ArgColumn::kAgent},
    {"dst_agent", ArgColumn::kAgent},
    {"src_agent", ArgColumn::kSourceAgent},
    {"copy_bytes", ArgColumn::kBytes},
    {"grid_size", ArgColumn::kGridThreads},
    {"workgroup_size", ArgColumn::kBlockThreads},
    {"group_segment_size", ArgColumn::kSharedMemory},
    {"stream_ID", ArgColumn::kStream},
    {"begin_ns", ArgColumn::kBegin},
    {"end_ns", ArgColumn::kEnd},
    {"delta_ns", ArgColumn::kLength},
    {"ancestor_id", ArgColumn::kAncestor},
};

/// Deeper nesting is dropped.
constexpr int kMaxDepth = 32;

/// JSON has no infinity and no NaN.
void AppendNumber(double value, std::string& out) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(out), "{}", value);
  } else {
    out += "null";
  }
}

/// Returns true if a text is a JSON array or object. Tools that convert JSON to this format pass
/// shapes this way.
bool IsNested(std::string_view text) {
  return (text.starts_with('[') || text.starts_with('{')) && nlohmann::json::accept(text);
}

}  // namespace

ArgColumn EventArgs::ColumnOf(StringId name) {
  const std::size_t index = name.index();
  if (index >= columns_.size()) {
    columns_.resize(strings_.size());
    known_.resize(strings_.size());
  }
  if (!known_[index]) {
    known_[index] = true;
    for (const ColumnText& column : kColumns) {
      if (column.text == strings_.Get(name)) columns_[index] = column.column;
    }
  }
  return columns_[index];
}

EventArgs::Arg* EventArgs::Named(StringId name) {
  constexpr std::size_t kFew = 32;  // Nearly all events have at most this many.
  if (args_.size() <= kFew) {
    const auto found =
        std::find_if(args_.begin(), args_.end(), [&](const Arg& arg) { return arg.name == name; });
    return found == args_.end() ? nullptr : &*found;
  }
  for (; indexed_ < args_.size(); ++indexed_) by_name_.try_emplace(args_[indexed_].name, indexed_);
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &args_[found->second];
}

StringId EventArgs::Referred(const InternTable& table, std::uint64_t iid) {
  const StringId text = table.Find(iid);
  if (!text.valid() || budget_.Take(strings_.Get(text).size())) return text;
  over_budget_ = true;
  return StringId::None();
}

void EventArgs::Add(Arg arg) {
  arg.column = ColumnOf(arg.name);
  // If two arguments have the same name, the later wins. If two names map to one column, the first
  // wins.
  if (arg.column == ArgColumn::kNone || Find(arg.column) != nullptr) {
    if (Arg* const other = Named(arg.name)) {
      *other = arg;
      return;
    }
  }
  args_.push_back(arg);
  std::uint32_t& at = arg_of_[static_cast<std::size_t>(arg.column)];
  if (at == 0) at = static_cast<std::uint32_t>(args_.size());
}

void EventArgs::AddText(std::string_view name, std::string_view value) {
  const std::size_t at = args_.size();
  if (at >= last_names_.size()) last_names_.resize(at + 1, StringId(0u));
  StringId& id = last_names_[at];
  if (strings_.Get(id) != name) id = strings_.Intern(name);
  Add({id, {}, Type::kText, false, 0, 0, value, 0, 0});
}

bool EventArgs::AddAnnotation(std::string_view message, const InternTable& names,
                              const InternTable& texts) {
  Arg arg = {StringId::None(), {}, Type::kText, false, 0, 0, {}, 0, 0};
  bool nested = false, found = true;
  ProtobufReader reader(message);
  while (reader.Next()) {
    switch (reader.as<DebugAnnotationField>()) {
      case DebugAnnotationField::kNameIid:
        arg.name = Referred(names, reader.integer());
        break;
      case DebugAnnotationField::kName:
        arg.name = strings_.Intern(reader.bytes());
        break;
      case DebugAnnotationField::kBool:
        arg.type = Type::kBool;
        arg.integer = reader.integer() != 0 ? 1 : 0;
        break;
      case DebugAnnotationField::kUint:
      case DebugAnnotationField::kPointer:
        arg.integer = reader.signed_integer();
        arg.type = arg.integer < 0 ? Type::kUnsigned : Type::kInteger;
        break;
      case DebugAnnotationField::kInt:
        arg.integer = reader.signed_integer();
        arg.type = Type::kInteger;
        break;
      case DebugAnnotationField::kDouble:
        arg.number = reader.number();
        arg.type = Type::kDouble;
        break;
      case DebugAnnotationField::kString:
        arg.text = reader.bytes();
        break;
      case DebugAnnotationField::kLegacyJson:
        arg.text = reader.bytes();
        if (!nlohmann::json::accept(arg.text)) break;
        arg.type = Type::kJson;
        arg.json_at = json_.size();
        arg.json_size = arg.text.size();
        json_ += arg.text;
        break;
      case DebugAnnotationField::kStringIid: {
        const StringId text = Referred(texts, reader.integer());
        found = text.valid();
        if (found) arg.text = strings_.Get(text);
        break;
      }
      case DebugAnnotationField::kDictEntries:
      case DebugAnnotationField::kArrayValues:
        nested = true;
        break;
    }
  }
  if (over_budget_) return true;  // The caller logs that once per event.
  if (reader.damaged() || !arg.name.valid() || !found) return false;
  if (nested) {
    arg.type = Type::kJson;
    arg.json_at = json_.size();
    if (!AppendJson(message, names, texts, 0)) return over_budget_;
    arg.json_size = json_.size() - arg.json_at;
  }
  Add(arg);
  return true;
}

bool EventArgs::AppendJson(std::string_view annotation, const InternTable& names,
                           const InternTable& texts, int depth) {
  if (depth > kMaxDepth || over_budget_) return false;
  bool any = false;
  char close = 0;
  const auto open = [&](char bracket, char end) {
    if (any) return false;  // A list must not follow a number.
    if (close == 0) {
      json_ += bracket;
      close = end;
    } else {
      json_ += ", ";
    }
    return close == end;  // A value is an array or an object, not both.
  };
  ProtobufReader reader(annotation);
  while (reader.Next()) {
    const auto field = reader.as<DebugAnnotationField>();
    if (field == DebugAnnotationField::kArrayValues) {
      if (!open('[', ']') || !AppendJson(reader.bytes(), names, texts, depth + 1)) return false;
    } else if (field == DebugAnnotationField::kDictEntries) {
      if (!open('{', '}')) return false;
      std::string_view name;
      for (ProtobufReader entry(reader.bytes()); entry.Next();) {
        if (entry.as<DebugAnnotationField>() == DebugAnnotationField::kName) name = entry.bytes();
        if (entry.as<DebugAnnotationField>() != DebugAnnotationField::kNameIid) continue;
        const StringId interned = Referred(names, entry.integer());
        if (interned.valid()) name = strings_.Get(interned);
      }
      AppendQuoted(name, json_);
      json_ += ": ";
      if (!AppendJson(reader.bytes(), names, texts, depth + 1)) return false;
    } else if (close == 0 && !any) {
      any = true;
      switch (field) {
        case DebugAnnotationField::kBool:
          json_ += reader.integer() != 0 ? "true" : "false";
          break;
        case DebugAnnotationField::kUint:
        case DebugAnnotationField::kPointer:
          json_ += fmt::format_int(reader.integer()).c_str();
          break;
        case DebugAnnotationField::kInt:
          json_ += fmt::format_int(reader.signed_integer()).c_str();
          break;
        case DebugAnnotationField::kDouble:
          AppendNumber(reader.number(), json_);
          break;
        case DebugAnnotationField::kString:
          AppendQuoted(reader.bytes(), json_);
          break;
        case DebugAnnotationField::kStringIid: {
          const StringId text = Referred(texts, reader.integer());
          AppendQuoted(text.valid() ? strings_.Get(text) : std::string_view(), json_);
          break;
        }
        default:
          any = false;  // A name, or an unknown field.
      }
    }
  }
  if (close != 0) json_ += close;
  if (close == 0 && !any) json_ += "null";
  return !reader.damaged();
}

EventArgs::Arg* EventArgs::Find(ArgColumn column) {
  const std::uint32_t at = arg_of_[static_cast<std::size_t>(column)];
  return at == 0 ? nullptr : &args_[at - 1];
}

bool EventArgs::IntegerOf(const Arg& arg, std::int64_t& value) const {
  if (arg.type == Type::kInteger) {
    value = arg.integer;
    return true;
  }
  if (arg.type == Type::kDouble && std::abs(arg.number) < 9e15) {
    value = std::llround(arg.number);
    return true;
  }
  if (arg.type != Type::kText) return false;
  const char* const end = arg.text.data() + arg.text.size();
  const auto [p, error] = std::from_chars(arg.text.data(), end, value);
  return error == std::errc() && p == end;
}

std::int64_t EventArgs::Integer(ArgColumn column) {
  Arg* const arg = Find(column);
  std::int64_t value = 0;
  if (arg == nullptr || !IntegerOf(*arg, value) || value == kUnknown) return kUnknown;
  arg->taken = true;
  return value;
}

std::int32_t EventArgs::Integer32(ArgColumn column) {
  Arg* const arg = Find(column);
  std::int64_t value = 0;
  if (arg == nullptr || !IntegerOf(*arg, value) ||
      value <= std::numeric_limits<std::int32_t>::min() ||
      value > std::numeric_limits<std::int32_t>::max()) {
    return kUnknown32;
  }
  arg->taken = true;
  return static_cast<std::int32_t>(value);
}

Extent EventArgs::Blocks(ArgColumn column) {
  Arg* const arg = Find(column);
  if (arg == nullptr) return {};
  const std::string_view text = arg->type == Type::kJson
                                    ? std::string_view(json_).substr(arg->json_at, arg->json_size)
                                    : arg->text;
  Extent extent;
  std::int32_t* const out[] = {&extent.x, &extent.y, &extent.z};
  const char* p = text.data();
  const char* const end = p + text.size();
  const auto skip = [&] {
    while (p != end && (*p == ' ' || *p == ',' || *p == '[' || *p == ']')) ++p;
  };
  for (std::int32_t* value : out) {
    skip();
    const auto [next, error] = std::from_chars(p, end, *value);
    if (error != std::errc()) return {};
    p = next;
  }
  skip();
  if (p != end) return {};
  arg->taken = true;
  return extent;
}

std::string_view EventArgs::Text(ArgColumn column) {
  Arg* const arg = Find(column);
  if (arg == nullptr || arg->type != Type::kText) return {};
  arg->taken = true;
  return arg->text;
}

void EventArgs::TakeRestated() {
  if (!Has(ArgColumn::kBegin) || !Has(ArgColumn::kCorrelation)) return;
  for (const ArgColumn column :
       {ArgColumn::kBegin, ArgColumn::kEnd, ArgColumn::kLength, ArgColumn::kAncestor})
    Integer(column);
}

std::string_view EventArgs::Word(ArgColumn column, std::initializer_list<std::string_view> words) {
  const Arg* const arg = Find(column);
  if (arg == nullptr || std::find(words.begin(), words.end(), arg->text) == words.end()) return {};
  return Text(column);
}

StringId EventArgs::Rest() {
  rest_.clear();
  for (const Arg& arg : args_) {
    if (arg.taken) continue;
    if (!rest_.empty()) rest_ += ", ";
    AppendQuoted(strings_.Get(arg.name), rest_);
    rest_ += ": ";
    switch (arg.type) {
      case Type::kInteger:
        rest_ += fmt::format_int(arg.integer).c_str();
        break;
      case Type::kUnsigned:
        rest_ += fmt::format_int(static_cast<std::uint64_t>(arg.integer)).c_str();
        break;
      case Type::kBool:
        rest_ += arg.integer != 0 ? "true" : "false";
        break;
      case Type::kDouble:
        AppendNumber(arg.number, rest_);
        break;
      case Type::kText:
        if (IsNested(arg.text)) {
          rest_ += arg.text;
        } else {
          AppendQuoted(arg.text, rest_);
        }
        break;
      case Type::kJson:
        rest_.append(json_, arg.json_at, arg.json_size);
        break;
    }
  }
  return rest_.empty() ? StringId::None() : strings_.Intern(rest_);
}

}  // namespace headroom::perfetto
