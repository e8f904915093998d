// Tables of a TOML file of data, read key by key; the first that is wrong is told with its line.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/named_text.h"
#include "base/status.h"

namespace headroom {

/// BadInput names the file and the line.
Result<toml::table> ParseToml(const NamedText& file);

/// A table whose keys are read one by one; the first failure stays.
class TomlRow {
 public:
  /// All outlive it. `what`: for messages, "[[region]] 3".
  TomlRow(const NamedText& file, const toml::table& table, std::string what)
      : file_(file), table_(table), what_(std::move(what)) {}

  const Status& status() const { return status_; }

  /// Not empty.
  std::string Text(std::string_view key);
  /// Empty where it is missing.
  std::string OptionalText(std::string_view key);
  double Number(std::string_view key, double least, double most);
  std::int64_t Count(std::string_view key);
  std::int64_t Year(std::string_view key);
  /// "2024-05" or "2024-05-31", as a text.
  std::string Date(std::string_view key);
  /// Three capitals, "USD".
  std::string Currency(std::string_view key);
  /// Fails where there is any other key.
  void Known(std::initializer_list<std::string_view> keys);
  /// Of the file, where the table begins.
  std::int64_t line() const { return table_.source().begin.line; }
  /// What is wrong with the value of a key, "must be ...".
  void Fail(std::string_view key, std::string_view what);

 private:
  const NamedText& file_;
  const toml::table& table_;
  std::string what_;
  Status status_;
};

/// Reads every [[list]] table of a file, in order; stops at the first failure. A file without the
/// list has no rows.
Status ForEachRow(const NamedText& file, const toml::table& root, std::string_view list,
                  const std::function<Status(TomlRow&)>& read);

}  // namespace headroom
