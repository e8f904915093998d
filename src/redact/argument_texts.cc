#include "redact/argument_texts.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/ascii.h"
#include "ingest/input/json_escapes.h"
#include "store/args_text.h"

namespace headroom {
namespace {

/// Returns the decoded text between quotes. Requires that `quoted` begins with a quote.
std::string Meant(std::string_view quoted) {
  const bool closed = quoted.size() > 1 && quoted.ends_with('"');
  std::string text;
  Unescape(quoted.substr(1, quoted.size() - (closed ? 2 : 1)), text);
  return text;
}

/// Returns true if JSON consists of numbers, constants and brackets.
bool IsPlainJson(std::string_view json) {
  constexpr std::string_view kNumbersAndBrackets = "0123456789+-.eE[]{}:, \t\r\n";
  constexpr std::string_view kConstants[] = {"true", "false", "null", "NaN", "Infinity"};
  for (std::size_t at = 0; at < json.size();) {
    const auto* const constant =
        std::find_if(std::begin(kConstants), std::end(kConstants),
                     [&](std::string_view word) { return json.substr(at).starts_with(word); });
    if (constant != std::end(kConstants)) {
      at += constant->size();
    } else if (kNumbersAndBrackets.find(json[at]) != std::string_view::npos) {
      ++at;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

void ForEachArgumentText(std::string_view members,
                         const std::function<void(std::string_view)>& visit) {
  for (std::size_t at = members.find('"'); at < members.size(); at = members.find('"', at)) {
    const std::size_t end = SkipValue(members, at);
    visit(Meant(members.substr(at, end - at)));
    at = end;
  }
}

std::string WithTexts(std::string_view json,
                      const std::function<std::string(std::string_view)>& replace) {
  std::string out;
  for (std::size_t at = 0; at < json.size();) {
    const std::size_t open = std::min(json.find('"', at), json.size());
    const std::string_view between = json.substr(at, open - at);
    if (!IsPlainJson(between)) return "null";
    out += between;
    if (open == json.size()) break;
    at = SkipValue(json, open);
    const std::string_view quoted = json.substr(open, at - open);
    if (quoted.size() < 2 || !quoted.ends_with('"')) return "null";
    const std::string meant = Meant(quoted);
    const std::string now = replace(meant);
    out += now == meant
               ? std::string(quoted)
               : nlohmann::json(now).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  return out;
}

}  // namespace headroom
