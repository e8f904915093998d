#include "cost/rule_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace headroom {
namespace {

/// Returns a non-empty string; nullopt for anything else.
std::optional<std::string> TextAt(const toml::table& table, std::string_view key) {
  std::optional<std::string> text = table[key].value_exact<std::string>();
  return text && !text->empty() ? std::move(text) : std::nullopt;
}

/// Returns a non-empty list of non-empty strings; nullopt for anything else.
std::optional<std::vector<std::string>> TextsAt(const toml::table& table, std::string_view key) {
  const toml::array* list = table[key].as_array();
  if (list == nullptr || list->empty()) return std::nullopt;
  std::vector<std::string> texts;
  for (const toml::node& node : *list) {
    std::optional<std::string> text = node.value_exact<std::string>();
    if (!text || text->empty()) return std::nullopt;
    texts.push_back(*std::move(text));
  }
  return texts;
}

/// Reads one rule. Returns nullopt if a key is missing, unknown, empty or of the wrong type.
std::optional<NameRule> ReadRule(const toml::node& node, const RuleFormat& format) {
  const toml::table* table = node.as_table();
  if (table == nullptr || table->size() != (format.explained ? 5 : 3)) return std::nullopt;
  const auto value = TextAt(*table, format.value_key);
  const auto match = TextAt(*table, "match");
  const auto examples = TextsAt(*table, "examples");
  if (!value || !match || !examples) return std::nullopt;
  std::optional<std::vector<std::string>> near_misses = std::vector<std::string>();
  if (format.explained) {
    near_misses = TextsAt(*table, "not");
    if (!near_misses || !TextAt(*table, "about")) return std::nullopt;
  }
  return NameRule{{}, *value, *match, *examples, *near_misses};
}

std::string KeysOf(const RuleFormat& format) {
  return fmt::format(
      "{}{}, match (non-empty strings in quotes){} and examples (a list of such strings)",
      format.value_key, format.explained ? ", about" : "",
      format.explained ? ", not (a list of such strings)" : "");
}

Result<std::vector<NameRule>> ReadList(const NamedText& file, const toml::table& table,
                                       const RuleFormat& format) {
  const toml::array* list = table[format.list].as_array();
  if (list == nullptr || list->empty())
    return BadRules(file, fmt::format("[[{}]] is missing; add at least one rule", format.list));
  std::vector<NameRule> rules;
  for (const toml::node& node : *list) {
    std::string where = fmt::format("rule {} of [[{}]]", rules.size() + 1, format.list);
    std::optional<NameRule> rule = ReadRule(node, format);
    if (!rule) {
      return BadRules(file, fmt::format("{} must be a table with the keys {}, and no other keys",
                                        where, KeysOf(format)));
    }
    rule->where = std::move(where);
    rules.push_back(*std::move(rule));
  }
  return rules;
}

}  // namespace

Status BadRules(const NamedText& file, std::string_view what) {
  return Status::BadInput(fmt::format("rules file {}: {}", file.name, what));
}

Result<std::vector<std::vector<NameRule>>> ReadRules(const NamedText& file,
                                                     std::span<const RuleFormat> formats) {
  toml::table table;
  try {
    table = toml::parse(file.content);
  } catch (const toml::parse_error& error) {
    return BadRules(file, fmt::format("line {}: {}; correct the TOML there",
                                      error.source().begin.line, error.description()));
  }
  for (const auto& entry : table) {
    const std::string_view key = entry.first.str();
    if (std::none_of(formats.begin(), formats.end(),
                     [&](const RuleFormat& format) { return format.list == key; })) {
      return BadRules(file, fmt::format("key '{}' is unknown; correct or remove it", key));
    }
  }
  std::vector<std::vector<NameRule>> lists;
  for (const RuleFormat& format : formats) {
    Result<std::vector<NameRule>> rules = ReadList(file, table, format);
    if (!rules.ok()) return rules.status();
    lists.push_back(std::move(rules).value());
  }
  return lists;
}

}  // namespace headroom
