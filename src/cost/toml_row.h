// Reads the tables of a TOML data file key by key. Reports the first error with its line.
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

/// Fails with kBadInput and a message that names the file and the line.
Result<toml::table> ParseToml(const NamedText& file);

/// Reads the keys of a table one by one and keeps the first failure.
class TomlRow {
 public:
  /// Requires that `file` and `table` outlive the row. `what` names the row in messages:
  /// "[[region]] 3".
  TomlRow(const NamedText& file, const toml::table& table, std::string what)
      : file_(file), table_(table), what_(std::move(what)) {}

  const Status& status() const { return status_; }

  /// Returns a string. Fails if it is missing or empty.
  std::string Text(std::string_view key);
  /// Returns a string, or "" if the key is missing. Fails if the string is empty.
  std::string OptionalText(std::string_view key);
  double Number(std::string_view key, double least, double most);
  std::int64_t Count(std::string_view key);
  std::int64_t Year(std::string_view key);
  /// Returns a date such as "2024-05" or "2024-05-31".
  std::string Date(std::string_view key);
  /// Returns a code of three capital letters, such as "USD".
  std::string Currency(std::string_view key);
  /// Fails if the table has a key that is not in `keys`.
  void Known(std::initializer_list<std::string_view> keys);
  /// Returns the line of the file where the table begins.
  std::int64_t line() const { return table_.source().begin.line; }
  /// Records an error for the value of a key. `what` is "must be ...".
  void Fail(std::string_view key, std::string_view what);

 private:
  const NamedText& file_;
  const toml::table& table_;
  std::string what_;
  Status status_;
};

/// Reads every [[list]] table of a file, in order. Stops at the first failure. A file without the
/// list has no rows.
Status ForEachRow(const NamedText& file, const toml::table& root, std::string_view list,
                  const std::function<Status(TomlRow&)>& read);

}  // namespace headroom
