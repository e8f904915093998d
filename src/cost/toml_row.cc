#include "cost/toml_row.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>

namespace headroom {

Result<toml::table> ParseToml(const NamedText& file) {
  try {
    return toml::parse(file.content);
  } catch (const toml::parse_error& error) {
    return Status::BadInput(fmt::format("{}, line {}: {}; correct the TOML there", file.name,
                                        error.source().begin.line, error.description()));
  }
}

void TomlRow::Fail(std::string_view key, std::string_view what) {
  if (!status_.ok()) return;
  const toml::node* node = table_.get(key);
  const toml::source_region& place = node != nullptr ? node->source() : table_.source();
  status_ = Status::BadInput(
      fmt::format("{}, line {}: {} of {} {}", file_.name, place.begin.line, key, what_, what));
}

std::string TomlRow::OptionalText(std::string_view key) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return {};
  const std::optional<std::string> text = node->value_exact<std::string>();
  if (!text || text->empty()) Fail(key, "must be a non-empty string in quotes");
  return text.value_or(std::string());
}

std::string TomlRow::Text(std::string_view key) {
  if (table_.get(key) == nullptr) Fail(key, "is missing; add it as a string in quotes");
  return OptionalText(key);
}

double TomlRow::Number(std::string_view key, double least, double most) {
  const toml::node* node = table_.get(key);
  const std::optional<double> number =
      node != nullptr && node->is_number() ? node->value<double>() : std::nullopt;
  if (!number || !std::isfinite(*number) || *number < least || *number > most) {
    Fail(key, fmt::format("must be a number from {} to {}", least, most));
    return least;
  }
  return *number;
}

std::int64_t TomlRow::Count(std::string_view key) {
  constexpr double kMax = 1e6;
  const double number = Number(key, 1, kMax);
  if (number != std::floor(number)) Fail(key, "must be a whole number");
  return static_cast<std::int64_t>(number);
}

std::int64_t TomlRow::Year(std::string_view key) {
  constexpr double kFirst = 1990, kLast = 2100;
  return static_cast<std::int64_t>(Number(key, kFirst, kLast));
}

std::string TomlRow::Date(std::string_view key) {
  std::string text = Text(key);
  static const RE2 kDate(R"((\d{4})-(\d{2})(?:-(\d{2}))?)");
  int year = 0;
  unsigned month = 0;
  std::string day;
  const bool is_date =
      RE2::FullMatch(text, kDate, &year, &month, &day) &&
      std::chrono::year_month_day(
          std::chrono::year(year), std::chrono::month(month),
          std::chrono::day(day.empty() ? 1U : static_cast<unsigned>(std::stoul(day))))
          .ok();
  if (status_.ok() && !is_date)
    Fail(key, "must be a calendar date in quotes, such as \"2024-05\" or \"2024-05-31\"");
  return text;
}

std::string TomlRow::Currency(std::string_view key) {
  std::string text = Text(key);
  static const RE2 kCode("[A-Z]{3}");
  if (status_.ok() && !RE2::FullMatch(text, kCode))
    Fail(key, "must be a code of three capital letters, such as \"USD\"");
  return text;
}

void TomlRow::Known(std::initializer_list<std::string_view> keys) {
  for (const auto& [key, node] : table_) {
    if (std::find(keys.begin(), keys.end(), key.str()) == keys.end())
      Fail(key.str(), "is an unknown key; correct or remove it");
  }
}

Status ForEachRow(const NamedText& file, const toml::table& root, std::string_view list,
                  const std::function<Status(TomlRow&)>& read) {
  const toml::node* node = root.get(list);
  if (node == nullptr) return Status::Ok();
  const toml::array* rows = node->as_array();
  if (rows == nullptr || !rows->is_array_of_tables()) {
    return Status::BadInput(fmt::format("{}, line {}: {} must be a list of tables, [[{}]]",
                                        file.name, node->source().begin.line, list, list));
  }
  std::size_t number = 0;
  for (const toml::node& row : *rows) {
    TomlRow reader(file, *row.as_table(), fmt::format("[[{}]] {}", list, ++number));
    if (Status status = read(reader); !status.ok()) return status;
  }
  return Status::Ok();
}

}  // namespace headroom
