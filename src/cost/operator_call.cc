#include "cost/operator_call.h"

#include <charconv>
#include <span>
#include <utility>

namespace headroom {
namespace {

constexpr std::size_t kMaxText = 1 << 20;
constexpr std::size_t kMaxArgs = 4096;
constexpr std::size_t kMaxTensors = 65536;
constexpr std::size_t kMaxDims = 64;
constexpr int kMaxDepth = 4;

/// A value of the JSON subset that profilers write in these strings.
struct Value {
  enum class Kind { kText, kNumber, kList };
  Kind kind = Kind::kText;
  std::string text;         ///< kText: unescaped. kNumber and kList: as written.
  std::int64_t number = 0;  ///< kNumber, if it is an integer.
  bool integer = false;
  std::vector<Value> items;
};

/// Recursive-descent parser for lists, strings and bare words (numbers, null, true). Depth and size
/// are bounded.
class ListReader {
 public:
  explicit ListReader(std::string_view text) : text_(text) {}

  /// Parses the whole string as one list. Returns nullopt for anything else.
  std::optional<Value> ReadAll() {
    if (text_.size() > kMaxText) return std::nullopt;
    SkipBlanks();
    std::optional<Value> value = ReadValue(0);
    SkipBlanks();
    if (!value || value->kind != Value::Kind::kList || pos_ != text_.size()) return std::nullopt;
    return value;
  }

 private:
  static bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

  void SkipBlanks() {
    while (pos_ < text_.size() && IsBlank(text_[pos_])) ++pos_;
  }

  bool Take(char c) {
    if (pos_ >= text_.size() || text_[pos_] != c) return false;
    ++pos_;
    return true;
  }

  std::optional<Value> ReadValue(int depth) {
    if (depth > kMaxDepth || pos_ >= text_.size()) return std::nullopt;
    if (text_[pos_] == '[') return ReadList(depth);
    if (text_[pos_] == '"') return ReadString();
    return ReadWord();
  }

  std::optional<Value> ReadList(int depth) {
    const std::size_t start = pos_++;
    Value list;
    list.kind = Value::Kind::kList;
    SkipBlanks();
    if (!Take(']')) {
      do {
        if (++values_ > kMaxTensors * 8) return std::nullopt;
        SkipBlanks();
        std::optional<Value> item = ReadValue(depth + 1);
        if (!item) return std::nullopt;
        list.items.push_back(*std::move(item));
        SkipBlanks();
      } while (Take(','));
      if (!Take(']')) return std::nullopt;
    }
    list.text = text_.substr(start, pos_ - start);
    return list;
  }

  std::optional<Value> ReadString() {
    ++pos_;
    Value value;
    while (pos_ < text_.size() && text_[pos_] != '"') {
      // Drops the backslash of an escape, which is enough for type names and numbers.
      if (text_[pos_] == '\\') ++pos_;
      if (pos_ < text_.size()) value.text.push_back(text_[pos_++]);
    }
    if (!Take('"')) return std::nullopt;
    return value;
  }

  std::optional<Value> ReadWord() {
    const std::size_t start = pos_;
    while (pos_ < text_.size() && text_[pos_] != ',' && text_[pos_] != ']' && text_[pos_] != '[' &&
           text_[pos_] != '"' && !IsBlank(text_[pos_])) {
      ++pos_;
    }
    if (pos_ == start) return std::nullopt;
    Value value;
    value.kind = Value::Kind::kNumber;
    value.text = text_.substr(start, pos_ - start);
    const char* end = value.text.data() + value.text.size();
    const auto [rest, error] = std::from_chars(value.text.data(), end, value.number);
    value.integer = error == std::errc() && rest == end;
    return value;
  }

  std::string_view text_;
  std::size_t pos_ = 0;
  std::size_t values_ = 0;
};

/// Returns the top-level items of a list; nullopt if `text` is not a list.
std::optional<std::vector<Value>> ReadItems(std::string_view text) {
  std::optional<Value> list = ListReader(text).ReadAll();
  if (!list || list->items.size() > kMaxArgs) return std::nullopt;
  return std::move(list->items);
}

/// Returns a bounded list of non-negative integers; nullopt for anything else.
std::optional<std::vector<std::int64_t>> ToExtents(const Value& value) {
  if (value.kind != Value::Kind::kList || value.items.size() > kMaxDims) return std::nullopt;
  std::vector<std::int64_t> extents;
  for (const Value& item : value.items) {
    if (!item.integer || item.number < 0) return std::nullopt;
    extents.push_back(item.number);
  }
  return extents;
}

/// Returns true if a dims value contains a list of tensors instead of one tensor.
bool HoldsLists(const Value& dims) {
  return !dims.items.empty() && dims.items.front().kind == Value::Kind::kList;
}

/// Returns the strides for `dims`; empty if they are missing or do not fit.
std::vector<std::int64_t> StridesFor(const std::vector<std::int64_t>& dims, const Value* strides) {
  if (strides == nullptr) return {};
  std::optional<std::vector<std::int64_t>> extents = ToExtents(*strides);
  if (!extents || extents->size() != dims.size()) return {};
  return *std::move(extents);
}

/// Reads one argument. Returns false if the dims are damaged.
bool ReadArg(const Value& dims, const std::string& type, const Value* strides, OperatorArg& arg) {
  const DType dtype = DTypeFromProfiler(type);
  if (type == "TensorList" || HoldsLists(dims)) {
    arg.kind = OperatorArg::Kind::kTensorList;
    if (!HoldsLists(dims)) return dims.items.empty();
    for (std::size_t i = 0; i < dims.items.size(); ++i) {
      std::optional<std::vector<std::int64_t>> extents = ToExtents(dims.items[i]);
      if (!extents) return false;
      TensorArg tensor{.dims = *std::move(extents), .strides = {}, .dtype = dtype};
      if (strides != nullptr && strides->items.size() == dims.items.size()) {
        tensor.strides = StridesFor(tensor.dims, &strides->items[i]);
      }
      arg.tensors.push_back(std::move(tensor));
    }
    return true;
  }
  if (dtype != DType::kUnknown || !dims.items.empty()) {
    std::optional<std::vector<std::int64_t>> extents = ToExtents(dims);
    if (!extents) return false;
    arg.kind = OperatorArg::Kind::kTensor;
    TensorArg tensor{.dims = *std::move(extents), .strides = {}, .dtype = dtype};
    tensor.strides = StridesFor(tensor.dims, strides);
    arg.tensors.push_back(std::move(tensor));
    return true;
  }
  arg.kind = type.empty() ? OperatorArg::Kind::kNone : OperatorArg::Kind::kScalar;
  return true;
}

}  // namespace

std::optional<OperatorCall> ParseOperatorCall(std::string_view name, const OperatorTexts& texts) {
  const std::optional<std::vector<Value>> dims = ReadItems(texts.dims);
  const std::optional<std::vector<Value>> types = ReadItems(texts.types);
  if (!dims || !types || dims->size() != types->size()) return std::nullopt;
  std::optional<std::vector<Value>> strides = ReadItems(texts.strides);
  if (strides && strides->size() != dims->size()) strides.reset();
  std::optional<std::vector<Value>> concrete = ReadItems(texts.concrete);
  if (concrete && concrete->size() != dims->size()) concrete.reset();

  OperatorCall call;
  call.name = name;
  std::size_t tensors = 0;
  for (std::size_t i = 0; i < dims->size(); ++i) {
    OperatorArg arg;
    const Value& type = (*types)[i];
    if ((*dims)[i].kind != Value::Kind::kList || type.kind != Value::Kind::kText)
      return std::nullopt;
    if (!ReadArg((*dims)[i], type.text, strides ? &(*strides)[i] : nullptr, arg))
      return std::nullopt;
    if (concrete) arg.concrete = (*concrete)[i].text;
    tensors += arg.tensors.size();
    if (tensors > kMaxTensors) return std::nullopt;
    call.args.push_back(std::move(arg));
  }
  return call;
}

}  // namespace headroom
