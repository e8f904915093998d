#include "ingest/memory_snapshot/pickle_parser.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <utility>

namespace headroom::memory_snapshot {
namespace {

using Kind = Value::Kind;

/// Maximum bytes of a line; numbers written as text are short.
constexpr std::size_t kLongestLine = std::size_t{64} << 10;

/// Returns the name of an opcode that imports, calls or builds objects, or that requires data
/// outside the file. Returns an empty string for other opcodes.
std::string_view CodeOpcode(unsigned char opcode) {
  switch (opcode) {
    case 'c':
      return "GLOBAL";
    case 0x93:
      return "STACK_GLOBAL";
    case 'R':
      return "REDUCE";
    case 'b':
      return "BUILD";
    case 'i':
      return "INST";
    case 'o':
      return "OBJ";
    case 0x81:
      return "NEWOBJ";
    case 0x92:
      return "NEWOBJ_EX";
    case 0x82:
      return "EXT1";
    case 0x83:
      return "EXT2";
    case 0x84:
      return "EXT4";
    case 'P':
      return "PERSID";
    case 'Q':
      return "BINPERSID";
    case 0x97:
      return "NEXT_BUFFER";
    case 0x98:
      return "READONLY_BUFFER";
    default:
      return {};
  }
}

/// Reads the source byte by byte, or in spans.
class Input {
 public:
  Input(ByteSource& source, const PickleOptions& options)
      : source_(source),
        options_(options),
        buffer_(std::max<std::size_t>(1, options.chunk_bytes)) {}

  std::int64_t offset() const { return before_ + static_cast<std::int64_t>(at_); }
  const Status& status() const { return status_; }
  bool ended() const { return ended_; }

  /// Returns the next byte, or -1 at the end.
  int Byte() {
    if (at_ == end_ && !Fill()) return -1;
    return static_cast<unsigned char>(buffer_[at_++]);
  }
  /// Reads a little-endian number of `bytes` bytes, 1 to 8. Returns nullopt at the end.
  std::optional<std::uint64_t> Number(int bytes) {
    std::uint64_t number = 0;
    if (end_ - at_ >= sizeof number) {  // The common case takes one load.
      std::memcpy(&number, buffer_.data() + at_, sizeof number);
      at_ += static_cast<std::size_t>(bytes);
      return bytes == 8 ? number : number & ((std::uint64_t{1} << (8 * bytes)) - 1);
    }
    for (int i = 0; i < bytes; ++i) {
      const int byte = Byte();
      if (byte < 0) return std::nullopt;
      number |= static_cast<std::uint64_t>(byte) << (8 * i);
    }
    return number;
  }
  /// Returns the next `bytes` bytes, valid until the next call; nullopt at the end.
  std::optional<std::string_view> Take(std::size_t bytes) {
    if (end_ - at_ >= bytes) {
      at_ += bytes;
      return std::string_view(buffer_.data() + at_ - bytes, bytes);
    }
    scratch_.clear();
    while (scratch_.size() < bytes) {
      if (at_ == end_ && !Fill()) return std::nullopt;
      const std::size_t n = std::min(bytes - scratch_.size(), end_ - at_);
      scratch_.append(buffer_.data() + at_, n);
      at_ += n;
    }
    return std::string_view(scratch_);
  }
  bool Skip(std::uint64_t bytes) {
    while (bytes > 0) {
      if (at_ == end_ && !Fill()) return false;
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, end_ - at_));
      at_ += n;
      bytes -= n;
    }
    return true;
  }
  /// Reads a line without its end. Returns nullopt if the file ends first, or the line is too long.
  std::optional<std::string_view> Line() {
    scratch_.clear();
    for (;;) {
      const int byte = Byte();
      if (byte < 0 || scratch_.size() > kLongestLine) return std::nullopt;
      if (byte == '\n') return std::string_view(scratch_);
      scratch_ += static_cast<char>(byte);
    }
  }

 private:
  bool Fill() {
    if (ended_) return false;
    before_ += static_cast<std::int64_t>(end_);
    at_ = end_ = 0;
    const Result<std::size_t> n = source_.Read(std::span(buffer_));
    if (!n.ok()) {
      status_ = n.status();
      ended_ = true;
      return false;
    }
    end_ = n.value();
    if (options_.progress) options_.progress(source_.file_bytes_read());
    ended_ = end_ == 0;
    return !ended_;
  }

  ByteSource& source_;
  const PickleOptions& options_;
  std::vector<char> buffer_;
  std::string scratch_;
  std::size_t at_ = 0, end_ = 0;
  std::int64_t before_ = 0;  ///< Offset in the file of the first byte of the buffer.
  bool ended_ = false;
  Status status_;
};

/// The stack machine: a stack of values, and the memo of numbered values.
class Machine {
 public:
  Machine(Input& input, const PickleOptions& options, PickleValues& values)
      : input_(input), options_(options), values_(values) {}

  PickleResult Run() {
    PickleResult result;
    for (;;) {
      const std::int64_t at = input_.offset();
      const int byte = input_.Byte();
      const auto opcode = static_cast<unsigned char>(byte);
      if (byte < 0) {
        result.end = PickleEnd::kCut;
      } else if (opcode == '.') {
        result.end = stack_.empty() || !marks_.empty() ? PickleEnd::kDamaged : PickleEnd::kWhole;
      } else if (!CodeOpcode(opcode).empty()) {
        result.end = PickleEnd::kCode;
        result.opcode = CodeOpcode(opcode);
      } else {
        ++result.opcodes;
        if (Step(opcode)) continue;
        result.end = input_.ended() ? PickleEnd::kCut : PickleEnd::kDamaged;
      }
      const bool wrong = result.end == PickleEnd::kDamaged || result.end == PickleEnd::kCode;
      result.offset = wrong ? at : input_.offset();
      break;
    }
    if (result.end != PickleEnd::kWhole) CloseAll();
    if (!stack_.empty())
      result.root = result.end == PickleEnd::kWhole ? stack_.back() : stack_.front();
    result.long_strings = long_strings_;
    return result;
  }

 private:
  /// Executes an opcode. Returns false if it is unknown, or if its operands are missing or invalid.
  bool Step(unsigned char opcode) {  // NOLINT(readability-function-size): one case per opcode.
    switch (opcode) {
      case 0x80:  // PROTO
        return input_.Skip(1);
      case 0x95:  // FRAME
        return input_.Skip(8);
      case '(':  // MARK
        marks_.push_back(stack_.size());
        return true;
      case '0':  // POP
        if (!marks_.empty() && marks_.back() == stack_.size()) return PopMark();
        if (Floor() == stack_.size()) return false;
        stack_.pop_back();
        return true;
      case '1':  // POP_MARK
        return PopMark();
      case '2':  // DUP
        if (Floor() == stack_.size()) return false;
        return Push(Value(stack_.back()));
      case 'N':  // NONE
        return Push(Value());
      case 0x88:  // NEWTRUE
        return Push(Value::Of(Kind::kBool, 1));
      case 0x89:  // NEWFALSE
        return Push(Value::Of(Kind::kBool, 0));
      case 'J': {  // BININT
        const auto number = input_.Number(4);
        return number && Push(Value::Integer(static_cast<std::int32_t>(*number)));
      }
      case 'K':  // BININT1
        return PushNumber(1);
      case 'M':  // BININT2
        return PushNumber(2);
      case 0x8a: {  // LONG1
        const auto bytes = input_.Number(1);
        return bytes && PushLong(*bytes);
      }
      case 0x8b: {  // LONG4
        const auto bytes = input_.Number(4);
        return bytes && PushLong(*bytes);
      }
      case 'I':  // INT
      case 'L':  // LONG
        return PushDecimal();
      case 'F': {  // FLOAT
        return input_.Line() && Push(Value::Of(Kind::kReal));
      }
      case 'G':  // BINFLOAT
        return input_.Skip(8) && Push(Value::Of(Kind::kReal));
      case 'S':  // STRING
      case 'V':  // UNICODE
        return PushLine();
      case 'T':  // BINSTRING
      case 'X':  // BINUNICODE
        return PushText(input_.Number(4));
      case 'U':   // SHORT_BINSTRING
      case 0x8c:  // SHORT_BINUNICODE
        return PushText(input_.Number(1));
      case 0x8d:  // BINUNICODE8
        return PushText(input_.Number(8));
      case 'C':  // SHORT_BINBYTES
        return PushBytes(input_.Number(1));
      case 'B':  // BINBYTES
        return PushBytes(input_.Number(4));
      case 0x8e:  // BINBYTES8
      case 0x96:  // BYTEARRAY8
        return PushBytes(input_.Number(8));
      case ']':   // EMPTY_LIST
      case ')':   // EMPTY_TUPLE
      case 0x8f:  // EMPTY_SET
        return Push(values_.NewContainer(Kind::kList));
      case '}':  // EMPTY_DICT
        return Push(values_.NewContainer(Kind::kDict));
      case 'l':   // LIST
      case 't':   // TUPLE
      case 0x91:  // FROZENSET
        return Gather(Kind::kList);
      case 'd':  // DICT
        return Gather(Kind::kDict);
      case 0x85:  // TUPLE1
        return Tuple(1);
      case 0x86:  // TUPLE2
        return Tuple(2);
      case 0x87:  // TUPLE3
        return Tuple(3);
      case 'a':  // APPEND
        return AddTo(Kind::kList, 1);
      case 's':  // SETITEM
        return AddTo(Kind::kDict, 2);
      case 'e':   // APPENDS
      case 0x90:  // ADDITEMS
        return AddMarkedTo(Kind::kList);
      case 'u':  // SETITEMS
        return AddMarkedTo(Kind::kDict);
      case 'p':  // PUT
        return Remember(LineNumber());
      case 'q':  // BINPUT
        return Remember(input_.Number(1));
      case 'r':  // LONG_BINPUT
        return Remember(input_.Number(4));
      case 0x94:  // MEMOIZE
        return Remember(remembered_);
      case 'g':  // GET
        return Recall(LineNumber());
      case 'h':  // BINGET
        return Recall(input_.Number(1));
      case 'j':  // LONG_BINGET
        return Recall(input_.Number(4));
      default:
        return false;
    }
  }

  /// Returns the position of the last mark; values below it must stay on the stack.
  std::size_t Floor() const { return marks_.empty() ? 0 : marks_.back(); }
  bool Push(Value value) {
    stack_.push_back(value);
    return true;
  }
  bool PushNumber(int bytes) {
    const auto number = input_.Number(bytes);
    return number && Push(Value::Integer(static_cast<std::int64_t>(*number)));
  }
  /// Reads a little-endian integer in two's complement.
  bool PushLong(std::uint64_t bytes) {
    if (bytes > sizeof(std::int64_t)) return input_.Skip(bytes) && Push(Value::Of(Kind::kOther));
    if (bytes == 0) return Push(Value::Integer(0));
    const auto number = input_.Number(static_cast<int>(bytes));
    if (!number) return false;
    const int unused = 64 - 8 * static_cast<int>(bytes);
    return Push(Value::Integer(static_cast<std::int64_t>(*number << unused) >> unused));
  }
  bool PushDecimal() {
    auto line = input_.Line();
    if (!line) return false;
    if (*line == "00" || *line == "01") return Push(Value::Of(Kind::kBool, *line == "01" ? 1 : 0));
    if (line->ends_with('L')) line->remove_suffix(1);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(line->data(), line->data() + line->size(), number);
    if (error == std::errc::result_out_of_range) return Push(Value::Of(Kind::kOther));
    if (error != std::errc() || end != line->data() + line->size()) return false;
    return Push(Value::Integer(number));
  }
  bool PushLine() {
    const auto line = input_.Line();
    return line && Push(Value::Text(values_.strings.Intern(*line)));
  }
  bool PushText(std::optional<std::uint64_t> bytes) {
    if (!bytes) return false;
    if (*bytes > static_cast<std::uint64_t>(options_.max_string_bytes)) {
      ++long_strings_;
      return PushBytes(bytes);
    }
    const auto text = input_.Take(static_cast<std::size_t>(*bytes));
    return text && Push(Value::Text(values_.strings.Intern(*text)));
  }
  bool PushBytes(std::optional<std::uint64_t> bytes) {
    return bytes && input_.Skip(*bytes) && Push(Value::Of(Kind::kOther));
  }
  bool PopMark() {
    if (marks_.empty()) return false;
    stack_.resize(marks_.back());
    marks_.pop_back();
    return true;
  }
  std::span<const Value> Above(std::size_t begin) const { return std::span(stack_).subspan(begin); }

  bool Gather(Kind kind) {
    if (marks_.empty()) return false;
    const Value container = values_.NewContainer(kind);
    Add(container, Above(marks_.back()));
    stack_.resize(marks_.back());
    marks_.pop_back();
    return Push(container);
  }
  bool Tuple(std::size_t items) {
    if (stack_.size() - Floor() < items) return false;
    const Value container = values_.NewContainer(Kind::kList);
    Add(container, Above(stack_.size() - items));
    stack_.resize(stack_.size() - items);
    return Push(container);
  }
  bool AddTo(Kind kind, std::size_t items) {
    if (stack_.size() - Floor() < items + 1) return false;
    return AddItems(kind, stack_.size() - items);
  }
  bool AddMarkedTo(Kind kind) {
    if (marks_.empty()) return false;
    const std::size_t begin = marks_.back();
    marks_.pop_back();
    return begin > Floor() && AddItems(kind, begin);
  }
  bool AddItems(Kind kind, std::size_t begin) {
    const Value container = stack_[begin - 1];
    if (!container.is(kind)) return false;
    Add(container, Above(begin));
    stack_.resize(begin);
    return true;
  }
  void Add(Value container, std::span<const Value> items) {
    if (container.is(Kind::kDict)) {
      // Drops a key without a value: the file was truncated.
      items = items.first(items.size() / 2 * 2);
      if (options_.record && values_.IsEmpty(container)) {
        if (const auto record = options_.record(values_, items))
          return values_.BecomeRecord(container, *record);
      }
    }
    values_.Append(container, items);
  }
  /// Adds the values above each mark to the container below it, as a complete file would.
  void CloseAll() {
    for (; !marks_.empty(); marks_.pop_back()) {
      const std::size_t begin = marks_.back();
      if (begin > 0) Close(stack_[begin - 1], Above(begin));
      stack_.resize(begin);
    }
  }
  void Close(Value container, std::span<const Value> items) {
    if (!container.is(Kind::kDict)) return Add(container, items);
    // APPEND adds a single item to a list without a mark. If the file ends before APPEND, the item
    // still follows the list, where a key is expected.
    std::vector<Value> pairs;
    for (const Value item : items) {
      const bool is_key = pairs.size() % 2 == 0;
      if (is_key && !pairs.empty() && !item.is(Kind::kText)) {
        if (pairs.back().is(Kind::kList)) Add(pairs.back(), std::span(&item, 1));
        continue;
      }
      pairs.push_back(item);
    }
    Add(container, pairs);
  }

  std::optional<std::uint64_t> LineNumber() {
    const auto line = input_.Line();
    std::uint64_t number = 0;
    if (!line || std::from_chars(line->data(), line->data() + line->size(), number).ptr !=
                     line->data() + line->size())
      return std::nullopt;
    return number;
  }
  bool Remember(std::optional<std::uint64_t> number) {
    if (!number || Floor() == stack_.size()) return false;
    ++remembered_;
    if (*number == memo_.size()) {
      memo_.push_back(stack_.back());
    } else if (*number < memo_.size()) {
      memo_[*number] = stack_.back();
    } else {
      far_memo_[*number] = stack_.back();
    }
    return true;
  }
  bool Recall(std::optional<std::uint64_t> number) {
    if (!number) return false;
    if (*number < memo_.size()) return Push(memo_[*number]);
    const auto found = far_memo_.find(*number);
    return found != far_memo_.end() && Push(found->second);
  }

  Input& input_;
  const PickleOptions& options_;
  PickleValues& values_;
  std::vector<Value> stack_;
  std::vector<std::size_t> marks_;
  std::vector<Value> memo_;  ///< Values with dense memo numbers, indexed by number.
  /// Values with other memo numbers. Ordered map: a file chooses the numbers and could make them
  /// collide in a hash table.
  std::map<std::uint64_t, Value> far_memo_;
  std::uint64_t remembered_ = 0;
  std::int64_t long_strings_ = 0;
};

}  // namespace

bool LooksLikePickle(std::string_view head) {
  if (head.size() < 3 || head[0] != '\x80' || head[1] < 2 || head[1] > 5) return false;
  constexpr std::size_t kProto = 2, kFrame = 9;
  std::size_t at = kProto;
  if (head[at] == '\x95') at += kFrame;
  // Accepts any next opcode: a container, a global of a checkpoint, a number, ...
  return at < head.size();
}

Result<PickleResult> ParsePickle(ByteSource& source, const PickleOptions& options,
                                 PickleValues& values) {
  Input input(source, options);
  Machine machine(input, options, values);
  const PickleResult result = machine.Run();
  if (!input.status().ok()) return input.status();
  return result;
}

}  // namespace headroom::memory_snapshot
