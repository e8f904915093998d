#include "render/short_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <optional>

#include "base/ascii.h"

namespace headroom {
namespace {

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool BeginsName(char c) { return IsLetter(c) || c == '_'; }

void Trim(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
}

/// Returns the position after the bracket that closes the one at `text[open]`; nullopt if it is not
/// closed.
std::optional<std::size_t> Close(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '<' || c == '{' || c == '[') ++depth;
    if (c == '>' && i > 0 && text[i - 1] == '-') continue;  // ->
    if (c == ')' || c == '>' || c == '}' || c == ']') {
      if (--depth == 0) return i + 1;
    }
  }
  return std::nullopt;
}

/// One part of a qualified name: `name<arguments>(parameters)`, split at `::` outside brackets.
struct Part {
  std::string_view name;
  std::string_view arguments;  ///< Without the angle brackets.
  bool has_arguments = false;
};

/// Splits a qualified name; nullopt if brackets do not match. Omits parameter lists, their
/// qualifiers, and lambdas.
std::optional<std::vector<Part>> SplitQualified(std::string_view text) {
  std::vector<Part> parts;
  std::size_t at = 0;
  while (at < text.size()) {
    Part part;
    if (text[at] == '{' || text[at] == '(') {  // {lambda(float)#1}, (anonymous namespace)
      const auto end = Close(text, at);
      if (!end) return std::nullopt;
      at = *end;
    } else {
      const std::size_t begin = at;
      while (at < text.size() && text[at] != '<' && text[at] != '(' && text.substr(at, 2) != "::")
        ++at;
      part.name = text.substr(begin, at - begin);
      if (part.name == "operator" && text.substr(at, 2) == "()") at += 2;
      if (at < text.size() && text[at] == '<') {
        const auto end = Close(text, at);
        if (!end) return std::nullopt;
        part.arguments = text.substr(at + 1, *end - at - 2);
        part.has_arguments = true;
        at = *end;
      }
      if (part.name != "operator") parts.push_back(part);
    }
    if (at < text.size() && text[at] == '(') {
      const auto end = Close(text, at);
      if (!end) return std::nullopt;
      at = *end;
    }
    // Only qualifiers (" const", " const&") may separate two parts.
    const std::size_t next = std::min(text.find("::", at), text.size());
    for (char c : text.substr(at, next - at)) {
      if (!BeginsName(c) && std::string_view(" &*").find(c) == std::string_view::npos)
        return std::nullopt;
    }
    at = next + 2;
  }
  if (parts.empty()) return std::nullopt;
  return parts;
}

/// Returns the parameter types of the innermost lambda ("float" for {lambda(float)#1}), often the
/// only difference between two instances.
std::string_view LastLambda(std::string_view text) {
  const std::size_t lambda = text.rfind("{lambda(");
  if (lambda == std::string_view::npos) return {};
  const std::size_t open = lambda + 7;
  const auto end = Close(text, open);
  return end ? text.substr(open + 1, *end - open - 2) : std::string_view();
}

std::vector<std::string_view> SplitArguments(std::string_view text) {
  std::vector<std::string_view> arguments;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      std::string_view argument = text.substr(begin, i - begin);
      Trim(argument);
      if (!argument.empty()) arguments.push_back(argument);
      begin = i + 1;
      continue;
    }
    const char c = text[i];
    if (c == '(' || c == '<' || c == '{' || c == '[') ++depth;
    if (c == ')' || c == '>' || c == '}' || c == ']') --depth;
  }
  return arguments;
}

/// Returns true for arguments that do not show what is computed: numbers, flags, containers of
/// pointers, index arithmetic.
bool SaysNothing(std::string_view argument) {
  if (argument.empty()) return true;
  const char c = argument.front();
  if (IsDigit(c) || c == '-') return true;
  if (c == '(' && !StartsWith(argument, "(anonymous namespace)::")) return true;  // (Enum)0
  if (argument == "true" || argument == "false") return true;
  for (std::string_view word : {"std::array<", "at::detail::Array<", "OffsetCalculator<",
                                "memory::Load", "memory::Store", "std::integral_constant<"}) {
    if (argument.find(word) < argument.find('<') + 1) return true;
  }
  return false;
}

/// Returns true for wrappers whose last argument does the work.
bool IsWrapper(const std::vector<Part>& parts, std::string_view name) {
  if (name == "Kernel" || name == "Kernel2") return parts.front().name == "cutlass";
  return name == "gpu_kernel_impl_nocast" || name == "gpu_kernel_impl" || name == "func_wrapper_t";
}

/// `all`: also keeps arguments for which SaysNothing() is true.
std::string Readable(std::string_view text, bool outermost, bool all, int depth) {
  constexpr int kMaxDepth = 12;  // Limits the recursion on hostile names.
  Trim(text);
  const auto parts = depth < kMaxDepth ? SplitQualified(text) : std::nullopt;
  if (!parts || !BeginsName(parts->front().name.empty() ? ' ' : parts->front().name.front()))
    return std::string(text);
  const Part& last = parts->back();
  std::string_view name = last.name;
  Trim(name);
  if (outermost) name.remove_prefix(name.rfind(' ') + 1);  // Drops the return type.

  std::string arguments;
  std::string previous;
  if (last.has_arguments) {
    for (std::string_view argument : SplitArguments(last.arguments)) {
      if (!all && SaysNothing(argument)) continue;
      std::string readable = Readable(argument, /*outermost=*/false, all, depth + 1);
      if (!all && readable == previous) continue;
      if (!arguments.empty()) arguments += ", ";
      arguments += readable;
      previous = std::move(readable);
    }
  }
  if (IsWrapper(*parts, name) && !previous.empty()) return previous;

  std::string out;
  // The name of a kernel's library is useful. Namespaces in arguments, and PyTorch's own, are
  // noise.
  if (outermost && parts->size() > 1 && parts->front().name != "at" &&
      parts->front().name != "c10" && !parts->front().has_arguments) {
    out = fmt::format("{}::", parts->front().name);
  }
  out += name;
  if (!arguments.empty()) out += fmt::format("<{}>", arguments);
  if (!outermost && arguments.empty()) {
    std::string types;
    previous.clear();
    for (std::string_view argument : SplitArguments(LastLambda(text))) {
      std::string readable = Readable(argument, /*outermost=*/false, all, depth + 1);
      if (!all && readable == previous) continue;
      if (!types.empty()) types += ", ";
      types += readable;
      previous = std::move(readable);
    }
    if (!types.empty()) out += fmt::format("({})", types);
  }
  return out;
}

/// Returns the signature without return type and parameters; keeps all template arguments.
std::string_view WithoutParameters(std::string_view name) {
  if (StartsWith(name, "void ")) name.remove_prefix(5);
  if (name.empty() || name.back() != ')') return name;
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    const char c = name[i];
    if (c == ')' || c == '>' || c == '}' || c == ']') ++depth;
    if (c == '(' || c == '<' || c == '{' || c == '[') --depth;
    // A space before the bracket: "Memset (Device)" has no parameters.
    if (depth == 0 && c == '(') return i == 0 || name[i - 1] == ' ' ? name : name.substr(0, i);
  }
  return name;
}

std::string ReadableSignature(std::string_view name, bool all) {
  const std::string_view signature = WithoutParameters(name);
  // Only in a signature do brackets mean parameters; "Memcpy HtoD (Pinned -> Device)" is a plain
  // name.
  if (signature.size() == name.size() && name.find('<') == std::string_view::npos)
    return std::string(name);
  return Readable(signature, /*outermost=*/true, all, 0);
}

/// Cuts a readable kernel name. The arguments of a template show what it computes, so the
/// template's name is cut first.
std::string CutSignature(const std::string& text, std::size_t width, Charset charset) {
  const std::size_t open = text.find('<');
  const std::size_t whole = DisplayWidth(text);
  if (whole <= width || open == std::string::npos) return CutMiddle(text, width, charset);
  constexpr std::size_t kMin = 10;
  const std::size_t mark = charset == Charset::kUtf8 ? 1 : 3;
  const std::size_t excess = whole + mark - width;
  if (open >= kMin + excess)
    return CutAround(text, width, text.size(), charset, std::min(open - excess, width - 8));
  return CutAround(text, width, open, charset, std::min({open, kMin, width - 8}));
}

/// Returns the indices of texts that occur more than once, grouped by text, in order of first
/// appearance.
std::vector<std::vector<std::size_t>> Duplicates(const std::vector<std::string>& texts) {
  std::map<std::string_view, std::vector<std::size_t>> by_text;
  for (std::size_t i = 0; i < texts.size(); ++i) by_text[texts[i]].push_back(i);
  std::vector<std::vector<std::size_t>> groups;
  for (auto& [text, indices] : by_text) {
    if (indices.size() > 1) groups.push_back(std::move(indices));
  }
  std::sort(groups.begin(), groups.end());
  return groups;
}

std::size_t CommonPrefix(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                  a.begin());
}

std::vector<std::string> ShortDistinctNames(const std::vector<std::string_view>& names,
                                            std::size_t width, bool kernels, Charset charset) {
  std::vector<std::string> whole;
  whole.reserve(names.size());
  for (std::string_view name : names) {
    whole.push_back(Printable(kernels ? ReadableKernelName(name) : std::string(name), charset));
  }
  for (const std::vector<std::size_t>& group : Duplicates(whole)) {
    for (std::size_t i : group) {
      whole[i] = Printable(
          kernels ? ReadableSignature(names[i], /*all=*/true) : std::string(names[i]), charset);
    }
  }
  for (const std::vector<std::size_t>& group : Duplicates(whole)) {
    for (std::size_t i : group) whole[i] = Printable(names[i], charset);
  }

  std::vector<std::string> cut;
  cut.reserve(whole.size());
  for (const std::string& name : whole) {
    cut.push_back(kernels ? CutSignature(name, width, charset) : CutMiddle(name, width, charset));
  }
  for (const std::vector<std::size_t>& group : Duplicates(cut)) {
    std::size_t common = whole[group[0]].size();
    for (std::size_t i : group) common = std::min(common, CommonPrefix(whole[group[0]], whole[i]));
    for (std::size_t i : group)
      cut[i] = CutAround(whole[i], width, common > 4 ? common - 4 : 0, charset,
                         std::min(width / 3, width - 8));
  }
  for (const std::vector<std::size_t>& group : Duplicates(cut)) {
    int number = 0;
    for (std::size_t i : group) {
      const std::string suffix = fmt::format(" ~{}", ++number);
      cut[i] = CutMiddle(cut[i], width - suffix.size(), charset) + suffix;
    }
  }
  return cut;
}

}  // namespace

std::string ReadableKernelName(std::string_view name) {
  return ReadableSignature(name, /*all=*/false);
}

std::vector<std::string> ShortNames(const std::vector<std::string_view>& names, std::size_t width,
                                    bool kernels, Charset charset) {
  assert(width >= 16);
  // Equal names stay equal.
  std::map<std::string_view, std::size_t> position;
  std::vector<std::string_view> distinct;
  for (std::string_view name : names) {
    if (position.emplace(name, distinct.size()).second) distinct.push_back(name);
  }
  const std::vector<std::string> shown = ShortDistinctNames(distinct, width, kernels, charset);
  std::vector<std::string> all;
  all.reserve(names.size());
  for (std::string_view name : names) all.push_back(shown[position.at(name)]);
  return all;
}

}  // namespace headroom
